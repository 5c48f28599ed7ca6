//! The cost of a statement in both arms, and its change. Whole runs store what they count as
//! statements: in the Insert Benchmark a row or a query.

use std::collections::{BTreeMap, BTreeSet};

use rqps_observe::{Kind, Meaning, Metric};
use rqps_plan::{CONTROL, Method};
use rqps_stats::paired::t_interval;
use rqps_stats::verdict::{LogRatios, LogValues, Sample};
use rqps_store::{RoundRecord, Run};

use super::drift::Drift;
use super::observed::{Quantity, clients_of, level};
use super::pair::Pair;
use crate::diagnosis::{Change, Cost, Part, ValueRange};

/// Less than this per statement is background work of a server, which depends on the time and not
/// on the statements. By unit.
const LEAST: [(&str, f64); 2] = [("bytes", LEAST_BYTES), ("us", 0.05)];
const LEAST_BYTES: f64 = 64.0;
const LEAST_OF_COUNTS: f64 = 1e-3;
/// Fewer rounds are too few for a metric.
const FEWEST_ROUNDS: usize = 3;
const CPU: [Metric; 2] = [Metric::ServerCpuUser, Metric::ServerCpuSystem];
/// Counters that a rule must know to be unchanged if the DBMS has them: unchanged counters are not
/// stored.
const STILL: [Meaning; 1] = [Meaning::RowLockWaits];

/// Reads matter if they could be this part of the added time of an operation, assuming that each
/// reads a page at the speed of a fast local device.
const NOTICED: f64 = 0.1;
const FASTEST_READ_MICROS: f64 = 20.0;
const PAGE: f64 = 4096.0;

type Reader = fn(&RoundRecord, &str) -> Option<f64>;

/// A value of the baseline and of the contender in one round.
type Both = (f64, f64);

const PARTS: [Part; 5] =
    [Part::ServerUser, Part::ServerSystem, Part::Client, Part::RunQueue, Part::BlockIo];

