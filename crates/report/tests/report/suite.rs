//! Runs of the microbenchmarks and a comparison, made up for the tests, the same every time.

use std::time::Duration;

use hdrhistogram::Histogram;
use rqps_observe::{EngineReading, Kind, Metric, Reading};
use rqps_plan::{
    Choice, Class, Comparison, Count, Counts, Design, Method, Microbenchmark, Plan, QueryPlan,
    Span, Workload,
};
use rqps_store::{
    ContenderRecord, EngineSample, Measurement, Operation, ProfileRecord, RoundRecord, Run, Sample,
    Second, Series, SliceRecord, StatementRecord, Status, WorkRecord,
};

use crate::sample::{contender, manifest, meaning};

/// A test of the suite.
struct Made {
    name: &'static str,
    /// None where the published tables leave it out.
    group: Option<&'static str>,
    /// Events per second of one client, and the statements of an event: reads, writes, others.
    events: u64,
    statements: [u64; 3],
}

const fn made(
    name: &'static str,
    group: Option<&'static str>,
    events: u64,
    statements: [u64; 3],
) -> Made {
    Made { name, group, events, statements }
}

const POINT: Option<&str> = Some("Point queries");
const RANGE: Option<&str> = Some("Range queries without aggregation");
const AGGREGATE: Option<&str> = Some("Range queries with aggregation");
const WRITE: Option<&str> = Some("Writes");

/// The suite of today, in its order.
const TESTS: [Made; 38] = [
    made("point-query.warm", None, 20_000, [1, 0, 0]),
    made("scan.warmpre", None, 4, [1, 0, 0]),
    made("point-query.pre", None, 20_000, [1, 0, 0]),
    made("range-notcovered-si.pre", None, 2_000, [1, 0, 0]),
    made("update-inlist", WRITE, 900, [0, 1, 0]),
    made("update-index", WRITE, 5_000, [0, 1, 0]),
    made("update-nonindex", WRITE, 9_000, [0, 1, 0]),
    made("update-one", WRITE, 9_500, [0, 1, 0]),
    made("update-zipf", WRITE, 9_200, [0, 1, 0]),
    made("write-only", WRITE, 1_800, [0, 4, 2]),
    made("read-write_range=10", WRITE, 700, [14, 4, 2]),
    made("read-write_range=100", WRITE, 600, [14, 4, 2]),
    made("scan.warm", None, 4, [1, 0, 0]),
    made("scan", RANGE, 4, [1, 0, 0]),
    made("read-only_range=10", AGGREGATE, 1_200, [14, 0, 2]),
    made("read-only_range=100", AGGREGATE, 800, [14, 0, 2]),
    made("read-only_range=10000", AGGREGATE, 20, [14, 0, 2]),
    made("read-only-simple", AGGREGATE, 600, [11, 0, 2]),
    made("read-only-sum", AGGREGATE, 700, [11, 0, 2]),
    made("read-only-order", AGGREGATE, 500, [11, 0, 2]),
    made("read-only-distinct", AGGREGATE, 450, [11, 0, 2]),
    made("read-only-count", AGGREGATE, 1_000, [1, 0, 0]),
    made("point-query", POINT, 21_000, [1, 0, 0]),
    made("random-points_range=10", POINT, 9_000, [1, 0, 0]),
    made("random-points_range=100", POINT, 1_500, [1, 0, 0]),
    made("random-points_range=1000", POINT, 160, [1, 0, 0]),
    made("hot-points", POINT, 3_000, [1, 0, 0]),
    made("points-covered-pk", POINT, 2_000, [1, 0, 0]),
    made("points-notcovered-pk", POINT, 1_900, [1, 0, 0]),
    made("range-covered-pk", RANGE, 7_000, [1, 0, 0]),
    made("range-notcovered-pk", RANGE, 4_000, [1, 0, 0]),
    made("points-covered-si.warm", None, 1_600, [1, 0, 0]),
    made("points-covered-si", POINT, 1_600, [1, 0, 0]),
    made("points-notcovered-si", POINT, 900, [1, 0, 0]),
    made("range-covered-si", RANGE, 6_500, [1, 0, 0]),
    made("range-notcovered-si", RANGE, 1_700, [1, 0, 0]),
    made("delete", WRITE, 12_000, [0, 1, 0]),
    made("insert", WRITE, 8_000, [0, 1, 0]),
];

