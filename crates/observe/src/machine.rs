//! Facts of the machine that belong to a result.

use std::fs;
use std::path::Path;

use procfs::{CpuInfo, Current, CurrentSI, KernelStats, Meminfo, MountEntry};

use crate::cgroup::{memory_limit, own_limits};
use crate::disk::disk_facts;
use crate::file_fact::{FileFact, Shown, file_facts};

/// From the files of the kernel's Documentation: ABI/testing/sysfs-devices-system-cpu (smt),
/// ABI/stable/sysfs-devices-node, admin-guide/pm/cpufreq.rst, admin-guide/pm/intel_pstate.rst,
/// admin-guide/mm/transhuge.rst, admin-guide/sysctl/kernel.rst and admin-guide/sysctl/vm.rst.
const FILES: [FileFact; 8] = [
    FileFact {
        name: "SMT",
        file: "sys/devices/system/cpu/smt/active",
        shown: Shown::Words(&["off", "on"]),
    },
    FileFact { name: "NUMA nodes", file: "sys/devices/system/node/online", shown: Shown::Counted },
    FileFact {
        name: "frequency governor",
        file: "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        shown: Shown::Verbatim,
    },
    FileFact {
        name: "turbo",
        file: "sys/devices/system/cpu/intel_pstate/no_turbo",
        shown: Shown::Words(&["on", "off"]),
    },
    FileFact {
        name: "turbo",
        file: "sys/devices/system/cpu/cpufreq/boost",
        shown: Shown::Words(&["off", "on"]),
    },
    FileFact {
        name: "transparent huge pages",
        file: "sys/kernel/mm/transparent_hugepage/enabled",
        shown: Shown::Chosen,
    },
    FileFact {
        name: "ASLR",
        file: "proc/sys/kernel/randomize_va_space",
        shown: Shown::Words(&["off", "on, but for the heap", "on"]),
    },
    FileFact { name: "swappiness", file: "proc/sys/vm/swappiness", shown: Shown::Verbatim },
];

/// Facts by name, in display order. Unknown facts are omitted, and so are values that change by
/// themselves, such as free memory: a stored baseline is rejected on a machine with other facts.
pub fn machine_facts(data: &Path) -> Vec<(String, String)> {
    let mount = mount(data);
    let general = [
        ("operating system", operating_system()),
        ("kernel", kernel()),
        ("cpu", cpu_model()),
        ("cpus", Some(cpus().to_string())),
        ("memory", memory()),
        ("hypervisor", hypervisor()),
        ("CPU mitigations", mitigations(Path::new("/"))),
    ];
    let general = general.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let source = mount.as_ref().map(|mount| mount.fs_spec.as_str());
    let told = general
        .chain(file_facts(Path::new("/"), &FILES))
        .chain(mount.as_ref().map(|mount| ("filesystem", filesystem(mount))))
        .chain(disk_facts(data, source))
        .chain(own_limits());
    told.map(|(name, value)| (name.to_string(), value)).collect()
}

/// Filesystems over a network, by the beginnings of their types.
const NETWORK: [&str; 9] =
    ["9p", "afs", "beegfs", "ceph", "cifs", "fuse.sshfs", "lustre", "nfs", "smb"];

/// The type of the filesystem that a path is on, if it is reached over a network: data, sockets and
/// locks do not belong there.
pub fn network_filesystem(path: &Path) -> Option<String> {
    let real = path.ancestors().find_map(|above| above.canonicalize().ok())?;
    let kind = mount(&real)?.fs_vfstype;
    NETWORK.iter().any(|start| kind.starts_with(start)).then_some(kind)
}

/// The type and the options of the filesystem that a path is on.
pub fn filesystem_in_words(path: &Path) -> Option<String> {
    mount(&path.canonicalize().ok()?).as_ref().map(filesystem)
}

/// CPUs of the host that are online, whether or not the calling thread may run on all of them.
pub fn cpus() -> u32 {
    KernelStats::current().map_or(1, |stat| stat.cpu_time.len().max(1) as u32)
}

