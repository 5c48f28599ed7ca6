//! The verdicts on a pair: of all its tests and their total, or of the first stage alone.

use rqps_stats::verdict::{Report, flagged, judge};

use super::observed::Observed;
use super::pair::Pair;
use super::total::Total;

impl Pair<'_> {
    /// As the plan has it: from all rounds, or from a screen and the fresh rounds of flagged tests.
    pub fn judge(&self, tests: &[Observed<'_>]) -> Report {
        self.judge_with_total(tests, &[]).0
    }

    /// The same, with the total of all tests but some, which is a test as well.
    pub fn judge_with_total(
        &self,
        tests: &[Observed<'_>],
        excluded: &[&str],
    ) -> (Report, Option<Total>) {
        let mut cells = self.cells(tests);
        let total = self.total(tests, excluded);
        cells.extend(total.as_ref().map(|total| total.cell.clone()));
        let mut report = judge(&cells, &self.options());
        let total = total.and_then(|total| Some(total.judged(report.verdicts.pop()?)));
        (report, total)
    }

    /// From the rounds of the first stage alone, with the tests that are to be measured again.
    pub fn screen(&self, tests: &[Observed<'_>]) -> (Report, Vec<usize>) {
        let cells = self.of_stage(tests, self.first_stage());
        let flagged = match self.plan.confirm {
            Some(_) => flagged(&cells, &self.options()),
            None => Vec::new(),
        };
        (judge(&cells, &self.options()), flagged)
    }
}