const ROWS: u64 = 50_000;
const SECONDS: u64 = 4;

/// A finished run of the whole suite with these numbers of clients on a host of two CPUs. Each
/// contender is a little slower than the one before it in half of the tests and a little faster in
/// the others; half of the deletes of the first find nothing; the first client is the bottleneck in
/// point-query.
pub(crate) fn run(contenders: &[&str], clients: &[u32]) -> Run {
    let benchmark = Microbenchmark {
        tables: 1,
        rows: Count(ROWS),
        clients: clients.to_vec(),
        read_time: Span(Duration::from_secs(SECONDS)),
        write_time: Span(Duration::from_secs(SECONDS)),
        tests: TESTS.iter().map(|test| test.name.to_string()).collect(),
        fair_writes: false,
        pause: Span(Duration::from_secs(1)),
        quiesce_after_each_write: false,
        check: true,
    };
    let plan = Plan {
        contenders: contenders.iter().map(|text| text.parse().expect(text)).collect(),
        seed: 42,
        cache: None,
        memory: None,
        design: Design::Single(Workload::Microbenchmark(benchmark)),
    };
    let records: Vec<ContenderRecord> = plan.contenders.iter().map(contender).collect();
    let rounds = records
        .iter()
        .enumerate()
        .flat_map(|(place, record)| rounds(record, place, clients))
        .collect();
    let order = records.iter().map(|record| record.name.clone()).collect();
    Run {
        plan,
        manifest: manifest("micro", contenders, order),
        contenders: records,
        rounds,
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        parts: Vec::new(),
        differences: Vec::new(),
    }
}

/// Two tests in six rounds: `scan`, where the second contender takes twice as long, and `delete`,
/// which a guard discarded each time.
pub(crate) fn comparison() -> Run {
    let mut run = run(&["sqlite", "slow=sqlite?cache_size=1"], &[1]);
    let plan = comparison_plan(&run);
    run.plan.design = Design::Comparison(Comparison { method: Method::Runs, ..plan });
    let slice = |round: u32, contender: &str, millis: u64| SliceRecord {
        client: 1,
        arm: contender.to_string(),
        nanos: (millis + u64::from(round) % 3) * 1_000_000,
        reads: 1_000,
        ..SliceRecord::default()
    };
    let pass = |round: u32, place: u32, test: &str, invalid: Option<&str>| RoundRecord {
        round,
        test: test.to_string(),
        place,
        class: Class::from_name(test).unwrap(),
        attempt: 1,
        discarded: invalid.map(str::to_string),
        slices: vec![slice(round, "sqlite", 500), slice(round + 1, "slow", 1_000)],
        ..RoundRecord::new(Class::Point, Counts::Statements)
    };
    let rounds = (1..=6).flat_map(|round| {
        [pass(round, 0, "scan", None), pass(round, 1, "delete", Some("the machine was busy"))]
    });
    run.rounds = rounds.collect();
    run
}

