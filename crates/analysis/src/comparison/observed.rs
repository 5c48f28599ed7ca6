//! The observations of one test in all rounds, as the estimators take them.

use rqps_observe::{Metric, Reading, other_cpu};
use rqps_plan::{Class, Comparison, Counts, Group};
use rqps_stats::sla;
use rqps_stats::slices::{self, Restart, Slice};
use rqps_stats::verdict::Stage;
use rqps_store::{Measurement, Operation, RoundRecord, SliceRecord, Status};

use super::counted::counted_operation;
use super::recorded::Times;

/// The share of its time in which a client may hold operations back before rates are no longer
/// compared: less than any change that matters.
const MOST_HELD: f64 = 0.001;

/// All rounds of one test.
pub struct Observed<'a> {
    pub name: &'a str,
    pub group: &'a str,
    pub class: Class,
    pub passes: Vec<&'a RoundRecord>,
    /// Empty until they are needed: reading them takes longer than all else.
    pub times: Times<'a>,
}

/// The quantities that are compared with the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// The rate, of what the test counts: [`Observed::counts`].
    Rate,
    /// Microseconds of the server's CPU per operation; for a DBMS inside the client, of both.
    Cpu,
    /// Microseconds of the client's CPU per operation.
    Client,
    /// Microseconds per operation that the server's threads waited for a CPU.
    RunQueue,
}

/// The tests by group, in the order of the plan.
pub fn tests(passes: &[RoundRecord]) -> Vec<Observed<'_>> {
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

/// Whether an arm was measured in a round.
pub(super) fn takes_part(pass: &RoundRecord, contender: &str) -> bool {
    slices_of(pass, contender).next().is_some()
}

/// Why a guard discarded a measurement. One in which a server died does not count either, but no
/// guard discarded it.
pub fn refusal(pass: &RoundRecord) -> Option<&str> {
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
    /// Of each round the measurement that counts.
    pub fn counted(&self) -> impl Iterator<Item = &'a RoundRecord> + '_ {
        self.passes.iter().copied().filter(|pass| pass.discarded.is_none())
    }

    /// Those of a stage. Fresh rounds continue the numbers of the plan's rounds.
    pub fn of_stage(
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

    /// Those with an arm, whether they count or not.
    pub fn all_with(&self, contender: &str) -> impl Iterator<Item = &'a RoundRecord> {
        self.passes.iter().copied().filter(move |pass| takes_part(pass, contender))
    }

    /// Those that count, with an arm: not every server is up in every measurement.
    pub fn counted_with(&self, contender: &str) -> impl Iterator<Item = &'a RoundRecord> {
        self.counted().filter(move |pass| takes_part(pass, contender))
    }

    /// Those that count and lack an arm.
    pub fn counted_without(&self, contender: &str) -> impl Iterator<Item = &'a RoundRecord> {
        self.counted().filter(move |pass| !takes_part(pass, contender))
    }

    /// The rate of an arm, the mean of the rounds that count.
    pub fn rate(&self, contender: &str) -> Option<f64> {
        self.rate_beside(contender, contender)
    }

    /// The same over the rounds with another arm.
    pub fn rate_beside(&self, contender: &str, other: &str) -> Option<f64> {
        let passes = self.counted_with(other);
        let rates = passes.filter_map(|pass| level(pass, contender, Quantity::Rate));
        let rates: Vec<f64> = rates.collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    }

    /// Rows that an operation of the counted kind returned or changed, over the rounds that count.
    /// Slices have one kind of operation; a whole run can have queries beside inserts.
    pub fn rows_by_operation(&self, contender: &str, plan: &Comparison) -> Option<f64> {
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

    /// Rows per second that a contender inserted, and the required rate, if it kept that in none of
    /// its runs: then none of them counts, and this is the result.
    pub fn missed_rate(&self, contender: &str) -> Option<(f64, f64)> {
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

    /// Why the last measurement with one of these arms does not count, if it does not.
    pub fn refusal_of(&self, names: &[&str]) -> Option<&'a str> {
        let has_one = |pass: &&RoundRecord| names.iter().any(|name| takes_part(pass, name));
        let passes = self.passes.iter().copied().rev();
        passes.filter(has_one).find_map(|pass| pass.discarded.as_deref())
    }

    /// Why a contender failed in this test, if it did.
    pub fn failure(&self, contender: &str) -> Option<&'a str> {
        let mut sides = self.passes.iter().filter_map(|pass| pass.arms.get(contender));
        sides.find_map(|side| side.failure())
    }

    /// How many times longer than the baseline's an execution of a contender took when it was
    /// ended; none if that is no difference that can only be the contender's.
    pub fn overdue(&self, contender: &str, base: &str) -> Option<f64> {
        const CLEARLY: f64 = 2.0;
        let times = self.passes.iter().filter_map(|pass| {
            let ended = pass.arms.get(contender).filter(|arm| arm.status == Status::Overdue)?;
            Some(ended.seconds / pass.arms.get(base)?.seconds)
        });
        times.into_iter().find(|times| times.is_finite() && *times >= CLEARLY)
    }

    /// The unit of its rate, by which its costs are divided. Slices count the statements that were
    /// sent; whole runs count what their step counts, and store it as statements.
    pub fn counts(&self, plan: &Comparison) -> Counts {
        plan.of.counts(self.name, self.class, plan.method_of(self.name))
    }

    /// The same with the service times of its whole runs.
    pub fn with_times(self, plan: &Comparison) -> Self {
        Observed { times: Times::of(self.counted(), self.counts(plan)), ..self }
    }

    /// Whether the client held operations back, so that the rates are those that were allowed.
    pub fn is_capped(&self) -> bool {
        let is_held = |(pass, name): (&RoundRecord, &String)| {
            let held = pass.arms[name].cost.get(Metric::HeldBack).unwrap_or(0);
            let nanos: u64 = slices_of(pass, name).map(|slice| slice.nanos).sum();
            held as f64 > MOST_HELD * nanos as f64
        };
        self.counted().any(|pass| pass.arms.keys().any(|name| is_held((pass, name))))
    }

    /// Changes the tables.
    pub fn writes(&self) -> bool {
        self.class.writes()
    }
}

