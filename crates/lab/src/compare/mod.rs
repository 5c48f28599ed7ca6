//! A comparison: rounds are made until every test is precise enough.
//!
//! A round loads the data anew, starts all servers on copies of them, and one set of clients drives
//! them in turn. It is what counts as one observation: see docs/slices.md.

mod contestant;
mod loads;
mod order;
mod parts;
mod pass;
mod profile;
mod round;
mod runs;
mod seats;
mod stored_base;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rqps_dbms::Dbms;
use rqps_observe::{Canaries, Canary};
use rqps_plan::{Build, Comparison, Method, Plan};
use rqps_store::{RoundRecord, RunDirectory};
use rqps_workload::Task;

use crate::contender::folder;
use crate::event::Enough;
use crate::selftest::Treatment;
use crate::{Event, Lab, LabError, Outcome};
pub(crate) use contestant::{Contestant, contestants};
use loads::{Folders, load, unload};
pub(crate) use parts::Parts;
use pass::REPEATS;
pub(crate) use pass::WARM_UP;
pub(crate) use profile::{
    MOST_TESTS as MOST_PROFILED, ROUNDS as PROFILE_ROUNDS, per_contender as profiled_per_contender,
};
use round::{Draw, Round, Scene, Setting};
use stored_base::Earlier;
pub use stored_base::{StoredBaseError, stored_base};

/// How long the canary takes: it tells whether the machine is as fast as before.
const CANARY: Duration = Duration::from_millis(50);

/// What is wrong with a comparison before anything is started.
pub(crate) fn validate(plan: &Plan) -> Result<(), LabError> {
    if plan.contenders.iter().any(|one| matches!(one.build, Build::Server { .. })) {
        return Err(LabError::ForeignServer);
    }
    Ok(())
}

/// Two at a time would measure each other, so the caller holds the host's lock.
pub(crate) fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    comparison: &Comparison,
    ready: &[Box<dyn Dbms>],
    treatment: &Treatment,
) -> Result<Outcome, LabError> {
    let began = Instant::now();
    let contestants = contestants(plan, comparison, treatment);
    let folders = Folders::new(folder(lab, directory)?);
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
    let earlier = comparison.base_from.as_deref().map(open).transpose()?;
    let setting = Setting {
        comparison,
        contestants: &contestants,
        ready,
        folders: &folders,
        treatment,
        earlier: earlier.as_ref(),
        plan,
        tasks: &rqps_workload::tasks(&comparison.of)?,
    };
    for round in 1..=comparison.loads.unwrap_or(0) {
        load(lab, directory, &setting, setting.measured(), round)?;
    }
    let mut outcome = rounds(lab, directory, plan, &setting, &parts, began)?;
    if outcome == Outcome::Complete {
        let made = profile::make(lab, directory, plan, &setting, &parts);
        outcome = ended(lab, "profiles", made)?;
    }
    if outcome == Outcome::Complete && !lab.keep_data {
        folders.remove_all();
    }
    if lab.keep_data {
        let most = comparison.rounds + comparison.confirm.unwrap_or(0);
        for (place, contestant) in contestants.iter().enumerate() {
            let Some(path) = folders.last(place, most) else { continue };
            (lab.watch)(Event::DataKept { contender: contestant.name.clone(), path });
        }
    }
    Ok(outcome)
}

/// Makes rounds until every test is settled, or there have been enough of them, or time is up. If
/// the plan wants it, tests that then look different have fresh rounds, which are numbered on.
fn rounds(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    setting: &Setting<'_>,
    parts: &Parts,
    began: Instant,
) -> Result<Outcome, LabError> {
    let comparison = setting.comparison;
    let tests = comparison.tests();
    let mut canaries = canaries(directory, comparison)?;
    let loading = began.elapsed().as_secs_f64();
    let mut longest = 0.0_f64;
    let last = comparison.rounds + comparison.confirm.unwrap_or(0);
    let mut numbers = 1..=last;
    while let Some(number) = numbers.next() {
        let is_fresh = number > comparison.rounds;
        let passes = directory.rounds()?;
        let journal = Journal { passes: &passes, setting, round: number };
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
        // Of a budget the fresh rounds have their share, so that there is time for them.
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
        let rounds = if is_fresh { last } else { comparison.rounds };
        let count = sliced.len() + whole.len();
        (lab.watch)(Event::RoundBegun { round: number, rounds, tests: count });
        let mut made = load(lab, directory, setting, setting.measured(), number);
        if passes.is_empty() && made.is_err() {
            // There is nothing to report yet.
            return made.map(|()| Outcome::Failed);
        }
        if made.is_ok() && !sliced.is_empty() {
            made = slices(lab, directory, &journal, parts, &sliced, &mut canaries);
        }
        if made.is_ok() && !whole.is_empty() {
            made = runs::make(lab, directory, &journal, &whole, &mut canaries);
        }
        let outcome = ended(lab, &format!("round {number}"), made)?;
        if outcome != Outcome::Complete {
            return Ok(outcome);
        }
        unload(setting, number, lab.keep_data);
        let seconds = round_began.elapsed().as_secs_f64();
        longest = longest.max(seconds);
        let interim = (lab.judge)(plan, &directory.rounds()?);
        (lab.watch)(Event::RoundDone { round: number, seconds, interim });
    }
    let failed = directory.rounds()?.iter().any(|pass| failures(pass).next().is_some());
    Ok(if failed { Outcome::Failed } else { Outcome::Complete })
}

