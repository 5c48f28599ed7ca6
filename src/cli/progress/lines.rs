//! Events as lines of text, for a log.

use rqps_analysis::comparison::Standing;
use rqps_analysis::diagnosis::grouped;
use rqps_lab::{Enough, Event};
use rqps_system::printable;

/// What an event is to a reader.
pub(super) enum Told {
    /// The current work.
    Now(String),
    /// A result, which on a terminal the live view has.
    Done(String),
    /// Shown on a terminal, too.
    Noted(String),
    /// It happens too often for a log.
    Nothing,
}

/// Without control characters of servers and files.
pub(super) fn told(event: &Event) -> Told {
    let shown = |text: String| printable(&text).into_owned();
    match words(event) {
        Told::Now(text) => Told::Now(shown(text)),
        Told::Done(text) => Told::Done(shown(text)),
        Told::Noted(text) => Told::Noted(shown(text)),
        Told::Nothing => Told::Nothing,
    }
}

fn words(event: &Event) -> Told {
    use Told::{Done, Noted, Nothing, Now};
    match event {
        Event::Starting { contender } => Now(format!("{contender}: starting")),
        Event::Resumed { contender, steps } => {
            let plural = if *steps == 1 { "step" } else { "steps" };
            Done(format!("{contender}: {steps} {plural} already done"))
        }
        Event::Started { contender, version, seconds } => {
            Done(format!("{contender}: version {version}, started in {seconds:.1} s"))
        }
        Event::Pausing { contender, step, at_least } => Now(format!(
            "{contender}: maintenance and a pause of at least {:.0} s before {step}",
            at_least.as_secs_f64()
        )),
        Event::Rested { contender, step, seconds } => {
            Done(format!("{contender}: quiesced after {seconds:.1} s, before {step}"))
        }
        Event::Noted { contender, step, note } => Noted(format!("{contender}: {step}: {note}")),
        Event::StepBegun { contender, step, number, steps } => {
            Now(format!("{contender}: {step} ({number} of {steps})"))
        }
        Event::Progress { .. } | Event::Measuring { .. } | Event::Lasts { .. } => Nothing,
        Event::Indexing { contender, step } => {
            Now(format!("{contender}: indexes or compaction of {step}"))
        }
        Event::Checking { contender, step } => Now(format!("{contender}: checking {step}")),
        Event::StepDone { contender, step, seconds, rate, unit } => {
            let rate = grouped(*rate);
            Done(format!("{contender}: {step:<8} {seconds:>7.1} s {rate:>12} {unit}"))
        }
        Event::ContenderDone { contender } => Done(format!("{contender}: done")),
        Event::DataKept { contender, path } => {
            Noted(format!("{contender}: its data are kept in {}", path.display()))
        }
        Event::LeftOnServer { contender, place, url } => Noted(format!(
            "{contender}: its data are kept in {place}; to remove them: rqps dbms clean '{url}'"
        )),
        Event::Restarting { contender } => Now(format!("{contender}: restarting")),
        Event::Loading { contender } => Now(format!("{contender}: loading")),
        Event::Loaded { contender, version, seconds } => {
            Done(format!("{contender}: version {version}, loaded in {seconds:.1} s"))
        }
        Event::Answering { test, number, tests } => {
            Now(format!("{test}: comparing rows ({number} of {tests})"))
        }
        Event::RoundBegun { round, rounds, tests } => {
            let plural = if *tests == 1 { "" } else { "s" };
            Now(format!("round {round} of at most {rounds}, {tests} test{plural}"))
        }
        Event::Refused { test, why, attempt } => {
            Noted(format!("{test}: attempt {attempt} was discarded: {why}"))
        }
        Event::RoundDone { round, seconds, interim } => {
            let line = |Standing { contender, test, text, .. }: &Standing| {
                format!("\n  {contender} {test}: {text}")
            };
            let standing: String = interim.standing.iter().map(line).collect();
            Done(format!("round {round}: {seconds:.1} s{standing}"))
        }
        Event::InPairs { servers, fit, needed, available } => Noted(format!(
            "not all servers fit in memory ({servers} need about {needed} MB, {available} MB are \
             available, {fit} fit): measured in pairs with the baseline"
        )),
        Event::BudgetSpent { rounds, enough } => Noted(budget_spent(*rounds, *enough)),
        Event::ProfilesBegun { tests, .. } if tests.is_empty() => {
            Done("nothing is profiled: no test has changed".to_string())
        }
        Event::ProfilesBegun { tests, left_out } => {
            let text = format!("profiling {}", tests.join(", "));
            match left_out.is_empty() {
                true => Done(text),
                false => {
                    let left_out = left_out.join(",");
                    Noted(format!("{text}\n  also changed, but less: --profile={left_out}"))
                }
            }
        }
        Event::Profiling { round, rounds } => Now(format!("profiles: round {round} of {rounds}")),
        Event::CountsBegun { tests, left_out } => {
            let text = format!("counting instructions of {}", tests.join(", "));
            match left_out.is_empty() {
                true => Done(text),
                false => {
                    let left_out = left_out.join(",");
                    Noted(format!("{text}\n  also changed, but less: --instructions={left_out}"))
                }
            }
        }
        Event::Counting { test, contender, done } => {
            Now(format!("{test}: instructions of {contender}, {:.0} %", 100.0 * done))
        }
        Event::Uncounted { test, contender, why } => {
            Noted(format!("{test}: no instructions of {contender}: {why}"))
        }
        Event::Failed { contender, error } => Noted(format!("error: {contender}: {error}")),
    }
}

fn budget_spent(rounds: u32, enough: Option<Enough>) -> String {
    let plural = if rounds == 1 { "" } else { "s" };
    let enough = enough.map_or(String::new(), |Enough { seconds, tests }| {
        let fit = match tests {
            0 => "no test fits".to_string(),
            1 => "one test fits".to_string(),
            tests => format!("{tests} tests fit"),
        };
        format!("; the rounds that a verdict needs take {seconds:.0} s, and {fit} into this budget")
    });
    format!("the budget ended the comparison after {rounds} round{plural}{enough}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_steers_no_terminal() {
        let error = "\x1b[2J\x1b]0;owned\x07".to_string();
        let event = Event::Failed { contender: "a".to_string(), error };
        let Told::Noted(text) = told(&event) else { panic!("it must be seen") };
        assert_eq!(text, r"error: a: \x1b[2J\x1b]0;owned\x07");
    }
}