/// The number of clients that an arm has at a time. Each waits for its statement.
pub fn clients_of(plan: &Comparison, pass: &RoundRecord) -> u32 {
    plan.of.clients_of(pass.class, plan.method_of(&pass.test))
}

/// An arm's level against the baseline's in a round: the median over the cycles of the log ratios.
pub fn restart(
    pass: &RoundRecord,
    contender: &str,
    base: &[&str],
    quantity: Quantity,
) -> Option<Restart> {
    // The slices of other arms do not matter, and with many arms they are most of all.
    let mut names = base.to_vec();
    if !names.contains(&contender) {
        names.push(contender);
    }
    let index = |name: &str| names.iter().position(|known| *known == name);
    let base: Option<Vec<usize>> = base.iter().map(|name| index(name)).collect();
    let restart = slices::restart(&parts(pass, &names, quantity), index(contender)?, &base?)?;
    restart.log_ratio.is_finite().then_some(restart)
}

/// CPU of other processes during a measurement, in percent of all CPUs; for whole runs, the largest
/// of all runs.
pub fn other_percent(pass: &RoundRecord, cpus: u32) -> Option<f64> {
    let share = |cost: &Reading, seconds: f64| {
        Some(100.0 * other_cpu(cost)? as f64 / (seconds * 1e6 * f64::from(cpus)))
    };
    let of_run =
        |slice: &SliceRecord| share(&pass.arms.get(&slice.arm)?.cost, slice.nanos as f64 / 1e9);
    let of_runs = || pass.slices.iter().filter_map(of_run).reduce(f64::max);
    share(&pass.machine, pass.seconds).or_else(of_runs)
}

