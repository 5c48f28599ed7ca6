//! Runs made up for the tests, the same every time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hdrhistogram::Histogram;
use rqps_observe::{CounterMeaning, EngineReading, Kind, Meaning, Metric, Reading};
use rqps_plan::{
    Class, Count, Design, InsertBenchmark, Plan, Profile, Span, Step, StepKind, Workload,
};
use rqps_store::{
    ContenderRecord, EngineSample, KernelRecord, Manifest, Measurement, Operation, RoundRecord,
    Run, Sample, Second, Series, Status, WorkRecord,
};

/// A finished run of all ten steps, each `seconds` long, in which every contender is a little
/// slower than the one before it.
pub(crate) fn run(contenders: &[&str], seconds: u64) -> Run {
    let mut benchmark = InsertBenchmark::new(Profile::P2025, Count(200_000));
    benchmark.query_time = Span(Duration::from_secs(seconds));
    let plan = Plan {
        contenders: contenders.iter().map(|text| text.parse().expect(text)).collect(),
        seed: 42,
        cache: None,
        memory: None,
        design: Design::Single(Workload::InsertBenchmark(benchmark.clone())),
    };
    let records: Vec<ContenderRecord> = plan.contenders.iter().map(contender).collect();
    let mut rounds = Vec::new();
    for (index, record) in records.iter().enumerate() {
        for (order, step) in benchmark.steps().iter().enumerate() {
            let draws = Draws((index * 1000 + order) as u64);
            rounds.push(RoundRecord {
                test: step.name.clone(),
                title: step.title(),
                place: order as u32,
                part: index as u32 + 1,
                started: "2026-11-21T20:16:00Z".to_string(),
                arms: [(record.name.clone(), measured(record, step, index, seconds, draws))].into(),
                ..RoundRecord::new(Class::Insert, step.counts())
            });
        }
    }
    let order = records.iter().rev().map(|record| record.name.clone()).collect();
    Run {
        plan,
        manifest: manifest("ibench", contenders, order),
        contenders: records,
        rounds,
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        parts: Vec::new(),
        differences: Vec::new(),
    }
}

/// The test of a contender, for changes.
pub(crate) fn round<'a>(run: &'a mut Run, contender: &str, test: &str) -> &'a mut RoundRecord {
    let mut rounds = run.rounds.iter_mut();
    rounds.find(|round| is_of(round, contender) && round.test == test).expect("it is in the sample")
}

/// The measurement of a test.
pub(crate) fn step<'a>(run: &'a mut Run, contender: &str, test: &str) -> &'a mut Measurement {
    only(round(run, contender, test))
}

/// A round of a single run has one arm.
pub(crate) fn only(round: &mut RoundRecord) -> &mut Measurement {
    round.arms.values_mut().next().expect("a contender is in it")
}

pub(crate) fn is_of(round: &RoundRecord, contender: &str) -> bool {
    round.arms.contains_key(contender)
}

/// Everything that was counted becomes zero, as if nothing had been done.
pub(crate) fn silence(run: &mut Run) {
    for step in run.rounds.iter_mut().map(only) {
        step.counted_rows = step.counted_rows.map(|_| 0);
        step.cost = zero(&step.cost);
        let silent = |index| Sample {
            at: step.samples.at()[index],
            cost: zero(&step.samples.reading(index)),
        };
        step.samples = (0..step.samples.at().len()).map(silent).collect();
        (step.engine, step.engine_samples) = (EngineReading::default(), Default::default());
        for work in &mut step.work {
            let mut silent = work.clone().unpacked();
            (silent.operations, silent.rows, silent.max_lag) = (0, 0, 0);
            (silent.reads, silent.writes) = (0, 0);
            silent.service.reset();
            silent.response.iter_mut().for_each(|response| response.reset());
            silent.seconds.fill(Second::default());
            *work = silent.packed();
        }
    }
}

/// A failed step, a stopped one, a repeated one, a missed target, and a contender that was never
/// started.
pub(crate) fn trouble(run: &mut Run) {
    let names: Vec<String> = run.contenders.iter().map(|record| record.name.clone()).collect();
    let failed = step(run, &names[1], "l.i2");
    failed.status = Status::Failed;
    failed.error = Some("the server is gone: killed by signal 9\nlast lines of its log".into());
    let noted = step(run, &names[1], "qr100");
    noted.note = Some("the maintenance before it was given up: 7 dirty pages".into());
    round(run, &names[0], "l.i1").attempt = 2;
    let slow = step(run, &names[0], "qp1000");
    for worker in slow.work.iter_mut().filter(|worker| worker.operation != Operation::Query) {
        worker.rows = worker.rows * 9 / 10;
        worker.max_lag = 12_000_000_000;
    }
    let stopped = step(run, &names[2], "qr1000");
    stopped.status = Status::Interrupted;
    stopped.error = Some("Ctrl-C".into());
    run.rounds.retain(|round| !(is_of(round, &names[2]) && round.test == "qp1000"));
    run.plan.contenders.push("never=postgres@15.14".parse().unwrap());
}

