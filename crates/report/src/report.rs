//! A stored run, analysed once for every format.

use rqps_analysis::comparison::{FailOn, Gate};
use rqps_store::Run;

use crate::comparison::Verdicts;
use crate::model::{Matrix, Model, Suite, matrix};

/// What the formats of a run are made from.
pub struct Report<'a> {
    pub(crate) run: &'a Run,
    /// The steps of a single run; a comparison has none.
    pub(crate) model: Model<'a>,
    /// The results of a comparison.
    pub(crate) verdicts: Option<Verdicts<'a>>,
}

impl<'a> Report<'a> {
    /// Analyses a run: of a comparison, this takes most of the time of a report.
    pub fn new(run: &'a Run) -> Self {
        Report { run, model: Model::new(run), verdicts: Verdicts::new(run) }
    }

    /// Whether contenders took turns in rounds.
    pub fn is_comparison(&self) -> bool {
        self.verdicts.is_some()
    }

    /// The outcome for a program that must go on or stop; none if the run is no comparison.
    pub fn gate(&self, fail_on: FailOn) -> Option<Gate> {
        self.verdicts.as_ref().map(|verdicts| verdicts.gate(fail_on))
    }

    /// Whether any finished step missed its target write rate.
    pub fn is_sla_missed(&self) -> bool {
        let mut done = self.model.steps.iter().flat_map(|step| step.done());
        done.any(|(_, measured)| measured.sla() == Some(false))
    }

    /// The microbenchmarks of a single run, arranged by test.
    pub(crate) fn suite(&self) -> Option<Suite<'_, 'a>> {
        Suite::new(&self.model)
    }

    /// Every contender in every test, to compare any two of them.
    pub(crate) fn matrix(&self) -> Option<Matrix> {
        match &self.verdicts {
            Some(verdicts) => Some(verdicts.matrix()),
            None => matrix(&self.model, self.suite().as_ref()),
        }
    }
}
