//! The conditions of runs, which must be the same for their numbers to be comparable.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::difference::Difference;
use crate::run::Run;

const TRANSPORT: &str = "transport";

const WORKLOAD: &str = "workload";

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
