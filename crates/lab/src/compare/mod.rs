//! A comparison: rounds are made until every test is precise enough.
//!
//! A round loads the data, starts all servers on them, and one set of clients drives them
//! in turn. It is one observation: see docs/slices.md.

mod answers;
mod beside;
mod blame;
mod carried;
mod context;
mod counting;
mod cut;
mod folders;
mod instructions;
mod journal;
mod largest_rate;
mod limits;
mod loads;
mod lost;
mod order;
mod others;
mod parts;
mod pass;
mod path;
mod profile;
mod remote;
mod round;
mod runs;
mod seating;
mod seats;
mod stored_baseline;
pub(crate) mod stored_baseline_error;
mod together;
mod turn;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rqps_dbms::Dbms;
use rqps_observe::{ReferenceLoop, ReferenceLoops};
use rqps_plan::{Comparison, Method, Plan};
use rqps_store::{Measurement, RunDirectory, Status};
use rqps_workload::Task;

use crate::arm::arms;
use crate::client_cpus::ClientCpus;
use crate::contender::folder;
use crate::error::LabError;
use crate::event::Enough;
use crate::lab::{Lab, Outcome};
use crate::laps::Laps;
use crate::selftest::treatment::Treatment;
use crate::{Event, arrivals, other_disk};
use context::{ComparisonContext, Draw, Failing, RoundContext};
pub(crate) use cut::{WARM_UP, longest_operation};
use folders::Folders;
pub(crate) use instructions::expected_time as counting_time;
use journal::Journal;
use largest_rate::Grids;
pub(crate) use largest_rate::USUAL_TRIES;
use loads::{load, unload};
use lost::Lost;
pub(crate) use parts::Parts;
pub(crate) use profile::{
    MOST_TESTS as MOST_PROFILED, ROUNDS as PROFILE_ROUNDS, per_contender as profiled_per_contender,
};
pub(crate) use remote::compare_servers;
use round::Round;
use stored_baseline::Earlier;
pub use stored_baseline::stored_baseline;
pub use stored_baseline_error::StoredBaselineError;

/// The duration of the reference loop, which shows whether the machine is as fast as before.
const REFERENCE_LOOP: Duration = Duration::from_millis(50);

/// Refuses what is wrong with a comparison before anything is started.
pub(crate) fn validate(plan: &Plan, comparison: &Comparison) -> Result<(), LabError> {
    remote::validate(plan, comparison)?;
    Ok(arrivals::validate(comparison, &rqps_workload::tasks(&comparison.of)?)?)
}

/// Two runs at a time would disturb each other, so the caller holds the lock of the host.
pub(crate) fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    comparison: &Comparison,
    ready: &[Box<dyn Dbms>],
    treatment: &Treatment,
) -> Result<Outcome, LabError> {
    let began = Instant::now();
    remote::have_commands(comparison, lab.restarts)?;
    let arms = arms(plan, treatment);
    let of_run = folder(lab, directory)?;
    let of_contenders = other_disk::folders(&of_run, &plan.contenders)?;
    let of_arms = arms.iter().map(|arm| of_contenders[arm.index].clone()).collect();
    let folders = Folders::new(of_run, of_arms);
    let parts = match directory.manifest.groups.clone() {
        Some(groups) => Parts { groups, reason: None },
        None => Parts::new(plan, comparison)?,
    };
    directory.set_groups(parts.groups.clone())?;
    if let Some(reason) = &parts.reason {
        (lab.watch)(reason.clone());
    }
    let base = &*ready[0];
    let open = |stored| Earlier::open(stored, lab, directory, plan, base, &folders);
    let earlier = comparison.baseline_from.as_deref().map(open).transpose()?;
    let mut shared = ComparisonContext {
        comparison,
        arms: &arms,
        ready,
        folders: &folders,
        treatment,
        earlier: earlier.as_ref(),
        plan,
        tasks: &rqps_workload::tasks(&comparison.of)?,
        // Of whole runs it is not known.
        fit_together: parts.groups.len() == 1 && !comparison.uses(Method::Runs),
        failing: Failing::new(),
        lost: Lost::default(),
        client_cpus: ClientCpus::of(plan)?,
        servers: remote::servers(plan, ready)?,
    };
    shared.client_cpus.tell(lab, &arms[0].name);
    if shared.is_used_once() {
        // Each round makes directories and removes those of the round before.
        folders.all().into_iter().for_each(rqps_dbms::spread_data);
    }
    let made = measure(lab, directory, plan, &mut shared, &parts, began);
    remote::remove_unfinished(lab, &shared);
    let outcome = match made {
        Ok(outcome) => outcome,
        Err(error) => {
            remote::abandon(lab, directory, &shared);
            return Err(error);
        }
    };
    if outcome == Outcome::Complete && !lab.keep_data {
        for load in 1..=comparison.loads.unwrap_or(0) {
            remote::remove(lab, &shared, load);
        }
        folders.remove_all();
    } else {
        remote::tell_left(lab, &shared);
    }
    if lab.keep_data {
        let most = comparison.rounds + comparison.confirm.unwrap_or(0);
        for (place, arm) in arms.iter().enumerate().filter(|(_, arm)| !arm.is_remote) {
            let Some(path) = folders.last(place, most) else { continue };
            (lab.watch)(Event::DataKept { contender: arm.name.clone(), path });
        }
    }
    Ok(outcome)
}

