//! From the rounds of a comparison to verdicts, what an operation costs, and the evidence for
//! causes.

mod answers;
mod causes;
mod costs;
mod counted;
mod counters;
mod course;
mod drift;
#[cfg(test)]
mod fixture;
mod instructions;
mod interim;
mod net;
mod observed;
mod pair;
mod pooled;
mod profile;
mod query_plans;
mod recorded;
mod steadiness;
mod times;
mod total;
mod verdicts;
mod whole;

use rqps_plan::{CONTROL, Cache, Comparison, Method, RATE_STEP, Scope};
use rqps_stats::Estimate;
use rqps_stats::label::Label;
use rqps_stats::noise::Noise;
use rqps_stats::paired::t_interval;
use rqps_stats::verdict::Verdict;
use rqps_store::{RoundRecord, Run, StatementRecord};

use crate::diagnosis::{Cause, Evidence, Finding, explain_suite};
use costs::estimate;
use total::{per_day, shares};

pub use answers::{Answered, PlanVerdict};
pub use costs::per_statement;
pub use counted::counted_operation;
pub use drift::Drift;
pub use instructions::{CountVerdict, CountedSide, CountedTest, FunctionChange, REPEATABLE};
pub use interim::{Changed, Interim, Standing, interim};
pub use observed::{
    Observed, Quantity, background, by_cycle, clients_of, idle, level, other_percent, refusal,
    restart, tests,
};
use pair::ALPHA;
pub use pair::{Pair, Suite, class_of_noise, kind};
pub use profile::{Profiled, Side};
pub use query_plans::plan_differences;
pub use recorded::percentile;
pub use steadiness::Unsteady;
pub use times::{LONGEST, Time, Unsustained};
pub use total::Total;
pub use whole::{done, rates, sampled, whole_seconds};

/// A comparison from its rounds to its causes.
pub struct Results<'a> {
    pub plan: &'a Comparison,
    pub base: String,
    pub tests: Vec<Observed<'a>>,
    /// Every contender but the baseline, in the order of the plan.
    pub judged: Vec<Judged<'a>>,
    pub is_io_bound: bool,
    /// What the verdicts are about.
    pub scope: Scope,
    pub seed: u64,
    pub run: &'a Run,
    reading: Option<(f64, f64)>,
}

/// One contender against the baseline.
pub struct Judged<'a> {
    pub contender: String,
    /// It is the same build as the baseline: any difference is noise.
    pub is_base: bool,
    /// Why all results of this contender are invalid.
    pub invalid: Option<String>,
    /// Runs are compared within rounds, since these share most of their noise.
    pub is_paired: bool,
    /// By test, as in [`Results::tests`].
    pub verdicts: Vec<Verdict>,
    /// Of each test, the percentiles of its times that are known, with their verdicts.
    pub times: Vec<Vec<Time>>,
    /// Of each test, the log ratio of median times without the way to a remote server, if known.
    pub net_of_path: Vec<Option<Estimate>>,
    pub noise: Vec<Option<Noise>>,
    pub suite: Option<Suite>,
    pub evidence: Vec<Evidence>,
    pub findings: Vec<Finding>,
    /// One for each profiled test.
    pub profiles: Vec<Profiled<'a>>,
    /// One for each test whose instructions were to be counted.
    pub counts: Vec<CountedTest<'a>>,
    /// One for each query whose answers were compared, whether it was measured or not.
    pub answers: Vec<Answered<'a>>,
    /// The time of all queries together, if they have weights.
    pub total: Option<Total>,
}

/// What kind of change a test has, if its instructions were counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// More or fewer instructions.
    CodePath,
    /// The same instructions, slower or faster.
    Layout,
}

impl ChangeKind {
    pub fn name(self) -> &'static str {
        match self {
            ChangeKind::CodePath => "code-path",
            ChangeKind::Layout => "layout",
        }
    }
}

