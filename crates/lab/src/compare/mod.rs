//! A comparison: data are loaded, then rounds are made until every test is precise enough.
//!
//! A round starts all servers anew, each on a copy of its loaded data, and one set of clients drives
//! them in turn. The restart is what counts as one observation: see the shared SLICES.md.

mod contestant;
mod loads;
mod order;
mod round;
mod runs;

use std::time::Instant;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_dbms::Dbms;
use rqps_observe::SessionLock;
use rqps_plan::{Build, Compared, Comparison, Method, Plan};
use rqps_store::RunDirectory;
use rqps_workload::microbenchmark::{Sequence, select};

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

/// Whether all servers can be up at once, where the plan says what each caches.
pub(crate) fn fit_memory(plan: &Plan, comparison: &Comparison) -> Result<(), LabError> {
    let Some(cache) = plan.cache.filter(|_| comparison.method == Method::Slices) else {
        return Ok(());
    };
    let (rows, memory) = (plan.workload.most_rows(), rqps_dbms::memory());
    let of = |one: &contestant::Contestant| cache.bytes(&plan.contenders[one.index], rows, memory);
    let needs = contestants(plan, comparison).iter().map(of).collect::<Result<Vec<u64>, _>>()?;
    let most = memory / 100 * MOST_MEMORY;
    let needed: u64 = needs.iter().sum();
    if needed <= most {
        return Ok(());
    }
    let mut sum = 0;
    let fits = |need: &&u64| {
        sum += **need;
        sum <= most
    };
    let fit = needs.iter().take_while(fits).count();
    let contenders = needs.len();
    Err(LabError::Memory { contenders, needed: needed >> 20, most: most >> 20, fit })
}

/// What the caches of all servers may take of the memory, in percent.
const MOST_MEMORY: u64 = 70;

pub(crate) fn run(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    comparison: &Comparison,
    ready: &[Box<dyn Dbms>],
) -> Result<Outcome, LabError> {
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
            load(lab, directory, plan, &comparison.of, &*ready[one.index], one, &to)?;
        }
    }
    let setting = Setting {
        comparison,
        contestants: &contestants,
        ready,
        folders: &folders,
        seed: plan.seed,
    };
    let outcome = rounds(lab, directory, plan, &setting, began)?;
    if outcome == Outcome::Complete && !lab.keep_data {
        folders.remove_all();
    }
    Ok(outcome)
}

/// Makes rounds until every test is settled, or there have been enough of them, or time is up. If the
/// plan wants it, tests that then look different have fresh rounds, which are numbered on.
fn rounds(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    plan: &Plan,
    setting: &Setting<'_>,
    began: Instant,
) -> Result<Outcome, LabError> {
    let comparison = setting.comparison;
    let tests: Vec<String> = match &comparison.of {
        Compared::Microbenchmark(benchmark) => benchmark.tests.clone(),
        Compared::InsertBenchmark(benchmark) => {
            benchmark.steps().into_iter().map(|step| step.name).collect()
        }
    };
    let mut canaries = Canaries::new();
    let mut longest = 0.0_f64;
    let last = comparison.rounds + comparison.confirm.unwrap_or(0);
    let mut numbers = 1..=last;
    while let Some(number) = numbers.next() {
        let is_fresh = number > comparison.rounds;
        let passes = directory.passes()?;
        let is_done =
            |test: &&String| passes.iter().any(|pass| pass.round == number && pass.test == **test);
        let interim = (lab.judge)(plan, &passes);
        let settled = if is_fresh { interim.confirmed } else { interim.settled };
        let left = tests.iter().filter(|test| !is_done(test) && !settled.contains(test));
        let mut left: Vec<String> = left.cloned().collect();
        if left.is_empty() {
            continue;
        }
        if let Compared::InsertBenchmark(_) = comparison.of {
            // Its steps build on each other.
            left.clone_from(&tests);
        }
        let elapsed = began.elapsed().as_secs_f64();
        // Of a budget the fresh rounds have their share, so that there is time for them.
        let share = if is_fresh { 1.0 } else { f64::from(comparison.rounds) / f64::from(last) };
        let over = |budget: rqps_plan::Span| elapsed + longest > budget.0.as_secs_f64() * share;
        if number > 1 && comparison.budget.is_some_and(over) {
            let missing = comparison.fewest_rounds.saturating_sub(number - 1);
            let needed = (missing > 0).then(|| elapsed + longest * f64::from(missing));
            (lab.watch)(Event::BudgetSpent { rounds: number - 1, needed });
            numbers = if is_fresh { last } else { comparison.rounds } + 1..=last;
            continue;
        }
        // Of its own, so that a run that goes on has the order that it would have had.
        if comparison.method == Method::Slices {
            left.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(plan.seed ^ u64::from(number)));
        }
        let round_began = Instant::now();
        let (rounds, count) = (if is_fresh { last } else { comparison.rounds }, left.len());
        (lab.watch)(Event::RoundBegun { round: number, rounds, tests: count });
        let made = match comparison.method {
            Method::Slices => slices(lab, directory, setting, number, &left, &mut canaries),
            Method::Runs => runs::make(lab, directory, plan, setting, number, &left, &mut canaries),
        };
        match made {
            Ok(()) => {}
            Err(LabError::Interrupted) => return Ok(Outcome::Interrupted),
            Err(error @ LabError::Store(_)) => return Err(error),
            Err(error) => {
                let (contender, error) = (format!("round {number}"), error.to_string());
                (lab.watch)(Event::Failed { contender, error });
                return Ok(Outcome::Failed);
            }
        }
        let seconds = round_began.elapsed().as_secs_f64();
        longest = longest.max(seconds);
        let standing = (lab.judge)(plan, &directory.passes()?).standing;
        (lab.watch)(Event::RoundDone { round: number, seconds, standing });
    }
    Ok(Outcome::Complete)
}

/// A round in which all servers are up.
fn slices(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    setting: &Setting<'_>,
    number: u32,
    tests: &[String],
    canaries: &mut Canaries,
) -> Result<(), LabError> {
    let mut round = Round::start(lab, directory, setting, number)?;
    let share = 1.0 / tests.len() as f64;
    for (index, test) in select(tests, Sequence::Given)?.into_iter().enumerate() {
        round.pass(lab, directory, test, canaries, (index as f64 * share, share))?;
    }
    round.stop()
}
