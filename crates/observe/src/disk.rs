//! The disks that files are on, from /sys.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::file_fact::{FileFact, Shown, file_facts};

/// Facts in a disk's directory; for the queue, see the kernel's
/// Documentation/ABI/stable/sysfs-block. A virtual disk has a driver but no model; virtio_blk
/// reports every disk as rotational. Names such as sda are not facts: they may change with each
/// boot.
const FACTS: [FileFact; 4] = [
    FileFact { name: "disk", file: "device/model", shown: Shown::Verbatim },
    FileFact { name: "disk", file: "device/uevent", shown: Shown::After("DRIVER=") },
    FileFact { name: "disk scheduler", file: "queue/scheduler", shown: Shown::Chosen },
    FileFact {
        name: "disk rotational",
        file: "queue/rotational",
        shown: Shown::Words(&["no", "yes"]),
    },
];

/// Facts of the disks that a path is on. Some filesystems, such as btrfs, have a device number of
/// no disk: for them, the device is the source of the mount.
pub(crate) fn disk_facts(path: &Path, source: Option<&str>) -> Vec<(&'static str, String)> {
    let of_source = || {
        let source = source.filter(|source| source.starts_with('/'))?;
        numbered(rustix::fs::stat(source).ok()?.st_rdev)
    };
    let device = device_of(path).or_else(of_source);
    device.map_or(Vec::new(), |device| told(&disks(&device)))
}

/// The directory of the block device that a path is on.
fn device_of(path: &Path) -> Option<PathBuf> {
    numbered(rustix::fs::stat(path).ok()?.st_dev)
}

fn numbered(number: u64) -> Option<PathBuf> {
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()
}

/// A partition's directory is in that of its disk.
fn whole(device: PathBuf) -> PathBuf {
    let disk = device.parent().filter(|_| device.join("partition").is_file());
    disk.map(Path::to_path_buf).unwrap_or(device)
}

/// Major and minor of the disk that a path is on, directly or in a partition.
pub(crate) fn disk_number(path: &Path) -> Option<(i32, i32)> {
    let number = fs::read_to_string(whole(device_of(path)?).join("dev")).ok()?;
    let (major, minor) = number.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The disks below a device: of a logical volume or RAID, its parts.
fn disks(device: &Path) -> Vec<PathBuf> {
    let disk = whole(device.to_path_buf());
    let parts = fs::read_dir(disk.join("slaves")).into_iter().flatten().flatten();
    let parts = parts.filter_map(|part| fs::canonicalize(part.path()).ok());
    let below: Vec<PathBuf> = parts.flat_map(|part| disks(&part)).collect();
    if below.is_empty() { vec![disk] } else { below }
}

/// Each fact once for all disks, with all its values, in an order that does not depend on the
/// disks.
fn told(disks: &[PathBuf]) -> Vec<(&'static str, String)> {
    let mut all: Vec<(&'static str, BTreeSet<String>)> = Vec::new();
    for (name, value) in disks.iter().flat_map(|disk| file_facts(disk, &FACTS)) {
        match all.iter_mut().find(|(known, _)| *known == name) {
            Some((_, values)) => values.extend([value]),
            None => all.push((name, BTreeSet::from([value]))),
        }
    }
    let joined = |values: BTreeSet<String>| values.into_iter().collect::<Vec<_>>().join(", ");
    all.into_iter().map(|(name, values)| (name, joined(values))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of a directory, made with the directories that they are in.
    fn write(root: &Path, files: &[(&str, &str)]) {
        for (file, text) in files {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    fn facts_of(device: &Path) -> Vec<(&'static str, String)> {
        told(&disks(&fs::canonicalize(device).unwrap()))
    }

    fn expected(facts: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        facts.iter().map(|(name, value)| (*name, value.to_string())).collect()
    }

    #[test]
    fn a_partition_has_the_facts_of_its_disk() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("sda/device/model", "Samsung SSD 860 \n"),
            ("sda/device/uevent", "DRIVER=sd\n"),
            ("sda/queue/scheduler", "none [mq-deadline] kyber bfq \n"),
            ("sda/queue/rotational", "0\n"),
            ("sda/sda1/partition", "1\n"),
        ];
        write(root.path(), &files);
        let facts = [
            ("disk", "Samsung SSD 860"),
            ("disk scheduler", "mq-deadline"),
            ("disk rotational", "no"),
        ];
        assert_eq!(facts_of(&root.path().join("sda/sda1")), expected(&facts));
        assert_eq!(facts_of(&root.path().join("sda")), expected(&facts));
    }

    #[test]
    fn a_disk_without_a_model_is_named_by_its_driver() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), &[("device/uevent", "DRIVER=virtio_blk\nMODALIAS=virtio:d2\n")]);
        assert_eq!(facts_of(root.path()), expected(&[("disk", "virtio_blk")]));
    }

    #[test]
    fn a_volume_has_the_facts_of_all_that_it_is_made_of() {
        let root = tempfile::tempdir().unwrap();
        let files = [
            ("dm-0/queue/scheduler", "none\n"),
            ("sdb/device/model", "Old\n"),
            ("sdb/queue/rotational", "1\n"),
            ("sdb/sdb2/partition", "2\n"),
            ("sda/device/model", "New\n"),
            ("sda/queue/rotational", "1\n"),
        ];
        write(root.path(), &files);
        let slaves = root.path().join("dm-0/slaves");
        fs::create_dir(&slaves).unwrap();
        for (name, target) in [("sdb2", "../../sdb/sdb2"), ("sda", "../../sda")] {
            std::os::unix::fs::symlink(target, slaves.join(name)).unwrap();
        }
        let facts = [("disk", "New, Old"), ("disk rotational", "yes")];
        assert_eq!(facts_of(&root.path().join("dm-0")), expected(&facts));
    }
}
