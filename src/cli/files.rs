//! Files that rqps writes where the user says, and those that it does not replace.

use std::fs;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, bail};
use rqps_report::File;

use super::output;

/// Beginnings of the schemas' names in rqps's JSON, and within how many bytes one is.
const MARKS: [&[u8]; 2] = [b"\"rqps-", b"\"bisect/"];

const MARK_WITHIN: u64 = 100;

/// Refuses to replace files that rqps did not write. The marked file tells whether rqps has written
/// to the folder.
pub(super) fn refuse_theirs<'a>(
    folder: &Path,
    marked: &str,
    mut names: impl Iterator<Item = &'a str>,
) -> anyhow::Result<()> {
    let mut start = Vec::new();
    let read = fs::File::open(folder.join(marked)).map(|file| file.take(MARK_WITHIN));
    let is_read = read.and_then(|mut file| file.read_to_end(&mut start)).is_ok();
    let has = |mark: &&[u8]| start.windows(mark.len()).any(|window| window == *mark);
    if is_read && MARKS.iter().any(has) {
        return Ok(());
    }
    match names.find(|name| folder.join(name).symlink_metadata().is_ok()) {
        Some(name) => bail!(
            "'{}' exists and was not written by rqps. Name another folder",
            folder.join(name).display()
        ),
        None => Ok(()),
    }
}

pub(super) fn write_files(out: &Path, files: impl IntoIterator<Item = File>) -> anyhow::Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create '{}'", out.display()))?;
    files.into_iter().try_for_each(|file| replace_file(&out.join(&file.name), &file.contents))
}

/// Writes a file in a folder that may come from elsewhere: a link there is replaced.
pub(super) fn replace_file(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    rqps_store::write_whole(path, |out| out.write_all(contents))?;
    told(path);
    Ok(())
}

/// Writes a file that the user names, which may be a pipe or a device.
pub(super) fn write_file(path: &Path, contents: &[u8]) -> anyhow::Result<()> {
    fs::write(path, contents).with_context(|| format!("cannot write '{}'", path.display()))?;
    told(path);
    Ok(())
}

pub(super) fn told(path: &Path) {
    output::note(&format!("wrote {}", path.display()));
}
