//! From the rounds of a comparison to verdicts and their causes.

mod causes;
mod costs;
mod counters;
mod course;
mod curves;
mod drift;
mod evidence_json;
#[cfg(test)]
mod fixture;
mod flame;
mod interim;
mod joined;
mod json;
mod junit;
mod labels;
mod markdown;
mod matrix;
pub(crate) mod observed;
pub(crate) mod pair;
mod post;
mod printed;
mod profile;
mod profile_json;
mod profile_text;
mod remarks;
mod singly;
mod steadiness;
mod text;
mod times;
mod together;
mod verdict_row;
mod whole;

use rqps_analysis::diagnosis::{Evidence, Finding, explain_suite};
use rqps_plan::{CONTROL, Cache, Comparison, Method};
use rqps_stats::label::Label;
use rqps_stats::noise::Noise;
use rqps_stats::verdict::Verdict;
use rqps_store::{Run, StatementRecord};

use crate::model::Counted;
use costs::estimate;
use drift::Drift;
use observed::Observed;
use pair::{Pair, Suite, kind};

pub(crate) use curves::Curves;
pub(crate) use flame::flames;
pub use interim::{Interim, interim};
pub(crate) use json::Comparison as ComparisonJson;
pub use junit::junit;
pub(crate) use labels::{SHORT_MISSED, class, counts, label, short, word};
pub(crate) use markdown::lines as markdown;
pub(crate) use printed::{change, ratio, reach, span, with_interval};
pub(crate) use profile::{Profiled, readable};
pub(crate) use text::text;
pub(crate) use times::{TAIL, TIMES_NOTE};
pub(crate) use together::{columns as posts_columns, metrics as metrics_together};
pub(crate) use verdict_row::VerdictRow;

/// A comparison arranged for printing.
pub(crate) struct Verdicts<'a> {
    pub(crate) plan: &'a Comparison,
    pub(crate) base: String,
    pub(crate) tests: Vec<Observed<'a>>,
    /// Every contender but the baseline, in the order of the plan.
    pub(crate) judged: Vec<Judged<'a>>,
    is_io_bound: bool,
    seed: u64,
    run: &'a Run,
    reading: Option<(f64, f64)>,
}

/// One contender against the baseline.
pub(crate) struct Judged<'a> {
    pub(crate) contender: String,
    /// It is the same build as the baseline: any difference is noise.
    pub(crate) is_base: bool,
    /// Why all results of this contender are invalid.
    pub(crate) invalid: Option<String>,
    /// Runs are compared within rounds, since these share most of their noise.
    is_paired: bool,
    /// By test, as in [`Verdicts::tests`].
    pub(crate) verdicts: Vec<Verdict>,
    noise: Vec<Option<Noise>>,
    pub(crate) suite: Option<Suite>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) findings: Vec<Finding>,
    /// One for each profiled test.
    pub(crate) profiles: Vec<Profiled<'a>>,
}

/// The outcome of a comparison for a program that must go on or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Some test is slower, or costs more per operation, by at least its margin.
    Regression,
    /// No test is known to be; some tests have no verdict.
    Undecided,
    Passed,
}

/// None if the run is no comparison.
pub fn gate(run: &Run) -> Option<Gate> {
    Verdicts::new(run).map(|verdicts| verdicts.gate())
}

impl<'a> Verdicts<'a> {
    /// None if the run is no comparison.
    pub(crate) fn new(run: &'a Run) -> Option<Self> {
        let plan = run.plan.comparison()?;
        let names: Vec<String> = run.plan.contenders.iter().map(|one| one.name()).collect();
        let (base, others) = names.split_first()?;
        let tests = observed::tests(&run.rounds).into_iter();
        let tests: Vec<Observed<'_>> = tests.map(|test| test.with_times(plan)).collect();
        let is_io_bound = run.plan.cache == Some(Cache::IoBound);
        let seed = run.plan.seed;
        let judged = others.iter().zip(&run.plan.contenders[1..]).map(|(contender, of)| {
            let drift = Drift::of(plan, &tests);
            let pair = Pair { plan, base, contender, is_io_bound, drift };
            let report = pair.judge(&tests);
            let names = tests.iter().map(|test| test.name);
            let profiles = profile::profiled(run, names, base, contender);
            let suite = pair.suite(&tests, &report.verdicts, seed);
            let mut evidence = pair.evidence(run, &tests, &report.verdicts, &profiles);
            for one in &mut evidence {
                one.suite = suite.as_ref().map(|suite| estimate(&suite.shift));
            }
            let with_tests = tests.iter().zip(&report.verdicts);
            Judged {
                contender: contender.clone(),
                is_base: of.spec() == run.plan.contenders[0].spec(),
                invalid: report.invalid,
                is_paired: report.is_paired,
                noise: with_tests.map(|(test, verdict)| pair.noise(test, verdict)).collect(),
                suite,
                verdicts: report.verdicts,
                findings: explain_suite(&evidence),
                evidence,
                profiles,
            }
        });
        let judged = judged.collect();
        let (base, reading) = (base.clone(), observed::reading(&run.rounds));
        Some(Verdicts { plan, base, tests, judged, is_io_bound, seed, run, reading })
    }