/// Bytes that programs can allocate without swapping (/proc/meminfo, MemAvailable), or the limit of
/// rqps and its servers.
pub fn available_memory() -> Option<u64> {
    let available = Meminfo::current().ok()?.mem_available?;
    Some(memory_limit().map_or(available, |limit| limit.min(available)))
}

fn operating_system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_string())
}

fn kernel() -> Option<String> {
    let part = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok();
    Some(format!("{} {}", part("ostype")?.trim(), part("osrelease")?.trim()))
}

fn memory() -> Option<String> {
    let total = Meminfo::current().ok()?.mem_total;
    Some(format!("{:.1} GiB", total as f64 / 1073741824.0))
}

fn cpu_model() -> Option<String> {
    CpuInfo::current().ok()?.model_name(0).map(str::to_string)
}

fn hypervisor() -> Option<String> {
    let flagged = CpuInfo::current().ok()?.flags(0)?.contains(&"hypervisor");
    let product = fs::read_to_string("/sys/class/dmi/id/product_name").ok();
    flagged.then(|| product.map_or("yes".to_string(), |name| name.trim().to_string()))
}

/// The kernel's mitigations of CPU flaws, in its words: the files are described in
/// ABI/testing/sysfs-devices-system-cpu (vulnerabilities). Some make each system call cost more.
fn mitigations(root: &Path) -> Option<String> {
    let files = fs::read_dir(root.join("sys/devices/system/cpu/vulnerabilities")).ok()?;
    let told = |file: fs::DirEntry| {
        let state = fs::read_to_string(file.path()).ok()?;
        let state = state.trim();
        let name = file.file_name();
        (state != "Not affected").then(|| format!("{}: {state}", name.to_string_lossy()))
    };
    let mut told: Vec<String> = files.flatten().filter_map(told).collect();
    told.sort();
    Some(if told.is_empty() { "none needed".to_string() } else { told.join("; ") })
}

/// The mount that a path is on: that of the longest mount point above it.
fn mount(path: &Path) -> Option<MountEntry> {
    let mounts = procfs::mounts().ok()?;
    let leads = mounts.into_iter().filter(|mount| path.starts_with(&mount.fs_file));
    leads.max_by_key(|mount| mount.fs_file.len())
}

/// Type and options of a mount.
fn filesystem(mount: &MountEntry) -> String {
    let mut options: Vec<String> = mount
        .fs_mntops
        .iter()
        .map(|(name, value)| value.as_ref().map_or(name.clone(), |value| format!("{name}={value}")))
        .collect();
    options.sort();
    format!("{} ({})", mount.fs_vfstype, options.join(","))
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
    fn files_of_the_kernel_are_facts_where_they_are() {
        let root = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/devices/system/node/online", "0-1\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("proc/sys/kernel/randomize_va_space", "2\n"),
        ] {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let told = [("SMT", "on"), ("NUMA nodes", "2"), ("turbo", "off"), ("ASLR", "on")];
        let told = told.map(|(name, value)| (name, value.to_string()));
        assert_eq!(file_facts(root.path(), &FILES), told);
    }

    #[test]
    fn flaws_that_the_cpu_has_are_told_with_what_is_done_about_them() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(mitigations(root.path()), None);
        let directory = root.path().join("sys/devices/system/cpu/vulnerabilities");
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join("meltdown"), "Not affected\n").unwrap();
        assert_eq!(mitigations(root.path()).as_deref(), Some("none needed"));
        fs::write(directory.join("spectre_v2"), "Mitigation: Retpolines; RSB filling\n").unwrap();
        fs::write(directory.join("mds"), "Vulnerable\n").unwrap();
        let told = "mds: Vulnerable; spectre_v2: Mitigation: Retpolines; RSB filling";
        assert_eq!(mitigations(root.path()).as_deref(), Some(told));
    }

    /// A stored baseline is compared by these: see [`machine_facts`].
    #[test]
    fn each_fact_is_told_once() {
        let facts = machine_facts(Path::new("/tmp"));
        let mut names: Vec<&String> = facts.iter().map(|(name, _)| name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), facts.len(), "{facts:?}");
    }
}