/// The level of an arm in each cycle of a round; empty for whole runs, which are a single one.
pub fn by_cycle(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Vec<f64> {
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

/// The clients of an arm work at the same time, so their rates add up.
fn clients(pass: &RoundRecord, quantity: Quantity) -> f64 {
    match quantity {
        Quantity::Rate => pass.slices.iter().map(|slice| slice.client).max().unwrap_or(1).into(),
        _ => 1.0,
    }
}

/// The level of an arm in a round, over all its slices.
pub fn level(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == contender);
    let quantity = as_read(pass, contender, quantity);
    let (amount, per) = own
        .map(|slice| measured(slice, quantity))
        .fold((0.0, 0.0), |(amount, per), (more, longer)| (amount + more, per + longer));
    (amount > 0.0 && per > 0.0).then(|| amount / per * clients(pass, quantity))
}

/// The share of the clients' time in an arm's slices that they waited for the slowest of them: a
/// client's slice ends with its first operation after the time is up, and the next slice starts for
/// all. None for one client.
pub fn idle(pass: &RoundRecord, contender: &str) -> Option<f64> {
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

/// The CPU that an arm's server used while it was not driven, as a share of one CPU over the round:
/// its background work in slices of the others. Its CPU in warm-ups is estimated from their
/// operations.
pub fn background(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let cpu = [Metric::ServerCpuUser, Metric::ServerCpuSystem];
    let whole = pass.arms.get(contender)?.cost.sum(&cpu)? as f64;
    let (mut own, mut operations, mut warm_ups) = (0, 0, 0);
    for slice in pass.slices.iter().filter(|slice| slice.arm == contender) {
        own += slice.server_cpu;
        operations += slice.operations;
        warm_ups += slice.warm_up_operations;
    }
    let driven = own as f64 / 1e3 * (operations + warm_ups) as f64 / operations.max(1) as f64;
    Some((whole - driven).max(0.0) / (pass.seconds * 1e6))
}

/// The client's cost of reading the counters at the edges of a slice: microseconds of CPU, and
/// their share of the time of the slices.
pub(super) fn reading(passes: &[RoundRecord]) -> Option<(f64, f64)> {
    let slices = || passes.iter().flat_map(|pass| &pass.slices).filter(|slice| slice.client == 1);
    let (cpu, nanos) =
        slices().fold((0, 0), |(cpu, nanos), slice| (cpu + slice.reading_cpu, nanos + slice.nanos));
    (cpu > 0).then(|| (cpu as f64 / 1e3 / slices().count() as f64, cpu as f64 / nanos as f64))
}

/// The number of arms in a round: a cycle has a slice of each.
fn contenders(pass: &RoundRecord) -> u32 {
    // A scan: there are a handful, and a hash of each slice's arm would be most of a report's time.
    let mut names: Vec<&str> = Vec::new();
    for slice in &pass.slices {
        if !names.contains(&slice.arm.as_str()) {
            names.push(&slice.arm);
        }
    }
    names.len() as u32
}

/// The slices of these arms.
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

/// A DBMS inside the client has no server to read. For a server, the first client reads the cost of
/// all clients, so the slices of the others have none. That of a remote server is not known: its
/// clients have a CPU of their own.
fn as_read(pass: &RoundRecord, contender: &str, quantity: Quantity) -> Quantity {
    let mut own = pass.slices.iter().filter(|slice| slice.arm == contender);
    let of_clients = |arm: &Measurement| arm.slice_cost.get(Metric::ClientCpuUser);
    let has_server = pass.arms.get(contender).is_some_and(|arm| of_clients(arm).is_some());
    match quantity {
        Quantity::Cpu if !has_server && own.all(|slice| slice.server_cpu == 0) => Quantity::Client,
        _ => quantity,
    }
}

/// An amount and its divisor.
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

    /// Three cycles of a baseline and a contender that does half as much.
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
        let mut remote = of_four_clients(0);
        let cost = Reading::from_iter([(Metric::ClientCpuUser, 1_000)]);
        remote.arms.entry("new".to_string()).or_default().slice_cost = cost;
        assert_eq!(level(&remote, "new", Quantity::Cpu), None, "nobody read its server");
    }

    #[test]
    fn what_others_used_is_a_share_of_all_cpus() {
        let reading = |busy: u64| {
            Reading::from_iter([(Metric::HostCpuBusy, busy), (Metric::ServerCpuUser, 5_000)])
        };
        let mut pass = RoundRecord { seconds: 0.1, ..pass() };
        assert_eq!(other_percent(&pass, 2), None);
        // A run took 10 ms: of its 20 ms of CPU 3 were not the server's.
        pass.arms.entry("base".to_string()).or_default().cost = reading(6_000);
        pass.arms.entry("new".to_string()).or_default().cost = reading(8_000);
        assert_eq!(other_percent(&pass, 2), Some(15.0));
        pass.machine = reading(25_000);
        assert_eq!(other_percent(&pass, 2), Some(10.0));
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
        assert_eq!(idle(&pass, "base"), None, "a single client waits for no other");
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