impl Pair<'_> {
    /// Microseconds of a connection's time per statement.
    pub fn time(&self, passes: &[&RoundRecord]) -> Cost {
        self.cost(passes, |pass| self.time_in(pass))
    }

    /// Microseconds of the server's CPU per statement, from the cycles: more exact than user and
    /// system CPU, which the kernel separates by sampling.
    pub fn cpu(&self, passes: &[&RoundRecord]) -> Option<Cost> {
        let is_known = passes.iter().any(|pass| self.cpu_in(pass).is_some());
        is_known.then(|| self.cost(passes, |pass| self.cpu_in(pass)))
    }

    pub fn parts(&self, passes: &[&RoundRecord]) -> BTreeMap<Part, Cost> {
        let of = |part: Part| move |pass: &RoundRecord| self.part_in(part, pass);
        let is_there = |part: &Part| {
            let mut both = passes.iter().filter_map(|pass| of(*part)(pass));
            both.any(|(base, contender)| base > 0.0 || contender > 0.0)
        };
        let there: Vec<Part> = PARTS.into_iter().filter(is_there).collect();
        let rest = |pass: &RoundRecord| {
            let known: Vec<Both> = there.iter().filter_map(|part| of(*part)(pass)).collect();
            let (base, contender) = self.time_in(pass)?;
            let sum = |side: fn(&Both) -> f64| known.iter().map(side).sum::<f64>();
            Some((base - sum(|both| both.0), contender - sum(|both| both.1)))
        };
        let known = there.iter().map(|part| (*part, self.cost(passes, of(*part))));
        known.chain([(Part::Rest, self.cost(passes, rest))]).collect()
    }

    fn part_in(&self, part: Part, pass: &RoundRecord) -> Option<Both> {
        match part {
            Part::ServerUser => self.server_in(pass, Metric::ServerCpuUser),
            Part::ServerSystem => self.server_in(pass, Metric::ServerCpuSystem),
            Part::Client => self.both(pass, client),
            Part::RunQueue => self.both(pass, run_queue),
            Part::BlockIo => {
                self.both(pass, |pass, name| per_statement(pass, name, Metric::ServerBlockIoWait))
            }
            Part::Rest => None,
        }
    }

    fn time_in(&self, pass: &RoundRecord) -> Option<Both> {
        self.in_cycles(pass, Quantity::Rate, time).or_else(|| {
            // A whole run has the sum of the times of all its clients.
            let clients = f64::from(clients_of(self.plan, pass));
            self.both(pass, time).map(|(base, contender)| (base * clients, contender * clients))
        })
    }

    fn cpu_in(&self, pass: &RoundRecord) -> Option<Both> {
        self.in_cycles(pass, Quantity::Cpu, |pass, name| level(pass, name, Quantity::Cpu))
    }

    /// User or system CPU of the server: its sampled share of the CPU from the cycles.
    fn server_in(&self, pass: &RoundRecord, metric: Metric) -> Option<Both> {
        let (base, contender) = self.both(pass, |pass, name| {
            CPU.iter().map(|metric| per_statement(pass, name, *metric)).sum()
        })?;
        let (of_base, of_contender) = match metric {
            Metric::ServerCpuUser => {
                self.both(pass, |pass, name| per_statement(pass, name, Metric::ServerCpuUser))?
            }
            _ => {
                self.both(pass, |pass, name| per_statement(pass, name, Metric::ServerCpuSystem))?
            }
        };
        match self.cpu_in(pass) {
            Some((exact_base, exact)) if base > 0.0 && contender > 0.0 => {
                Some((exact_base * of_base / base, exact * of_contender / contender))
            }
            _ => Some((of_base, of_contender)),
        }
    }

    /// A value of both arms: that of the baseline is the mean of baseline and control.
    fn both(&self, pass: &RoundRecord, of: Reader) -> Option<Both> {
        let base = of(pass, self.base)?;
        let base = of(pass, CONTROL).map_or(base, |control| (base + control) / 2.0);
        Some((base, of(pass, self.contender)?))
    }

    /// The level of the baseline, and that of the contender from the median ratio of the cycles,
    /// which the verdict rests on; none for whole runs.
    fn in_cycles(&self, pass: &RoundRecord, quantity: Quantity, of: Reader) -> Option<Both> {
        if self.plan.method_of(&pass.test) != Method::Slices {
            return None;
        }
        let (base, _) = self.both(pass, of)?;
        let log = self.restart(pass, quantity)?.log_ratio;
        let log = if quantity == Quantity::Rate { -log } else { log };
        Some((base, base * log.exp()))
    }

    /// Bytes written per statement of the contender and the A/A control against the baseline's, by
    /// round. Empty if they are negligible in all rounds; if they are in some, `LEAST_BYTES` are
    /// added to all.
    pub fn written(&self, passes: &[&RoundRecord], method: Method) -> Sample {
        let names = [self.base, self.contender, CONTROL];
        let values = passes.iter().flat_map(|pass| names.map(|name| self.written_in(pass, name)));
        let values: Vec<f64> = values.flatten().collect();
        let is_little = |value: &f64| *value <= LEAST_BYTES;
        let is_nothing = values.iter().all(is_little);
        let offset = if values.iter().any(is_little) { LEAST_BYTES } else { 0.0 };
        let log =
            |pass: &RoundRecord, name: &str| Some((self.written_in(pass, name)? + offset).ln());
        let values = |pass: &&RoundRecord| {
            let (base, contender) = (log(pass, self.base)?, log(pass, self.contender)?);
            Some(LogValues { base, control: log(pass, CONTROL), contender })
        };
        let rounds = passes.iter().filter(|_| !is_nothing).filter_map(values);
        match method {
            Method::Runs => Sample::Runs(rounds.collect()),
            Method::Slices => Sample::Slices(
                rounds
                    .map(|round| LogRatios {
                        contender: round.ratio(),
                        control: round.control.map(|control| control - round.base),
                    })
                    .collect(),
            ),
        }
    }

    /// Of the device; where arms take turns and share it, of the server's own processes.
    fn written_in(&self, pass: &RoundRecord, name: &str) -> Option<f64> {
        let device = Metric::DeviceWriteBytes;
        let of_device = per_statement(pass, name, device).filter(|_| !self.is_shared(pass, device));
        let written = of_device.or_else(|| per_statement(pass, name, Metric::ServerWriteBytes));
        written.filter(|bytes| bytes.is_finite())
    }

    /// Time in flushes of the device, per statement.
    pub fn sync(&self, passes: &[&RoundRecord]) -> Option<Cost> {
        let flushes: Reader = |pass, name| per_statement(pass, name, Metric::DeviceFlushTime);
        self.has(passes, &flushes).then(|| self.cost(passes, |pass| self.both(pass, flushes)))
    }

    /// Whether either arm has any of it.
    fn has(&self, passes: &[&RoundRecord], reader: &Reader) -> bool {
        let some = |pass: &RoundRecord, name| reader(pass, name).is_some_and(|value| value > 0.0);
        passes.iter().any(|pass| some(pass, self.base) || some(pass, self.contender))
    }

    /// The change of every metric per statement, and of every counter of the DBMS per operation.
    pub fn metrics(&self, run: &Run, passes: &[&RoundRecord]) -> BTreeMap<String, Change> {
        let mut changes = BTreeMap::new();
        let added = self.time(passes).change.value.abs();
        let noticed = NOTICED * added / FASTEST_READ_MICROS;
        for metric in Metric::ALL {
            let least = LEAST.iter().find(|(unit, _)| *unit == metric.unit());
            let least = least.map_or(LEAST_OF_COUNTS, |(_, least)| *least);
            let least = match metric {
                Metric::DeviceReads => least.max(noticed),
                Metric::DeviceReadBytes | Metric::ServerReadBytes => least.max(noticed * PAGE),
                _ => least,
            };
            let of = |pass: &RoundRecord, name: &str| match metric.kind() {
                Kind::Gauge => Some(pass.arms.get(name)?.cost.get(*metric)? as f64),
                // Where arms take turns, the machine's counters belong to none of them.
                Kind::Counter if self.is_shared(pass, *metric) => None,
                Kind::Counter => per_statement(pass, name, *metric),
            };
            if let Some(change) = self.change(passes, &of, least) {
                changes.insert(metric.name().to_string(), change);
            }
        }
        for name in self.engine_counters(run, passes) {
            let counted =
                |pass: &RoundRecord, side: &str, more| per_operation(pass, side, &name, more);
            // A counter is exact to one.
            let change = self.change(passes, &|pass, side| counted(pass, side, 1.0), 0.0);
            let of = |side: &str| mean(passes.iter().filter_map(|pass| counted(pass, side, 0.0)));
            let (base, contender) = (of(self.base), of(self.contender));
            changes.extend(change.map(|change| (name, Change { base, contender, ..change })));
        }
        changes
    }

    fn is_shared(&self, pass: &RoundRecord, metric: Metric) -> bool {
        let in_slices = pass.arms.get(self.base).and_then(|arm| arm.slice_cost.get(metric));
        self.plan.method_of(&pass.test) == Method::Slices
            && metric.is_of_host()
            && in_slices.is_none()
    }

    /// Names of counters that have changed in either arm, or must be known to be unchanged. For two
    /// DBMSs or engines only those that have changed in both: a counter that only one of them has
    /// cannot be compared.
    fn engine_counters(&self, run: &Run, passes: &[&RoundRecord]) -> BTreeSet<String> {
        let moved = |side: &str| -> BTreeSet<String> {
            let sides = passes.iter().filter_map(|pass| pass.arms.get(side));
            let counters = sides.flat_map(|side| side.engine.iter());
            let counters = counters.filter(|(_, one)| one.kind == Kind::Counter);
            counters.map(|(name, _)| name.to_string()).collect()
        };
        let (base, contender) = (moved(self.base), moved(self.contender));
        let mut contenders = self.contenders(run).into_iter().map(|one| (one.dbms, one.engine));
        let first = contenders.next();
        let mut names = match contenders.all(|other| Some(other) == first) {
            true => &base | &contender,
            false => &base & &contender,
        };
        let counts = |arm: &str, meaning: Meaning| {
            let of = run.contenders.iter().find(|one| one.name == arm)?;
            of.counters.iter().find(|known| known.meaning == meaning)
        };
        for meaning in STILL {
            let both = counts(self.base, meaning).zip(counts(self.contender, meaning));
            names.extend(
                both.filter(|(base, other)| base == other).map(|(base, _)| base.ends.clone()),
            );
        }
        names
    }

    /// None with too few rounds. If both values are negligible, there is no change. If one of them
    /// is, `least` is added to both, so that there is a ratio.
    fn change(
        &self,
        passes: &[&RoundRecord],
        of: &dyn Fn(&RoundRecord, &str) -> Option<f64>,
        least: f64,
    ) -> Option<Change> {
        let names = [self.base, self.contender, CONTROL];
        let values = passes.iter().flat_map(|pass| names.map(|name| of(pass, name))).flatten();
        let values: Vec<f64> = values.collect();
        let is_little = |value: &f64| *value <= least;
        let all_little = values.iter().all(is_little);
        let offset = if values.iter().any(is_little) { least } else { 0.0 };
        let ratios = |from: &str, to: &str| -> Vec<f64> {
            let ratio = |pass: &&RoundRecord| {
                let (from, to) = (of(pass, from)?, of(pass, to)?);
                Some(if all_little { 0.0 } else { ((to + offset) / (from + offset)).ln() })
            };
            passes.iter().filter_map(ratio).filter(|ratio: &f64| ratio.is_finite()).collect()
        };
        let log = ratios(self.base, self.contender);
        let level = |side: &str| mean(passes.iter().filter_map(|pass| of(pass, side)));
        (log.len() >= FEWEST_ROUNDS).then(|| Change {
            base: level(self.base),
            contender: level(self.contender),
            log: wider(interval(&log), self.drifted()),
            noise: interval(&ratios(self.base, CONTROL)).value.abs(),
        })
    }

    fn cost(&self, passes: &[&RoundRecord], of: impl Fn(&RoundRecord) -> Option<Both>) -> Cost {
        let rounds: Vec<Both> = passes.iter().filter_map(|pass| of(pass)).collect();
        let base = mean(rounds.iter().map(|both| both.0));
        let contender = mean(rounds.iter().map(|both| both.1));
        let changes: Vec<f64> = rounds.iter().map(|(base, other)| other - base).collect();
        let change = wider(interval(&changes), contender.abs() * self.drifted().exp_m1());
        Cost { base, contender, change }
    }

    /// By how much, as a log, costs may have drifted since the baseline was measured; 0 if both
    /// were measured in turns.
    fn drifted(&self) -> f64 {
        self.drift.as_ref().map_or(0.0, Drift::size)
    }
}

