//! Descriptors of each DBMS with each of its engines, as data: a table in its folder, and a line
//! here.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rqps_observe::{CounterMeaning, Meaning};
use rqps_plan::{Build, CacheNeed, Contender, Dbms};
use rqps_system::Cancel;
use rqps_wire::Target;

use crate::Dialect;
use crate::error::DbmsError;
use crate::home::Home;
use crate::remote::Remote;
use crate::source::{Package, SourceError, Tell};

/// A DBMS with one of its engines.
pub struct Descriptor {
    pub dbms: Dbms,
    /// None for its usual one.
    pub engine: Option<&'static str>,
    pub dialect: Dialect,
    /// Sources of builds in the order of attempts: builds for production before builds for tests.
    pub(crate) packages: &'static [Package],
    /// Where the server's program, or the library of an embedded DBMS, may be below a build's root,
    /// the most likely first. A star stands for any one name.
    pub programs: &'static [&'static str],
    pub(crate) version: TellsVersion,
    /// How many numbers a release has, by its first: `17.6`, `8.0.33`. Builds that differ in the
    /// last one only can open each other's data.
    pub(crate) numbers: fn(u32) -> usize,
    pub(crate) installed: Installs,
    pub(crate) flags: FlagsIn,
    /// The families of its named configs, its own first.
    pub(crate) configs: &'static [&'static str],
    pub(crate) cache: CacheSetting,
    pub need: CacheNeed,
    /// Set unless a contender sets it, or sets a name that begins with one of the words in the
    /// list. A setting that not every build has begins with a question mark.
    pub(crate) implied: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// The setting with which each commit waits for the disk, where this is not the default.
    pub durable: Option<(&'static str, &'static str)>,
    /// The setting with which its cache is in reserved huge pages; none if it has none.
    pub(crate) huge_pages: Option<(&'static str, &'static str)>,
    /// The unit of megabytes in its settings.
    pub(crate) megabytes: &'static str,
    /// The settings that decide whether it reads data by direct IO, in order of precedence.
    pub(crate) direct_reads: &'static [Deciding],
    /// The meanings of counters by the ends of their names, the most specific first.
    pub(crate) counters: &'static [(&'static str, Meaning)],
    /// Measured values; a user's own build may differ.
    pub sizes: fn(&Build) -> Footprint,
    /// Gets a build and checks config and settings.
    pub(crate) prepare: Prepare,
    /// A remote server, by its URL.
    pub(crate) remote: Option<Reach>,
    /// The target of a URL for any client.
    pub(crate) target: Option<Lead>,
}

type Reach = fn(&Contender, &str, &Cancel) -> Result<Remote, DbmsError>;
type Lead = fn(&str, &Cancel) -> Result<Target, rqps_wire::Error>;
type Prepare = fn(&Home, &Contender, &mut Tell) -> Result<Box<dyn crate::Dbms>, DbmsError>;

/// The program that loads a library, with its arguments.
type HostOf = fn(&Path) -> io::Result<(PathBuf, Vec<OsString>)>;

/// How the version of a build is found.
#[derive(Clone, Copy)]
pub(crate) enum TellsVersion {
    /// By loading its library.
    Loaded(fn(&Path) -> Result<String, SourceError>),
    /// By another process of rqps, which loads its library: this is its command.
    Hosted(HostOf),
    /// By running its program with these arguments.
    Run {
        arguments: &'static [&'static str],
        /// Whether the answer is that of this DBMS: one may be installed under another's name.
        is_it: fn(&str) -> bool,
        /// The part after this character is the packager's.
        ends_at: Option<char>,
    },
}

impl TellsVersion {
    /// Its builds are libraries: a build may be a single file.
    pub(crate) fn is_of_a_library(self) -> bool {
        matches!(self, TellsVersion::Loaded(_) | TellsVersion::Hosted(_))
    }
}

/// Where an operating system installs builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installs {
    /// Below the usual prefixes.
    InPrefixes,
    /// In a folder for each major version, or where `pg_config` points to.
    ByVersion,
}

