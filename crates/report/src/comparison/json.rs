//! The verdicts for programs, every round among them.

use std::collections::BTreeMap;

use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::Estimate;
use rqps_stats::noise::Noise;
use rqps_stats::verdict::Stage;
use rqps_store::{RoundRecord, StatementRecord};
use serde::Serialize;

use super::costs::per_statement;
use super::evidence_json::{self, Changed, Finding, Time, TimeBudget, finding, time_budget};
use super::observed::{Observed, Quantity, background, idle, level, refusal};
use super::profile_json::{self, Profile};
use super::{Judged, TWIN, Verdicts, label, steadiness};

#[derive(Serialize)]
pub(crate) struct Comparison {
    /// Of tests that do not say otherwise.
    method: &'static str,
    /// How verdicts are adjusted for the number of tests.
    correction: &'static str,
    base: String,
    /// Where the base's rounds are from if it was not measured here; otherwise null.
    base_from: Option<BaseFrom>,
    /// Rounds in which not all servers were up at once, so that the base took turns with one
    /// contender at a time.
    pairs: bool,
    /// What reading counters at the edges of slices cost the client; null for whole runs.
    reading: Option<Reading>,
    /// The most that other programs used of the CPUs while a pass that counts was measured, in
    /// percent.
    most_foreign_cpu: Option<f64>,
    contenders: Vec<Contender>,
    remarks: Vec<String>,
    /// Passes that a guard refused.
    refused: Vec<Refused>,
}

/// A base that was measured earlier.
#[derive(Serialize)]
struct BaseFrom {
    /// The run directory, the run in it and when it was begun.
    path: String,
    run: String,
    created: String,
    /// The canary's time here as a ratio to that there.
    canary: Option<f64>,
    /// What every interval is wider by to either side, as a share.
    drift: Option<f64>,
}

#[derive(Serialize)]
struct Refused {
    test: String,
    round: u32,
    attempt: u32,
    why: String,
}

/// What all tests have in common.
#[derive(Serialize)]
struct SuiteShift {
    ratio: Option<Ratio>,
    rounds: usize,
}

#[derive(Serialize)]
struct Sent {
    base: Vec<StatementRecord>,
    contender: Vec<StatementRecord>,
}

/// What it costs to know the costs.
#[derive(Serialize)]
struct Reading {
    /// Microseconds of CPU of the client for both edges of a slice.
    us_per_slice: f64,
    /// Of the time of a slice, beside which it is.
    share: f64,
}

#[derive(Serialize)]
struct Contender {
    name: String,
    /// It is the base once more, under another name: whatever is found is false.
    is_base: bool,
    /// Why nothing of it can be believed.
    invalid: Option<String>,
    /// That it or the base is no build that people run; otherwise null.
    built: Option<String>,
    /// What was found, in a line.
    summary: String,
    suite_shift: Option<SuiteShift>,
    tests: Vec<Test>,
    findings: Vec<Finding>,
    /// Of the tests that were profiled.
    profiles: Vec<Profile>,
}

#[derive(Serialize)]
struct Test {
    name: String,
    group: String,
    class: String,
    /// What its rate counts, and what its costs are divided by.
    unit: &'static str,
    operation: &'static str,
    /// `slices` or `runs`, and why that was chosen.
    method: &'static str,
    method_because: String,
    /// `regression`, `small_regression`, …
    label: &'static str,
    /// The label in words, with its numbers.
    verdict: String,
    /// Rows per second that the contender promised to insert, where it did in none of its runs, and
    /// so many as it did; whatever the label.
    missed_rate: Option<MissedRate>,
    /// The rounds that decided: `single`, `screen` or `fresh`.
    stage: &'static str,
    /// rQPS with the interval adjusted for the number of tests.
    ratio: Option<Ratio>,
    /// The same with the interval of the test by itself.
    plain: Option<Ratio>,
    /// Without what all tests have in common.
    relative_to_suite: Option<Ratio>,
    adjusted_p: f64,
    /// The change that would have been seen with a chance of 80 %, as a share.
    detectable: Option<f64>,
    rounds_needed: Option<u32>,
    noise: Option<NoiseOf>,
    /// In its unit, over all rounds.
    base_rate: Option<f64>,
    rate: Option<f64>,
    /// The base's second part against its first.
    twin: Option<Ratio>,
    /// Whole runs that did not go on at one level, of everybody who had any, the twin among them.
    unsteady: Vec<Unsteady>,
    costs: BTreeMap<String, Ratio>,
    /// Of whole runs, service times of the operation that the rate counts, by percentile.
    times: BTreeMap<String, Time>,
    /// What the operating system counted for an operation.
    metrics: BTreeMap<String, Changed>,
    /// What the DBMS counted for an operation of a client, as far as it differs or a rule looks at
    /// it.
    counters: BTreeMap<String, Changed>,
    /// Of the clients' time in slices, what they waited for the slowest of them, base and
    /// contender.
    idle: Option<[f64; 2]>,
    /// CPU that the servers used while others were driven, as a share of one CPU, base and
    /// contender.
    background: Option<[f64; 2]>,
    /// Rows that an operation returned or changed, base and contender.
    rows_by_operation: Option<[f64; 2]>,
    /// Bytes that the servers read from storage for an operation, base and contender.
    read_bytes: Option<[f64; 2]>,
    /// Bytes of the database's files before the test and after it, in the last round.
    database_bytes: Option<DatabaseBytes>,
    /// Where the time of an operation went, in microseconds.
    time_budget: TimeBudget,
    /// What the clients sent in the last round, and how the DBMS carried it out.
    statements: Sent,
    rounds: Vec<Round>,
    /// Passes that a guard refused, with the reason.
    refused: Vec<String>,
}

