//! A round of searches for the largest rate at which each arm keeps a service level. The servers of
//! all arms are up, and one rate of one arm is tried at a time, in turn: what changes on the
//! machine in these minutes meets all arms alike.

use std::collections::BTreeMap;
use std::time::Duration;

use rqps_analysis::largest_rate::{LargestRate, RateGrid, RateSearch};
use rqps_observe::{Metric, ReferenceLoops};
use rqps_plan::ServiceLevel;
use rqps_store::{Measurement, RunDirectory};
use rqps_workload::{Driver, Task};

use super::beside::Beside;
use super::context::Draw;
use super::journal::Journal;
use super::parts::fit;
use super::runs::{Done, Kept, REST, Run, Turn, WAKE};
use crate::Event;
use crate::alone::Alone;
use crate::arrivals::Arrivals;
use crate::error::LabError;
use crate::lab::Lab;
use crate::stage::measurement;
use crate::trying::Trying;

/// The rates that are tried, by test and arm: from what the arm did in a closed loop in its first
/// round of this session.
pub(super) type Grids = BTreeMap<(String, String), RateGrid>;

/// Tries of an arm in a round of a test, about: ten in the first round, six in later ones.
pub(crate) const USUAL_TRIES: u32 = 8;

/// Operations beyond the percentile, of which a rate must have as many to be judged.
const BEYOND: f64 = 10.0;

/// Of the CPU that clients can have, the share above which they are the limit.
const MOST_OF_CLIENT: f64 = 0.8;

/// Finds each arm's largest rate in each test, and stores a record for every test. An arm that
/// fails is excluded from then on.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    journal: &Journal<'_>,
    tests: &[String],
    loops: &mut ReferenceLoops,
    (level, grids): (ServiceLevel, &mut Grids),
) -> Result<(), LabError> {
    let (shared, round) = (journal.shared, journal.round);
    let (load, passes) = (shared.comparison.load_of(round), journal.passes);
    let mut kept = Kept::of(journal, tests);
    let turns = (0..).zip(shared.order_of_runs(round));
    let turns =
        turns.map(|(number, place)| Turn { shared, round, load, place, number, tests, passes });
    let is_left = |turn: &Turn<'_>| {
        let arm = turn.arm();
        let has_failed = tests.iter().any(|test| journal.has_failed(test, arm));
        !has_failed && !kept.is_done(tests, &arm.name)
    };
    let turns: Vec<Turn<'_>> = turns.filter(is_left).collect();
    let at_once = match fit(shared.plan, shared.arms)? {
        true => turns.len().max(1),
        false => {
            let (contender, step) = (shared.arms[0].name.clone(), "memory".to_string());
            let note = "not all servers fit in memory: contenders are searched one after the other";
            let note = note.to_string();
            (lab.watch)(Event::Noted { contender, step, note });
            1
        }
    };
    let mut failed = Vec::new();
    for turns in turns.chunks(at_once) {
        let together = SearchingArms { turns, directory, level, round };
        for (turn, made) in turns.iter().zip(together.search(lab, loops, grids)?) {
            let made =
                made.map(|(done, unanswered, around)| Run::new(done, unanswered, around, loops));
            match kept.add(turn, made) {
                Ok(()) => {}
                Err(error @ (LabError::Interrupted | LabError::Store(_))) => return Err(error),
                Err(error) => {
                    let (contender, error_text) = (turn.arm().name.clone(), error.to_string());
                    (lab.watch)(Event::Failed { contender, error: error_text });
                    failed.push(error.of(&turn.arm().name));
                }
            }
        }
    }
    if kept.is_empty() {
        // No arm could run.
        return failed.into_iter().next().map_or(Ok(()), Err);
    }
    if let Some(earlier) = shared.earlier {
        kept.join(earlier);
    }
    kept.save(directory)
}

/// What an arm has found: by test what was measured at its answer, and why that is none; and the
/// reference loop before and after.
type FoundRates = (Vec<Done>, Vec<Option<String>>, (Duration, Duration));