fn wider(of: ValueRange, by: f64) -> ValueRange {
    ValueRange::new(of.value, of.low - by, of.high + by)
}

/// Microseconds of a connection's time per statement.
fn time(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == contender);
    let (nanos, statements) = own.fold((0, 0), |(nanos, statements), slice| {
        (nanos + slice.nanos, statements + slice.reads + slice.writes + slice.others)
    });
    (statements > 0).then(|| nanos as f64 / 1e3 / statements as f64)
}

/// Waits of the server for a CPU. If server and client share one CPU, the server's waits for the
/// client are the client's time, which is a separate part.
fn run_queue(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let waits = level(pass, contender, Quantity::RunQueue)?;
    let client = client(pass, contender).filter(|_| pass.cpus.len() == 1);
    Some((waits - client.unwrap_or(0.0)).max(0.0))
}

/// CPU of the client, unless the DBMS is inside the client.
fn client(pass: &RoundRecord, contender: &str) -> Option<f64> {
    let is_embedded = pass.arms.get(contender)?.slice_cost.get(Metric::ServerCpuUser).is_some();
    if is_embedded { None } else { level(pass, contender, Quantity::Client) }
}

/// A counter of an arm's server per statement: over the measured parts of its slices if it was read
/// at their edges, or else over the whole round. The statements of warm-ups are estimated from the
/// statements per operation. InnoDB writes pages asynchronously: the kernel does not count them as
/// written by the process, but InnoDB does.
pub fn per_statement(pass: &RoundRecord, contender: &str, metric: Metric) -> Option<f64> {
    let (mut statements, mut operations, mut warm_ups) = (0, 0, 0);
    for slice in pass.slices.iter().filter(|slice| slice.arm == contender) {
        statements += slice.reads + slice.writes + slice.others;
        operations += slice.operations;
        warm_ups += slice.warm_up_operations;
    }
    if operations == 0 {
        return None;
    }
    if let Some(value) = pass.arms.get(contender).and_then(|arm| arm.slice_cost.get(metric)) {
        return Some(value as f64 / statements as f64);
    }
    let each = statements as f64 / operations as f64;
    let all = each * (operations + warm_ups) as f64;
    let value = pass.arms.get(contender)?.cost.get(metric)? as f64 / all;
    let of_innodb = match metric {
        Metric::ServerWriteBytes => {
            let arm = pass.arms.get(contender).filter(|arm| arm.watched > 0);
            let written = arm.map(|arm| arm.engine.meant(Meaning::BytesWritten).unwrap_or(0));
            written.zip(arm).map(|(bytes, arm)| bytes as f64 / arm.watched as f64)
        }
        _ => None,
    };
    Some(of_innodb.map_or(value, |bytes| value.max(bytes / each)))
}