/// Four tests in eight rounds with an A/A control, CPU and switches. The second contender needs a
/// fifth more time in `scan` and `point-query`, all of it CPU in user mode, and a fifth less in
/// `delete`. The third is like the baseline. One measurement of `insert` was discarded.
pub(crate) fn judged() -> Run {
    let mut run = comparison();
    run.plan.contenders.push("like=sqlite?cache_size=-2000".parse().expect("it is a contender"));
    let Design::Comparison(plan) = &mut run.plan.design else { unreachable!() };
    (plan.method, plan.control) = (Method::Slices, true);
    run.contenders.push(contender(&run.plan.contenders[2]));
    let tests = [("scan", 1.2), ("point-query", 1.2), ("delete", 0.8), ("insert", 1.0)];
    let mut passes = Vec::new();
    for round in 1..=8u32 {
        for (place, (test, factor)) in (0..).zip(tests) {
            let names = [("sqlite", 1.0), ("A/A control", 1.0), ("slow", factor), ("like", 1.0)];
            // All drift a little together, and each a very little by itself.
            let wander = 1.0 + 0.02 * f64::from(round % 3);
            let mut pass = RoundRecord {
                round,
                test: test.to_string(),
                place,
                class: match test {
                    "scan" | "point-query" => Class::Point,
                    other => Class::from_name(other).unwrap(),
                },
                group: Some(
                    match test {
                        "scan" | "point-query" => "Point queries",
                        _ => "Writes",
                    }
                    .to_string(),
                ),
                attempt: 1,
                seconds: 1.0,
                load: 1 + round % 2,
                ..RoundRecord::new(Class::Point, Counts::Statements)
            };
            if test == "insert" && round == 3 {
                pass.discarded = Some("other processes <b>used</b> 60 % of the CPUs".to_string());
            }
            for (index, (name, factor)) in (0..).zip(names) {
                let own = 1.0 + 0.001 * f64::from((round * 7 + index * 5 + place * 3) % 5);
                let nanos = (500e6 * factor * wander * own) as u64;
                let micros = nanos / 1_000;
                pass.slices.push(SliceRecord {
                    place: index,
                    client: 1,
                    arm: name.to_string(),
                    nanos,
                    operations: 1_000,
                    reads: 1_000,
                    server_cpu: nanos - 100_000_000,
                    client_cpu: 50_000_000,
                    ..SliceRecord::default()
                });
                let cost = Reading::from_iter([
                    (Metric::ServerCpuUser, micros - 140_000),
                    (Metric::ServerCpuSystem, 40_000 + u64::from(round % 2) * 100),
                    (Metric::ServerVoluntarySwitches, 1_000 + u64::from(round % 4)),
                ]);
                pass.arms.entry(name.to_string()).or_default().cost = cost;
            }
            passes.push(pass);
        }
    }
    run.rounds = passes;
    run
}

/// Four releases in six rounds of `point-query` by slices, each release 2 % slower than the one
/// before it, and of `update-index` by whole runs of 20 seconds.
pub(crate) fn released() -> Run {
    let releases = ["postgres@17.6", "postgres@9.6.24", "postgres@18.0", "postgres@16.10"];
    let speeds = [0.96, 1.0, 0.94, 0.98];
    let mut run = run(&releases, &[1]);
    let plan = comparison_plan(&run);
    let choices = vec![Choice {
        tests: vec!["update-index".to_string()],
        method: Method::Runs,
        why: "it writes in the background".to_string(),
    }];
    let plan = Comparison { method: Method::Slices, choices, control: false, ..plan };
    run.plan.design = Design::Comparison(plan);
    run.rounds.clear();
    for round in 1..=6 {
        for (place, test) in (0..).zip(["point-query", "update-index"]) {
            let mut pass = RoundRecord {
                round,
                test: test.to_string(),
                place,
                class: if place == 0 { Class::Point } else { Class::Update },
                group: Some(if place == 0 { "Point queries" } else { "Writes" }.to_string()),
                attempt: 1,
                load: 1,
                ..RoundRecord::new(Class::Point, Counts::Statements)
            };
            for (slot, (name, speed)) in (0..).zip(releases.into_iter().zip(speeds)) {
                let swing = 1.0 + 0.001 * f64::from((round * 7 + slot * 5) % 11);
                match place {
                    0 => pass.slices.extend((0..10).map(|cycle| {
                        let own = swing + 0.002 * f64::from((cycle * 3 + slot) % 5);
                        let place = cycle * 4 + slot;
                        slice(name, place, 10_000_000, (1_000.0 * speed * own) as u64)
                    })),
                    _ => {
                        let (nanos, reads) = (20_400_000_000, (40_000.0 * speed * swing) as u64);
                        pass.slices.push(slice(name, slot, nanos, reads));
                    }
                }
                pass.arms.insert(name.to_string(), side(name, place, round));
            }
            run.rounds.push(pass);
        }
    }
    run
}