pub(crate) fn contender(contender: &rqps_plan::Contender) -> ContenderRecord {
    let name = contender.name();
    let embedded = contender.dbms == rqps_plan::Dbms::Sqlite;
    let work_mem = if name.contains("18") { "16MB" } else { "4MB" };
    ContenderRecord {
        spec: contender.spec(),
        dbms: contender.dbms.to_string(),
        version: name
            .split(['@', ':', '?'])
            .nth(1)
            .filter(|_| !embedded)
            .unwrap_or("3.51.1")
            .to_string(),
        source: if embedded { "in rqps" } else { "npm" }.to_string(),
        archive_sha256: (!embedded).then(|| "0123456789abcdef".repeat(4)),
        server_sha256: (!embedded).then(|| "fedcba9876543210".repeat(4)),
        compiler: (!embedded).then(|| "gcc 12.2.0".to_string()),
        flags: None,
        libc: (!embedded).then(|| "glibc 2.17".to_string()),
        transport: if embedded { "in process" } else { "unix socket" }.to_string(),
        settings: BTreeMap::from([
            ("data_directory".to_string(), format!("/tmp/rqps/{name}")),
            ("shared_buffers".to_string(), "1GB".to_string()),
            ("work_mem".to_string(), work_mem.to_string()),
        ]),
        defaults: if name.contains("work_mem") {
            BTreeSet::new()
        } else {
            BTreeSet::from(["work_mem".to_string()])
        },
        counters: counters(),
        start_seconds: 1.25,
        name,
    }
}

pub(crate) fn manifest(verb: &str, contenders: &[&str], order: Vec<String>) -> Manifest {
    let command = ["rqps", verb].into_iter().chain(contenders.iter().copied());
    Manifest {
        rqps_version: "0.1.0".to_string(),
        created: "2026-11-21T20:15:00Z".to_string(),
        command: command.map(|word| word.to_string()).collect(),
        cpus: 2,
        machine: vec![
            ("kernel".to_string(), "Linux 6.1.0".to_string()),
            ("CPU".to_string(), "AMD EPYC 7B13".to_string()),
        ],
        order,
        kernel: Some(KernelRecord { system_call_ns: 71, message_ns: 1400 }),
        ..Manifest::default()
    }
}

/// A small generator, so that charts have something to show.
struct Draws(u64);

impl Draws {
    /// Between 0 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `value` give or take a tenth.
    fn around(&mut self, value: f64) -> f64 {
        value * (0.9 + 0.2 * self.next())
    }
}

/// The meanings of counters.
fn counters() -> Vec<CounterMeaning> {
    let known = [
        ("wal_bytes", Meaning::LogBytes),
        ("buffers_checkpoint", Meaning::CheckpointPages),
        ("blks_hit", Meaning::CacheHits),
        ("n_dead_tup", Meaning::RowVersionsLeft),
    ];
    let known = known.map(|(ends, meaning)| CounterMeaning { ends: ends.to_string(), meaning });
    known.into()
}

fn measured(
    contender: &ContenderRecord,
    step: &Step,
    place: usize,
    seconds: u64,
    mut draws: Draws,
) -> Measurement {
    let speed = 1.0 / (1.0 + 0.08 * place as f64);
    let rate = f64::from(step.kind.rate().unwrap_or(0));
    let batch = f64::from(step.rows_per_commit);
    let inserts = match step.kind {
        StepKind::Load => 140_000.0 * speed,
        StepKind::Index => 100.0,
        StepKind::Write => 400.0 * batch * speed,
        StepKind::Query { .. } => rate * 0.998,
    };
    let paced = step.kind.is_query();
    let mut worker = |operation, per_second: f64, rows_each: f64, service: f64| {
        worker(operation, per_second, rows_each, service, seconds, paced, &mut draws)
    };
    let mut workers = vec![worker(Operation::Insert, inserts / batch, batch, 6e5)];
    if step.deletes {
        workers.push(worker(Operation::Delete, inserts / batch, batch, 9e5));
    }
    if paced {
        workers.push(worker(Operation::Query, 9_000.0 * speed, 10.0, 1.1e5));
    }
    let operations: u64 = workers.iter().map(|worker| worker.operations).sum();
    let embedded = contender.transport == "in process";
    let counted_rows = (step.kind == StepKind::Index).then_some((speed * 9e5) as u64 * seconds);
    // An indexed row costs as much as a fiftieth of an operation.
    let per_second = counted_rows.map_or(operations, |rows| rows / 50) / seconds;
    let mut engine_samples: Series<String> = (1..=if embedded { 0 } else { seconds })
        .map(|second| EngineSample { at: second as f64, values: engine(per_second) })
        .collect();
    engine_samples.mean(meaning);
    Measurement {
        status: Status::Done,
        seconds: seconds as f64 + 0.004,
        check_seconds: 0.1,
        clients: 1,
        target_rate: paced.then_some(rate),
        counted_rows,
        index_seconds: (step.kind == StepKind::Index).then_some(seconds as f64 * 0.9),
        work: workers,
        cost: cost(per_second, seconds, embedded),
        samples: (1..=seconds)
            .map(|second| Sample { at: second as f64, cost: cost(per_second, 1, embedded) })
            .collect(),
        engine: if embedded { EngineReading::default() } else { engine(operations) },
        engine_samples,
        ..Measurement::default()
    }
}

