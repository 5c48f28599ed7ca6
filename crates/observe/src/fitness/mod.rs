//! Findings on whether this machine is fit to measure on.

mod clock;
mod counters;
mod flush;
mod limits;

use std::path::Path;
use std::time::Duration;

use procfs::{Current, Meminfo};

use crate::guards::Limits;
use crate::host::read_host;
use crate::machine::{cpus, machine_facts};
use crate::metric::{Metric, Reading};

/// A property of the machine, and what it means for measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub subject: String,
    pub value: String,
    /// What is wrong and what to do; none if it is fine.
    pub warning: Option<String>,
}

/// With fewer bytes free, a run of the default size may fill the disk.
const FREE_DISK: u64 = 5 << 30;

/// Examines the machine for `time`, and the filesystem that data directories will be on.
pub fn examine(data: &Path, time: Duration) -> Vec<Finding> {
    let mut before = Reading::default();
    read_host(&mut before);
    std::thread::sleep(time);
    let mut after = Reading::default();
    read_host(&mut after);
    let window = after.since(&before);

    let facts = machine_facts(data).into_iter().map(|(subject, value)| {
        let warning = warning(&subject, &value);
        Finding { subject, value, warning }
    });
    let measured = [
        share(
            &window,
            Metric::HostCpuBusy,
            time,
            Limits::RUN.other_percent,
            "CPU of other processes",
            "other processes use the CPUs: stop them",
        ),
        share(
            &window,
            Metric::HostCpuSteal,
            time,
            Limits::RUN.steal_percent,
            "steal",
            "the hypervisor takes CPU time from this machine: expect wide intervals",
        ),
        swap(),
        free_disk(data),
        Some(flush::finding(data)),
        Some(clock::finding()),
        Some(counters::finding()),
    ];
    facts.chain(measured.into_iter().flatten()).chain(limits::findings()).collect()
}

fn warning(subject: &str, value: &str) -> Option<String> {
    let text = match subject {
        "cpus" if value == "1" => "client and server share one CPU: only CPU costs can be compared",
        "frequency governor" if value != "performance" => {
            "the CPU changes its frequency: as root: cpupower frequency-set -g performance"
        }
        "turbo" if value == "on" => {
            "the clock rate depends on temperature and on the other CPUs: turn turbo off for narrow \
             intervals: as root: echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost"
        }
        "CPU limit of rqps" if value != "none" => {
            "the control group's quota stops servers in the middle of slices: take it away, and \
             limit by CPUs (cpusets) instead"
        }
        "filesystem" if value.starts_with("tmpfs") => {
            "data would lie in memory: set RQPS_HOME to a directory on a disk"
        }
        "transparent huge pages" if value == "always" => {
            "the kernel merges pages in the background: as root: echo madvise > \
             /sys/kernel/mm/transparent_hugepage/enabled"
        }
        _ => return None,
    };
    Some(text.to_string())
}

fn share(
    window: &Reading,
    metric: Metric,
    time: Duration,
    limit: f64,
    subject: &str,
    advice: &str,
) -> Option<Finding> {
    let used = window.get(metric)? as f64 / 1e6;
    let percent = 100.0 * used / (time.as_secs_f64() * f64::from(cpus()));
    Some(Finding {
        subject: subject.to_string(),
        value: format!("{percent:.1} %"),
        warning: (percent > limit).then(|| advice.to_string()),
    })
}

fn swap() -> Option<Finding> {
    let memory = Meminfo::current().ok()?;
    let used = memory.swap_total.saturating_sub(memory.swap_free);
    let warning = (used > 0).then(|| "memory has been swapped out: stop what fills it".to_string());
    let value = format!("{} MiB", used >> 20);
    Some(Finding { subject: "swap in use".to_string(), value, warning })
}

/// Free bytes in the filesystem of a path; none if unknown.
pub fn free_bytes(path: &Path) -> Option<u64> {
    let stat = rustix::fs::statvfs(path).ok()?;
    Some(stat.f_bavail * stat.f_frsize)
}

fn free_disk(data: &Path) -> Option<Finding> {
    let free = free_bytes(data)?;
    let warning = (free < FREE_DISK).then(|| "a run may fill the disk: make room".to_string());
    let value = format!("{:.1} GiB", free as f64 / f64::from(1 << 30));
    Some(Finding { subject: "free disk".to_string(), value, warning })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_spoils_measurements_is_warned_of() {
        for (subject, bad, good) in [
            ("cpus", "1", "8"),
            ("frequency governor", "powersave", "performance"),
            ("filesystem", "tmpfs (rw)", "ext4 (rw)"),
            ("transparent huge pages", "always", "madvise"),
            ("turbo", "on", "off"),
            ("CPU limit of rqps", "150 % of a CPU", "none"),
        ] {
            assert!(warning(subject, bad).is_some(), "{subject} {bad}");
            assert_eq!(warning(subject, good), None, "{subject} {good}");
        }
    }

    #[test]
    fn a_share_above_its_limit_is_warned_of() {
        let busy = |micros| {
            let window = Reading::from_iter([(Metric::HostCpuBusy, micros)]);
            let time = Duration::from_secs(1);
            share(&window, Metric::HostCpuBusy, time, 5.0, "others' CPU", "stop them").unwrap()
        };
        assert_eq!(busy(0).warning, None);
        let all_of_one = busy(1_000_000);
        assert!(all_of_one.warning.is_some() || cpus() > 20, "{all_of_one:?}");
    }

    #[test]
    fn free_disk_is_told() {
        let findings = examine(Path::new("/"), Duration::from_millis(20));
        assert!(findings.iter().any(|finding| finding.subject == "free disk"));
    }
}
