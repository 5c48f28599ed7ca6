//! What was observed of one test in all rounds, as the estimators take it.

use rqps_observe::{Metric, Reading, foreign_cpu};
use rqps_plan::{Class, Comparison, Counts, Group};
use rqps_stats::sla;
use rqps_stats::slices::{self, Restart, Slice};
use rqps_stats::verdict::Stage;
use rqps_store::{Measurement, Operation, RoundRecord, SliceRecord};

use super::times::Times;
use crate::model::counted_operation;

/// All passes of one test.
pub(crate) struct Observed<'a> {
    pub(crate) name: &'a str,
    pub(crate) group: &'a str,
    pub(crate) class: Class,
    pub(crate) passes: Vec<&'a RoundRecord>,
    /// Nothing before they are asked for: it takes longer than all else to read them.
    pub(crate) times: Times<'a>,
}

/// What is held against the base's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// What the test counts, per second: [`Observed::counts`].
    Rate,
    /// Microseconds of CPU of the server for one of it; of a DBMS inside the client, of both.
    Cpu,
    /// Microseconds of CPU of the client for one of it.
    Client,
    /// Microseconds that the server's threads waited for a CPU, for one of it.
    RunQueue,
}

/// The tests by group, in the order of the plan.
pub(crate) fn tests(passes: &[RoundRecord]) -> Vec<Observed<'_>> {
    let mut tests: Vec<Observed<'_>> = Vec::new();
    for pass in passes {
        match tests.iter_mut().find(|test| test.name == pass.test) {
            Some(test) => test.passes.push(pass),
            None => tests.push(Observed {
                name: &pass.test,
                group: pass.group.as_deref().unwrap_or_default(),
                class: pass.class,
                passes: vec![pass],
                times: Times::default(),
            }),
        }
    }
    tests
        .sort_by_key(|test| (Group::place(test.group), test.passes.first().map(|pass| pass.place)));
    tests
}

/// Whether a contender was up in a pass.
pub(crate) fn takes_part(pass: &RoundRecord, contender: &str) -> bool {
    slices_of(pass, contender).next().is_some()
}

/// Why a guard refused a pass. One in which a server died does not count either, and was not
/// refused.
pub(crate) fn refusal(pass: &RoundRecord) -> Option<&str> {
    let why = pass.discarded.as_deref()?;
    let died = pass.arms.iter().any(|(name, side)| {
        let end = side.failure();
        end.is_some_and(|end| why.strip_prefix(name.as_str()) == Some(&format!(": {end}")))
    });
    (!died).then_some(why)
}

fn slices_of<'p>(pass: &'p RoundRecord, contender: &str) -> impl Iterator<Item = &'p SliceRecord> {
    pass.slices.iter().filter(move |slice| slice.arm == contender)
}

/// Rows of a whole run.
fn inserted(side: &Measurement) -> u64 {
    let inserts = side.work.iter().filter(|work| work.operation == Operation::Insert);
    inserts.map(|work| work.rows).sum()
}

impl<'a> Observed<'a> {
    /// Of each round the pass that no guard refused.
    pub(crate) fn counted(&self) -> impl Iterator<Item = &'a RoundRecord> + '_ {
        self.passes.iter().copied().filter(|pass| pass.discarded.is_none())
    }

    /// Those of a stage. Fresh rounds are numbered on after the plan's.
    pub(crate) fn of_stage(
        &self,
        stage: Stage,
        plan: &Comparison,
    ) -> impl Iterator<Item = &'a RoundRecord> + '_ {
        let most = plan.rounds;
        self.counted().filter(move |pass| match stage {
            Stage::Single => true,
            Stage::Screen => pass.round <= most,
            Stage::Fresh => pass.round > most,
        })
    }

