//! The time of an operation, and the parts of its change.

use super::evidence::{Evidence, Part};
use super::words::micros;

/// One bar of the waterfall from the baseline's time to the contender's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bar {
    /// None: the rest that no part accounts for.
    pub part: Option<Part>,
    /// Microseconds per operation, contender minus baseline.
    pub change: f64,
    /// 95 %, from low to high; none with too few rounds, and for the rest.
    pub interval: Option<(f64, f64)>,
    /// The interval of the change excludes 0; never for the rest.
    pub is_sure: bool,
}

/// A bar for each part that was measured, and one for the rest: they add up to the change of the
/// time per operation.
pub fn budget(evidence: &Evidence) -> Vec<Bar> {
    let bar = |part: &Part| {
        let change = evidence.parts.get(part)?.change;
        let is_sure = change.is_above(0.0) || change.negated().is_above(0.0);
        Some(Bar { part: Some(*part), change: change.value, interval: change.ends(), is_sure })
    };
    let mut bars: Vec<Bar> = Part::ALL.iter().filter_map(bar).collect();
    let known: f64 = bars.iter().map(|bar| bar.change).sum();
    let change = evidence.time.change.value - known;
    bars.push(Bar { part: None, change, interval: None, is_sure: false });
    bars
}

/// The same as a sentence.
pub fn budget_text(evidence: &Evidence) -> String {
    let part = |bar: &Bar| {
        let name = bar.part.map_or("unaccounted", Part::name);
        // A value that rounds to zero needs no sign.
        if bar.change.abs() < 0.05 {
            format!("0 {name}")
        } else {
            format!("{} {name}", micros(bar.change))
        }
    };
    let bars = budget(evidence);
    let told = bars.iter().filter(|bar| bar.part.is_some() || bar.change.abs() >= 0.05);
    let parts: Vec<String> = told.map(part).collect();
    let change = evidence.time.change.value;
    let way = if change < 0.0 { "shorter" } else { "longer" };
    format!("each operation takes {:.1} us {way}: {}", change.abs(), parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::super::evidence::{Cost, ValueRange};
    use super::*;

    fn cost(change: f64) -> Cost {
        let change = ValueRange::new(change, change - 0.5, change + 0.5);
        Cost { base: 50.0, contender: 50.0 + change.value, change }
    }

    /// The example of the specification.
    #[test]
    fn parts_add_up_to_the_change() {
        let parts = [
            (Part::ServerUser, 15.8),
            (Part::ServerSystem, 1.2),
            (Part::RunQueue, 0.3),
            (Part::BlockIo, 0.0),
            (Part::Rest, 2.5),
        ];
        let evidence = Evidence {
            time: cost(20.1),
            parts: parts.map(|(part, change)| (part, cost(change))).into(),
            ..Evidence::new(rqps_plan::Class::Point)
        };
        let bars = budget(&evidence);
        let sum: f64 = bars.iter().map(|bar| bar.change).sum();
        assert!((sum - 20.1).abs() < 1e-9);
        let left = bars.last().unwrap();
        assert_eq!((left.part, (left.change * 10.0).round(), left.interval), (None, 3.0, None));
        assert_eq!(bars[0].interval, Some((15.3, 16.3)));
        let sure: Vec<_> = bars.iter().filter(|bar| bar.is_sure).map(|bar| bar.part).collect();
        assert_eq!(sure, [Some(Part::ServerUser), Some(Part::ServerSystem), Some(Part::Rest)]);
        assert_eq!(
            budget_text(&evidence),
            "each operation takes 20.1 us longer: +15.8 us user CPU, +1.2 us system CPU, \
             +0.3 us run queue, 0 IO wait, +2.5 us other waiting, +0.3 us unaccounted"
        );
    }
}
