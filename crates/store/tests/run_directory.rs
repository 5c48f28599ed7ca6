//! A run directory keeps what it is given, and says clearly when it cannot be used.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use hdrhistogram::Histogram;
use rqps_observe::{EngineReading, Kind, Metric, Reading};
use rqps_plan::{
    Class, Contender, Count, Counts, Design, Flags, InsertBenchmark, Operation, Plan, Profile,
    Workload,
};
use rqps_store::{
    ContenderRecord, EngineSample, Manifest, MemoryHold, PassRecord, Planning, Run, RunDirectory,
    Sample, Second, SideRecord, StatementRecord, Status, StepRecord, WorkerRecord,
};

fn plan() -> Plan {
    Plan {
        contenders: vec!["sqlite".parse().unwrap(), "again=sqlite".parse().unwrap()],
        seed: 7,
        cache: None,
        memory: None,
        design: Design::Single(Workload::InsertBenchmark(InsertBenchmark::new(
            Profile::P2025,
            Count(1_000),
        ))),
    }
}

fn create(path: &Path) -> RunDirectory {
    RunDirectory::create(path, plan(), Manifest::default()).unwrap()
}

fn step(contender: &str, order: u32) -> StepRecord {
    let mut service = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).unwrap();
    service.record_n(250_000, 41).unwrap();
    let mut response = service.clone();
    response.record(9_000_000).unwrap();
    StepRecord {
        contender: contender.to_string(),
        step: "qr100".to_string(),
        title: "range queries".to_string(),
        group: Some("range".to_string()),
        counts: Counts::Queries,
        order,
        attempt: 1,
        status: Status::Done,
        error: None,
        started: "2026-11-21T20:00:00Z".to_string(),
        seconds: 2.5,
        pause_seconds: 1.0,
        check_seconds: 0.25,
        clients: 1,
        target_rate: Some(100.0),
        counted_rows: Some(1_100),
        index_seconds: Some(0.5),
        workers: vec![WorkerRecord {
            client: 1,
            operation: Operation::Insert,
            operations: 41,
            rows: 2_050,
            reads: 1,
            writes: 39,
            others: 2,
            retries: 2,
            service,
            response: Some(response),
            max_lag: 77,
            seconds: vec![
                Second { operations: 20, rows: 1_000, max_service: 5 },
                Second::default(),
            ],
        }],
        cost: Reading::from_iter([(Metric::HostCpuBusy, 123), (Metric::DatabaseBytes, 1 << 40)]),
        samples: [Sample { at: 1.0, cost: Reading::from_iter([(Metric::DeviceWrites, 3)]) }]
            .into_iter()
            .collect(),
        engine: engine(40),
        engine_samples: [EngineSample { at: 1.25, values: engine(30) }].into_iter().collect(),
        note: Some("a wait was given up".to_string()),
        statements: statements(),
    }
}

fn statements() -> Vec<StatementRecord> {
    let statement = |text: &str, times, plan: Option<&str>| StatementRecord {
        text: text.to_string(),
        times,
        plan: plan.map(str::to_string),
        planning: plan.map(|_| Planning { before: 41.5, after: Some(1240.0) }),
    };
    vec![statement("BEGIN", 1, None), statement("SELECT 'é' WHERE id=?", 10, Some("Index Scan"))]
}

fn engine(rows: u64) -> EngineReading {
    let mut reading = EngineReading::default();
    reading.set("Innodb_rows_inserted", Kind::Counter, rows);
    reading.set("Innodb_history_list_length", Kind::Gauge, 7);
    reading
}

