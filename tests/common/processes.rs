//! Processes in /proc, and signals to them.

use std::path::{Path, PathBuf};
use std::{fs, iter};

use rustix::process::{Pid, Signal, kill_process};

fn all() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// The fields of /proc/PID/stat that follow the name, and the name.
fn stat(pid: i32) -> Option<(String, Vec<String>)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, tail) = text.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    Some((name.to_string(), tail.split_whitespace().map(str::to_string).collect()))
}

/// A zombie is not alive.
pub(crate) fn is_alive(pid: i32) -> bool {
    stat(pid).is_some_and(|(_, fields)| fields[0] != "Z")
}

pub(crate) fn is_stopped(pid: i32) -> bool {
    stat(pid).is_some_and(|(_, fields)| fields[0] == "T")
}

/// The living children of a process that have a name.
pub(crate) fn children(parent: i32, name: &str) -> Vec<i32> {
    let parent = parent.to_string();
    let is_child = |pid: &i32| {
        stat(*pid).is_some_and(|(its_name, fields)| its_name == name && fields[1] == parent)
    };
    all().filter(is_child).filter(|pid| is_alive(*pid)).collect()
}

/// A server and all its processes.
pub(crate) fn server(pid: i32) -> Vec<i32> {
    iter::once(pid).chain(children(pid, "postgres")).collect()
}

/// The processes that serve connections of rqps.
pub(crate) fn backends(server: i32) -> Vec<i32> {
    let serves = |pid: &i32| {
        let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        title.contains("rqps ib [local]")
    };
    children(server, "postgres").into_iter().filter(serves).collect()
}

/// All living processes whose working directory is this one or below it, like servers in their
/// data.
pub(crate) fn below(directory: &Path) -> Vec<i32> {
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| PathBuf::from(directory));
    let works_there = |pid: &i32| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|path| path.starts_with(&directory))
    };
    all().filter(works_there).filter(|pid| is_alive(*pid)).collect()
}

/// Resident bytes of a process.
pub(crate) fn memory(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// The peak of a process's resident bytes; none once it has ended.
pub(crate) fn most_memory(pid: i32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024)
}

/// Whether a signal to a process is still pending, or its handler is running. A second one could be
/// lost meanwhile.
pub(crate) fn is_taking(pid: i32, signal: Signal) -> bool {
    let bit = 1u64 << (signal.as_raw() - 1);
    let has_it = |line: &str| {
        let mut masks = ["SigPnd:", "ShdPnd:", "SigBlk:"].into_iter();
        let mask = masks.find_map(|name| line.strip_prefix(name));
        mask.is_some_and(|mask| u64::from_str_radix(mask.trim(), 16).unwrap() & bit != 0)
    };
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads
        .map(|thread| fs::read_to_string(thread.path().join("status")).unwrap_or_default())
        .any(|status| status.lines().any(has_it))
}

pub(crate) fn signal(pid: i32, signal: Signal) {
    // It may just have ended.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

pub(crate) fn kill(pid: i32) {
    signal(pid, Signal::KILL);
}

/// The CPU time of a process, in seconds.
pub(crate) fn cpu(pid: i32) -> Option<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = stat.rsplit(')').next()?.split_whitespace();
    let ticks: Vec<f64> = fields.skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    Some(ticks.iter().sum::<f64>() / rustix::param::clock_ticks_per_second() as f64)
}
