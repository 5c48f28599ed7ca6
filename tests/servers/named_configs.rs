//! The named configs on real builds: each starts, and is in force.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rqps_dbms::{DbmsError, Home, InForce, Place, configs};
use rqps_plan::Contender;
use rqps_system::Cancel;
use tempfile::TempDir;

/// A build with one data directory, which is started under one config after another.
struct Bench {
    /// Where the builds are, which all tests share.
    store: Home,
    home: Home,
    place: Place,
    _directory: TempDir,
}

impl Bench {
    fn new() -> Bench {
        let store = std::env::var_os("RQPS_TEST_HOME").unwrap_or("/var/tmp/rqps-tests".into());
        let store = Home::at(store).unwrap();
        let directory = tempfile::Builder::new().prefix("c").tempdir_in(store.root()).unwrap();
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let home = Home::at(directory.path().join("home")).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let place = Place { data, log, ..Place::default() };
        Bench { store, home, place, _directory: directory }
    }

    /// The settings in force when a contender runs.
    fn run(&self, contender: &str) -> Result<InForce, DbmsError> {
        let contender: Contender = contender.parse().unwrap();
        let ready =
            rqps_dbms::prepare(&self.store, &contender, &mut |_| Ok(()), &Cancel::default())?;
        let mut server = ready.start(&self.home, &self.place, &Cancel::default())?;
        let in_force = server.settings()?;
        server.stop()?;
        // They say how a server works: two that work alike have the same wherever they are.
        let data = self.place.data.display().to_string();
        let places = in_force.values.iter().filter(|(_, value)| value.contains(&data));
        assert_eq!(places.collect::<Vec<_>>(), [], "{contender:?}");
        Ok(in_force)
    }

    /// Starts a build under each config of its families, except those named, with settings that
    /// spare the disk, and looks at what is expected of some: config, setting, value.
    fn starts_under_all(
        &self,
        build: &str,
        except: &[&str],
        sparing: &str,
        expected: &[(&str, &str, &str)],
    ) {
        let contender: Contender = build.parse().unwrap();
        for config in configs(contender.dbms, contender.engine.as_deref()) {
            let is_everywhere = ["base", "stock"].contains(&config.name);
            if is_everywhere || except.contains(&config.name) {
                continue;
            }
            let settings = match self.run(&format!("{build}:{}{sparing}", config.name)) {
                Ok(in_force) => in_force.values,
                Err(error) => panic!("{build}:{}: {error}", config.name),
            };
            for (_, name, value) in expected.iter().filter(|row| row.0 == config.name) {
                let found = settings.get(*name).map(String::as_str);
                assert_eq!(found, Some(*value), "{build}:{}: {name}", config.name);
            }
        }
    }
}

/// Logs of a share of the memory are gigabytes, and some versions write all of them at the start.
const SMALL_LOGS: &str = "?innodb_log_file_size=48M";
const SMALL_REDO: &str = "?innodb_redo_log_capacity=128M";
const NO_FSYNC: &str = "?fsync=off";

/// What the later configs change of those they build on.
const POSTGRES: [(&str, &str, &str); 9] = [
    ("x0", "shared_buffers", "16384 x 8kB"),
    ("x2", "wal_compression", "pglz"),
    ("x4b", "bgwriter_delay", "50 x ms"),
    ("x5", "wal_compression", "off"),
    ("x6", "shared_buffers", "262144 x 8kB"),
    ("x9a2", "autovacuum_vacuum_cost_delay", "2 x ms"),
    ("x9a2b", "autovacuum_vacuum_cost_delay", "0 x ms"),
    ("x9a2bcefg", "autovacuum_vacuum_cost_limit", "8000"),
    ("x10a", "autovacuum_vacuum_cost_delay", "1 x ms"),
];

const INNODB: [(&str, &str, &str); 3] = [
    ("z10a", "innodb_flush_method", "O_DIRECT_NO_FSYNC"),
    ("z11a", "innodb_max_purge_lag", "500000"),
    ("z12a", "max_binlog_size", "268435456"),
];

const MYROCKS: [(&str, &str, &str); 4] = [
    ("za1", "rocksdb_flush_log_at_trx_commit", "2"),
    ("za1", "rocksdb_block_size", "8192"),
    ("za1", "rocksdb_compaction_sequential_deletes", "14999"),
    ("y9c4g", "rocksdb_block_cache_size", "4294967296"),
];

#[test]
#[ignore = "nightly: a start for each config"]
fn postgres_17_starts_under_all_its_configs() {
    Bench::new().starts_under_all("postgres@17.6", &[], NO_FSYNC, &POSTGRES);
}

