//! The memory nodes (NUMA) of a contender's server: `process.mems=0` for these alone,
//! `process.mems=interleave` for all of them in turn. See numa(7) and set_mempolicy(2).

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::thread;
use std::{fmt, fs, io};

use rqps_observe::{from_kernel_list, kernel_list};

use super::proc::of_proc;

const INTERLEAVE: &str = "interleave";
/// The nodes with memory.
const THERE: &str = "/sys/devices/system/node/has_memory";
/// Words of a mask: more nodes than any kernel is built for.
const WORDS: usize = 1024 / u64::BITS as usize;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MemoryNodes {
    is_in_turn: bool,
    nodes: Vec<usize>,
}

impl MemoryNodes {
    /// An error if a node is not there, or the kernel does not let it be chosen.
    pub(super) fn parse(value: &str) -> Result<MemoryNodes, String> {
        let there = fs::read_to_string(THERE).ok();
        let there = there.and_then(|list| from_kernel_list(list.trim()));
        let there = there.ok_or("this kernel tells of no memory nodes (NUMA)")?;
        let nodes = MemoryNodes::among(value, &there)?;
        // A policy is that of a thread.
        let (mode, mask) = nodes.policy();
        let tried = thread::spawn(move || set_policy(mode, &mask)).join().expect("no panic");
        let refused = |error| {
            format!(
                "the kernel refuses set_mempolicy(2) here: {error}. A container may need --cap-add \
                 SYS_NICE"
            )
        };
        tried.map(|()| nodes).map_err(refused)
    }

    fn among(value: &str, there: &[usize]) -> Result<MemoryNodes, String> {
        if value == INTERLEAVE {
            return Ok(MemoryNodes { is_in_turn: true, nodes: there.to_vec() });
        }
        let nodes = from_kernel_list(value)
            .ok_or_else(|| format!("write numbers of memory nodes, such as 0, or {INTERLEAVE}"))?;
        match nodes.iter().find(|node| !there.contains(node)) {
            Some(node) => {
                let those = kernel_list(there);
                Err(format!("this machine has no memory node {node}, but {those}"))
            }
            None => Ok(MemoryNodes { is_in_turn: false, nodes }),
        }
    }

    fn policy(&self) -> (libc::c_int, [u64; WORDS]) {
        let mut mask = [0; WORDS];
        let bits = u64::BITS as usize;
        for node in self.nodes.iter().filter(|node| **node < WORDS * bits) {
            mask[node / bits] |= 1 << (node % bits);
        }
        (if self.is_in_turn { libc::MPOL_INTERLEAVE } else { libc::MPOL_BIND }, mask)
    }

    pub(super) fn apply(&self, command: &mut Command) {
        let (mode, mask) = self.policy();
        // SAFETY: a system call between fork and exec, and nothing is allocated.
        unsafe { command.pre_exec(move || set_policy(mode, &mask)) };
    }

    /// Each line of numa_maps has the policy of a piece of memory; shared memory may have another.
    pub(super) fn missing(&self, pid: u32) -> Option<String> {
        let word = if self.is_in_turn { INTERLEAVE } else { "bind" };
        let wanted = format!("{word}:{}", kernel_list(&self.nodes));
        let maps = String::from_utf8_lossy(&of_proc(pid, "numa_maps")).into_owned();
        let policies = || maps.lines().filter_map(|line| line.split(' ').nth(1));
        if policies().any(|policy| policy == wanted) {
            return None;
        }
        let has = policies().next().unwrap_or("not told");
        Some(format!("its memory policy is {has} after the start, and not {wanted} (numa_maps)"))
    }
}

/// As it is written.
impl fmt::Display for MemoryNodes {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_in_turn {
            true => out.write_str(INTERLEAVE),
            false => out.write_str(&kernel_list(&self.nodes)),
        }
    }
}

/// The policy of the calling thread, and of what it starts.
fn set_policy(mode: libc::c_int, mask: &[u64; WORDS]) -> io::Result<()> {
    let bits = WORDS * u64::BITS as usize;
    // SAFETY: the kernel reads as many bits of the mask as it is told, and the mask has them.
    let done = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, mask.as_ptr(), bits + 1) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::started;
    use super::*;

    #[test]
    fn a_server_has_its_memory_policy_and_it_is_seen_if_not() {
        let Ok(bound) = MemoryNodes::parse("0") else {
            eprintln!("skipped: no memory nodes, or no right to choose them");
            return;
        };
        let in_turn = MemoryNodes::parse(INTERLEAVE).unwrap();
        let (child, _) = started("process.mems=0");
        assert_eq!(bound.missing(child.pid()), None);
        let told = in_turn.missing(child.pid()).unwrap();
        assert!(told.starts_with("its memory policy is bind:0 after the start"), "{told}");
        let (child, _) = started("process.mems=interleave");
        assert_eq!(in_turn.missing(child.pid()), None);
        let (child, _) = started("process.env.A=1");
        assert!(bound.missing(child.pid()).is_some());
    }

    #[test]
    fn nodes_that_are_not_there_are_refused_with_those_that_are() {
        let of = |value: &str| MemoryNodes::among(value, &[0, 2]);
        for value in ["0", "0,2", INTERLEAVE] {
            assert_eq!(of(value).unwrap().to_string(), value);
        }
        assert_eq!(of("1").unwrap_err(), "this machine has no memory node 1, but 0,2");
        let error = of("all").unwrap_err();
        assert_eq!(error, "write numbers of memory nodes, such as 0, or interleave");
    }
}