    /// Those in which a contender took part, whether they count or not.
    pub(crate) fn all_with(&self, contender: &str) -> impl Iterator<Item = &'a RoundRecord> {
        self.passes.iter().copied().filter(move |pass| takes_part(pass, contender))
    }

    /// Those in which a contender took part: not everybody is up in every pass.
    pub(crate) fn counted_with(&self, contender: &str) -> impl Iterator<Item = &'a RoundRecord> {
        self.counted().filter(move |pass| takes_part(pass, contender))
    }

    /// What a contender did per second, the mean of the rounds that count.
    pub(crate) fn rate(&self, contender: &str) -> Option<f64> {
        self.rate_beside(contender, contender)
    }

    /// The same of the rounds in which another took part.
    pub(crate) fn rate_beside(&self, contender: &str, other: &str) -> Option<f64> {
        let passes = self.counted_with(other);
        let rates = passes.filter_map(|pass| level(pass, contender, Quantity::Rate));
        let rates: Vec<f64> = rates.collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// Rows that an operation of the kind that the test counts returned or changed, over the rounds
    /// that count. Slices are of one kind; a whole run can have queries beside inserts.
    pub(crate) fn rows_by_operation(&self, contender: &str, plan: &Comparison) -> Option<f64> {
        let kind = counted_operation(self.counts(plan));
        let (mut rows, mut operations) = (0, 0);
        for pass in self.counted() {
            let work = pass.arms.get(contender).map_or(&[][..], |side| &side.work);
            for one in work.iter().filter(|one| one.operation == kind) {
                rows += one.rows;
                operations += one.operations;
            }
            for slice in slices_of(pass, contender).filter(|_| work.is_empty()) {
                rows += slice.rows;
                operations += slice.operations;
            }
        }
        (operations > 0).then(|| rows as f64 / operations as f64)
    }

    /// Rows per second that a contender inserted and that it promises, where it kept that in none
    /// of its runs: none of them counts then, and that is what was found of it.
    pub(super) fn missed_rate(&self, contender: &str) -> Option<(f64, f64)> {
        let (mut rows, mut nanos, mut promised) = (0, 0, None);
        for pass in self.all_with(contender) {
            let side = pass.arms.get(contender)?;
            let target = side.target_rate?;
            let of_pass = inserted(side);
            let lasted = slices_of(pass, contender).map(|slice| slice.nanos).sum::<u64>();
            if sla::is_met(of_pass as f64 / (lasted as f64 / 1e9), target) {
                return None;
            }
            rows += of_pass;
            nanos += lasted;
            promised = Some(target);
        }
        Some((rows as f64 / (nanos as f64 / 1e9), promised?))
    }

    /// Why the last pass with one of these does not count, if it does not.
    pub(crate) fn refusal_of(&self, names: &[&str]) -> Option<&'a str> {
        let has_one = |pass: &&RoundRecord| names.iter().any(|name| takes_part(pass, name));
        let passes = self.passes.iter().copied().rev();
        passes.filter(has_one).find_map(|pass| pass.discarded.as_deref())
    }

    /// Why a contender did not go on in this test, if it did not.
    pub(crate) fn failure(&self, contender: &str) -> Option<&'a str> {
        let mut sides = self.passes.iter().filter_map(|pass| pass.arms.get(contender));
        sides.find_map(|side| side.failure())
    }

    /// What its rate counts, and its costs are divided by. Slices count what was sent; whole runs
    /// what the step counts that they are of, which they keep as statements.
    pub(crate) fn counts(&self, plan: &Comparison) -> Counts {
        plan.of.counts(self.name, self.class, plan.method_of(self.name))
    }

    /// The same with the service times of its whole runs.
    pub(crate) fn with_times(self, plan: &Comparison) -> Self {
        Observed { times: Times::of(self.counted(), self.counts(plan)), ..self }
    }

    /// Changes the tables.
    pub(crate) fn writes(&self) -> bool {
        self.class.writes()
    }
}

/// The clients of a contender at a time, each of which waits for what it sent.
pub(crate) fn clients_of(plan: &Comparison, pass: &RoundRecord) -> u32 {
    plan.of.clients_of(pass.class, plan.method_of(&pass.test))
}

