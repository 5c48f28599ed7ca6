//! Each rule with its evidence, which is from the published findings if they have numbers, and with
//! what contradicts it.

use rqps_observe::Meaning;
use rqps_plan::Class;

use super::*;

/// The meanings of counters, as in the tables of their DBMSs.
const MEANINGS: [(&str, Meaning); 19] = [
    ("Innodb_dblwr_pages_written", Meaning::DoubleWrites),
    ("Innodb_os_log_fsyncs", Meaning::LogFlushes),
    ("Innodb_os_log_written", Meaning::LogBytes),
    ("Innodb_pages_written", Meaning::PagesWritten),
    ("Innodb_row_lock_waits", Meaning::RowLockWaits),
    ("Rocksdb_wal_bytes", Meaning::LogBytes),
    ("buffers_written", Meaning::CheckpointPages),
    ("pg_stat_checkpointer.num_requested", Meaning::CheckpointsRequested),
    ("pg_stat_database.blks_hit", Meaning::CacheHits),
    ("rocksdb_bloom_filter_useful", Meaning::BloomFilterHits),
    ("wal_bytes", Meaning::LogBytes),
    ("block_cache_hit_count", Meaning::CacheHits),
    ("block_read_count", Meaning::BlockReads),
    ("cpu.background", Meaning::BackgroundCpu),
    ("cpu.serving", Meaning::ServingCpu),
    ("rocksdb.last.level.read.bytes", Meaning::LastLevelBytesRead),
    ("rocksdb.non.last.level.read.bytes", Meaning::UpperLevelBytesRead),
    ("rocksdb.stall.micros", Meaning::WriterWaits),
    ("user_key_comparison_count", Meaning::KeyComparisons),
];

/// A test of two builds: the contender's operations take `change` of 50 us longer.
struct Case(Evidence);

impl Case {
    fn slower(test: &str, class: Class, percent: f64) -> Case {
        let theta = (1.0 + percent / 100.0_f64).ln();
        let (base, contender) = (50.0, 50.0 / theta.exp());
        let change = sure(contender - base);
        let verdict = if percent < 0.0 { Decided::Regression } else { Decided::Improvement };
        Case(Evidence {
            test: test.to_string(),
            base: "postgres@17.6".to_string(),
            contender: "postgres@18.0".to_string(),
            again: format!("rqps compare postgres@17.6 postgres@18.0 --workload micro:{test}"),
            can_be_profiled: true,
            verdict,
            theta: sure(theta),
            clients: 8,
            time: Cost { base, contender, change },
            each: Some(1.0),
            ..Evidence::new(class)
        })
    }

    /// The part is that share of the added time.
    fn part(mut self, part: Part, share: f64) -> Case {
        let change = self.0.time.change.value * share;
        let cost = Cost { base: 20.0, contender: 20.0 + change, change: sure(change) };
        self.0.parts.insert(part, cost);
        self
    }

    /// A metric per operation that has changed by that factor.
    fn metric(mut self, name: &str, factor: f64) -> Case {
        let known = MEANINGS.iter().find(|(known, _)| *known == name);
        self.0.meanings.extend(known.map(|(known, meaning)| (known.to_string(), *meaning)));
        let log = if factor == 1.0 { unsure(0.0) } else { sure(factor.ln()) };
        self.0
            .metrics
            .insert(name.to_string(), Change { base: 1.0, contender: factor, log, noise: 0.002 });
        self
    }

    fn with(mut self, set: impl FnOnce(&mut Evidence)) -> Case {
        set(&mut self.0);
        self
    }

    fn causes(&self) -> Vec<(Cause, Confidence)> {
        explain(&self.0).iter().map(|finding| (finding.cause, finding.confidence)).collect()
    }

    fn has(&self, cause: Cause) -> bool {
        explain(&self.0).iter().any(|finding| finding.cause == cause)
    }

    fn only(&self) -> Finding {
        let mut findings = explain(&self.0);
        assert_eq!(findings.len(), 1, "{findings:#?}");
        findings.remove(0)
    }
}

