//! The files of a script: its own text, and those of the modules that it requires.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rqps_plan::is_printable;

use super::fault::LuaFault;

/// Bytes of a file at most.
const LONGEST: u64 = 1 << 20;

/// Where sysbench's own scripts lie.
const INSTALLED: [&str; 2] = ["/usr/share/sysbench", "/usr/local/share/sysbench"];

/// A script with its modules. A module is read when it is first required, unless all are stored.
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
    /// Reads a script by its path, or one of sysbench's by its name.
    pub fn read(given: &str) -> Result<ScriptFiles, LuaFault> {
        if !given.chars().all(is_printable) {
            return Err(LuaFault::new(format!("'{given}' has characters that cannot be shown")));
        }
        let path = Path::new(given);
        let mut folders: Vec<PathBuf> = Vec::new();
        let found = if path.is_file() {
            path.to_path_buf()
        } else {
            let mut candidates = vec![PathBuf::from(format!("{given}.lua"))];
            if is_module(given) {
                let installed = INSTALLED.iter().map(Path::new);
                candidates.extend(installed.map(|folder| folder.join(format!("{given}.lua"))));
            }
            let found = candidates.into_iter().find(|candidate| candidate.is_file());
            found.ok_or_else(|| {
                LuaFault::new(format!(
                    "cannot find the script '{given}': it is no file, and there is no {given}.lua \
                     here or in {}",
                    INSTALLED.join(" or ")
                ))
            })?
        };
        let text = read(&found)?;
        folders.extend(found.parent().map(Path::to_path_buf));
        folders.push(PathBuf::from("."));
        folders.extend(INSTALLED.map(PathBuf::from));
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

    /// The modules that were required so far.
    pub fn modules(&self) -> BTreeMap<String, String> {
        self.modules.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The name of its test.
    pub fn id(&self) -> &str {
        self.name.strip_suffix(".lua").unwrap_or(&self.name)
    }

    /// The text of a module.
    pub(super) fn module(&self, name: &str) -> Result<String, String> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(text) = modules.get(name) {
            return Ok(text.clone());
        }
        if !is_module(name) {
            return Err(format!(
                "cannot require '{name}': names of modules have letters, digits and - _ . /"
            ));
        }
        let file = format!("{}.lua", name.strip_suffix(".lua").unwrap_or(name).replace('.', "/"));
        let found = self.folders.iter().map(|folder| folder.join(&file)).find(|it| it.is_file());
        let Some(path) = found else {
            let places: Vec<String> =
                self.folders.iter().map(|folder| folder.display().to_string()).collect();
            return Err(match places.is_empty() {
                true => format!("the module '{name}' is not stored with the run"),
                false => format!("there is no module '{name}': no {file} in {}", places.join(", ")),
            });
        };
        let text = read(&path).map_err(|fault| fault.0)?;
        modules.insert(name.to_string(), text.clone());
        Ok(text)
    }
}

/// Whether this may name a module: no path leads out of the folders that are searched.
fn is_module(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    !name.is_empty()
        && name.chars().all(is_plain)
        && !name.starts_with(['/', '.'])
        && !name.contains("..")
}

fn read(path: &Path) -> Result<String, LuaFault> {
    let wrong = |error: &dyn std::fmt::Display| {
        LuaFault::new(format!("cannot read '{}': {error}", path.display()))
    };
    let length = fs::metadata(path).map_err(|error| wrong(&error))?.len();
    if length > LONGEST {
        return Err(wrong(&format!("it has {length} bytes, and a script has at most {LONGEST}")));
    }
    let bytes = fs::read(path).map_err(|error| wrong(&error))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        wrong(&format!("byte {} is not UTF-8. Convert it", error.utf8_error().valid_up_to()))
    })?;
    // The line that names a program is no Lua; its place stays.
    Ok(if text.starts_with('#') { format!("--{text}") } else { text })
}

#[cfg(test)]
mod tests {
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
        assert_eq!(files.modules().keys().collect::<Vec<_>>(), ["a.b"]);
        for outside in ["../secret", "/etc/passwd", "a..b", "", "a\nb", ".hidden"] {
            assert!(files.module(outside).unwrap_err().contains("cannot require"), "{outside}");
        }
        assert!(files.module("nothing").unwrap_err().contains("no nothing.lua in"));
        let stored = ScriptFiles::stored("x/main.lua", files.text(), files.modules());
        assert_eq!(stored.module("a.b").unwrap(), "return 2");
        assert!(stored.module("c").unwrap_err().contains("not stored with the run"));
    }

    #[test]
    fn a_script_that_is_not_there_is_told_with_where_it_was_looked_for() {
        let error = ScriptFiles::read("no_such_script").unwrap_err().to_string();
        assert!(error.contains("no no_such_script.lua here or in /usr/share/sysbench"), "{error}");
    }
}
