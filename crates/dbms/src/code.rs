//! The code of a build in the page cache. Which pages of memory hold it, and in how large pieces,
//! depends on how it came there, and changes how fast it runs: a copy of a build was up to 5 %
//! faster than the original in every other round (docs/evidence.md).

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rustix::fs::{Advice, fadvise};

use crate::error::DbmsError;
use crate::source::installed::Installed;
use crate::theirs;

/// The folders of a build with the server's libraries.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];
/// These have the libraries of everything that is installed.
const SHARED: [&str; 3] = ["/", "/usr", "/usr/local"];

/// Removes the programs and libraries of servers from the page cache, and reads them again in the
/// order of their paths. Those that a running server uses, and those that cannot be read, stay as
/// they are. A DBMS inside rqps is in use, and stays, too.
pub fn read_code_again<'a>(
    builds: impl IntoIterator<Item = &'a Installed>,
) -> Result<(), DbmsError> {
    let servers = builds.into_iter().filter(|build| !build.dbms.is_embedded());
    let places = servers.map(|build| Ok((build.base()?, build.server()?)));
    for (base, server) in places.collect::<Result<BTreeSet<_>, DbmsError>>()? {
        // With the rights of its owner, who may put something else there meanwhile.
        let read = theirs::work_in(&base, || {
            code(&base, &server)?.iter().for_each(|file| {
                if let Err(error) = read_again(file) {
                    tracing::debug!("{}: not read again: {error}", file.display());
                }
            });
            Ok(())
        });
        read.map_err(DbmsError::file("read", &base))?;
    }
    Ok(())
}

/// The server's program and the libraries of its build.
fn code(base: &Path, server: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut files = BTreeSet::from([server.canonicalize()?]);
    if !SHARED.iter().any(|shared| base == Path::new(shared)) {
        for folder in LIBRARIES {
            collect(&base.join(folder), &mut files)?;
        }
    }
    Ok(files)
}

/// Adds the libraries below a folder. Links lead to files that are found by their own names.
fn collect(folder: &Path, files: &mut BTreeSet<PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        let kind = entry.file_type()?;
        let is_library = || entry.file_name().to_string_lossy().contains(".so");
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() && is_library() {
            files.insert(entry.path());
        }
    }
    Ok(())
}

fn read_again(path: &Path) -> io::Result<()> {
    let mut file = theirs::open(path)?;
    // Pages that are not on the device yet would stay.
    file.sync_data()?;
    fadvise(&file, 0, None, Advice::DontNeed)?;
    read_in_large_pages(&file).or_else(|_| io::copy(&mut file, &mut io::sink()).map(drop))
}

/// In pieces of 2 MiB where the kernel can do that (ext4 since Linux 6.16, xfs before). Caches of a
/// CPU are mostly addressed by bits below that, so that a file then lies alike each time.
fn read_in_large_pages(file: &File) -> io::Result<()> {
    // SAFETY: what is mapped is never accessed, so others may change the file meanwhile.
    let map = unsafe { Mmap::map(file)? };
    map.advise(memmap2::Advice::HugePage)?;
    map.advise(memmap2::Advice::PopulateRead)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn libraries_are_found_wherever_they_are_and_each_once() {
        let folder = tempfile::tempdir().unwrap();
        let plugins = folder.path().join("plugin");
        fs::create_dir(&plugins).unwrap();
        fs::write(folder.path().join("libicu.so.72.1"), "").unwrap();
        fs::write(folder.path().join("notes.txt"), "").unwrap();
        fs::write(plugins.join("ha_rocksdb.so"), "").unwrap();
        symlink("libicu.so.72.1", folder.path().join("libicu.so.72")).unwrap();
        symlink(folder.path(), plugins.join("loop.so")).unwrap();
        let mut files = BTreeSet::new();
        collect(folder.path(), &mut files).unwrap();
        collect(&folder.path().join("lib64"), &mut files).unwrap();
        let expected = [folder.path().join("libicu.so.72.1"), plugins.join("ha_rocksdb.so")];
        assert_eq!(Vec::from_iter(files), expected);
    }

    #[test]
    fn of_what_the_system_has_only_the_server_is_read() {
        let server = Path::new("/proc/self/exe");
        let own = BTreeSet::from([server.canonicalize().unwrap()]);
        for shared in SHARED {
            assert_eq!(code(Path::new(shared), server).unwrap(), own, "{shared}");
        }
    }

    #[test]
    fn what_was_cached_is_read_from_the_device() {
        // Not in /tmp, which may be in memory.
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let file = folder.path().join("libx.so");
        fs::write(&file, vec![1; 8 << 20]).unwrap();
        let read = || procfs::process::Process::myself().unwrap().io().unwrap().read_bytes;
        read_again(&file).unwrap();
        let before = read();
        fs::read(&file).unwrap();
        read_again(&file).unwrap();
        assert!(read() - before >= 8 << 20, "{}", read() - before);
    }

    /// Only root sees where pages are, and ext4 has large ones since Linux 6.16.
    #[test]
    fn code_is_read_into_large_pages_where_the_kernel_can() {
        let release = procfs::KernelVersion::current().unwrap();
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let is_ext4 = rustix::fs::statfs(folder.path()).unwrap().f_type == 0xef53;
        if !(rustix::process::geteuid().is_root()
            && is_ext4
            && (release.major, release.minor) >= (6, 16))
        {
            return;
        }
        let path = folder.path().join("libx.so");
        fs::write(&path, vec![1; 8 << 20]).unwrap();
        read_again(&path).unwrap();
        let file = File::open(&path).unwrap();
        // SAFETY: nobody else knows the file.
        let map = unsafe { Mmap::map(&file).unwrap() };
        assert_eq!(map.iter().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>(), 2048);
        let first = map.as_ptr() as usize / 4096;
        let mut pages = procfs::process::Process::myself().unwrap().pagemap().unwrap();
        let places: Vec<u64> = (first..first + 2048)
            .map(|page| match pages.get_info(page).unwrap() {
                procfs::process::PageInfo::MemoryPage(flags) => flags.get_page_frame_number().0,
                other => panic!("{other:?}"),
            })
            .collect();
        let pieces = 1 + places.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert!(pieces <= 8, "{pieces} pieces");
    }
}
