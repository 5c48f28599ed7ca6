//! The file that a person writes: a plan file, the machines that it is measured on, and who gives
//! rqps these machines.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use rqps_plan::Span;
use serde::Deserialize;
use toml::Spanned;

use crate::error::FleetError;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FleetFile {
    /// Relative to this file.
    pub plan: PathBuf,
    /// Runs of each cell, with one seed.
    #[serde(default = "one")]
    pub repeats: u32,
    #[serde(default = "three")]
    pub max_attempts: u32,
    /// Of a cell; none: by the estimate of its plan.
    pub limit: Option<Span>,
    /// None: all contenders of a workload in one cell, where they share rounds and baseline.
    pub split: Option<SplitBy>,
    pub on: Scheduler,
    #[serde(rename = "machine", default)]
    machines: Vec<Spanned<MachineEntry>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SplitBy {
    /// A cell for each contender with the baseline.
    Contender,
}

/// Who starts the cells.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    /// This machine, one cell after another.
    Local(LocalOptions),
    Slurm(SlurmOptions),
    Ssh(SshOptions),
    Kubernetes(KubernetesOptions),
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalOptions {}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SlurmOptions {
    /// The binary, by a path that is the same on all nodes.
    pub rqps: String,
    /// `RQPS_HOME` of a node: a local disk.
    pub home: String,
    pub partition: Option<String>,
    pub account: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SshOptions {
    pub rqps: String,
    pub home: String,
    /// The folder of the fleet on the hosts; none: that of this machine, which they share.
    pub folder: Option<String>,
    /// A file for `ssh -F`, relative to the folder of the fleet.
    pub config: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct KubernetesOptions {
    /// An image with the binary.
    pub image: String,
    pub rqps: String,
    /// A folder of the node.
    pub home: String,
    /// A claim of a volume, with the folder of the fleet.
    pub claim: String,
    pub namespace: Option<String>,
    /// Whole CPUs, and memory such as `16Gi`: the pod gets them for itself.
    pub cpus: u32,
    pub memory: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct MachineEntry {
    /// Part of the identity of a cell.
    pub name: String,
    /// For Slurm.
    pub constraint: Option<String>,
    /// For ssh.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// For Kubernetes.
    #[serde(default)]
    pub node_selector: BTreeMap<String, String>,
    /// Hosts of this kind that work at the same time.
    #[serde(default = "one")]
    pub count: u32,
}

fn one() -> u32 {
    1
}

fn three() -> u32 {
    3
}

/// A name is part of paths and of tables.
const LONGEST_NAME: usize = 40;
/// Longer values are mistakes.
const LONGEST_VALUE: usize = 500;
const MOST_REPEATS: u32 = 100;

impl Scheduler {
    pub fn name(&self) -> &'static str {
        match self {
            Scheduler::Local(_) => "local",
            Scheduler::Slurm(_) => "slurm",
            Scheduler::Ssh(_) => "ssh",
            Scheduler::Kubernetes(_) => "kubernetes",
        }
    }
}

impl FleetFile {
    pub fn parse(text: &str) -> Result<Self, FleetError> {
        let line = |start: usize| 1 + text.bytes().take(start).filter(|b| *b == b'\n').count();
        let file: FleetFile = toml::from_str(text).map_err(|error| {
            let line = line(error.span().map_or(0, |span| span.start));
            // What is expected may be said over several lines.
            let reason = error.message().lines().collect::<Vec<_>>().join(" ");
            FleetError::File { line, reason }
        })?;
        let wrong = |line: usize, reason: String| FleetError::File { line, reason };
        if file.machines.is_empty() {
            let reason = "there is no machine. Add a [[machine]] with a name";
            return Err(wrong(1, reason.to_string()));
        }
        if !(1..=MOST_REPEATS).contains(&file.repeats) || file.max_attempts == 0 {
            let reason =
                format!("repeats must be 1 to {MOST_REPEATS}, and max-attempts at least 1");
            return Err(wrong(1, reason));
        }
        for (what, value) in file.values() {
            check_value(what, value).map_err(|error| wrong(1, error.to_string()))?;
        }
        let mut names = BTreeSet::new();
        for machine in &file.machines {
            let (line, machine) = (line(machine.span().start), machine.get_ref());
            machine.check(&file.on).map_err(|error| wrong(line, error.to_string()))?;
            if !names.insert(machine.name.as_str()) {
                return Err(wrong(line, format!("two machines are called '{}'", machine.name)));
            }
        }
        Ok(file)
    }

    pub fn machines(&self) -> impl Iterator<Item = &MachineEntry> {
        self.machines.iter().map(Spanned::get_ref)
    }

    /// Texts that a scheduler gets.
    fn values(&self) -> Vec<(&'static str, &str)> {
        match &self.on {
            Scheduler::Local(_) => Vec::new(),
            Scheduler::Slurm(of) => {
                let more = [("partition", &of.partition), ("account", &of.account)];
                let more = more.into_iter().filter_map(|(what, of)| Some((what, of.as_deref()?)));
                [("rqps", &*of.rqps), ("home", &*of.home)].into_iter().chain(more).collect()
            }
            Scheduler::Ssh(of) => {
                let folder = of.folder.as_deref().map(|folder| ("folder", folder));
                [("rqps", &*of.rqps), ("home", &*of.home)].into_iter().chain(folder).collect()
            }
            Scheduler::Kubernetes(of) => {
                let namespace = of.namespace.as_deref().map(|it| ("namespace", it));
                let all = [
                    ("image", &*of.image),
                    ("rqps", &*of.rqps),
                    ("home", &*of.home),
                    ("claim", &*of.claim),
                    ("memory", &*of.memory),
                ];
                all.into_iter().chain(namespace).collect()
            }
        }
    }
}

impl MachineEntry {
    fn check(&self, on: &Scheduler) -> Result<(), FleetError> {
        check_name(&self.name)?;
        if self.count == 0 {
            return Err(name_error("count", "0", "it must be at least 1"));
        }
        if let Some(constraint) = &self.constraint {
            check_value("constraint", constraint)?;
        }
        for host in &self.hosts {
            check_host(host)?;
        }
        for (key, value) in &self.node_selector {
            check_value("node-selector", key)?;
            check_value("node-selector", value)?;
        }
        let given = [
            ("constraint", "slurm", self.constraint.is_some()),
            ("hosts", "ssh", !self.hosts.is_empty()),
            ("node-selector", "kubernetes", !self.node_selector.is_empty()),
        ];
        for (what, scheduler, is_given) in given {
            if is_given && scheduler != on.name() {
                let reason = "it is a key of another scheduler than that of [on]. Remove it";
                return Err(name_error("key", what, reason));
            }
        }
        match on {
            Scheduler::Ssh(_) if self.hosts.is_empty() => {
                Err(name_error("machine", &self.name, "it has no hosts. Add hosts = [\"…\"]"))
            }
            _ => Ok(()),
        }
    }
}

fn name_error(what: &'static str, value: &str, reason: &'static str) -> FleetError {
    FleetError::Name { what, value: value.escape_debug().to_string(), reason }
}

/// A name is a part of a path, of a label and of a table.
fn check_name(name: &str) -> Result<(), FleetError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
    let is_begun = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    match is_begun && name.len() <= LONGEST_NAME && name.chars().all(is_plain) {
        true => Ok(()),
        false => {
            let reason = "a machine's name has only ASCII letters, digits and . _ -, begins with a \
                          letter or digit, and has at most 40 of them";
            Err(name_error("name", name, reason))
        }
    }
}

/// A host may be an option to ssh if it begins with a dash.
fn check_host(host: &str) -> Result<(), FleetError> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_@:[]%".contains(c);
    let is_begun = host.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[');
    match is_begun && host.len() <= 255 && host.chars().all(is_plain) && !host.contains("..") {
        true => Ok(()),
        false => {
            let reason = "a host is a name, an address or user@name. Put everything else into the \
                          file that config names";
            Err(name_error("host", host, reason))
        }
    }
}

fn check_value(what: &'static str, value: &str) -> Result<(), FleetError> {
    let reason = match value {
        "" => "it is empty",
        value if value.chars().any(char::is_control) => "it has control characters",
        value if value.len() > LONGEST_VALUE => "it is longer than 500 bytes",
        value if value.starts_with('-') => "it begins with a dash, as options do",
        _ => return Ok(()),
    };
    Err(name_error(what, value, reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "plan = 'pg.toml'\n";
    const LOCAL: &str = "[on.local]\n";
    const SLURM: &str = "[on.slurm]\nrqps = '/shared/rqps'\nhome = '/var/cache/rqps'\n";
    const SSH: &str = "[on.ssh]\nrqps = '/shared/rqps'\nhome = '/var/cache/rqps'\n";

    #[test]
    fn what_is_left_out_has_a_default() {
        let file = FleetFile::parse(&format!("{HEAD}{LOCAL}[[machine]]\nname = 'here'\n")).unwrap();
        assert_eq!((file.repeats, file.max_attempts, file.limit, file.split), (1, 3, None, None));
        let machine = file.machines().next().unwrap();
        assert_eq!((machine.name.as_str(), machine.count), ("here", 1));
        assert_eq!(file.on.name(), "local");
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let machine = |rest: &str| format!("[[machine]]\n{rest}\n");
        for (text, expected) in [
            (LOCAL.to_string(), "line 1: there is no machine"),
            (format!("{LOCAL}{}", machine("name = 'a/b'")), "line 3: cannot use the name 'a/b'"),
            (format!("{LOCAL}{}", machine("name = '..'")), "line 3: cannot use the name '..'"),
            (
                format!("{LOCAL}{}", machine("name = \"a\\nb\"")),
                "line 3: cannot use the name 'a\\nb'",
            ),
            (
                format!("{LOCAL}{}", machine("name = 'a'\ncount = 0")),
                "line 3: cannot use the count",
            ),
            (format!("{LOCAL}{}", machine("nam = 'a'")), "line 4: unknown field `nam`"),
            (
                format!("{LOCAL}{}{}", machine("name = 'a'"), machine("name = 'a'")),
                "line 5: two machines are called 'a'",
            ),
            (
                format!("{SLURM}{}", machine("name = 'a'\nconstraint = '--uid=0'")),
                "line 5: cannot use the constraint '--uid=0': it begins with a dash",
            ),
            (
                format!("{SLURM}{}", machine("name = 'a'\nhosts = ['h']")),
                "line 5: cannot use the key 'hosts'",
            ),
            (
                format!("{SSH}{}", machine("name = 'a'")),
                "line 5: cannot use the machine 'a': it has no hosts",
            ),
            (
                format!("{SSH}{}", machine("name = 'a'\nhosts = ['-oProxyCommand=id']")),
                "line 5: cannot use the host '-oProxyCommand=id'",
            ),
            (
                format!("{SSH}{}", machine("name = 'a'\nhosts = ['h;id']")),
                "line 5: cannot use the host 'h;id'",
            ),
            ("[on.moon]\n".to_string(), "line 2: unknown variant `moon`"),
            (
                "[on.slurm]\nrqps = \"/a\\u0007\"\nhome = '/h'\n[[machine]]\nname = 'a'\n"
                    .to_string(),
                "line 1: cannot use the rqps '/a\\u{7}': it has control characters",
            ),
            (format!("repeats = 0\n{LOCAL}{}", machine("name = 'a'")), "line 1: repeats must be"),
            (format!("limit = 'soon'\n{LOCAL}"), "line 2: 'soon' is not a duration"),
        ] {
            let error = FleetFile::parse(&format!("{HEAD}{text}")).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}\n{text}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }

    #[test]
    fn a_machine_of_each_scheduler_is_read() {
        let slurm = format!("{HEAD}{SLURM}[[machine]]\nname = 'epyc'\nconstraint = 'amd&nvme'\n");
        assert_eq!(FleetFile::parse(&slurm).unwrap().on.name(), "slurm");
        let ssh = format!("{HEAD}{SSH}[[machine]]\nname = 'two'\nhosts = ['db1', 'me@10.0.0.2']\n");
        assert_eq!(FleetFile::parse(&ssh).unwrap().machines().next().unwrap().hosts.len(), 2);
        let kubernetes = format!(
            "{HEAD}[on.kubernetes]\nimage = 'registry.example/rqps:1'\nrqps = '/rqps'\n\
             home = '/mnt/rqps'\nclaim = 'fleet'\ncpus = 4\nmemory = '16Gi'\n\
             [[machine]]\nname = 'arm'\nnode-selector = {{ 'kubernetes.io/arch' = 'arm64' }}\n"
        );
        assert_eq!(FleetFile::parse(&kubernetes).unwrap().on.name(), "kubernetes");
    }
}