/// A counter of the DBMS per operation of the observed window, with `more` added to its total.
fn per_operation(pass: &RoundRecord, contender: &str, counter: &str, more: f64) -> Option<f64> {
    let side = pass.arms.get(contender).filter(|side| side.watched > 0)?;
    Some((side.engine.get(counter).unwrap_or(0) as f64 + more) / side.watched as f64)
}

pub(super) fn estimate(of: &rqps_stats::Estimate) -> ValueRange {
    ValueRange::new(of.value, of.interval.low, of.interval.high)
}

/// 0 without values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (count, sum) = values.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    sum / f64::from(count.max(1))
}

/// The mean of the rounds with its 95 % interval.
pub(super) fn interval(rounds: &[f64]) -> ValueRange {
    match t_interval(rounds, None, 0.05) {
        Some(of) => estimate(&of),
        None => ValueRange::new(0.0, f64::NEG_INFINITY, f64::INFINITY),
    }
}

#[cfg(test)]
mod tests {
    use rqps_observe::Reading;
    use rqps_plan::{Class, Comparison, Counts, Workload};
    use rqps_store::SliceRecord;

    use super::*;
    use crate::comparison::{fixture, observed};

    /// Three whole runs of each, of 1000 statements that take 100 us, 60 of them user CPU, and a
    /// tenth more in the new one.
    fn rounds() -> Vec<RoundRecord> {
        let round = |round: u64| {
            let (test, reference_loop) = ("l.i0".to_string(), vec![50_000_000; 4]);
            let mut pass = RoundRecord {
                test,
                reference_loop,
                ..RoundRecord::new(Class::Point, Counts::Statements)
            };
            for (place, (name, tenths)) in (0..).zip([("old", 10), ("new", 11)]) {
                let nanos = 10_000_000 * tenths + 1_000 * round * tenths * tenths;
                pass.slices.push(SliceRecord {
                    place,
                    client: 1,
                    arm: name.to_string(),
                    nanos,
                    operations: 1_000,
                    writes: 1_000,
                    ..SliceRecord::default()
                });
                let user = (Metric::ServerCpuUser, nanos * 6 / 10_000);
                let cost = Reading::from_iter([user, (Metric::ServerCpuSystem, 1_000)]);
                pass.arms.entry(name.to_string()).or_default().cost = cost;
            }
            pass
        };
        (1..=3).map(round).collect()
    }

