//! Zip archives, including jars.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::read::ZipFile;

use super::{Kind, Part, TakesMembers, Target};
use crate::source::error::{SourceError, at};
use crate::source::paths::lasting;
use crate::source::progress::{Progress, Tell};

/// Folders that contain only programs: some tools for zip files lose the mode.
const OF_PROGRAMS: [&str; 4] = ["bin", "sbin", "libexec", "scripts"];
/// Longer than the kernel accepts.
const LONGEST_LINK: u64 = 4096;

/// An opened zip archive.
pub(in crate::source) struct Zip<'a> {
    /// Its name in error messages.
    name: &'a str,
    archive: ZipArchive<File>,
}

impl<'a> Zip<'a> {
    pub(in crate::source) fn open(file: &Path, name: &'a str) -> Result<Zip<'a>, SourceError> {
        let opened = ZipArchive::new(File::open(file).map_err(at(file))?);
        Ok(Zip { name, archive: opened.map_err(|error| damaged(name, &error))? })
    }

    /// Names of all members.
    pub(in crate::source) fn members(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.archive.file_names().flatten()
    }

    /// The contents of a member and their size.
    pub(in crate::source) fn member(
        &mut self,
        member: &str,
    ) -> Result<(impl Read, u64), SourceError> {
        let file = self.archive.by_name(member).map_err(|error| damaged(self.name, &error))?;
        let size = file.size();
        Ok((file, size))
    }

    /// Unpacks into an existing folder, which after an error contains a part of the archive.
    pub(in crate::source) fn unpack(
        mut self,
        part: Part,
        into: &Path,
        tell: &mut Tell,
    ) -> Result<(), SourceError> {
        let name = self.name;
        let mut target = Target::new(name, into, part)?;
        let mut needed = Vec::new();
        let mut total = 0_u64;
        for index in 0..self.archive.len() {
            let entry = self.archive.by_index_data(index).map_err(|error| damaged(name, &error))?;
            let member = PathBuf::from(OsString::from_vec(entry.name_raw().to_vec()));
            if let Some(place) = target.place(&member)? {
                total = total.saturating_add(entry.size());
                needed.push((index, member, place));
            }
        }
        let free = target.free;
        if total > free {
            return Err(SourceError::NoRoom { folder: lasting(into).into(), needed: total, free });
        }
        let mut done = 0;
        let mut buffer = vec![0; 64 * 1024];
        for (index, member, place) in needed {
            let file = self.archive.by_index(index);
            let mut file = file.map_err(|error| damaged(name, &error))?;
            let kind = kind(&mut file, &place).map_err(|error| damaged(name, &error))?;
            let Some((path, out)) = target.make(&member, &place, kind)? else { continue };
            loop {
                tell(Progress::Unpacking { done, total })?;
                match file.read(&mut buffer).map_err(|error| damaged(name, &error))? {
                    0 => break,
                    read => {
                        target.write(&member, &path, &out, &buffer[..read])?;
                        done += read as u64;
                    }
                }
            }
        }
        target.make_links()
    }
}

fn kind<R: Read>(file: &mut ZipFile<R>, place: &Path) -> io::Result<Kind> {
    const TYPE: u32 = 0o170000;
    let mode = file.unix_mode().unwrap_or(0);
    // Zip files from other systems than Unix have no mode, and some tools omit the type.
    Ok(match mode & TYPE {
        _ if file.is_dir() => Kind::Folder,
        0o120000 => {
            let mut target = Vec::new();
            file.take(LONGEST_LINK).read_to_end(&mut target)?;
            Kind::Symbolic(PathBuf::from(OsString::from_vec(target)))
        }
        0 | 0o100000 => {
            let folder = place.parent().unwrap_or(Path::new(""));
            let program = OF_PROGRAMS.iter().any(|name| folder == Path::new(name));
            Kind::File { executable: program || mode & 0o111 != 0 }
        }
        _ => Kind::Other,
    })
}

fn damaged(archive: &str, error: &dyn Display) -> SourceError {
    let reason = format!("{error}. It is damaged; fetch it again");
    SourceError::Archive { archive: archive.to_string(), reason }
}