/// Loads, compares answers, and measures what the run directory lacks.
fn measure(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    shared: &mut ComparisonContext<'_>,
    parts: &Parts,
    began: Instant,
) -> Result<Outcome, LabError> {
    for round in 1..=shared.comparison.loads.unwrap_or(0) {
        load(lab, directory, shared, shared.measured(), round)?;
    }
    shared.failing = match answers::make(lab, directory, shared, parts) {
        Err(LabError::Interrupted) => return Ok(Outcome::Interrupted),
        failing => failing?,
    };
    let mut outcome = match shared.comparison.only_instructions() {
        Some(_) => Outcome::Complete,
        None => rounds(lab, directory, plan, shared, parts, began)?,
    };
    if outcome == Outcome::Complete {
        let made = profile::make(lab, directory, plan, shared, parts);
        outcome = ended(lab, "profiles", made)?;
    }
    if outcome == Outcome::Complete {
        let made = instructions::make(lab, directory, plan, shared);
        outcome = ended(lab, "instructions", made)?;
    }
    Ok(outcome)
}

/// Makes rounds until every test is precise enough, or the maximum is reached, or the budget is
/// spent. With --confirm, tests that look different then have fresh rounds, with the next numbers.
fn rounds(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    shared: &ComparisonContext<'_>,
    parts: &Parts,
    began: Instant,
) -> Result<Outcome, LabError> {
    let comparison = shared.comparison;
    let tests = comparison.tests();
    let mut loops = match comparison.uses(Method::Runs) {
        true => Some(loops(directory, comparison)?),
        false => None,
    };
    let mut grids = Grids::new();
    let loading = began.elapsed().as_secs_f64();
    let mut longest = 0.0_f64;
    let last = comparison.rounds + comparison.confirm.unwrap_or(0);
    let mut numbers = 1..=last;
    while let Some(number) = numbers.next() {
        let is_fresh = number > comparison.rounds;
        let passes = directory.rounds()?;
        let journal = Journal { passes: &passes, shared, round: number };
        let interim = (lab.judge)(plan, &passes);
        let settled = if is_fresh { interim.confirmed } else { interim.settled };
        let is_left = |test: &&String| {
            !settled.contains(test) && parts.each().any(|part| journal.is_left(test, part))
        };
        let mut left: Vec<String> = tests.iter().filter(is_left).cloned().collect();
        if left.is_empty() {
            continue;
        }
        if comparison.of.is_chain() {
            left.clone_from(&tests);
        }
        let elapsed = began.elapsed().as_secs_f64();
        // Fresh rounds have a share of the budget, so that there is time for them.
        let share = if is_fresh { 1.0 } else { f64::from(comparison.rounds) / f64::from(last) };
        let budget = comparison.budget.map(|budget| budget.0.as_secs_f64() * share);
        if let Some(budget) = budget.filter(|budget| number > 1 && elapsed + longest > *budget) {
            let missing = comparison.fewest_rounds.saturating_sub(number - 1);
            let fewest = longest * f64::from(comparison.fewest_rounds);
            let part = (budget - loading).max(0.0) / fewest;
            let enough = Enough {
                seconds: elapsed + longest * f64::from(missing),
                tests: (part * tests.len() as f64) as usize,
            };
            let enough = (missing > 0).then_some(enough);
            (lab.watch)(Event::BudgetSpent { rounds: number - 1, enough });
            numbers = if is_fresh { last } else { comparison.rounds } + 1..=last;
            continue;
        }
        let is_sliced = |test: &String| comparison.method_of(test) == Method::Slices;
        let (sliced, whole): (Vec<String>, Vec<String>) = left.into_iter().partition(is_sliced);
        let round_began = Instant::now();
        let mut laps = Laps::begin();
        let rounds = if is_fresh { last } else { comparison.rounds };
        let count = sliced.len() + whole.len();
        (lab.watch)(Event::RoundBegun { round: number, rounds, tests: count });
        let mut made = remote::restart(lab, directory, shared, number);
        laps.lap("restart");
        if made.is_ok() {
            made = load(lab, directory, shared, shared.measured(), number);
        }
        laps.lap("load");
        if passes.is_empty() && made.is_err() {
            // There is nothing to report yet.
            return made.map(|()| Outcome::Failed);
        }
        if made.is_ok() && !sliced.is_empty() {
            made = slices(lab, directory, &journal, parts, &sliced, &mut laps);
        }
        if let (true, false, Some(loops)) = (made.is_ok(), whole.is_empty(), &mut loops) {
            made = match comparison.slo {
                Some(level) => {
                    let search = (level, &mut grids);
                    largest_rate::make(lab, directory, &journal, &whole, loops, search)
                }
                None => runs::make(lab, directory, &journal, &whole, loops),
            };
            laps.lap("runs");
        }
        let outcome = ended(lab, &format!("round {number}"), made)?;
        if outcome != Outcome::Complete {
            return Ok(outcome);
        }
        let keeps = lab.keep_data;
        unload(lab, shared, number, keeps);
        laps.lap("unload");
        laps.tell(&format!("round {number}"));
        let seconds = round_began.elapsed().as_secs_f64();
        longest = longest.max(seconds);
        let interim = (lab.judge)(plan, &directory.rounds()?);
        (lab.watch)(Event::RoundDone { round: number, seconds, interim });
    }
    // A contender that takes too long is a result, but not the baseline.
    let base = &shared.arms[0].name;
    let is_failure = |(name, arm): (&String, &Measurement)| {
        arm.failure().is_some() && (arm.status != Status::Overdue || name == base)
    };
    let failed = directory.rounds()?.iter().any(|pass| pass.arms.iter().any(is_failure));
    Ok(if failed || !shared.lost.is_empty() { Outcome::Failed } else { Outcome::Complete })
}

