//! The forecast of a comparison: the work for each load and each round, and how many rounds fit
//! into the budget.

use std::time::Duration;

use rqps_dbms::Footprint;
use rqps_plan::{Comparison, Method, Plan};
use rqps_workload::Task;

use super::{Kind, Machine, Piece, PlanEstimate, RemoteNeeds, Time, data, restart, sizes, start};
use crate::arm::{Arm, arms};
use crate::compare;
use crate::compare::{PROFILE_ROUNDS, Parts, USUAL_TRIES};
use crate::error::LabError;
use crate::selftest::treatment::Treatment;

/// The arms of a comparison.
struct Field<'a> {
    plan: &'a Plan,
    comparison: &'a Comparison,
    arms: Vec<Arm>,
}

/// The work of a comparison by how often it is done.
#[derive(Default)]
struct Work {
    /// For each load of the data.
    load: Vec<Piece>,
    /// For each round; what arms do in turn is one piece.
    round: Vec<Piece>,
    profiles: Vec<Piece>,
    disk: u64,
}

impl Machine {
    pub(super) fn comparison(
        &self,
        plan: &Plan,
        comparison: &Comparison,
    ) -> Result<PlanEstimate, LabError> {
        let arms = arms(plan, &Treatment::default());
        let field = Field { plan, comparison, arms };
        let tasks = rqps_workload::tasks(&comparison.of)?;
        if comparison.only_instructions().is_some() {
            return Ok(self.counted(&field, &tasks));
        }
        let is_sliced = |task: &&Task| comparison.method_of(&task.name) == Method::Slices;
        let numbered = tasks.iter().filter(|task| task.is_numbered).filter(is_sliced);
        let longest_operation = numbered.map(|task| compare::longest_operation(task.time)).min();
        let work = match comparison.of.is_chain() {
            true => self.compared_runs(&field, &tasks),
            false => self.compared_tests(&field, tasks)?,
        };
        let pieces = |rounds: u32| {
            let all = [(&work.load, comparison.loads.unwrap_or(0)), (&work.round, rounds)];
            let times = |(pieces, times): (&Vec<Piece>, u32)| {
                pieces.iter().map(|piece| Piece { times, ..piece.clone() }).collect::<Vec<_>>()
            };
            all.into_iter().flat_map(times).collect::<Vec<_>>()
        };
        let total = |rounds: u32| pieces(rounds).iter().collect::<Time>();
        // Fresh rounds have the tests that the screen flags, at most all. A budget limits the
        // rounds, but not below the minimum for a verdict; it does not include profiles.
        let mut rounds = comparison.rounds + comparison.confirm.unwrap_or(0);
        while rounds > comparison.fewest_rounds
            && comparison.budget.is_some_and(|budget| total(rounds).total() > budget.0)
        {
            rounds -= 1;
        }
        Ok(PlanEstimate {
            steps: comparison.tests(),
            time: total(rounds) + work.profiles.iter().collect(),
            disk: work.disk,
            remote: field.remote(),
            longest_operation,
            // The number of fresh rounds is known after the screen.
            pieces: pieces(rounds.min(comparison.rounds)),
        })
    }

    /// Instructions alone: a load of each contender, and servers under Callgrind for each test.
    fn counted(&self, field: &Field<'_>, tasks: &[Task]) -> PlanEstimate {
        let Field { plan, comparison, arms } = field;
        let at_once = self.cpus.clamp(1, arms.len() as u32);
        let (mut pieces, mut disk) = (Vec::new(), 0);
        let mut each = Duration::ZERO;
        for one in arms {
            let contender = &plan.contenders[one.index];
            let fillers = tasks.iter().filter(|task| task.fills);
            let filling = fillers.flat_map(|task| &task.takes).map(|takes| self.takes(takes));
            let load = [(Kind::Start, start(contender).time)].into_iter().chain(filling);
            let piece = |(kind, time)| Piece::once(&one.name, "", kind, time / at_once);
            pieces.extend(load.map(piece));
            let copied = restart(contender, self.copied(contender, &comparison.of));
            each += compare::counting_time(copied) / at_once;
            // The load, and a copy of it for each server.
            disk += self.disk(contender, &comparison.of) * u64::from(1 + at_once);
        }
        let steps = comparison.tests();
        pieces.extend(steps.iter().map(|test| Piece::once("", test, Kind::Timed, each)));
        let time = pieces.iter().collect();
        let remote = field.remote();
        PlanEstimate { steps, time, disk, remote, longest_operation: None, pieces }
    }

    /// One arm at a time runs all steps, on a copy of a nearly empty directory.
    fn compared_runs(&self, field: &Field<'_>, tasks: &[Task]) -> Work {
        let workload = &field.comparison.of;
        let mut work = Work::default();
        let mut starting = Duration::ZERO;
        let (mut made, mut largest) = (0, 0);
        for one in field.measured() {
            let contender = &field.plan.contenders[one.index];
            let started = [(Kind::Start, start(contender).time), (Kind::Load, Duration::ZERO)];
            work.load.extend(started.map(|(kind, time)| Piece::once(&one.name, "", kind, time)));
            work.round.extend(self.tasks(contender, &one.name, tasks, workload.most_rows()));
            let Footprint { empty, allocated, .. } = sizes(contender);
            starting += restart(contender, empty);
            made += empty + allocated;
            largest = self.disk(contender, workload).max(largest);
        }
        work.round.push(Piece::once("", "", Kind::Start, starting));
        work.disk = made * field.comparison.kept_loads() + largest;
        work
    }

