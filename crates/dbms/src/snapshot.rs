//! Copies of data directories: every round of a comparison starts from the same bytes.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rqps_system::act_as;
use rustix::fs::{
    Advice, FallocateFlags, FileType, IFlags, SeekFrom, copy_file_range, fadvise, fallocate,
    ftruncate, ioctl_ficlone, ioctl_getflags, ioctl_setflags, seek, syncfs,
};
use rustix::io::Errno;

use crate::error::DbmsError;
use crate::server_folder::give;
use crate::theirs;

/// The blocks of a copy's files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blocks {
    /// As few as possible: shared with the original where the filesystem can do that, and none for
    /// holes.
    Few,
    /// Blocks of their own for all of every file, also where nothing is written yet.
    Own,
}

/// Makes `to` a copy of `from`: contents, owners, modes and symbolic links. The former contents of
/// `to` are removed. Neither may have a running server. Files share their blocks where the
/// filesystem can do that, and holes stay holes elsewhere. The copy is made beside its place, so
/// that an interrupted one is not taken for a complete one.
pub fn copy_data(from: &Path, to: &Path) -> Result<(), DbmsError> {
    let mut fresh = to.as_os_str().to_owned();
    fresh.push(".copy");
    let fresh = PathBuf::from(fresh);
    remove_old(&fresh)?;
    remove_old(to)?;
    copy_directory(from, &fresh, Blocks::Few)?;
    move_data(&fresh, to)
}

/// Makes `from` be at `to`, whose former contents are removed. Neither may have a running server.
pub fn move_data(from: &Path, to: &Path) -> Result<(), DbmsError> {
    remove_old(to)?;
    fs::rename(from, to).map_err(DbmsError::file("create", to))
}

fn remove_old(old: &Path) -> Result<(), DbmsError> {
    match old.exists() {
        true => fs::remove_dir_all(old).map_err(DbmsError::file("remove", old)),
        false => Ok(()),
    }
}

/// Asks the filesystem to keep the directories that will be made in `folder` apart. ext4 does not
/// give the number of a removed file to a new one for minutes, and passes over these numbers one by
/// one for each new file in their place. With thousands of files removed in each round that took
/// longer than making the files. Filesystems that do not know the hint (chattr(1), `T`) stay
/// as they are.
pub fn spread_data(folder: &Path) {
    let spread = || -> io::Result<()> {
        let folder = File::open(folder)?;
        let flags = ioctl_getflags(&folder)?;
        Ok(ioctl_setflags(&folder, flags | IFlags::TOPDIR)?)
    };
    if let Err(error) = spread() {
        tracing::debug!("{}: no hint to keep directories apart: {error}", folder.display());
    }
}

/// Waits until all writes to the filesystem of a directory are on the device.
pub fn settle_data(directory: &Path) -> Result<(), DbmsError> {
    let settled = File::open(directory).and_then(|directory| Ok(syncfs(directory)?));
    settled.map_err(DbmsError::file("flush", directory))
}

/// Removes the files of a directory from the page cache, so that the next read is from the device.
pub fn forget_data(directory: &Path) -> Result<(), DbmsError> {
    let forgotten = theirs::work_in(directory, || forget_below(directory));
    forgotten.map_err(DbmsError::file("read", directory))
}

