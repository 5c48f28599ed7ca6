//! A run in words: its title, its facts, and what a reader must know before its numbers.

use std::collections::BTreeMap;

use rqps_analysis::names::list;
use rqps_analysis::{builds, merged};
use rqps_plan::{Cache, Comparison, Counts, Method, Scope};
use rqps_store::Status;

use super::costs::IN_PROCESS;
use super::{Model, Suite, summary};

pub(crate) struct Prose {
    /// `Insert Benchmark: postgres@17.6, postgres@18.0`
    pub(crate) title: String,
    /// One sentence on what was run.
    pub(crate) sentence: String,
    /// Name and value.
    pub(crate) facts: Vec<(&'static str, String)>,
    /// Failures, repeated attempts, and what makes numbers incomparable.
    pub(crate) warnings: Vec<String>,
}

impl Prose {
    pub(crate) fn new(model: &Model) -> Self {
        Prose {
            title: format!("{}: {}", benchmark(model), list(&model.contenders)),
            sentence: sentence(model),
            facts: facts(model),
            warnings: warnings(model),
        }
    }
}

fn benchmark(model: &Model) -> &'static str {
    model.run.plan.single().map_or("Comparison", |workload| workload.title())
}

fn sentence(model: &Model) -> String {
    let plan = &model.run.plan;
    let steps = match (plan.comparison(), model.steps.len()) {
        (Some(_), _) => tests_and_rounds(model),
        (_, 1) => "1 step".to_string(),
        (_, steps) => format!("{steps} steps"),
    };
    format!("{steps} of {}, on {}.", plan.workload().phrase(), merged::cpus(model.run))
}

fn tests_and_rounds(model: &Model) -> String {
    let passes = &model.run.rounds;
    let rounds = passes.iter().map(|pass| pass.round).max().unwrap_or(0);
    let mut tests: Vec<&str> = passes.iter().map(|pass| pass.test.as_str()).collect();
    tests.sort_unstable();
    tests.dedup();
    let plural = |count: usize, what: &str| match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    };
    format!("{} in {}", plural(tests.len(), "test"), plural(rounds as usize, "round"))
}

/// Facts about clients that are timed, and about checks.
const TIMED: [&str; 3] = ["clients", "time", "checks"];

fn facts(model: &Model) -> Vec<(&'static str, String)> {
    let plan = &model.run.plan;
    let mut facts = plan.workload().facts();
    if plan.comparison().is_some_and(|comparison| comparison.only_instructions().is_some()) {
        facts.retain(|(what, _)| !TIMED.contains(what));
    }
    let writes = model.run.rounds.iter().any(|round| round.class.writes());
    let of =
        |comparison| comparison_facts(comparison, Scope::of(comparison, &plan.contenders, writes));
    facts.extend(plan.comparison().into_iter().flat_map(of));
    facts.push(("seed", plan.seed.to_string()));
    facts.push(("transport", transports(model)));
    let cache = plan.cache.map(|cache| match cache {
        Cache::Cached => "holds all data",
        Cache::IoBound => "holds a tenth of the data",
    });
    facts.extend(cache.map(|cache| ("DBMS cache", cache.to_string())));
    facts.extend(below_the_cache(model));
    facts
}

/// What lies between the DBMS's cache and the device, for IO-bound runs and memory limits: whether
/// reads reach the device.
fn below_the_cache(model: &Model) -> Vec<(&'static str, String)> {
    let plan = &model.run.plan;
    if plan.memory.is_none() && plan.cache != Some(Cache::IoBound) {
        return Vec::new();
    }
    // An older rqps did not record the version of cgroups.
    let planned =
        plan.memory.map_or(String::new(), |memory| format!("{memory} for each server (cgroup)"));
    let origins = merged::origins(model.run);
    let memory = origins.iter().map(|(_, manifest)| match manifest.memory {
        Some(held) => held.to_string(),
        None => planned.clone(),
    });
    let direct = origins.iter().map(|(_, manifest)| manifest.direct_io());
    let facts = [("memory", told(memory)), ("direct IO", told(direct))];
    facts.into_iter().filter(|(_, told)| !told.is_empty()).collect()
}

/// The texts of the merged runs; equal neighbours appear once.
fn told(all: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = all.filter(|told| !told.is_empty()).collect();
    all.dedup();
    all.join("; ")
}

