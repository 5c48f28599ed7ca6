//! How the process of a contender's server is started, beside the settings of its DBMS: variables,
//! and a library that is loaded before all others. They are written like settings, with a start
//! that no DBMS has: `process.preload=/path/lib.so`. CPUs are not among them, since comparisons
//! place servers themselves.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_plan::Contender;

use crate::error::DbmsError;

const START: &str = "process.";
const VARIABLE: &str = "env.";
const PRELOAD: &str = "preload";

/// The variable of ld.so(8) with libraries that are loaded first.
const LD_PRELOAD: &str = "LD_PRELOAD";

/// Variables that rqps sets itself.
const RESERVED: [&str; 3] = ["HOME", "LC_ALL", LD_PRELOAD];

/// Parts of names of variables whose values may be secret: plans and results have them all.
const SECRET: [&str; 5] = ["PASS", "TOKEN", "SECRET", "KEY", "CREDENTIAL"];

/// Whether a setting of a contender is about its process.
pub(crate) fn is_of_process(name: &str) -> bool {
    name.starts_with(START)
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessSettings {
    variables: Vec<(String, String)>,
    preload: Option<PathBuf>,
}

impl ProcessSettings {
    /// Those of a contender; an error if one cannot be.
    pub(crate) fn of(contender: &Contender) -> Result<ProcessSettings, DbmsError> {
        let mut settings = ProcessSettings::default();
        for (name, value) in of_process(contender) {
            settings.set(name, value).map_err(|why| refused(name, why))?;
        }
        Ok(settings)
    }

    /// An error if a contender that has no process of its own has some.
    pub(crate) fn refuse(contender: &Contender) -> Result<(), DbmsError> {
        let why = || format!("{} runs in the process of rqps", contender.dbms);
        match of_process(contender).next() {
            Some((name, _)) => Err(refused(name, why())),
            None => Ok(()),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        if let Some(variable) = name.strip_prefix(VARIABLE) {
            check_variable(variable)?;
            self.variables.push((variable.to_string(), value.to_string()));
            return Ok(());
        }
        match name {
            PRELOAD => self.preload = Some(library(value)?),
            _ => return Err(format!("there are {START}{PRELOAD} and {START}{VARIABLE}NAME")),
        }
        Ok(())
    }

    /// Has a server start with them.
    pub(crate) fn apply(&self, command: &mut Command) {
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(library) = &self.preload {
            let given = command.get_envs().find(|(name, _)| *name == LD_PRELOAD);
            let mut all = OsString::from(library);
            if let Some((_, Some(others))) = given {
                all.push(":");
                all.push(others);
            }
            command.env(LD_PRELOAD, all);
        }
    }

    /// Which of them the process does not have. The loader only warns about a library that it
    /// cannot load, and a build may drop its environment.
    pub(crate) fn missing(&self, pid: u32) -> Option<String> {
        let read = |file: &str| fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let environment = read("environ");
        let has = |name: &str, value: &str| {
            let wanted = format!("{name}={value}");
            environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes())
        };
        let dropped = self.variables.iter().find(|(name, value)| !has(name, value));
        let variable =
            dropped.map(|(name, _)| format!("its environment lacks {name} after the start"));
        let is_loaded = |library: &&PathBuf| {
            let path = fs::canonicalize(library).unwrap_or_else(|_| library.to_path_buf());
            let (maps, end) = (read("maps"), format!(" {}", path.display()));
            String::from_utf8_lossy(&maps).lines().any(|line| line.ends_with(&end))
        };
        let library = self.preload.as_ref().filter(|library| !is_loaded(library));
        let library = library.map(|path| {
            format!(
                "'{}' was not loaded: it may be for another machine, or the server's user may not \
                 read it",
                path.display()
            )
        });
        variable.or(library)
    }

    /// By name, for the settings in force.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let variables = self.variables.iter();
        let variables =
            variables.map(|(name, value)| (format!("{START}{VARIABLE}{name}"), value.clone()));
        let preload = self.preload.iter();
        let preload = preload.map(|path| (format!("{START}{PRELOAD}"), path.display().to_string()));
        variables.chain(preload)
    }
}

