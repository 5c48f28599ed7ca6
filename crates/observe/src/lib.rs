//! The cost of work: counters of the operating system, read at the edges of a window and once a
//! second, and control of the machine meanwhile (groups, CPUs, locks). Knows nothing of workloads.

mod callgrind;
mod cgroup;
#[cfg(test)]
mod child;
mod disk;
mod edge;
mod engine;
mod file_fact;
mod fitness;
mod guards;
mod hardware;
mod host;
mod identity;
mod kernel_cost;
mod kernel_list;
mod lock;
mod machine;
mod meaning;
mod metric;
mod observer;
mod placement;
mod process_tree;
mod profile;
mod reference_loop;
mod symbol;

pub use callgrind::{
    COUNTS, Callgrind, CallgrindError, CountedFunction, CountsFile, counts_file, read_counts,
};
pub use cgroup::{Group, GroupCpu, GroupError, GroupVersion, Throttle, memory_limit};
pub use edge::{Edge, EdgeReader};
pub use engine::{EngineReading, EngineValue};
pub use fitness::{Finding, examine, free_bytes};
pub use guards::{Around, Clocks, Conduct, GuardFailure, Limits, guards, other_cpu};
pub use hardware::{HARDWARE, HardwareCounts};
pub use identity::{MachineIdentity, host_name};
pub use kernel_cost::KernelCost;
pub use kernel_list::{from_kernel_list, kernel_list};
pub use lock::{LockError, SessionLock};
pub use machine::{available_memory, cpus, filesystem_in_words, machine_facts, network_filesystem};
pub use meaning::{CounterMeaning, Meaning};
pub use metric::{Kind, Metric, Reading};
pub use observer::{Observer, bytes_below};
pub use placement::{Placement, allowed_cpus, has_thread, pin_thread, pin_threads, pin_tree};
pub use process_tree::{cpu_micros, descendants};
pub use profile::{FREQUENCY, ProfileError, Profiler, Stacks, probe, sees_kernel};
pub use reference_loop::{ReferenceLoop, ReferenceLoops, Usual};
pub use symbol::CUT;