    /// The baseline, the contenders in the order of the plan, and the A/A control if there is one.
    pub(crate) fn names(&self) -> Vec<&str> {
        let judged = self.judged.iter().map(|judged| judged.contender.as_str());
        let control = self.plan.control.then_some(CONTROL);
        [self.base.as_str()].into_iter().chain(judged).chain(control).collect()
    }

    /// The units of the tests' rates, and the operations that their costs are divided by.
    pub(crate) fn counted(&self) -> Counted {
        Counted::of(self.tests.iter().map(|test| (test.name, test.counts(self.plan))))
    }

    /// The statements of a test by contender, from the last measurement that counts.
    pub(crate) fn statements<'t>(
        &'t self,
        test: &Observed<'a>,
    ) -> Vec<(&'t str, &'a [StatementRecord])> {
        let of = |name: &&'t str| {
            let side = test.counted_with(name).last()?.arms.get(*name)?;
            Some((*name, side.statements.as_slice()))
        };
        let names = self.names();
        names.iter().filter(|name| **name != CONTROL).filter_map(of).collect()
    }

    /// The course of the rounds of each test.
    pub(crate) fn curves(&self) -> Vec<Curves<'_>> {
        curves::curves(&self.tests, self.plan, &self.names())
    }

    pub(crate) fn is_sliced(&self) -> bool {
        self.plan.uses(Method::Slices)
    }

    /// Microseconds of the client's CPU for reading the counters of a slice, and their share of its
    /// time; none for whole runs.
    pub(crate) fn reading(&self) -> Option<(f64, f64)> {
        self.reading.filter(|_| self.is_sliced())
    }

    /// Whether there are rounds in which not all servers were up at the same time.
    pub(crate) fn is_in_pairs(&self) -> bool {
        self.tests.iter().flat_map(|test| &test.passes).any(|pass| pass.part > 1)
    }

    /// The margin of a test, as a log.
    pub(crate) fn margin(&self, test: &Observed<'_>) -> f64 {
        self.plan.margin.unwrap_or_else(|| kind(self.is_io_bound, test).margin())
    }

    /// Whether any test was profiled.
    pub(crate) fn is_profiled(&self) -> bool {
        self.judged.iter().any(|one| !one.profiles.is_empty())
    }

    /// Why a test is measured as it is.
    pub(crate) fn method_because(&self, test: &str) -> String {
        match self.plan.choice_of(test) {
            Some(choice) => choice.why.clone(),
            None if self.plan.of.is_chain() => "its steps build on each other".to_string(),
            None => "asked for".to_string(),
        }
    }

    /// None if the baseline was measured in this run.
    pub(crate) fn drift(&self) -> Option<Drift<'_>> {
        Drift::of(self.plan, &self.tests)
    }

    fn pair<'s>(&'s self, judged: &'s Judged<'_>) -> Pair<'s> {
        let Verdicts { plan, base, is_io_bound, .. } = self;
        let (contender, is_io_bound) = (&judged.contender, *is_io_bound);
        Pair { plan, base, contender, is_io_bound, drift: self.drift() }
    }

    fn gate(&self) -> Gate {
        let labels = || self.judged.iter().flat_map(|one| &one.verdicts).map(|one| &one.label);
        let fails = |label: &Label| {
            matches!(label, Label::Regression { .. } | Label::EfficiencyRegression { .. })
        };
        let is_open =
            |label: &Label| matches!(label, Label::Inconclusive { .. } | Label::Invalid { .. });
        if labels().any(fails) {
            Gate::Regression
        } else if self.tests.is_empty() || labels().any(is_open) {
            Gate::Undecided
        } else {
            Gate::Passed
        }
    }
}