/// The reference loop of whole runs, the same in every session. Guards compare each with its usual
/// time, which is measured before the first one. Slices have none: a cycle is equally fast for all.
fn loops(
    directory: &mut RunDirectory,
    comparison: &Comparison,
) -> Result<ReferenceLoops, LabError> {
    let reference_loop = match directory.manifest.reference_loop_rounds {
        Some(rounds) => ReferenceLoop { rounds },
        None => match &comparison.baseline_from {
            Some(stored) => ReferenceLoop { rounds: stored.reference_loop_rounds },
            None => ReferenceLoop::tuned(REFERENCE_LOOP),
        },
    };
    directory.set_reference_loop(reference_loop.rounds)?;
    let mut loops = ReferenceLoops::new(reference_loop);
    if comparison.guards {
        loops.calibrate();
    }
    Ok(loops)
}

/// How a part of a comparison ended; a failure is reported. An error of the store ends the run.
fn ended(lab: &mut Lab<'_>, part: &str, made: Result<(), LabError>) -> Result<Outcome, LabError> {
    match made {
        Ok(()) => Ok(Outcome::Complete),
        Err(LabError::Interrupted) => Ok(Outcome::Interrupted),
        Err(error @ LabError::Store(_)) => Err(error),
        Err(error) => {
            let (contender, error) = (part.to_string(), error.to_string());
            (lab.watch)(Event::Failed { contender, error });
            Ok(Outcome::Failed)
        }
    }
}

/// A round in which servers are up together: all of them, or one group after another.
fn slices(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    journal: &Journal<'_>,
    parts: &Parts,
    tests: &[String],
    laps: &mut Laps,
) -> Result<(), LabError> {
    let (shared, number) = (journal.shared, journal.round);
    let groups = parts.groups.len() as f64;
    for (index, (part, members)) in parts.each().enumerate() {
        let is_left = |test: &&String| journal.is_left(test, (part, members));
        let left = tests.iter().filter(is_left).map(|test| shared.task(test));
        let mut left: Vec<&Task> = left.collect::<Result<_, _>>()?;
        if left.is_empty() {
            continue;
        }
        left.shuffle(&mut shared.random(Draw::Tests, &[number.into(), part.into()]));
        // A faster arm writes more, so reads come first, while all tables are as loaded.
        left.sort_by_key(|test| test.class.writes());
        let context = RoundContext { shared, number, part, members, keeps_load: false };
        let mut round = Round::start(lab, directory, &context)?;
        laps.lap("start");
        if round.is_over() {
            let attempt = |test: &Task| attempts_at(journal, test, part);
            round.record_absence(directory, &left, attempt)?;
        }
        let share = 1.0 / (left.len() as f64 * groups);
        for (at, test) in left.into_iter().enumerate() {
            if round.is_over() {
                break;
            }
            let benched = benched(journal, test, members);
            let from = index as f64 / groups + at as f64 * share;
            let whose = (attempts_at(journal, test, part), &benched);
            round.pass(lab, directory, test, whose, (from, share))?;
        }
        laps.lap("measure");
        round.stop()?;
        laps.lap("stop");
    }
    Ok(())
}

/// How many attempts at a test were made in this round.
fn attempts_at(journal: &Journal<'_>, test: &Task, part: u32) -> u32 {
    journal.attempts(&test.name, part).map(|pass| pass.attempt).max().unwrap_or(0)
}

/// The arms that are excluded from a test.
fn benched(journal: &Journal<'_>, test: &Task, members: &[usize]) -> BTreeSet<String> {
    let members = members.iter().map(|place| &journal.shared.arms[*place]);
    let failed = members.filter(|one| journal.has_failed(&test.name, one));
    failed.map(|one| one.name.clone()).collect()
}
