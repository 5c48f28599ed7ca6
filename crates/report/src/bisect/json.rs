//! The same as data, of the form `bisect/1`. Ratios are of rates, and natural logs.

use rqps_study::{
    BISECT_SCHEMA, BuildAttempt, CommitSearch, ReleaseScan, ScanResult, SearchMetric, SearchResult,
    SearchedCommit, TestEffect,
};
use serde::Serialize;

use super::SearchPlace;
use super::commits::command;

#[derive(Serialize)]
struct CommitsJson<'a> {
    schema: &'static str,
    rqps_version: &'a str,
    contender: &'a str,
    kind: &'static str,
    why: &'a str,
    good: &'a str,
    bad: &'a str,
    notes: &'a [String],
    /// How many there are after the first.
    commits: usize,
    /// The test that decides, with the change between the ends.
    ends: Option<&'a TestEffect>,
    found: Option<FoundJson<'a>>,
    /// The probability that was asked for, and the fewest commits that have it together.
    posterior: f64,
    credible_set: Vec<&'a str>,
    confirmation: Option<&'a TestEffect>,
    layouts: &'a [TestEffect],
    /// Places before and after each change, if there are several.
    steps: &'a [(usize, usize)],
    comparisons: Vec<MadeJson<'a>>,
    skipped: Vec<SkippedJson<'a>>,
    probabilities: Vec<ProbabilityJson<'a>>,
    /// Shows what was found.
    command: Option<String>,
    further: Vec<FurtherJson<'a>>,
}

#[derive(Serialize)]
struct FoundJson<'a> {
    commits: Vec<CommitJson<'a>>,
    probability: f64,
}

#[derive(Serialize)]
struct CommitJson<'a> {
    hash: &'a str,
    tree: &'a str,
    subject: &'a str,
}

#[derive(Serialize)]
struct MadeJson<'a> {
    directory: &'a str,
    baseline: &'a str,
    commit: &'a str,
    place: usize,
    layout: u32,
    by: SearchMetric,
    effects: &'a [TestEffect],
}

#[derive(Serialize)]
struct SkippedJson<'a> {
    commit: &'a str,
    why: &'a str,
    log: &'a str,
}

#[derive(Serialize)]
struct ProbabilityJson<'a> {
    commit: &'a str,
    probability: f64,
}

/// A search that followed from this one.
#[derive(Serialize)]
struct FurtherJson<'a> {
    among: &'a str,
    directory: &'a str,
}

#[derive(Serialize)]
struct ReleasesJson<'a> {
    schema: &'static str,
    rqps_version: &'static str,
    contender: &'a str,
    kind: &'static str,
    baseline: &'a str,
    releases: Vec<ReleaseJson<'a>>,
    failed: Vec<&'a str>,
    steps: Vec<StepJson<'a>>,
    confirmation: &'a [TestEffect],
    confirmed: bool,
    comparisons: Vec<ScannedJson<'a>>,
    further: Vec<FurtherJson<'a>>,
}

#[derive(Serialize)]
struct ReleaseJson<'a> {
    release: &'a str,
    effects: &'a [TestEffect],
}

#[derive(Serialize)]
struct StepJson<'a> {
    test: &'a str,
    before: &'a str,
    after: &'a str,
    size: f64,
}

#[derive(Serialize)]
struct ScannedJson<'a> {
    directory: &'a str,
    releases: Vec<&'a str>,
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).expect("it holds only numbers and text") + "\n"
}

fn further(place: &SearchPlace) -> Vec<FurtherJson<'_>> {
    place.further.iter().map(|(among, directory)| FurtherJson { among, directory }).collect()
}

fn commit(of: &SearchedCommit) -> CommitJson<'_> {
    CommitJson { hash: &of.hash, tree: &of.tree, subject: &of.subject }
}

/// A search among commits, ending in a line feed.
pub(super) fn of_commits(
    (search, result): (&CommitSearch, &SearchResult),
    place: &SearchPlace,
) -> String {
    let plan = search.plan();
    let hash = |place: usize| search.commit(place).hash.as_str();
    let found = result.found.map(|found| FoundJson {
        commits: plan.commits[found.first..=found.last].iter().map(commit).collect(),
        probability: found.probability,
    });
    let made = search.made().iter().map(|made| MadeJson {
        directory: &made.name,
        baseline: hash(made.baseline),
        commit: hash(made.place),
        place: made.place,
        layout: made.layout,
        by: made.by,
        effects: &made.effects,
    });
    let skipped = search.attempts().iter().filter_map(|(place, attempt)| match attempt {
        BuildAttempt::Failed { why, log } => Some(SkippedJson { commit: hash(*place), why, log }),
        BuildAttempt::Built { .. } => None,
    });
    let probabilities = result.probabilities.iter().enumerate().map(|(place, probability)| {
        ProbabilityJson { commit: hash(place + 1), probability: *probability }
    });
    pretty(&CommitsJson {
        schema: BISECT_SCHEMA,
        rqps_version: &plan.rqps_version,
        contender: &place.contender,
        kind: result.kind.name(),
        why: &result.why,
        good: &plan.good,
        bad: &plan.bad,
        notes: &plan.notes,
        commits: plan.commits.len() - 1,
        ends: result.ends.as_ref(),
        found,
        posterior: plan.probability,
        credible_set: result.credible.iter().map(|place| hash(*place)).collect(),
        confirmation: result.confirmation.as_ref(),
        layouts: &result.layouts,
        steps: &result.steps,
        comparisons: made.collect(),
        skipped: skipped.collect(),
        probabilities: probabilities.collect(),
        command: command((search, result), place),
        further: further(place),
    })
}

/// A scan of releases, ending in a line feed.
pub(super) fn of_releases(
    (scan, result): (&ReleaseScan, &ScanResult),
    place: &SearchPlace,
) -> String {
    let name = |place: usize| scan.releases()[place].as_str();
    let releases =
        scan.seen().iter().map(|(place, effects)| ReleaseJson { release: name(*place), effects });
    let steps = result.steps.iter().map(|step| StepJson {
        test: &step.test,
        before: name(step.before),
        after: name(step.after),
        size: step.size,
    });
    let made = scan.made().iter().map(|made| ScannedJson {
        directory: &made.name,
        releases: made.places.iter().map(|place| name(*place)).collect(),
    });
    pretty(&ReleasesJson {
        schema: BISECT_SCHEMA,
        rqps_version: env!("CARGO_PKG_VERSION"),
        contender: &place.contender,
        kind: if result.steps.is_empty() { "nothing" } else { "releases" },
        baseline: name(0),
        releases: releases.collect(),
        failed: scan.failed().iter().map(|place| name(*place)).collect(),
        steps: steps.collect(),
        confirmation: scan.confirmation(),
        confirmed: scan.is_confirmed(result),
        comparisons: made.collect(),
        further: further(place),
    })
}
