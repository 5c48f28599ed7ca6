//! The verdicts for programs, with every round.

use std::collections::BTreeMap;

use rqps_analysis::comparison::{
    self, ChangeKind, Observed, Quantity, background, idle, level, per_statement, refusal,
};
use rqps_document::plain;
use rqps_observe::Metric;
use rqps_plan::{CONTROL, Method};
use rqps_stats::noise::Noise;
use rqps_stats::verdict::Stage;
use rqps_store::{RoundRecord, StatementRecord};
use serde::Serialize;

use super::answers_json::{self, StatementJson, TotalJson};
use super::evidence_json::{self, Changed, Finding, Time, TimeBudget, finding, time_budget};
use super::instructions_json::{self, CountJson};
use super::profile_json::{self, Profile};
use super::ratio_json::{Ratio, finite, ratio};
use super::{Judged, Verdicts, label};

#[derive(Serialize)]
pub(crate) struct Comparison<'a> {
    /// Of tests without a method of their own.
    method: &'static str,
    /// How verdicts are adjusted for the number of tests.
    correction: &'static str,
    baseline: String,
    /// What the verdicts are about: `build`, `session`, `place`, `instance`, `tables` or
    /// `instance+restart`.
    scope: &'static str,
    /// The earlier run with the baseline's rounds; null if the baseline was measured in this run.
    baseline_from: Option<BaselineFrom>,
    /// Not all servers were up at the same time: the baseline took turns with one contender at a
    /// time.
    pairs: bool,
    /// The client's cost of reading counters at the edges of slices; null for whole runs.
    reading: Option<Reading>,
    /// The largest CPU of other processes during a measurement that counts, in percent of all CPUs.
    most_other_cpu: Option<f64>,
    contenders: Vec<Contender<'a>>,
    remarks: Vec<String>,
    /// Measurements that a guard discarded.
    discarded: Vec<Discarded>,
}

/// A baseline that was measured earlier.
#[derive(Serialize)]
struct BaselineFrom {
    /// The run directory, the run in it and the start of the run.
    path: String,
    run: String,
    created: String,
    /// The time of the reference loop now, as a ratio to its time in that run.
    reference_loop: Option<f64>,
    /// By how much every interval is wider on either side, as a share.
    drift: Option<f64>,
}

#[derive(Serialize)]
struct Discarded {
    test: String,
    round: u32,
    attempt: u32,
    why: String,
}

/// The change that all tests share.
#[derive(Serialize)]
struct SuiteShift {
    ratio: Option<Ratio>,
    rounds: usize,
}

#[derive(Serialize)]
struct Sent {
    baseline: Vec<StatementRecord>,
    contender: Vec<StatementRecord>,
}

/// The cost of reading the counters.
#[derive(Serialize)]
struct Reading {
    /// Microseconds of CPU of the client for both edges of a slice.
    us_per_slice: f64,
    /// The same as a share of the time of a slice, which does not include it.
    share: f64,
}

#[derive(Serialize)]
struct Contender<'a> {
    name: String,
    /// It is the same build or server as the baseline, under another name: any difference is noise.
    is_baseline: bool,
    /// Why all results of this contender are invalid.
    invalid: Option<String>,
    /// How it and the baseline were compiled, if one of them is unusual; otherwise null.
    built: Option<String>,
    /// The verdicts in one line.
    summary: String,
    suite_shift: Option<SuiteShift>,
    tests: Vec<Test>,
    /// The time of all queries of a user's own SQL together; null without one.
    total: Option<TotalJson>,
    /// One for each query of a user's own SQL.
    statements: Vec<StatementJson>,
    findings: Vec<Finding>,
    /// One for each profiled test.
    profiles: Vec<Profile>,
    /// One for each test whose instructions were to be counted.
    instructions: Vec<CountJson<'a>>,
}

