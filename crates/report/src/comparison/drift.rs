//! How far the machine may have moved since a base was measured that was not measured again.

use std::time::Duration;

use rqps_observe::Usual;
use rqps_plan::{Comparison, StoredBase};
use rqps_stats::Interval;
use rqps_stats::digits::Digits;

use super::observed::Observed;

/// What base and contenders may differ by because they did not take turns.
pub(crate) struct Drift<'a> {
    pub(crate) base: &'a StoredBase,
    /// The canary's time now against that of the base's run, as a log. Without a canary anything
    /// may be.
    pub(crate) canary: f64,
    /// What the canary does not tell apart, as a log.
    unseen: f64,
}

impl<'a> Drift<'a> {
    /// None where the base was measured.
    pub(crate) fn of(plan: &'a Comparison, tests: &[Observed<'_>]) -> Option<Drift<'a>> {
        let base = plan.base_from.as_deref()?;
        let nanos =
            tests.iter().flat_map(|test| &test.passes).flat_map(|pass| &pass.reference_loop);
        let times: Vec<Duration> = nanos.map(|nanos| Duration::from_nanos(*nanos)).collect();
        let usual = Usual::of(&times);
        let canary = usual.map_or(f64::INFINITY, |usual| {
            (usual.median.as_secs_f64() / Duration::from_nanos(base.canary).as_secs_f64()).ln()
        });
        let unseen = usual.map_or(f64::INFINITY, |usual| (usual.most_percent / 100.0).ln_1p());
        Some(Drift { base, canary, unseen })
    }

    /// What every interval is wider by to either side.
    pub(crate) fn size(&self) -> f64 {
        self.canary.abs() + self.unseen
    }

    /// Whether the canary says that the machine is another one.
    pub(crate) fn is_seen(&self) -> bool {
        self.canary.abs() > self.unseen
    }

    /// What a reader must know of it.
    pub(crate) fn remark(&self) -> String {
        let StoredBase { path, created, .. } = self.base;
        let digits = Digits::of(Interval::around(self.canary, self.unseen));
        format!(
            "The base was not measured: its runs are those of '{}', begun {created}, and were not interleaved \
             with the contenders'. The canary takes {} of its time then, and does not tell {} apart: every \
             interval is wider by both to either side, and no more rounds make it narrower. It sees the CPU \
             and the memory; what disk, kernel or history of the data have changed it does not see.",
            path.display(),
            digits.percent(self.canary),
            digits.size(self.unseen),
        )
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
        assert!(Drift::of(&plan, &tests).is_none(), "the base took part");
        plan.base_from = Some(Box::new(fixture::stored_base(50_000_000)));
        Drift::of(&plan, &tests).unwrap().size()
    }

    #[test]
    fn drift_is_what_the_canary_saw_and_what_it_cannot_see() {
        let least = 1.03_f64.ln();
        assert!((drift(&[50_000_000; 4]) - least).abs() < 1e-6);
        assert!((drift(&[55_000_000; 4]) - least - 1.1_f64.ln()).abs() < 1e-6);
        assert!((drift(&[45_000_000; 4]) - least + 0.9_f64.ln()).abs() < 1e-6);
        assert!(drift(&[47_000_000, 50_000_000, 50_000_000, 53_000_000]) >= least);
        assert_eq!(drift(&[]), f64::INFINITY, "nothing is known");
    }
}