/// Where a build records how it was compiled, beside its debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagsIn {
    /// In `pg_config`, and in the same words in the server.
    Configure,
    /// In `docs/INFO_BIN`.
    Notes,
    /// Nowhere. What differs between builds are also the instructions that it has.
    Code,
}

/// The cache-size setting.
pub(crate) struct CacheSetting {
    pub(crate) name: &'static str,
    /// A number of bytes as its value.
    pub(crate) value: fn(u64) -> String,
    /// The unit of a number without one, in bytes.
    pub(crate) unit: fn(i64) -> u64,
}

/// A setting, and whether a value of it means direct IO.
pub(crate) type Deciding = (&'static str, fn(&str) -> bool);

/// Time and disk space that a server needs.
pub struct Footprint {
    /// Seconds to create an empty data directory, or to copy one that a fetched build created
    /// before, and to start a server on it.
    pub start: u64,
    /// Seconds to start a server on existing data.
    pub restart: u64,
    /// Seconds to stop it and to remove its data.
    pub end: u64,
    /// Bytes of an almost empty data directory.
    pub empty: u64,
    /// Bytes of it that are allocated but empty, which copies omit.
    pub allocated: u64,
    /// Space for logs and sorting, as a multiple of the data.
    pub log_share: u64,
    /// Whether logs stay when the data are closed.
    pub keeps_logs: bool,
    /// Bytes of a build with its download; those that rqps knows are not larger.
    pub build: u64,
}

/// The default engine of a DBMS comes before its others.
static ALL: &[&Descriptor] = &[
    &crate::sqlite::DESCRIPTOR,
    &crate::postgres::DESCRIPTOR,
    &crate::mysql::MYSQL,
    &crate::mysql::MYSQL_ROCKS,
    &crate::mysql::MARIADB,
    &crate::mysql::MARIADB_ROCKS,
    &crate::rocksdb::DESCRIPTOR,
];

impl Descriptor {
    /// The meanings of its counters, the most specific first.
    pub fn counters(&self) -> Vec<CounterMeaning> {
        let known = |(ends, meaning): &(&str, Meaning)| CounterMeaning {
            ends: ends.to_string(),
            meaning: *meaning,
        };
        self.counters.iter().map(known).collect()
    }
}

/// The descriptor of a DBMS with an engine, or with its default one.
pub fn descriptor(dbms: Dbms, engine: Option<&str>) -> &'static Descriptor {
    let of_dbms = || ALL.iter().filter(|one| one.dbms == dbms);
    let with_engine = of_dbms().find(|one| engine.is_some() && one.engine == engine);
    with_engine.or_else(|| of_dbms().next()).expect("each DBMS has a descriptor")
}

impl From<&Contender> for &'static Descriptor {
    fn from(contender: &Contender) -> Self {
        descriptor(contender.dbms, contender.engine.as_deref())
    }
}

impl From<&Contender> for Dialect {
    fn from(contender: &Contender) -> Self {
        <&Descriptor>::from(contender).dialect
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dbms_is_described_with_each_of_its_engines() {
        let named = |text: &str| {
            let contender: Contender = text.parse().unwrap();
            let descriptor: &Descriptor = (&contender).into();
            (descriptor.dbms, descriptor.dialect.name)
        };
        for (text, dbms, dialect) in [
            ("sqlite", Dbms::Sqlite, "sqlite"),
            ("postgres@17", Dbms::Postgres, "postgres"),
            ("mysql", Dbms::Mysql, "innodb"),
            ("mysql/innodb", Dbms::Mysql, "innodb"),
            ("mysql/rocksdb", Dbms::Mysql, "myrocks"),
            ("mariadb", Dbms::Mariadb, "innodb"),
            ("mariadb/rocksdb", Dbms::Mariadb, "myrocks"),
            ("rocksdb@10.4.2", Dbms::Rocksdb, "rocksdb"),
        ] {
            assert_eq!(named(text), (dbms, dialect), "{text}");
        }
    }
}
