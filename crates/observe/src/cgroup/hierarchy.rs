//! Where control groups can be made on this machine: version 1 has a hierarchy for each controller,
//! version 2 one for all.

use std::fs;
use std::path::{Path, PathBuf};

/// What a group can do for us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    CpuTime,
    CpuQuota,
    Memory,
    Io,
    Freezer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A directory in which groups with that controller can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) controller: Controller,
    pub(super) version: Version,
    pub(super) path: PathBuf,
    /// This process's own group, to which processes go back.
    pub(super) home: PathBuf,
}

/// A controller, its name in version 1, and the name by which version 2 must be told to hand it
/// on; what needs no name every group of version 2 has.
const CONTROLLERS: [(Controller, &str, Option<&str>); 5] = [
    (Controller::CpuTime, "cpuacct", None),
    (Controller::CpuQuota, "cpu", Some("cpu")),
    (Controller::Memory, "memory", Some("memory")),
    (Controller::Io, "blkio", Some("io")),
    (Controller::Freezer, "freezer", None),
];

/// The parents of this process's groups: below its own group, so that limits set on rqps hold for
/// its servers, too. A controller of version 1 goes before the same of version 2, for a machine has
/// each in one of them only.
pub(super) fn parents() -> Vec<Parent> {
    let Ok(mounts) = procfs::mounts() else { return Vec::new() };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let unified = mounts.iter().find(|mount| mount.fs_vfstype == "cgroup2").map(|mount| {
        let home = below(Path::new(&mount.fs_file), own_path(&own, ""));
        let (path, handed_on) = handing_on(home.clone());
        (home, path, handed_on)
    });
    let parent = |&(controller, one, two): &(Controller, &str, Option<&str>)| {
        let mount = mounts
            .iter()
            .find(|mount| mount.fs_vfstype == "cgroup" && mount.fs_mntops.contains_key(one));
        if let Some(mount) = mount {
            let path = below(Path::new(&mount.fs_file), own_path(&own, one));
            return Some(Parent { controller, version: Version::One, home: path.clone(), path });
        }
        let (home, path, handed_on) = unified.clone()?;
        let has = two.is_none_or(|name| handed_on.iter().any(|known| known == name));
        has.then_some(Parent { controller, version: Version::Two, path, home })
    };
    CONTROLLERS.iter().filter_map(parent).collect()
}

/// The path of this process's group from the lines `number:controllers:path`; version 2 has no
/// controllers there.
fn own_path<'a>(text: &'a str, controller: &str) -> &'a str {
    let fields = text.lines().filter_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let mut of = fields.filter(|(names, _)| names.split(',').any(|name| name == controller));
    of.next().map_or("/", |(_, path)| path)
}

/// A container may see its own group as the root of the mount.
fn below(mount: &Path, own: &str) -> PathBuf {
    let path = mount.join(own.trim_start_matches('/'));
    if path.is_dir() { path } else { mount.to_path_buf() }
}

/// Version 2 hands controllers on only from groups that have no processes of their own: from this
/// process's group or the one above it. Without, groups still count CPU time and can be frozen.
fn handing_on(own: PathBuf) -> (PathBuf, Vec<String>) {
    let above = own.parent().filter(|path| path.join("cgroup.subtree_control").is_file());
    for path in [Some(own.as_path()), above].into_iter().flatten() {
        let control = path.join("cgroup.subtree_control");
        for name in CONTROLLERS.iter().filter_map(|(_, _, two)| *two) {
            // What cannot be handed on is missing from the list that is read next.
            let _ = fs::write(&control, format!("+{name}"));
        }
        let text = fs::read_to_string(&control).unwrap_or_default();
        let handed_on: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        if handed_on.iter().any(|name| name == "memory") {
            return (path.to_path_buf(), handed_on);
        }
    }
    (own, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: &str = "4:memory:/jobs/7\n2:cpu,cpuacct:/\n1:name=systemd:/init\n0::/session\n";

    #[test]
    fn the_own_group_is_told_by_controller_in_both_versions() {
        assert_eq!(own_path(OWN, "memory"), "/jobs/7");
        assert_eq!(own_path(OWN, "cpuacct"), "/");
        assert_eq!(own_path(OWN, ""), "/session");
        assert_eq!(own_path(OWN, "blkio"), "/", "it is in the root of what it is not told of");
    }

    #[test]
    fn a_version_2_group_hands_on_only_what_it_lists() {
        let directory = tempfile::tempdir().unwrap();
        let own = directory.path().join("own");
        fs::create_dir(&own).unwrap();
        assert_eq!(handing_on(own.clone()), (own, Vec::new()));
    }
}