/// The meaning of a counter of a made-up run.
pub(crate) fn meaning(counter: &str) -> Option<Meaning> {
    counters().iter().find(|known| known.is_of(counter)).map(|known| known.meaning)
}

fn worker(
    operation: Operation,
    per_second: f64,
    rows_each: f64,
    service: f64,
    seconds: u64,
    paced: bool,
    draws: &mut Draws,
) -> WorkRecord {
    let mut record = WorkRecord {
        client: 1,
        operation,
        operations: 0,
        rows: 0,
        reads: 0,
        writes: 0,
        others: 0,
        retries: 0,
        service: Histogram::new(3).unwrap(),
        response: (paced && operation != Operation::Query).then(|| Histogram::new(3).unwrap()),
        max_lag: if paced { 2_300_000 } else { 0 },
        seconds: Vec::new(),
    };
    for second in 0..seconds {
        let is_exact = paced && operation != Operation::Query;
        let done = if is_exact { per_second } else { draws.around(per_second) };
        let operations = done.round() as u64;
        let stall = if second % 17 == 11 { 40.0 } else { 1.0 };
        let longest = (draws.around(service) * 8.0 * stall) as u64;
        for share in 1..=20 {
            let value = (draws.around(service) * f64::from(share) / 10.0) as u64;
            record_times(&mut record, value, operations / 20);
        }
        record_times(&mut record, longest, operations % 20 + 1);
        let rows = (done * rows_each).round() as u64;
        match operation {
            Operation::Insert | Operation::Delete => record.writes += operations,
            Operation::Query | Operation::Transaction => record.reads += operations,
        }
        record.operations += operations;
        record.rows += rows;
        record.seconds.push(Second { operations, rows, max_service: longest });
    }
    record.packed()
}

fn record_times(record: &mut WorkRecord<Histogram<u64>>, nanoseconds: u64, count: u64) {
    record.service.record_n(nanoseconds, count).unwrap();
    if let Some(response) = &mut record.response {
        response.record_n(nanoseconds * 3 / 2, count).unwrap();
    }
}

fn cost(per_second: u64, seconds: u64, embedded: bool) -> Reading {
    let total = |each: u64| per_second * seconds * each;
    let mut cost = Reading::from_iter([
        (Metric::ServerCpuUser, total(55)),
        (Metric::ServerCpuSystem, total(12)),
        (Metric::ServerVoluntarySwitches, total(1)),
        (Metric::ServerInvoluntarySwitches, total(1) / 100),
        (Metric::ServerRunQueueWait, total(3)),
        (Metric::ServerRss, 180 << 20),
        (Metric::HostCpuBusy, total(80)),
        (Metric::HostCpuSteal, total(1)),
        (Metric::HostSwitches, total(2)),
        (Metric::DeviceReads, 3 * seconds),
        (Metric::DeviceReadBytes, (3 * seconds) << 13),
        (Metric::DeviceWrites, 420 * seconds),
        (Metric::DeviceWriteBytes, (420 * seconds) << 15),
        (Metric::DeviceFlushes, 5 * seconds),
        (Metric::DatabaseBytes, 61 << 20),
        (Metric::LogBytes, 48 << 20),
        (Metric::DirectoryBytes, 140 << 20),
    ]);
    if !embedded {
        cost.set(Metric::ClientCpuUser, total(4));
        cost.set(Metric::ClientCpuSystem, total(5));
        cost.set(Metric::ClientVoluntarySwitches, total(1));
    }
    cost
}

fn engine(operations: u64) -> EngineReading {
    let mut reading = EngineReading::default();
    reading.set("pg_stat_wal.wal_bytes", Kind::Counter, operations * 300);
    reading.set("pg_stat_user_tables.n_dead_tup", Kind::Gauge, 1234);
    reading.set("pg_stat_database.deadlocks", Kind::Counter, 0);
    reading.mean(meaning);
    reading
}

fn zero(cost: &Reading) -> Reading {
    cost.iter().map(|(metric, _)| (metric, 0)).collect()
}
