//! Storage: reads, writes and the flushes of commits.

use super::*;

/// Seed 000: qr1000.L6 at 0.39 of the baseline, with twice the reads.
fn more_reads() -> Case {
    Case::slower("qr1000.L6", Class::Range, -61.0)
        .part(Part::BlockIo, 0.7)
        .part(Part::ServerUser, 0.3)
        .metric("device_read_bytes", 2.0)
        .metric("device_reads", 2.0)
        .metric("database_bytes", 1.0)
}

#[test]
fn r4_reads_name_space_cache_or_filters() {
    let finding = more_reads().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Reads, Confidence::Strong));
    assert_eq!(
        finding.statement,
        "operations/s by a factor of 0.39: KiB read per operation change by a factor of 2.00 \
         (95 % interval 1.87 to 2.14). The database has the same size: check the cache and the \
         query plan. Waiting for reads explains 70 % of the change (strong)."
    );
    let larger = more_reads().metric("database_bytes", 1.6).only();
    assert!(larger.statement.contains("The size of the database changes by +60.0 %"));
    let hardly = more_reads().metric("database_bytes", 1.013).only();
    assert!(hardly.statement.contains("has the same size"), "{}", hardly.statement);
    let filters = more_reads().metric("rocksdb_bloom_filter_useful", 0.3).only();
    assert!(filters.statement.contains("Filters avoid fewer reads (rocksdb_bloom_filter_useful)"));
    let without = more_reads().metric("rocksdb_bloom_filter_useful", 0.3).with(|evidence| {
        evidence.metrics.get_mut("rocksdb_bloom_filter_useful").unwrap().contender = 0.0;
    });
    assert!(!without.only().statement.contains("Filters"), "another DBMS has none");
}

/// MySQL 8.0 with a pool that does not hold the data, on a device that answers at once: half of the
/// added time is CPU, and there is one voluntary switch for each read.
#[test]
fn r4_a_statement_that_begins_to_read_takes_cpu_for_it() {
    let begins = |reads: f64| {
        let change = |base: f64, contender: f64| {
            let log = sure((contender / base).ln());
            Change { base, contender, log, noise: 0.1 }
        };
        Case::slower("points-notcovered-pk", Class::Point, -90.0)
            .part(Part::ServerUser, 0.6)
            .part(Part::Rest, 0.4)
            .metric("device_read_bytes", 8.9)
            .with(|evidence| {
                let metrics = &mut evidence.metrics;
                metrics.insert("device_reads".to_string(), change(0.0002, reads));
                let switches = change(0.6, 0.6 + reads);
                metrics.insert("server_voluntary_switches".to_string(), switches);
            })
    };
    assert_eq!(begins(31.3).causes(), [(Cause::Reads, Confidence::Strong)]);
    let few = begins(0.01).causes();
    assert_eq!(few[0].0, Cause::Cpu, "one in a hundred operations reads: {few:?}");
}

#[test]
fn r4_is_contradicted_by_as_many_bytes_as_before() {
    let split = more_reads().metric("device_read_bytes", 1.0);
    assert!(!split.has(Cause::Reads));
}

/// Seed 004: update-index writes 53.4 against 44.3 kB per operation.
pub(super) fn more_writes() -> Case {
    Case::slower("update-index", Class::Update, -15.0)
        .part(Part::Rest, 0.6)
        .metric("device_write_bytes", 53.4 / 44.3)
}

#[test]
fn r5_writes_are_told_by_where_they_go() {
    let log = more_writes().metric("wal_bytes", 1.3).only();
    assert_eq!((log.cause, log.confidence), (Cause::Writes, Confidence::Strong));
    assert_eq!(
        log.statement,
        "-15.0 % operations/s: KiB written per operation change by +20.5 % (95 % interval +18.3 % \
         to +22.8 %). The difference is in the log: check full-page images, compression and record \
         size (strong)."
    );
    let pages = more_writes().metric("Innodb_pages_written", 1.3).only();
    assert!(pages.statement.contains("random changes of secondary indexes"));
    let twice = more_writes().metric("Innodb_dblwr_pages_written", 2.0).only();
    assert!(twice.statement.contains("The difference is in pages that are written twice"));
    let neither = ["Innodb_pages_written", "Innodb_os_log_written"];
    let neither = neither.into_iter().fold(more_writes(), |case, name| case.metric(name, 1.0));
    let double = explain(&neither.0).into_iter().find(|one| one.cause == Cause::Writes).unwrap();
    assert!(double.statement.contains("double writes"));
    assert_eq!(double.confidence, Confidence::Hint);
}

