//! The libraries that a server was linked with, by which two builds of one version may differ.

use std::collections::BTreeSet;

use procfs::process::{MMapPath, Process};

/// The names of their files in the memory of the process, from `/proc/PID/maps` (proc_pid_maps(5)):
/// `libcrypto.so.3 libz.so.1.2.13`. None where they cannot be read.
pub(crate) fn libraries(process: u32) -> Option<String> {
    let maps = Process::new(process.try_into().ok()?).and_then(|process| process.maps()).ok()?;
    let names = maps.iter().filter_map(|map| match &map.pathname {
        MMapPath::Path(path) => path.file_name()?.to_str().filter(|name| is_library(name)),
        _ => None,
    });
    let names: BTreeSet<&str> = names.collect();
    (!names.is_empty()).then(|| names.into_iter().collect::<Vec<_>>().join(" "))
}

/// `libz.so` or `libz.so.1`
fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}