#[test]
fn a_run_is_read_back_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = create(&path);
    let mut contender = ContenderRecord { name: "again".into(), ..ContenderRecord::default() };
    contender.settings.insert("journal_mode".into(), "wal".into());
    contender.settings.insert("page_size".into(), "4096".into());
    contender.defaults.insert("page_size".into());
    run.save_contender(&contender).unwrap();
    let mut first = step("again", 4);
    run.begin_step(&mut first).unwrap();
    first.status = Status::Done;
    run.finish_step(&first).unwrap();

    let read = Run::open(&path).unwrap();
    assert_eq!(read.plan, plan());
    assert_eq!(read.contenders, [contender]);
    let [found] = read.steps.as_slice() else { panic!("one step") };
    let (worker, expected) = (&found.workers[0], &step("again", 4).workers[0]);
    assert_eq!(worker.service, expected.service);
    assert_eq!(worker.response, expected.response);
    assert_eq!(worker.seconds, expected.seconds);
    assert_eq!(
        (worker.operations, worker.rows, worker.retries, worker.max_lag),
        (41, 2_050, 2, 77)
    );
    assert_eq!((&found.cost, &found.samples), (&first.cost, &first.samples));
    assert_eq!((&found.engine, &found.engine_samples), (&first.engine, &first.engine_samples));
    assert_eq!((&found.note, &found.statements), (&first.note, &first.statements));
    assert_eq!((found.target_rate, found.counted_rows), (Some(100.0), Some(1_100)));
}

#[test]
fn a_pass_is_read_back_as_it_was_written() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    // A whole run of what a step does, and the next pass of another contender.
    let whole = step("sqlite", 0);
    let side = SideRecord {
        slot: 1,
        watched: 41,
        statements: statements(),
        target_rate: whole.target_rate,
        work: whole.work().into_iter().map(|work| work.packed()).collect(),
        samples: whole.samples.clone(),
        engine_samples: whole.engine_samples.clone(),
        note: Some("a wait was given up".to_string()),
        ..SideRecord::default()
    };
    let pass = PassRecord {
        round: 1,
        test: "scan".to_string(),
        part: 1,
        load: 1,
        attempt: 1,
        cpus: vec![0, 1],
        canary: vec![7, 8],
        sides: [("sqlite".to_string(), side)].into(),
        ..PassRecord::new(Class::Point)
    };
    let mut next = PassRecord { round: 2, ..pass.clone() };
    next.sides = [("again".to_string(), SideRecord::default())].into();
    run.save_pass(&pass).unwrap();
    run.save_pass(&next).unwrap();
    let passes = run.passes().unwrap();
    assert_eq!(passes, [pass, next]);
    let [read] = passes[0].sides["sqlite"].work.as_slice() else { panic!("one kind") };
    assert_eq!(read.clone().unpacked(), whole.work()[0]);
    assert!(run.run().unwrap().steps.is_empty(), "a whole run of a comparison is no step");

    let results = rusqlite::Connection::open(directory.path().join("results.sqlite")).unwrap();
    results.execute("update worker set response = x'00'", []).unwrap();
    assert!(Run::open(directory.path()).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn a_class_that_is_not_known_is_an_error_and_never_another() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    run.save_pass(&PassRecord { round: 1, ..PassRecord::new(Class::Scan) }).unwrap();
    assert_eq!(run.passes().unwrap()[0].class, Class::Scan);
    let results = rusqlite::Connection::open(directory.path().join("results.sqlite")).unwrap();
    results.execute("update pass set class = 'analytic'", []).unwrap();
    let error = Run::open(directory.path()).unwrap_err().to_string();
    assert!(error.contains("results.sqlite' is damaged: class 'analytic' is not known"), "{error}");
}

#[test]
fn a_round_that_has_come_farther_takes_the_place_of_what_was_kept_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    let side = || SideRecord {
        work: step("sqlite", 0).work().into_iter().map(|work| work.packed()).collect(),
        samples: step("sqlite", 0).samples,
        ..SideRecord::default()
    };
    let pass = |attempt| PassRecord {
        round: 1,
        test: "l.i0".to_string(),
        part: 1,
        attempt,
        sides: [("sqlite".to_string(), side())].into(),
        ..PassRecord::new(Class::Point)
    };
    let earlier = PassRecord { round: 0, ..pass(1) };
    run.save_pass(&earlier).unwrap();
    run.replace_passes(&[&pass(1)]).unwrap();
    let refused = PassRecord { sides: BTreeMap::new(), ..pass(1) };
    let mut farther = pass(2);
    farther.sides.insert("again".to_string(), side());
    run.replace_passes(&[&refused, &farther]).unwrap();
    assert_eq!(run.passes().unwrap(), [earlier, refused, farther]);
    // Nothing stays of what was kept before.
    let results = rusqlite::Connection::open(directory.path().join("results.sqlite")).unwrap();
    let count = |table: &str| -> u32 {
        let sql = format!("select count(*) from {table}");
        results.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("pass_side"), count("worker")), (3, 3));
}

