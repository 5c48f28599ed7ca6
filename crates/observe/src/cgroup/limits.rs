//! Limits on rqps by the groups that it is in. Its servers are in them, too.

use std::fs;
use std::path::Path;

use super::PROCESSES;
use super::hierarchy::{Controller, Parent, Version, homes};

/// A limit, by the kernel's Documentation/admin-guide/cgroup-v1/memory.rst, scheduler/sched-bwc.rst
/// and admin-guide/cgroup-v2.rst.
struct Limit {
    name: &'static str,
    controller: Controller,
    /// The files of a group with its value, whose words are read in order.
    one: &'static [&'static str],
    two: &'static [&'static str],
    /// None where the group is not limited.
    amount: fn(&str) -> Option<f64>,
    shown: fn(f64) -> String,
}

const LIMITS: [Limit; 2] = [
    Limit {
        name: "memory limit of rqps",
        controller: Controller::Memory,
        one: &["memory.limit_in_bytes"],
        two: &["memory.max"],
        amount: bytes,
        shown: |bytes| format!("{:.0} MiB", bytes / 1048576.0),
    },
    Limit {
        name: "CPU limit of rqps",
        controller: Controller::CpuQuota,
        one: &["cpu.cfs_quota_us", "cpu.cfs_period_us"],
        two: &["cpu.max"],
        amount: cpus,
        shown: |cpus| format!("{:.0} % of a CPU", 100.0 * cpus),
    },
];

/// Version 1 shows no limit as the maximum of its counter: 2^63 less a page.
const UNLIMITED: f64 = (1_u64 << 62) as f64;

/// Bytes of memory that rqps and all its servers may use; none if unlimited.
pub fn memory_limit() -> Option<u64> {
    let [memory, _] = &LIMITS;
    least(memory, &homes())?.map(|bytes| bytes as u64)
}

/// The limits by name, or `none` where a controller sets no limit.
pub(crate) fn own_limits() -> Vec<(&'static str, String)> {
    told(&homes())
}

fn told(homes: &[Parent]) -> Vec<(&'static str, String)> {
    let told = |limit: &Limit| {
        let least = least(limit, homes)?;
        Some((limit.name, least.map_or("none".to_string(), limit.shown)))
    };
    LIMITS.iter().filter_map(told).collect()
}

/// The smallest limit of the group and those above it: none if unlimited, nothing without such a
/// controller.
fn least(limit: &Limit, homes: &[Parent]) -> Option<Option<f64>> {
    let home = homes.iter().find(|home| home.controller == limit.controller)?;
    let files = match home.version {
        Version::One => limit.one,
        Version::Two => limit.two,
    };
    // A group of version 2 without the controller has no such file, and those above it may have.
    let groups = home.home.ancestors().take_while(|group| group.join(PROCESSES).is_file());
    let amounts = groups.filter_map(|group| (limit.amount)(&words(group, files)?));
    Some(amounts.reduce(f64::min))
}

fn words(group: &Path, files: &[&str]) -> Option<String> {
    let word = |file: &&str| Some(fs::read_to_string(group.join(file)).ok()?.trim().to_string());
    let words: Option<Vec<String>> = files.iter().map(word).collect();
    Some(words?.join(" "))
}

fn bytes(word: &str) -> Option<f64> {
    word.parse().ok().filter(|bytes: &f64| *bytes < UNLIMITED)
}

/// `150000 100000`: a quota and its period. Without a quota it is `max` or -1.
fn cpus(words: &str) -> Option<f64> {
    let (quota, period) = words.split_once(' ')?;
    let (quota, period): (f64, f64) = (quota.parse().ok()?, period.parse().ok()?);
    (quota > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits where the group `job/own` and those above it have these files.
    fn told_of(version: Version, files: &[(&str, &str)]) -> Vec<(&'static str, String)> {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("job/own");
        fs::create_dir_all(&home).unwrap();
        for group in ["", "job", "job/own"] {
            fs::write(root.path().join(group).join(PROCESSES), "").unwrap();
        }
        for (file, text) in files {
            fs::write(root.path().join(file), text).unwrap();
        }
        let parent =
            |controller| Parent { controller, version, path: home.clone(), home: home.clone() };
        told(&[Controller::Memory, Controller::CpuQuota].map(parent))
    }

    fn expected(memory: &str, cpu: &str) -> Vec<(&'static str, String)> {
        let both = [("memory limit of rqps", memory), ("CPU limit of rqps", cpu)];
        both.map(|(name, value)| (name, value.to_string())).to_vec()
    }

    #[test]
    fn the_smallest_limit_up_the_tree_holds() {
        let two = [
            ("job/memory.max", "2147483648\n"),
            ("job/own/memory.max", "4294967296\n"),
            ("job/cpu.max", "150000 100000\n"),
        ];
        assert_eq!(told_of(Version::Two, &two), expected("2048 MiB", "150 % of a CPU"));
        let one = [
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("job/own/memory.limit_in_bytes", "1073741824\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
            ("job/cpu.cfs_quota_us", "50000\n"),
            ("job/cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(told_of(Version::One, &one), expected("1024 MiB", "50 % of a CPU"));
    }

    #[test]
    fn no_limit_is_told_as_such() {
        let two = [("job/own/memory.max", "max\n"), ("job/own/cpu.max", "max 100000\n")];
        assert_eq!(told_of(Version::Two, &two), expected("none", "none"));
        let one = [
            ("memory.limit_in_bytes", "9223372036854771712\n"),
            ("cpu.cfs_quota_us", "-1\n"),
            ("cpu.cfs_period_us", "100000\n"),
        ];
        assert_eq!(told_of(Version::One, &one), expected("none", "none"));
        assert!(told(&[]).is_empty(), "nothing is told without control groups");
    }
}
