//! The files of a script: its own text, and those of the modules that it requires. A module may
//! come from somebody else, and rqps often runs as root: no link is followed to it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rqps_plan::is_printable;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::fault::LuaFault;
use crate::script_text::script_text;

/// Where sysbench's own scripts lie.
const INSTALLED: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// A script with its modules. A module is read when it is required, unless all are stored.
#[derive(Debug)]
pub struct ScriptFiles {
    /// The name of its file, for errors.
    pub(super) name: String,
    /// As the user named it.
    pub(super) given: String,
    pub(super) text: String,
    /// Where modules are looked for; empty where all of them are stored.
    folders: Vec<PathBuf>,
    modules: Mutex<BTreeMap<String, String>>,
}

impl ScriptFiles {
    /// Reads a script by its path, or one of sysbench's by its name: a bare name is never a file of
    /// the working directory.
    pub fn read(given: &str) -> Result<ScriptFiles, LuaFault> {
        ScriptFiles::read_from(given, &INSTALLED.map(PathBuf::from))
    }

    fn read_from(given: &str, installed: &[PathBuf]) -> Result<ScriptFiles, LuaFault> {
        if !given.chars().all(is_printable) {
            return Err(LuaFault::new(format!("'{given}' has characters that cannot be shown")));
        }
        let with_suffix = format!("{}.lua", given.strip_suffix(".lua").unwrap_or(given));
        let is_path = given.contains('/');
        let candidates = match is_path {
            true => vec![PathBuf::from(given), PathBuf::from(&with_suffix)],
            false => installed.iter().map(|folder| folder.join(&with_suffix)).collect(),
        };
        let Some(found) = candidates.into_iter().find(|candidate| candidate.is_file()) else {
            let here = [given, &with_suffix].into_iter().find(|name| Path::new(name).is_file());
            let why = match here {
                _ if is_path => format!("there is no such file, and no {with_suffix}"),
                Some(name) => format!(
                    "names are those of sysbench's scripts. Write ./{name} for the file here"
                ),
                None => format!(
                    "there is no {with_suffix} in {}. Write ./ before a file here",
                    listed(installed)
                ),
            };
            return Err(LuaFault::new(format!("cannot find the script '{given}': {why}")));
        };
        // The user has named it, so it may be a link.
        let text = File::open(&found).and_then(lua_of).map_err(|error| unread(&found, &error))?;
        let beside = found.parent().map(Path::to_path_buf);
        let folders = beside.into_iter().chain(installed.iter().cloned()).collect();
        let name = found.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let (given, modules) = (given.to_string(), Mutex::default());
        Ok(ScriptFiles { name, given, text, folders, modules })
    }