/// Kilobytes of an operation: 44 of pages and 1 of log become 62 and 2.
#[test]
fn r5_is_the_log_where_half_of_the_bytes_that_were_added_are_its() {
    let log_of = |base: f64, contender: f64| {
        let kib = |base: f64, contender: f64| {
            let log = sure((contender / base).ln());
            Change { base: base * 1024.0, contender: contender * 1024.0, log, noise: 0.002 }
        };
        let case = more_writes().metric("buffers_written", 62.0 / 44.0).metric("wal_bytes", 2.0);
        case.with(|evidence| {
            evidence.metrics.insert("device_write_bytes".to_string(), kib(45.0, 64.0));
            evidence.metrics.insert("wal_bytes".to_string(), kib(base, contender));
        })
    };
    let doubled = log_of(1.0, 2.0).only().statement;
    assert!(doubled.contains("The difference is in pages: check checkpoints"), "{doubled}");
    let most = log_of(20.0, 32.0).only().statement;
    assert!(most.contains("The difference is in the log"), "{most}");
    // The DBMS counts per batch of 50 rows, and the rest is per row.
    let batches = |case: Case| case.with(|evidence| evidence.each = Some(50.0)).only().statement;
    let doubled = batches(log_of(50.0, 100.0));
    assert!(doubled.contains("The difference is in pages"), "{doubled}");
    let most = batches(log_of(1000.0, 1600.0));
    assert!(most.contains("The difference is in the log"), "{most}");
}

#[test]
fn r5_is_a_hint_where_statements_only_read() {
    let read = Case::slower("range", Class::Range, -2.0);
    let read = read.metric("server_write_bytes", 2.0).metric("wal_bytes", 10.0);
    assert!(read.causes().contains(&(Cause::Writes, Confidence::Hint)));
}

/// A quota of CPUs: 0.21 of the rate, and 12 % more is written for each operation.
#[test]
fn r5_is_a_hint_where_a_little_more_is_written_by_operations_that_take_much_longer() {
    let longer = |percent: f64| {
        Case::slower("update-index", Class::Update, percent)
            .metric("device_write_bytes", 1.12)
            .metric("Innodb_pages_written", 1.12)
            .causes()
    };
    assert!(longer(-79.0).contains(&(Cause::Writes, Confidence::Hint)));
    assert!(longer(-9.0).contains(&(Cause::Writes, Confidence::Strong)));
}

/// A client that is 5 % slower: the log writer continues to write by the second.
#[test]
fn r5_is_a_hint_where_no_more_is_written_in_a_second() {
    let by_the_second = |of_waiting: f64| {
        Case::slower("update-nonindex", Class::Update, -5.4)
            .part(Part::Rest, of_waiting)
            .metric("device_write_bytes", 1.035)
            .metric("wal_bytes", 1.035)
            .causes()
    };
    assert!(by_the_second(0.1).contains(&(Cause::Writes, Confidence::Hint)));
    assert!(by_the_second(0.9).contains(&(Cause::Writes, Confidence::Strong)), "a full disk");
}

#[test]
fn r5_is_contradicted_by_as_many_bytes_as_before() {
    assert!(!more_writes().metric("device_write_bytes", 1.0).has(Cause::Writes));
}

pub(super) fn commits() -> Case {
    Case::slower("update-nonindex", Class::Update, -70.0)
        .part(Part::Rest, 0.95)
        .metric("device_writes", 1.0)
        .with(|evidence| {
            let change = sure(110.0);
            evidence.sync = Some(Cost { base: 60.0, contender: 170.0, change });
            evidence.reads_unaffected = Some(true);
        })
}

#[test]
fn r11_waiting_for_syncs_is_commit_latency() {
    let finding = commits().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Commit, Confidence::Strong));
    assert!(
        finding.statement.contains(
            "+110 us (95 % interval +99 to +121) of waiting for syncs per operation explains 94 %"
        ),
        "{}",
        finding.statement
    );
}

#[test]
fn r11_is_contradicted_by_syncs_that_stay() {
    let flat = commits().with(|evidence| {
        evidence.sync.as_mut().unwrap().change = ValueRange::new(100.0, -10.0, 210.0);
    });
    assert_eq!(flat.causes(), [(Cause::Unexplained, Confidence::Hint)]);
}