impl Judged<'_> {
    /// The labels that decide on a test, by its place: of a capped one, those of its times.
    fn deciding(&self, index: usize) -> Vec<&Label> {
        match &self.verdicts[index].label {
            Label::Capped { .. } => {
                let judged = self.times[index].iter().filter_map(|time| time.verdict.as_ref().ok());
                judged.map(|verdict| &verdict.label).collect()
            }
            label => vec![label],
        }
    }

    /// The kind of a test's change, by its place; none without counted instructions.
    pub fn kind(&self, index: usize) -> Option<ChangeKind> {
        let (verdict, evidence) = (&self.verdicts[index], &self.evidence[index]);
        if let Label::EfficiencyRegression { cost, .. } = &verdict.label {
            let executed = evidence.executed.as_ref().filter(|_| cost == "cpu/o")?;
            let is_longer = executed.log() > 0.0;
            return match executed.is_same() {
                true => Some(ChangeKind::Layout),
                false => is_longer.then_some(ChangeKind::CodePath),
            };
        }
        let mut findings = self.findings.iter().filter(|one| one.tests.contains(&verdict.test));
        findings.find_map(|finding| match finding.cause {
            Cause::CodePath => Some(ChangeKind::CodePath),
            Cause::Layout => Some(ChangeKind::Layout),
            _ => None,
        })
    }
}

/// Which changes for the worse fail.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailOn {
    #[default]
    Regression,
    /// Not those that are known to execute the same instructions.
    CodePath,
    /// Another query plan, however fast it is.
    Plan,
    /// Nothing but wrong answers, which fail in any case.
    Rows,
    /// A longer time of a percentile, whatever the rate.
    Latency,
}

/// The outcome of a comparison for a program that must go on or stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// Some test is slower, or costs more per operation, by at least its margin; or a query has a
    /// wrong answer.
    Regression,
    /// No test is known to be; some tests have no verdict.
    Undecided,
    Passed,
}

