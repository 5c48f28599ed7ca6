//! The server's processes: everything below its root, including those that have ended.

use std::collections::{BTreeMap, HashMap};
use std::fs;

use procfs::ProcError;
use procfs::process::{Process, Stat};

use crate::host::ticks_to_micros;
use crate::metric::{Metric, Reading};

/// How often a reading is repeated because a process ended during it.
const ATTEMPTS: u32 = 5;

/// Follows a process and its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    root: i32,
    /// The observed use of the processes so far, which never decreases.
    used: Used,
    /// The last values of counters that vanish with their thread, so that sums do not decrease when
    /// one ends. Its use after the last reading is lost.
    threads: HashMap<(i32, u64), ThreadSeen>,
    /// The kernel counts waits for block devices.
    counts_block_io: bool,
}

/// Counters that a process passes to its parent when it is reaped: sums over the tree are complete,
/// except for processes that end during the reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Used {
    user_ticks: u64,
    system_ticks: u64,
    minor_faults: u64,
    major_faults: u64,
    read_bytes: u64,
    written_bytes: u64,
    /// The kernel hides the IO of some processes from rqps.
    hides_io: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadSeen {
    voluntary: u64,
    involuntary: u64,
    run_queue_wait: u64,
    block_io_ticks: u64,
}

impl Used {
    fn add(&mut self, process: &Process, stat: &Stat) {
        self.user_ticks += stat.utime + stat.cutime.max(0) as u64;
        self.system_ticks += stat.stime + stat.cstime.max(0) as u64;
        self.minor_faults += stat.minflt + stat.cminflt;
        self.major_faults += stat.majflt + stat.cmajflt;
        // The kernel adds the IO of a reaped child to its parent's own.
        match process.io() {
            Ok(io) => {
                self.read_bytes += io.read_bytes;
                self.written_bytes += io.wchar;
            }
            // Those of other users need CAP_SYS_PTRACE, which root lacks in some containers.
            Err(ProcError::PermissionDenied(_)) => self.hides_io = true,
            Err(_) => {}
        }
    }

    fn max(self, other: Used) -> Used {
        Used {
            user_ticks: self.user_ticks.max(other.user_ticks),
            system_ticks: self.system_ticks.max(other.system_ticks),
            minor_faults: self.minor_faults.max(other.minor_faults),
            major_faults: self.major_faults.max(other.major_faults),
            read_bytes: self.read_bytes.max(other.read_bytes),
            written_bytes: self.written_bytes.max(other.written_bytes),
            hides_io: self.hides_io || other.hides_io,
        }
    }
}

impl ProcessTree {
    pub(crate) fn new(root: u32) -> Self {
        let setting = fs::read_to_string("/proc/sys/kernel/task_delayacct");
        let counts_block_io = setting.is_ok_and(|value| value.trim() == "1");
        let (used, threads) = (Used::default(), HashMap::new());
        ProcessTree { root: root as i32, used, threads, counts_block_io }
    }

    pub(crate) fn root(&self) -> u32 {
        self.root as u32
    }

    pub(crate) fn read(&mut self, reading: &mut Reading) {
        let Some((processes, largest)) = self.read_processes() else { return };
        let used = self.used;
        reading.set(Metric::ServerCpuUser, ticks_to_micros(used.user_ticks));
        reading.set(Metric::ServerCpuSystem, ticks_to_micros(used.system_ticks));
        reading.set(Metric::ServerMinorFaults, used.minor_faults);
        reading.set(Metric::ServerMajorFaults, used.major_faults);
        if !used.hides_io {
            reading.set(Metric::ServerReadBytes, used.read_bytes);
            reading.set(Metric::ServerWriteBytes, used.written_bytes);
        }
        reading.set(Metric::ServerRss, largest * procfs::page_size());
        for process in &processes {
            self.look_at_threads(process);
        }
        let sum = |of: fn(&ThreadSeen) -> u64| self.threads.values().map(of).sum::<u64>();
        reading.set(Metric::ServerVoluntarySwitches, sum(|seen| seen.voluntary));
        reading.set(Metric::ServerInvoluntarySwitches, sum(|seen| seen.involuntary));
        reading.set(Metric::ServerRunQueueWait, sum(|seen| seen.run_queue_wait) / 1_000);
        if self.counts_block_io {
            let ticks = sum(|seen| seen.block_io_ticks);
            reading.set(Metric::ServerBlockIoWait, ticks_to_micros(ticks));
        }
    }

    /// Adds the use of the processes; returns the living ones and the pages of the largest. Parents
    /// are read before their children, so the use of a process that ends meanwhile may be missed
    /// until the next reading, but is never counted twice. Such an end changes what the root has
    /// reaped, and the reading is repeated.
    fn read_processes(&mut self) -> Option<(Vec<Process>, u64)> {
        let root = Process::new(self.root).ok()?;
        let reaped = || root.stat().ok().map(|stat| (stat.cutime, stat.cstime, stat.cminflt));
        let mut result = (Vec::new(), 0);
        for _ in 0..ATTEMPTS {
            let before = reaped()?;
            let mut used = Used::default();
            let processes = descendants(self.root);
            let mut largest = 0;
            for process in &processes {
                let Ok(stat) = process.stat() else { continue };
                largest = largest.max(stat.rss);
                used.add(process, &stat);
            }
            self.used = self.used.max(used);
            result = (processes, largest);
            if reaped()? == before {
                break;
            }
        }
        Some(result)
    }