    /// The same with the bytes per statement that the server and the device wrote, for the old arm,
    /// the new one and the A/A control.
    fn writing(own: [u64; 3], device: Option<u64>) -> Vec<RoundRecord> {
        let mut rounds = rounds();
        for pass in &mut rounds {
            let control = SliceRecord { arm: CONTROL.to_string(), ..pass.slices[0].clone() };
            pass.slices.push(control);
            for (name, bytes) in ["old", "new", CONTROL].into_iter().zip(own) {
                let cost = &mut pass.arms.entry(name.to_string()).or_default().cost;
                cost.set(Metric::ServerWriteBytes, 1_000 * bytes);
                if let Some(bytes) = device {
                    cost.set(Metric::DeviceWriteBytes, 1_000 * bytes);
                }
            }
        }
        rounds
    }

    #[test]
    fn what_is_written_is_the_servers_own_where_they_take_turns_and_else_the_devices() {
        let written = |method: Method, rounds: &[RoundRecord]| {
            let plan = Comparison { method, ..fixture::plan() };
            fixture::pair(&plan, None).written(&rounds.iter().collect::<Vec<_>>(), method)
        };
        let by_slices = |rounds: &[RoundRecord]| match written(Method::Slices, rounds) {
            Sample::Slices(rounds) => rounds,
            Sample::Runs(_) => unreachable!("they are slices"),
        };
        let is_near = |value: f64, ratio: f64| (value - ratio.ln()).abs() < 1e-9;

        let rounds = writing([1_000, 1_500, 1_000], Some(4_000));
        let slices = by_slices(&rounds);
        assert_eq!(slices.len(), 3);
        assert!(is_near(slices[0].contender, 1.5) && is_near(slices[0].control.unwrap(), 1.0));
        let Sample::Runs(runs) = written(Method::Runs, &rounds) else { unreachable!() };
        assert!(is_near(runs[0].base, 4_000.0) && is_near(runs[0].contender, 4_000.0));

        assert!(by_slices(&writing([64, 10, 0], None)).is_empty(), "next to nothing");
        let from_little = by_slices(&writing([0, 6_400, 0], None));
        assert!(is_near(from_little[0].contender, 101.0));
    }

