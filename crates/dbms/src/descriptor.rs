//! What is known of each DBMS with each of its engines, as data: a table in its folder, and a line
//! here.

use std::path::Path;

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
    /// Where builds are to be had, in the order they are tried in: what people run before what is
    /// made for tests.
    pub(crate) packages: &'static [Package],
    /// Where the server's program, or the library of what is embedded, may be below a build's root,
    /// the likeliest first. A star stands for any one name.
    pub programs: &'static [&'static str],
    pub(crate) version: TellsVersion,
    /// How many numbers a release has, by its first: `17.6`, `8.0.33`. The last one may differ
    /// between two builds that take each other's data.
    pub(crate) numbers: fn(u32) -> usize,
    pub(crate) installed: Installs,
    pub(crate) flags: FlagsIn,
    /// The families of named configs that are for it, its own first.
    pub(crate) configs: &'static [&'static str],
    pub(crate) cache: CacheSetting,
    pub need: CacheNeed,
    /// Set unless a contender sets it, or something that begins with one of the words behind it. A
    /// setting that not every build has begins with a question mark.
    pub(crate) implied: &'static [(&'static str, &'static str, &'static [&'static str])],
    /// The setting with which each commit waits for the disk, where that is not so by itself.
    pub durable: Option<(&'static str, &'static str)>,
    /// The unit of megabytes in its settings.
    pub(crate) megabytes: &'static str,
    /// The settings that say whether it reads its data past the page cache, the first that decides
    /// first.
    pub(crate) direct_reads: &'static [Deciding],
    /// What counters stand for, by the ends of their names; those that tell most first.
    pub(crate) counters: &'static [(&'static str, Meaning)],
    /// As measured; a build of one's own may differ.
    pub sizes: fn(&Build) -> Footprint,
    /// Gets a build and checks config and settings.
    pub(crate) prepare: Prepare,
    /// For a server that is running already, by its URL.
    pub(crate) remote: Option<Reach>,
    /// Where a URL leads any client.
    pub(crate) target: Option<Lead>,
}

type Reach = fn(&Contender, &str, &Cancel) -> Result<Remote, DbmsError>;
type Lead = fn(&str, &Cancel) -> Result<Target, rqps_wire::Error>;
type Prepare = fn(&Home, &Contender, &mut Tell) -> Result<Box<dyn crate::Dbms>, DbmsError>;

/// How a build is asked for its version.
#[derive(Clone, Copy)]
pub(crate) enum TellsVersion {
    /// By its library, which is loaded.
    Loaded(fn(&Path) -> Result<String, SourceError>),
    /// Its program is run with these arguments.
    Run {
        arguments: &'static [&'static str],
        /// Whether it is this DBMS that says so: one may be installed under another's name.
        is_it: fn(&str) -> bool,
        /// What comes behind this character is the packager's.
        ends_at: Option<char>,
    },
}

/// Where an operating system has its builds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Installs {
    /// Below the usual prefixes.
    InPrefixes,
    /// In a folder for each major version, or where `pg_config` says.
    ByVersion,
}

/// What a build says of how it was compiled, beside its debug information.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlagsIn {
    /// `pg_config`, and the same words in the server.
    Configure,
    /// `docs/INFO_BIN`.
    Notes,
}

/// The setting that says how much it caches.
pub(crate) struct CacheSetting {
    pub(crate) name: &'static str,
    /// So many bytes as its value.
    pub(crate) value: fn(u64) -> String,
    /// What a number without a unit is a number of, in bytes.
    pub(crate) unit: fn(i64) -> u64,
}

/// A setting, and whether a value of it means direct IO.
pub(crate) type Deciding = (&'static str, fn(&str) -> bool);

/// What it takes to have one, of time and of disk.
pub struct Footprint {
    /// Seconds to make an empty data directory, or to copy one that a fetched build has made
    /// before, and to start a server on it.
    pub start: u64,
    /// Seconds to start a server on data that are there.
    pub restart: u64,
    /// Seconds to stop it and to remove its data.
    pub end: u64,
    /// Bytes of a data directory with hardly a row in it.
    pub empty: u64,
    /// Bytes of it that are allocated and have nothing in them yet, which copies leave out.
    pub allocated: u64,
    /// How many times the data logs and what is sorted take.
    pub log_share: u64,
    /// Logs stay when nobody has the data open.
    pub keeps_logs: bool,
    /// Bytes of a build, with what is downloaded for it: those that rqps knows are not larger.
    pub build: u64,
}

/// The usual engine of a DBMS comes before its others.
static ALL: [&Descriptor; 6] = [
    &crate::sqlite::DESCRIPTOR,
    &crate::postgres::DESCRIPTOR,
    &crate::mysql::MYSQL,
    &crate::mysql::MYSQL_ROCKS,
    &crate::mysql::MARIADB,
    &crate::mysql::MARIADB_ROCKS,
];

impl Descriptor {
    /// What its counters stand for, those that tell most first.
    pub fn counters(&self) -> Vec<CounterMeaning> {
        let known = |(ends, meaning): &(&str, Meaning)| CounterMeaning {
            ends: ends.to_string(),
            meaning: *meaning,
        };
        self.counters.iter().map(known).collect()
    }
}

/// Of a DBMS with an engine, or with its usual one.
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
        ] {
            assert_eq!(named(text), (dbms, dialect), "{text}");
        }
    }
}
