//! What is stored of a run beside its measurements: its contenders, the machine, the tool.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use rqps_observe::{CounterMeaning, MachineIdentity, Meaning};
use rqps_plan::{Flags, Memory};
use serde::{Deserialize, Serialize};

/// A contender as found when it was started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContenderRecord {
    /// Its name in tables: the label, or the contender as written.
    pub name: String,
    /// As written, without the label.
    pub spec: String,
    pub dbms: String,
    /// As the server reports it.
    pub version: String,
    /// Where the build came from: `npm`, `maven`, `system`, a path, `in rqps`, or `running server`.
    pub source: String,
    pub archive_sha256: Option<String>,
    pub server_sha256: Option<String>,
    pub compiler: Option<String>,
    /// How it was compiled; none in runs of an rqps that did not record it.
    pub flags: Option<Flags>,
    pub libc: Option<String>,
    /// How the client reached it: `unix socket`, `tcp`, `tcp with TLS 1.3` or `in process`.
    pub transport: String,
    /// The settings in force, as the server reports them.
    pub settings: BTreeMap<String, String>,
    /// Names of settings with the server's own default, where it reports that.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub defaults: BTreeSet<String>,
    /// The meanings of its counters, the most specific first.
    #[serde(skip)]
    pub counters: Vec<CounterMeaning>,
    /// Seconds until the server answers, including creating the data directory.
    pub start_seconds: f64,
}

impl ContenderRecord {
    /// The meaning of a counter of its DBMS, where a report uses it.
    pub fn meaning(&self, counter: &str) -> Option<Meaning> {
        self.counters.iter().find(|known| known.is_of(counter)).map(|known| known.meaning)
    }
}

/// What limits the memory of each server, including the page cache of its files. Without a limit,
/// data that the DBMS does not cache may be in the page cache, and IO-bound tests are so in name
/// only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "held_by", rename_all = "snake_case")]
pub enum MemoryHold {
    /// Not limited by rqps.
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
    /// Unique id of the run; part of the path of its data directories.
    pub id: String,
    pub rqps_version: String,
    /// RFC 3339, when the run was begun.
    pub created: String,
    /// The command as given.
    pub command: Vec<String>,
    pub cpus: u32,
    /// Facts of the machine by name: kernel, CPU model, governor, filesystem, … in the order shown.
    pub machine: Vec<(String, String)>,
    /// None in runs of an rqps that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<MachineIdentity>,
    /// The order in which the contenders ran.
    pub order: Vec<String>,
    /// None in runs of an rqps that did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryHold>,
    /// Whether a contender that was started reads its data past the page cache (direct IO), by its
    /// settings in force.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub direct_reads: BTreeMap<String, bool>,
    /// How much work the reference loop of a comparison does, so that its times are those of the
    /// same work in every session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_loop_rounds: Option<u64>,
    /// Which arms of a comparison are started together, by their places: the same in every session,
    /// however much memory it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<Vec<usize>>>,
    /// None in runs of an rqps that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelRecord>,
}

/// Times of kernel operations before the run, in nanoseconds. Not a fact of the machine: a stored
/// baseline is rejected where those differ, and this is never the same twice.
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
    /// Which contenders use direct IO: `postgres@17.6 no, mysql@8.0.33 yes`.
    pub fn direct_io(&self) -> String {
        let told = |(name, is_direct): (&String, &bool)| {
            format!("{name} {}", if *is_direct { "yes" } else { "no" })
        };
        self.direct_reads.iter().map(told).collect::<Vec<_>>().join(", ")
    }
}