/// An interval of a tenth to either side.
fn sure(value: f64) -> ValueRange {
    let half = value.abs() / 10.0;
    ValueRange::new(value, value - half, value + half)
}

fn unsure(value: f64) -> ValueRange {
    ValueRange::new(value, value - 0.01, value + 0.01)
}

const QUIET: Environment = Environment {
    other_cpu_percent: Some(0.4),
    reference_loop_moved: Some(false),
    control_moved: Some(false),
    is_shared: false,
};

/// Slices: the machine is the same for all arms, and the A/A control has not moved.
const TAKING_TURNS: Environment = Environment {
    other_cpu_percent: None,
    reference_loop_moved: None,
    control_moved: Some(false),
    is_shared: true,
};

/// Spec R1: -2.9 % with 93 % of it user CPU.
fn longer_code() -> Case {
    Case::slower("range-covered-pk", Class::Range, -2.9)
        .part(Part::ServerUser, 0.93)
        .part(Part::RunQueue, 0.0)
        .part(Part::Rest, 0.07)
        .metric("server_cpu_user", 1.031)
        .metric("server_voluntary_switches", 1.0)
        .metric("device_read_bytes", 1.0)
        .metric("device_write_bytes", 1.0)
        .with(|evidence| {
            evidence.environment = QUIET;
            evidence.clients = 1;
            let frame = "ExecInitNode".to_string();
            evidence.profile = vec![Growth { frame, change: sure(1.1) }];
        })
}

#[test]
fn without_a_verdict_there_is_no_cause() {
    for verdict in [Decided::Inconclusive, Decided::Invalid, Decided::NoChange] {
        let case = longer_code().with(|evidence| evidence.verdict = verdict);
        assert_eq!(explain(&case.0), [], "{verdict:?}");
        assert_eq!(explain_suite(&[case.0]), [], "{verdict:?}");
    }
}

/// The label stays, and no cause is reported that a busy host could imitate.
#[test]
fn r0_a_busy_host_may_be_why() {
    let case = longer_code().with(|evidence| {
        let moved = Some(true);
        evidence.environment = Environment {
            other_cpu_percent: Some(23.0),
            reference_loop_moved: moved,
            control_moved: moved,
            is_shared: false,
        };
    });
    let finding = case.only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Environment, Confidence::Strong));
    assert_eq!(
        finding.statement,
        "Possible cause: other processes used 23 % of the CPUs. Re-run when idle (strong)."
    );
    assert_eq!(finding.next, "rqps doctor");
    let slower =
        longer_code().with(|evidence| evidence.environment.reference_loop_moved = Some(true));
    assert_eq!(slower.causes(), [(Cause::Environment, Confidence::Likely)]);
    assert!(slower.only().statement.contains("the reference loop was slower, too"));
}

#[test]
fn r0_is_contradicted_by_a_reference_loop_and_a_control_that_stay() {
    let pressed = |environment| {
        Case::slower("point", Class::Point, -4.0)
            .metric("server_involuntary_switches", 3.0)
            .metric("server_run_queue_wait", 2.0)
            .with(|evidence| evidence.environment = environment)
    };
    assert!(pressed(Environment::default()).has(Cause::Environment));
    assert!(!pressed(QUIET).has(Cause::Environment));
}

/// InnoDB that writes pages twice: twice the CPU, and twice as many preemptions.
#[test]
fn r0_a_server_that_has_more_to_do_puts_itself_off_its_cpus() {
    let pressed = |own: f64| {
        Case::slower("update-nonindex", Class::Update, -30.0)
            .metric("server_involuntary_switches", 2.1)
            .metric("server_run_queue_wait", 3.4)
            .metric("server_cpu_user", own)
    };
    assert!(pressed(1.1).has(Cause::Environment));
    assert!(!pressed(2.0).has(Cause::Environment));
}

