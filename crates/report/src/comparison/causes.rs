//! What is known of a test when its cause is asked for.

use std::collections::BTreeMap;

use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::cause::{
    Change, Class, Cost, Environment, Estimate, Evidence, Part, Verdict as Decided,
};
use rqps_stats::label::Label;
use rqps_stats::paired::t_interval;
use rqps_stats::verdict::Verdict;
use rqps_store::{PassRecord, Run};

use super::TWIN;
use super::observed::{Observed, Quantity, foreign_percent, level};
use super::pair::Pair;

/// Fewer bytes per statement than this are what a server writes by itself, whatever it is asked: by
/// the second and not by the statement.
const LEAST_BYTES: f64 = 64.0;

/// Classes by the name that a test has for its own.
const CLASSES: [(&str, Class); 10] = [
    ("point", Class::Point),
    ("hot point", Class::HotPoint),
    ("range", Class::Range),
    ("scan", Class::Scan),
    ("load", Class::Load),
    ("insert", Class::Insert),
    ("update", Class::Update),
    ("hot update", Class::HotUpdate),
    ("delete", Class::Delete),
    ("read-write", Class::ReadWrite),
];

impl Pair<'_> {
    pub(super) fn evidence(
        &self,
        run: &Run,
        tests: &[Observed<'_>],
        verdicts: &[Verdict],
    ) -> Vec<Evidence> {
        let of = |(test, verdict)| self.evidence_of(run, test, verdict);
        tests.iter().zip(verdicts).map(of).collect()
    }

    fn evidence_of(&self, run: &Run, test: &Observed<'_>, verdict: &Verdict) -> Evidence {
        let passes: Vec<&PassRecord> = test.of_stage(verdict.stage, self.plan).collect();
        let class = CLASSES.iter().find(|(name, _)| *name == test.class);
        let clients = passes.iter().flat_map(|pass| &pass.slices).map(|slice| slice.client).max();
        let (family, rows) = match test.name.split_once("_range=") {
            Some((stem, rows)) => (Some(stem.to_string()), rows.parse().ok()),
            None => (None, None),
        };
        Evidence {
            test: test.name.to_string(),
            class: class.map(|(_, class)| *class).unwrap_or_default(),
            base: self.base.to_string(),
            contender: self.contender.to_string(),
            verdict: decided(&verdict.label),
            theta: estimate(&verdict.estimate),
            clients: clients.unwrap_or(1),
            time: self.cost(&passes, time),
            parts: self.parts(&passes),
            metrics: self.metrics(&passes),
            // What the machine does in a cycle it does to everybody. Of whole runs, guards have refused
            // those in which its speed changed.
            environment: Environment {
                foreign_cpu_percent: match self.plan.method {
                    Method::Slices => None,
                    Method::Runs => foreign(&passes, run.manifest.cpus),
                },
                canary_moved: match (self.plan.method, self.plan.guards) {
                    (Method::Slices, _) => None,
                    (Method::Runs, true) => Some(false),
                    (Method::Runs, false) => canary_moved(&passes),
                },
                twin_moved: verdict.twin.map(|twin| twin.is_significant()),
            },
            family,
            rows,
            settings: self.settings(run),
            ..Evidence::default()
        }
    }

    /// Microseconds per statement of base and contender, and how far they are apart by round.
    fn cost(&self, passes: &[&PassRecord], of: impl Fn(&PassRecord, &str) -> Option<f64>) -> Cost {
        let rounds: Vec<(f64, f64)> = passes
            .iter()
            .filter_map(|pass| {
                let base = of(pass, self.base)?;
                let base = of(pass, TWIN).map_or(base, |twin| (base + twin) / 2.0);
                Some((base, of(pass, self.contender)?))
            })
            .collect();
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let changes: Vec<f64> = rounds.iter().map(|(base, other)| other - base).collect();
        Cost {
            base: mean(rounds.iter().map(|round| round.0).collect()),
            contender: mean(rounds.iter().map(|round| round.1).collect()),
            change: interval(&changes),
        }
    }

    fn parts(&self, passes: &[&PassRecord]) -> BTreeMap<Part, Cost> {
        let measured: [(Part, Reader); 4] = [
            (Part::ServerUser, |pass, name| per_statement(pass, name, Metric::ServerCpuUser)),
            (Part::ServerSystem, |pass, name| per_statement(pass, name, Metric::ServerCpuSystem)),
            (Part::Client, |pass, name| level(pass, name, Quantity::Client)),
            (Part::RunQueue, |pass, name| level(pass, name, Quantity::RunQueue)),
        ];
        let has = |reader: &Reader| {
            passes.iter().any(|pass| reader(pass, self.base).is_some_and(|value| value > 0.0))
        };
        let mut parts: BTreeMap<Part, Cost> = measured
            .iter()
            .filter(|(_, reader)| has(reader))
            .map(|(part, reader)| (*part, self.cost(passes, reader)))
            .collect();
        let rest = |pass: &PassRecord, name: &str| {
            let known = measured.iter().filter(|(_, reader)| has(reader));
            let known: f64 = known.filter_map(|(_, reader)| reader(pass, name)).sum();
            Some(time(pass, name)? - known)
        };
        parts.insert(Part::Rest, self.cost(passes, rest));
        parts
    }

    /// The change of every metric per statement.
    fn metrics(&self, passes: &[&PassRecord]) -> BTreeMap<String, Change> {
        let mut changes = BTreeMap::new();
        for metric in Metric::ALL {
            let least = if metric.unit() == "bytes" { LEAST_BYTES } else { 0.0 };
            let of = |pass: &PassRecord, name: &str| {
                per_statement(pass, name, *metric).filter(|value| *value > least)
            };
            let ratios = |from: &str, to: &str| -> Vec<f64> {
                let ratio = |pass: &&PassRecord| Some((of(pass, to)? / of(pass, from)?).ln());
                passes.iter().filter_map(ratio).collect()
            };
            let log = ratios(self.base, self.contender);
            if log.len() < 3 {
                continue;
            }
            let twin = interval(&ratios(self.base, TWIN));
            let noise = twin.value.abs();
            changes.insert(metric.name().to_string(), Change { log: interval(&log), noise });
        }
        changes
    }

    /// Names of settings that base and contender have with different values.
    fn settings(&self, run: &Run) -> Vec<String> {
        let of = |name: &str| run.contenders.iter().find(|one| one.name == name);
        let (Some(base), Some(contender)) = (of(self.base), of(self.contender)) else {
            return Vec::new();
        };
        let differs = |name: &&String| base.settings.get(*name) != contender.settings.get(*name);
        base.settings.keys().filter(differs).cloned().collect()
    }
}