#[test]
fn what_several_did_together_is_their_sum_by_kind_and_by_second() {
    let mut step = step("sqlite", 0);
    let mut second = step.workers[0].clone();
    (second.client, second.response, second.max_lag) = (2, None, 70);
    second.seconds = vec![Second { operations: 1, rows: 50, max_service: 9 }; 3];
    let query = WorkerRecord { operation: Operation::Query, ..second.clone() };
    step.workers.extend([second, query]);
    let work = step.work();
    let kinds: Vec<Operation> = work.iter().map(|work| work.operation).collect();
    assert_eq!(kinds, [Operation::Insert, Operation::Query]);
    let inserts = &work[0];
    assert_eq!((inserts.client, inserts.operations, inserts.rows), (0, 82, 4_100));
    assert_eq!((inserts.max_lag, inserts.service.len()), (77, 82));
    let response = inserts.response.as_ref().unwrap();
    assert_eq!(response.len(), 42, "only the first has had a rate");
    assert_eq!(
        inserts.seconds,
        [
            Second { operations: 21, rows: 1_050, max_service: 9 },
            Second { operations: 1, rows: 50, max_service: 9 },
            Second { operations: 1, rows: 50, max_service: 9 },
        ]
    );
    assert_eq!((work[1].operations, work[1].response.is_none()), (41, true));
}

#[test]
fn a_run_of_an_rqps_that_did_not_look_for_flags_is_read_and_resumed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = create(&path);
    let flags = Flags {
        level: Some("-Os".to_string()),
        lto: Some(false),
        hardening: vec!["pie".to_string()],
        ..Flags::default()
    };
    let record = |name: &str, flags: Option<&Flags>| ContenderRecord {
        name: name.into(),
        flags: flags.cloned(),
        ..ContenderRecord::default()
    };
    let told = record("sqlite", Some(&flags));
    run.save_contender(&told).unwrap();
    assert_eq!(run.run().unwrap().contenders, std::slice::from_ref(&told));
    drop(run);

    let connection = rusqlite::Connection::open(path.join("results.sqlite")).unwrap();
    connection.execute_batch("alter table contender drop column flags").unwrap();
    assert_eq!(Run::open(&path).unwrap().contenders, [record("sqlite", None)]);
    let mut resumed = RunDirectory::resume(&path).unwrap();
    assert_eq!(resumed.run().unwrap().contenders, [record("sqlite", None)]);
    let later = record("again", Some(&flags));
    resumed.save_contender(&later).unwrap();
    assert_eq!(resumed.run().unwrap().contenders, [record("sqlite", None), later]);

    // Which an rqps that knows nothing of them reads by its own names.
    let version: u32 =
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!(version, 6);
}

#[test]
fn contenders_come_in_the_order_of_the_plan() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    for name in ["again", "sqlite"] {
        let record = ContenderRecord { name: name.into(), ..ContenderRecord::default() };
        run.save_contender(&record).unwrap();
    }
    let names: Vec<String> = run.run().unwrap().contenders.into_iter().map(|c| c.name).collect();
    assert_eq!(names, ["sqlite", "again"]);
}

