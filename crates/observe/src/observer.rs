//! One reading of all metrics of a server and its host.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cgroup::{Group, GroupCpu, GroupError};
use crate::host::{Device, read_host};
use crate::metric::{Metric, Reading};
use crate::process_tree::ProcessTree;

/// Reads the counters of a server, where there is one on this machine, and of the host.
#[derive(Debug)]
pub struct Observer {
    server: Option<ProcessTree>,
    /// The server's exact CPU time; without a group, the process tree is read.
    cpu: Option<GroupCpu>,
    /// The group, if the observer created it.
    group: Option<Group>,
    data: Option<PathBuf>,
    /// The files of the database only.
    database: Option<PathBuf>,
    device: Option<Device>,
}

impl Observer {
    /// `server` is the root of its processes, `data` its data directory, and `database` the part of
    /// that which is the database.
    pub fn new(server: Option<u32>, data: Option<&Path>, database: Option<PathBuf>) -> Self {
        let device = data.and_then(Device::of);
        let (server, data) = (server.map(ProcessTree::new), data.map(Path::to_path_buf));
        Observer { server, cpu: None, group: None, data, database, device }
    }

    /// Creates a control group around the server, where that is allowed, and takes its CPU time
    /// from there: exact, and complete even if one of its processes ends during a reading. The
    /// server leaves the group when the observer is dropped. For a server in no other group of
    /// rqps.
    pub fn in_own_group(mut self) -> Self {
        let root = self.server.as_ref().map(ProcessTree::root);
        self.group = root.and_then(|root| Group::around(root, "server"));
        self.cpu = self.group.as_ref().and_then(|group| group.cpu().ok());
        self
    }

    /// Takes the server's CPU time from the control group that it is in.
    pub fn in_group(mut self, group: &Group) -> Result<Self, GroupError> {
        self.cpu = Some(group.cpu()?);
        Ok(self)
    }

    /// Reads all counters now.
    pub fn read(&mut self) -> Reading {
        let mut reading = Reading::default();
        read_host(&mut reading);
        if let Some(device) = self.device {
            device.read(&mut reading);
        }
        if let Some(server) = &mut self.server {
            server.read(&mut reading);
        }
        if let Some(cpu) = &mut self.cpu {
            // A removed group has no counters, and /proc counts from another start.
            let (user, system) = cpu.read().unwrap_or(cpu.last());
            reading.set(Metric::ServerCpuUser, user / 1_000);
            reading.set(Metric::ServerCpuSystem, system / 1_000);
        }
        if let Some(data) = &self.data {
            let sizes = Sizes::below(data, self.database.as_deref());
            reading.set(Metric::DirectoryBytes, sizes.all);
            if self.database.is_some() {
                reading.set(Metric::DatabaseBytes, sizes.part);
            }
        }
        reading
    }
}

/// The sizes of all files below a directory, which may change meanwhile.
pub fn bytes_below(directory: &Path) -> u64 {
    Sizes::below(directory, None).all
}

/// Bytes of the files below a directory, and of the files in one part of it. A database has
/// hundreds of files, most of the cost of a reading, so each is read once.
#[derive(Debug, Default)]
struct Sizes {
    all: u64,
    part: u64,
}

impl Sizes {
    /// `part` is a file or a directory somewhere below `directory`.
    fn below(directory: &Path, part: Option<&Path>) -> Sizes {
        let mut sizes = Sizes::default();
        sizes.add(directory, part, false);
        sizes
    }

    fn add(&mut self, directory: &Path, part: Option<&Path>, in_part: bool) {
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let in_part = in_part || part.is_some_and(|part| part == entry.path());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => self.add(&entry.path(), part, in_part),
                _ => {
                    let bytes = entry.metadata().map_or(0, |file| file.len());
                    self.all += bytes;
                    self.part += if in_part { bytes } else { 0 };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::child::{Script, burn};

    #[test]
    fn the_host_is_always_read_and_its_counters_grow() {
        let mut observer = Observer::new(None, None, None);
        let before = observer.read();
        std::thread::sleep(std::time::Duration::from_millis(30));
        let window = observer.read().since(&before);
        assert!(window.get(Metric::HostSwitches).unwrap() > 0);
        assert_eq!(window.get(Metric::ServerCpuUser), None);
    }

    #[test]
    fn a_group_tells_the_cpu_of_the_server_more_exactly() {
        let mut script = Script::new("read go; sh -c :; echo done; sleep 60");
        let mut observer = Observer::new(Some(script.pid()), None, None).in_own_group();
        if observer.group.is_none() {
            return;
        }
        script.go();
        script.line();
        let exact = observer.group.as_ref().unwrap().cpu().unwrap();
        let micros = || exact.read_total().unwrap() / 1_000;
        let least = micros();
        let cpu = observer.read().sum(&[Metric::ServerCpuUser, Metric::ServerCpuSystem]).unwrap();
        let most = micros();
        // User and system are rounded down each. Ticks of /proc would be 0 or tens of thousands of
        // us.
        assert!(least > 1 && (least - 1..=most).contains(&cpu), "{least} <= {cpu} <= {most} us");
    }

    #[test]
    fn a_group_that_is_gone_counts_no_more() {
        let mut script = Script::new(&format!("{}; echo up; sleep 60", burn(5)));
        script.line();
        let mut observer = Observer::new(Some(script.pid()), None, None).in_own_group();
        if observer.group.take().is_none() {
            return;
        }
        // /proc has the 50 ms from before there was a group.
        let cpu = [Metric::ServerCpuUser, Metric::ServerCpuSystem];
        assert_eq!(observer.read().sum(&cpu), Some(0));
    }

    #[test]
    fn a_directory_is_as_large_as_the_files_below_it() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("below")).unwrap();
        fs::write(directory.path().join("one"), vec![0; 1000]).unwrap();
        fs::write(directory.path().join("below/two"), vec![0; 500]).unwrap();
        let database = Some(directory.path().join("below"));
        let reading = Observer::new(None, Some(directory.path()), database).read();
        assert_eq!(reading.get(Metric::DirectoryBytes), Some(1500));
        assert_eq!(reading.get(Metric::DatabaseBytes), Some(500));
    }
}