/// Arms whose servers are up together.
struct SearchingArms<'t, 'a> {
    turns: &'t [Turn<'a>],
    directory: &'t RunDirectory,
    level: ServiceLevel,
    round: u32,
}

/// Servers that end in the reverse order of their start, as the CPUs of clients want it.
struct ServersUp<'a>(Vec<Option<Alone<'a>>>);

impl Drop for ServersUp<'_> {
    fn drop(&mut self) {
        while self.0.pop().is_some() {}
    }
}

impl SearchingArms<'_, '_> {
    /// What each of them has found, in their order.
    fn search(
        &self,
        lab: &mut Lab<'_>,
        loops: &mut ReferenceLoops,
        grids: &mut Grids,
    ) -> Result<Vec<Result<FoundRates, LabError>>, LabError> {
        let Some(first) = self.turns.first() else { return Ok(Vec::new()) };
        let shared = first.shared;
        let mut errors: Vec<Option<LabError>> = Vec::new();
        for turn in self.turns {
            errors.push(stopping(turn.restore())?.err());
        }
        let places: Vec<usize> = self.turns.iter().map(|turn| turn.place).collect();
        rqps_dbms::read_code_again(shared.builds(&places))?;
        let before = loops.settle(shared.patience(REST));
        let mut up = ServersUp(Vec::new());
        for (turn, error) in self.turns.iter().zip(&mut errors) {
            up.0.push(match error {
                Some(_) => None,
                None => {
                    stopping(turn.start(lab, self.directory))?.map_err(|it| *error = Some(it)).ok()
                }
            });
        }
        let targets: Vec<_> = up.0.iter().map(|alone| alone.as_ref().map(Alone::target)).collect();
        let workload = shared.comparison.of.only(first.tests);
        let tasks = rqps_workload::tasks(&workload)?;
        // Tables are filled already.
        let left: Vec<&Task> = tasks.iter().filter(|task| !task.fills).collect();
        let mut drivers: Vec<Option<Box<dyn Driver + '_>>> = Vec::new();
        for ((alone, target), error) in up.0.iter().zip(&targets).zip(&mut errors) {
            let driver = alone.as_ref().zip(target.as_ref());
            let driver = driver.map(|(alone, target)| alone.driver(&workload, target)).transpose();
            drivers.push(stopping(driver)?.map_err(|it| *error = Some(it)).ok().flatten());
        }
        let mut found: Vec<(Vec<Done>, Vec<Option<String>>)> =
            self.turns.iter().map(|_| Default::default()).collect();
        let (mut tries, usual) =
            (0, f64::from(USUAL_TRIES) * (self.turns.len() * left.len()) as f64);
        for (number, task) in left.iter().enumerate() {
            let mut searches: Vec<ArmSearch> =
                self.turns.iter().map(|_| ArmSearch::new()).collect();
            let mut is_busy = true;
            while std::mem::take(&mut is_busy) {
                for (at, turn) in self.turns.iter().enumerate() {
                    let (Some(alone), Some(driver)) = (&mut up.0[at], &drivers[at]) else {
                        continue;
                    };
                    if errors[at].is_some() || searches[at].is_done() {
                        continue;
                    }
                    is_busy = true;
                    let of_round = |done: f64| ((f64::from(tries) + done) / usual).min(1.0);
                    let place = (number, left.len());
                    let next = Trier {
                        turn,
                        alone,
                        driver: &**driver,
                        task,
                        place,
                        tasks: tasks.len(),
                        of_round: &of_round,
                        level: self.level,
                        round: self.round,
                    };
                    let tried = next.step(lab, &mut searches[at], grids);
                    errors[at] = stopping(tried)?.err();
                    tries += 1;
                }
            }
            for (at, search) in searches.into_iter().enumerate() {
                match search.answer(task, self.level) {
                    _ if errors[at].is_some() => {}
                    Ok((done, unanswered)) => {
                        found[at].0.push(done);
                        found[at].1.push(unanswered);
                    }
                    Err(error) => errors[at] = Some(error),
                }
            }
        }
        drop(drivers);
        for ((turn, alone), error) in self.turns.iter().zip(&mut up.0).zip(&mut errors).rev() {
            let Some(alone) = alone else { continue };
            if let Err(lost) = stopping(turn.end(alone))? {
                error.get_or_insert(lost);
            }
        }
        drop(up);
        let around = (before, loops.settle(shared.patience(WAKE)));
        let made = found.into_iter().zip(errors).map(|((done, unanswered), error)| match error {
            Some(error) => Err(error),
            None => Ok((done, unanswered, around)),
        });
        Ok(made.collect())
    }
}