    /// Tests by slices, all servers up, and those by whole runs, one at a time.
    fn compared_tests(&self, field: &Field<'_>, tasks: Vec<Task>) -> Result<Work, LabError> {
        let Field { plan, comparison, arms } = field;
        let workload = &comparison.of;
        let data = |one: &Arm| self.disk(&plan.contenders[one.index], workload);
        // The arms that are up together, with the baseline in each group. If all are, they are
        // loaded and started side by side, and a load for one round is not copied.
        let groups = Parts::within(plan, comparison, self.memory, self.memory)?.groups;
        let are_together = groups.len() == 1 && !comparison.uses(Method::Runs);
        let at_once = if are_together { self.cpus.clamp(1, arms.len() as u32) } else { 1 };
        let restart = |one: &Arm| {
            let contender = &plan.contenders[one.index];
            let bytes = match are_together && comparison.loads.is_none() {
                true => 0,
                false => self.copied(contender, workload),
            };
            restart(contender, bytes) / at_once
        };
        let profiled = compare::profiled_per_contender(comparison, &tasks);
        let (fillers, tests): (Vec<Task>, Vec<Task>) =
            tasks.into_iter().partition(|task| task.fills);
        let filling: Vec<(Kind, Duration)> =
            fillers.iter().flat_map(|task| &task.takes).map(|takes| self.takes(takes)).collect();
        let sliced = |test: &Task| comparison.method_of(&test.name) == Method::Slices;
        let (sliced, whole): (Vec<Task>, Vec<Task>) = tests.into_iter().partition(sliced);
        // Servers are quiesced as if these tests ran alone.
        let names: Vec<String> = whole.iter().map(|task| task.name.clone()).collect();
        let mut whole = rqps_workload::tasks(&workload.only(&names))?;
        whole.retain(|task| !task.fills);
        let tries = if comparison.slo.is_some() { USUAL_TRIES } else { 1 };
        let mut work = Work::default();
        let mut starting = Duration::ZERO;
        for one in field.measured() {
            let contender = &plan.contenders[one.index];
            let started = (Kind::Start, start(contender).time);
            let load = [&[started], &filling[..]].concat().into_iter();
            let load = load.map(|(kind, time)| (kind, time / at_once));
            let piece = |name| move |(kind, time)| Piece::once(name, "", kind, time);
            match comparison.loads {
                Some(_) => work.load.extend(load.map(piece(&one.name))),
                // Part of the start of a round.
                None => work.round.extend(load.map(piece(""))),
            }
            if !whole.is_empty() {
                // Without the load, of which a copy exists.
                let most_rows = workload.most_rows();
                let pieces = self.tasks(contender, &one.name, &whole, most_rows).into_iter();
                work.round.extend(pieces.map(|piece| match piece.kind {
                    Kind::Timed => Piece { time: piece.time * tries, ..piece },
                    _ => piece,
                }));
                starting += restart(one);
            }
            // A round may have another copy.
            work.disk += data(one) * (comparison.kept_loads() + 1);
        }
        let up: Vec<&Arm> = groups.iter().flatten().map(|place| &arms[*place]).collect();
        for test in &sliced {
            let each = test.time.mul_f64(1.0 + compare::WARM_UP);
            let time = each * up.len() as u32;
            work.round.push(Piece::once("", &test.name, Kind::Timed, time));
        }
        for one in up {
            if !sliced.is_empty() {
                starting += restart(one);
            }
            if !one.is_control && !profiled.is_zero() {
                let starts = restart(one) * PROFILE_ROUNDS;
                work.profiles.push(Piece::once(&one.name, "", Kind::Start, starts));
                work.profiles.push(Piece::once(&one.name, "", Kind::Timed, profiled));
            }
        }
        work.round.push(Piece::once("", "", Kind::Start, starting));
        Ok(work)
    }
}

impl Field<'_> {
    fn remote(&self) -> RemoteNeeds {
        let Field { plan, comparison, arms } = self;
        let remote = arms.iter().enumerate().filter(|(_, arm)| arm.is_remote);
        // Arms whose sessions alone differ work on the tables of another.
        let is_own = |(place, arm): &(usize, &Arm)| arm.tables == *place && !comparison.read_only;
        let own = remote.clone().filter(is_own);
        let bytes = |(_, arm): (usize, &Arm)| data(&plan.contenders[arm.index], &comparison.of);
        let names: Vec<String> = remote.map(|(_, arm)| arm.name.clone()).collect();
        RemoteNeeds {
            clients: comparison.of.connections() * names.len() as u64,
            arms: names,
            bytes: own.map(bytes).sum(),
        }
    }

    /// The measured arms: without an earlier baseline, which is only started once.
    fn measured(&self) -> impl Iterator<Item = &Arm> {
        let is_stored = self.comparison.baseline_from.is_some();
        self.arms.iter().filter(move |one| !is_stored || one.index > 0)
    }
}