/// The fixed piece of work of the run: the same in every sitting. Whole runs are held against what
/// is usual for it, so that is learnt before the first one.
fn canaries(directory: &mut RunDirectory, comparison: &Comparison) -> Result<Canaries, LabError> {
    let canary = match directory.manifest.reference_loop_rounds {
        Some(rounds) => Canary { rounds },
        None => match &comparison.base_from {
            Some(stored) => Canary { rounds: stored.canary_rounds },
            None => Canary::tuned(CANARY),
        },
    };
    directory.set_reference_loop(canary.rounds)?;
    let mut canaries = Canaries::new(canary);
    if comparison.uses(Method::Runs) {
        canaries.calibrate();
    }
    Ok(canaries)
}

/// How a part of a comparison has ended; why it failed is told. Without a store nothing goes on.
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

/// Who could not go on in a pass.
fn failures(pass: &RoundRecord) -> impl Iterator<Item = &str> {
    let failed = pass.arms.iter().filter(|(_, arm)| arm.failure().is_some());
    failed.map(|(name, _)| name.as_str())
}

/// What is there already when a round begins.
pub(crate) struct Journal<'a> {
    passes: &'a [RoundRecord],
    pub(crate) setting: &'a Setting<'a>,
    pub(crate) round: u32,
}

impl Journal<'_> {
    /// Whether a contestant has failed in a test: then it does not take part in that any more.
    pub(crate) fn has_failed(&self, test: &str, contestant: &Contestant) -> bool {
        let mut passes = self.passes.iter().filter(|pass| pass.test == test);
        passes.any(|pass| failures(pass).any(|name| name == contestant.name))
    }

    /// Whether the round has this test yet to do with these contestants, and somebody is there to
    /// be compared with the base. Slices are made with all of them or not at all, whole runs one by
    /// one.
    fn is_left(&self, test: &str, (part, members): (u32, &[usize])) -> bool {
        let able = members.iter().map(|place| &self.setting.contestants[*place]);
        let able: Vec<_> = able.filter(|one| !self.has_failed(test, one)).collect();
        let is_whole = self.setting.comparison.method_of(test) == Method::Runs;
        let is_in = |pass: &RoundRecord, one: &Contestant| {
            pass.slices.iter().any(|slice| slice.arm == one.name)
        };
        // What a guard refused is measured again in another sitting, as it would have been in this
        // one.
        let is_settled = |pass: &&RoundRecord| pass.discarded.is_none() || pass.attempt > REPEATS;
        let made = self.attempts(test, part).filter(|pass| !pass.slices.is_empty());
        let made: Vec<&RoundRecord> = made.filter(|pass| is_whole || is_settled(pass)).collect();
        let is_made = match is_whole {
            true => able.iter().all(|one| made.iter().any(|pass| is_in(pass, one))),
            false => !made.is_empty(),
        };
        able.len() > 1 && able.iter().any(|one| one.is_base()) && !is_made
    }

    /// What was made of a test in this round by the same contestants.
    pub(crate) fn attempts(&self, test: &str, part: u32) -> impl Iterator<Item = &RoundRecord> {
        let is_of = move |pass: &&RoundRecord| {
            (pass.round, pass.part, pass.test.as_str()) == (self.round, part, test)
        };
        self.passes.iter().filter(is_of)
    }
}

/// A round in which servers are up together: all of them, or one group after the other.
fn slices(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    journal: &Journal<'_>,
    parts: &Parts,
    tests: &[String],
    canaries: &mut Canaries,
) -> Result<(), LabError> {
    let (setting, number) = (journal.setting, journal.round);
    let groups = parts.groups.len() as f64;
    for (index, (part, members)) in parts.each().enumerate() {
        let is_left = |test: &&String| journal.is_left(test, (part, members));
        let left = tests.iter().filter(is_left).map(|test| setting.task(test));
        let mut left: Vec<&Task> = left.collect::<Result<_, _>>()?;
        if left.is_empty() {
            continue;
        }
        left.shuffle(&mut setting.random(Draw::Tests, &[number.into(), part.into()]));
        // Whoever is faster writes more: reads come first, while all tables are as they were
        // loaded.
        left.sort_by_key(|test| test.class.writes());
        let scene = Scene { setting, number, part, members };
        let mut round = Round::start(lab, directory, &scene)?;
        let share = 1.0 / (left.len() as f64 * groups);
        for (at, test) in left.into_iter().enumerate() {
            if round.is_over() {
                break;
            }
            let benched = benched(journal, test, members);
            let from = index as f64 / groups + at as f64 * share;
            let attempt = journal.attempts(&test.name, part).map(|pass| pass.attempt).max();
            let whose = (attempt.unwrap_or(0), &benched);
            round.pass(lab, directory, test, whose, canaries, (from, share))?;
        }
        round.stop()?;
    }
    Ok(())
}

/// Who does not take part in a test any more.
fn benched(journal: &Journal<'_>, test: &Task, members: &[usize]) -> BTreeSet<String> {
    let members = members.iter().map(|place| &journal.setting.contestants[*place]);
    let failed = members.filter(|one| journal.has_failed(&test.name, one));
    failed.map(|one| one.name.clone()).collect()
}
