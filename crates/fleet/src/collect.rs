//! Files of cells on their way between machines that share no folder. What a host sends is put
//! beside its place first, and only then takes it.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use tar::{Archive, Builder, EntryType};

use crate::error::{FleetError, io as at};

/// The most that a host may send of a cell.
const MOST: u64 = 16 << 30;

/// An archive of these files of a folder.
pub fn pack(folder: &Path, names: &[PathBuf]) -> Result<File, FleetError> {
    let file = tempfile::tempfile().map_err(at("create a file for", folder))?;
    let mut builder = Builder::new(file);
    for name in names {
        let path = rqps_system::below(folder, name)?;
        builder.append_path_with_name(&path, name).map_err(at("read", &path))?;
    }
    let mut file = builder.into_inner().map_err(at("read", folder))?;
    file.seek(SeekFrom::Start(0)).map_err(at("read", folder))?;
    Ok(file)
}

/// Puts the folder `name` of an archive into a cell, unless the cell has it already. `host` is who
/// sent it.
pub fn unpack(
    archive: impl Read,
    host: &str,
    (cell, name): (&Path, &str),
) -> Result<bool, FleetError> {
    let failed = |reason: String| FleetError::Transfer { host: host.to_string(), reason };
    let place = rqps_system::below(cell, Path::new(name))?;
    if place.exists() {
        return Ok(false);
    }
    let fresh = rqps_system::below(cell, Path::new(&format!("{name}.new")))?;
    if fresh.exists() {
        // A transfer that ended early.
        fs::remove_dir_all(&fresh).map_err(at("remove", &fresh))?;
    }
    fs::create_dir(&fresh).map_err(at("create", &fresh))?;
    let mut left = MOST;
    let mut count = 0;
    let mut archive = Archive::new(archive);
    let entries = archive.entries().map_err(|error| failed(error.to_string()))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| failed(error.to_string()))?;
        let path = entry.path().map_err(|error| failed(error.to_string()))?.into_owned();
        let Some(inner) = inside(&path, name) else {
            return Err(failed(format!("'{}' is not in '{name}'", path.display())));
        };
        let to = if inner.as_os_str().is_empty() { fresh.clone() } else { fresh.join(&inner) };
        match entry.header().entry_type() {
            EntryType::Directory => fs::create_dir_all(&to).map_err(at("create", &to))?,
            EntryType::Regular => {
                let size = entry.header().size().map_err(|error| failed(error.to_string()))?;
                left =
                    left.checked_sub(size).ok_or_else(|| failed("it is too large".to_string()))?;
                let folder = to.parent().unwrap_or(&fresh);
                fs::create_dir_all(folder).map_err(at("create", folder))?;
                let mut out = File::create_new(&to).map_err(at("create", &to))?;
                let copied = io::copy(&mut entry, &mut out).map_err(at("write", &to))?;
                if copied != size {
                    return Err(failed(format!("'{}' is cut off", path.display())));
                }
                out.sync_all().map_err(at("write", &to))?;
                count += 1;
            }
            other => return Err(failed(format!("'{}' is {other:?}, no file", path.display()))),
        }
    }
    if count == 0 {
        return Err(failed("there is no file in it".to_string()));
    }
    fs::rename(&fresh, &place).map_err(at("move", &fresh))?;
    Ok(true)
}

/// The path below the folder `name`; none for one that leads elsewhere.
fn inside(path: &Path, name: &str) -> Option<PathBuf> {
    let mut parts = path.components().filter(|part| *part != Component::CurDir);
    if parts.next() != Some(Component::Normal(name.as_ref())) {
        return None;
    }
    let parts = parts.map(|part| match part {
        Component::Normal(part) => Some(part),
        _ => None,
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
        let mut builder = Builder::new(Vec::new());
        for (name, kind, data) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(*kind);
            header.set_size(data.len() as u64);
            header.set_mode(0o644);
            // `set_path` refuses what a hostile host would send.
            header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
            if *kind == EntryType::Symlink {
                header.set_link_name("/etc").unwrap();
            }
            header.set_cksum();
            builder.append(&header, *data).unwrap();
        }
        builder.into_inner().unwrap()
    }

    #[test]
    fn a_run_arrives_whole_and_once() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(from.path().join("run/logs")).unwrap();
        fs::write(from.path().join("run/results.sqlite"), "data").unwrap();
        fs::write(from.path().join("run/logs/a.log"), "log").unwrap();
        let names = ["run/results.sqlite", "run/logs/a.log"].map(PathBuf::from);
        let sent = || pack(from.path(), &names).unwrap();
        // What an earlier transfer has left does no harm.
        fs::create_dir(to.path().join("run.new")).unwrap();
        fs::write(to.path().join("run.new/half"), "").unwrap();
        assert!(unpack(sent(), "db1", (to.path(), "run")).unwrap());
        assert_eq!(fs::read_to_string(to.path().join("run/logs/a.log")).unwrap(), "log");
        assert!(!to.path().join("run/half").exists() && !to.path().join("run.new").exists());
        assert!(!unpack(sent(), "db1", (to.path(), "run")).unwrap(), "it is there already");
    }

    #[test]
    fn a_hostile_archive_writes_nothing_elsewhere() {
        for (name, kind) in [
            ("../owned", EntryType::Regular),
            ("run/../../owned", EntryType::Regular),
            ("/tmp/owned", EntryType::Regular),
            ("other/file", EntryType::Regular),
            ("run/link", EntryType::Symlink),
            ("run/fifo", EntryType::Fifo),
            ("run/device", EntryType::Char),
        ] {
            let outer = tempfile::tempdir().unwrap();
            let cell = outer.path().join("cell");
            fs::create_dir(&cell).unwrap();
            let sent = archive(&[(name, kind, b"")]);
            let error = unpack(&sent[..], "evil", (&cell, "run")).unwrap_err().to_string();
            assert!(error.starts_with("cannot unpack what 'evil' sent"), "{name}: {error}");
            assert!(!cell.join("run").exists() && !outer.path().join("owned").exists(), "{name}");
        }
    }

    #[test]
    fn a_transfer_that_is_cut_off_is_no_run() {
        let whole = archive(&[("run/a", EntryType::Regular, &[7; 4_000])]);
        let cell = tempfile::tempdir().unwrap();
        for cut in [0, 300, 1_000, 3_000] {
            assert!(unpack(&whole[..cut], "db1", (cell.path(), "run")).is_err(), "{cut}");
            assert!(!cell.path().join("run").exists());
        }
        assert!(unpack(&whole[..], "db1", (cell.path(), "run")).unwrap());
    }
}
