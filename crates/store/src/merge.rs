//! Several runs merged into one for reports.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rqps_plan::Comparison;
use serde::Serialize;
use serde_json::Value;

use crate::join::{Unlike, join};
use crate::manifest::Manifest;
use crate::{RoundRecord, Run};

const TRANSPORT: &str = "transport";
const WORKLOAD: &str = "workload";

/// A run that others were merged with.
#[derive(Clone, Debug, Serialize)]
pub struct Part {
    /// Distinguishes it from the others, such as the name of its directory.
    pub name: String,
    pub manifest: Manifest,
    /// Names of its contenders in the merged run.
    pub contenders: Vec<String>,
    /// Of a comparison, its rounds in the merged run.
    pub rounds: BTreeSet<u32>,
}

/// The most characters of a value in a message.
const LONG: usize = 60;

/// Something that differs between runs, so that their numbers are not comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A key of the plan, or `transport`.
    pub what: String,
    /// One for each run, in their order.
    pub values: Vec<String>,
}

impl fmt::Display for Difference {
    /// `seed (1, 7)`; long values, such as a list of tests, are cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &String| match value.char_indices().nth(LONG) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value.clone(),
        };
        write!(
            f,
            "{} ({})",
            self.what,
            self.values.iter().map(short).collect::<Vec<_>>().join(", ")
        )
    }
}

/// Why runs cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("'{0}' and '{1}' are the same run")]
    Same(String, String),
    #[error(
        "'{comparison}' is a comparison and '{other}' is not: the contenders of a comparison take turns, so \
         those of another run cannot join them. Compare all of them in one run"
    )]
    Mixed { comparison: String, other: String },
    #[error("the rounds of these comparisons cannot be merged, even with --force: {0}")]
    Unlike(Unlike),
    #[error(
        "the runs are not comparable, since these differ: {}. To merge them with a warning, use --force",
        list(.0)
    )]
    NotComparable(Vec<Difference>),
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

/// All contenders of all runs as one run, in the order of the runs, each run under a name. The
/// first contender of the first run is the baseline. Contenders of the same name get the name of
/// their run appended: `postgres@17.6 (a)`. Comparisons of the same contenders become one with the
/// rounds of all. Runs that differ are rejected; with `force`, [`Run::differences`] lists why.
pub fn merge(runs: Vec<(String, Run)>, force: bool) -> Result<Run, MergeError> {
    refuse_alike(&runs)?;
    let is_compared = |named: &&(String, Run)| comparison(&named.1).is_some();
    match (runs.iter().find(is_compared), runs.iter().find(|run| !is_compared(run))) {
        (Some((comparison, _)), Some((other, _))) => {
            let (comparison, other) = (comparison.clone(), other.clone());
            Err(MergeError::Mixed { comparison, other })
        }
        (Some(_), None) => join(runs, force),
        (None, _) => put_together(runs, force),
    }
}

/// The plan of a comparison; none for another run.
pub(crate) fn comparison(run: &Run) -> Option<&Comparison> {
    run.plan.comparison()
}

/// Single runs.
fn put_together(runs: Vec<(String, Run)>, force: bool) -> Result<Run, MergeError> {
    let differences = differences(&runs, conditions);
    if !differences.is_empty() && !force {
        return Err(MergeError::NotComparable(differences));
    }
    let twice = names_of_several(&runs);
    let places = places(&runs);
    let mut runs = runs.into_iter();
    let (first, run) = runs.next().expect("there is a run to merge with");
    let mut merged = Run { differences, ..part(&first, run, (&twice, 0), &places) };
    for (name, run) in runs {
        let before = merged.plan.contenders.len() as u32;
        let run = part(&name, run, (&twice, before), &places);
        merged.plan.contenders.extend(run.plan.contenders);
        merged.contenders.extend(run.contenders);
        merged.rounds.extend(run.rounds);
        merged.parts.extend(run.parts);
    }
    Ok(merged)
}

fn refuse_alike(runs: &[(String, Run)]) -> Result<(), MergeError> {
    for (index, (name, run)) in runs.iter().enumerate() {
        let same = runs[..index].iter().find(|(_, earlier)| earlier.manifest.id == run.manifest.id);
        if let Some((earlier, _)) = same {
            return Err(MergeError::Same(earlier.clone(), name.clone()));
        }
    }
    Ok(())
}

