//! Where control groups can be created on this machine: version 1 has a hierarchy for each
//! controller, version 2 one for all.

use std::fs;
use std::path::{Path, PathBuf};

use procfs::MountEntry;

/// What a group can control or count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    CpuTime,
    CpuQuota,
    Memory,
    Io,
}

/// The version of control groups: a machine may have both, and each controller in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    One,
    Two,
}

/// A directory in which groups with that controller can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) controller: Controller,
    pub(super) version: Version,
    pub(super) path: PathBuf,
    /// This process's own group, to which processes return.
    pub(super) home: PathBuf,
}

/// A controller, its name in version 1, and the name by which version 2 delegates it; controllers
/// without that name are in every group of version 2.
const CONTROLLERS: [(Controller, &str, Option<&str>); 4] = [
    (Controller::CpuTime, "cpuacct", None),
    (Controller::CpuQuota, "cpu", Some("cpu")),
    (Controller::Memory, "memory", Some("memory")),
    (Controller::Io, "blkio", Some("io")),
];

/// This process's own group in every hierarchy. Version 1 takes precedence, since a machine has
/// each controller in one version only.
pub(super) fn homes() -> Vec<Parent> {
    let Ok(mounts) = procfs::mounts() else { return Vec::new() };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let home = |&(controller, one, _): &(Controller, &str, Option<&str>)| {
        let of_one =
            |mount: &&MountEntry| mount.fs_vfstype == "cgroup" && mount.fs_mntops.contains_key(one);
        let of_two = |mount: &&MountEntry| mount.fs_vfstype == "cgroup2";
        let (mount, version, name) = match mounts.iter().find(of_one) {
            Some(mount) => (mount, Version::One, one),
            None => (mounts.iter().find(of_two)?, Version::Two, ""),
        };
        let home = below(Path::new(&mount.fs_file), own_path(&own, name));
        Some(Parent { controller, version, path: home.clone(), home })
    };
    CONTROLLERS.iter().filter_map(home).collect()
}

/// Where groups with limits can be created: below this process's own, so that limits on rqps apply
/// to its servers, too.
pub(super) fn limiting() -> Vec<Parent> {
    let homes = homes();
    let two = homes.iter().find(|home| home.version == Version::Two);
    let handed_on = two.map(|two| handing_on(two.home.clone()));
    let parent = |home: Parent| {
        let (path, names) = match (home.version, &handed_on) {
            (Version::Two, Some(handed_on)) => handed_on,
            _ => return Some(home),
        };
        let (.., name) = CONTROLLERS.iter().find(|(known, ..)| *known == home.controller)?;
        let has = name.is_none_or(|name| names.iter().any(|known| known == name));
        has.then(|| Parent { path: path.clone(), ..home })
    };
    homes.into_iter().filter_map(parent).collect()
}

/// Where a group can be created that only counts CPU time. A group that the scheduler knows would
/// get as much CPU as the whole client.
pub(super) fn counting() -> Option<Parent> {
    let homes = homes();
    let of = |controller| homes.iter().find(|home: &&Parent| home.controller == controller);
    let (time, quota) = (of(Controller::CpuTime)?, of(Controller::CpuQuota));
    let scheduled = match time.version {
        Version::One => quota.is_some_and(|quota| quota.path == time.path),
        Version::Two => {
            let handed_on = fs::read_to_string(time.path.join("cgroup.subtree_control"));
            handed_on.unwrap_or_default().split_whitespace().any(|name| name == "cpu")
        }
    };
    (!scheduled).then(|| time.clone())
}

/// Where groups of rqps may have been created.
pub(super) fn all() -> Vec<Parent> {
    let above = |home: &Parent| {
        let path = home.home.parent().filter(|_| home.version == Version::Two)?;
        Some(Parent { path: path.to_path_buf(), ..home.clone() })
    };
    let homes = homes();
    homes.iter().filter_map(above).chain(homes.clone()).collect()
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

/// Version 2 delegates controllers only from groups without processes of their own: from this
/// process's group or its parent. Without delegation, groups still count CPU time.
fn handing_on(own: PathBuf) -> (PathBuf, Vec<String>) {
    let above = own.parent().filter(|path| path.join("cgroup.subtree_control").is_file());
    for path in [Some(own.as_path()), above].into_iter().flatten() {
        let control = path.join("cgroup.subtree_control");
        // A controller that cannot be delegated is missing from the list that is read next.
        let hand_on = |name: &str| drop(fs::write(&control, format!("+{name}")));
        let handed_on = || -> Vec<String> {
            let text = fs::read_to_string(&control).unwrap_or_default();
            text.split_whitespace().map(str::to_string).collect()
        };
        // A group with processes does not delegate memory. It would delegate CPU alone, and so
        // become a threaded group, which no process could enter (cgroup-v2.rst, Threads).
        hand_on("memory");
        if handed_on().iter().any(|name| name == "memory") {
            CONTROLLERS.iter().filter_map(|(_, _, two)| *two).for_each(hand_on);
            return (path.to_path_buf(), handed_on());
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
