//! Data on another disk than that of the store (`process.data`): a run makes a folder of its own
//! there. The folder of the run in the store lists these folders, so that they are found again.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rqps_dbms::DbmsError;
use rqps_plan::Contender;
use rqps_store::write_whole;
use rqps_system::others_can_change;

use crate::error::{LabError, file_error};

/// The list, beside a run's data directories: a path on each line.
pub(crate) const LIST: &str = "disks";
/// A file in such a folder with the path of the run's folder in the store.
pub(crate) const MARK: &str = "rqps-run";

/// The folder of each contender's data, in their order: that of the run, or one on the contender's
/// disk, which is created if it is missing.
pub(crate) fn folders(of_run: &Path, contenders: &[Contender]) -> Result<Vec<PathBuf>, LabError> {
    let on_disk = |disk: PathBuf| disk.join(name(of_run));
    let disks = contenders.iter().map(rqps_dbms::data_disk);
    let folders: Vec<Option<PathBuf>> = disks.map(|disk| disk.map(on_disk)).collect();
    let mut others: Vec<&PathBuf> = folders.iter().flatten().collect();
    others.sort();
    others.dedup();
    if !others.is_empty() {
        // First, so that none is forgotten.
        write_whole(&of_run.join(LIST), |out| {
            others.iter().try_for_each(|folder| writeln!(out, "{}", folder.display()))
        })?;
    }
    for folder in others {
        make(folder, of_run)?;
    }
    Ok(folders.into_iter().map(|folder| folder.unwrap_or(of_run.to_path_buf())).collect())
}

fn name(of_run: &Path) -> String {
    let id = of_run.file_name().unwrap_or_default();
    format!("rqps-{}", id.to_string_lossy())
}

fn make(folder: &Path, of_run: &Path) -> Result<(), LabError> {
    match DirBuilder::new().mode(0o711).create(folder) {
        Ok(()) => {
            let mark = folder.join(MARK);
            fs::write(&mark, owner(of_run)).map_err(file_error("write", &mark))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if is_ours(folder, of_run) {
                return Ok(());
            }
            let why = format!(
                "'{}' exists, and is not of this run. Remove it, or choose another folder",
                folder.display()
            );
            Err(DbmsError::ProcessSetting { name: "process.data".to_string(), why }.into())
        }
        Err(error) => Err(file_error("create", folder)(error)),
    }
}

/// Whether this run has made a folder: a list from elsewhere may name any.
fn is_ours(folder: &Path, of_run: &Path) -> bool {
    let own = rustix::process::geteuid().as_raw();
    let is_own = |found: fs::Metadata| found.is_dir() && found.uid() == own;
    folder.is_absolute()
        && folder.file_name().is_some_and(|found| *found == *name(of_run))
        && folder.symlink_metadata().is_ok_and(is_own)
        && others_can_change(folder).is_none()
        && fs::read(folder.join(MARK)).is_ok_and(|mark| mark == owner(of_run))
}

/// What a mark says: the store may be reached by links, too.
fn owner(of_run: &Path) -> Vec<u8> {
    let real = of_run.canonicalize().unwrap_or_else(|_| of_run.to_path_buf());
    real.into_os_string().into_encoded_bytes()
}

/// The folders on other disks that the run with this folder in the store has made.
pub fn on_other_disks(of_run: &Path) -> Vec<PathBuf> {
    let list = fs::read_to_string(of_run.join(LIST)).unwrap_or_default();
    list.lines().map(PathBuf::from).filter(|folder| is_ours(folder, of_run)).collect()
}

/// Removes the folder of a run in the store, and those on other disks.
pub(crate) fn remove(of_run: &Path) -> io::Result<()> {
    on_other_disks(of_run).iter().try_for_each(fs::remove_dir_all)?;
    fs::remove_dir_all(of_run)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn contenders(disk: &Path) -> [Contender; 2] {
        let other = format!("b=sqlite?process.data={}", disk.display());
        ["sqlite".parse().unwrap(), other.parse().unwrap()]
    }

    #[test]
    fn a_run_has_a_folder_of_its_own_on_another_disk_and_finds_it_again() {
        let outer = tempfile::tempdir().unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let (disk, of_run) = (outer.join("disk"), outer.join("data/20261128T150000-1-0"));
        fs::create_dir_all(&of_run).unwrap();
        fs::create_dir(&disk).unwrap();
        let theirs = disk.join("rqps-20261128T150000-1-0");
        let made = folders(&of_run, &contenders(&disk)).unwrap();
        assert_eq!(made, [of_run.clone(), theirs.clone()]);
        assert_eq!(folders(&of_run, &contenders(&disk)).unwrap(), made, "as in a later session");
        assert_eq!(on_other_disks(&of_run), [theirs]);
    }

    #[test]
    fn what_the_run_did_not_make_is_neither_used_nor_found() {
        let outer = tempfile::tempdir().unwrap();
        let outer = outer.path().canonicalize().unwrap();
        let (disk, of_run) = (outer.join("disk"), outer.join("data/1-0"));
        fs::create_dir_all(&of_run).unwrap();
        fs::create_dir_all(disk.join("rqps-1-0/thesis")).unwrap();
        let error = folders(&of_run, &contenders(&disk)).unwrap_err().to_string();
        assert!(error.contains("rqps-1-0' exists, and is not of this run"), "{error}");
        assert!(on_other_disks(&of_run).is_empty());
        // A link to a folder that another run has made.
        let other = outer.join("data/2-0");
        fs::create_dir(&other).unwrap();
        let made = folders(&other, &contenders(&disk)).unwrap();
        fs::remove_dir_all(disk.join("rqps-1-0")).unwrap();
        symlink(&made[1], disk.join("rqps-1-0")).unwrap();
        assert!(on_other_disks(&of_run).is_empty());
        // A list that names other folders.
        fs::write(of_run.join(LIST), format!("{}\n{}\n", made[1].display(), outer.display()))
            .unwrap();
        assert!(on_other_disks(&of_run).is_empty());
    }
}