/// An error that ends the round for all arms, apart from one of an arm.
fn stopping<T>(made: Result<T, LabError>) -> Result<Result<T, LabError>, LabError> {
    match made {
        Err(error @ (LabError::Interrupted | LabError::Store(_))) => Err(error),
        made => Ok(made),
    }
}

/// A rate that was tried.
struct Tried {
    step: i32,
    keeps: bool,
    /// Of the CPU that its clients can have, if they have one apart from the server.
    client: Option<f64>,
    done: Done,
}

/// An arm's search in a test; it begins with a closed loop, if that is not known.
struct ArmSearch {
    search: Option<RateSearch>,
    tried: Vec<Tried>,
}

impl ArmSearch {
    fn new() -> ArmSearch {
        ArmSearch { search: None, tried: Vec::new() }
    }

    fn is_done(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.next().is_none())
    }

    /// What was measured at the answer, and why it is none.
    fn answer(self, task: &Task, level: ServiceLevel) -> Result<(Done, Option<String>), LabError> {
        let found = self.search.and_then(|search| search.found()).unwrap_or(LargestRate::None);
        let (LargestRate::Largest(step) | LargestRate::AtLeast(step)) = found else {
            let smallest = self.tried.iter().map(|tried| tried.step).min().unwrap_or_default();
            let (test, rate) = (task.name.clone(), RateGrid::rate(smallest));
            return Err(LabError::NeverKept { test, level, rate });
        };
        let rate = RateGrid::rate(step);
        // A rate just above the answer may be missed by the client alone.
        let near = self.tried.iter().filter(|tried| (step..=step + 1).contains(&tried.step));
        let client = near.filter_map(|tried| tried.client).fold(0.0, f64::max);
        let unanswered = match found {
            LargestRate::AtLeast(_) => Some(format!(
                "its largest rate that keeps {level} is ≥ {rate:.0} per second, the last one that is tried"
            )),
            _ if client > MOST_OF_CLIENT => Some(format!(
                "the client is the limit: at {rate:.0} operations per second it used {:.0} % of its CPU",
                100.0 * client
            )),
            _ => None,
        };
        let nearness = |tried: &Tried| ((tried.step - step).abs(), !tried.keeps);
        let tried = self.tried.into_iter().min_by_key(nearness);
        let tried = tried.ok_or_else(|| LabError::NoTest(task.name.clone()))?;
        Ok((tried.done, unanswered))
    }
}

/// An arm that tries the next rate.
struct Trier<'n, 'a> {
    turn: &'n Turn<'a>,
    alone: &'n mut Alone<'a>,
    driver: &'n dyn Driver,
    task: &'n Task,
    place: (usize, usize),
    tasks: usize,
    /// The progress of the round by that of the try.
    of_round: &'n dyn Fn(f64) -> f64,
    level: ServiceLevel,
    round: u32,
}

