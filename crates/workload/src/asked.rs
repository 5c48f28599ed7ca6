//! A workload as the user asks for it: by the flags of a verb, or by `rqps compare --workload`.

use std::time::Duration;

use clap::{ArgMatches, Args, Command};
use rqps_plan::{Contender, Count, QueryMode, Span, StockKey, Workload};

use crate::Dialect;
use crate::task::WorkloadError;

/// Given flags, which are also the keys of plan files.
pub(crate) trait Reads: Args {
    fn workload(self) -> Result<Workload, FlagError>;
}

/// Why a workload cannot be run as asked for.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FlagError(pub(crate) String);

impl From<WorkloadError> for FlagError {
    fn from(error: WorkloadError) -> Self {
        FlagError(error.to_string())
    }
}

/// Texts of statements by the names of what they belong to.
pub type StatementTexts = fn(Dialect) -> Vec<(&'static str, Vec<String>)>;

/// See [`crate::VERBS`].
pub struct Verb {
    pub name: &'static str,
    pub about: &'static str,
    flags: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Workload, FlagError>,
    /// Its statements on a DBMS, by the names of what they belong to; none if only a run shows
    /// them.
    pub statements: Option<StatementTexts>,
}

impl Verb {
    pub(crate) const fn of<F: Reads>(name: &'static str, about: &'static str) -> Verb {
        Verb {
            name,
            about,
            flags: F::augment_args,
            read: |given| {
                let flags = F::from_arg_matches(given);
                flags.map_err(|error| FlagError(error.to_string()))?.workload()
            },
            statements: None,
        }
    }

    pub(crate) const fn shows(self, statements: StatementTexts) -> Verb {
        Verb { statements: Some(statements), ..self }
    }

    /// Adds the flags to a command.
    pub fn flags(&self, command: Command) -> Command {
        (self.flags)(command)
    }

    /// The workload that they ask for.
    pub fn read(&self, given: &ArgMatches) -> Result<Workload, FlagError> {
        (self.read)(given)
    }
}

/// A workload as a comparison takes it.
pub(crate) struct Comparable {
    pub(crate) name: &'static str,
    /// For the help of `--workload`.
    pub(crate) about: &'static str,
    /// How it is written.
    pub(crate) syntax: &'static str,
    /// `@VERSION` may follow its name, for a version that is not the current one.
    pub(crate) has_versions: bool,
    /// Names of tests must follow its name.
    pub(crate) needs_names: bool,
    /// Its tests are pgbench's scripts.
    pub(crate) has_scripts: bool,
    /// Its scripts have variables or options that `--define` sets.
    pub(crate) has_options: bool,
    /// Its load is SQL that a user has written.
    pub(crate) loads_given_sql: bool,
    /// Its clients are the terminals of TPC-C, with that standard's keys and think times.
    pub(crate) has_terminals: bool,
    pub(crate) ask: fn(&Asked<'_>) -> Result<Workload, FlagError>,
    /// All tests of these names.
    pub(crate) select: fn(&[String]) -> Result<Vec<String>, WorkloadError>,
}

/// The options of a comparison, for any workload.
pub struct Asked<'a> {
    pub workload: &'a Wanted,
    pub contenders: &'a [Contender],
    pub rows: Option<Count>,
    pub tables: Option<u32>,
    pub writes: Option<&'a [Count]>,
    pub loads: Option<u32>,
    pub clients: u32,
    /// Of pgbench's tables.
    pub scale: Option<u32>,
    /// How pgbench's scripts are sent, and `NAME=VALUE` of the variables or options of scripts.
    pub query_mode: Option<QueryMode>,
    pub defines: &'a [String],
    /// Of each test or step.
    pub secs: Option<Span>,
    /// The time that fits into the budget, by the number of tests.
    pub fitting: &'a dyn Fn(usize) -> Span,
    pub check: bool,
    /// A load goes on without the statements that a contender refuses.
    pub skips_load_errors: bool,
    pub stock_key: Option<StockKey>,
    pub foreign_keys: bool,
    /// Clients rest before each operation.
    pub think: bool,
    /// Nothing may be made: the tables are those that servers have.
    pub read_only: bool,
}

impl Asked<'_> {
    pub fn plan(&self) -> Result<Workload, FlagError> {
        let is_asked = self.scale.is_some() || self.query_mode.is_some();
        if !self.workload.of.has_scripts && is_asked {
            let reason = "--scale and --query-mode are for pgbench's scripts. Drop them";
            return Err(FlagError(reason.to_string()));
        }
        if !self.workload.of.has_options && !self.defines.is_empty() {
            let reason = "--define is for scripts of pgbench and sysbench. Drop it";
            return Err(FlagError(reason.to_string()));
        }
        if self.skips_load_errors && !self.workload.of.loads_given_sql {
            let reason = "only a folder of SQL can have load errors. Drop --load-errors";
            return Err(FlagError(reason.to_string()));
        }
        if self.read_only && !self.workload.of.loads_given_sql {
            let reason = "--read-only makes no tables, and this workload needs its own. Write queries \
                          on the tables that the servers have, and use --workload sql:DIR";
            return Err(FlagError(reason.to_string()));
        }
        let of = self.workload.of;
        if !of.has_terminals && (self.stock_key.is_some() || self.foreign_keys || self.think) {
            let reason =
                "--stock-key, --foreign-keys and --think need --workload tpcc:1. Drop them";
            return Err(FlagError(reason.to_string()));
        }
        (of.ask)(self)
    }

    /// The default rows of a table or client.
    const ROWS: Count = Count(100_000);

    pub(crate) fn rows(&self) -> Count {
        self.rows.unwrap_or(Self::ROWS)
    }

    /// The default measured time of a test in a round of slices. With what a round costs beside it,
    /// an interval of a given width takes about the shortest time: see docs/performance.md, "one
    /// test".
    pub const SECS: Span = Span(Duration::from_secs(1));
    /// … and in a whole run, which has a server's start and stop of its own.
    pub const SECS_OF_RUN: Span = Span(Duration::from_secs(2));
}

/// `micro:scan`, `ibench@p2024:l.i0`: a workload as `rqps compare` reads it.
#[derive(Clone)]
pub struct Wanted {
    pub(crate) of: &'static Comparable,
    pub(crate) version: Option<String>,
    /// Of tests or steps.
    pub names: Vec<String>,
}

impl Wanted {
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// All tests of these names, to be profiled.
    pub fn select(&self, names: &[String]) -> Result<Vec<String>, WorkloadError> {
        (self.of.select)(names)
    }
}
