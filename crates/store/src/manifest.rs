//! What is kept of a run beside its measurements: its contenders, the machine, the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rqps_observe::{CounterMeaning, Meaning};
use rqps_plan::{Flags, Memory};
use serde::{Deserialize, Serialize};

/// A contender as it turned out to be when it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContenderRecord {
    /// Its name in tables: the label, or the contender as written.
    pub name: String,
    /// As written, without the label.
    pub spec: String,
    pub dbms: String,
    /// As the server tells it.
    pub version: String,
    /// Where the build came from: `npm`, `maven`, `system`, a path, `in rqps`, or `running server`.
    pub source: String,
    pub archive_sha256: Option<String>,
    pub server_sha256: Option<String>,
    pub compiler: Option<String>,
    /// How it was compiled; none in runs of an rqps that did not look.
    pub flags: Option<Flags>,
    pub libc: Option<String>,
    /// How the client reached it: `unix socket`, `tcp`, `tcp with TLS 1.3` or `in process`.
    pub transport: String,
    /// The settings in force, as the server tells them.
    pub settings: BTreeMap<String, String>,
    /// Names of those that are as the server has them by itself, as far as it tells.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub defaults: BTreeSet<String>,
    /// What its counters stand for, those that tell most first.
    #[serde(skip)]
    pub counters: Vec<CounterMeaning>,
    /// Seconds from nothing to a server that answers: creating the data directory included.
    pub start_seconds: f64,
}

impl ContenderRecord {
    /// What a counter of its DBMS stands for, where anything asks for that.
    pub fn meaning(&self, counter: &str) -> Option<Meaning> {
        self.counters.iter().find(|known| known.is_of(counter)).map(|known| known.meaning)
    }
}

/// What holds the memory of each server, the page cache of its files included. Where nothing does,
/// what the DBMS does not cache may be in the page cache, and IO-bound by name only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held_by", rename_all = "snake_case")]
pub enum MemoryHold {
    /// Nothing of rqps's.
    Nothing,
    /// The memory controller of a control group, by the version of its hierarchy.
    CgroupV1 {
        bytes: u64,
    },
    CgroupV2 {
        bytes: u64,
    },
}

impl fmt::Display for MemoryHold {
    /// `96M for each, its page cache included (cgroup v1)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, version) = match *self {
            MemoryHold::Nothing => return f.write_str("not limited by rqps"),
            MemoryHold::CgroupV1 { bytes } => (bytes, 1),
            MemoryHold::CgroupV2 { bytes } => (bytes, 2),
        };
        write!(f, "{} for each, its page cache included (cgroup v{version})", Memory(bytes))
    }
}

/// The machine and the tool, for the manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Names the run among all others; its data directories are found by it.
    pub id: String,
    pub rqps_version: String,
    /// RFC 3339, when the run was begun.
    pub created: String,
    /// The command as given.
    pub command: Vec<String>,
    pub cpus: u32,
    /// Facts of the machine by name: kernel, CPU model, governor, filesystem, … in the order shown.
    pub machine: Vec<(String, String)>,
    /// The order in which the contenders ran.
    pub order: Vec<String>,
    /// None in runs of an rqps that did not note it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryHold>,
    /// Whether a contender reads its data past the page cache (direct IO), by its settings in
    /// force: of those that have been started.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub direct_reads: BTreeMap<String, bool>,
    /// How much work the reference loop of a comparison is: its times are those of the same work in
    /// every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_loop_rounds: Option<u64>,
    /// Which arms are up together in a comparison, by their places: the same in every session,
    /// however much memory there is in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Vec<usize>>>,
    /// None in runs of an rqps that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
}

/// What the kernel took before the run, in nanoseconds. It is no fact of the machine: a stored base
/// is refused where those differ, and this is never twice the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelRecord {
    /// For a system call that does nothing.
    pub system_call_ns: u64,
    /// For 64 bytes through a Unix socket, sent and received by one thread.
    pub message_ns: u64,
}

impl fmt::Display for KernelRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ns for a system call, {} ns for a message of 64 bytes through a Unix socket",
            self.system_call_ns, self.message_ns
        )
    }
}

impl Manifest {
    /// Who reads past the page cache: `postgres@17.6 no, mysql@8.0.33 yes`.
    pub fn direct_io(&self) -> String {
        let told = |(name, is_direct): (&String, &bool)| {
            format!("{name} {}", if *is_direct { "yes" } else { "no" })
        };
        self.direct_reads.iter().map(told).collect::<Vec<_>>().join(", ")
    }
}
