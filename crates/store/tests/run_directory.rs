//! A run directory keeps what it is given, and says clearly when it cannot be used.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use hdrhistogram::Histogram;
use rqps_observe::{CounterMeaning, EngineReading, Kind, Meaning, Metric, Reading};
use rqps_plan::{
    Class, Contender, Count, Counts, Design, Flags, IndexUsed, InsertBenchmark, LuaWorkload,
    Operation, Plan, Profile, QueryPlan, Span, Workload,
};
use rqps_store::{
    ContenderRecord, EngineSample, Manifest, Measurement, MemoryHold, PackedHistogram, Planning,
    RoundRecord, Run, RunDirectory, Sample, Second, SliceRecord, StatementRecord, Status,
    StoreError, WorkRecord,
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

/// A test of a single run.
fn round(contender: &str, part: u32) -> RoundRecord {
    RoundRecord {
        test: "qr100".to_string(),
        title: "range queries".to_string(),
        group: Some("range".to_string()),
        place: 4,
        part,
        started: "2026-11-21T20:00:00Z".to_string(),
        seconds: 2.75,
        cpus: vec![0, 1],
        reference_loop: vec![7, 8],
        machine: Reading::from_iter([(Metric::HostCpuBusy, 456)]),
        arms: [(contender.to_string(), measured())].into(),
        ..RoundRecord::new(Class::Range, Counts::Queries)
    }
}

fn measured() -> Measurement {
    let mut service = Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3).unwrap();
    service.record_n(250_000, 41).unwrap();
    let mut response = service.clone();
    response.record(9_000_000).unwrap();
    Measurement {
        slot: 1,
        status: Status::Done,
        error: None,
        seconds: 2.5,
        pause_seconds: 1.0,
        check_seconds: 0.25,
        clients: 1,
        target_rate: Some(100.0),
        counted_rows: Some(1_100),
        index_seconds: Some(0.5),
        work: vec![WorkRecord {
            client: 1,
            operation: Operation::Insert,
            operations: 41,
            rows: 2_050,
            reads: 1,
            writes: 39,
            others: 2,
            retries: 2,
            service: PackedHistogram::of(&service),
            response: Some(PackedHistogram::of(&response)),
            max_lag: 77,
            seconds: vec![
                Second { operations: 20, rows: 1_000, max_service: 5 },
                Second::default(),
            ],
        }],
        cost: Reading::from_iter([(Metric::HostCpuBusy, 123), (Metric::DatabaseBytes, 1 << 40)]),
        slice_cost: Reading::from_iter([(Metric::DeviceFlushes, 9)]),
        watched: 41,
        bytes_before: Some(1 << 39),
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
        tree: plan.map(|operator| QueryPlan {
            table: Some("sbtest1".to_string()),
            index: Some(IndexUsed { name: "k_1".into(), definition: Some("btree (k)".into()) }),
            inputs: vec![QueryPlan::new("Materialize")],
            ..QueryPlan::new(operator)
        }),
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
    contender.flags = Some(Flags {
        level: Some("-Os".to_string()),
        lto: Some(false),
        hardening: vec!["pie".to_string()],
        ..Flags::default()
    });
    contender.counters =
        vec![CounterMeaning { ends: "_length".into(), meaning: Meaning::RowVersionsLeft }];
    run.save_contender(&contender).unwrap();
    // What is begun and done, and a round of another arm.
    let mut first = round("again", 2);
    run.begin(&mut first).unwrap();
    run.save(&first).unwrap();
    let mut next = RoundRecord { round: 2, discarded: Some("busy".to_string()), ..first.clone() };
    next.arms = [("sqlite".to_string(), Measurement::default())].into();
    next.slices = vec![SliceRecord { client: 1, arm: "sqlite".to_string(), ..Default::default() }];
    run.save(&next).unwrap();

    let read = Run::open(&path).unwrap();
    assert_eq!(read.plan, plan());
    assert_eq!(read.contenders, std::slice::from_ref(&contender));
    let mut rounds = read.rounds.clone();
    // What its counters stand for is known of who counts them.
    let arm = rounds.iter_mut().find_map(|round| round.arms.get_mut("again")).unwrap();
    let meanings: Vec<_> = arm.engine.iter().map(|(name, read)| (name, read.meaning)).collect();
    let left = Some(Meaning::RowVersionsLeft);
    let expected = [("Innodb_history_list_length", left), ("Innodb_rows_inserted", None)];
    assert_eq!(meanings, expected);
    assert_eq!(arm.engine_samples.column("Innodb_history_list_length").unwrap().meaning, left);
    arm.engine.mean(|_| None);
    arm.engine_samples.mean(|_| None);
    rounds.sort_by_key(|round| round.round);
    assert_eq!(rounds, [first, next]);

    let results = rusqlite::Connection::open(path.join("results.sqlite")).unwrap();
    results.execute("update work set response = x'00'", []).unwrap();
    assert!(Run::open(&path).unwrap_err().to_string().contains("damaged"));
}

#[test]
fn slices_of_an_arm_without_its_measurement_are_damage_that_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut run = create(path);
    let mut record = round("sqlite", 1);
    record.slices =
        vec![SliceRecord { client: 1, arm: "sqlite".to_string(), ..SliceRecord::default() }];
    run.save(&record).unwrap();
    Run::open(path).unwrap();

    let results = rusqlite::Connection::open(path.join("results.sqlite")).unwrap();
    results.execute("delete from measurement", []).unwrap();
    let told = format!(
        "damaged: round 1 of {} has slices of 'sqlite' and no measurement of it",
        record.test
    );
    let error = Run::open(path).unwrap_err().to_string();
    assert!(error.contains(&told), "{error}");
}

