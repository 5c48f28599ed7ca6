//! From the passes of a comparison to verdicts, and what explains them.

mod causes;
mod observed;
mod text;

use rqps_plan::{Cache, Comparison, Method, Workload};
use rqps_stats::cause::{Evidence, Finding, explain_suite};
use rqps_stats::label::{Kind, Label};
use rqps_stats::verdict::{self, Cell, Cost, LogRatios, LogValues, Options, Sample, Verdict};
use rqps_store::{PassRecord, Run};

use observed::{Observed, Quantity};

pub(crate) use text::text;

/// What the base is called where it takes part a second time.
const TWIN: &str = "twin";

/// A comparison arranged for printing.
pub(crate) struct Verdicts<'a> {
    pub(crate) run: &'a Run,
    pub(crate) plan: &'a Comparison,
    pub(crate) base: String,
    pub(crate) tests: Vec<Observed<'a>>,
    /// Every contender but the base, in the order of the plan.
    pub(crate) judged: Vec<Judged>,
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
        Some(Verdicts { run, plan, base: base.clone(), tests, judged })
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

/// A contender and the base that it is held against.
pub(super) struct Pair<'a> {
    pub(super) plan: &'a Comparison,
    pub(super) base: &'a str,
    pub(super) contender: &'a str,
    pub(super) is_io_bound: bool,
}

impl Pair<'_> {
    fn cells(&self, tests: &[Observed<'_>]) -> Vec<Cell> {
        tests.iter().map(|test| self.cell(test)).collect()
    }

    fn cell(&self, test: &Observed<'_>) -> Cell {
        let kind = match (self.is_io_bound, test.writes()) {
            (true, _) => Kind::IoBound,
            (false, true) => Kind::CachedWrite,
            (false, false) => Kind::CachedRead,
        };
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
        match self.plan.method {
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

/// The tests of a comparison that need no more rounds: the interval of every contender is narrow
/// enough. What the estimates are does not matter: stopping on them would find what is not there.
pub fn settled_tests(plan: &rqps_plan::Plan, passes: &[PassRecord]) -> Vec<String> {
    let Workload::Comparison(comparison) = &plan.workload else { return Vec::new() };
    let names: Vec<String> = plan.contenders.iter().map(|one| one.name()).collect();
    let Some((base, others)) = names.split_first() else { return Vec::new() };
    let tests = observed::tests(passes);
    let enough = |test: &&Observed<'_>| {
        let rounds = test.counted().count();
        rounds >= comparison.fewest_rounds as usize
    };
    let is_io_bound = plan.cache == Some(Cache::IoBound);
    let narrow = |test: &&Observed<'_>| {
        others.iter().all(|contender| {
            let pair = Pair { plan: comparison, base, contender, is_io_bound };
            let report = verdict::judge(&[pair.cell(test)], &Options::default());
            let width = report.verdicts[0].plain.interval.half_width();
            width <= comparison.precision
        })
    };
    let settled = tests.iter().filter(enough).filter(narrow);
    settled.map(|test| test.name.to_string()).collect()
}