#[derive(Serialize)]
struct Test {
    name: String,
    group: String,
    class: String,
    /// The unit of its rate, and the operation that its costs are divided by.
    unit: &'static str,
    operation: &'static str,
    /// `slices` or `runs`, and why it was chosen.
    method: &'static str,
    method_because: String,
    /// `regression`, `small_regression`, …
    label: &'static str,
    /// The label in words, with its numbers.
    verdict: String,
    /// `code-path` or `layout`; null if that is not known, or nothing has changed.
    kind: Option<&'static str>,
    /// The write rate that the contender reached and the required one, if it kept that in none of
    /// its runs; whatever the label.
    missed_rate: Option<MissedRate>,
    /// The rounds that decided: `single`, `screen` or `fresh`.
    stage: &'static str,
    /// rQPS with the interval adjusted for the number of tests.
    ratio: Option<Ratio>,
    /// The same with the interval of the test by itself.
    plain: Option<Ratio>,
    /// Without the suite shift.
    relative_to_suite: Option<Ratio>,
    adjusted_p: f64,
    /// The MDE, as a share.
    detectable: Option<f64>,
    rounds_needed: Option<u32>,
    noise: Option<NoiseOf>,
    /// In its unit, over all rounds.
    baseline_rate: Option<f64>,
    rate: Option<f64>,
    /// The A/A control against the baseline.
    control: Option<Ratio>,
    /// The contender's own A/A control against it, if it is a remote server.
    own_control: Option<Ratio>,
    /// How many times as wide as by their noise intervals are, because of the control.
    widened: f64,
    /// Whole runs that were not at one level, for each arm with such runs.
    unsteady: Vec<Unsteady>,
    costs: BTreeMap<String, Ratio>,
    /// Where times begin: `response` when an operation was due, `service` when it was started.
    clock: &'static str,
    /// By percentile; empty where none is known.
    times: BTreeMap<&'static str, Time>,
    /// Metrics of the operating system per operation.
    metrics: BTreeMap<String, Changed>,
    /// Counters of the DBMS per operation of a client that differ, or that a rule uses.
    counters: BTreeMap<String, Changed>,
    /// Share of the clients' time in slices that they waited for the slowest of them, baseline and
    /// contender.
    idle: Option<[f64; 2]>,
    /// CPU that the servers used while other arms were driven, as a share of one CPU, baseline and
    /// contender.
    background: Option<[f64; 2]>,
    /// Rows that an operation returned or changed, baseline and contender.
    rows_by_operation: Option<[f64; 2]>,
    /// Bytes per operation that the servers read from storage, baseline and contender.
    read_bytes: Option<[f64; 2]>,
    /// Bytes of the database's files before the test and after it, in the last round.
    database_bytes: Option<DatabaseBytes>,
    /// Where the time of an operation went, in microseconds.
    time_budget: TimeBudget,
    /// What the clients sent in the last round, and how the DBMS executed it.
    statements: Sent,
    rounds: Vec<Round>,
    /// Why measurements were discarded.
    discarded: Vec<String>,
}

#[derive(Serialize)]
struct MissedRate {
    reached: f64,
    promised: f64,
}

#[derive(Serialize)]
struct Unsteady {
    contender: String,
    /// The number of unsteady runs, and of the runs that are long enough to decide this.
    unsteady: usize,
    runs: usize,
    /// By kind: `warm-up`, `slow-down`, `several levels`, `trend`, `no steady state`.
    ways: BTreeMap<&'static str, usize>,
}

/// Standard deviations of a round's log ratio.
#[derive(Serialize)]
struct NoiseOf {
    /// The part that only more rounds reduce.
    between_restarts: f64,
    /// The part that longer measurements reduce, too.
    within_restarts: f64,
}

