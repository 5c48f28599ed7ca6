//! From the passes of a comparison to verdicts, and what explains them.

mod causes;
mod json;
pub(crate) mod observed;
mod text;

use rqps_plan::{Cache, Compared, Comparison, Method, Workload};
use rqps_stats::cause::{Evidence, Finding, explain_suite};
use rqps_stats::label::{Kind, Label};
use rqps_stats::stop::{Progress, Stop, StopRule};
use rqps_stats::verdict::{self, Cell, Cost, LogRatios, LogValues, Options, Sample, Verdict};
use rqps_store::{PassRecord, Run};

use observed::{Observed, Quantity};

pub(crate) use json::{Comparison as ComparisonJson, label};
pub(crate) use text::{percent, text};

/// What the base is called where it takes part a second time.
const TWIN: &str = "twin";

/// A comparison arranged for printing.
pub(crate) struct Verdicts<'a> {
    pub(crate) plan: &'a Comparison,
    pub(crate) base: String,
    pub(crate) tests: Vec<Observed<'a>>,
    /// Every contender but the base, in the order of the plan.
    pub(crate) judged: Vec<Judged>,
    is_io_bound: bool,
}

/// One contender against the base.
pub(crate) struct Judged {
    pub(crate) contender: String,
    /// Why nothing of it can be believed.
    pub(crate) invalid: Option<String>,
    /// By test, as in [`Verdicts::tests`].
    pub(crate) verdicts: Vec<Verdict>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) findings: Vec<Finding>,
}

impl<'a> Verdicts<'a> {
    /// None if the run is no comparison.
    pub(crate) fn new(run: &'a Run) -> Option<Self> {
        let Workload::Comparison(plan) = &run.plan.workload else { return None };
        let names: Vec<String> = run.plan.contenders.iter().map(|one| one.name()).collect();
        let (base, others) = names.split_first()?;
        let tests = observed::tests(&run.passes);
        let is_io_bound = run.plan.cache == Some(Cache::IoBound);
        let judged = others.iter().map(|contender| {
            let pair = Pair { plan, base, contender, is_io_bound };
            let report = verdict::judge(&pair.cells(&tests), &Options::default());
            let evidence = pair.evidence(run, &tests, &report.verdicts);
            Judged {
                contender: contender.clone(),
                invalid: report.invalid,
                verdicts: report.verdicts,
                findings: explain_suite(&evidence),
                evidence,
            }
        });
        let judged = judged.collect();
        Some(Verdicts { plan, base: base.clone(), tests, judged, is_io_bound })
    }

    /// The change that does not matter in practice, as a log.
    pub(crate) fn margin(&self, test: &Observed<'_>) -> f64 {
        self.plan.margin.unwrap_or_else(|| kind(self.is_io_bound, test).margin())
    }

    /// Why a test is measured as it is.
    pub(crate) fn method_because(&self, test: &str) -> String {
        match (self.plan.choice_of(test), &self.plan.of) {
            (Some(choice), _) => choice.why.clone(),
            (None, Compared::Microbenchmark(_)) => "asked for".to_string(),
            (None, Compared::InsertBenchmark(_)) => "its steps build on each other".to_string(),
        }
    }

    /// Whether any test has become slower, or dearer.
    pub(crate) fn has_regression(&self) -> bool {
        let mut labels = self.judged.iter().flat_map(|one| &one.verdicts).map(|one| &one.label);
        labels.any(|label| {
            matches!(
                label,
                Label::Regression { .. }
                    | Label::SmallRegression { .. }
                    | Label::EfficiencyRegression { .. }
            )
        })
    }
}

pub(crate) fn kind(is_io_bound: bool, test: &Observed<'_>) -> Kind {
    match (is_io_bound, test.writes()) {
        (true, _) => Kind::IoBound,
        (false, true) => Kind::CachedWrite,
        (false, false) => Kind::CachedRead,
    }
}

/// A contender and the base that it is held against.
pub(crate) struct Pair<'a> {
    pub(crate) plan: &'a Comparison,
    pub(crate) base: &'a str,
    pub(crate) contender: &'a str,
    pub(crate) is_io_bound: bool,
}