/// On a device whose flushes are short beside the writes that they wait for.
#[test]
fn r11_more_flushes_are_commit_latency_too() {
    let more = commits().metric("device_flushes", 40.0).with(|evidence| evidence.sync = None);
    let finding = more.only();
    assert_eq!(finding.cause, Cause::Commit);
    assert!(finding.statement.contains("device flushes per operation change by a factor"));
    let as_many = commits().metric("device_flushes", 1.0).with(|evidence| evidence.sync = None);
    assert!(!as_many.has(Cause::Commit));
}

/// MyRocks on a device that flushes in 40 us: half of a commit's time is CPU.
#[test]
fn r11_a_flush_per_operation_where_there_was_none_is_commit_latency_with_the_cpu_that_it_takes() {
    let begins = |contender: f64| {
        Case::slower("update-nonindex", Class::Update, -80.0)
            .part(Part::Rest, 0.49)
            .part(Part::ServerSystem, 0.28)
            .part(Part::ServerUser, 0.23)
            .with(|evidence| {
                let log = sure((contender / 0.001).ln());
                let flushes = Change { base: 0.001, contender, log, noise: 0.1 };
                evidence.metrics.insert("device_flushes".to_string(), flushes);
            })
    };
    let findings = explain(&begins(1.0).0);
    assert_eq!(findings.len(), 1, "{findings:#?}");
    assert_eq!(findings[0].cause, Cause::Commit);
    let told =
        "waiting (also for a CPU) and system CPU explain 77 % of the change, and device flushes";
    assert!(findings[0].statement.contains(told), "{}", findings[0].statement);
    assert!(!begins(0.01).has(Cause::Commit), "one in a hundred operations waits for a flush");
}

/// MySQL 8.0, whose threads write and flush the log for those that commit: 0.003 and 1.39 flushes.
#[test]
fn r11_threads_that_flush_for_others_wait_for_a_cpu() {
    let commits = Case::slower("insert", Class::Insert, -66.0)
        .part(Part::ServerUser, 0.19)
        .part(Part::ServerSystem, 0.31)
        .part(Part::RunQueue, 0.8)
        .part(Part::Rest, -0.3)
        .with(|evidence| {
            let change = |base: f64, contender: f64| {
                let log = sure((contender / base).ln());
                Change { base, contender, log, noise: 0.1 }
            };
            evidence.metrics.insert("device_flushes".to_string(), change(0.003, 1.39));
            evidence.metrics.insert("server_write_bytes".to_string(), change(1_275.0, 7_057.0));
            evidence.metrics.insert("Innodb_pages_written".to_string(), change(0.1, 0.5));
        });
    assert_eq!(commits.only().cause, Cause::Commit, "that more is written comes of it");
    let pages = commits.metric("Innodb_os_log_fsyncs", 1.0);
    assert!(!pages.has(Cause::Commit), "it is pages that are flushed");
    assert!(pages.has(Cause::Writes));
}

#[test]
fn of_two_engines_of_a_server_the_one_that_works_is_looked_at() {
    let written = |innodb: f64, myrocks: f64| {
        let log = |bytes: f64, growth: f64| Change {
            base: bytes,
            contender: bytes * growth,
            log: if growth == 1.0 { unsure(0.0) } else { sure(growth.ln()) },
            noise: 0.01,
        };
        let case = Case::slower("insert", Class::Insert, -30.0).part(Part::Rest, 0.9);
        let case = case.metric("Innodb_os_log_written", 1.0).metric("Rocksdb_wal_bytes", 1.0);
        case.metric("device_write_bytes", 4.0).with(|evidence| {
            evidence.metrics.insert("Innodb_os_log_written".to_string(), log(innodb, 4.0));
            evidence.metrics.insert("Rocksdb_wal_bytes".to_string(), log(myrocks, 1.0));
        })
    };
    let told = |case: Case| {
        let found = explain(&case.0).into_iter().find(|finding| finding.cause == Cause::Writes);
        found.unwrap().statement.contains("The difference is in the log")
    };
    assert!(told(written(300.0, 0.0)));
    assert!(!told(written(0.1, 300.0)));
}

/// While arms take turns on a device, the counters of their processes say what each read and wrote.
#[test]
fn r4_and_r5_take_the_servers_own_io_where_the_device_is_shared() {
    let reads = Case::slower("point", Class::Point, -50.0).metric("server_read_bytes", 2.0);
    assert!(reads.has(Cause::Reads));
    let writes = Case::slower("update", Class::Update, -50.0).metric("server_write_bytes", 2.0);
    assert!(writes.has(Cause::Writes));
}