#[derive(Serialize)]
struct Round {
    round: u32,
    load: u32,
    attempt: u32,
    cpus: Vec<u32>,
    /// The stage of this round, as for the test.
    stage: &'static str,
    /// The ratio of this round.
    ratio: Option<f64>,
    /// By arm, in the unit of the test.
    rates: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct DatabaseBytes {
    baseline: [u64; 2],
    contender: [u64; 2],
}

impl<'a> Comparison<'a> {
    pub(crate) fn new(verdicts: &'a Verdicts<'_>) -> Self {
        Comparison {
            method: verdicts.plan.method.name(),
            correction: match verdicts.plan.confirm {
                Some(_) => "two_stage_holm",
                None => "benjamini_hochberg",
            },
            remarks: verdicts.remarks(),
            discarded: discarded(verdicts),
            baseline: verdicts.base.clone(),
            scope: verdicts.scope.name(),
            baseline_from: verdicts.drift().map(|drift| BaselineFrom {
                path: drift.base.path.display().to_string(),
                run: drift.base.run.clone(),
                created: drift.base.created.clone(),
                reference_loop: finite(drift.reference_loop.exp()),
                drift: finite(drift.size().exp_m1()),
            }),
            pairs: verdicts.is_in_pairs(),
            reading: verdicts
                .reading()
                .map(|(us_per_slice, share)| Reading { us_per_slice, share }),
            most_other_cpu: verdicts.most_other(),
            contenders: verdicts.judged.iter().map(|one| contender(verdicts, one)).collect(),
        }
    }
}

fn discarded(verdicts: &Verdicts<'_>) -> Vec<Discarded> {
    let passes = verdicts.tests.iter().flat_map(|test| &test.passes);
    let discarded = passes.filter_map(|pass| {
        let (test, why) = (pass.test.clone(), pass.discarded.clone()?);
        Some(Discarded { test, round: pass.round, attempt: pass.attempt, why })
    });
    discarded.collect()
}

fn contender<'a>(verdicts: &Verdicts<'_>, judged: &'a Judged<'_>) -> Contender<'a> {
    let tests = verdicts.tests.iter().enumerate();
    Contender {
        name: judged.contender.clone(),
        is_baseline: judged.is_base,
        invalid: judged.invalid.clone(),
        built: verdicts.built(judged),
        summary: plain(&verdicts.strip(judged)),
        suite_shift: judged
            .suite
            .as_ref()
            .map(|suite| SuiteShift { ratio: ratio(&suite.shift), rounds: suite.rounds }),
        tests: tests.map(|(index, observed)| test(verdicts, judged, index, observed)).collect(),
        total: answers_json::total(judged),
        statements: answers_json::statements(verdicts, judged),
        findings: judged.findings.iter().map(finding).collect(),
        profiles: judged.profiles.iter().map(profile_json::profile).collect(),
        instructions: instructions_json::json(verdicts, judged),
    }
}

fn unsteady(of: &comparison::Unsteady) -> Unsteady {
    let (contender, runs) = (of.contender.clone(), of.runs);
    Unsteady { contender, unsteady: of.count(), runs, ways: of.ways.iter().copied().collect() }
}

