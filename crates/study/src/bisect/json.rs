//! The result of a search for programs.

use serde_json::{Value, json};

use super::conclusion::SearchResult;
use super::{BISECT_SCHEMA, BuildAttempt, CommitSearch, MadeComparison, SearchedCommit};

/// The result as JSON, of the form `bisect/1`. Ratios are of rates, and natural logs.
pub fn bisect_json(search: &CommitSearch, result: &SearchResult) -> String {
    let plan = search.plan();
    let commit = |commit: &SearchedCommit| json!({ "hash": commit.hash, "tree": commit.tree, "subject": commit.subject });
    let found = result.found.map(|found| {
        let commits: Vec<Value> =
            plan.commits[found.first..=found.last].iter().map(commit).collect();
        json!({ "commits": commits, "probability": found.probability })
    });
    let made = |made: &MadeComparison| {
        json!({
            "directory": made.name,
            "baseline": search.commit(made.baseline).hash,
            "commit": search.commit(made.place).hash,
            "place": made.place,
            "layout": made.layout,
            "by": made.by,
            "effects": made.effects,
        })
    };
    let skipped = |(place, attempt): (&usize, &BuildAttempt)| match attempt {
        BuildAttempt::Failed { why, log } => {
            Some(json!({ "commit": search.commit(*place).hash, "why": why, "log": log }))
        }
        BuildAttempt::Built { .. } => None,
    };
    let probability = |(place, probability): (usize, &f64)| json!({ "commit": search.commit(place + 1).hash, "probability": probability });
    let value = json!({
        "schema": BISECT_SCHEMA,
        "rqps_version": plan.rqps_version,
        "kind": result.kind.name(),
        "why": result.why,
        "good": plan.good,
        "bad": plan.bad,
        "notes": plan.notes,
        "commits": plan.commits.len() - 1,
        "ends": result.ends,
        "found": found,
        "confirmation": result.confirmation,
        "layouts": result.layouts,
        "steps": result.steps,
        "comparisons": search.made.iter().map(made).collect::<Vec<_>>(),
        "skipped": search.attempts.iter().filter_map(skipped).collect::<Vec<_>>(),
        "probabilities": result.probabilities.iter().enumerate().map(probability).collect::<Vec<_>>(),
    });
    // Plain data can always be written.
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}