/// Postgres with max_wal_size=32MB: 40 times as much is written, and the checkpointer has a CPU for
/// it.
#[test]
fn r0_a_server_that_has_more_to_write_puts_itself_off_its_cpus() {
    let pressed = |written: f64| {
        Case::slower("update-index", Class::Update, -20.0)
            .metric("server_involuntary_switches", 13.5)
            .metric("server_run_queue_wait", 11.2)
            .metric("device_write_bytes", written)
    };
    assert!(pressed(1.2).has(Cause::Environment));
    assert!(!pressed(40.0).has(Cause::Environment));
}

/// For example where the baseline was measured at another time: the intervals include the drift of
/// the machine.
#[test]
fn a_part_of_the_time_that_may_not_have_grown_is_no_cause() {
    type Make = fn() -> Case;
    const CASES: [(Make, Part, Cause); 3] = [
        (longer_code, Part::ServerUser, Cause::Cpu),
        (mutex, Part::Rest, Cause::Contention),
        (storage::commits, Part::Rest, Cause::Commit),
    ];
    for (case, part, cause) in CASES {
        assert!(case().has(cause));
        let unsure = case().with(|evidence| {
            evidence.parts.get_mut(&part).unwrap().change.low = -0.1;
        });
        assert_eq!(unsure.causes(), [(Cause::Unexplained, Confidence::Hint)], "{cause:?}");
        assert_eq!(unsure.only().share, None, "{cause:?}");
    }
}

/// Seed 002: random-points with range=1000 on MariaDB, with 48 clients.
fn mutex() -> Case {
    Case::slower("random-points_range=1000", Class::Point, -30.0)
        .part(Part::Rest, 0.8)
        .part(Part::ServerSystem, 0.1)
        .metric("server_voluntary_switches", 6.0)
        .metric("server_cpu_system", 1.5)
        .with(|evidence| {
            evidence.clients = 48;
        })
}

#[test]
fn r2_waiting_of_many_clients_is_contention_as_far_as_one_was_not_looked_at() {
    let finding = mutex().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Contention, Confidence::Likely));
    let what = "a single client loses as much";
    assert_eq!(finding.contradicted_by, [Check { what, looked_at: false }]);
    assert_eq!(
        finding.statement,
        "-30.0 % operations/s: waiting for locks or latches explains 80 % of the change; voluntary \
         switches per operation change by a factor of 6.00 (95 % interval 5.02 to 7.18) (likely)."
    );
    let less = mutex().metric("server_cpu_system", 1.0);
    assert_eq!(less.causes()[0], (Cause::Contention, Confidence::Hint));
}

#[test]
fn r2_is_contradicted_where_there_is_one_client() {
    let one = mutex().with(|evidence| evidence.clients = 1);
    assert!(!one.has(Cause::Contention));
}

/// Seed 002: MariaDB's update-one.
fn hot_row() -> Case {
    mutex().metric("Innodb_row_lock_waits", 8.0).with(|evidence| evidence.class = Class::HotUpdate)
}

#[test]
fn r3_contention_for_a_hot_row_is_said_as_such_and_once() {
    assert_eq!(hot_row().causes(), [(Cause::RowContention, Confidence::Likely)]);
    assert!(hot_row().only().statement.contains("Innodb_row_lock_waits per operation change by"));
}

#[test]
fn r3_is_contradicted_by_row_locks_that_stay() {
    let latch = hot_row().metric("Innodb_row_lock_waits", 1.0);
    assert_eq!(latch.causes(), [(Cause::Contention, Confidence::Likely)]);
}

/// Seed 001: a small max_wal_size has more checkpoints and more KB per row.
fn small_log() -> Case {
    storage::more_writes()
        .metric("pg_stat_checkpointer.num_requested", 6.0)
        .metric("device_flush_time", 2.0)
        .with(|evidence| {
            evidence.dips = Some(Dips {
                period: Some(33.0),
                checkpoint_interval: Some(30.0),
                ..Dips::default()
            });
        })
}

#[test]
fn r6_dips_with_checkpoints_are_a_log_too_small() {
    let finding = small_log().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Checkpoints, Confidence::Strong));
    assert!(
        finding.statement.contains(
            "checkpoints (dips every 33 s, pg_stat_checkpointer.num_requested a factor of 6.00)"
        ),
        "{}",
        finding.statement
    );
}