#[test]
#[ignore = "nightly: a start for each config"]
fn postgres_18_starts_under_all_its_configs() {
    // The build may be without io_uring, which it says when it is started.
    Bench::new().starts_under_all("postgres@18.0", &["x10d"], NO_FSYNC, &POSTGRES);
}

#[test]
fn postgres_18_does_io_as_its_config_says() {
    let bench = Bench::new();
    for (config, method) in [("x10b", "sync"), ("x10c", "worker")] {
        let settings = bench.run(&format!("postgres@18.0:{config}")).unwrap().values;
        assert_eq!(settings["io_method"], method);
        assert!(settings["pg_config.CFLAGS"].contains("-O"), "how it was compiled: {settings:?}");
        assert!(settings["linked libraries"].split(' ').any(|name| name.starts_with("libc.so")));
    }
    match bench.run("postgres@18.0:x10d") {
        Ok(in_force) => assert_eq!(in_force.values["io_method"], "io_uring"),
        Err(error) => {
            let error = error.to_string();
            assert!(error.contains("\"io_method\": \"io_uring\""), "{error}");
        }
    }
}

#[test]
fn postgres_12_starts_under_configs_with_settings_that_it_does_not_know() {
    let bench = Bench::new();
    for config in ["x4a", "x9a2f", "x10d"] {
        let settings = bench.run(&format!("postgres@12.22:{config}")).unwrap().values;
        assert_eq!(settings["synchronous_commit"], "off");
        assert!(!settings.contains_key("autovacuum_vacuum_insert_scale_factor"));
    }
}

#[test]
#[ignore = "nightly: a start for each config"]
fn mysql_5_6_starts_under_all_its_configs() {
    Bench::new().starts_under_all("mysql@5.6.14", &[], SMALL_LOGS, &INNODB);
}

#[test]
#[ignore = "nightly: a start for each config"]
fn mysql_8_0_starts_under_all_its_configs() {
    Bench::new().starts_under_all("mysql@8.0.33", &[], SMALL_REDO, &INNODB);
}

#[test]
#[ignore = "nightly: a start for each config"]
fn mysql_9_starts_under_all_its_configs() {
    Bench::new().starts_under_all("mysql@9.7", &[], SMALL_REDO, &INNODB);
}

#[test]
fn mariadb_starts_under_all_its_configs() {
    Bench::new().starts_under_all("mariadb@11.4.5", &[], "", &INNODB);
}

#[test]
fn a_data_directory_is_made_with_what_it_cannot_change_later() {
    let settings = Bench::new().run("mariadb@11.4.5:z12a").unwrap().values;
    assert_eq!(settings["innodb_undo_tablespaces"], "32");
}

#[test]
fn myrocks_starts_under_all_its_configs_and_always_with_read_committed() {
    let bench = Bench::new();
    bench.starts_under_all("mariadb@10.11/rocksdb", &[], "", &MYROCKS);
    for config in ["stock", "base", "y9c"] {
        let settings = bench.run(&format!("mariadb@10.11/rocksdb:{config}")).unwrap().values;
        let isolation = settings.get("transaction_isolation").or(settings.get("tx_isolation"));
        assert_eq!(isolation.map(String::as_str), Some("READ-COMMITTED"), "{config}");
    }
}

#[test]
fn a_build_without_myrocks_says_so_and_who_has_it() {
    let error = Bench::new().run("mariadb@11.4.5/rocksdb").unwrap_err().to_string();
    assert!(error.starts_with("the build of mariadb 11.4.5 in "), "{error}");
    assert!(error.contains(" has no MyRocks. "), "{error}");
    assert!(error.contains("mariadb@debian-10.11/rocksdb"), "{error}");
}

#[test]
fn what_nobody_has_set_is_told_from_what_somebody_has() {
    for (contender, set, default) in [
        ("postgres@12.22?work_mem=8MB", "work_mem", "geqo"),
        ("postgres@18.0?work_mem=8MB", "work_mem", "io_method"),
        ("mysql@8.0.33?sort_buffer_size=300000", "sort_buffer_size", "innodb_old_blocks_pct"),
        ("mariadb@11.4.5?sort_buffer_size=300000", "sort_buffer_size", "innodb_old_blocks_pct"),
    ] {
        let in_force = Bench::new().run(contender).unwrap();
        let is_default = |name: &str| in_force.defaults.contains(name);
        assert!(!is_default(set) && is_default(default), "{contender}: {:?}", in_force.defaults);
        let known = in_force.defaults.iter().all(|name| in_force.values.contains_key(name));
        assert!(known && !is_default("linked libraries"), "{contender}: {:?}", in_force.defaults);
    }
    // It keeps no account of it.
    assert!(Bench::new().run("mysql@5.6.14").unwrap().defaults.is_empty());
}
