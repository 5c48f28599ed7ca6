//! The server's processes: everything below its root, those that have ended included.

use std::collections::HashMap;

use procfs::process::Process;

use crate::host::ticks_to_micros;
use crate::metric::{Metric, Reading};

/// How often a reading of CPU time is begun again because a process ended in the middle of it.
const ATTEMPTS: u32 = 5;

/// Follows a process and its descendants.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    root: i32,
    /// Counters that end with their process or thread, as last seen of each, so that the sums do
    /// not shrink when one ends. What it did after the last look is lost.
    processes: HashMap<(i32, u64), ProcessSeen>,
    threads: HashMap<(i32, u64), ThreadSeen>,
}

#[derive(Clone, Copy, Debug, Default)]
struct ProcessSeen {
    major_faults: u64,
    read_bytes: u64,
    write_bytes: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ThreadSeen {
    voluntary: u64,
    involuntary: u64,
    run_queue_wait: u64,
}

impl ProcessTree {
    pub(crate) fn new(root: u32) -> Self {
        let (processes, threads) = (HashMap::new(), HashMap::new());
        ProcessTree { root: root as i32, processes, threads }
    }

    pub(crate) fn read(&mut self, reading: &mut Reading) {
        let processes = descendants(self.root);
        if processes.is_empty() {
            return;
        }
        if let Some((user, system)) = self.cpu_ticks() {
            reading.set(Metric::ServerCpuUser, ticks_to_micros(user));
            reading.set(Metric::ServerCpuSystem, ticks_to_micros(system));
        }
        let mut largest = 0;
        for process in &processes {
            let Ok(stat) = process.stat() else { continue };
            largest = largest.max(stat.rss * procfs::page_size());
            let seen = self.processes.entry((process.pid, stat.starttime)).or_default();
            seen.major_faults = stat.majflt;
            if let Ok(io) = process.io() {
                seen.read_bytes = io.read_bytes;
                seen.write_bytes = io.write_bytes;
            }
            self.look_at_threads(process);
        }
        reading.set(Metric::ServerRss, largest);
        let process_sum = |of: fn(&ProcessSeen) -> u64| self.processes.values().map(of).sum();
        reading.set(Metric::ServerMajorFaults, process_sum(|seen| seen.major_faults));
        reading.set(Metric::ServerReadBytes, process_sum(|seen| seen.read_bytes));
        reading.set(Metric::ServerWriteBytes, process_sum(|seen| seen.write_bytes));
        let thread_sum = |of: fn(&ThreadSeen) -> u64| self.threads.values().map(of).sum::<u64>();
        reading.set(Metric::ServerVoluntarySwitches, thread_sum(|seen| seen.voluntary));
        reading.set(Metric::ServerInvoluntarySwitches, thread_sum(|seen| seen.involuntary));
        reading.set(Metric::ServerRunQueueWait, thread_sum(|seen| seen.run_queue_wait) / 1_000);
    }

    fn look_at_threads(&mut self, process: &Process) {
        let Ok(tasks) = process.tasks() else { return };
        for task in tasks.flatten() {
            let (Ok(stat), Ok(status)) = (task.stat(), task.status()) else { continue };
            let seen = self.threads.entry((task.tid, stat.starttime)).or_default();
            seen.voluntary = status.voluntary_ctxt_switches.unwrap_or(0);
            seen.involuntary = status.nonvoluntary_ctxt_switches.unwrap_or(0);
            if let Ok(schedstat) = task.schedstat() {
                seen.run_queue_wait = schedstat.run_delay;
            }
        }
    }

    /// User and system ticks of the processes and of the children they have reaped. A process that
    /// ends during the reading would be counted twice or not at all, which shows as a change of
    /// what the root has reaped.
    fn cpu_ticks(&self) -> Option<(u64, u64)> {
        let root = Process::new(self.root).ok()?;
        let reaped = || root.stat().ok().map(|stat| stat.cutime + stat.cstime);
        let mut sums = (0, 0);
        for _ in 0..ATTEMPTS {
            let before = reaped()?;
            sums = (0, 0);
            for stat in descendants(self.root).iter().filter_map(|process| process.stat().ok()) {
                sums.0 += stat.utime + stat.cutime.max(0) as u64;
                sums.1 += stat.stime + stat.cstime.max(0) as u64;
            }
            if reaped()? == before {
                break;
            }
        }
        Some(sums)
    }
}

/// A process and all below it that are alive.
fn descendants(root: i32) -> Vec<Process> {
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

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn work_of_children_that_have_ended_is_counted() {
        // The shell reaps a child that has burnt CPU, then waits.
        let burn = "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; echo done; sleep 60";
        let mut shell = Command::new("sh")
            .args(["-c", burn])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = shell.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
        let mut reading = Reading::default();
        ProcessTree::new(shell.id()).read(&mut reading);
        let cpu = reading.sum(&[Metric::ServerCpuUser, Metric::ServerCpuSystem]).unwrap();
        assert!(cpu >= 10_000, "{cpu} us");
        assert!(reading.get(Metric::ServerVoluntarySwitches).unwrap() > 0);
        assert!(reading.get(Metric::ServerRss).unwrap() > 0);
        let children: Vec<i32> = descendants(shell.id() as i32).iter().map(|p| p.pid).collect();
        shell.kill().unwrap();
        shell.wait().unwrap();
        // The sleep below the shell was ours, too.
        for child in children.into_iter().skip(1) {
            let pid = rustix::process::Pid::from_raw(child).unwrap();
            rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        }
    }

    #[test]
    fn a_process_that_is_gone_reads_as_nothing() {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let mut reading = Reading::default();
        ProcessTree::new(child.id()).read(&mut reading);
        assert_eq!(reading, Reading::default());
    }
}