fn test(verdicts: &Verdicts<'_>, judged: &Judged, index: usize, observed: &Observed<'_>) -> Test {
    let (verdict, evidence) = (&judged.verdicts[index], &judged.evidence[index]);
    let passes = || observed.counted_with(&judged.contender);
    let pair = verdicts.pair(judged);
    let counts = observed.counts(verdicts.plan);
    let relative = judged.suite.as_ref().and_then(|suite| suite.relative[index].as_ref());
    let is_sliced = verdicts.plan.method_of(observed.name) == Method::Slices;
    let both = |of: &dyn Fn(&str) -> Option<f64>| {
        Some([of(&verdicts.base)?, of(&judged.contender)?]).filter(|_| is_sliced)
    };
    let read =
        |name: &str| mean_of(passes(), |pass| per_statement(pass, name, Metric::ServerReadBytes));
    let rows = |name: &str| observed.rows_by_operation(name, verdicts.plan);
    let statements = verdicts.statements(observed);
    let sent = |name: &str| {
        let own = statements.iter().find(|(of, _)| *of == name);
        own.map_or(Vec::new(), |(_, statements)| statements.to_vec())
    };
    let names = [verdicts.base.as_str(), CONTROL, judged.contender.as_str()];
    Test {
        name: observed.name.to_string(),
        group: observed.group.to_string(),
        class: observed.class.to_string(),
        unit: counts.unit(),
        operation: counts.operation(),
        method: verdicts.plan.method_of(observed.name).name(),
        method_because: verdicts.method_because(observed.name),
        label: label(&verdict.label),
        verdict: verdict.label.to_string(),
        kind: judged.kind(index).map(ChangeKind::name),
        missed_rate: observed
            .missed_rate(&judged.contender)
            .map(|(reached, promised)| MissedRate { reached, promised }),
        stage: stage(verdict.stage),
        ratio: ratio(&verdict.estimate),
        plain: ratio(&verdict.plain),
        relative_to_suite: relative.and_then(ratio),
        adjusted_p: verdict.adjusted_p,
        detectable: finite(verdict.detectable.exp_m1()),
        rounds_needed: verdict.rounds_needed,
        noise: judged.noise[index].map(|Noise { between, within }| NoiseOf {
            between_restarts: between.sqrt(),
            within_restarts: within.sqrt(),
        }),
        baseline_rate: observed.rate_beside(&verdicts.base, &judged.contender),
        rate: observed.rate(&judged.contender),
        control: verdict.control.as_ref().and_then(ratio),
        own_control: verdict.own_control.as_ref().and_then(ratio),
        widened: verdict.widened,
        unsteady: verdicts.unsteady(observed).iter().map(unsteady).collect(),
        costs: verdict
            .costs
            .iter()
            .filter_map(|(name, cost)| Some((name.clone(), ratio(cost)?)))
            .collect(),
        clock: verdicts.clock(),
        times: evidence_json::times(judged, index),
        metrics: evidence_json::metrics(evidence),
        counters: evidence_json::counters(verdicts, judged, index),
        idle: both(&|name| mean_of(passes(), |pass| idle(pass, name))),
        background: both(&|name| mean_of(passes(), |pass| background(pass, name))),
        rows_by_operation: rows(&verdicts.base).zip(rows(&judged.contender)).map(<[f64; 2]>::from),
        read_bytes: read(&verdicts.base).zip(read(&judged.contender)).map(<[f64; 2]>::from),
        database_bytes: passes().last().and_then(|pass| {
            let of = |name: &str| database_bytes(pass, name);
            let (baseline, contender) = (of(&verdicts.base)?, of(&judged.contender)?);
            Some(DatabaseBytes { baseline, contender })
        }),
        statements: Sent { baseline: sent(&verdicts.base), contender: sent(&judged.contender) },
        time_budget: time_budget(evidence),
        rounds: passes()
            .map(|pass| Round {
                round: pass.round,
                load: pass.load,
                attempt: pass.attempt,
                cpus: pass.cpus.clone(),
                stage: match (verdicts.plan.confirm, pass.round > verdicts.plan.rounds) {
                    (None, _) => stage(Stage::Single),
                    (Some(_), false) => stage(Stage::Screen),
                    (Some(_), true) => stage(Stage::Fresh),
                },
                ratio: pair.ratio(pass).map(f64::exp),
                rates: names
                    .iter()
                    .filter_map(|name| Some((name.to_string(), level(pass, name, Quantity::Rate)?)))
                    .collect(),
            })
            .collect(),
        discarded: observed
            .passes
            .iter()
            .filter_map(|pass| Some(refusal(pass)?.to_string()))
            .collect(),
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Single => "single",
        Stage::Screen => "screen",
        Stage::Fresh => "fresh",
    }
}

fn mean_of<'a>(
    passes: impl Iterator<Item = &'a RoundRecord>,
    of: impl Fn(&RoundRecord) -> Option<f64>,
) -> Option<f64> {
    let values: Vec<f64> = passes.filter_map(of).collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn database_bytes(pass: &RoundRecord, name: &str) -> Option<[u64; 2]> {
    let before = pass.arms.get(name)?.bytes_before?;
    Some([before, pass.arms.get(name)?.cost.get(Metric::DatabaseBytes)?])
}