#[test]
fn r6_has_the_cpu_that_logging_whole_pages_takes() {
    let costlier = small_log().part(Part::ServerUser, 0.9).metric("server_cpu_user", 2.0);
    assert_eq!(costlier.causes(), [(Cause::Checkpoints, Confidence::Strong)]);
    let without = costlier.with(|evidence| evidence.dips = Some(Dips::default()));
    assert!(without.has(Cause::Cpu), "what is more general is said then");
}

#[test]
fn r6_is_contradicted_by_dips_without_period() {
    let without = small_log().with(|evidence| evidence.dips = Some(Dips::default()));
    assert!(!without.has(Cause::Checkpoints));
    assert!(without.has(Cause::Writes), "what is more general is said then");
}

/// Seed 001: wal_compression=on takes CPU per row of l.i1 from 4 to 8 us at as many KB per row.
fn compressed() -> Case {
    Case::slower("l.i1", Class::Load, -20.0)
        .part(Part::ServerUser, 0.9)
        .metric("server_cpu_user", 2.0)
        .metric("device_write_bytes", 1.0)
        .with(|evidence| {
            evidence.settings = vec!["wal_compression".to_string()];
            let frame = "pglz_compress".to_string();
            evidence.profile = vec![Growth { frame, change: sure(3.9) }];
        })
}

#[test]
fn r7_compression_that_saves_nothing_is_named() {
    let finding = compressed().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Compression, Confidence::Strong));
    assert!(finding.statement.contains("factor of 2.00"), "{}", finding.statement);
    assert!(finding.statement.contains("KiB written by 0.0 %"), "{}", finding.statement);
    let signs = "`pglz_compress` has changed, setting wal_compression differs (strong).";
    assert!(finding.statement.ends_with(signs), "{}", finding.statement);
}

#[test]
fn r7_is_contradicted_by_bytes_that_it_saves() {
    assert!(!compressed().metric("device_write_bytes", 0.5).has(Cause::Compression));
}

/// A rate that fell from MySQL 5.6 to 8.0, with another default checksum, as much or more to write,
/// and no profile: a setting alone proves nothing.
#[test]
fn r7_is_no_more_than_a_hint_by_a_setting_alone() {
    let not_profiled = || {
        compressed().with(|evidence| {
            evidence.profile.clear();
            evidence.settings = vec!["innodb_checksum_algorithm".to_string()];
        })
    };
    for case in [not_profiled(), not_profiled().metric("device_write_bytes", 1.2)] {
        let causes = case.causes();
        assert!(causes.contains(&(Cause::Compression, Confidence::Hint)), "{causes:?}");
        assert!(case.has(Cause::Cpu), "a hint does not stand for what is more general");
    }
}

#[test]
fn r7_is_likely_by_a_function_alone_as_long_as_no_more_is_written() {
    let by_default = compressed().with(|evidence| evidence.settings.clear());
    assert_eq!(by_default.causes(), [(Cause::Compression, Confidence::Likely)]);
    let more = by_default.metric("device_write_bytes", 1.2);
    assert!(more.causes().contains(&(Cause::Compression, Confidence::Hint)), "{:?}", more.causes());
}

fn garbage() -> Case {
    Case::slower("read-write", Class::ReadWrite, -12.0).with(|evidence| {
        evidence.dips = Some(Dips {
            stalls: Some(sure(0.8)),
            collector_lag: Some(3.0),
            collector_watched: true,
            ..Dips::default()
        });
    })
}

#[test]
fn r8_dips_with_vacuum_are_state_and_not_code() {
    let finding = garbage().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Garbage, Confidence::Strong));
    assert!(finding.statement.contains("3 s after vacuum, purge or compaction"));
    assert!(finding.statement.contains("decide on restored snapshots only"));
}

