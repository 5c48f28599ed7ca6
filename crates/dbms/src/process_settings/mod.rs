//! How the process of a contender's server is started, beside the settings of its DBMS: variables,
//! a library that is loaded before all others, CPUs, memory, a disk. They are written like
//! settings, with a start that no DBMS has: `process.preload=/path/lib.so`.

mod cpus;
mod disk;
mod huge_pages;
mod memory_nodes;
pub(crate) mod names;
mod proc;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_plan::Contender;

use crate::error::DbmsError;
use huge_pages::HugePages;
use memory_nodes::MemoryNodes;

use names::{HUGE_PAGES, START, of_process};
use proc::of_proc;

const VARIABLE: &str = "env.";
const PRELOAD: &str = "preload";
const CPUS: &str = "cpus";
const NODES: &str = "mems";
/// Transparent huge pages.
const THP: &str = "thp";
const DATA: &str = "data";
/// Those with a fixed name.
const NAMES: [&str; 6] = [PRELOAD, CPUS, NODES, THP, HUGE_PAGES, DATA];
/// The fact beside `process.data`.
const FILESYSTEM: &str = "filesystem of its data";

/// The variable of ld.so(8) with libraries that are loaded first.
const LD_PRELOAD: &str = "LD_PRELOAD";

/// Variables that rqps sets itself.
const RESERVED: [&str; 3] = ["HOME", "LC_ALL", LD_PRELOAD];

/// Parts of names of variables whose values may be secret: plans and results have them all.
const SECRET: [&str; 5] = ["PASS", "TOKEN", "SECRET", "KEY", "CREDENTIAL"];

/// The CPUs that a contender wants for its server; empty if it leaves them to rqps.
pub fn own_cpus(contender: &Contender) -> Vec<usize> {
    let value = of_process(contender).find(|(name, _)| *name == CPUS).map(|(_, value)| value);
    value.and_then(rqps_observe::from_kernel_list).unwrap_or_default()
}