#[derive(Serialize)]
struct MissedRate {
    reached: f64,
    promised: f64,
}

#[derive(Serialize)]
struct Unsteady {
    contender: String,
    /// How many of its runs were not steady, and of how many that are long enough to tell.
    unsteady: usize,
    runs: usize,
    /// By what they did: `warm-up`, `slow-down`, `several levels`, `trend`, `no steady state`.
    ways: BTreeMap<&'static str, usize>,
}

/// Standard deviations of a round's log ratio.
#[derive(Serialize)]
struct NoiseOf {
    /// What only more rounds make smaller.
    between_restarts: f64,
    /// What longer measurements make smaller as well.
    within_restarts: f64,
}

/// A ratio to the base.
#[derive(Serialize)]
pub(super) struct Ratio {
    pub(super) value: f64,
    /// Null where there is no bound.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
    p: Option<f64>,
}

#[derive(Serialize)]
struct Round {
    round: u32,
    load: u32,
    attempt: u32,
    cpus: Vec<u32>,
    /// As of the test: whether this round was part of the screen.
    stage: &'static str,
    /// The ratio of this round.
    ratio: Option<f64>,
    /// In the unit of the test by contender, the twin among them.
    rates: BTreeMap<String, f64>,
}

#[derive(Serialize)]
struct DatabaseBytes {
    base: [u64; 2],
    contender: [u64; 2],
}

impl Comparison {
    pub(crate) fn new(verdicts: &Verdicts<'_>) -> Self {
        Comparison {
            method: verdicts.plan.method.name(),
            correction: match verdicts.plan.confirm {
                Some(_) => "two_stage_holm",
                None => "benjamini_hochberg",
            },
            remarks: verdicts.remarks(),
            refused: refused(verdicts),
            base: verdicts.base.clone(),
            base_from: verdicts.drift().map(|drift| BaseFrom {
                path: drift.base.path.display().to_string(),
                run: drift.base.run.clone(),
                created: drift.base.created.clone(),
                canary: finite(drift.canary.exp()),
                drift: finite(drift.size().exp_m1()),
            }),
            pairs: verdicts.is_in_pairs(),
            reading: verdicts
                .reading()
                .map(|(us_per_slice, share)| Reading { us_per_slice, share }),
            most_foreign_cpu: verdicts.most_foreign(),
            contenders: verdicts.judged.iter().map(|one| contender(verdicts, one)).collect(),
        }
    }
}

fn refused(verdicts: &Verdicts<'_>) -> Vec<Refused> {
    let passes = verdicts.tests.iter().flat_map(|test| &test.passes);
    let refused = passes.filter_map(|pass| {
        let (test, why) = (pass.test.clone(), pass.discarded.clone()?);
        Some(Refused { test, round: pass.round, attempt: pass.attempt, why })
    });
    refused.collect()
}

fn contender(verdicts: &Verdicts<'_>, judged: &Judged) -> Contender {
    let tests = verdicts.tests.iter().enumerate();
    Contender {
        name: judged.contender.clone(),
        is_base: judged.is_base,
        invalid: judged.invalid.clone(),
        built: verdicts.built(judged),
        summary: verdicts.strip(judged),
        suite_shift: judged
            .suite
            .as_ref()
            .map(|suite| SuiteShift { ratio: ratio(&suite.shift), rounds: suite.rounds }),
        tests: tests.map(|(index, observed)| test(verdicts, judged, index, observed)).collect(),
        findings: judged.findings.iter().map(finding).collect(),
        profiles: judged.profiles.iter().map(profile_json::profile).collect(),
    }
}

fn unsteady(of: &steadiness::Unsteady) -> Unsteady {
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
    let names = [verdicts.base.as_str(), TWIN, judged.contender.as_str()];
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
        base_rate: observed.rate_beside(&verdicts.base, &judged.contender),
        rate: observed.rate(&judged.contender),
        twin: verdict.twin.as_ref().and_then(ratio),
        unsteady: verdicts.unsteady(observed).iter().map(unsteady).collect(),
        costs: verdict
            .costs
            .iter()
            .filter_map(|(name, cost)| Some((name.clone(), ratio(cost)?)))
            .collect(),
        times: evidence_json::times(verdicts, judged, index),
        metrics: evidence_json::metrics(evidence),
        counters: evidence_json::counters(verdicts, judged, index),
        idle: both(&|name| mean_of(passes(), |pass| idle(pass, name))),
        background: both(&|name| mean_of(passes(), |pass| background(pass, name))),
        rows_by_operation: rows(&verdicts.base).zip(rows(&judged.contender)).map(<[f64; 2]>::from),
        read_bytes: read(&verdicts.base).zip(read(&judged.contender)).map(<[f64; 2]>::from),
        database_bytes: passes().last().and_then(|pass| {
            let of = |name: &str| database_bytes(pass, name);
            Some(DatabaseBytes { base: of(&verdicts.base)?, contender: of(&judged.contender)? })
        }),
        statements: Sent { base: sent(&verdicts.base), contender: sent(&judged.contender) },
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
        refused: observed
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

/// None without a value, as there is with too few rounds.
pub(super) fn ratio(of: &Estimate) -> Option<Ratio> {
    let interval = of.interval.exp();
    Some(Ratio {
        value: finite(of.ratio())?,
        low: finite(interval.low).filter(|low| *low > 0.0),
        high: finite(interval.high),
        p: finite(of.p),
    })
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}
