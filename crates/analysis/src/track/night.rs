//! From a run to what is kept of it: the ratios of a night, and what they depend on.

use std::collections::BTreeMap;

use rqps_plan::Contender;
use rqps_stats::Estimate;
use rqps_stats::nights::LogRatio;
use rqps_stats::paired::t_interval;
use rqps_stats::verdict::{ESTIMATOR, Verdict};
use rqps_store::track::{StoredRatio, TrackedBuild, TrackedTest};
use rqps_store::{ContenderRecord, Run};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::comparison::{Judged, Observed, Results};

/// Facts of the machine that a ratio depends on. Mitigations change with the microcode.
const FACTS: [&str; 3] = ["cpu", "cpus", "CPU mitigations"];

pub(super) fn stored(ratio: LogRatio) -> StoredRatio {
    StoredRatio { log: ratio.value, error: ratio.error }
}

/// A ratio with its 95 % interval; none where there is no interval.
fn ratio(estimate: &Estimate) -> Option<StoredRatio> {
    LogRatio::from_interval(estimate.value, estimate.interval).map(stored)
}

/// What a series is of: the label, or the contender without its build: `postgres:x10a?jit=off`.
pub fn series_line(contender: &Contender) -> String {
    if let Some(label) = &contender.label {
        return label.clone();
    }
    let engine = contender.engine.iter().map(|engine| format!("/{engine}"));
    let config = contender.config.iter().map(|config| format!(":{config}"));
    let settings = contender.settings.iter().enumerate().map(|(index, (name, value))| {
        format!("{}{name}={value}", if index == 0 { '?' } else { '&' })
    });
    let name = contender.dbms.name().to_string();
    [name].into_iter().chain(engine).chain(config).chain(settings).collect()
}

/// A build as a run has it.
pub fn tracked_build(run: &Run, contender: &str) -> Option<TrackedBuild> {
    let record = record(run, contender)?;
    Some(TrackedBuild {
        spec: record.spec.clone(),
        version: record.version.clone(),
        sha256: record.server_sha256.clone(),
        commit: None,
        commit_time: None,
    })
}

fn record<'r>(run: &'r Run, contender: &str) -> Option<&'r ContenderRecord> {
    run.contenders.iter().find(|record| record.name == contender)
}

/// What a ratio to the anchor depends on beside the builds. Where any of it changes, a new epoch
/// begins.
pub fn tracked_epoch(run: &Run) -> BTreeMap<String, String> {
    let fact = |name: &str| {
        let found = run.manifest.machine.iter().find(|(known, _)| known == name);
        found.map_or("unknown", |(_, value)| value).to_string()
    };
    let mut parts: BTreeMap<String, String> =
        FACTS.iter().map(|name| (name.to_string(), fact(name))).collect();
    let mut put = |name: &str, value: String| drop(parts.insert(name.to_string(), value));
    put("kernel", minor_version(&fact("kernel")));
    put("seed", run.plan.seed.to_string());
    put("cache", run.plan.cache.map_or("by config".to_string(), |cache| format!("{cache:?}")));
    put("memory", run.plan.memory.map_or("no limit".to_string(), |memory| memory.to_string()));
    put("estimator", ESTIMATOR.to_string());
    if let Some(comparison) = run.plan.comparison() {
        let workload = serde_json::to_value(&comparison.of).expect("a plan is plain data");
        put("workload", without_choices(workload).to_string());
    }
    let anchor = run.plan.contenders.first().map(Contender::name);
    if let Some(anchor) = anchor.and_then(|name| record(run, &name)) {
        put("anchor", anchor.server_sha256.clone().unwrap_or_else(|| anchor.version.clone()));
        put("C library", anchor.libc.clone().unwrap_or_else(|| "unknown".to_string()));
        let settings = anchor.settings.iter().map(|(name, value)| format!("{name}={value}\n"));
        put("settings in force", short_hash(&settings.collect::<String>()));
    }
    parts
}

/// `Linux 6.1` of `Linux 6.1.0-13-amd64`.
fn minor_version(kernel: &str) -> String {
    kernel.split('.').take(2).collect::<Vec<_>>().join(".")
}

