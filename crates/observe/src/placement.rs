//! Which CPUs a thread or a server may run on. With one client, server and client on two CPUs have
//! to wake each other: their placement changes rates more than most changes of the DBMS.

use std::collections::BTreeMap;
use std::io;

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use rustix::process::Pid;

use crate::kernel_list::kernel_list;
use crate::process_tree::descendants;

/// How often all threads are listed again, since threads may be created during the placement.
const PASSES: u32 = 10;

/// CPUs that this thread may use, in order.
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    Ok(numbers(&sched_getaffinity(None)?))
}

/// Threads that were placed, and their CPUs before; dropping it restores these.
#[derive(Debug)]
pub struct Placement {
    cpus: Vec<usize>,
    before: BTreeMap<i32, CpuSet>,
}

/// Places the calling thread, and the threads that it starts from now on.
pub fn pin_thread(cpus: &[usize]) -> io::Result<Placement> {
    let mut placement = Placement::on(cpus);
    placement.place(rustix::thread::gettid().as_raw_pid(), &set(cpus))?;
    Ok(placement)
}

/// Places these threads, as far as they exist.
pub fn pin_threads(threads: &[u32], cpus: &[usize]) -> io::Result<Placement> {
    let mut placement = Placement::on(cpus);
    for tid in threads {
        placement.place(*tid as i32, &set(cpus))?;
    }
    Ok(placement)
}

/// Places all threads of a process and its descendants; later ones inherit from their parents.
pub fn pin_tree(root: u32, cpus: &[usize]) -> io::Result<Placement> {
    let mut placement = Placement::on(cpus);
    let wanted = set(cpus);
    for _ in 0..PASSES {
        let mut new = false;
        for tid in threads(root) {
            if !placement.before.contains_key(&tid) {
                new |= placement.place(tid, &wanted)?;
            }
        }
        if !new {
            break;
        }
    }
    Ok(placement)
}

/// Whether a process or a descendant has this thread.
pub fn has_thread(root: u32, thread: u32) -> bool {
    threads(root).contains(&(thread as i32))
}

fn threads(root: u32) -> Vec<i32> {
    let tasks = descendants(root as i32).into_iter().filter_map(|process| process.tasks().ok());
    tasks.flat_map(|tasks| tasks.flatten().map(|task| task.tid)).collect()
}

impl Placement {
    fn on(cpus: &[usize]) -> Placement {
        Placement { cpus: cpus.to_vec(), before: BTreeMap::new() }
    }

    /// The CPUs, as the kernel writes them: `0-2,5`.
    pub fn cpus(&self) -> String {
        kernel_list(&self.cpus)
    }

    /// How many threads were placed.
    pub fn threads(&self) -> usize {
        self.before.len()
    }

    /// Places a thread; returns whether it existed.
    fn place(&mut self, tid: i32, wanted: &CpuSet) -> io::Result<bool> {
        let pid = Pid::from_raw(tid);
        let placed = sched_getaffinity(pid).and_then(|before| {
            sched_setaffinity(pid, wanted)?;
            Ok(before)
        });
        match placed {
            Ok(before) => {
                self.before.insert(tid, before);
                Ok(true)
            }
            // It has ended.
            Err(Errno::SRCH) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Placement {
    fn drop(&mut self) {
        for (tid, before) in &self.before {
            // A thread that has ended needs no place.
            let _ = sched_setaffinity(Pid::from_raw(*tid), before);
        }
    }
}

fn set(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for cpu in cpus.iter().filter(|cpu| **cpu < CpuSet::MAX_CPU) {
        set.set(*cpu);
    }
    set
}

fn numbers(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::Script;

    /// From the kernel.
    fn cpus_of(path: &str) -> String {
        let status = std::fs::read_to_string(path).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        line.unwrap().trim().to_string()
    }

    #[test]
    fn a_thread_is_placed_until_the_placement_is_dropped() {
        let allowed = allowed_cpus().unwrap();
        let status = "/proc/thread-self/status";
        assert_eq!(cpus_of(status), kernel_list(&allowed));
        let last = *allowed.last().unwrap();
        let placement = pin_thread(&[last]).unwrap();
        assert_eq!((placement.cpus(), placement.threads()), (last.to_string(), 1));
        assert_eq!(cpus_of(status), last.to_string());
        drop(placement);
        assert_eq!(cpus_of(status), kernel_list(&allowed));
    }

    #[test]
    fn a_tree_is_placed_with_what_is_born_later() {
        let allowed = allowed_cpus().unwrap();
        let mut script =
            Script::new("sleep 60 & echo up; read go; sleep 61 & echo up; read go; sleep 62");
        script.line();
        let placement = pin_tree(script.pid(), &allowed[..1]).unwrap();
        script.go();
        script.line();
        let family = || descendants(script.pid() as i32).into_iter().map(|process| process.pid);
        assert_eq!(family().count(), 3, "a shell and two that sleep");
        for pid in family() {
            assert_eq!(cpus_of(&format!("/proc/{pid}/status")), allowed[0].to_string());
        }
        drop(placement);
        assert_eq!(cpus_of(&format!("/proc/{}/status", script.pid())), kernel_list(&allowed));
    }

    #[test]
    fn some_threads_of_a_tree_are_placed_and_the_others_are_free() {
        let allowed = allowed_cpus().unwrap();
        let mut script = Script::new("sleep 60 & echo up; read go");
        script.line();
        let all = threads(script.pid());
        let sleeper = *all.iter().find(|tid| **tid != script.pid() as i32).unwrap() as u32;
        assert!(has_thread(script.pid(), sleeper) && !has_thread(sleeper, script.pid()));
        let placement = pin_threads(&[sleeper], &allowed[..1]).unwrap();
        assert_eq!(placement.threads(), 1);
        let cpus = |tid: u32| cpus_of(&format!("/proc/{tid}/status"));
        assert_eq!(cpus(sleeper), allowed[0].to_string());
        assert_eq!(cpus(script.pid()), kernel_list(&allowed));
        drop(placement);
        assert_eq!(cpus(sleeper), kernel_list(&allowed));
    }

    #[test]
    fn no_cpu_is_no_place() {
        assert!(pin_thread(&[]).is_err());
    }
}