#[test]
fn r8_is_contradicted_by_dips_without_vacuum() {
    for lag in [None, Some(40.0)] {
        let alone = garbage().with(|evidence| {
            evidence.dips.as_mut().unwrap().collector_lag = lag;
        });
        assert!(!alone.has(Cause::Garbage), "{lag:?}");
    }
}

/// Seed 000, l.i2: deletes at 0.05 of the rate, with 20 times the CPU.
fn deletes() -> Case {
    Case::slower("l.i2", Class::DeleteOldest, -95.0)
        .part(Part::ServerUser, 0.95)
        .metric("server_cpu_user", 20.0)
        .metric("pg_stat_database.blks_hit", 30.0)
        .with(|evidence| {
            evidence.growth_within = Some(4.0);
            evidence.plan_changes = Some(Vec::new());
            evidence.planning[1] = Some(Planning { before: 41.0, after: 1240.0 });
        })
}

#[test]
fn r9_deletes_that_walk_over_dead_entries_are_named() {
    let finding = deletes().only();
    assert_eq!((finding.cause, finding.confidence), (Cause::DeadEntries, Confidence::Strong));
    assert!(finding.statement.contains("factor of 20.00"), "{}", finding.statement);
    assert!(
        finding.statement.contains(
            "Planning takes 1240 us at the end and 41 us on a fresh table: the planner scans dead"
        ),
        "{}",
        finding.statement
    );
}

#[test]
fn r9_blames_the_planner_only_where_planning_takes_longer_in_the_end() {
    for planning in [None, Some(Planning { before: 41.0, after: 44.0 })] {
        let finding = deletes().with(|evidence| evidence.planning[1] = planning).only();
        assert_eq!((finding.cause, finding.confidence), (Cause::DeadEntries, Confidence::Likely));
        assert!(finding.statement.contains(". Statements scan dead"), "{}", finding.statement);
    }
}

const BITMAP: &str = "Index Scan on t using k became Bitmap Heap Scan on t";

#[test]
fn r9_is_contradicted_by_another_plan_which_is_r10() {
    let other = deletes().with(|evidence| {
        evidence.plan_changes = Some(vec![BITMAP.to_string()]);
    });
    assert_eq!(other.causes(), [(Cause::Plan, Confidence::Strong)]);
    let changed = format!("the query plan has changed: {BITMAP}; pg_stat");
    assert!(other.only().statement.contains(&changed));
    assert_eq!(
        other.only().next,
        "rqps compare postgres@17.6 postgres@18.0 --workload micro:l.i2 --keep-data"
    );
    assert!(!deletes().has(Cause::Plan), "the same plan is no cause");
    let unknown = deletes().with(|evidence| evidence.plan_changes = None);
    assert!(!unknown.has(Cause::Plan), "an unknown plan is no cause");
    let several = deletes().with(|evidence| {
        evidence.plan_changes = Some((1..6).map(|n| format!("change {n}")).collect());
    });
    let told = "has changed: change 1; change 2; change 3; and 2 more; pg_stat";
    assert!(several.only().statement.contains(told), "{}", several.only().statement);
}

/// enable_indexscan=off: a bitmap scan of one row touches as many pages as an index scan does.
#[test]
fn r10_another_plan_that_touches_as_many_pages_explains_the_cpu_that_it_takes() {
    let bitmap = |cpu: f64| {
        Case::slower("point-query", Class::Point, -3.2)
            .part(Part::ServerUser, cpu)
            .metric("server_cpu_user", 1.05)
            .metric("pg_stat_database.blks_hit", 1.0)
            .with(|evidence| {
                evidence.environment = TAKING_TURNS;
                evidence.plan_changes = Some(vec![BITMAP.to_string()]);
            })
    };
    assert_eq!(bitmap(0.97).causes(), [(Cause::Plan, Confidence::Likely)]);
    assert!(bitmap(0.1).causes().contains(&(Cause::Plan, Confidence::Hint)));
}