/// Contenders of these names by slices: so many tests, rounds and cycles.
pub(crate) fn crowd(names: &[String], tests: usize, rounds: u32, cycles: usize) -> Run {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut run = run(&names, &[1]);
    let plan = comparison_plan(&run);
    run.plan.design =
        Design::Comparison(Comparison { method: Method::Slices, control: false, ..plan });
    run.rounds.clear();
    let names: Vec<String> = run.contenders.iter().map(|one| one.name.clone()).collect();
    let mut noise = 7_u64;
    let mut slices = || {
        let own = |place: usize| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let swing = noise >> 55;
            let slice = slice(&names[place % names.len()], place as u32, 10_000_000, 1_000 + swing);
            SliceRecord { server_cpu: slice.server_cpu + swing * 1_234, ..slice }
        };
        (0..cycles * names.len()).map(own).collect()
    };
    for round in 1..=rounds {
        for (place, test) in (0..).zip(&TESTS[..tests]) {
            run.rounds.push(RoundRecord {
                round,
                place,
                test: test.name.to_string(),
                group: Some(test.group.unwrap_or("Writes").to_string()),
                attempt: 1,
                slices: slices(),
                ..RoundRecord::new(Class::Point, Counts::Statements)
            });
        }
    }
    run
}

fn slice(contender: &str, place: u32, nanos: u64, reads: u64) -> SliceRecord {
    SliceRecord {
        place,
        client: 1,
        arm: contender.to_string(),
        nanos,
        operations: reads,
        reads,
        server_cpu: nanos / 2,
        client_cpu: nanos / 4,
        ..SliceRecord::default()
    }
}

/// Seconds in one of which a checkpoint writes.
pub(crate) fn checkpoint_at(second: u32) -> Series<String> {
    let sample = |at: u32| {
        let mut values = EngineReading::default();
        let pages = if at == second { 900 } else { 0 };
        values.set("pg_stat_bgwriter.buffers_checkpoint", Kind::Counter, pages);
        EngineSample { at: f64::from(at), values }
    };
    let mut samples: Series<String> = (1..=20).map(sample).collect();
    samples.mean(meaning);
    samples
}

/// What each second of a whole run cost.
pub(crate) fn each_second(cost: &[(Metric, u64)]) -> Series<Metric> {
    let sample = |at: u32| Sample { at: f64::from(at), cost: cost.iter().copied().collect() };
    (1..=20).map(sample).collect()
}

/// A read whose plan the first release does not have yet, or a write with its seconds.
fn side(release: &str, place: u32, round: u32) -> Measurement {
    let statement = |text: &str, times: u32, plan: Option<&str>| StatementRecord {
        text: text.to_string(),
        times,
        plan: plan.map(str::to_string),
        tree: plan.map(QueryPlan::new),
        planning: None,
    };
    if place == 0 {
        let plan = match release {
            "postgres@9.6.24" => "Seq Scan on sbtest1",
            _ => "Index Scan using sbtest1_pkey on sbtest1",
        };
        let statements = vec![
            statement("BEGIN", 1, None),
            statement("SELECT c FROM sbtest1 WHERE id=? AND c<'<b>'", 10, Some(plan)),
        ];
        return Measurement { statements, ..Measurement::default() };
    }
    let update = "UPDATE sbtest1 SET k=k+1 WHERE id=?";
    let plan = "Update on sbtest1 <- Index Scan using sbtest1_pkey on sbtest1";
    let second = |at: u64| {
        let operations = 2_000 + 10 * u64::from(round) - if at == 13 { 1_500 } else { 0 };
        Second { operations, rows: operations, max_service: 2_000_000 }
    };
    let mut work = WorkRecord {
        operations: 40_000,
        writes: 40_000,
        // The last is not a whole one.
        seconds: (0..=20).map(second).collect(),
        ..WorkRecord::of_several(Operation::Transaction)
    };
    (1..=2_000u64).for_each(|micros| work.service.record(micros * 1_000).unwrap());
    Measurement {
        statements: vec![statement(update, 1, Some(plan))],
        work: vec![work.packed()],
        samples: each_second(&[(Metric::ServerCpuUser, 400_000)]),
        engine_samples: checkpoint_at(14),
        ..Measurement::default()
    }
}

