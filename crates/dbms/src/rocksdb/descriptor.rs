//! The descriptor of RocksDB.

use rqps_observe::Meaning;
use rqps_plan::{CacheNeed, Dbms};

use super::command::telling;
use super::dialect::SQL;
use crate::descriptor::{CacheSetting, Descriptor, FlagsIn, Footprint, Installs, TellsVersion};
use crate::dialect::Dialect;
use crate::source::catalog::{BOTH, Package, Registry};

/// The library in Maven's artifacts, which are for Java, but export the functions of the C API.
#[cfg(target_arch = "aarch64")]
const OF_MAVEN: &str = "librocksdbjni-linux-aarch64.so";
#[cfg(not(target_arch = "aarch64"))]
const OF_MAVEN: &str = "librocksdbjni-linux64.so";

/// Of the client threads (perf context), and, with `statistics=true`, of the database.
pub(super) static MEANINGS: [(&str, Meaning); 13] = [
    ("block_cache_hit_count", Meaning::CacheHits),
    ("rocksdb.bloom.filter.useful", Meaning::BloomFilterHits),
    ("rocksdb.compact.read.bytes", Meaning::CompactionBytesRead),
    ("rocksdb.compact.write.bytes", Meaning::CompactionBytesWritten),
    ("rocksdb.stall.micros", Meaning::WriterWaits),
    ("rocksdb.wal.bytes", Meaning::LogBytes),
    ("rocksdb.wal.synced", Meaning::LogFlushes),
    ("user_key_comparison_count", Meaning::KeyComparisons),
    ("block_read_count", Meaning::BlockReads),
    ("rocksdb.last.level.read.bytes", Meaning::LastLevelBytesRead),
    ("rocksdb.non.last.level.read.bytes", Meaning::UpperLevelBytesRead),
    ("cpu.serving", Meaning::ServingCpu),
    ("cpu.background", Meaning::BackgroundCpu),
];

pub(crate) static DESCRIPTOR: Descriptor = Descriptor {
    dbms: Dbms::Rocksdb,
    engine: None,
    dialect: Dialect(&SQL),
    packages: &PACKAGES,
    programs: &[
        OF_MAVEN,
        "librocksdb.so",
        "lib/librocksdb.so",
        "lib/*/librocksdb.so",
        "lib64/librocksdb.so",
    ],
    version: TellsVersion::Hosted(telling),
    numbers: |_| 3,
    installed: Installs::InPrefixes,
    flags: FlagsIn::Code,
    configs: &["rocksdb"],
    cache: CacheSetting {
        name: "cache_size",
        value: |bytes| format!("{}M", bytes >> 20),
        unit: |_| 1,
    },
    // A key with its value, and the index and filter of its block.
    need: CacheNeed { row: 440, least: 8 << 20 },
    implied: &[],
    durable: None,
    huge_pages: None,
    megabytes: "M",
    direct_reads: &[("use_direct_reads", |value| value == "true")],
    counters: &MEANINGS,
    sizes: |_| Footprint {
        // A tenth of a second.
        start: 0,
        restart: 0,
        end: 0,
        empty: 1 << 20,
        allocated: 0,
        // Files that a compaction replaces exist beside those that replace them.
        log_share: 1,
        keeps_logs: false,
        build: 110 << 20,
    },
};

/// The library is in the artifact for all systems but for 10.x, where each has its own.
static PACKAGES: [Package; 1] = [Package::new(
    Dbms::Rocksdb,
    Registry::Maven { files: &[("0", "jar"), ("10.0", "jar:linux64"), ("11.0", "jar")] },
    BOTH,
    "org.rocksdb:rocksdbjni",
)];
