//! The possible drift of the machine since a stored baseline was measured.

use std::time::Duration;

use rqps_observe::Usual;
use rqps_plan::{Comparison, StoredBaseline};

use super::observed::Observed;

/// By how much baseline and contenders may differ because they did not take turns.
pub struct Drift<'a> {
    pub base: &'a StoredBaseline,
    /// The time of the reference loop now against that in the baseline's run, as a log. Infinite
    /// without a reference loop.
    pub reference_loop: f64,
    /// The resolution of the reference loop, as a log.
    pub resolution: f64,
}

impl<'a> Drift<'a> {
    /// None if the baseline was measured in this run.
    pub fn of(plan: &'a Comparison, tests: &[Observed<'_>]) -> Option<Drift<'a>> {
        let base = plan.baseline_from.as_deref()?;
        let nanos =
            tests.iter().flat_map(|test| &test.passes).flat_map(|pass| &pass.reference_loop);
        let times: Vec<Duration> = nanos.map(|nanos| Duration::from_nanos(*nanos)).collect();
        let usual = Usual::of(&times);
        let reference_loop = usual.map_or(f64::INFINITY, |usual| {
            (usual.median.as_secs_f64() / Duration::from_nanos(base.reference_loop).as_secs_f64())
                .ln()
        });
        let resolution = usual.map_or(f64::INFINITY, |usual| (usual.most_percent / 100.0).ln_1p());
        Some(Drift { base, reference_loop, resolution })
    }

    /// By how much every interval is wider on either side.
    pub fn size(&self) -> f64 {
        self.reference_loop.abs() + self.resolution
    }

    /// Whether the speed of the machine has changed, according to the reference loop.
    pub fn is_seen(&self) -> bool {
        self.reference_loop.abs() > self.resolution
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Class, Counts};
    use rqps_store::RoundRecord;

    use super::*;
    use crate::comparison::{fixture, observed};

    fn drift(now: &[u64]) -> f64 {
        let mut plan = fixture::plan();
        let pass = RoundRecord {
            reference_loop: now.to_vec(),
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        let passes = [pass];
        let tests = observed::tests(&passes);
        assert!(Drift::of(&plan, &tests).is_none(), "the baseline was measured");
        plan.baseline_from = Some(Box::new(fixture::stored_baseline(50_000_000)));
        Drift::of(&plan, &tests).unwrap().size()
    }

    #[test]
    fn drift_is_the_change_of_the_reference_loop_and_its_resolution() {
        let least = 1.03_f64.ln();
        assert!((drift(&[50_000_000; 4]) - least).abs() < 1e-6);
        assert!((drift(&[55_000_000; 4]) - least - 1.1_f64.ln()).abs() < 1e-6);
        assert!((drift(&[45_000_000; 4]) - least + 0.9_f64.ln()).abs() < 1e-6);
        assert!(drift(&[47_000_000, 50_000_000, 50_000_000, 53_000_000]) >= least);
        assert_eq!(drift(&[]), f64::INFINITY, "nothing is known");
    }
}