/// A comparison of what the run has.
pub(crate) fn comparison_plan(run: &Run) -> Comparison {
    let Workload::Microbenchmark(benchmark) = run.plan.workload() else { unreachable!() };
    Comparison::new(Workload::Microbenchmark(benchmark.clone()))
}

/// The DBMS is quiesced after each write test.
pub(crate) fn vacuum_each_write(run: &mut Run) {
    let Design::Single(Workload::Microbenchmark(benchmark)) = &mut run.plan.design else {
        unreachable!()
    };
    benchmark.quiesce_after_each_write = true;
}

fn rounds(contender: &ContenderRecord, place: usize, clients: &[u32]) -> Vec<RoundRecord> {
    let mut rounds = vec![load(contender)];
    for (index, test) in TESTS.iter().enumerate() {
        let change = if index % 2 == 0 { -0.04 } else { 0.03 };
        let speed = 1.0 + change * place as f64;
        for &clients_now in clients {
            let step = match clients {
                [_] => test.name.to_string(),
                _ => format!("{}@{clients_now}", test.name),
            };
            let measured = measured(contender, test, clients_now, speed, place);
            let made = round(contender, test, step, measured);
            rounds.push(RoundRecord { place: rounds.len() as u32, ..made });
        }
    }
    let part = place as u32 + 1;
    rounds.into_iter().map(|round| RoundRecord { part, ..round }).collect()
}

fn round(
    contender: &ContenderRecord,
    test: &Made,
    name: String,
    measured: Measurement,
) -> RoundRecord {
    let counts = match test.name.starts_with("scan") {
        true => Counts::RowsScanned,
        false => Counts::Statements,
    };
    RoundRecord {
        test: name,
        title: test.group.unwrap_or("warm-up").to_string(),
        group: test.group.map(str::to_string),
        started: "2026-11-21T20:16:00Z".to_string(),
        arms: [(contender.name.clone(), measured)].into(),
        ..RoundRecord::new(Class::Point, counts)
    }
}

fn load(contender: &ContenderRecord) -> RoundRecord {
    let test = made("load", None, 0, [0; 3]);
    let measured = Measurement {
        work: vec![worker(1, Operation::Insert, 25, [0, 25, 0], ROWS / SECONDS)],
        ..measured(contender, &test, 1, 1.0, 0)
    };
    RoundRecord {
        title: "fill the tables, then create the secondary indexes".to_string(),
        counts: Counts::RowsInserted,
        ..round(contender, &test, "load".to_string(), measured)
    }
}

fn measured(
    contender: &ContenderRecord,
    test: &Made,
    clients: u32,
    speed: f64,
    place: usize,
) -> Measurement {
    let is_scan = test.name.starts_with("scan");
    // Each client after the first is less of a help.
    let others = f64::from(clients - 1);
    let growth = f64::from(clients) / (1.0 + 0.05 * others + 0.004 * f64::from(clients) * others);
    let events = (test.events as f64 * speed * growth / f64::from(clients)).round() as u64;
    let mut each = test.statements.map(|count| count * events);
    if test.name == "delete" && place == 0 {
        each = [0, events / 2, events - events / 2];
    }
    let rows = if is_scan { 0 } else { each[0] + each[1] };
    let workers: Vec<WorkRecord> = (1..=clients)
        .map(|client| worker(client, Operation::Transaction, events, each, rows))
        .collect();
    let done: u64 = workers.iter().map(|worker| worker.operations).sum();
    let cost = |seconds: u64| {
        let events_now = events * u64::from(clients) * seconds;
        cost(events_now.max(seconds), seconds, test.name == "point-query", contender, clients)
    };
    Measurement {
        status: Status::Done,
        seconds: SECONDS as f64,
        check_seconds: 0.1,
        clients,
        counted_rows: is_scan.then_some(done * ROWS),
        work: workers,
        cost: cost(SECONDS),
        samples: (1..=SECONDS).map(|second| Sample { at: second as f64, cost: cost(1) }).collect(),
        ..Measurement::default()
    }
}