    #[test]
    fn what_innodb_writes_asynchronously_is_as_it_counts_it_itself() {
        let mut rounds = writing([1_000, 1_000, 1_000], None);
        let pass = &mut rounds[0];
        for (name, bytes) in [("old", 700), ("new", 2_500)] {
            let side = pass.arms.entry(name.to_string()).or_default();
            side.watched = 2_000;
            side.engine.set("Innodb_data_written", Kind::Counter, 2_000 * bytes);
            side.engine.mean(|_| Some(Meaning::BytesWritten));
        }
        let written = |name: &str| per_statement(pass, name, Metric::ServerWriteBytes);
        assert_eq!(["old", "new", CONTROL].map(written), [1_000.0, 2_500.0, 1_000.0].map(Some));
    }

    #[test]
    fn what_only_another_dbms_counts_is_no_change() {
        let mut rounds = rounds();
        for pass in &mut rounds {
            for (name, counters) in
                [("old", vec!["wal_bytes"]), ("new", vec!["Innodb_os_log_written", "wal_bytes"])]
            {
                let side = pass.arms.entry(name.to_string()).or_default();
                side.watched = 1_000;
                counters.into_iter().for_each(|one| side.engine.set(one, Kind::Counter, 500_000));
            }
        }
        let passes: Vec<&RoundRecord> = rounds.iter().collect();
        let plan = fixture::plan();
        let counted = |old: &str, new: &str| {
            let run = fixture::run(&plan, [old, new]);
            let metrics = fixture::pair(&plan, None).metrics(&run, &passes);
            ["wal_bytes", "Innodb_os_log_written"].map(|name| metrics.contains_key(name))
        };
        assert_eq!(counted("old=postgres", "new=postgres@17.6"), [true, true]);
        assert_eq!(counted("old=postgres", "new=mysql"), [true, false]);
        assert_eq!(counted("old=mariadb", "new=mariadb/rocksdb"), [true, false]);
    }

    #[test]
    fn a_whole_run_has_the_time_of_all_its_clients() {
        let mut plan = fixture::plan();
        let rounds = rounds();
        let passes: Vec<&RoundRecord> = rounds.iter().collect();
        let one = fixture::pair(&plan, None).time(&passes);
        assert!((one.base - 100.0).abs() < 1.0, "{one:?}");
        let Workload::InsertBenchmark(benchmark) = &mut plan.of else { unreachable!() };
        benchmark.clients = 4;
        let four = fixture::pair(&plan, None).time(&passes);
        assert!((four.base / one.base - 4.0).abs() < 1e-9, "{four:?}");
        assert!((four.change.value / one.change.value - 4.0).abs() < 1e-9, "{four:?}");
    }

    #[test]
    fn what_a_machine_may_have_drifted_since_is_in_all_that_causes_rest_on() {
        let mut plan = fixture::plan();
        let rounds = rounds();
        let tests = observed::tests(&rounds);
        let changes = |plan: &Comparison| {
            let drift = Drift::of(plan, &tests);
            let pair = fixture::pair(plan, drift);
            let passes: Vec<&RoundRecord> = rounds.iter().collect();
            let user =
                |pass: &RoundRecord, name: &str| per_statement(pass, name, Metric::ServerCpuUser);
            let part = pair.parts(&passes)[&Part::ServerUser].change;
            let metric = pair.change(&passes, &user, 0.0).unwrap().log;
            [pair.time(&passes).change, part, metric]
        };
        let together = changes(&plan);
        assert!(together.iter().all(|change| change.is_above(0.0)), "{together:?}");
        // A machine that was as fast then as it is now, and one that was faster by a tenth.
        for (reference_loop, is_sure) in [(50_000_000, true), (45_000_000, false)] {
            plan.baseline_from = Some(Box::new(fixture::stored_baseline(reference_loop)));
            for (now, then) in together.iter().zip(changes(&plan)) {
                assert_eq!((now.value, is_sure), (then.value, then.is_above(0.0)), "{then:?}");
            }
        }
    }
}