#[test]
fn r0_pressure_on_the_cpus_is_no_excuse_where_both_had_it() {
    let pressed = longer_code()
        .metric("server_involuntary_switches", 3.0)
        .metric("server_run_queue_wait", 3.0)
        .with(|evidence| evidence.environment = Environment::default());
    assert!(pressed.has(Cause::Environment));
    let shared = pressed.with(|evidence| evidence.environment.is_shared = true);
    assert!(!shared.has(Cause::Environment));
}

/// Seed 003: 727k against 729k rows/s, CPU per row from 16 to 18 us.
#[test]
fn r15_the_same_rate_at_a_higher_cost_is_lost_efficiency() {
    let case = Case::slower("l.i0", Class::Load, 100.0 * (727.0 / 729.0 - 1.0))
        .metric("server_cpu_user", 18.0 / 16.0)
        .with(|evidence| {
            evidence.verdict = Decided::EfficiencyRegression;
            evidence.environment = QUIET;
        });
    let finding = case.only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Efficiency, Confidence::Strong));
    assert_eq!(
        finding.statement,
        "Same throughput (-0.3 % operations/s), higher cost per operation: user CPU by +12.5 % \
         (95 % interval +11.2 % to +13.8 %) (strong)."
    );
    assert!(finding.importance > 0.1, "the rate alone would make it the least of all");
    // The reference loop moved and the A/A control stayed: the core is slower, not the code.
    let slower_core = case.with(|evidence| evidence.environment.reference_loop_moved = Some(true));
    assert!(!slower_core.has(Cause::Efficiency));
    // In turns, baseline and contender have the same core, and the A/A control checks that.
    let turns = slower_core.with(|evidence| evidence.environment = TAKING_TURNS);
    assert_eq!(turns.causes(), [(Cause::Efficiency, Confidence::Strong)]);
    let without_control = turns.with(|evidence| evidence.environment.control_moved = None);
    assert_eq!(without_control.causes(), [(Cause::Efficiency, Confidence::Likely)]);
}

#[test]
fn r15_what_is_written_is_a_cost_of_statements_that_write() {
    let of = |class: Class| {
        let case = Case::slower("same", class, -0.3).metric("server_write_bytes", 3.0);
        case.with(|evidence| evidence.verdict = Decided::EfficiencyRegression)
    };
    let finding = of(Class::Update).only();
    let told = "higher cost per operation: KiB written by a factor of 3.00";
    assert!(finding.statement.contains(told), "{}", finding.statement);
    assert!(!of(Class::Range).has(Cause::Efficiency), "hint bits, and the like");
}

#[test]
fn r17_waiting_without_a_cause_is_said_to_be_unexplained() {
    let case = Case::slower("point", Class::Point, -9.1)
        .part(Part::ServerUser, 0.39)
        .part(Part::Rest, 0.61);
    let finding = case.only();
    assert_eq!((finding.cause, finding.confidence), (Cause::Unexplained, Confidence::Hint));
    assert_eq!(
        finding.statement,
        "-9.1 % operations/s: 61 % of the added time is waiting without a known cause (hint)."
    );
    assert_eq!(
        finding.next,
        "perf trace -s -o calls.txt rqps compare postgres@17.6 postgres@18.0 --workload micro:point"
    );
    assert!(!longer_code().has(Cause::Unexplained));
}

/// Seed 002: hot-points got twice as fast in Postgres 17.
#[test]
fn an_improvement_is_looked_at_from_its_base() {
    let case = Case::slower("hot-points", Class::HotPoint, 106.0)
        .part(Part::ServerUser, 0.9)
        .metric("server_cpu_user", 0.45)
        .metric("server_voluntary_switches", 1.0);
    let finding = case.only();
    assert_eq!(finding.cause, Cause::Cpu);
    assert!(!finding.slower);
    assert_eq!(finding.cause.name(finding.slower), "less server CPU per operation");
    assert!(
        finding.statement.starts_with(
            "operations/s by a factor of 2.06: -23.2 us (95 % interval -25.5 to -20.8) of user CPU"
        ),
        "{}",
        finding.statement
    );
}

mod code_path;
mod counted;
mod storage;
mod suite;