/// Conditions that differ between the runs.
pub(crate) fn differences(
    runs: &[(String, Run)],
    conditions: fn(&Run) -> BTreeMap<String, String>,
) -> Vec<Difference> {
    let said: Vec<BTreeMap<String, String>> = runs.iter().map(|(_, run)| conditions(run)).collect();
    let keys: BTreeSet<&String> = said.iter().flat_map(BTreeMap::keys).collect();
    let values = |key: &String| {
        let value = |of: &BTreeMap<String, String>| of.get(key).map_or("none", |v| v).to_string();
        Difference { what: key.clone(), values: said.iter().map(value).collect() }
    };
    let differs = |found: &Difference| {
        // A run without servers has no transport that could differ.
        let mut said = found.values.iter().filter(|v| found.what != TRANSPORT || *v != "none");
        let first = said.next();
        said.any(|value| Some(value) != first)
    };
    let mut found: Vec<Difference> = keys.into_iter().map(values).filter(differs).collect();
    if found.iter().any(|difference| difference.what == WORKLOAD) {
        // Two workloads have nothing else in common that could differ.
        let of_workload = format!("{WORKLOAD}.");
        found.retain(|difference| !difference.what.starts_with(&of_workload));
    }
    found
}

/// The conditions of a run by name: `seed`, `workload.insert_benchmark.rows`, … These are
/// everything in the plan but the contenders, and how clients reached the servers.
pub(crate) fn conditions(run: &Run) -> BTreeMap<String, String> {
    let plan = serde_json::to_value(&run.plan).expect("a plan is plain data");
    let mut found = BTreeMap::new();
    flatten("", &plan, &mut found);
    found.retain(|key, _| key != "contenders");
    let workload = plan[WORKLOAD].as_object().and_then(|workload| workload.keys().next());
    found.extend(workload.map(|kind| (WORKLOAD.to_string(), kind.replace('_', " "))));
    // A DBMS inside the client can be reached in one way only.
    let ways = run.contenders.iter().map(|contender| contender.transport.as_str());
    let ways: BTreeSet<&str> = ways.filter(|way| *way != "in process").collect();
    if !ways.is_empty() {
        found.insert(TRANSPORT.to_string(), Vec::from_iter(ways).join(" and "));
    }
    found
}

fn flatten(path: &str, value: &Value, found: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(&path, value, found);
            }
        }
        Value::Null => {}
        Value::String(text) => {
            found.insert(path.to_string(), text.clone());
        }
        other => {
            found.insert(path.to_string(), other.to_string());
        }
    }
}

fn names(run: &Run) -> impl Iterator<Item = String> {
    run.plan.contenders.iter().map(|contender| contender.name())
}

fn names_of_several(runs: &[(String, Run)]) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let all = runs.iter().flat_map(|(_, run)| names(run));
    all.filter(|name| !seen.insert(name.clone())).collect()
}

/// The place of each test in the merged run. Tests of one name share a place; a test that only a
/// later run has comes after those of earlier runs.
fn places(runs: &[(String, Run)]) -> BTreeMap<String, u32> {
    let mut places = BTreeMap::new();
    for (_, run) in runs {
        let mut tests: Vec<&RoundRecord> = run.rounds.iter().collect();
        tests.sort_by_key(|round| round.place);
        for round in tests {
            let next = places.len() as u32;
            places.entry(round.test.clone()).or_insert(next);
        }
    }
    places
}

/// A run with its names and places in the merged run, where `before` contenders precede it.
fn part(
    name: &str,
    mut run: Run,
    (twice, before): (&BTreeSet<String>, u32),
    places: &BTreeMap<String, u32>,
) -> Run {
    let named = |contender: &str| match twice.contains(contender) {
        true => format!("{contender} ({name})"),
        false => contender.to_string(),
    };
    for contender in &mut run.plan.contenders {
        let name = contender.name();
        if twice.contains(&name) {
            contender.label = Some(named(&name));
        }
    }
    for contender in &mut run.contenders {
        contender.name = named(&contender.name);
    }
    for round in &mut run.rounds {
        let arms = std::mem::take(&mut round.arms).into_iter();
        round.arms = arms.map(|(arm, measured)| (named(&arm), measured)).collect();
        round.place = places[&round.test];
        round.part += before;
    }
    let contenders = names(&run).collect();
    let (name, manifest) = (name.to_string(), run.manifest.clone());
    run.parts = vec![Part { name, manifest, contenders, rounds: BTreeSet::new() }];
    run
}
