//! Runs a recipe's commands: as the user of servers, without rqps's environment, up to a time
//! limit, with all output in a log.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rqps_system::program::{self, RunError, Surroundings};
use rqps_system::{Cancelled, User};
use rustix::process::Signal;

use super::compiler::Compiler;
use super::recipe::{Recipe, Way};
use super::workshop::Workshop;
use crate::source::error::{SourceError, at};
use crate::source::machine::Machine;
use crate::source::progress::{Progress, Tell};

/// The niceness of builds (nice(1)).
const NICE: &str = "10";
/// The largest log; a build with more output is broken.
const LONGEST_LOG: u64 = 1 << 30;
/// Replaces the folder of the build in binaries.
const PLACE: &str = "/usr/src/rqps";
/// Lines of a log that are shown.
const TAIL: usize = 20;

/// The inputs of the commands.
pub(super) struct Steps<'a> {
    pub(super) machine: &'a Machine,
    pub(super) recipe: &'a Recipe,
    pub(super) workshop: &'a Workshop,
    pub(super) compiler: &'a Compiler,
    pub(super) flags: &'a str,
    pub(super) user: Option<User>,
    pub(super) limit: Duration,
    /// What is built, and the time of the last build.
    pub(super) what: String,
    pub(super) estimate: Duration,
}

/// The end of a build.
pub(super) enum Outcome {
    Done {
        seconds: f64,
    },
    /// In words, with the step.
    Failed {
        step: &'static str,
        reason: String,
    },
}

impl Steps<'_> {
    pub(super) fn run(
        &self,
        way: &Way,
        log: &Path,
        tell: &mut Tell,
    ) -> Result<Outcome, SourceError> {
        let begun = Instant::now();
        let steps =
            [("configure", &way.configure), ("build", &way.build), ("install", &way.install)];
        let file = File::options().append(true).create_new(true).open(log).map_err(at(log))?;
        for (step, script) in steps {
            if let Some(reason) = self.step(step, script, &file, log, begun, tell)? {
                return Ok(Outcome::Failed { step, reason });
            }
        }
        Ok(Outcome::Done { seconds: begun.elapsed().as_secs_f64() })
    }

    /// Why it failed.
    fn step(
        &self,
        step: &'static str,
        script: &str,
        file: &File,
        log: &Path,
        begun: Instant,
        tell: &mut Tell,
    ) -> Result<Option<String>, SourceError> {
        let folder = self.workshop.build();
        let around = Surroundings {
            folder: &folder,
            user: self.user,
            environment: &[],
            at_end: Some(Signal::KILL),
        };
        let nice = program::find("nice", &self.machine.path).unwrap_or_else(|| "nice".into());
        let mut command = program::command(&nice, &around);
        command.env_clear().envs(self.environment());
        command.args(["-n", NICE, "/bin/sh", "-e", "-u", "-c", script]);
        let mut building = || {
            let (gone, estimate) = (begun.elapsed(), self.estimate);
            tell(Progress::Building { what: self.what.clone(), step, gone, estimate })
        };
        // A step may end before it is waited for.
        building()?;
        let mut is_too_long = false;
        let ended = program::run_into(
            file,
            &mut command,
            self.limit.saturating_sub(begun.elapsed()),
            &mut || {
                is_too_long = file.metadata().is_ok_and(|log| log.len() > LONGEST_LOG);
                if is_too_long {
                    return Err(Cancelled);
                }
                building()
            },
        );
        match ended {
            Ok(status) if status.success() => Ok(None),
            Ok(status) => Ok(Some(reason(log).unwrap_or_else(|| status.to_string()))),
            Err(RunError::Cancelled(_)) if is_too_long => {
                Ok(Some("its output exceeds the limit on the log".to_string()))
            }
            Err(RunError::Cancelled(wish)) => Err(wish.into()),
            Err(RunError::TooLong(_)) => Ok(Some(format!(
                "the build did not end within {} s (raise --build-limit)",
                self.limit.as_secs()
            ))),
            Err(RunError::Start(error)) => Err(at(&nice)(error)),
        }
    }

    fn environment(&self) -> Vec<(&'static str, OsString)> {
        let Compiler { cc, cxx, tools, lto, .. } = self.compiler;
        let place = self.workshop.folder().display();
        let [compile, link] = lto.as_ref().map_or(["", ""], |lto| [lto.compile, lto.link]);
        let flags = [self.flags, compile, &format!("-ffile-prefix-map={place}={PLACE}")];
        let flags = flags.into_iter().filter(|flags| !flags.is_empty()).collect::<Vec<_>>();
        let flags = OsString::from(flags.join(" "));
        let jobs = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let mut all = vec![
            ("PATH", self.machine.path.clone()),
            ("HOME", self.workshop.build().into()),
            ("LC_ALL", "C".into()),
            ("TZ", "UTC".into()),
            ("SOURCE_DATE_EPOCH", "0".into()),
            ("SRC", self.workshop.sources().into()),
            ("ROOT", self.workshop.root().into()),
            ("PREFIX", self.recipe.prefix.clone().into()),
            ("JOBS", jobs.to_string().into()),
            ("CC", cc.clone().into()),
            ("CXX", cxx.clone().into()),
            ("CFLAGS", flags.clone()),
            ("CXXFLAGS", flags),
            ("LDFLAGS", link.into()),
        ];
        all.extend(tools.iter().map(|(name, program)| (*name, OsString::from(program))));
        all
    }
}

/// The reason for a failed command from its log: the first error of a compiler, of `configure` or
/// of cmake, else the last one of make.
fn reason(log: &Path) -> Option<String> {
    let text = tail_of(log, 1 << 20);
    let lines = || text.lines().map(str::trim);
    let marks = [
        ": error: ",
        ": fatal error: ",
        "configure: error: ",
        "CMake Error",
        "undefined reference",
    ];
    let first = lines().find(|line| marks.iter().any(|mark| line.contains(mark)));
    let last = || lines().rev().find(|line| line.contains("*** "));
    let words = || lines().rev().find(|line| !line.is_empty());
    first.or_else(last).or_else(words).map(|line| line.chars().take(300).collect())
}

/// The last lines of a log.
pub(super) fn tail(log: &Path) -> String {
    let text = tail_of(log, 64 << 10);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL)..].join("\n")
}

/// Whether a build failed because the disk was full, which says nothing about the build.
pub(super) fn is_disk_full(log: &Path) -> bool {
    tail_of(log, 1 << 20).contains("No space left on device")
}

fn tail_of(log: &Path, most: u64) -> String {
    let read = || {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(most)))?;
        let mut bytes = Vec::new();
        file.take(most).read_to_end(&mut bytes)?;
        std::io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    read().unwrap_or_default()
}

/// Moves a log to its final place.
pub(super) fn keep(log: &Path, folder: &Path) -> Result<PathBuf, SourceError> {
    let kept = folder.join(store_name(log));
    fs::rename(log, &kept).map_err(at(&kept))?;
    Ok(kept)
}

fn store_name(log: &Path) -> &std::ffi::OsStr {
    log.file_name().unwrap_or("build.log".as_ref())
}
