//! A comparison: data are loaded, then rounds are made until every test is precise enough.
//!
//! A round starts all servers anew, each on a copy of its loaded data, and one set of clients drives
//! them in turn. The restart is what counts as one observation: see the shared SLICES.md.

mod contestant;
mod loads;
mod order;
mod round;

use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_dbms::Dbms;
use rqps_observe::SessionLock;
use rqps_plan::{Build, Compared, Comparison, Plan};
use rqps_store::RunDirectory;
use rqps_workload::microbenchmark::{Sequence, Test, select};

use crate::contender::folder;
use crate::{Event, Lab, LabError, Outcome};
use contestant::contestants;
use loads::{Folders, load};
pub(crate) use round::WARM_UP;
use round::{Canaries, Round, Setting};

/// What is wrong with a comparison before anything is started.
pub(crate) fn validate(plan: &Plan, comparison: &Comparison) -> Result<(), LabError> {
    if plan.contenders.iter().any(|one| matches!(one.build, Build::Server { .. })) {
        return Err(LabError::ForeignServer);
    }
    match &comparison.of {
        Compared::Microbenchmark(benchmark) => crate::microbenchmark::count(benchmark).map(|_| ()),
        Compared::InsertBenchmark(_) => Ok(()),
    }
}

pub(crate) fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    comparison: &Comparison,
    ready: &[Box<dyn Dbms>],
) -> Result<Outcome, LabError> {
    let Compared::Microbenchmark(microbenchmark) = &comparison.of else { todo!() };
    let began = Instant::now();
    let command = format!("rqps compare in {}", directory.path().display());
    let _alone = SessionLock::take(&SessionLock::host_path(), &command)?;
    let contestants = contestants(plan, comparison);
    let folders = Folders::new(folder(lab, directory)?);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
    for number in 1..=comparison.loads {
        let mut order: Vec<usize> = (0..contestants.len()).collect();
        order.shuffle(&mut random);
        for place in order {
            let (one, to) = (&contestants[place], folders.loaded(place, number));
            load(lab, directory, plan, microbenchmark, &*ready[one.index], one, &to)?;
        }
    }
    let mut canaries = Canaries::new();
    let setting = Setting {
        comparison,
        microbenchmark,
        contestants: &contestants,
        ready,
        folders: &folders,
        seed: plan.seed,
    };
    let tests = select(&microbenchmark.tests, Sequence::Given)?;
    let mut longest_round = 0.0_f64;
    for number in 1..=comparison.rounds {
        let passes = directory.passes()?;
        let is_done = |test: &&'static Test| {
            passes.iter().any(|pass| pass.round == number && pass.test == test.short_name())
        };
        let settled = (lab.settled)(comparison, &passes);
        let mut left: Vec<&'static Test> = tests
            .iter()
            .copied()
            .filter(|test| !is_done(test) && !settled.iter().any(|name| name == test.short_name()))
            .collect();
        if left.is_empty() {
            continue;
        }
        let over = |budget: rqps_plan::Span| {
            number > comparison.fewest_rounds
                && began.elapsed().as_secs_f64() + longest_round > budget.0.as_secs_f64()
        };
        if comparison.budget.is_some_and(over) {
            break;
        }
        left.shuffle(&mut random);
        let round_began = Instant::now();
        let (rounds, tests) = (comparison.rounds, left.len());
        (lab.watch)(Event::RoundBegun { round: number, rounds, tests });
        make(lab, directory, &setting, number, &left, &mut canaries)?;
        let seconds = round_began.elapsed().as_secs_f64();
        longest_round = longest_round.max(seconds);
        (lab.watch)(Event::RoundDone { round: number, seconds });
    }
    if !lab.keep_data {
        folders.remove_all();
    }
    Ok(Outcome::Complete)
}

fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    setting: &Setting<'_>,
    number: u32,
    tests: &[&'static Test],
    canaries: &mut Canaries,
) -> Result<(), LabError> {
    let round = Round::start(lab, directory, setting, number)?;
    let share = 1.0 / tests.len() as f64;
    for (index, test) in tests.iter().enumerate() {
        round.pass(lab, directory, test, canaries, (index as f64 * share, share))?;
    }
    round.stop()
}