impl Pair<'_> {
    fn cells(&self, tests: &[Observed<'_>]) -> Vec<Cell> {
        tests.iter().map(|test| self.cell(test)).collect()
    }

    fn cell(&self, test: &Observed<'_>) -> Cell {
        let kind = kind(self.is_io_bound, test);
        let mut cell = Cell::new(test.name, kind, self.sample(test, Quantity::Rate));
        if let Some(margin) = self.plan.margin {
            cell.margin = margin;
        }
        let cpu = Cost { name: "cpu/o".to_string(), sample: self.sample(test, Quantity::Cpu) };
        if self.has_values(&cpu.sample) {
            cell.costs.push(cpu);
        }
        if test.counted().next().is_none() {
            cell.refused = test.refusals().last().map(str::to_string);
        }
        cell
    }

    fn has_values(&self, sample: &Sample) -> bool {
        match sample {
            Sample::Slices(restarts) => !restarts.is_empty(),
            Sample::Runs(rounds) => !rounds.is_empty(),
        }
    }

    /// A quantity of the contender and the twin against the base, by round.
    fn sample(&self, test: &Observed<'_>, quantity: Quantity) -> Sample {
        match self.plan.method_of(test.name) {
            Method::Slices => {
                let restarts = test.counted().filter_map(|pass| {
                    let (base, both) = (vec![self.base], vec![self.base, TWIN]);
                    let twin = observed::log_ratio(pass, TWIN, &base, quantity);
                    let against = if twin.is_some() { &both } else { &base };
                    let contender = observed::log_ratio(pass, self.contender, against, quantity)?;
                    Some(LogRatios { contender, twin })
                });
                Sample::Slices(restarts.collect())
            }
            Method::Runs => {
                let rounds = test.counted().filter_map(|pass| {
                    let log = |name| Some(observed::level(pass, name, quantity)?.ln());
                    let (base, contender) = (log(self.base)?, log(self.contender)?);
                    Some(LogValues { base, twin: log(TWIN), contender })
                });
                Sample::Runs(rounds.collect())
            }
        }
    }
}

/// Where a comparison stands before its end.
#[derive(Clone, Debug, Default)]
pub struct Interim {
    /// The tests that need no more rounds: the interval of every contender is narrow enough. What
    /// the estimates are does not matter: stopping on them would find what is not there.
    pub settled: Vec<String>,
    /// The estimate of every test with its interval, a line each.
    pub standing: Vec<String>,
}

/// Judges the passes so far.
pub fn interim(plan: &rqps_plan::Plan, passes: &[PassRecord]) -> Interim {
    let Workload::Comparison(comparison) = &plan.workload else { return Interim::default() };
    let names: Vec<String> = plan.contenders.iter().map(|one| one.name()).collect();
    let Some((base, others)) = names.split_first() else { return Interim::default() };
    let tests = observed::tests(passes);
    let is_io_bound = plan.cache == Some(Cache::IoBound);
    let mut interim = Interim::default();
    let rule = StopRule {
        least_rounds: comparison.fewest_rounds,
        most_rounds: comparison.rounds,
        half_width: comparison.precision,
        budget: None,
    };
    let mut narrow = vec![true; tests.len()];
    for contender in others {
        let pair = Pair { plan: comparison, base, contender, is_io_bound };
        let report = verdict::judge(&pair.cells(&tests), &Options::default());
        for (index, verdict) in report.verdicts.iter().enumerate() {
            let width = verdict.plain.interval.half_width();
            let rounds = tests[index].counted().count() as u32;
            let progress = Progress { rounds, half_width: width, elapsed: 0.0, next_round: 0.0 };
            narrow[index] &= rule.decide(&progress) == Some(Stop::Precise);
            let name = tests[index].name;
            let estimate = match width.is_finite() {
                true => format!("{} ± {:.2} %", text::percent(verdict.plain.value), 100.0 * width),
                false => "too few rounds".to_string(),
            };
            let settled = if narrow[index] { ", settled" } else { "" };
            interim.standing.push(format!("{contender} {name}: {estimate}{settled}"));
        }
    }
    let settled = tests.iter().zip(narrow).filter(|(_, narrow)| *narrow);
    interim.settled = settled.map(|(test, _)| test.name.to_string()).collect();
    interim
}
