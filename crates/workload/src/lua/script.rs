//! A script as a whole: its options and commands, how its commands are run, and what it would do.

use std::sync::Arc;
use std::thread;

use rqps_dbms::Dialect;
use rqps_wire::Error;

use super::client::LuaClient;
use super::fault::LuaFault;
use super::files::ScriptFiles;
use super::host::{HostSettings, Output, Reach};
use super::options::{DeclaredOption, ScriptOptions};
use super::random::{ScriptRandom, UniqueNumbers, command_seeds};
use super::state::{LuaCommand, ScriptState, StateSettings};
use super::statement::may_write;

/// A script that was read.
#[derive(Debug)]
pub struct LuaScript {
    pub files: Arc<ScriptFiles>,
    /// None if it declares none, and takes any.
    pub declared: Option<Vec<DeclaredOption>>,
    pub commands: Vec<LuaCommand>,
    pub has_event: bool,
}

/// Events of a trial at most, and statements after which it has seen enough.
const TRIED_EVENTS: usize = 100;
const TRIED_STATEMENTS: usize = 5_000;

/// What a script would do, found by running it without a server.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trial {
    /// The first statement that may write.
    pub writes: Option<String>,
    /// Per event.
    pub statements: f64,
    /// The statements of the first events: with `?` for values, and with values.
    pub seen: Vec<(String, String)>,
    /// Why the trial ended early: what the script does depends on what a server returns.
    pub problem: Option<String>,
}

/// The beginning of errors that a server would not mend.
const CERTAIN: [&str; 4] =
    ["unknown name ", "is not given to scripts", "cannot require", "which a script may not"];

impl LuaScript {
    /// Reads a script, for a command.
    pub fn read(given: &str, command: &str) -> Result<LuaScript, LuaFault> {
        LuaScript::of_files(Arc::new(ScriptFiles::read(given)?), command)
    }

    pub fn of_files(files: Arc<ScriptFiles>, command: &str) -> Result<LuaScript, LuaFault> {
        let settings = StateSettings {
            files: files.clone(),
            command: command.to_string(),
            driver: driver_name(Dialect::INNODB),
            host: HostSettings::trial(Dialect::INNODB),
        };
        let draws = ScriptOptions::new(None).and_then(|options| options.draws());
        let random = ScriptRandom::new([1, 2], draws.map_err(LuaFault)?);
        let state = ScriptState::new(&settings, 0, random)?;
        state.keep_required(&files);
        let (declared, commands) = (state.declared()?, state.commands()?);
        let has_event = state.has("event");
        Ok(LuaScript { files, declared, commands, has_event })
    }

    /// Its options with their defaults.
    pub fn options(&self) -> Result<ScriptOptions, LuaFault> {
        ScriptOptions::new(self.declared.as_deref()).map_err(LuaFault)
    }

    pub fn command(&self, name: &str) -> Option<&LuaCommand> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// Runs some events without a server.
    pub fn trial(&self, dialect: Dialect, options: &ScriptOptions) -> Result<Trial, LuaFault> {
        if !self.has_event {
            let name = &self.files.name;
            return Err(LuaFault(format!("{name} defines no function event. Add one")));
        }
        let settings = StateSettings {
            files: self.files.clone(),
            command: "run".to_string(),
            driver: driver_name(dialect),
            host: HostSettings::trial(dialect),
        };
        let mut trial = Trial::default();
        let mut events = 0;
        let mut run = || -> Result<LuaClient, Error> {
            let mut client = LuaClient::load(&settings, options, 0, [1, 2])?;
            trial.problem = try_events(&mut client, &mut events).err().map(|it| it.to_string());
            Ok(client)
        };
        let client = run().map_err(|error| LuaFault(error.to_string()))?;
        if let Some(problem) = &trial.problem
            && CERTAIN.iter().any(|certain| problem.contains(certain))
        {
            return Err(LuaFault(problem.clone()));
        }
        let host = &mut *client.state().host();
        trial.seen = host.seen.take().unwrap_or_default();
        trial.writes =
            trial.seen.iter().map(|(text, _)| text).find(|text| may_write(text)).cloned();
        trial.statements = trial.seen.len() as f64 / f64::from(events.max(1));
        Ok(trial)
    }

    /// Runs a command; a parallel one in as many parts as there are threads.
    pub fn run_command(
        &self,
        settings: &StateSettings,
        options: &ScriptOptions,
        name: &str,
    ) -> Result<(), Error> {
        let is_parallel = self.command(name).is_some_and(|command| command.is_parallel);
        let threads = if is_parallel { options.threads().map_err(Error::Client)? } else { 1 };
        let part = |tid: u32, seed: [u64; 2]| {
            LuaClient::load(settings, options, tid, seed)?.state().command(name)
        };
        let seeds = command_seeds(threads as usize);
        if let [seed] = seeds[..] {
            return part(0, seed);
        }
        thread::scope(|scope| {
            let part = &part;
            let parts: Vec<_> =
                (0..).zip(seeds).map(|(tid, seed)| scope.spawn(move || part(tid, seed))).collect();
            let ended = parts
                .into_iter()
                .map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            // All of them end before the first error is told.
            ended.collect::<Vec<_>>().into_iter().collect()
        })
    }
}

fn try_events(client: &mut LuaClient, events: &mut u32) -> Result<(), Error> {
    client.state().call("thread_init")?;
    // What thread_init sends is no part of an event.
    client.state().host().seen = Some(Vec::new());
    for _ in 0..TRIED_EVENTS {
        client.event()?;
        *events += 1;
        let seen = client.state().host().seen.as_ref().map_or(0, Vec::len);
        if seen > TRIED_STATEMENTS {
            break;
        }
    }
    Ok(())
}

/// sysbench's name for a DBMS; SQLite has none there.
pub fn driver_name(dialect: Dialect) -> &'static str {
    match () {
        () if dialect == Dialect::POSTGRES => "pgsql",
        () if dialect == Dialect::SQLITE => "sqlite",
        () => "mysql",
    }
}

impl HostSettings {
    /// Of a script that reaches no server.
    pub(super) fn trial(dialect: Dialect) -> HostSettings {
        HostSettings {
            reach: Reach::Trial,
            dialect,
            is_emulating: false,
            ignored: Vec::new(),
            refuses_sleep: false,
            wrote: None,
            unique: UniqueNumbers::fresh(),
            output: Output::none(),
        }
    }
}
