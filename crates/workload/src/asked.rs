//! A workload as it is asked for: by the flags of a verb, or by what `rqps compare --workload` is
//! told.

use std::str::FromStr;
use std::time::Duration;

use clap::{ArgMatches, Args, Command};
use rqps_plan::{Count, Span, Workload, suggestion};

use crate::task::WorkloadError;
use crate::{COMPARED, microbenchmark};

/// Flags that were given, which are also the keys of plan files.
pub(crate) trait Reads: Args {
    fn workload(self) -> Result<Workload, FlagError>;
}

/// What is wrong with what was asked for.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct FlagError(pub(crate) String);

impl From<WorkloadError> for FlagError {
    fn from(error: WorkloadError) -> Self {
        FlagError(error.to_string())
    }
}

/// See [`crate::VERBS`].
pub struct Verb {
    pub name: &'static str,
    pub about: &'static str,
    flags: fn(Command) -> Command,
    read: fn(&ArgMatches) -> Result<Workload, FlagError>,
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
        }
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
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    /// For the help of `--workload`.
    pub(crate) about: &'static str,
    /// How it is written.
    pub(crate) syntax: &'static str,
    /// It is written with `@VERSION`, if it is not the current one.
    pub(crate) has_versions: bool,
    /// It is written with names of tests.
    pub(crate) needs_names: bool,
    pub(crate) ask: fn(&Asked<'_>) -> Result<Workload, FlagError>,
    /// Every test that is called so.
    pub(crate) select: fn(&[String]) -> Result<Vec<String>, WorkloadError>,
}

/// What a comparison asks for, whatever the workload.
pub struct Asked<'a> {
    pub names: &'a [String],
    pub version: Option<&'a str>,
    pub rows: Count,
    pub tables: Option<u32>,
    pub writes: Option<&'a [Count]>,
    pub loads: Option<u32>,
    pub clients: u32,
    /// Of each test or step.
    pub secs: Option<Span>,
    /// What fits into the budget, by the number of tests.
    pub fitting: &'a dyn Fn(usize) -> Span,
    pub check: bool,
}

impl Asked<'_> {
    /// How long a test is measured where nothing else is said.
    pub const SECS: Span = Span(Duration::from_secs(2));
}

/// `micro:scan`, `ibench@p2024:l.i0`: a workload as `rqps compare` is told of it.
#[derive(Clone)]
pub struct Wanted {
    of: &'static Compared,
    version: Option<String>,
    /// Of tests or steps.
    pub names: Vec<String>,
}

impl Wanted {
    /// What is compared where nothing is said.
    pub fn usual() -> Wanted {
        microbenchmark::usual()
    }

    pub(crate) fn of(name: &str, names: Vec<String>) -> Wanted {
        let of = COMPARED.iter().find(|one| one.name == name).expect("a workload of the table");
        Wanted { of, version: None, names }
    }

    /// What may be written, for help.
    pub fn about() -> String {
        COMPARED.each_ref().map(|one| one.about).join(", or ")
    }

    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    pub fn workload(&self, asked: &Asked<'_>) -> Result<Workload, FlagError> {
        (self.of.ask)(asked)
    }

    /// Every test that is called so, to be profiled.
    pub fn select(&self, names: &[String]) -> Result<Vec<String>, WorkloadError> {
        (self.of.select)(names)
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (what, names) = match text.split_once(':') {
            Some((what, names)) => (what, names.split(',').map(str::to_string).collect()),
            None => (text, Vec::new()),
        };
        let (name, version) = match what.split_once('@') {
            Some((name, version)) => (name, Some(version.to_string())),
            None => (what, None),
        };
        let of = COMPARED.iter().find(|one| one.name == name).ok_or_else(|| {
            let hint = suggestion(name, COMPARED.each_ref().map(|one| one.name));
            format!("unknown workload '{text}': {hint}")
        })?;
        let is_complete = !(of.needs_names && names.is_empty()) && names != [""];
        match is_complete && (of.has_versions || version.is_none()) {
            true => Ok(Wanted { of, version, names }),
            false => Err(format!("'{text}' is no workload: write {}", of.syntax)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workload_that_is_written_wrongly_is_answered_with_how_it_is_written() {
        let error = |text: &str| text.parse::<Wanted>().map(|_| ()).unwrap_err();
        assert_eq!(
            error("micor:scan"),
            "unknown workload 'micor:scan': did you mean 'micro'? (there are: micro, ibench)"
        );
        let syntax = "is no workload: write micro:TEST,… or micro:GROUP";
        for text in ["micro", "micro:", "micro@2:scan"] {
            assert_eq!(error(text), format!("'{text}' {syntax}"));
        }
        assert!("ibench@p2024:l.i0,l.x".parse::<Wanted>().is_ok());
    }
}