/// The folder on another disk in which a contender wants its data to be.
pub fn data_disk(contender: &Contender) -> Option<PathBuf> {
    let value = of_process(contender).find(|(name, _)| *name == DATA).map(|(_, value)| value);
    value.and_then(|value| Path::new(value).canonicalize().ok())
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProcessSetting {
    Variable { name: String, value: String },
    Preload(PathBuf),
    Cpus(Vec<usize>),
    Nodes(MemoryNodes),
    WithoutThp,
    HugePages(HugePages),
    Data(PathBuf),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessSettings(Vec<ProcessSetting>);

impl ProcessSettings {
    /// Those of a contender; an error if one cannot be.
    pub(crate) fn of(contender: &Contender) -> Result<ProcessSettings, DbmsError> {
        let one = |(name, value)| {
            ProcessSetting::parse(name, value, contender).map_err(|why| refused(name, why))
        };
        Ok(ProcessSettings(of_process(contender).map(one).collect::<Result<_, _>>()?))
    }

    /// The same for a contender that has no process of its own, but data.
    pub(crate) fn of_embedded(contender: &Contender) -> Result<ProcessSettings, DbmsError> {
        match of_process(contender).find(|(name, _)| *name != DATA) {
            Some((name, _)) => {
                let why = format!(
                    "{} runs in the process of rqps, and so has {START}{DATA} alone",
                    contender.dbms
                );
                Err(refused(name, why))
            }
            None => ProcessSettings::of(contender),
        }
    }

    /// Has a server start with them; an error if the machine lacks what they need.
    pub(crate) fn apply(&self, command: &mut Command) -> Result<(), String> {
        self.0.iter().try_for_each(|one| one.apply(command))
    }

    /// What the process does not have of them. The loader only warns about a library that it
    /// cannot load, a build may drop its environment, and a DBMS do without huge pages.
    pub(crate) fn missing(&self, pid: u32) -> Option<String> {
        self.0.iter().find_map(|one| one.missing(pid))
    }

    /// By name, for the settings in force of a server with these data.
    pub(crate) fn in_force(&self, data: &Path) -> Vec<(String, String)> {
        let named = self.0.iter().map(|one| {
            let (name, value) = one.named();
            (format!("{START}{name}"), value)
        });
        let is_elsewhere = self.0.iter().any(|one| matches!(one, ProcessSetting::Data(_)));
        let filesystem = rqps_observe::filesystem_in_words(data).filter(|_| is_elsewhere);
        named.chain(filesystem.map(|words| (FILESYSTEM.to_string(), words))).collect()
    }
}

impl ProcessSetting {
    fn parse(name: &str, value: &str, contender: &Contender) -> Result<Self, String> {
        if let Some(variable) = name.strip_prefix(VARIABLE) {
            check_variable(variable)?;
            return Ok(Self::Variable { name: variable.to_string(), value: value.to_string() });
        }
        Ok(match (name, value) {
            (PRELOAD, _) => Self::Preload(library(value)?),
            (CPUS, _) => Self::Cpus(cpus::parse(value)?),
            (NODES, _) => Self::Nodes(MemoryNodes::parse(value)?),
            (THP, "off") => Self::WithoutThp,
            (THP, _) => {
                return Err(
                    "it can be off. Without it, the setting of the kernel holds".to_string()
                );
            }
            (HUGE_PAGES, "on") => Self::HugePages(HugePages::of(contender)?),
            (HUGE_PAGES, _) => {
                return Err("it can be on. Without it, the setting of the DBMS holds".to_string());
            }
            (DATA, _) => Self::Data(disk::parse(value)?),
            _ => {
                let names = NAMES.map(|name| format!("{START}{name}")).join(", ");
                return Err(format!("there are {names} and {START}{VARIABLE}NAME"));
            }
        })
    }

    fn apply(&self, command: &mut Command) -> Result<(), String> {
        match self {
            Self::Variable { name, value } => drop(command.env(name, value)),
            Self::Preload(library) => preload(library, command),
            Self::Cpus(cpus) => cpus::apply(cpus, command),
            Self::Nodes(nodes) => nodes.apply(command),
            Self::WithoutThp => huge_pages::without_transparent_ones(command),
            Self::HugePages(pages) => pages.check_free()?,
            // Its server is told where they are.
            Self::Data(_) => {}
        }
        Ok(())
    }

    fn missing(&self, pid: u32) -> Option<String> {
        match self {
            Self::Variable { name, value } => {
                let wanted = format!("{name}={value}");
                let environment = of_proc(pid, "environ");
                let is_there = environment.split(|byte| *byte == 0).any(|one| one == wanted.as_bytes());
                (!is_there).then(|| format!("its environment lacks {name} after the start"))
            }
            Self::Preload(library) => (!is_loaded(library, pid)).then(|| {
                format!(
                    "'{}' was not loaded: it may be for another machine, or the server's user may not \
                     read it",
                    library.display()
                )
            }),
            Self::Cpus(cpus) => cpus::missing(cpus, pid),
            Self::Nodes(nodes) => nodes.missing(pid),
            Self::WithoutThp => huge_pages::has_transparent_ones(pid),
            Self::HugePages(_) => huge_pages::has_none(pid),
            Self::Data(_) => None,
        }
    }

    fn named(&self) -> (String, String) {
        match self {
            Self::Variable { name, value } => (format!("{VARIABLE}{name}"), value.clone()),
            Self::Preload(library) => (PRELOAD.to_string(), library.display().to_string()),
            Self::Cpus(cpus) => (CPUS.to_string(), rqps_observe::kernel_list(cpus)),
            Self::Nodes(nodes) => (NODES.to_string(), nodes.to_string()),
            Self::WithoutThp => (THP.to_string(), "off".to_string()),
            Self::HugePages(_) => (HUGE_PAGES.to_string(), "on".to_string()),
            Self::Data(folder) => (DATA.to_string(), folder.display().to_string()),
        }
    }
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

/// Other libraries stay, behind this one.
fn preload(library: &Path, command: &mut Command) {
    let given = command.get_envs().find(|(name, _)| *name == LD_PRELOAD);
    let mut all = OsString::from(library);
    if let Some((_, Some(others))) = given {
        all.push(":");
        all.push(others);
    }
    command.env(LD_PRELOAD, all);
}

fn is_loaded(library: &Path, pid: u32) -> bool {
    let path = fs::canonicalize(library).unwrap_or_else(|_| library.to_path_buf());
    let (maps, end) = (of_proc(pid, "maps"), format!(" {}", path.display()));
    String::from_utf8_lossy(&maps).lines().any(|line| line.ends_with(&end))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Child, Stdio};

    use super::*;

    fn of(settings: &str) -> Result<ProcessSettings, String> {
        let contender = format!("postgres@17.6?{settings}").parse().unwrap();
        ProcessSettings::of(&contender).map_err(|error| error.to_string())
    }

    /// A process that is ended on drop.
    pub(super) struct Started(Child);

    impl Started {
        pub(super) fn pid(&self) -> u32 {
            self.0.id()
        }
    }

    impl Drop for Started {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    /// A process with these settings, which has answered: the kernel shows its environment a moment
    /// after the start.
    pub(super) fn started(settings: &str) -> (Started, ProcessSettings) {
        let settings = of(settings).unwrap();
        let mut cat = Command::new("/bin/cat");
        let cat = cat.env_clear().stdin(Stdio::piped()).stdout(Stdio::piped());
        settings.apply(cat).unwrap();
        let mut child = cat.spawn().unwrap();
        child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        (Started(child), settings)
    }

    #[test]
    fn a_process_has_what_its_settings_say_and_it_is_seen_if_not() {
        let (child, settings) = started("work_mem=64MB&process.env.MALLOC_ARENA_MAX=2");
        assert_eq!(settings.missing(child.pid()), None);
        let other = of("process.env.MALLOC_ARENA_MAX=3").unwrap().missing(child.pid());
        assert_eq!(
            other.as_deref(),
            Some("its environment lacks MALLOC_ARENA_MAX after the start")
        );
        assert_eq!(
            settings.in_force(Path::new("/")),
            [("process.env.MALLOC_ARENA_MAX".to_string(), "2".to_string())]
        );
    }

    #[test]
    fn the_filesystem_of_data_elsewhere_is_a_fact() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let contender = format!("sqlite?process.data={}", folder.path().display());
        let contender = contender.parse().unwrap();
        assert_eq!(data_disk(&contender), folder.path().canonicalize().ok());
        let facts = ProcessSettings::of_embedded(&contender).unwrap().in_force(&data);
        let names: Vec<&str> = facts.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["process.data", FILESYSTEM]);
    }

    #[test]
    fn a_library_that_the_loader_does_not_take_is_missing() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let settings = of(&format!("process.preload={}", file.path().display())).unwrap();
        let mut sleep = Command::new("/bin/sleep");
        settings.apply(sleep.arg("600").stderr(Stdio::null())).unwrap();
        let mut child = sleep.spawn().unwrap();
        let found = settings.missing(child.id()).unwrap_or_default();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(found.contains("was not loaded"), "{found}");
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_can() {
        for (settings, says) in [
            ("process.cpu=0", "there are process.preload, process.cpus, process.mems, "),
            ("process.thp=on", "it can be off"),
            ("process.hugepages=try", "it can be on"),
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
        let taken = of("process.hugepages=on&huge_pages=try").unwrap_err();
        assert!(taken.contains("huge_pages=try contradicts it"), "{taken}");
        let rocksdb = "rocksdb@10?process.hugepages=on".parse().unwrap();
        let error = ProcessSettings::of(&rocksdb).unwrap_err().to_string();
        assert!(error.ends_with("rocksdb has no setting for huge pages"), "{error}");
        let sqlite = "sqlite?process.env.A=1".parse().unwrap();
        let error = ProcessSettings::of_embedded(&sqlite).unwrap_err().to_string();
        assert!(error.contains("sqlite runs in the process of rqps"), "{error}");
    }
}
