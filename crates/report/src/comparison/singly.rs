//! Each whole run by itself, as a step, for formats that only have steps.

use rqps_analysis::comparison::Observed;
use rqps_plan::Method;

use super::Verdicts;
use crate::model::Measured;

impl Verdicts<'_> {
    /// Calls `each` with the round and the run, by test, arm and round, for runs that count. Slices
    /// have none. One after the other, since histograms are large.
    pub(crate) fn each_run<E>(
        &self,
        mut each: impl FnMut(u32, &Measured<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let of_runs = |test: &&Observed<'_>| self.plan.method_of(test.name) == Method::Runs;
        for test in self.tests.iter().filter(of_runs) {
            for name in self.names() {
                for pass in test.counted_with(name) {
                    let Some(record) = self.run_of(test, name, pass) else { continue };
                    let cpus = self.run.manifest_of_round(pass.round).cpus;
                    let run = Measured::new(&record, name, cpus).expect("it was measured");
                    each(pass.round, &run)?;
                }
            }
        }
        Ok(())
    }
}