fn forget_below(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            forget_below(&entry.path())?;
        } else if kind.is_file() {
            let file = theirs::open(&entry.path())?;
            // Data that are not on the device yet would stay in the cache.
            file.sync_data()?;
            fadvise(&file, 0, None, Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// Creates a directory as the owner of the original, with the original's modes.
pub(crate) fn copy_directory(from: &Path, to: &Path, blocks: Blocks) -> Result<(), DbmsError> {
    let owner = theirs::owner(from).map_err(DbmsError::file("read", from))?;
    fs::create_dir(to).map_err(DbmsError::file("create", to))?;
    give(to, owner).map_err(DbmsError::file("change the owner of", to))?;
    act_as(owner, || fill(from, to, blocks)).map_err(DbmsError::file("copy", from))?
}

fn fill(from: &Path, to: &Path, blocks: Blocks) -> Result<(), DbmsError> {
    for entry in fs::read_dir(from).map_err(DbmsError::file("read", from))? {
        let entry = entry.map_err(DbmsError::file("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.metadata().map_err(DbmsError::file("read", &source))?;
        match FileType::from_raw_mode(kind.permissions().mode()) {
            FileType::Directory => {
                fs::create_dir(&target).map_err(DbmsError::file("create", &target))?;
                fill(&source, &target, blocks)?;
            }
            FileType::RegularFile => {
                copy_file(&source, &target, blocks).map_err(DbmsError::file("copy", &source))?;
            }
            FileType::Symlink => fs::read_link(&source)
                .and_then(|link| symlink(link, &target))
                .map_err(DbmsError::file("copy", &source))?,
            // A socket or pipe of a server that has ended.
            _ => {}
        }
    }
    let metadata = fs::metadata(from).map_err(DbmsError::file("read", from))?;
    fs::set_permissions(to, metadata.permissions()).map_err(DbmsError::file("copy", to))
}

fn copy_file(from: &Path, to: &Path, blocks: Blocks) -> io::Result<()> {
    let (source, target) = (theirs::open(from)?, File::create_new(to)?);
    let metadata = source.metadata()?;
    let is_shared = blocks == Blocks::Few && ioctl_ficlone(&target, &source).is_ok();
    if !is_shared {
        if blocks == Blocks::Own && metadata.len() > 0 {
            match fallocate(&target, FallocateFlags::empty(), 0, metadata.len()) {
                // The filesystem does not support it, so no server can use it there.
                Ok(()) | Err(Errno::OPNOTSUPP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        ftruncate(&target, metadata.len())?;
        copy_extents(&source, &target)?;
    }
    target.set_permissions(metadata.permissions())
}

/// Copies everything except holes.
fn copy_extents(source: &File, target: &File) -> io::Result<()> {
    for extent in extents(source)? {
        let (mut read, mut written) = (extent.start, extent.start);
        while read < extent.end {
            let length = (extent.end - read) as usize;
            let copied =
                copy_file_range(source, Some(&mut read), target, Some(&mut written), length);
            match copied {
                // The file has become shorter meanwhile.
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(_) => {}
                // The kernel supports this within one kind of filesystem only.
                Err(Errno::XDEV) => {
                    copy_bytes(source, target, read..extent.end)?;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(())
}

fn copy_bytes(source: &File, target: &File, mut extent: Range<u64>) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 20];
    while extent.start < extent.end {
        let length = buffer.len().min((extent.end - extent.start) as usize);
        source.read_exact_at(&mut buffer[..length], extent.start)?;
        target.write_all_at(&buffer[..length], extent.start)?;
        extent.start += length as u64;
    }
    Ok(())
}

/// The parts of a file with data, in order.
fn extents(file: &File) -> io::Result<Vec<Range<u64>>> {
    let (mut extents, mut position) = (Vec::new(), 0);
    loop {
        position = match seek(file, SeekFrom::Data(position)) {
            Ok(position) => position,
            // Only a hole is left.
            Err(Errno::NXIO) => return Ok(extents),
            Err(error) => return Err(error.into()),
        };
        let end = seek(file, SeekFrom::Hole(position))?;
        extents.push(position..end);
        position = end;
    }
}

/// The written bytes of a directory's files, without holes and empty blocks.
pub(crate) fn written_bytes(directory: &Path) -> io::Result<u64> {
    theirs::work_in(directory, || written_below(directory))
}

fn written_below(directory: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            bytes += written_below(&entry.path())?;
        } else if kind.is_file() {
            let extents = extents(&theirs::open(&entry.path())?)?;
            bytes += extents.iter().map(|extent| extent.end - extent.start).sum::<u64>();
        }
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn a_copy_has_the_same_bytes_modes_links_and_holes() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("base/1")).unwrap();
        fs::write(from.join("base/1/2604"), (0..=255).cycle().take(70_000).collect::<Vec<u8>>())
            .unwrap();
        fs::write(from.join("empty"), "").unwrap();
        symlink("base/1", from.join("link")).unwrap();
        let mut sparse = File::create(from.join("redo")).unwrap();
        sparse.write_all(b"head").unwrap();
        sparse.seek(std::io::SeekFrom::Start(40 << 20)).unwrap();
        sparse.write_all(b"tail").unwrap();
        sparse.set_len(64 << 20).unwrap();
        fs::set_permissions(from.join("base"), fs::Permissions::from_mode(0o700)).unwrap();

        fs::create_dir(&to).unwrap();
        fs::write(to.join("of the round before"), "x").unwrap();
        copy_data(&from, &to).unwrap();

        for file in ["base/1/2604", "empty", "redo", "link/2604"] {
            assert!(
                fs::read(from.join(file)).unwrap() == fs::read(to.join(file)).unwrap(),
                "{file}"
            );
        }
        assert_eq!(fs::read_link(to.join("link")).unwrap(), Path::new("base/1"));
        assert_eq!(fs::metadata(to.join("base")).unwrap().mode() & 0o777, 0o700);
        assert!(fs::metadata(to.join("redo")).unwrap().blocks() * 512 < 8 << 20, "holes stay");
        assert!(!to.join("of the round before").exists());
        let written = written_bytes(&to).unwrap();
        assert!((70_000..8 << 20).contains(&written), "{written}");

        let elsewhere = tempfile::tempdir_in("/dev/shm").unwrap();
        let far = elsewhere.path().join("far");
        copy_data(&from, &far).unwrap();
        for file in ["base/1/2604", "redo"] {
            assert!(fs::read(from.join(file)).unwrap() == fs::read(far.join(file)).unwrap());
        }

        let own = folder.path().join("own");
        copy_directory(&from, &own, Blocks::Own).unwrap();
        assert!(fs::read(from.join("redo")).unwrap() == fs::read(own.join("redo")).unwrap());
        let allocated = fs::metadata(own.join("redo")).unwrap().blocks() * 512;
        assert!(allocated >= 64 << 20, "or none that are the copy's own: {allocated}");
    }

    #[test]
    fn directories_are_made_apart_on_ext4() {
        const EXT4: u64 = 0xef53;
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        spread_data(&folder.path().join("absent"));
        spread_data(folder.path());
        if rustix::fs::statfs(folder.path()).unwrap().f_type as u64 != EXT4 {
            eprintln!("skipped: /var/tmp is on another filesystem");
            return;
        }
        let flags = ioctl_getflags(File::open(folder.path()).unwrap()).unwrap();
        assert!(flags.contains(IFlags::TOPDIR), "{flags:?}");
    }

    #[test]
    fn what_its_owner_may_not_read_gets_into_no_copy() {
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: only root copies for another user");
            return;
        }
        let nobody = rqps_system::User { uid: 65534, gid: 65534 };
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let (secret, data) = (folder.path().join("secret"), folder.path().join("data"));
        fs::write(&secret, "root's").unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        fs::create_dir(&data).unwrap();
        give(&data, Some(nobody)).unwrap();
        // The owner of the directory can do this where the kernel lets users link to any file.
        fs::hard_link(&secret, data.join("linked")).unwrap();
        let error = copy_data(&data, &folder.path().join("copy")).unwrap_err().to_string();
        assert!(error.contains("Permission denied"), "{error}");
        assert!(forget_data(&data).is_err() && written_bytes(&data).is_err());

        fs::remove_file(data.join("linked")).unwrap();
        nobody.act(|| symlink(&secret, data.join("link"))).unwrap().unwrap();
        let copy = folder.path().join("copy");
        copy_data(&data, &copy).unwrap();
        assert_eq!(
            fs::read_link(copy.join("link")).unwrap(),
            secret,
            "as a link, not what it leads to"
        );
        assert_eq!(fs::symlink_metadata(copy.join("link")).unwrap().uid(), nobody.uid);
        assert_eq!(fs::metadata(&copy).unwrap().uid(), nobody.uid);
    }
}