    fn look_at_threads(&mut self, process: &Process) {
        let Ok(tasks) = process.tasks() else { return };
        for task in tasks.flatten() {
            let (Ok(stat), Ok(status)) = (task.stat(), task.status()) else { continue };
            let seen = self.threads.entry((task.tid, stat.starttime)).or_default();
            seen.voluntary = status.voluntary_ctxt_switches.unwrap_or(0);
            seen.involuntary = status.nonvoluntary_ctxt_switches.unwrap_or(0);
            seen.block_io_ticks = stat.delayacct_blkio_ticks.unwrap_or(0);
            if let Ok(schedstat) = task.schedstat() {
                seen.run_queue_wait = schedstat.run_delay;
            }
        }
    }
}

/// A process and all below it that are alive, parents before their children.
pub fn descendants(root: i32) -> Vec<Process> {
    let mut found = Vec::new();
    let mut waiting = vec![root];
    while let Some(pid) = waiting.pop() {
        let Ok(process) = Process::new(pid) else { continue };
        if let Ok(tasks) = process.tasks() {
            let children = tasks.flatten().filter_map(|task| task.children().ok()).flatten();
            waiting.extend(children.map(|child| child as i32));
        }
        found.push(process);
    }
    found
}

/// The CPU time of a process and of each below it that is alive, in microseconds.
pub fn cpu_micros(root: i32) -> BTreeMap<u32, u64> {
    let micros = |process: Process| {
        let stat = process.stat().ok()?;
        Some((process.pid as u32, ticks_to_micros(stat.utime + stat.stime)))
    };
    descendants(root).into_iter().filter_map(micros).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Script, burn};

    fn read(tree: &mut ProcessTree) -> Reading {
        let mut reading = Reading::default();
        tree.read(&mut reading);
        reading
    }

    const CPU: [Metric; 2] = [Metric::ServerCpuUser, Metric::ServerCpuSystem];

    #[test]
    fn work_of_children_that_have_ended_is_counted() {
        let mut script = Script::new(&format!("{}; echo done; sleep 60", burn(50)));
        script.line();
        let reading = read(&mut ProcessTree::new(script.pid()));
        // The child waits for 50 ticks of user time, which it reads about itself.
        let user = reading.get(Metric::ServerCpuUser).unwrap();
        assert!(user >= 50 * 10_000, "{user} us");
        assert!(reading.get(Metric::ServerVoluntarySwitches).unwrap() > 0);
        assert!(reading.get(Metric::ServerMinorFaults).unwrap() > 0);
        assert!(reading.get(Metric::ServerRss).unwrap() > 0);
    }

    #[test]
    fn counters_never_count_down_while_children_come_and_go() {
        let script =
            Script::new("while :; do sh -c 'i=0; while [ $i -lt 900 ]; do i=$((i+1)); done'; done");
        let mut tree = ProcessTree::new(script.pid());
        let mut last = read(&mut tree);
        // CPU time is in ticks, and on a busy machine the first one is late.
        let mut readings = 0;
        while readings < 300 || last.sum(&CPU).unwrap() == 0 {
            readings += 1;
            let now = read(&mut tree);
            for (metric, value) in now.iter().filter(|(metric, _)| *metric != Metric::ServerRss) {
                let before = last.get(metric).unwrap();
                assert!(value >= before, "{}: {before} then {value}", metric.name());
            }
            last = now;
        }
    }

    #[test]
    fn io_of_a_child_that_has_ended_is_counted_once() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = directory.path().join("file");
        let write = format!("dd if=/dev/zero of={} bs=1M count=8 2>&1 | tail -1", file.display());
        let mut script = Script::new(&format!("read go; {write}; read go; sleep 60"));
        let mut tree = ProcessTree::new(script.pid());
        script.go();
        // The tree is read while the writer lives and after it has ended.
        let mut written = 0;
        while written < 8 << 20 {
            written = read(&mut tree).get(Metric::ServerWriteBytes).unwrap();
        }
        script.line();
        let written = read(&mut tree).get(Metric::ServerWriteBytes).unwrap();
        assert!((8 << 20..9 << 20).contains(&written), "{written} bytes");
    }

    #[test]
    fn pages_of_a_file_that_is_cached_in_large_folios_count_as_what_was_written() {
        let directory = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = directory.path().join("file").display().to_string();
        // Reading and writing a megabyte at a time fills the page cache with the largest folios.
        let page = format!("dd if=/dev/zero of={file} bs=8K count=1 conv=notrunc seek=");
        let mut script = Script::new(&format!(
            "dd if=/dev/zero of={file} bs=1M count=16 2>/dev/null; sync {file}; echo made; read go; \
             for page in 100 500 900 1300 1700; do {page}$page 2>/dev/null; done; echo done; sleep 60"
        ));
        script.line();
        let mut tree = ProcessTree::new(script.pid());
        let before = read(&mut tree);
        script.go();
        script.line();
        let written = read(&mut tree).since(&before).get(Metric::ServerWriteBytes).unwrap();
        assert!((5 * 8192..6 * 8192).contains(&written), "{written} bytes");
    }

    #[test]
    fn a_stopped_process_uses_nothing_and_is_still_read() {
        let script = Script::new("while :; do :; done");
        let pid = rustix::process::Pid::from_raw(script.pid() as i32).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
        let stopped = || procfs::process::Process::new(pid.as_raw_pid()).unwrap().stat().unwrap();
        while stopped().state != 'T' {
            std::thread::yield_now();
        }
        let mut tree = ProcessTree::new(script.pid());
        let before = read(&mut tree);
        std::thread::sleep(std::time::Duration::from_millis(100));
        let window = read(&mut tree).since(&before);
        assert_eq!(window.sum(&CPU), Some(0));
        assert_eq!(window.get(Metric::ServerRunQueueWait), Some(0));
    }

    #[test]
    fn a_process_that_is_gone_reads_as_nothing() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        assert_eq!(read(&mut ProcessTree::new(child.id())), Reading::default());
    }
}
