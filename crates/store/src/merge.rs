//! Several runs merged into one for reports.

use std::collections::{BTreeMap, BTreeSet};

use crate::conditions::{conditions, differences};
use crate::join::join;
use crate::merge_error::MergeError;
use crate::round::RoundRecord;
use crate::run::{Part, Run};

/// All contenders of all runs as one run, in the order of the runs, each run under a name. The
/// first contender of the first run is the baseline. Contenders of the same name get the name of
/// their run appended: `postgres@17.6 (a)`. Comparisons of the same contenders become one with the
/// rounds of all. Runs that differ are rejected; with `force`, [`Run::differences`] lists why.
pub fn merge(runs: Vec<(String, Run)>, force: bool) -> Result<Run, MergeError> {
    refuse_alike(&runs)?;
    let is_compared = |named: &&(String, Run)| named.1.comparison().is_some();
    match (runs.iter().find(is_compared), runs.iter().find(|run| !is_compared(run))) {
        (Some((comparison, _)), Some((other, _))) => {
            let (comparison, other) = (comparison.clone(), other.clone());
            Err(MergeError::Mixed { comparison, other })
        }
        (Some(_), None) => join(runs, force),
        (None, _) => put_together(runs, force),
    }
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