type Reader = fn(&PassRecord, &str) -> Option<f64>;

/// Microseconds of a connection's time per statement.
fn time(pass: &PassRecord, contender: &str) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.contender == contender);
    let (nanos, statements) = own.fold((0, 0), |(nanos, statements), slice| {
        (nanos + slice.nanos, statements + slice.reads + slice.writes + slice.others)
    });
    (statements > 0).then(|| nanos as f64 / 1e3 / statements as f64)
}

/// A counter of a contender's server over the pass, per statement: those of unmeasured heads are
/// estimated from how many statements an operation has.
fn per_statement(pass: &PassRecord, contender: &str, metric: Metric) -> Option<f64> {
    let value = pass.cost.get(contender)?.get(metric)? as f64;
    let own = pass.slices.iter().filter(|slice| slice.contender == contender);
    let (mut statements, mut operations, mut heads) = (0, 0, 0);
    for slice in own {
        statements += slice.reads + slice.writes + slice.others;
        operations += slice.operations;
        heads += slice.head_operations;
    }
    if operations == 0 {
        return None;
    }
    let each = statements as f64 / operations as f64;
    Some(value / (each * (operations + heads) as f64))
}

fn foreign(passes: &[&PassRecord], cpus: u32) -> Option<f64> {
    let shares: Vec<f64> = passes.iter().filter_map(|pass| foreign_percent(pass, cpus)).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Whether the fixed piece of work took longer or shorter in any pass than is usual: more than 3 %
/// off the median of all.
fn canary_moved(passes: &[&PassRecord]) -> Option<bool> {
    let mut times: Vec<u64> = passes.iter().flat_map(|pass| pass.canary.clone()).collect();
    times.sort_unstable();
    let median = *times.get(times.len() / 2)? as f64;
    Some(times.iter().any(|time| (*time as f64 / median - 1.0).abs() > 0.03))
}

fn decided(label: &Label) -> Decided {
    match label {
        Label::Regression { .. } | Label::SmallRegression { .. } => Decided::Regression,
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Decided::Improvement,
        Label::EfficiencyRegression { .. } => Decided::EfficiencyRegression,
        Label::NoChange { .. } => Decided::NoChange,
        Label::Inconclusive { .. } => Decided::Inconclusive,
        Label::Invalid { .. } => Decided::Invalid,
    }
}

fn estimate(of: &rqps_stats::Estimate) -> Estimate {
    Estimate::new(of.value, of.interval.low, of.interval.high)
}

/// The mean of the rounds with its 95 % interval.
fn interval(rounds: &[f64]) -> Estimate {
    match t_interval(rounds, None, 0.05) {
        Some(of) => estimate(&of),
        None => Estimate::new(0.0, f64::NEG_INFINITY, f64::INFINITY),
    }
}
