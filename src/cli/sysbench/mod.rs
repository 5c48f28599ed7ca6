//! `rqps sysbench`: sysbench's command line. One contender gets a report in sysbench's form;
//! several are compared.

mod arguments;
mod clients;
mod compared;
mod limits;
mod report;
mod server;
mod tally;

use std::sync::{Arc, Mutex};

use anyhow::{Context, bail};
use rqps_system::printable;
use rqps_workload::lua::{
    HostSettings, LuaScript, Output, Reach, ScriptOptions, StateSettings, UniqueNumbers,
    driver_name, general_help, help,
};

use super::exit::Exit;
use super::output;
use super::reached::Reached;
use super::session::Setup;
use arguments::CommandWords;
use limits::EventLimits;

pub(crate) use arguments::Arguments;

/// The release whose interface scripts get.
const AS_RELEASE: &str = "1.0.20";

/// Below this, only errors are printed.
const NOTICES: f64 = 3.0;

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let words = match CommandWords::read(&arguments.words) {
        Ok(words) => words,
        Err(error) => return Ok(refused(&error)),
    };
    if words.contenders.len() > 1 {
        return compared::run(&words);
    }
    Ok(alone(&words).unwrap_or_else(|error| refused(&error)))
}

fn refused(error: &anyhow::Error) -> Exit {
    super::errors::tell(error);
    match error.downcast_ref() {
        Some(rqps_wire::Error::Interrupted(_)) => Exit::Interrupted,
        _ => Exit::ScriptRefused,
    }
}

fn alone(words: &CommandWords) -> anyhow::Result<Exit> {
    if words.wants("version") {
        output::print(&format!("{}\n", version()))?;
        return Ok(Exit::Done);
    }
    let Some(given) = &words.script else {
        if words.wants("help") {
            output::print(&usage())?;
            return Ok(Exit::Done);
        }
        bail!("no script. Name one, as in rqps sysbench oltp_read_only run postgres@17.6");
    };
    let command = words.command.as_deref().unwrap_or_default();
    let script = LuaScript::read(given, command)?;
    let mut options = script.options()?;
    for option in &words.options {
        options.set(option).map_err(anyhow::Error::msg)?;
    }
    if options.flag("help") {
        output::print(&usage())?;
        return Ok(Exit::Done);
    }
    let prints = options.number("verbosity") >= NOTICES;
    let header = format!("{} (as sysbench {AS_RELEASE}, using LuaJIT)\n\n", version());
    match command {
        "" => bail!("no command. Write one of {} after the script", commands(&script)),
        "help" if script.command("help").is_none() => {
            let declared = script.declared.as_deref().unwrap_or_default();
            let id = script.files.id();
            output::print(&format!("{header}{id} options:\n{}", help(declared)))?;
            return Ok(Exit::Done);
        }
        "run" | "help" => {}
        name if script.command(name).is_none() => {
            bail!("unknown command '{name}': there are {}", commands(&script));
        }
        _ => {}
    }
    if prints {
        output::print(&header)?;
    }
    served(words, &script, options, command, prints)
}

fn version() -> String {
    format!("rqps sysbench {}", env!("CARGO_PKG_VERSION"))
}

fn usage() -> String {
    format!(
        "Usage:\n  rqps sysbench [--OPTION=VALUE]... SCRIPT COMMAND [CONTENDER]...\n\n\
         Commands of most scripts: prepare run cleanup help\n\n\
         A contender is a build, which is started with tables of its own, or a server by its URL. \
         Without\none, the options of the server are used. Several contenders are compared.\n\n{}\
         rqps sysbench SCRIPT help lists the options of a script.\n",
        general_help()
    )
}

/// For a sentence.
fn commands(script: &LuaScript) -> String {
    let own = script.commands.iter().map(|command| command.name.as_str());
    let mut names: Vec<&str> = own.chain(["help", "run"]).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Carries out a command on the one contender.
fn served(
    words: &CommandWords,
    script: &LuaScript,
    options: ScriptOptions,
    command: &str,
    prints: bool,
) -> anyhow::Result<Exit> {
    let setup = Setup::new()?;
    let contender = match words.contenders.first() {
        Some(contender) => contender.clone(),
        None => server::contender(&options)?,
    };
    let served = Reached::new(&setup, &contender)?;
    if served.is_fresh() && command != "run" {
        bail!(
            "{command} of a build would end with its server. Use run, which prepares the tables, \
             or name a server"
        );
    }
    let ended = carry_out(script, options, command, prints, &served, &setup);
    // What failed first says more.
    let discarded = served.discard();
    let exit = ended?;
    discarded?;
    Ok(exit)
}

fn carry_out(
    script: &LuaScript,
    options: ScriptOptions,
    command: &str,
    prints: bool,
    served: &Reached,
    setup: &Setup,
) -> anyhow::Result<Exit> {
    let mut settings = settings(script, &options, command, served);
    if command != "run" {
        script.run_command(&settings, &options, command).context(called(script, command))?;
        return Ok(Exit::Done);
    }
    if served.is_fresh() && script.command("prepare").is_some() {
        settings.command = "prepare".to_string();
        script.run_command(&settings, &options, "prepare").context(called(script, "prepare"))?;
        settings.command = "run".to_string();
    }
    if !script.has_event {
        bail!("{} defines no function event. Add one", script.files.id());
    }
    let limits = EventLimits::new(&options)?;
    clients::run(settings, &options, &limits, prints, &setup.cancel)
}

fn called(script: &LuaScript, command: &str) -> String {
    format!("{} {command}", script.files.id())
}

fn settings(
    script: &LuaScript,
    options: &ScriptOptions,
    command: &str,
    served: &Reached,
) -> StateSettings {
    let dialect = served.dialect();
    // Texts of several clients do not mix.
    let turn = Mutex::new(());
    let output = Output(Arc::new(move |text: &str| {
        let _turn = turn.lock();
        // Nobody reads it, then.
        let _ = output::print(&printable(text));
    }));
    StateSettings {
        files: script.files.clone(),
        command: command.to_string(),
        driver: driver_name(dialect),
        host: HostSettings {
            reach: Reach::Server(Box::new(served.target().clone())),
            dialect,
            is_emulating: options.text("db-ps-mode") == "disable",
            ignored: options.list("mysql-ignore-errors").to_vec(),
            refuses_sleep: false,
            wrote: None,
            unique: UniqueNumbers::fresh(),
            output,
        },
    }
}