fn comparison_facts(comparison: &Comparison, scope: Scope) -> Vec<(&'static str, String)> {
    if comparison.only_instructions().is_some() {
        let method =
            "instructions of one client's operations, counted by callgrind; nothing is timed";
        return vec![
            ("method", method.to_string()),
            ("servers", "two of each contender, each on a copy of its load".to_string()),
        ];
    }
    let fresh = comparison
        .confirm
        .map_or(String::new(), |rounds| format!("; then {rounds} fresh ones for apparent changes"));
    vec![
        ("method", method(comparison)),
        ("rounds", format!("at most {}, each with {}{fresh}", comparison.rounds, scope.renews())),
        ("data", loaded(comparison)),
    ]
}

/// How contenders take turns.
pub(crate) fn method(comparison: &Comparison) -> String {
    let slices = || format!("slices of {} in random order", comparison.slice);
    match (comparison.uses(Method::Slices), comparison.uses(Method::Runs)) {
        (true, true) => format!("{}; whole runs for some tests", slices()),
        (_, true) => "whole runs in random order".to_string(),
        (_, false) => slices(),
    }
}

/// How often the data were loaded.
pub(crate) fn loaded(comparison: &Comparison) -> String {
    match (comparison.of.is_chain(), comparison.loads) {
        _ if comparison.read_only => "the tables that the servers have".to_string(),
        (true, _) => "loaded by each run".to_string(),
        (_, None) => "loaded anew for each round".to_string(),
        (_, Some(1)) => "loaded once".to_string(),
        (_, Some(loads)) => format!("loaded {loads} times; rounds use the loads in turn"),
    }
}

/// The transport that all contenders use, else each transport with its contenders.
fn transports(model: &Model) -> String {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for record in &model.run.contenders {
        users.entry(&record.transport).or_default().push(&record.name);
    }
    let same = users.len() == 1;
    let parts = users.into_iter().map(|(transport, names)| match same {
        true => transport.to_string(),
        false => format!("{transport} ({})", list(&names)),
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn warnings(model: &Model) -> Vec<String> {
    let mut warnings = builds::lines(&model.run.contenders);
    warnings.extend(merged::warnings(model.run));
    warnings.extend(unstarted(model));
    warnings.extend(troubles(model));
    warnings.extend(summary::missed(model));
    warnings.extend(Suite::new(model).iter().flat_map(Suite::notes));
    warnings.extend(shared_processes(model));
    warnings
}

fn unstarted(model: &Model) -> Option<String> {
    let planned: Vec<String> = model.run.plan.contenders.iter().map(|c| c.name()).collect();
    let missing: Vec<&str> = planned
        .iter()
        .map(String::as_str)
        .filter(|name| !model.contenders.contains(name))
        .collect();
    (!missing.is_empty()).then(|| format!("not started: {}", list(&missing)))
}

/// Steps that failed, were stopped, were repeated or had operations retried.
fn troubles(model: &Model) -> Vec<String> {
    let mut notes = Vec::new();
    for (index, name) in model.contenders.iter().enumerate() {
        for step in &model.steps {
            let Some(measured) = &step.measured[index] else { continue };
            let record = measured.record;
            // The first line says what; the rest, such as the tail of a log, is in the JSON.
            let reason = record.error.as_deref().and_then(|error| error.lines().next());
            let reason = reason.map_or(String::new(), |reason| format!(": {}", printable(reason)));
            let mut note = |text: String| notes.push(format!("{name} {}: {text}", step.name));
            match record.status {
                Status::Done => {}
                Status::Failed | Status::Overdue => note(format!("failed{reason}")),
                Status::Interrupted => note(format!("interrupted{reason}")),
                Status::Running => note(format!("still running when rqps ended{reason}")),
            }
            if measured.round.attempt > 1 {
                let earlier = measured.round.attempt - 1;
                let plural = if earlier == 1 { "" } else { "s" };
                note(format!("repeated after {earlier} interruption{plural}"));
            }
            // What clients say of transactions stands beside their rates.
            let text = record.note.as_ref().filter(|_| step.counts != Counts::Transactions);
            if let Some(text) = text {
                note(printable(text));
            }
            let retries: u64 = measured.totals.iter().map(|totals| totals.retries).sum();
            if retries > 0 {
                note(format!("{retries} operations were retried, as the DBMS requested"));
            }
        }
    }
    notes
}

/// What a server wrote must not steer the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

fn shared_processes(model: &Model) -> Option<String> {
    let embedded: Vec<&str> = model
        .run
        .contenders
        .iter()
        .filter(|record| record.transport == IN_PROCESS)
        .map(|record| record.name.as_str())
        .collect();
    (!embedded.is_empty()).then(|| {
        format!(
            "{}: client and DBMS share a process, so their CPU is counted as one",
            list(&embedded)
        )
    })
}
