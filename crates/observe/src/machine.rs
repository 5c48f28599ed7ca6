//! Facts of the machine that a result must be read with.

use std::fs;
use std::path::Path;

use procfs::{CpuInfo, Current, CurrentSI, KernelStats, Meminfo};

/// Facts by name, in the order in which they are shown. What cannot be told is left out.
pub fn machine_facts(data: &Path) -> Vec<(String, String)> {
    let trimmed = |path: &str| fs::read_to_string(path).ok().map(|text| text.trim().to_string());
    let kernel = || {
        Some(format!(
            "{} {}",
            trimmed("/proc/sys/kernel/ostype")?,
            trimmed("/proc/sys/kernel/osrelease")?
        ))
    };
    let facts: [(&str, Option<String>); 10] = [
        ("operating system", operating_system()),
        ("kernel", kernel()),
        ("cpu", cpu_model()),
        ("cpus", Some(cpus().to_string())),
        (
            "memory",
            Meminfo::current()
                .ok()
                .map(|m| format!("{:.1} GiB", m.mem_total as f64 / 1073741824.0)),
        ),
        ("hypervisor", hypervisor()),
        ("frequency governor", trimmed("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        (
            "transparent huge pages",
            trimmed("/sys/kernel/mm/transparent_hugepage/enabled").map(chosen),
        ),
        ("filesystem", filesystem(data)),
        ("swappiness", trimmed("/proc/sys/vm/swappiness")),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?))).collect()
}

/// CPUs of the host that are online, whether or not the calling thread may run on all of them.
pub fn cpus() -> u32 {
    KernelStats::current().map_or(1, |stat| stat.cpu_time.len().max(1) as u32)
}

/// Bytes that programs can have without the machine swapping: /proc/meminfo, MemAvailable.
pub fn available_memory() -> Option<u64> {
    Meminfo::current().ok()?.mem_available
}

fn operating_system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_string())
}

fn cpu_model() -> Option<String> {
    CpuInfo::current().ok()?.model_name(0).map(str::to_string)
}

fn hypervisor() -> Option<String> {
    let flagged = CpuInfo::current().ok()?.flags(0)?.contains(&"hypervisor");
    let product = fs::read_to_string("/sys/class/dmi/id/product_name").ok();
    flagged.then(|| product.map_or("yes".to_string(), |name| name.trim().to_string()))
}

/// The word in brackets of `always [madvise] never`.
fn chosen(options: String) -> String {
    let inner = options.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inner.map(|(word, _)| word.to_string()).unwrap_or(options)
}

/// Type and options of the mount that a path lies on: the longest mount point that leads to it.
fn filesystem(path: &Path) -> Option<String> {
    let mounts = procfs::mounts().ok()?;
    let leads = mounts.into_iter().filter(|mount| path.starts_with(&mount.fs_file));
    let mount = leads.max_by_key(|mount| mount.fs_file.len())?;
    let mut options: Vec<String> = mount
        .fs_mntops
        .into_iter()
        .map(|(name, value)| value.map_or(name.clone(), |value| format!("{name}={value}")))
        .collect();
    options.sort();
    Some(format!("{} ({})", mount.fs_vfstype, options.join(",")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_and_the_filesystem_can_be_told() {
        let facts = machine_facts(Path::new("/tmp"));
        for name in ["kernel", "cpus", "filesystem"] {
            assert!(
                facts.iter().any(|(known, value)| known == name && !value.is_empty()),
                "{name}"
            );
        }
    }

    #[test]
    fn the_option_in_brackets_is_the_chosen_one() {
        assert_eq!(chosen("always [madvise] never".to_string()), "madvise");
    }
}