/// A workload without what chooses tests, and without times: more or shorter slices make no other
/// ratio.
fn without_choices(workload: Value) -> Value {
    const CHOICES: [&str; 4] = ["tests", "only", "steps", "queries"];
    match workload {
        Value::Object(fields) => {
            let is_kept = |name: &str| {
                !CHOICES.contains(&name) && !name.contains("time") && !name.contains("secs")
            };
            let kept = fields.into_iter().filter(|(name, _)| is_kept(name));
            kept.map(|(name, value)| (name, without_choices(value))).collect()
        }
        other => other,
    }
}

/// The first twelve digits of the SHA-256.
pub fn short_hash(text: &str) -> String {
    Sha256::digest(text.as_bytes()).iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}

/// The tests of a night: a contender to the anchor and, if it was measured too, to the build of the
/// night before.
pub fn night_tests(
    results: &Results<'_>,
    build: &str,
    previous: Option<&str>,
) -> BTreeMap<String, TrackedTest> {
    let judged = |name: &str| results.judged.iter().find(|judged| judged.contender == name);
    let (Some(new), old) = (judged(build), previous.and_then(judged)) else {
        return BTreeMap::new();
    };
    let of = |(index, test): (usize, &Observed<'_>)| {
        let verdict = &new.verdicts[index];
        let rate = |verdict: &Verdict| ratio(&verdict.plain).filter(|_| verdict.label.has_ratio());
        let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
        let old_verdict = old.map(|old| &old.verdicts[index]);
        let tracked = TrackedTest {
            rate: rate(verdict),
            rounds: verdict.contributions.len() as u32,
            label: verdict.label.to_string(),
            margin: results.margin(test),
            method: results.plan.method_of(test.name).name().to_string(),
            cpu: cpu
                .and_then(|(_, estimate)| ratio(estimate))
                .filter(|_| verdict.label.has_ratio()),
            previous: old_verdict.and_then(rate),
            step: old
                .filter(|old| verdict.label.has_ratio() && old.verdicts[index].label.has_ratio())
                .and_then(|old| step(results, test, (old, new), verdict)),
        };
        (test.name.to_string(), tracked)
    };
    results.tests.iter().enumerate().map(of).collect()
}

/// From the rounds in which both were measured: their common baseline cancels out.
fn step(
    results: &Results<'_>,
    test: &Observed<'_>,
    (old, new): (&Judged<'_>, &Judged<'_>),
    verdict: &Verdict,
) -> Option<StoredRatio> {
    let ratios = |judged: &Judged<'_>| -> BTreeMap<u32, f64> {
        let pair = results.pair(judged);
        let passes = test.of_stage(verdict.stage, results.plan);
        passes.filter_map(|pass| Some((pass.round, pair.ratio(pass)?))).collect()
    };
    let old = ratios(old);
    let both = ratios(new).into_iter();
    let differences: Vec<f64> =
        both.filter_map(|(round, new)| Some(new - old.get(&round)?)).collect();
    let found = t_interval(&differences, None, 0.05)?;
    let interval = found.interval.widened(found.value, verdict.widened);
    ratio(&Estimate { interval, ..found })
}

/// The ratios of a contender to the baseline of its run.
pub fn pair_ratios(results: &Results<'_>, contender: &str) -> BTreeMap<String, StoredRatio> {
    let tests = night_tests(results, contender, None).into_iter();
    tests.filter_map(|(name, test)| Some((name, test.rate?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_label_or_the_contender_without_its_build() {
        for (contender, line) in [
            ("main=postgres@/opt/pg/head", "main"),
            ("postgres@17.6", "postgres"),
            ("mariadb@10.11/rocksdb:base?a=1&b=2", "mariadb/rocksdb:base?a=1&b=2"),
        ] {
            assert_eq!(series_line(&contender.parse().unwrap()), line);
        }
    }

    #[test]
    fn tests_and_times_are_no_part_of_an_epoch() {
        let workload = serde_json::json!({ "microbenchmark": {
            "rows": "5K", "tests": ["scan"], "read_time": "200ms", "clients": [1]
        } });
        let kept = without_choices(workload).to_string();
        assert_eq!(kept, r#"{"microbenchmark":{"clients":[1],"rows":"5K"}}"#);
        assert_eq!(minor_version("Linux 6.1.0-13-amd64"), "Linux 6.1");
        assert_eq!(minor_version("unknown"), "unknown");
    }
}
