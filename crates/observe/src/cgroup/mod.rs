//! A control group for a server: its CPU time to the nanosecond, and limits of memory, CPU and IO.
//!
//! Both versions of control groups are used, each controller from the version that has it on this
//! machine. A group is named after the rqps that created it and is removed on drop; [`Group::reap`]
//! removes the groups of a killed rqps.

mod cpu;
mod hierarchy;
mod limits;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::io::Errno;

use crate::disk::disk_number;
use crate::process_tree::descendants;
pub use cpu::GroupCpu;
pub use hierarchy::Version as GroupVersion;
use hierarchy::{Controller, Parent, Version, all, counting, limiting};
pub use limits::memory_limit;
pub(crate) use limits::own_limits;

/// Names of groups start with this, the pid of the process that created them and its start time.
const PREFIX: &str = "rqps";
/// Characters of a group's purpose in its name; a file name has room for 255 bytes.
const LONGEST_NAME: usize = 40;
/// The file of a group that lists its processes; writing a pid moves that process into it.
const PROCESSES: &str = "cgroup.procs";
/// The period of a CPU quota in microseconds: the kernel's default.
const QUOTA_PERIOD: u64 = 100_000;
/// How long the kernel may take to release processes that have ended.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    #[error("this machine does not let rqps limit {0} by a control group")]
    NotAllowed(&'static str),
    #[error("control group: cannot write '{value}' to '{}': {source}", path.display())]
    Write { path: PathBuf, value: String, source: io::Error },
    #[error("control group: cannot {what} '{}': {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: io::Error },
    #[error("'{0}' is not on a block device whose IO can be limited")]
    NoDevice(PathBuf),
}

/// The most that a group may read from or write to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttle {
    pub read_bytes_per_second: Option<u64>,
    pub write_bytes_per_second: Option<u64>,
    pub reads_per_second: Option<u64>,
    pub writes_per_second: Option<u64>,
}

/// A control group in all hierarchies where it could be created; removed when dropped.
#[derive(Debug)]
pub struct Group {
    parts: Vec<Parent>,
}

impl Group {
    /// Creates a group that can limit; none where rqps may not create any. `name` is informative.
    pub fn create(name: &str) -> Option<Group> {
        Group::make(name, limiting())
    }

    /// Creates a group around a running server, to count its CPU time and change nothing; none
    /// where that is not possible.
    pub fn around(root: u32, name: &str) -> Option<Group> {
        let group = Group::make(name, counting().into_iter().collect())?;
        group.add_tree(root).is_ok().then_some(group)
    }

    fn make(name: &str, parents: Vec<Parent>) -> Option<Group> {
        static GROUPS: AtomicU32 = AtomicU32::new(0);
        let number = GROUPS.fetch_add(1, Ordering::Relaxed);
        // A contender's name may be a path of any length.
        let name: String = name.replace('/', "_").chars().take(LONGEST_NAME).collect();
        let name = format!("{PREFIX}-{}-{number}-{name}", Owner::this());
        let mut group = Group { parts: Vec::new() };
        for parent in parents {
            let path = parent.path.join(&name);
            // A hierarchy may have several controllers, and rqps may lack the right to some.
            let is_made = group.parts.iter().any(|part| part.path == path);
            if is_made || fs::create_dir(&path).is_ok() {
                group.parts.push(Parent { path, ..parent });
            }
        }
        (!group.parts.is_empty()).then_some(group)
    }

    /// Moves a process with all its threads into the group; its later children are in it, too.
    pub fn add(&self, pid: u32) -> Result<(), GroupError> {
        self.entrances().iter().try_for_each(|path| write(path, &pid.to_string()))
    }

