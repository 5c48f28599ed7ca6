//! The descriptor of SQLite.

use rqps_plan::{CacheNeed, Dbms};
use rqps_wire::SqliteLibrary;

use super::library::load;
use crate::descriptor::{CacheSetting, Descriptor, FlagsIn, Footprint, Installs, TellsVersion};
use crate::dialect::Dialect;

pub(crate) static DESCRIPTOR: Descriptor = Descriptor {
    dbms: Dbms::Sqlite,
    engine: None,
    dialect: Dialect::SQLITE,
    packages: &[],
    programs: &[
        "lib/libsqlite3.so",
        "lib/libsqlite3.so.0",
        "lib/*/libsqlite3.so.0",
        "lib64/libsqlite3.so.0",
    ],
    version: TellsVersion::Loaded(|path| load(path).map(SqliteLibrary::version)),
    numbers: |_| 3,
    installed: Installs::InPrefixes,
    flags: FlagsIn::Notes,
    configs: &["sqlite"],
    // A negative number is in kibibytes, a positive one in pages of the default size. Each
    // connection has a cache of its own.
    cache: CacheSetting {
        name: "cache_size",
        value: |bytes| format!("-{}", bytes >> 10),
        unit: |number| if number < 0 { 1 << 10 } else { 4 << 10 },
    },
    need: CacheNeed { row: 140, least: 8 << 20 },
    implied: &[],
    durable: None,
    huge_pages: None,
    megabytes: "M",
    direct_reads: &[],
    counters: &[],
    sizes: |_| Footprint {
        start: 0,
        restart: 0,
        end: 0,
        empty: 0,
        allocated: 0,
        // Its log grows while there are readers and writers: in l.i1, 740 MB were measured beside
        // 28 MB of data. It is removed when the last connection is closed.
        log_share: 25,
        keeps_logs: false,
        build: 0,
    },
};