impl<'a> Results<'a> {
    /// None if the run is no comparison.
    pub fn new(run: &'a Run) -> Option<Self> {
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
            let answers = answers::answered(run, base, contender);
            let wrong = answers.iter().filter(|answered| answered.rows.is_wrong());
            let wrong: Vec<&str> = wrong.map(|answered| answered.test).collect();
            let (mut report, total) = pair.judge_with_total(&tests, &wrong);
            let answer = |test: &str| answers.iter().find(|answered| answered.test == test);
            for verdict in &mut report.verdicts {
                let corrected = answer(&verdict.test).and_then(|it| it.corrected(&verdict.label));
                verdict.label = corrected.unwrap_or(verdict.label.clone());
            }
            let names = tests.iter().map(|test| test.name);
            let profiles = profile::profiled(run, names, base, contender);
            let counts = instructions::counted(run, base, contender);
            let suite = pair.suite(&tests, &report.verdicts, seed);
            let mut evidence = pair.evidence(run, &tests, &report.verdicts, &profiles, &counts);
            for one in &mut evidence {
                one.suite = suite.as_ref().map(|suite| estimate(&suite.shift));
                // The plan that rounds show is that of one set of values and of each load.
                match answer(&one.test).map(|answered| &answered.plan) {
                    Some(PlanVerdict::Changed(changes))
                        if one.plan_changes.as_ref().is_none_or(Vec::is_empty) =>
                    {
                        one.plan_changes = Some(changes.clone());
                    }
                    Some(PlanVerdict::Varies(_)) => one.plan_changes = None,
                    _ => {}
                }
            }
            let times = pair.times(&tests, &report.verdicts);
            let with_tests = tests.iter().zip(&report.verdicts);
            Judged {
                contender: contender.clone(),
                is_base: of.spec() == run.plan.contenders[0].spec(),
                invalid: report.invalid,
                is_paired: report.is_paired,
                noise: with_tests.map(|(test, verdict)| pair.noise(test, verdict)).collect(),
                suite,
                verdicts: report.verdicts,
                times,
                net_of_path: pair.net_of_path(&tests),
                findings: explain_suite(&evidence),
                evidence,
                profiles,
                counts,
                answers,
                total,
            }
        });
        let judged = judged.collect();
        let (base, reading) = (base.clone(), observed::reading(&run.rounds));
        let scope = Scope::of(plan, &run.plan.contenders, tests.iter().any(Observed::writes));
        Some(Results { plan, base, tests, judged, is_io_bound, scope, seed, run, reading })
    }

    /// The baseline, the contenders in the order of the plan, and the A/A control if there is one.
    pub fn names(&self) -> Vec<&str> {
        let judged = self.judged.iter().map(|judged| judged.contender.as_str());
        let control = self.plan.control.then_some(CONTROL);
        [self.base.as_str()].into_iter().chain(judged).chain(control).collect()
    }

    /// The statements of a test by contender, from the last measurement that counts.
    pub fn statements<'t>(&'t self, test: &Observed<'a>) -> Vec<(&'t str, &'a [StatementRecord])> {
        let of = |name: &&'t str| {
            let side = test.counted_with(name).last()?.arms.get(*name)?;
            Some((*name, side.statements.as_slice()))
        };
        let names = self.names();
        names.iter().filter(|name| **name != CONTROL).filter_map(of).collect()
    }

    pub fn is_sliced(&self) -> bool {
        self.plan.uses(Method::Slices)
    }

    /// Microseconds of the client's CPU for reading the counters of a slice, and their share of its
    /// time; none for whole runs.
    pub fn reading(&self) -> Option<(f64, f64)> {
        self.reading.filter(|_| self.is_sliced())
    }

    /// Whether there are rounds in which not all servers were up at the same time.
    pub fn is_in_pairs(&self) -> bool {
        self.tests.iter().flat_map(|test| &test.passes).any(|pass| pass.part > 1)
    }

    /// The margin of a test, as a log.
    pub fn margin(&self, test: &Observed<'_>) -> f64 {
        let of = kind(self.is_io_bound, test);
        self.judged.first().map_or(of.margin(), |judged| self.pair(judged).margin(of))
    }

    /// Whether any test was profiled.
    pub fn is_profiled(&self) -> bool {
        self.judged.iter().any(|one| !one.profiles.is_empty())
    }

    /// None if the baseline was measured in this run.
    pub fn drift(&self) -> Option<Drift<'_>> {
        Drift::of(self.plan, &self.tests)
    }

    /// A contender with the baseline.
    pub fn pair<'s>(&'s self, judged: &'s Judged<'_>) -> Pair<'s> {
        let Results { plan, base, is_io_bound, .. } = self;
        let (contender, is_io_bound) = (&judged.contender, *is_io_bound);
        Pair { plan, base, contender, is_io_bound, drift: self.drift() }
    }

    /// The largest operations per second at which an arm kept the service level in a test, as a log
    /// with its interval over rounds; none without one.
    pub fn largest_rate(&self, test: &Observed<'_>, arm: &str) -> Option<Estimate> {
        self.plan.slo?;
        let step = RATE_STEP.ln() / 2.0;
        let rate = |pass: &RoundRecord| Some(times::reached(pass, arm)?.ln());
        let rates: Vec<f64> = test.counted_with(arm).filter_map(rate).collect();
        let mut found = t_interval(&rates, None, ALPHA)?;
        found.interval.low -= step;
        found.interval.high += step;
        Some(found)
    }

    /// Of each test, the share of the baseline's time that it takes, by weights.
    pub fn shares(&self, judged: &Judged<'_>) -> Vec<Option<f64>> {
        shares(&self.pair(judged), &self.tests)
    }

    /// Of each test, the seconds that it takes in a day, by the baseline and by the contender.
    pub fn per_day(&self, judged: &Judged<'_>) -> Vec<Option<[f64; 2]>> {
        per_day(&self.pair(judged), &self.tests)
    }

    /// A contender that does not keep up with a rate that the baseline keeps answers later and
    /// later.
    fn gate_of_latency(&self) -> Gate {
        let is_slower = |judged: &Judged<'_>, index: usize| {
            let test = &self.tests[index];
            let unsustained = |arm: &str| Unsustained::of(test, arm, self.plan).is_some();
            unsustained(&judged.contender) && !unsustained(&self.base)
        };
        let slower = |judged: &Judged<'_>| (0..self.tests.len()).any(|at| is_slower(judged, at));
        let verdicts = || self.judged.iter().flat_map(|one| &one.times).flatten();
        let labels: Vec<&Label> =
            verdicts().filter_map(|time| Some(&time.verdict.as_ref().ok()?.label)).collect();
        let is_open =
            |label: &&Label| matches!(label, Label::Inconclusive { .. } | Label::Invalid { .. });
        if labels.iter().any(|label| matches!(label, Label::Regression { .. }))
            || self.judged.iter().any(slower)
        {
            Gate::Regression
        } else if labels.is_empty() || labels.iter().any(is_open) {
            Gate::Undecided
        } else {
            Gate::Passed
        }
    }

    fn gate_of_instructions(&self, threshold: f64) -> Gate {
        let counts = self.judged.iter().flat_map(|judged| &judged.counts);
        let verdicts: Vec<CountVerdict> = counts.map(|one| one.verdict(threshold)).collect();
        if verdicts.contains(&CountVerdict::More) {
            Gate::Regression
        } else if verdicts.is_empty() || verdicts.contains(&CountVerdict::Unknown) {
            Gate::Undecided
        } else {
            Gate::Passed
        }
    }

    /// Whether a contender, or the baseline, answers a query wrongly or fails in it.
    fn has_wrong_answers(&self) -> bool {
        let mut answers = self.judged.iter().flat_map(|judged| &judged.answers);
        answers.any(|one| one.rows.is_wrong() || one.baseline.verdict.is_wrong())
    }

    /// The outcome over all contenders and tests.
    pub fn gate(&self, fail_on: FailOn) -> Gate {
        if self.has_wrong_answers() {
            return Gate::Regression;
        }
        let mut plans = self.judged.iter().flat_map(|judged| &judged.answers);
        match fail_on {
            FailOn::Rows => return Gate::Passed,
            FailOn::Plan => {
                let has_changed = plans.any(|one| matches!(one.plan, PlanVerdict::Changed(_)));
                return if has_changed { Gate::Regression } else { Gate::Passed };
            }
            FailOn::Latency => return self.gate_of_latency(),
            FailOn::Regression | FailOn::CodePath => {}
        }
        if let Some(threshold) = self.plan.only_instructions() {
            return self.gate_of_instructions(threshold);
        }
        let is_meant = |judged: &Judged<'_>, index: usize| match fail_on {
            FailOn::CodePath => judged.kind(index) != Some(ChangeKind::Layout),
            FailOn::Regression | FailOn::Plan | FailOn::Rows | FailOn::Latency => true,
        };
        let totals = || self.judged.iter().filter_map(|one| one.total.as_ref());
        let mut decided =
            self.judged.iter().flat_map(|one| (0..one.verdicts.len()).map(|at| one.deciding(at)));
        let fails = |label: &Label| {
            matches!(
                label,
                Label::Regression { .. }
                    | Label::Overdue { .. }
                    | Label::EfficiencyRegression { .. }
            )
        };
        let is_open =
            |label: &Label| matches!(label, Label::Inconclusive { .. } | Label::Invalid { .. });
        let has_failed = |judged: &Judged<'_>| {
            let mut all = 0..judged.verdicts.len();
            all.any(|at| judged.deciding(at).into_iter().any(fails) && is_meant(judged, at))
        };
        let is_total_slower = totals().any(|total| fails(&total.verdict.label));
        if self.judged.iter().any(has_failed) || is_total_slower {
            Gate::Regression
        } else if self.tests.is_empty()
            || decided.any(|of| of.is_empty() || of.into_iter().any(is_open))
        {
            Gate::Undecided
        } else {
            Gate::Passed
        }
    }
}