#[test]
fn a_word_that_is_not_known_is_an_error_and_never_another() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    let contender = ContenderRecord {
        name: "sqlite".into(),
        counters: vec![CounterMeaning { ends: "x".into(), meaning: Meaning::LogBytes }],
        ..ContenderRecord::default()
    };
    run.save_contender(&contender).unwrap();
    run.save(&round("sqlite", 1)).unwrap();
    let results = rusqlite::Connection::open(directory.path().join("results.sqlite")).unwrap();
    let words = [
        ("round", "class", "range"),
        ("round", "counts", "queries"),
        ("measurement", "status", "done"),
        ("work", "operation", "insert"),
        ("cost", "metric", ""),
        ("engine", "kind", ""),
        ("counter_meaning", "meaning", "log_bytes"),
    ];
    for (table, column, known) in words {
        let before: String = results
            .query_row(&format!("select {column} from {table}"), [], |row| row.get(0))
            .unwrap();
        assert!(known.is_empty() || before == known, "{table}.{column}: {before}");
        let change = |from: &str, to: &str| {
            let sql = format!("update {table} set {column} = ?2 where {column} = ?1");
            results.execute(&sql, [from, to]).unwrap();
        };
        change(&before, "analytic");
        let error = Run::open(directory.path()).unwrap_err().to_string();
        let told = format!("results.sqlite' is damaged: {column} 'analytic' is not known");
        assert!(error.contains(&told), "{error}");
        change("analytic", &before);
    }
    Run::open(directory.path()).unwrap();
}

#[test]
fn a_round_that_has_come_farther_takes_the_place_of_what_was_kept_of_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut run = create(directory.path());
    let earlier = RoundRecord { round: 1, ..round("sqlite", 1) };
    run.save(&earlier).unwrap();
    let attempt = |attempt| RoundRecord { round: 2, attempt, ..round("sqlite", 1) };
    run.replace(&[&attempt(1)]).unwrap();
    let discarded = Some("busy".to_string());
    let discarded = RoundRecord { arms: BTreeMap::new(), discarded, ..attempt(1) };
    let mut farther = attempt(2);
    farther.arms.insert("again".to_string(), measured());
    run.replace(&[&discarded, &farther]).unwrap();
    assert_eq!(run.rounds().unwrap(), [earlier, discarded, farther]);
    // Nothing stays of what was kept before.
    let results = rusqlite::Connection::open(directory.path().join("results.sqlite")).unwrap();
    let count = |table: &str| -> u32 {
        let sql = format!("select count(*) from {table}");
        results.query_row(&sql, [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("measurement"), count("work"), count("second")), (3, 3, 6));
}