/// A contender's level against the base's in a pass: the median over the cycles of the log ratios.
pub(crate) fn restart(
    pass: &RoundRecord,
    contender: &str,
    base: &[&str],
    quantity: Quantity,
) -> Option<Restart> {
    // The slices of others say nothing of it, and are most where there are many.
    let mut names = base.to_vec();
    if !names.contains(&contender) {
        names.push(contender);
    }
    let index = |name: &str| names.iter().position(|known| *known == name);
    let base: Option<Vec<usize>> = base.iter().map(|name| index(name)).collect();
    let restart = slices::restart(&parts(pass, &names, quantity), index(contender)?, &base?)?;
    restart.log_ratio.is_finite().then_some(restart)
}

/// What other programs used of the CPUs while a pass was measured, in percent; of whole runs, while
/// the one was measured beside which it was most.
pub(crate) fn foreign_percent(pass: &RoundRecord, cpus: u32) -> Option<f64> {
    let share = |cost: &Reading, seconds: f64| {
        Some(100.0 * foreign_cpu(cost)? as f64 / (seconds * 1e6 * f64::from(cpus)))
    };
    let of_run =
        |slice: &SliceRecord| share(&pass.arms.get(&slice.arm)?.cost, slice.nanos as f64 / 1e9);
    let of_runs = || pass.slices.iter().filter_map(of_run).reduce(f64::max);
    share(&pass.machine, pass.seconds).or_else(of_runs)
}

/// The level of a contender in each cycle of a pass; nothing of whole runs, which are a single one.
pub(crate) fn by_cycle(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Vec<f64> {
    let cycle = contenders(pass);
    let own = || pass.slices.iter().filter(|slice| slice.arm == contender);
    let Some(last) = own().map(|slice| slice.place / cycle).max().filter(|last| *last > 0) else {
        return Vec::new();
    };
    let quantity = as_read(pass, contender, quantity);
    let mut sums = vec![(0.0, 0.0); last as usize + 1];
    for slice in own() {
        let (amount, per) = measured(slice, quantity);
        let sum = &mut sums[(slice.place / cycle) as usize];
        *sum = (sum.0 + amount, sum.1 + per);
    }
    let clients = clients(pass, quantity);
    sums.into_iter()
        .map(|(amount, per)| if per > 0.0 { amount / per * clients } else { 0.0 })
        .collect()
}

/// The clients of a contender work at the same time, so that their rates add up.
fn clients(pass: &RoundRecord, quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Rate => pass.slices.iter().map(|slice| slice.client).max().unwrap_or(1).into(),
        _ => 1.0,
    }
}

/// The level of a contender in a pass, over all its slices.
pub(crate) fn level(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == contender);
    let quantity = as_read(pass, contender, quantity);
    let (amount, per) = own
        .map(|slice| measured(slice, quantity))
        .fold((0.0, 0.0), |(amount, per), (more, longer)| (amount + more, per + longer));
    (amount > 0.0 && per > 0.0).then(|| amount / per * clients(pass, quantity))
}

/// Of the clients' time in a contender's slices, the share that they waited for the slowest of
/// them: a slice of a client ends with its first operation after the time is up, and the next one
/// begins for all. None for one client.
pub(crate) fn idle(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let own = || pass.slices.iter().filter(|slice| slice.arm == contender);
    let clients = own().map(|slice| slice.client).max().filter(|clients| *clients > 1)?;
    let mut slowest = std::collections::BTreeMap::<u32, u64>::new();
    for slice in own() {
        let longest = slowest.entry(slice.place).or_default();
        *longest = slice.nanos.max(*longest);
    }
    let all = slowest.values().sum::<u64>() as f64 * f64::from(clients);
    (all > 0.0).then(|| 1.0 - own().map(|slice| slice.nanos).sum::<u64>() as f64 / all)
}

