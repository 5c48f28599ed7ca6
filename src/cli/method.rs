//! Chooses the method of each test of a comparison if none is given, by the selftest of this
//! machine.

use rqps_dbms::Home;
use rqps_plan::{Cache, Choice, Contender, Method};
use rqps_report::ESTIMATOR;
use rqps_store::selftest::{Asking, Fitnesses, engine, host};
use rqps_workload::Task;

/// A choice for every test; tests with the same choice are grouped.
pub(crate) fn choose(
    contenders: &[Contender],
    tests: &[&Task],
    clients: u32,
    cache: Option<Cache>,
) -> Vec<Choice> {
    if cache == Some(Cache::IoBound) {
        let why = "by default: I/O-bound tests are measured alone".to_string();
        return vec![Choice { method: Method::Runs, why, tests: names(tests) }];
    }
    let (known, host) = match Home::from_env() {
        Ok(home) => {
            let facts = rqps_observe::machine_facts(home.root());
            (Fitnesses::read(home.root()).map_err(|error| error.to_string()), host(&facts))
        }
        Err(error) => (Err(error.to_string()), String::new()),
    };
    let mut engines: Vec<String> = contenders.iter().map(engine).collect();
    engines.sort();
    engines.dedup();
    let asking = Asking { host: &host, clients, estimator: ESTIMATOR };
    let mut choices: Vec<Choice> = Vec::new();
    for test in tests {
        let (method, why) = match (&known, test.alone) {
            (_, Some(why)) => (Method::Runs, why.to_string()),
            (Ok(known), None) => known.method(asking, &engines, test.family),
            (Err(error), None) => (Method::Slices, format!("by default: {error}")),
        };
        let name = test.name.clone();
        match choices.iter_mut().find(|choice| choice.method == method && choice.why == why) {
            Some(choice) => choice.tests.push(name),
            None => choices.push(Choice { method, why, tests: vec![name] }),
        }
    }
    choices
}

fn names(tests: &[&Task]) -> Vec<String> {
    tests.iter().map(|test| test.name.clone()).collect()
}
