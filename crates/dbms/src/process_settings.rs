//! How the process of a contender's server is started, beside the settings of its DBMS: variables,
//! a library that is loaded before all others, CPUs. They are written like settings, with a start
//! that no DBMS has: `process.cpus=0-1`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_plan::Contender;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::DbmsError;

const START: &str = "process.";
const VARIABLE: &str = "env.";
const PRELOAD: &str = "preload";
const CPUS: &str = "cpus";

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
    /// As they are written, and what that means.
    cpus: Option<(String, Vec<usize>)>,
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
            CPUS => self.cpus = Some((value.to_string(), cpus(value)?)),
            _ => {
                return Err(format!(
                    "there are {START}{CPUS}, {START}{PRELOAD} and {START}{VARIABLE}NAME"
                ));
            }
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
        if let Some((_, cpus)) = &self.cpus {
            let mut set = CpuSet::new();
            cpus.iter().for_each(|cpu| set.set(*cpu));
            // SAFETY: between fork and exec this is one system call, and allocates nothing.
            unsafe { command.pre_exec(move || Ok(sched_setaffinity(None, &set)?)) };
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
            let maps = String::from_utf8_lossy(&read("maps")).into_owned();
            maps.lines().any(|line| line.ends_with(&*path.to_string_lossy()))
        };
        let library = self.preload.as_ref().filter(|library| !is_loaded(library));
        let library = library.map(|path| {
            format!(
                "'{}' was not loaded: it may be for another machine, or the server's user may not \
                 read it",
                path.display()
            )
        });
        let elsewhere = self.cpus.as_ref().filter(|(_, cpus)| {
            let status = String::from_utf8_lossy(&read("status")).into_owned();
            let mut lines = status.lines();
            let allowed = lines.find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            allowed.and_then(listed).as_ref() != Some(cpus)
        });
        let cpus = elsewhere.map(|(text, _)| format!("it does not run on the CPUs {text}"));
        variable.or(library).or(cpus)
    }

    /// By name, for the settings in force.
    pub(crate) fn in_force(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let variables = self.variables.iter();
        let variables =
            variables.map(|(name, value)| (format!("{START}{VARIABLE}{name}"), value.clone()));
        let preload = self.preload.iter();
        let preload = preload.map(|path| (format!("{START}{PRELOAD}"), path.display().to_string()));
        let cpus = self.cpus.iter().map(|(text, _)| (format!("{START}{CPUS}"), text.clone()));
        variables.chain(preload).chain(cpus)
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

fn cpus(value: &str) -> Result<Vec<usize>, String> {
    let cpus = listed(value).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.ok_or("write a list as in 0,2-3")?;
    let here = sched_getaffinity(None).map_err(|error| format!("cannot read CPUs: {error}"))?;
    match cpus.iter().find(|cpu| **cpu >= CpuSet::MAX_CPU || !here.is_set(**cpu)) {
        Some(cpu) => Err(format!("rqps may not use a CPU {cpu} here")),
        None => Ok(cpus),
    }
}

/// The CPUs of a list as the kernel writes them, in order. None if it is no list.
fn listed(text: &str) -> Option<Vec<usize>> {
    /// More than any machine has, so that a range cannot take all memory.
    const MOST: usize = 1 << 16;
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
        if first > last || last >= MOST {
            return None;
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(settings: &str) -> Result<ProcessSettings, String> {
        let contender = format!("postgres@17.6?{settings}").parse().unwrap();
        ProcessSettings::of(&contender).map_err(|error| error.to_string())
    }

    #[test]
    fn a_process_has_what_its_settings_say_and_it_is_seen_if_not() {
        let text = "work_mem=64MB&process.env.MALLOC_ARENA_MAX=2&process.cpus=0";
        let settings = of(text).unwrap();
        let mut sleep = Command::new("/bin/sleep");
        settings.apply(sleep.arg("600").env_clear());
        let mut child = sleep.spawn().unwrap();
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
        let expected = [("process.env.MALLOC_ARENA_MAX", "2"), ("process.cpus", "0")];
        assert_eq!(named, expected.map(|(name, value)| (name.to_string(), value.to_string())));
    }

    #[test]
    fn a_library_that_the_loader_does_not_take_is_missing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = of(&format!("process.preload={}", file.path().display())).unwrap();
        let mut sleep = Command::new("/bin/sleep");
        settings.apply(sleep.arg("600").stderr(std::process::Stdio::null()));
        let mut child = sleep.spawn().unwrap();
        let found = settings.missing(child.id()).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains("was not loaded"), "{found}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (settings, says) in [
            ("process.nice=5", "there are process.cpus, process.preload and process.env.NAME"),
            ("process.cpus=two", "write a list as in 0,2-3"),
            ("process.cpus=3-1", "write a list as in 0,2-3"),
            ("process.cpus=0-99999999999", "write a list as in 0,2-3"),
            ("process.cpus=9999", "rqps may not use a CPU 9999 here"),
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
        let sqlite = "sqlite?process.cpus=0".parse().unwrap();
        let error = ProcessSettings::refuse(&sqlite).unwrap_err().to_string();
        assert!(error.contains("sqlite runs in the process of rqps"), "{error}");
    }

    #[test]
    fn lists_of_cpus_are_those_of_the_kernel() {
        assert_eq!(listed("\t0-1,3\n"), Some(vec![0, 1, 3]));
        assert_eq!(listed("3,0,0-1"), Some(vec![0, 1, 3]));
        assert_eq!(listed(""), None);
    }
}