/// The CPU that a contender's server used while it was not driven, as a share of one CPU over the
/// pass: what it does in the background, in slices of the others. What it used in unmeasured heads
/// is estimated from their operations.
pub(crate) fn background(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let cpu = [Metric::ServerCpuUser, Metric::ServerCpuSystem];
    let whole = pass.arms.get(contender)?.cost.sum(&cpu)? as f64;
    let (mut own, mut operations, mut heads) = (0, 0, 0);
    for slice in pass.slices.iter().filter(|slice| slice.arm == contender) {
        own += slice.server_cpu;
        operations += slice.operations;
        heads += slice.warm_up_operations;
    }
    let driven = own as f64 / 1e3 * (operations + heads) as f64 / operations.max(1) as f64;
    Some((whole - driven).max(0.0) / (pass.seconds * 1e6))
}

/// What reading the counters at the edges of a slice cost the client: microseconds of CPU, and its
/// share of the time of the slices.
pub(crate) fn reading(passes: &[RoundRecord]) -> Option<(f64, f64)> {
    let slices = || passes.iter().flat_map(|pass| &pass.slices).filter(|slice| slice.client == 1);
    let (cpu, nanos) =
        slices().fold((0, 0), |(cpu, nanos), slice| (cpu + slice.reading_cpu, nanos + slice.nanos));
    (cpu > 0).then(|| (cpu as f64 / 1e3 / slices().count() as f64, cpu as f64 / nanos as f64))
}

/// The names of those who take part, in alphabetical order.
/// How many take part in a pass: a cycle has a slice of each.
fn contenders(pass: &RoundRecord) -> u32 {
    let mut names: Vec<&str> = Vec::new();
    for slice in &pass.slices {
        if !names.contains(&slice.arm.as_str()) {
            names.push(&slice.arm);
        }
    }
    names.len() as u32
}

/// The slices of these contenders.
fn parts(pass: &RoundRecord, names: &[&str], quantity: Quantity) -> Vec<Slice> {
    let cycle = contenders(pass);
    let quantities: Vec<Quantity> =
        names.iter().map(|name| as_read(pass, name, quantity)).collect();
    let part = |slice: &SliceRecord| {
        let contender = names.iter().position(|name| *name == slice.arm)?;
        let (amount, per) = measured(slice, quantities[contender]);
        Some(Slice { cycle: slice.place / cycle, contender, amount, per })
    };
    pass.slices.iter().filter_map(part).collect()
}