impl Trier<'_, '_> {
    fn step(
        mut self,
        lab: &mut Lab<'_>,
        searching: &mut ArmSearch,
        grids: &mut Grids,
    ) -> Result<(), LabError> {
        let key = (self.task.name.clone(), self.turn.arm().name.clone());
        let Some(search) = &mut searching.search else {
            let grid = match grids.get(&key) {
                Some(grid) => *grid,
                None => {
                    let grid = self.grid(lab)?;
                    grids.insert(key, grid);
                    grid
                }
            };
            let last = self.turn.last_rate(&self.task.name).map(RateGrid::step);
            searching.search = Some(RateSearch::new(grid, last));
            return Ok(());
        };
        let Some(step) = search.next() else { return Ok(()) };
        let rate = RateGrid::rate(step);
        let mut trying = Trying::new(self.level, rate, self.task.time);
        let number = searching.tried.len() as u64;
        if number == 0 {
            // The server has been started for this round.
            trying.ramp = trying.ramp.max(self.task.warm_up.unwrap_or_default());
        }
        let done = self.run(lab, Some((rate, &trying)), number)?;
        let keeps = trying.is_kept();
        tracing::info!("{}, {}: {rate:.0}/s is kept: {keeps}", key.1, key.0);
        search.told(keeps);
        let client = client_share(&done.measured);
        searching.tried.push(Tried { step, keeps, client, done });
        Ok(())
    }

    /// The rates to try, by a closed loop.
    fn grid(&mut self, lab: &mut Lab<'_>) -> Result<RateGrid, LabError> {
        let measured = self.run(lab, None, 0)?.measured;
        let operations: u64 = measured.work.iter().map(|work| work.operations).sum();
        let needed = BEYOND / (1.0 - self.level.percentile / 100.0);
        let grid = RateGrid::of(
            operations as f64 / measured.seconds,
            needed / self.task.time.as_secs_f64(),
        );
        if grid.least >= grid.most {
            let most = RateGrid::rate(grid.most);
            let (rate, seconds) = (most.round() as u64, (2.0 * needed / most).ceil() as u64);
            let (test, level) = (self.task.name.clone(), self.level);
            return Err(LabError::TooFewToJudge { test, level, rate, seconds });
        }
        Ok(grid)
    }

    /// Tries a rate, or measures a closed loop. The same tries of all arms have the same arrivals.
    fn run(
        &mut self,
        lab: &mut Lab<'_>,
        rate: Option<(f64, &Trying)>,
        number: u64,
    ) -> Result<Done, LabError> {
        let (turn, task) = (self.turn, self.task);
        let mut next = self.alone.next(task, self.driver, self.place, self.tasks);
        if let Some((per_second, trying)) = rate {
            let random = turn.shared.random(Draw::Arrivals, &[self.round.into(), number]);
            next.arrivals = Some(Arrivals::at(per_second, random));
            next.trying = Some(trying);
        }
        let mut measured = measurement(task);
        let attempt = number as u32 + 1;
        let mut beside = Beside::begin(turn.shared.arms, turn.place, &*next.server)?;
        let run = |lab: &mut Lab<'_>| next.run(lab, attempt, &mut measured);
        let (started, jump, ()) = turn.within(lab, task, (self.of_round, &mut beside), run)?;
        // A try that was made longer sent more than its last part.
        let others = beside.end(&mut measured, (&turn.arm().name, &*next.server), None)?;
        Ok(Done { task: task.clone(), started, measured, jump, others })
    }
}

/// The share of the CPU that clients used of what they can have: a CPU each, as far as there are
/// so many. None of a DBMS that runs in its clients.
fn client_share(measured: &Measurement) -> Option<f64> {
    let micros = measured.cost.sum(&[Metric::ClientCpuUser, Metric::ClientCpuSystem])?;
    let cpus = f64::from(measured.clients.max(1)).min(rqps_observe::cpus() as f64);
    (measured.seconds > 0.0).then(|| micros as f64 / 1e6 / (measured.seconds * cpus))
}

#[cfg(test)]
mod tests {
    use rqps_observe::Reading;

    use super::*;

    #[test]
    fn the_clients_share_is_of_a_cpu_each() {
        let mut cost = Reading::default();
        cost.set(Metric::ClientCpuUser, 6_000_000);
        cost.set(Metric::ClientCpuSystem, 2_000_000);
        let measured = Measurement { clients: 1, seconds: 10.0, cost, ..Measurement::default() };
        assert_eq!(client_share(&measured), Some(0.8));
        assert_eq!(client_share(&Measurement { seconds: 1.0, ..Measurement::default() }), None);
    }
}