/// In the even seconds a tenth more is done than in the odd ones.
fn worker(
    client: u32,
    operation: Operation,
    events: u64,
    [reads, writes, others]: [u64; 3],
    rows: u64,
) -> WorkRecord {
    let mut service = Histogram::new(3).unwrap();
    let mut seconds = Vec::new();
    for second in 0..SECONDS {
        let swing = events / 20;
        let operations = if second % 2 == 0 { events - swing } else { events + swing };
        let time = 1_000_000_000 / events.max(1);
        service.record_n(time, operations).unwrap();
        seconds.push(Second { operations, rows, max_service: time * 3 });
    }
    let work = WorkRecord {
        client,
        operation,
        operations: events * SECONDS,
        rows: rows * SECONDS,
        reads: reads * SECONDS,
        writes: writes * SECONDS,
        others: others * SECONDS,
        retries: 0,
        service,
        response: None,
        max_lag: 0,
        seconds,
    };
    work.packed()
}

fn cost(
    events: u64,
    seconds: u64,
    is_client_bound: bool,
    contender: &ContenderRecord,
    clients: u32,
) -> Reading {
    let all = seconds * 1_000_000;
    let client = if is_client_bound { all * 6 / 10 } else { all / 10 };
    let mut cost = Reading::from_iter([
        (Metric::ServerCpuUser, all * 3 / 10),
        (Metric::ServerCpuSystem, all / 10),
        (Metric::HostCpuBusy, all * 12 / 10),
        (Metric::HostSwitches, 2 * events * u64::from(clients)),
        (Metric::DeviceReads, 3 * seconds),
        (Metric::DeviceReadBytes, (3 * seconds) << 13),
        (Metric::DeviceWrites, 420 * seconds),
        (Metric::DeviceWriteBytes, (420 * seconds) << 15),
        (Metric::DatabaseBytes, 61 << 20),
        (Metric::ServerRss, 180 << 20),
    ]);
    if contender.transport != "in process" {
        cost.set(Metric::ClientCpuUser, client / 2);
        cost.set(Metric::ClientCpuSystem, client / 2);
    }
    cost
}

/// The comparison with profiles of `scan`, in which the second contender's `decode` costs 8 us more
/// of 20 and `copy`, which the first has, is gone.
pub(crate) fn profiled() -> Run {
    let mut run = comparison();
    let profile = |contender: &str, round: u32, stacks: &[(&str, u64)]| ProfileRecord {
        test: "scan".to_string(),
        contender: contender.to_string(),
        round,
        seconds: 2.0,
        statements: 100_000,
        server_cpu: 2_000_000_000,
        samples: stacks.iter().map(|(_, millis)| millis + u64::from(round % 2) * 10).sum(),
        has_kernel: false,
        stacks: stacks
            .iter()
            .map(|(stack, millis)| {
                (stack.to_string(), (millis + u64::from(round % 2) * 10) * 1_000_000)
            })
            .collect(),
        ..ProfileRecord::default()
    };
    run.profiles = (1..=4)
        .flat_map(|round| {
            let base = [
                ("start;Main;scan", 900),
                ("start;Main;scan;decode<a&b>", 600),
                ("start;Main;scan;copy", 400),
                ("start;Main;send_[k]", 300),
            ];
            let slow = [
                ("start;thread;Main;scan", 900),
                ("start;thread;Main;scan;decode<a&b>", 1_400),
                ("start;thread;Main;send_[k]", 300),
                ("[deeper];Main;scan;[libx.so]", 100),
            ];
            [profile("sqlite", round, &base), profile("slow", round, &slow)]
        })
        .collect();
    run
}
