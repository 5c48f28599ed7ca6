mod interface;
mod sandbox;
mod workload;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rqps_wire::{SqliteLibrary, Target};
use tempfile::TempDir;

use super::*;
use crate::Dialect;

/// A database of SQLite, and what scripts print.
struct Bench {
    _folder: TempDir,
    target: Target,
    printed: Arc<Mutex<String>>,
}

fn script(text: &str) -> Result<LuaScript, LuaFault> {
    let files = ScriptFiles::stored("s.lua", text, BTreeMap::new());
    LuaScript::of_files(Arc::new(files), "run")
}

impl Bench {
    fn new() -> Bench {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (library, pragmas) = (SqliteLibrary::bundled(), Vec::new());
        let target = Target::Sqlite { library, path: folder.path().join("db"), pragmas };
        Bench { _folder: folder, target, printed: Arc::default() }
    }

    fn settings(&self, script: &LuaScript) -> StateSettings {
        let printed = self.printed.clone();
        let output = Output(Arc::new(move |text: &str| printed.lock().unwrap().push_str(text)));
        StateSettings {
            files: script.files.clone(),
            command: "run".to_string(),
            driver: "sqlite",
            host: HostSettings {
                reach: Reach::Server(Box::new(self.target.clone())),
                dialect: Dialect::SQLITE,
                is_emulating: false,
                ignored: Vec::new(),
                refuses_sleep: false,
                wrote: None,
                unique: UniqueNumbers::fresh(),
                output,
            },
        }
    }

    /// A client after its `thread_init`.
    fn client(&self, text: &str, options: &[&str]) -> Result<LuaClient, String> {
        let script = script(text).map_err(|fault| fault.to_string())?;
        let mut all = script.options().map_err(|fault| fault.to_string())?;
        options.iter().try_for_each(|option| all.set(option))?;
        LuaClient::start(&self.settings(&script), &all, 0, client_seeds(42).next().unwrap())
            .map_err(|error| error.to_string())
    }

    /// What a script prints that runs its event once.
    fn printed(&self, text: &str) -> Result<String, String> {
        self.client(text, &[])?.event().map_err(|error| error.to_string())?;
        Ok(std::mem::take(&mut self.printed.lock().unwrap()))
    }
}
