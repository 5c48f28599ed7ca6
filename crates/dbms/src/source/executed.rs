//! What of a build is executed or read by its server: equal for builds that do the same.

use std::fs;
use std::path::Path;

use goblin::elf::Elf;

use super::digest;
use super::error::{SourceError, at};
use super::installed::Installed;
use super::store::BUILD_FILES;

/// Folders of a build that no server reads.
const FOLDERS: [&str; 5] = ["include", "doc", "man", "locale", "pkgconfig"];
/// Ends of files that no server reads.
const ENDS: [&str; 4] = [".a", ".la", ".pc", ".h"];
/// The hash that a linker makes of a whole program, with what is left out here.
const BUILD_ID: &str = ".note.gnu.build-id";

/// The hash of all programs, libraries and other files of a build, without symbols and debug
/// information: a changed remark in the sources changes nothing.
pub(super) fn code(installed: &Installed) -> Result<String, SourceError> {
    let mut all = String::new();
    add(&installed.root, Path::new(""), &mut all)?;
    Ok(digest::sha256_of(all.as_bytes()))
}

/// Adds a line for each file of a folder.
fn add(root: &Path, inside: &Path, all: &mut String) -> Result<(), SourceError> {
    let folder = root.join(inside);
    let entries = fs::read_dir(&folder).map_err(at(&folder))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    for name in names {
        let (inside, path) = (inside.join(&name), folder.join(&name));
        let kind = path.symlink_metadata().map_err(at(&path))?.file_type();
        if kind.is_dir() && !FOLDERS.contains(&name.as_str()) {
            add(root, &inside, all)?;
        }
        let is_of_build = inside.components().count() == 1 && BUILD_FILES.contains(&name.as_str());
        if kind.is_dir() || is_of_build || ENDS.iter().any(|end| name.ends_with(end)) {
            continue;
        }
        let content = match kind.is_symlink() {
            true => fs::read_link(&path).map_err(at(&path))?.display().to_string(),
            false => digest::sha256_of(&loaded(fs::read(&path).map_err(at(&path))?)),
        };
        *all += &format!("{}\0{content}\n", inside.display());
    }
    Ok(())
}

/// What is loaded of a program or library; of another file, all of it.
fn loaded(bytes: Vec<u8>) -> Vec<u8> {
    let Ok(elf) = Elf::parse(&bytes) else { return bytes };
    let mut loaded = Vec::with_capacity(bytes.len());
    for section in &elf.section_headers {
        let name = elf.shdr_strtab.get_at(section.sh_name).unwrap_or_default();
        if !section.is_alloc() || name == BUILD_ID {
            continue;
        }
        loaded.extend_from_slice(name.as_bytes());
        loaded.extend_from_slice(&section.sh_addr.to_le_bytes());
        loaded.extend_from_slice(&section.sh_size.to_le_bytes());
        let content = section.file_range().and_then(|range| bytes.get(range));
        loaded.extend_from_slice(content.unwrap_or_default());
    }
    loaded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(root: &Path) -> String {
        let mut all = String::new();
        add(root, Path::new(""), &mut all).unwrap();
        all
    }

    #[test]
    fn what_a_server_does_not_read_makes_no_other_build() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("bin/postgres", "a script");
        write("share/postgres.bki", "catalog");
        let before = code_of(root.path());
        for name in ["build.log", "installed.json", "include/pg.h", "lib/libpq.a", "share/doc/x"] {
            write(name, "other");
        }
        assert_eq!(code_of(root.path()), before);
        for name in ["bin/postgres", "share/postgres.bki", "lib/plpgsql.so"] {
            let before = code_of(root.path());
            write(name, "other");
            assert_ne!(code_of(root.path()), before, "{name}");
        }
    }

    /// This test's own program, with another remark of its linker.
    #[test]
    fn of_a_program_what_is_loaded_counts() {
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        let elf = Elf::parse(&program).unwrap();
        let section = |wanted: &str| {
            let is_it = |name| elf.shdr_strtab.get_at(name) == Some(wanted);
            let found = elf.section_headers.iter().find(|header| is_it(header.sh_name));
            found.and_then(|header| header.file_range())
        };
        let changed = |wanted: &str| {
            let mut other = program.clone();
            let range = section(wanted).expect(wanted);
            other[range.end - 1] ^= 1;
            loaded(other) != loaded(program.clone())
        };
        assert!(changed(".text"));
        assert!(!changed(".comment"));
        assert_eq!(loaded(b"#!/bin/sh".to_vec()), b"#!/bin/sh");
    }
}
