//! The rounds of several comparisons merged into one. A round counts as one observation in
//! whichever run it was made, since every arm is compared with a baseline of the same round.

use std::collections::{BTreeMap, BTreeSet};

use rqps_plan::{Comparison, Method, Plan};

use crate::answers::AnswerRecord;
use crate::conditions::{conditions, differences};
use crate::counts::CountRecord;
use crate::difference::Difference;
use crate::manifest::ContenderRecord;
use crate::merge_error::{MergeError, Unlike};
use crate::profile::ProfileRecord;
use crate::round::RoundRecord;
use crate::run::{Part, Run};

/// Parts of a comparison that may differ between runs: how many rounds there are and when they
/// suffice, what followed the verdicts, and what [`unlike`] checks.
const OF_EACH: [&str; 11] = [
    "rounds",
    "fewest_rounds",
    "precision",
    "budget",
    "profile",
    "instructions",
    "method",
    "choices",
    "control",
    "confirm",
    "baseline_from",
];

/// None where unknown.
type Fact = fn(&ContenderRecord) -> Option<String>;

/// Facts that identify a build.
const BUILD: [(&str, Fact); 4] = [
    ("version", |record| Some(record.version.clone())),
    ("server SHA-256", |record| record.server_sha256.as_deref().map(digits)),
    ("archive SHA-256", |record| record.archive_sha256.as_deref().map(digits)),
    ("C library", |record| record.libc.clone()),
];

/// One comparison with the rounds of several, numbered consecutively. Its plan and manifest are
/// those of the first run; [`Run::parts`] has the rounds of each.
pub(crate) fn join(runs: Vec<(String, Run)>, force: bool) -> Result<Run, MergeError> {
    if let Some(unlike) = unlike(&runs) {
        return Err(MergeError::Unlike(unlike));
    }
    let mut differences = differences(&runs, conditions_of_rounds);
    differences.extend(of_contenders(&runs));
    if !differences.is_empty() && !force {
        return Err(MergeError::NotComparable(differences));
    }
    let numbered = numbered(&runs);
    let first = &runs[0].1;
    let mut joined = Run {
        plan: plan(&runs, numbered.screened),
        manifest: first.manifest.clone(),
        contenders: Vec::new(),
        rounds: Vec::new(),
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        parts: Vec::new(),
        differences,
    };
    for ((name, run), rounds) in runs.into_iter().zip(numbered.rounds) {
        add(&mut joined, name, run, &rounds);
    }
    joined.rounds.sort_by_key(|round| round.round);
    let planned: Vec<String> = joined.plan.contenders.iter().map(|one| one.name()).collect();
    joined.contenders.sort_by_key(|record| planned.iter().position(|name| *name == record.name));
    Ok(joined)
}

/// What differs between comparisons of several machines, so that a mean over them would be of
/// different things. Settings in force and libraries may differ as machines do.
pub(crate) fn differences_of_machines(
    runs: &[(String, Run)],
) -> Result<Vec<Difference>, MergeError> {
    if let Some(unlike) = unlike(runs) {
        return Err(MergeError::Unlike(unlike));
    }
    let mut differences = differences(runs, conditions_of_rounds);
    differences.extend(of_builds(runs, &BUILD[..2]));
    Ok(differences)
}

fn unlike(runs: &[(String, Run)]) -> Option<Unlike> {
    let contenders: Vec<_> = runs.iter().map(|(_, run)| contenders(run)).collect();
    if !is_same(contenders.iter()) {
        let told = contenders.iter().map(|(base, others)| {
            let others: Vec<&str> = others.iter().map(String::as_str).collect();
            format!("{} against {base}", others.join(" and "))
        });
        return Some(Unlike::Contenders(told.collect()));
    }
    let tests: Vec<BTreeSet<String>> =
        plans(runs).map(|plan| plan.tests().into_iter().collect()).collect();
    let is_of_all = |test: &&String| tests.iter().all(|of_one| of_one.contains(*test));
    let all: BTreeSet<&String> = tests.iter().flatten().collect();
    if !all.iter().all(is_of_all) {
        let some = all.into_iter().filter(|test| !is_of_all(test));
        return Some(Unlike::Tests(some.cloned().collect()));
    }
    for test in all {
        let methods: Vec<Method> = plans(runs).map(|plan| plan.method_of(test)).collect();
        if !is_same(methods.iter()) {
            let values = methods.iter().map(Method::to_string).collect();
            return Some(Unlike::Method(Difference { what: test.clone(), values }));
        }
    }
    if !is_same(plans(runs).map(|plan| plan.control)) {
        return Some(Unlike::Control);
    }
    if !is_same(plans(runs).map(|plan| plan.confirm.is_some())) {
        return Some(Unlike::Stages);
    }
    let is_stored = |run: &Run| run.comparison().is_some_and(|plan| plan.baseline_from.is_some());
    let stored = runs.iter().find(|(_, run)| is_stored(run));
    stored.map(|(name, _)| Unlike::StoredBaseline(name.clone()))
}

fn plans(runs: &[(String, Run)]) -> impl Iterator<Item = &Comparison> {
    runs.iter().filter_map(|(_, run)| run.comparison())
}

/// The baseline, and the other contenders in any order.
fn contenders(run: &Run) -> (String, BTreeSet<String>) {
    let mut names = run.plan.contenders.iter().map(|one| one.to_string());
    (names.next().unwrap_or_default(), names.collect())
}

fn is_same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> bool {
    let first = values.next();
    values.all(|value| Some(value) == first)
}

