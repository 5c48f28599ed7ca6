//! Programs of schedulers: they run as this user, and get of the environment what they need to know
//! who that is.

use std::env;
use std::fs::File;
use std::path::Path;
use std::time::Duration;

use rqps_system::program::{self, Surroundings};
use rqps_system::{Cancelled, printable};
use rustix::process::Signal;

use crate::error::FleetError;

/// A client answers within this time, or its scheduler is not there.
const PATIENCE: Duration = Duration::from_secs(120);

/// The most of an answer that is told.
const MOST_TOLD: usize = 400;

#[derive(Debug)]
pub(crate) struct SchedulerClient {
    pub(crate) scheduler: &'static str,
    /// What to do where it is missing.
    pub(crate) hint: &'static str,
    /// Variables that it gets besides the neutral ones.
    pub(crate) environment: &'static [&'static str],
}

/// How a program ended, by its code.
pub(crate) struct ClientEnd {
    /// None if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl SchedulerClient {
    /// What a program says; an error is in its words.
    pub(crate) fn run(
        &self,
        program: &'static str,
        words: &[String],
        input: Option<File>,
    ) -> Result<String, FleetError> {
        let end = self.end_of(program, words, input, PATIENCE, &mut || Ok(()))?;
        match end.code {
            Some(0) => Ok(end.stdout),
            _ => Err(failure(program, &end)),
        }
    }

    /// The same for a program whose code means something.
    pub(crate) fn end_of(
        &self,
        program: &'static str,
        words: &[String],
        input: Option<File>,
        limit: Duration,
        go_on: &mut dyn FnMut() -> Result<(), Cancelled>,
    ) -> Result<ClientEnd, FleetError> {
        let path = env::var_os("PATH").unwrap_or_default();
        let found = program::find(program, &path).ok_or(FleetError::NoClient {
            program,
            scheduler: self.scheduler,
            hint: self.hint,
        })?;
        let around = Surroundings {
            folder: Path::new("/"),
            user: None,
            environment: self.environment,
            at_end: Some(Signal::TERM),
        };
        let mut command = program::command(&found, &around);
        command.args(words);
        if let Some(input) = input {
            command.stdin(input);
        }
        let said = program::run(&mut command, limit, go_on).map_err(|error| {
            FleetError::Client { program: program.to_string(), said: error.to_string() }
        })?;
        Ok(ClientEnd { code: said.status.code(), stdout: said.stdout, stderr: said.stderr })
    }
}

/// What a program said when it failed, on one line.
pub(crate) fn failure(program: &str, end: &ClientEnd) -> FleetError {
    let said = if end.stderr.trim().is_empty() { &end.stdout } else { &end.stderr };
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut told = printable(&lines.join("; ")).into_owned();
    if let Some((cut, _)) = told.char_indices().nth(MOST_TOLD) {
        told.truncate(cut);
    }
    if told.is_empty() {
        told = match end.code {
            Some(code) => format!("exit code {code}"),
            None => "it was killed".to_string(),
        };
    }
    FleetError::Client { program: program.to_string(), said: told }
}
