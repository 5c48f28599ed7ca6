//! Readings cheap enough for slices of some milliseconds: CPU, run-queue wait and switches of a
//! server, from files that stay open.
//!
//! A reading of a group and four threads costs 1.2 us, and each thread more 0.2 us, on a 2-core VM;
//! one of everything, as each second has it, 180 us with four processes:
//! `cargo test -p rqps-observe -- --ignored --nocapture cost`. With an idle Postgres the latter is
//! 0.7 ms, and 4 ms with the sizes of the files below its data directory: 0.4 % of a core.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::cgroup::{Group, GroupCpu, GroupError};
use crate::process_tree::descendants;

/// Counters of a server at one instant, for differences with another of the same reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Edge {
    /// Nanoseconds of user and system CPU.
    pub cpu: u64,
    /// Nanoseconds that threads were runnable but had no CPU.
    pub run_queue_wait: u64,
    /// How often a thread was put on a CPU: one for each switch, voluntary or not.
    pub switches: u64,
}

/// Reads a server's counters.
#[derive(Debug)]
pub struct EdgeReader {
    group: Option<GroupCpu>,
    /// The group's CPU as of the last reading.
    group_cpu: u64,
    threads: Vec<Thread>,
}

#[derive(Debug)]
struct Thread {
    schedstat: File,
    /// As of the last reading, which is all there is of a thread that has ended.
    seen: Edge,
}

impl EdgeReader {
    /// A reader of the server with that root process. CPU is the group's, or else that of the
    /// threads alone. Threads are those that live now, so connections come first.
    pub fn new(root: u32, group: Option<&Group>) -> Result<EdgeReader, GroupError> {
        let group = group.map(Group::cpu).transpose()?;
        let tasks = descendants(root as i32).into_iter().filter_map(|process| {
            let pid = process.pid;
            Some((pid, process.tasks().ok()?))
        });
        let open = |pid: i32, tid: i32| File::open(format!("/proc/{pid}/task/{tid}/schedstat"));
        let files = tasks
            .flat_map(|(pid, tasks)| tasks.flatten().map(move |task| open(pid, task.tid)))
            .flatten();
        let threads = files.map(|schedstat| Thread { schedstat, seen: Edge::default() }).collect();
        Ok(EdgeReader { group, group_cpu: 0, threads })
    }

    pub fn read(&mut self) -> Edge {
        let mut sum = Edge::default();
        for thread in &mut self.threads {
            thread.look();
            sum.cpu += thread.seen.cpu;
            sum.run_queue_wait += thread.seen.run_queue_wait;
            sum.switches += thread.seen.switches;
        }
        if let Some(group) = &self.group {
            // A group that is gone counts no more.
            self.group_cpu = group.read_total().unwrap_or(self.group_cpu);
            sum.cpu = self.group_cpu;
        }
        sum
    }
}

impl Thread {
    fn look(&mut self) {
        let mut bytes = [0; 64];
        // A thread that has ended cannot be read.
        let Ok(length) = self.schedstat.read_at(&mut bytes, 0) else { return };
        let text = std::str::from_utf8(&bytes[..length]).unwrap_or_default();
        let mut numbers = text.split_ascii_whitespace().map(str::parse);
        if let (Some(Ok(cpu)), Some(Ok(run_queue_wait)), Some(Ok(switches))) =
            (numbers.next(), numbers.next(), numbers.next())
        {
            self.seen = Edge { cpu, run_queue_wait, switches };
        }
    }
}

impl Edge {
    /// What was used from `earlier` to this.
    pub fn since(&self, earlier: &Edge) -> Edge {
        Edge {
            cpu: self.cpu.saturating_sub(earlier.cpu),
            run_queue_wait: self.run_queue_wait.saturating_sub(earlier.run_queue_wait),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::child::Script;
    use crate::observer::Observer;

    #[test]
    fn a_busy_server_has_cpu_and_a_waiting_one_switches() {
        let mut busy = Script::new("echo go; while :; do :; done");
        busy.line();
        let mut reader = EdgeReader::new(busy.pid(), None).unwrap();
        let before = reader.read();
        let deadline = Instant::now() + Duration::from_secs(20);
        while reader.read().since(&before).cpu < 50_000_000 {
            assert!(Instant::now() < deadline, "its CPU time is not counted");
        }

        let mut waiting = Script::new("while read go; do echo went; done");
        let mut reader = EdgeReader::new(waiting.pid(), None).unwrap();
        let before = reader.read();
        for _ in 0..50 {
            // A line that is there before it asks costs it no switch.
            while !waiting.is_asleep() {
                std::thread::yield_now();
            }
            waiting.go();
            waiting.line();
        }
        let window = reader.read().since(&before);
        assert!(window.switches >= 50, "{window:?}: it waited for each line");
    }

    #[test]
    fn what_a_thread_did_stays_when_it_ends() {
        let mut script = Script::new("sh -c 'echo up; read go; exit'; sleep 60");
        script.line();
        let mut reader = EdgeReader::new(script.pid(), None).unwrap();
        let before = reader.read();
        let child = descendants(script.pid() as i32).pop().unwrap().pid;
        script.go();
        while procfs::process::Process::new(child).is_ok_and(|child| child.is_alive()) {
            std::thread::yield_now();
        }
        let after = reader.read();
        assert!(after.cpu >= before.cpu && after.switches >= before.switches);
    }

    /// Run alone: `cargo test -p rqps-observe -- --ignored --nocapture cost`.
    #[test]
    #[ignore = "measures this machine"]
    fn cost() {
        const READS: u32 = 20_000;
        let group = Group::create("cost");
        let mut script = Script::new("for i in 1 2 3; do sleep 60 & done; echo up; wait");
        if let Some(group) = &group {
            group.add(script.pid()).unwrap();
        }
        script.line();
        let per_read = |with: &str, group: Option<&Group>| {
            let mut reader = EdgeReader::new(script.pid(), group).unwrap();
            let start = Instant::now();
            for _ in 0..READS {
                std::hint::black_box(reader.read());
            }
            let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(READS);
            println!("{micros:.2} us per reading of {} threads {with}", reader.threads.len());
        };
        per_read("and a group", group.as_ref());
        per_read("alone", None);
        let directory = tempfile::tempdir().unwrap();
        let data = Some(directory.path());
        let mut observer = Observer::new(Some(script.pid()), data, None);
        let start = Instant::now();
        for _ in 0..READS / 20 {
            std::hint::black_box(observer.read());
        }
        let micros = start.elapsed().as_secs_f64() * 1e6 / f64::from(READS / 20);
        println!("{micros:.0} us per reading of everything, of 4 processes");
        drop(script);
    }
}