/// The conditions under which the rounds were measured.
fn conditions_of_rounds(run: &Run) -> BTreeMap<String, String> {
    let mut conditions = conditions(run);
    conditions.retain(|key, _| {
        let own = key.strip_prefix("workload.comparison.");
        !own.and_then(|own| own.split('.').next()).is_some_and(|own| OF_EACH.contains(&own))
    });
    conditions
}

/// A contender as each run found it.
fn records<'r>(runs: &'r [(String, Run)], name: &str) -> Vec<Option<&'r ContenderRecord>> {
    let of = |run: &'r Run| run.contenders.iter().find(|record| record.name == name);
    runs.iter().map(|(_, run)| of(run)).collect()
}

/// Facts of builds that are not the same under the same name.
fn of_builds(runs: &[(String, Run)], facts: &[(&str, Fact)]) -> Vec<Difference> {
    let mut differences = Vec::new();
    for contender in &runs[0].1.plan.contenders {
        let name = contender.name();
        let records = records(runs, &name);
        for (fact, value) in facts {
            let values = records.iter().map(|record| value((*record)?)).collect();
            differences.extend(difference(format!("{fact} of {name}"), values));
        }
    }
    differences
}

/// Builds and settings in force that are not the same under the same name.
fn of_contenders(runs: &[(String, Run)]) -> Vec<Difference> {
    let mut differences = of_builds(runs, &BUILD);
    for contender in &runs[0].1.plan.contenders {
        let name = contender.name();
        let records = records(runs, &name);
        let settings: BTreeSet<&String> =
            records.iter().flatten().flat_map(|record| record.settings.keys()).collect();
        for setting in settings {
            let values = records.iter().map(|record| (*record)?.settings.get(setting).cloned());
            differences.extend(difference(format!("{setting} of {name}"), values.collect()));
        }
    }
    differences
}

/// None if all runs that know the value agree.
fn difference(what: String, values: Vec<Option<String>>) -> Option<Difference> {
    if is_same(values.iter().flatten()) {
        return None;
    }
    let told = values.into_iter().map(|value| value.unwrap_or_else(|| "none".to_string()));
    Some(Difference { what, values: told.collect() })
}

/// The first digits of each hash, which distinguish builds.
fn digits(sums: &str) -> String {
    let start = |sum: &str| sum.chars().take(12).collect::<String>();
    sums.split_whitespace().map(start).collect::<Vec<_>>().join(" ")
}

/// New numbers for rounds.
struct Numbered {
    /// Of each run, by their old ones.
    rounds: Vec<BTreeMap<u32, u32>>,
    /// How many of them are not fresh.
    screened: u32,
}

/// The rounds of one run after those of another. Fresh rounds are numbered after all screening
/// rounds.
fn numbered(runs: &[(String, Run)]) -> Numbered {
    let mut rounds = vec![BTreeMap::new(); runs.len()];
    let mut numbers = 1..;
    let mut screened = 0;
    for is_fresh in [false, true] {
        for (own, (_, run)) in rounds.iter_mut().zip(runs) {
            let last = run.comparison().filter(|plan| plan.confirm.is_some());
            let last = last.map_or(u32::MAX, |plan| plan.rounds);
            let made = run.rounds.iter().map(|round| round.round);
            let made: BTreeSet<u32> = made.filter(|round| (*round > last) == is_fresh).collect();
            own.extend(made.into_iter().zip(numbers.by_ref()));
        }
        if !is_fresh {
            screened = numbers.start - 1;
        }
    }
    Numbered { rounds, screened }
}

/// The plan for all of these rounds.
fn plan(runs: &[(String, Run)], screened: u32) -> Plan {
    let mut plan = runs[0].1.plan.clone();
    if let Some(joined) = plan.comparison_mut() {
        joined.rounds = screened;
        joined.confirm = plans(runs).map(|one| one.confirm).sum();
        joined.loads = plans(runs).map(|one| one.loads).sum();
    }
    plan
}

/// Adds the contents of a run under new numbers of rounds, loads and profiled rounds.
fn add(joined: &mut Run, name: String, run: Run, rounds: &BTreeMap<u32, u32>) {
    let loads = joined.rounds.iter().map(|round| round.load).max().unwrap_or(0);
    let profiled = joined.profiles.iter().map(|profile| profile.round).max().unwrap_or(0);
    joined.parts.push(Part {
        name,
        contenders: run.plan.contenders.iter().map(|one| one.name()).collect(),
        rounds: rounds.values().copied().collect(),
        manifest: run.manifest,
    });
    joined.rounds.extend(run.rounds.into_iter().map(|round| RoundRecord {
        round: rounds[&round.round],
        load: round.load + loads,
        ..round
    }));
    joined.profiles.extend(
        run.profiles
            .into_iter()
            .map(|profile| ProfileRecord { round: profile.round + profiled, ..profile }),
    );
    // The counts of a build are the same in each run.
    for count in run.counts {
        let of = |known: &CountRecord| (known.test.clone(), known.contender.clone());
        if joined.counts.iter().all(|known| of(known) != of(&count)) {
            joined.counts.push(count);
        }
    }
    // A wrong answer of one run is one of the whole.
    for answer in run.answers {
        let is_of =
            |known: &&mut AnswerRecord| known.test == answer.test && known.arm == answer.arm;
        match joined.answers.iter_mut().find(is_of) {
            None => joined.answers.push(answer),
            Some(known) if answer.verdict.is_wrong() && !known.verdict.is_wrong() => {
                *known = answer;
            }
            Some(_) => {}
        }
    }
    for record in run.contenders {
        if joined.contenders.iter().all(|known| known.name != record.name) {
            joined.contenders.push(record);
        }
    }
}