/// Inside the client there is no server to be read. Of a server the first client reads what all
/// clients cost it, so that the slices of the others have none of it.
fn as_read(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Quantity {
    let mut own = pass.slices.iter().filter(|slice| slice.arm == contender);
    match quantity {
        Quantity::Cpu if own.all(|slice| slice.server_cpu == 0) => Quantity::Client,
        _ => quantity,
    }
}

/// An amount, and what it is divided by.
fn measured(slice: &SliceRecord, quantity: Quantity) -> (f64, f64) {
    let statements = (slice.reads + slice.writes + slice.others) as f64;
    let micros = |nanos: u64| nanos as f64 / 1e3;
    match quantity {
        Quantity::Rate => (statements, slice.nanos as f64 / 1e9),
        Quantity::Cpu => (micros(slice.server_cpu), statements),
        Quantity::Client => (micros(slice.client_cpu), statements),
        Quantity::RunQueue => (micros(slice.server_run_queue_wait), statements),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three cycles of a base and a contender that does half as much.
    fn pass() -> RoundRecord {
        let slice = |place: u32, contender: &str, reads: u64| SliceRecord {
            place,
            client: 1,
            arm: contender.to_string(),
            nanos: 10_000_000,
            reads,
            server_cpu: 5_000_000,
            ..SliceRecord::default()
        };
        let slices = vec![
            slice(0, "base", 1000),
            slice(1, "new", 500),
            slice(2, "new", 450),
            slice(3, "base", 900),
            slice(4, "base", 1100),
            slice(5, "new", 550),
        ];
        RoundRecord { slices, ..RoundRecord::new(Class::Point, Counts::Statements) }
    }

    /// Four clients that take 1 ms of CPU for 250 statements each.
    fn of_four_clients(server_cpu: u64) -> RoundRecord {
        let slice = |client: u32| SliceRecord {
            client,
            arm: "new".to_string(),
            nanos: 10_000_000,
            reads: 250,
            client_cpu: 1_000_000,
            server_cpu: if client == 1 { server_cpu } else { 0 },
            ..SliceRecord::default()
        };
        RoundRecord {
            slices: (1..=4).map(slice).collect(),
            ..RoundRecord::new(Class::Point, Counts::Statements)
        }
    }

    #[test]
    fn the_first_client_reads_what_all_of_them_cost_the_server() {
        let pass = of_four_clients(8_000_000);
        assert_eq!(level(&pass, "new", Quantity::Cpu), Some(8.0));
        assert_eq!(level(&pass, "new", Quantity::Client), Some(4.0));
        assert_eq!(level(&of_four_clients(0), "new", Quantity::Cpu), Some(4.0), "in the client");
    }

    #[test]
    fn what_others_used_is_a_share_of_all_cpus() {
        let reading = |busy: u64| {
            Reading::from_iter([(Metric::HostCpuBusy, busy), (Metric::ServerCpuUser, 5_000)])
        };
        let mut pass = RoundRecord { seconds: 0.1, ..pass() };
        assert_eq!(foreign_percent(&pass, 2), None);
        // A run took 10 ms: of its 20 ms of CPU 3 were not the server's.
        pass.arms.entry("base".to_string()).or_default().cost = reading(6_000);
        pass.arms.entry("new".to_string()).or_default().cost = reading(8_000);
        assert_eq!(foreign_percent(&pass, 2), Some(15.0));
        pass.machine = reading(25_000);
        assert_eq!(foreign_percent(&pass, 2), Some(10.0));
    }

    #[test]
    fn ratios_are_within_cycles_and_levels_over_all_of_them() {
        let pass = pass();
        let rate = restart(&pass, "new", &["base"], Quantity::Rate).unwrap();
        assert!((rate.log_ratio.exp() - 0.5).abs() < 1e-9);
        let cpu = restart(&pass, "new", &["base"], Quantity::Cpu).unwrap();
        assert!((cpu.log_ratio.exp() - 2.0).abs() < 1e-9);
        assert_eq!(level(&pass, "base", Quantity::Rate), Some(100_000.0));
        assert_eq!(level(&pass, "new", Quantity::Cpu), Some(10.0));
        assert_eq!(restart(&pass, "absent", &["base"], Quantity::Rate), None);
    }

    #[test]
    fn clients_that_wait_for_a_slower_one_are_idle() {
        let mut pass = pass();
        assert_eq!(idle(&pass, "base"), None, "there is nobody to wait for");
        let second =
            |slice: &SliceRecord| SliceRecord { client: 2, nanos: 8_000_000, ..slice.clone() };
        let seconds: Vec<SliceRecord> = pass.slices.iter().map(second).collect();
        pass.slices.extend(seconds);
        assert!((idle(&pass, "base").unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn what_a_server_does_in_the_slices_of_others_is_in_the_background() {
        let mut pass = pass();
        pass.seconds = 0.06;
        let mut cost = rqps_observe::Reading::default();
        // 15 ms in its three slices, and 6 ms more in the 60 ms of the pass.
        cost.set(Metric::ServerCpuUser, 20_000);
        cost.set(Metric::ServerCpuSystem, 1_000);
        pass.slices.iter_mut().for_each(|slice| slice.operations = slice.reads);
        pass.arms.entry("base".to_string()).or_default().cost = cost;
        assert!((background(&pass, "base").unwrap() - 0.1).abs() < 1e-9);
        assert_eq!(background(&pass, "new"), None);
    }
}
