//! The facts about a DBMS with one of its engines, as data.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use rqps_observe::{CounterMeaning, Meaning};
use rqps_plan::{Build, CacheNeed, Dbms};

use crate::dialect::Dialect;
use crate::source::catalog::Package;
use crate::source::error::SourceError;

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
}

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