    /// Moves a process and all its descendants, including those created during the move.
    pub fn add_tree(&self, root: u32) -> Result<(), GroupError> {
        let mut moved = BTreeSet::new();
        loop {
            let tree = descendants(root as i32).into_iter().map(|process| process.pid);
            let new: Vec<i32> = tree.filter(|pid| !moved.contains(pid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for pid in new {
                match self.add(pid as u32) {
                    // It has ended.
                    Err(GroupError::Write { source, .. })
                        if source.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                    result => result?,
                }
                moved.insert(pid);
            }
        }
    }

    /// The files to which a process writes "0" to enter the group: between fork and exec, so that
    /// everything it does is counted.
    pub fn entrances(&self) -> Vec<PathBuf> {
        self.paths().into_iter().map(|path| path.join(PROCESSES)).collect()
    }

    /// Limits memory, including the page cache of the group's files: what does not fit is read from
    /// the device again. The group is not swapped out.
    pub fn limit_memory(&self, bytes: u64) -> Result<(), GroupError> {
        let (path, version) = self.need(Controller::Memory, "memory")?;
        let (limit, swap, swap_value) = match version {
            Version::One => ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes", bytes),
            Version::Two => ("memory.max", "memory.swap.max", 0),
        };
        write(&path.join(limit), &bytes.to_string())?;
        // A kernel without swap accounting has no such file.
        let swap = path.join(swap);
        if swap.is_file() { write(&swap, &swap_value.to_string()) } else { Ok(()) }
    }

    /// The version whose hierarchy has the group's memory limit.
    pub fn memory_version(&self) -> Result<GroupVersion, GroupError> {
        Ok(self.need(Controller::Memory, "memory")?.1)
    }

    /// How many processes of the group the kernel has killed because of the memory limit.
    pub fn memory_kills(&self) -> u64 {
        let Ok((path, version)) = self.need(Controller::Memory, "memory") else { return 0 };
        let file = match version {
            Version::One => "memory.oom_control",
            Version::Two => "memory.events",
        };
        let text = fs::read_to_string(path.join(file)).unwrap_or_default();
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    /// Limits CPU time to a number of CPUs, such as 0.9 or 1.5.
    pub fn limit_cpu(&self, cpus: f64) -> Result<(), GroupError> {
        let (path, version) = self.need(Controller::CpuQuota, "CPU")?;
        let quota = (cpus * QUOTA_PERIOD as f64).round() as u64;
        match version {
            Version::One => {
                write(&path.join("cpu.cfs_period_us"), &QUOTA_PERIOD.to_string())?;
                write(&path.join("cpu.cfs_quota_us"), &quota.to_string())
            }
            Version::Two => write(&path.join("cpu.max"), &format!("{quota} {QUOTA_PERIOD}")),
        }
    }

    /// Limits IO on the disk that `path` is on; the kernel limits whole disks only. Version 1
    /// throttles only reads and direct writes: the kernel does buffered writes outside the group.
    pub fn throttle_io(&self, path: &Path, throttle: Throttle) -> Result<(), GroupError> {
        let (group, version) = self.need(Controller::Io, "IO")?;
        let disk = disk_number(path);
        let (major, minor) = disk.ok_or_else(|| GroupError::NoDevice(path.to_path_buf()))?;
        let limits = [
            ("read_bps_device", "rbps", throttle.read_bytes_per_second),
            ("write_bps_device", "wbps", throttle.write_bytes_per_second),
            ("read_iops_device", "riops", throttle.reads_per_second),
            ("write_iops_device", "wiops", throttle.writes_per_second),
        ];
        for (one, two, limit) in limits {
            let Some(limit) = limit else { continue };
            match version {
                Version::One => {
                    let file = group.join(format!("blkio.throttle.{one}"));
                    write(&file, &format!("{major}:{minor} {limit}"))?;
                }
                Version::Two => {
                    write(&group.join("io.max"), &format!("{major}:{minor} {two}={limit}"))?
                }
            }
        }
        Ok(())
    }

    /// A reader of the group's CPU time whose files stay open.
    pub fn cpu(&self) -> Result<GroupCpu, GroupError> {
        let (path, version) = self.need(Controller::CpuTime, "CPU time")?;
        GroupCpu::open(path, version).map_err(failed("open", path))
    }

    /// Removes the group, as dropping it does. Its processes return to the group of this process.
    pub fn remove(mut self) -> Result<(), GroupError> {
        for part in std::mem::take(&mut self.parts) {
            if let Err(source) = remove(&part) {
                return Err(GroupError::File { what: "remove", path: part.path, source });
            }
        }
        Ok(())
    }

    /// Removes groups whose rqps has ended. Servers in them keep their group until they end.
    pub fn reap() {
        for parent in all() {
            let Ok(entries) = fs::read_dir(&parent.path) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                let owner = path.file_name().and_then(|name| Owner::of(name.to_str()?));
                if owner.is_some_and(|owner| !owner.is_alive()) {
                    // Not empty: ending its processes is the task of the code that knows them.
                    let _ = fs::remove_dir(&path);
                }
            }
        }
    }

    fn part(&self, controller: Controller) -> Option<&Parent> {
        self.parts.iter().find(|part| part.controller == controller)
    }

    fn need(
        &self,
        controller: Controller,
        what: &'static str,
    ) -> Result<(&Path, Version), GroupError> {
        let part = self.part(controller).ok_or(GroupError::NotAllowed(what))?;
        Ok((&part.path, part.version))
    }

    /// Several controllers may share a directory.
    fn paths(&self) -> BTreeSet<&Path> {
        self.parts.iter().map(|part| part.path.as_path()).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for part in &self.parts {
            // What cannot be removed is reaped later.
            let _ = remove(part);
        }
    }
}

/// The process that created a group, distinct from later ones with the same pid.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner {
    pid: i32,
    started: u64,
}

impl Owner {
    fn this() -> Owner {
        Owner::living(std::process::id() as i32).expect("this process is alive")
    }

    fn living(pid: i32) -> Option<Owner> {
        let stat = Process::new(pid).ok()?.stat().ok()?;
        Some(Owner { pid, started: stat.starttime })
    }

    /// The owner in the name of a group of rqps.
    fn of(name: &str) -> Option<Owner> {
        let mut words = name.strip_prefix(PREFIX)?.strip_prefix('-')?.splitn(3, '-');
        Some(Owner { pid: words.next()?.parse().ok()?, started: words.next()?.parse().ok()? })
    }

    fn is_alive(self) -> bool {
        Owner::living(self.pid).is_some_and(|living| living == self)
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.pid, self.started)
    }
}

fn write(path: &Path, value: &str) -> Result<(), GroupError> {
    let failed =
        |source| GroupError::Write { path: path.to_path_buf(), value: value.to_string(), source };
    fs::write(path, value).map_err(failed)
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> GroupError {
    let path = path.to_path_buf();
    move |source| GroupError::File { what, path, source }
}

/// Removes the rest of a group in one hierarchy.
fn remove(part: &Parent) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        // Checked before the attempt: if this thread stalls afterwards, there is one more attempt.
        let now = Instant::now();
        match fs::remove_dir(&part.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                if now > deadline {
                    return Err(error);
                }
                let inside = fs::read_to_string(part.path.join(PROCESSES)).unwrap_or_default();
                for pid in inside.lines() {
                    // A process that has ended needs no group; one that is ending may take a
                    // moment.
                    let _ = fs::write(part.home.join(PROCESSES), pid);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