fn of_process(contender: &Contender) -> impl Iterator<Item = (&str, &str)> {
    let settings = contender.settings.iter();
    settings.filter_map(|(name, value)| Some((name.strip_prefix(START)?, value.as_str())))
}

fn refused(name: &str, why: String) -> DbmsError {
    DbmsError::ProcessSetting { name: format!("{START}{name}"), why }
}

fn check_variable(name: &str) -> Result<(), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err("a variable has letters, digits and _".to_string());
    }
    if name == LD_PRELOAD {
        return Err(format!("write {START}{PRELOAD}=FILE, which is looked for after the start"));
    }
    if RESERVED.contains(&name) {
        return Err("rqps sets it".to_string());
    }
    let upper = name.to_uppercase();
    match SECRET.iter().find(|part| upper.contains(**part)) {
        Some(part) => {
            Err(format!("its name has {part} in it, and plans and results would contain its value"))
        }
        None => Ok(()),
    }
}

fn library(value: &str) -> Result<PathBuf, String> {
    let path = Path::new(value);
    if !path.is_absolute() {
        return Err("write the whole path of the library".to_string());
    }
    // A colon or a space ends a path in the list of ld.so(8).
    if value.contains([':', ' ']) {
        return Err("the loader takes no path with a colon or a space".to_string());
    }
    match path.is_file() {
        true => Ok(path.to_path_buf()),
        false => Err("there is no such file".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::Stdio;

    use super::*;

    fn of(settings: &str) -> Result<ProcessSettings, String> {
        let contender = format!("postgres@17.6?{settings}").parse().unwrap();
        ProcessSettings::of(&contender).map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_has_what_its_settings_say_and_it_is_seen_if_not() {
        let text = "work_mem=64MB&process.env.MALLOC_ARENA_MAX=2";
        let settings = of(text).unwrap();
        let mut cat = Command::new("/bin/cat");
        settings.apply(cat.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut child = cat.spawn().unwrap();
        // The kernel shows its environment a moment after the start: it answers later.
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        let found = settings.missing(child.id());
        let other = of("process.env.MALLOC_ARENA_MAX=3").unwrap().missing(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(found, None);
        assert_eq!(
            other.as_deref(),
            Some("its environment lacks MALLOC_ARENA_MAX after the start")
        );
        let named: Vec<_> = settings.in_force().collect();
        assert_eq!(named, [("process.env.MALLOC_ARENA_MAX".to_string(), "2".to_string())]);
    }

    #[test]
    fn a_library_that_the_loader_does_not_take_is_missing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = of(&format!("process.preload={}", file.path().display())).unwrap();
        let mut sleep = Command::new("/bin/sleep");
        settings.apply(sleep.arg("600").stderr(Stdio::null()));
        let mut child = sleep.spawn().unwrap();
        let found = settings.missing(child.id()).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains("was not loaded"), "{found}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (settings, says) in [
            ("process.cpus=0", "there are process.preload and process.env.NAME"),
            ("process.preload=jemalloc.so", "write the whole path"),
            ("process.preload=/no/such.so", "there is no such file"),
            ("process.preload=/a:/b", "no path with a colon or a space"),
            ("process.env.MY_TOKEN=1", "its name has TOKEN in it"),
            ("process.env.HOME=/tmp", "rqps sets it"),
            ("process.env.LD_PRELOAD=/a.so", "write process.preload=FILE"),
            ("process.env.A-B=1", "a variable has letters, digits and _"),
        ] {
            let error = of(settings).unwrap_err();
            assert!(error.contains(says), "{settings}: {error}");
        }
        let sqlite = "sqlite?process.env.A=1".parse().unwrap();
        let error = ProcessSettings::refuse(&sqlite).unwrap_err().to_string();
        assert!(error.contains("sqlite runs in the process of rqps"), "{error}");
    }
}