#[test]
fn what_several_did_together_is_their_sum_by_kind_and_by_second() {
    let first = measured().work.remove(0);
    let mut second = first.clone();
    (second.client, second.response, second.max_lag) = (2, None, 70);
    second.seconds = vec![Second { operations: 1, rows: 50, max_service: 9 }; 3];
    let query = WorkRecord { operation: Operation::Query, ..second.clone() };
    let work = WorkRecord::by_operation(vec![first, second, query]);
    let kinds: Vec<Operation> = work.iter().map(|work| work.operation).collect();
    assert_eq!(kinds, [Operation::Insert, Operation::Query]);
    let inserts = &work[0];
    assert_eq!((inserts.client, inserts.operations, inserts.rows), (0, 82, 4_100));
    assert_eq!((inserts.max_lag, inserts.service.unpacked().len()), (77, 82));
    let response = inserts.response.as_ref().unwrap();
    assert_eq!(response.unpacked().len(), 42, "only the first has had a rate");
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
fn a_test_that_was_begun_and_not_ended_is_seen_and_can_be_done_again() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = create(&path);
    let status = |run: &RunDirectory| {
        let rounds = run.rounds().unwrap();
        let [round] = rounds.as_slice() else { panic!("one test: {rounds:?}") };
        (round.attempt, round.arms["sqlite"].status)
    };
    let mut begun = round("sqlite", 1);
    begun.arms.insert("sqlite".to_string(), Measurement::default());
    run.begin(&mut begun).unwrap();
    drop(run);

    let mut run = RunDirectory::resume(&path).unwrap();
    assert_eq!(run.done(1).unwrap(), [] as [u32; 0]);
    assert_eq!(status(&run), (1, Status::Running));
    run.begin(&mut begun).unwrap();
    begun.arms.insert("sqlite".to_string(), measured());
    run.save(&begun).unwrap();
    assert_eq!((run.done(1).unwrap(), run.done(2).unwrap()), (vec![4], vec![]));
    assert_eq!(status(&run), (2, Status::Done));
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
fn a_plan_that_could_not_be_read_back_is_not_begun() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let workload = LuaWorkload {
        scripts: Vec::new(),
        options: [("text".to_string(), "a\u{c}b".to_string())].into(),
        clients: 1,
        time: Span(Duration::from_secs(1)),
    };
    let plan = Plan { design: Design::Single(workload.into()), ..plan() };
    let error = RunDirectory::create(&path, plan, Manifest::default()).unwrap_err().to_string();
    assert!(error.contains("has control characters. Remove them"), "{error}");
    assert!(!path.exists());
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
    run.begin(&mut round("sqlite", 1)).unwrap();
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
    assert!(Run::open(path).unwrap_err().to_string().contains("contains no run"));
    drop(create(path));
    let results = path.join("results.sqlite");
    let whole = fs::read(&results).unwrap();

    fs::write(&results, &whole[..whole.len() / 2]).unwrap();
    assert!(Run::open(path).unwrap_err().to_string().contains("damaged"));

    let mut newer = whole;
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    fs::write(&results, newer).unwrap();
    assert!(
        Run::open(path)
            .unwrap_err()
            .to_string()
            .contains("has schema 99; this rqps reads schema 7.")
    );
    // Nothing is written into a run that cannot be resumed.
    fs::remove_file(path.join("lock")).unwrap();
    let refused = RunDirectory::resume(path).err().unwrap().to_string();
    assert!(refused.contains("has schema 99"), "{refused}");
    assert!(!path.join("lock").exists());
}

#[test]
fn every_cut_and_every_missing_file_is_an_error_that_names_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let mut run = create(path);
    run.save(&round("sqlite", 1)).unwrap();
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
    run.save(&round("sqlite", 1)).unwrap();
    let arm = |read: fn(&Path) -> Result<Run, StoreError>| {
        read(directory.path()).unwrap().rounds[0].arms["sqlite"].clone()
    };
    let (all, few) = (arm(Run::open), arm(Run::open_without_samples));
    assert_eq!((few.samples.at().len(), few.engine_samples.at().len()), (0, 0));
    assert_eq!((all.samples.at().len(), all.engine_samples.at().len()), (1, 1));
    let (samples, engine_samples) = (all.samples.clone(), all.engine_samples.clone());
    assert_eq!(Measurement { samples, engine_samples, ..few }, all);
}