    /// Files whose texts are known.
    pub fn stored(given: &str, text: &str, modules: BTreeMap<String, String>) -> ScriptFiles {
        let name = Path::new(given).file_name().unwrap_or_default().to_string_lossy();
        let name = if name.ends_with(".lua") { name.into_owned() } else { format!("{name}.lua") };
        ScriptFiles {
            name,
            given: given.to_string(),
            text: text.to_string(),
            folders: Vec::new(),
            modules: Mutex::new(modules),
        }
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    fn kept(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The modules that were kept so far.
    pub fn modules(&self) -> BTreeMap<String, String> {
        self.kept().clone()
    }

    /// The name of its test.
    pub fn id(&self) -> &str {
        self.name.strip_suffix(".lua").unwrap_or(&self.name)
    }

    /// The text of a module.
    pub(super) fn module(&self, name: &str) -> Result<String, String> {
        if let Some(text) = self.kept().get(name) {
            return Ok(text.clone());
        }
        if !is_module(name) {
            return Err(format!(
                "cannot require '{name}': names of modules have letters, digits and - _ . /"
            ));
        }
        let file = format!("{}.lua", name.strip_suffix(".lua").unwrap_or(name).replace('.', "/"));
        for folder in &self.folders {
            let text = match open_below(folder, &file) {
                Err(Errno::NOENT) => continue,
                Err(Errno::LOOP | Errno::NOTDIR) => {
                    Err(io::Error::other("a link on the way to a module is not followed"))
                }
                opened => opened.map_err(io::Error::from).and_then(lua_of),
            };
            return text.map_err(|error| unread(&folder.join(&file), &error).0);
        }
        Err(match self.folders.is_empty() {
            true => format!("the module '{name}' is not stored with the run"),
            false => {
                format!("there is no module '{name}': no {file} in {}", listed(&self.folders))
            }
        })
    }

    /// Keeps a module for the run: only what is Lua, so that a run holds no other files.
    pub(super) fn keep(&self, name: &str, text: &str) {
        self.kept().entry(name.to_string()).or_insert_with(|| text.to_string());
    }
}

/// Names that a text requires by literals. What runs later, on a server, is found so, too.
pub(super) fn required(text: &str) -> impl Iterator<Item = &str> {
    text.split("require").skip(1).filter_map(|rest| {
        let rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let quote = rest.chars().next().filter(|c| ['\'', '"'].contains(c))?;
        rest[1..].split_once(quote).map(|(name, _)| name)
    })
}

fn listed(folders: &[PathBuf]) -> String {
    let shown: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    shown.join(" or ")
}

/// Whether this may name a module: no path leads out of the folders that are searched.
fn is_module(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(['/', '.'])
        && !name.contains("..")
}

/// Opens a file below a folder. No link below the folder is followed, whoever changes what when.
fn open_below(folder: &Path, file: &str) -> Result<File, Errno> {
    const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
    let mut at = openat(CWD, folder, FOLDER, Mode::empty())?;
    let mut parts = file.split('/').filter(|part| !part.is_empty()).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        let flags = match is_last {
            // Opening a pipe does not wait for its other end.
            true => OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
            false => FOLDER,
        };
        at = openat(&at, part, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(File::from(at))
}

fn unread(path: &Path, error: &io::Error) -> LuaFault {
    LuaFault::new(format!("cannot read '{}': {error}", path.display()))
}

/// The line that names a program is no Lua; its place stays.
fn lua_of(file: File) -> io::Result<String> {
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let text = script_text(file)?;
    Ok(if text.starts_with('#') { format!("--{text}") } else { text })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn modules_are_found_beside_their_script_and_nowhere_above() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("in")).unwrap();
        fs::write(folder.path().join("secret.lua"), "return 1").unwrap();
        fs::write(folder.path().join("in/main.lua"), "#!/usr/bin/sysbench\nrequire('a.b')")
            .unwrap();
        fs::create_dir(folder.path().join("in/a")).unwrap();
        fs::write(folder.path().join("in/a/b.lua"), "return 2").unwrap();
        let path = folder.path().join("in/main.lua");
        let files = ScriptFiles::read(path.to_str().unwrap()).unwrap();
        assert_eq!(files.id(), "main");
        assert!(files.text().starts_with("--#!"));
        assert_eq!(files.module("a.b").unwrap(), "return 2");
        assert!(files.modules().is_empty(), "nobody has found it to be Lua yet");
        files.keep("a.b", "return 2");
        for outside in ["../secret", "/etc/passwd", "a..b", "", "a\nb", ".hidden"] {
            assert!(files.module(outside).unwrap_err().contains("cannot require"), "{outside}");
        }
        assert!(files.module("nothing").unwrap_err().contains("no nothing.lua in"));
        let stored = ScriptFiles::stored("x/main.lua", files.text(), files.modules());
        assert_eq!(stored.module("a.b").unwrap(), "return 2");
        assert!(stored.module("c").unwrap_err().contains("not stored with the run"));
    }

    #[test]
    fn only_the_script_may_be_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("in");
        fs::create_dir(&inside).unwrap();
        fs::write(folder.path().join("main.lua"), "").unwrap();
        fs::write(folder.path().join("secret.lua"), "return 'secret'").unwrap();
        symlink("../main.lua", inside.join("main.lua")).unwrap();
        symlink("/proc/self/environ", inside.join("env.lua")).unwrap();
        symlink("../secret.lua", inside.join("conf.lua")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("nowhere", inside.join("dangling.lua")).unwrap();
        fs::create_dir(inside.join("folder.lua")).unwrap();
        rustix::fs::mkfifoat(CWD, inside.join("pipe.lua"), Mode::RUSR).unwrap();
        fs::write(inside.join("long.lua"), " ".repeat((1 << 20) + 1)).unwrap();
        let files = ScriptFiles::read(inside.join("main.lua").to_str().unwrap()).unwrap();
        for (name, told) in [
            ("env", "a link on the way to a module is not followed"),
            ("conf", "a link on the way to a module is not followed"),
            ("up.secret", "a link on the way to a module is not followed"),
            ("dangling", "a link on the way to a module is not followed"),
            ("folder", "it is not a regular file"),
            ("pipe", "it is not a regular file"),
            ("long", "a script has at most 1048576 bytes"),
        ] {
            let error = files.module(name).unwrap_err();
            assert!(error.starts_with("cannot read '") && error.contains(told), "{name}: {error}");
        }
        assert!(files.modules().is_empty());
    }

    #[test]
    fn a_bare_name_is_never_a_file_of_the_working_directory() {
        // Tests run in the folder of their package, which has this file.
        let error = ScriptFiles::read("Cargo.toml").unwrap_err().to_string();
        assert!(error.contains("Write ./Cargo.toml for the file here"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.lua"), "-- installed").unwrap();
        let installed = [folder.path().to_path_buf()];
        for given in ["mine", "mine.lua"] {
            let files = ScriptFiles::read_from(given, &installed).unwrap();
            assert_eq!((files.id(), files.text()), ("mine", "-- installed"));
        }
        let path = folder.path().join("mine");
        assert_eq!(ScriptFiles::read(path.to_str().unwrap()).unwrap().id(), "mine");
    }

    #[test]
    fn a_script_that_is_not_there_is_told_with_where_it_was_looked_for() {
        let error = ScriptFiles::read("no_such_script").unwrap_err().to_string();
        assert!(error.contains("no no_such_script.lua in /usr/share/sysbench"), "{error}");
    }

    #[test]
    fn names_that_are_required_are_found_in_a_text() {
        let text = "require('a') local x = require \"b.c\"\nrequire( 'd' ) require(name)";
        assert_eq!(required(text).collect::<Vec<_>>(), ["a", "b.c", "d"]);
    }
}