#[test]
fn the_manifest_tells_what_stands_between_a_server_and_the_device() {
    let directory = tempfile::tempdir().unwrap();
    let held = [
        (MemoryHold::Nothing, "\"nothing\"", "not limited by rqps"),
        (
            MemoryHold::CgroupV1 { bytes: 96 << 20 },
            "\"cgroup_v1\"",
            "96M for each, its page cache included (cgroup v1)",
        ),
        (
            MemoryHold::CgroupV2 { bytes: 1 << 30 },
            "\"cgroup_v2\"",
            "1G for each, its page cache included (cgroup v2)",
        ),
    ];
    for (index, (held, kept, told)) in held.into_iter().enumerate() {
        let path = directory.path().join(index.to_string());
        let manifest = Manifest { memory: Some(held), ..Manifest::default() };
        let mut run = RunDirectory::create(&path, plan(), manifest).unwrap();
        for (contender, is_direct) in [("sqlite", false), ("again", true)] {
            run.set_direct_reads(contender, is_direct).unwrap();
        }
        let manifest = fs::read_to_string(path.join("manifest.json")).unwrap();
        assert!(manifest.contains(kept), "{manifest}");
        let read = run.run().unwrap().manifest;
        assert_eq!(read.memory, Some(held));
        assert_eq!(held.to_string(), told);
        assert_eq!(read.direct_io(), "again yes, sqlite no");
    }
    // As it was before either was noted.
    let older = directory.path().join("older");
    let run = create(&older);
    let manifest = fs::read_to_string(older.join("manifest.json")).unwrap();
    assert!(!manifest.contains("memory") && !manifest.contains("direct"), "{manifest}");
    let read = run.run().unwrap().manifest;
    assert_eq!((read.memory, read.direct_io().as_str()), (None, ""));
}

#[test]
fn every_contender_has_a_log_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["a+b=sqlite", "a_b=sqlite", "c=sqlite", "c_d=sqlite", "c+d=sqlite"];
    let contenders = names.map(|name| name.parse::<Contender>().unwrap()).to_vec();
    let plan = Plan { contenders, ..plan() };
    let run = RunDirectory::create(directory.path(), plan, Manifest::default()).unwrap();
    let logs = run.plan.contenders.iter().map(|contender| run.log(&contender.name()));
    let logs: Vec<_> = logs.map(|log| log.file_name().unwrap().to_owned()).collect();
    assert_eq!(logs, ["a_b.log", "a_b+1.log", "c.log", "c_d.log", "c_d+1.log"]);
}

#[test]
fn a_step_that_was_begun_and_not_ended_is_seen_and_can_be_done_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = create(&path);
    run.begin_step(&mut step("sqlite", 0)).unwrap();
    drop(run);

    let mut run = RunDirectory::resume(&path).unwrap();
    assert_eq!(run.done_steps("sqlite").unwrap(), [] as [u32; 0]);
    assert_eq!(run.run().unwrap().steps[0].status, Status::Running);
    let mut again = step("sqlite", 0);
    run.begin_step(&mut again).unwrap();
    again.status = Status::Done;
    run.finish_step(&again).unwrap();
    assert_eq!(run.done_steps("sqlite").unwrap(), [0]);
    let steps = run.run().unwrap().steps;
    assert_eq!((steps.len(), steps[0].attempt, steps[0].status), (1, 2, Status::Done));
}

#[test]
fn a_directory_that_holds_something_is_not_taken() {
    let directory = tempfile::tempdir().unwrap();
    let create = || RunDirectory::create(directory.path(), plan(), Manifest::default());
    fs::write(directory.path().join("precious"), "text").unwrap();
    assert!(create().unwrap_err().to_string().contains("not empty"));
    fs::remove_file(directory.path().join("precious")).unwrap();
    drop(create().unwrap());
    assert!(create().unwrap_err().to_string().contains("--resume"));
}

