//! Settings whose effect on a test has one cause, by the manual of the DBMS. They test the causes
//! that no injected slowdown has. The size of the effect is not known.

use rqps_analysis::diagnosis::Cause;
use rqps_plan::{Contender, Method};
use rqps_store::selftest::engine;

/// A name and a value.
type Setting = (&'static str, &'static str);

/// A build with a changed setting, for a comparison with the same build without it.
#[derive(Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name of its folder and of the contender.
    pub name: &'static str,
    /// As `rqps_store::selftest::engine` names them.
    pub engines: &'static [&'static str],
    /// The expected first cause.
    pub cause: Cause,
    /// Whole runs if the effect comes from background work, which also costs slices of other arms.
    pub method: Method,
    pub clients: u32,
    /// Tests with the effect.
    pub tests: &'static [&'static str],
    /// Settings of both arms, whatever the config says: they isolate the effect.
    pub base: &'static [Setting],
    /// Further settings of the variant.
    pub changed: &'static [Setting],
}

const INNODB: &[&str] = &["mysql/innodb", "mariadb/innodb"];
const MYROCKS: &[&str] = &["mysql/rocksdb", "mariadb/rocksdb"];
const COMMITTING: &[&str] = &["update-nonindex", "insert"];
const MISSING: &[&str] = &["point-query", "points-notcovered-pk"];

/// Rules without a variant: R3, since no setting is known to cause nothing else; R7, which is a
/// hint without profiles; R8, which needs runs of minutes; R9, which needs the Insert Benchmark.
/// Caches that do not hold the table have the smallest size that rqps uses for IO-bound runs. That
/// of MyRocks holds tables that load in seconds.
static VARIANTS: [Variant; 12] = [
    // Postgres, "Asynchronous Commit": the server flushes the log before it reports a transaction
    // as committed.
    Variant {
        name: "commit",
        engines: &["postgres"],
        cause: Cause::Commit,
        method: Method::Slices,
        clients: 1,
        tests: COMMITTING,
        base: &[("synchronous_commit", "off")],
        changed: &[("synchronous_commit", "on")],
    },
    // "Planner Method Configuration": these settings only choose query plans. A scan of the index
    // alone becomes one of the index and the table …
    Variant {
        name: "index-only-scan",
        engines: &["postgres"],
        cause: Cause::Plan,
        method: Method::Slices,
        clients: 1,
        tests: &["range-covered-pk", "range-covered-si"],
        base: &[("enable_indexonlyscan", "on")],
        changed: &[("enable_indexonlyscan", "off")],
    },
    // … and an index scan becomes a bitmap scan.
    Variant {
        name: "index-scan",
        engines: &["postgres"],
        cause: Cause::Plan,
        method: Method::Slices,
        clients: 1,
        tests: &["point-query", "range-notcovered-pk"],
        base: &[("enable_indexscan", "on")],
        changed: &[("enable_indexscan", "off")],
    },
    // "Developer Options", debug_io_direct: the kernel caches nothing, so misses of shared_buffers
    // are reads from the device.
    Variant {
        name: "reads",
        engines: &["postgres"],
        cause: Cause::Reads,
        method: Method::Slices,
        clients: 1,
        tests: MISSING,
        base: &[("debug_io_direct", "data")],
        changed: &[("shared_buffers", "8MB")],
    },
    // "WAL Configuration": a checkpoint starts when max_wal_size is about to be exceeded. After it,
    // the first change of a page logs the whole page. Two segments are the minimum.
    Variant {
        name: "checkpoints",
        engines: &["postgres"],
        cause: Cause::Checkpoints,
        method: Method::Runs,
        clients: 1,
        tests: &["update-index", "update-nonindex"],
        base: &[("max_wal_size", "1GB"), ("min_wal_size", "80MB")],
        changed: &[("max_wal_size", "32MB"), ("min_wal_size", "32MB")],
    },
    // MySQL and MariaDB, innodb_flush_log_at_trx_commit: with 1, each commit flushes the log.
    Variant {
        name: "commit",
        engines: INNODB,
        cause: Cause::Commit,
        method: Method::Slices,
        clients: 1,
        tests: COMMITTING,
        base: &[("innodb_flush_log_at_trx_commit", "2")],
        changed: &[("innodb_flush_log_at_trx_commit", "1")],
    },
    // innodb_flush_method: O_DIRECT bypasses the kernel's cache, so misses of the buffer pool are
    // reads from the device.
    Variant {
        name: "reads",
        engines: INNODB,
        cause: Cause::Reads,
        method: Method::Slices,
        clients: 1,
        tests: MISSING,
        base: &[("innodb_flush_method", "O_DIRECT")],
        changed: &[("innodb_buffer_pool_size", "8M")],
    },
    // innodb_doublewrite: InnoDB writes pages twice. If the pool does not hold the table,
    // statements wait for these writes.
    Variant {
        name: "double-writes",
        engines: INNODB,
        cause: Cause::Writes,
        method: Method::Runs,
        clients: 1,
        tests: &["update-nonindex"],
        base: &[
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_buffer_pool_size", "8M"),
            ("innodb_doublewrite", "ON"),
        ],
        changed: &[("innodb_doublewrite", "OFF")],
    },
    // MySQL, "Limiting Memory Use for Range Optimization": beyond the limit, the optimizer does not
    // consider ranges, and the server reads the whole index.
    Variant {
        name: "range-optimizer",
        engines: &["mysql/innodb"],
        cause: Cause::Plan,
        method: Method::Slices,
        clients: 1,
        tests: &["points-covered-pk", "range-covered-pk"],
        base: &[("range_optimizer_max_mem_size", "8388608")],
        changed: &[("range_optimizer_max_mem_size", "1")],
    },
    // MySQL, "Configuring Thread Concurrency for InnoDB": all threads but one wait to enter.
    // MariaDB has removed this setting.
    Variant {
        name: "thread-concurrency",
        engines: &["mysql/innodb"],
        cause: Cause::Contention,
        method: Method::Runs,
        clients: 4,
        tests: &["point-query", "range-covered-pk"],
        base: &[("innodb_thread_concurrency", "0")],
        changed: &[("innodb_thread_concurrency", "1")],
    },
    // MyRocks, rocksdb_flush_log_at_trx_commit: with 1, each commit syncs the log.
    Variant {
        name: "commit",
        engines: MYROCKS,
        cause: Cause::Commit,
        method: Method::Slices,
        clients: 1,
        tests: COMMITTING,
        base: &[("rocksdb_flush_log_at_trx_commit", "2")],
        changed: &[("rocksdb_flush_log_at_trx_commit", "1")],
    },
    // SQLite, PRAGMA synchronous: in WAL mode, FULL syncs the log after each transaction, and
    // NORMAL does not.
    Variant {
        name: "commit",
        engines: &["sqlite"],
        cause: Cause::Commit,
        method: Method::Slices,
        clients: 1,
        tests: COMMITTING,
        base: &[("journal_mode", "wal"), ("synchronous", "normal")],
        changed: &[("synchronous", "full")],
    },
];