#[test]
fn a_directory_in_which_a_run_was_being_made_is_taken() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    drop(create(path));
    fs::rename(path.join("results.sqlite"), path.join(".rqps-1.new")).unwrap();
    fs::write(path.join("logs/a.log"), "").unwrap();
    let make = || RunDirectory::create(path, plan(), Manifest::default());
    assert!(make().unwrap_err().to_string().contains("not empty"), "there was a server");
    fs::remove_file(path.join("logs/a.log")).unwrap();
    let mut run = make().unwrap();
    assert!(!path.join(".rqps-1.new").exists(), "what was begun is gone");
    run.begin_step(&mut step("sqlite", 0)).unwrap();
    drop(run);
    fs::remove_file(path.join("results.sqlite")).unwrap();
    fs::write(path.join("lock"), "").unwrap();
    assert!(make().unwrap_err().to_string().contains("not empty"), "a lock of another program's");
    fs::remove_file(path.join("lock")).unwrap();
    assert!(make().unwrap_err().to_string().contains("not empty"), "a plan of the user's own");
}

#[test]
fn two_cannot_work_in_one_directory() {
    let directory = tempfile::tempdir().unwrap();
    let first = create(directory.path());
    assert!(RunDirectory::is_busy(directory.path()));
    let error = RunDirectory::resume(directory.path()).unwrap_err().to_string();
    assert!(error.contains("another rqps"), "{error}");
    drop(first);
    RunDirectory::resume(directory.path()).unwrap();
}

#[test]
fn other_versions_and_damage_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    assert!(Run::open(path).unwrap_err().to_string().contains("holds no run"));
    drop(create(path));
    let results = path.join("results.sqlite");
    let whole = fs::read(&results).unwrap();

    fs::write(&results, &whole[..whole.len() / 2]).unwrap();
    assert!(Run::open(path).unwrap_err().to_string().contains("damaged"));

    let mut newer = whole;
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&results, newer).unwrap();
    assert!(Run::open(path).unwrap_err().to_string().contains("schema version 99"));
}

#[test]
fn every_cut_and_every_missing_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut run = create(path);
    let mut kept = step("sqlite", 0);
    run.begin_step(&mut kept).unwrap();
    kept.status = Status::Done;
    run.finish_step(&kept).unwrap();
    drop(run);
    let results = path.join("results.sqlite");
    let whole = fs::read(&results).unwrap();
    // Cut anywhere, the file is refused: never a panic, and never a part of it as if it were all.
    for tenth in 0..10 {
        fs::write(&results, &whole[..whole.len() * tenth / 10]).unwrap();
        let error = Run::open(path).unwrap_err().to_string();
        assert!(error.contains("results.sqlite"), "{tenth} tenths: {error}");
    }
    fs::write(&results, b"not a database, but long enough to look at as if it were one").unwrap();
    assert!(Run::open(path).unwrap_err().to_string().contains("results.sqlite' is damaged"));
    let mut overwritten = whole.clone();
    overwritten[100..4_096].fill(0xa5);
    fs::write(&results, overwritten).unwrap();
    assert!(Run::open(path).unwrap_err().to_string().contains("results.sqlite' is damaged"));

    fs::write(&results, &whole).unwrap();
    for (name, text) in [("plan.toml", "seed ="), ("manifest.json", "{\"id\": 1")] {
        let file = path.join(name);
        let before = fs::read(&file).unwrap();
        fs::write(&file, text).unwrap();
        let error = Run::open(path).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("damaged"), "{error}");
        fs::remove_file(&file).unwrap();
        let error = Run::open(path).unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("cannot read"), "{error}");
        fs::write(&file, before).unwrap();
    }
    Run::open(path).unwrap();
}

#[test]
fn without_samples_the_rest_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    let mut kept = step("sqlite", 0);
    run.begin_step(&mut kept).unwrap();
    run.finish_step(&kept).unwrap();
    let (all, few) = (Run::open(directory.path()).unwrap(), {
        Run::open_without_samples(directory.path()).unwrap()
    });
    assert_eq!((few.steps[0].samples.at().len(), few.steps[0].engine_samples.at().len()), (0, 0));
    assert_eq!((all.steps[0].samples.at().len(), all.steps[0].engine_samples.at().len()), (1, 1));
    assert_eq!(
        (&all.steps[0].cost, &all.steps[0].engine),
        (&few.steps[0].cost, &few.steps[0].engine)
    );
    assert_eq!(all.steps[0].workers[0].seconds, few.steps[0].workers[0].seconds);
}