/// The variants of a contender's engine.
pub fn variants(contender: &Contender) -> impl Iterator<Item = &'static Variant> {
    let engine = engine(contender);
    VARIANTS.iter().filter(move |variant| variant.engines.contains(&engine.as_str()))
}

impl Variant {
    /// The baseline and the contender: the build with the settings of both arms, and that with the
    /// changed ones as well.
    pub fn sides(&self, build: &Contender) -> [Contender; 2] {
        let base = with(build, "baseline", self.base);
        let changed = with(&base, self.name, self.changed);
        [base, changed]
    }

    /// `max_wal_size=32MB, min_wal_size=32MB`.
    pub fn settings(&self) -> String {
        let changed = self.changed.iter().map(|(name, value)| format!("{name}={value}"));
        changed.collect::<Vec<_>>().join(", ")
    }
}

/// The contender under a label, with these settings in place of its own.
fn with(contender: &Contender, label: &str, settings: &[Setting]) -> Contender {
    let mut contender = Contender { label: Some(label.to_string()), ..contender.clone() };
    for (name, value) in settings {
        // MySQL also knows dashes.
        let is_it = |known: &str| known.replace('-', "_").eq_ignore_ascii_case(name);
        contender.settings.retain(|(known, _)| !is_it(known));
        contender.settings.push((name.to_string(), value.to_string()));
    }
    contender
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contender: &str) -> Vec<&'static Variant> {
        variants(&contender.parse().unwrap()).collect()
    }

    #[test]
    fn every_engine_has_a_variant_whose_commits_wait() {
        for (contender, count) in [
            ("postgres@17.6", 5),
            ("sqlite", 1),
            ("mysql@8.0.33", 5),
            ("mariadb@10.11", 3),
            ("mariadb@debian-10.11/rocksdb", 1),
        ] {
            let all = of(contender);
            assert_eq!(all.len(), count, "{contender}: {all:?}");
            assert_eq!(all.iter().filter(|one| one.cause == Cause::Commit).count(), 1);
            let mut names: Vec<&str> = all.iter().map(|one| one.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "each has a folder: {names:?}");
        }
    }

    #[test]
    fn sides_differ_in_what_is_changed_whatever_the_user_has_set() {
        let spec = |contender: &Contender| contender.to_string();
        let checkpoints = of("postgres").into_iter().find(|one| one.name == "checkpoints").unwrap();
        let own = "mine=postgres@17.6:x10a?Max_Wal_Size=4GB&jit=on".parse().unwrap();
        let [base, changed] = checkpoints.sides(&own);
        assert_eq!(
            spec(&base),
            "baseline=postgres@17.6:x10a?jit=on&max_wal_size=1GB&min_wal_size=80MB"
        );
        assert_eq!(
            spec(&changed),
            "checkpoints=postgres@17.6:x10a?jit=on&max_wal_size=32MB&min_wal_size=32MB"
        );
        assert_eq!(checkpoints.settings(), "max_wal_size=32MB, min_wal_size=32MB");

        let commit = of("mysql@8.0.33").into_iter().find(|one| one.name == "commit").unwrap();
        let own = "mysql@8.0.33?innodb-flush-log-at-trx-commit=1".parse().unwrap();
        let [base, changed] = commit.sides(&own);
        assert_eq!(spec(&base), "baseline=mysql@8.0.33?innodb_flush_log_at_trx_commit=2");
        assert_eq!(spec(&changed), "commit=mysql@8.0.33?innodb_flush_log_at_trx_commit=1");
    }
}
