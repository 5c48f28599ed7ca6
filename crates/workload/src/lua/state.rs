//! A Lua state with a script in it. A script is somebody else's code, and gets SQL, random numbers,
//! the clock and a place to print to: no files, no programs, no environment, no foreign functions
//! and no compiled code, from which it could break out.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mlua::{
    ChunkMode, Function, Lua, LuaOptions, MultiValue, StdLib, String as LuaString, Table, Value,
};
use rqps_plan::suggestion;
use rqps_wire::{Error, ErrorClass};

use super::busy::InLua;
use super::fault::{LuaFault, syntax, told};
use super::files::{ScriptFiles, required};
use super::host::{CallEnd, Host, HostSettings, SharedHost};
use super::options::{DeclaredOption, OptionKind, OptionValue, ScriptOptions};
use super::random::ScriptRandom;
use super::values::{Kind, ParameterValue};

/// The interface, in Lua.
const PRELUDE: &str = include_str!("prelude.lua");

/// What a state is made from.
#[derive(Clone, Debug)]
pub struct StateSettings {
    pub files: Arc<ScriptFiles>,
    /// As scripts see it: `run`, `prepare`.
    pub command: String,
    /// `mysql`, `pgsql` or `sqlite`.
    pub driver: &'static str,
    pub host: HostSettings,
}

/// A command of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LuaCommand {
    pub name: String,
    /// Each client runs a part of it.
    pub is_parallel: bool,
}

/// How an event ended.
#[derive(Debug)]
pub(super) enum EventEnd {
    Done,
    /// The script asks for no more events.
    Stopped,
    /// It may begin again.
    Again(Error),
    Failed(Error),
}

pub(super) struct ScriptState {
    lua: Lua,
    host: SharedHost,
    own: Table,
    event: Function,
    tid: u32,
    in_lua: InLua,
}

/// Numbers that the prelude returns.
const DONE: i32 = 0;
const AGAIN: i32 = 1;
const STOPPED: i32 = 2;
const BROKEN: i32 = 3;

impl ScriptState {
    /// Runs a script from its beginning, which defines its functions.
    pub(super) fn new(
        settings: &StateSettings,
        tid: u32,
        random: ScriptRandom,
    ) -> Result<ScriptState, LuaFault> {
        let fault = |error: mlua::Error| LuaFault(told(&error));
        // Lua's basic functions come unasked; the prelude replaces what is unsafe there.
        let libraries =
            StdLib::TABLE | StdLib::STRING | StdLib::MATH | StdLib::BIT | StdLib::OS | StdLib::JIT;
        let lua = Lua::new_with(libraries, LuaOptions::default()).map_err(fault)?;
        let in_lua = InLua::new();
        let host = Host::new(settings.host.clone(), random, in_lua.clone());
        let host = Arc::new(Mutex::new(host));
        let functions = functions(&lua, &host, &settings.files).map_err(fault)?;
        let facts = lua.create_table().map_err(fault)?;
        let filled = facts
            .set("tid", tid)
            .and_then(|()| facts.set("command", settings.command.as_str()))
            .and_then(|()| facts.set("script", settings.files.given.as_str()))
            .and_then(|()| facts.set("driver", settings.driver));
        filled.map_err(fault)?;
        let prelude = lua.load(PRELUDE).set_name("=sysbench").set_mode(ChunkMode::Text);
        let own: Table = prelude.call((functions, facts)).map_err(fault)?;
        let event = own.get("event").map_err(fault)?;
        let (name, text) = (&settings.files.name, &settings.files.text);
        let script = lua.load(text.as_str()).set_name(format!("={name}")).set_mode(ChunkMode::Text);
        let script = script.into_function().map_err(|error| syntax(&lua, name, text, &error))?;
        in_lua.inside(|| script.call::<()>(())).map_err(fault)?;
        Ok(ScriptState { lua, host, own, event, tid, in_lua })
    }

    pub(super) fn host(&self) -> MutexGuard<'_, Host> {
        lock(&self.host)
    }

    fn own<R: mlua::FromLuaMulti>(
        &self,
        name: &str,
        arguments: impl mlua::IntoLuaMulti,
    ) -> mlua::Result<R> {
        let function = self.own.get::<Function>(name)?;
        self.in_lua.inside(|| function.call(arguments))
    }

    /// What the script declares; none if it declares nothing.
    pub(super) fn declared(&self) -> Result<Option<Vec<DeclaredOption>>, LuaFault> {
        let fault = |error: mlua::Error| LuaFault(told(&error));
        let found: Option<Vec<Table>> = self.own("options", ()).map_err(fault)?;
        let Some(found) = found else { return Ok(None) };
        let one = |table: Table| -> mlua::Result<DeclaredOption> {
            let kind = match table.get::<u32>("kind")? {
                1 => OptionKind::Flag,
                2 => OptionKind::Int,
                3 => OptionKind::Size,
                4 => OptionKind::Double,
                6 => OptionKind::List,
                _ => OptionKind::Text,
            };
            let (name, default) = (table.get("name")?, table.get("default")?);
            Ok(DeclaredOption { name, kind, default, about: table.get("about")? })
        };
        let declared: mlua::Result<Vec<_>> = found.into_iter().map(one).collect();
        declared.map(Some).map_err(fault)
    }

    pub(super) fn commands(&self) -> Result<Vec<LuaCommand>, LuaFault> {
        let fault = |error: mlua::Error| LuaFault(told(&error));
        let found: Vec<Table> = self.own("commands", ()).map_err(fault)?;
        let one = |table: Table| -> mlua::Result<LuaCommand> {
            Ok(LuaCommand { name: table.get("name")?, is_parallel: table.get("parallel")? })
        };
        found.into_iter().map(one).collect::<mlua::Result<_>>().map_err(fault)
    }

    /// Keeps all modules that the script names, also those that only another command requires.
    pub(super) fn keep_required(&self, files: &ScriptFiles) {
        let mut seen = BTreeSet::new();
        let mut texts = vec![files.text.clone()];
        while let Some(text) = texts.pop() {
            for name in required(&text).filter(|name| seen.insert(name.to_string())) {
                // What is not found may be in a comment; requiring it tells.
                let Ok(module) = files.module(name) else { continue };
                let chunk = self.lua.load(module.as_str()).set_mode(ChunkMode::Text);
                if chunk.into_function().is_ok() {
                    files.keep(name, &module);
                    texts.push(module);
                }
            }
        }
    }

    pub(super) fn has(&self, function: &str) -> bool {
        self.own("has", function).unwrap_or(false)
    }

    pub(super) fn has_hook(&self, name: &str) -> bool {
        self.own("hook", name).unwrap_or(false)
    }

    /// Gives the script its options.
    pub(super) fn set_options(&self, options: &ScriptOptions) -> Result<(), LuaFault> {
        let set = || -> mlua::Result<()> {
            for (name, value) in options.all() {
                let value = match value {
                    OptionValue::Flag(flag) => Value::Boolean(*flag),
                    OptionValue::Number(number) => Value::Number(*number),
                    OptionValue::Text(text) => Value::String(self.lua.create_string(text)?),
                    OptionValue::List(list) => {
                        Value::Table(self.lua.create_sequence_from(list.iter().cloned())?)
                    }
                };
                self.own::<()>("option", (name, value, options.are_global()))?;
            }
            Ok(())
        };
        set().map_err(|error| LuaFault(told(&error)))
    }

    /// Calls a function with the number of the client, if the script has it.
    pub(super) fn call(&self, function: &str) -> Result<(), Error> {
        let (status, problem): (i32, Option<String>) =
            self.own("call", (function, self.tid)).map_err(|error| Error::Client(told(&error)))?;
        match status {
            BROKEN => Err(self.failed(problem.map(|it| format!("{function}: {it}")))),
            _ => Ok(()),
        }
    }

    /// Runs a command of the script.
    pub(super) fn command(&self, name: &str) -> Result<(), Error> {
        let (status, problem): (i32, Option<String>) =
            self.own("command", name).map_err(|error| Error::Client(told(&error)))?;
        match status {
            DONE => Ok(()),
            BROKEN => Err(self.failed(problem.map(|it| format!("{name}: {it}")))),
            _ => Err(Error::Client(format!("the script does not implement the command {name}"))),
        }
    }

    /// Runs the event once.
    pub(super) fn event(&self) -> EventEnd {
        let ended: mlua::Result<(i32, Option<String>)> =
            self.in_lua.inside(|| self.event.call(self.tid));
        match ended {
            Ok((DONE, _)) => EventEnd::Done,
            Ok((STOPPED, _)) => EventEnd::Stopped,
            Ok((AGAIN, problem)) => EventEnd::Again(again(self.failed(problem))),
            Ok((_, problem)) => EventEnd::Failed(self.failed(problem)),
            Err(error) => EventEnd::Failed(Error::Client(told(&error))),
        }
    }

    /// Gives figures to a hook of the script.
    pub(super) fn report(&self, hook: &str, figures: &[(&str, f64)]) -> Result<(), Error> {
        let report = || -> mlua::Result<(i32, Option<String>)> {
            let stat = self.lua.create_table()?;
            for (name, figure) in figures {
                stat.set(*name, *figure)?;
            }
            self.own("report", (hook, stat))
        };
        match report() {
            Ok((BROKEN, problem)) => Err(self.failed(problem.map(|it| format!("{hook}: {it}")))),
            Ok(_) => Ok(()),
            Err(error) => Err(Error::Client(told(&error))),
        }
    }

    /// Nothing more is reported.
    pub(super) fn end_reports(&self) {
        // What it prints is of no use if it fails.
        let _ = self.own::<()>("ended", ());
    }

    /// What the script failed with; a connection that ended is told as such.
    fn failed(&self, problem: Option<String>) -> Error {
        let failure = self.host().failure.take();
        match failure {
            Some(error) if error.is_disconnect() => error,
            Some(Error::Server { code, class, .. }) => {
                Error::Server { code, class, message: problem.unwrap_or_default() }
            }
            _ => Error::Client(problem.unwrap_or_default()),
        }
    }
}

/// The same error as one after which the event begins again.
fn again(error: Error) -> Error {
    match error {
        Error::Server { code, message, .. } => {
            Error::Server { code, message, class: ErrorClass::Retry }
        }
        Error::Client(message) => {
            Error::Server { code: "-".to_string(), message, class: ErrorClass::Retry }
        }
        // Its connection was made anew.
        other => {
            let message = other.to_string();
            Error::Server { code: "-".to_string(), message, class: ErrorClass::Retry }
        }
    }
}

fn lock(host: &SharedHost) -> MutexGuard<'_, Host> {
    host.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number as C converts it to 32 bits.
fn bits(number: f64) -> u32 {
    number as i64 as u32
}

/// What the prelude is given.
fn functions(lua: &Lua, host: &SharedHost, files: &Arc<ScriptFiles>) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    random(lua, host, &table)?;
    statements(lua, host, &table)?;
    counts(lua, host, &table)?;
    texts(lua, host, files, &table)?;
    Ok(table)
}

type Draw = fn(&mut ScriptRandom, u32, u32) -> u32;

fn random(lua: &Lua, host: &SharedHost, table: &Table) -> mlua::Result<()> {
    let draws: [(&str, Draw); 6] = [
        ("draw", ScriptRandom::draw),
        ("uniform", ScriptRandom::uniform),
        ("gaussian", ScriptRandom::gaussian),
        ("special", ScriptRandom::special),
        ("pareto", ScriptRandom::pareto),
        ("zipfian", ScriptRandom::zipfian),
    ];
    for (name, draw) in draws {
        let host = host.clone();
        let function = lua.create_function(move |_, (from, to): (f64, f64)| {
            Ok(draw(&mut lock(&host).random, bits(from), bits(to)))
        })?;
        table.set(name, function)?;
    }
    let add = |name: &str, draw: fn(&mut Host) -> f64| {
        let host = host.clone();
        table.set(name, lua.create_function(move |_, ()| Ok(draw(&mut lock(&host))))?)
    };
    add("unique", |host| f64::from(host.unique()))?;
    add("double", |host| host.random.double())?;
    // Lua's numbers have 53 bits.
    add("bits", |host| (host.random.bits() >> 11) as f64)?;
    let host = host.clone();
    let string = lua.create_function(move |lua, template: LuaString| {
        let mut out = Vec::with_capacity(template.as_bytes().len());
        lock(&host).random.fill(&template.as_bytes(), &mut out);
        lua.create_string(&out)
    })?;
    table.set("string", string)
}

/// Numbers that the prelude knows.
const NOTHING: i64 = 0;
const ROWS: i64 = 1;
const FAILED: i64 = 2;

fn status(done: CallEnd) -> (i64, u64) {
    match done {
        CallEnd::Nothing => (NOTHING, 0),
        CallEnd::Rows(rows) => (ROWS, rows),
        CallEnd::Failed => (FAILED, 0),
    }
}

fn statements(lua: &Lua, shared: &SharedHost, table: &Table) -> mlua::Result<()> {
    let host = shared.clone();
    table.set("connect", lua.create_function(move |_, ()| Ok(lock(&host).connect()))?)?;
    let host = shared.clone();
    let disconnect = lua.create_function(move |_, id| {
        lock(&host).disconnect(id);
        Ok(())
    })?;
    table.set("disconnect", disconnect)?;
    let host = shared.clone();
    table.set("reconnect", lua.create_function(move |_, id| Ok(lock(&host).reconnect(id)))?)?;
    let host = shared.clone();
    let query = lua.create_function(move |_, (id, sql): (usize, LuaString)| {
        let host = &mut *lock(&host);
        let (status, rows) = status(host.query(id, &sql.to_str()?));
        let (serial, columns) = host.result(id);
        Ok((status, rows, columns, serial))
    })?;
    table.set("query", query)?;
    let host = shared.clone();
    let row = lua.create_function(move |lua, (id, serial, number): (usize, u64, usize)| {
        // Making a table may collect garbage. Nothing of Lua runs while the host is locked.
        let taken = lock(&host).take_row(id, serial, number);
        let Some(row) = taken else { return Ok(None) };
        let fields = lua.create_table_with_capacity(row.len(), 0)?;
        for (column, field) in (1..).zip(&row) {
            if let Some(field) = field {
                fields.raw_set(column, field.as_str())?;
            }
        }
        Ok(Some(fields))
    })?;
    table.set("row", row)?;
    let host = shared.clone();
    let prepare = lua.create_function(move |_, (id, sql): (usize, LuaString)| {
        Ok(lock(&host).prepare(id, &sql.to_str()?))
    })?;
    table.set("prepare", prepare)?;
    let host = shared.clone();
    let bind = lua.create_function(move |_, (number, kinds): (usize, mlua::Variadic<u32>)| {
        let kinds = kinds.iter().map(|kind| Kind::numbered(*kind)).collect();
        Ok(lock(&host).bind(number, kinds))
    })?;
    table.set("bind", bind)?;
    let host = shared.clone();
    let execute = lua.create_function(move |_, values: MultiValue| execute(&host, values))?;
    table.set("execute", execute)?;
    let host = shared.clone();
    let close = lua.create_function(move |_, number| {
        lock(&host).close(number);
        Ok(())
    })?;
    table.set("close", close)
}

/// The number of a statement, and its values.
fn execute(host: &SharedHost, mut values: MultiValue) -> mlua::Result<(i64, u64)> {
    let number = values.pop_front().and_then(|number| number.as_usize()).unwrap_or(usize::MAX);
    let texts: Vec<_> = values
        .iter()
        .filter_map(|value| match value {
            Value::String(text) => Some(text.as_bytes()),
            _ => None,
        })
        .collect();
    let mut next_text = texts.iter();
    let mut given = |value: &Value| match value {
        Value::Integer(number) => Ok(ParameterValue::Number(*number as f64)),
        Value::Number(number) => Ok(ParameterValue::Number(*number)),
        Value::String(_) => {
            Ok(next_text.next().map_or(ParameterValue::Null, |text| ParameterValue::Text(text)))
        }
        Value::Nil | Value::Boolean(false) => Ok(ParameterValue::Null),
        other => Err(mlua::Error::runtime(format!(
            "a parameter takes numbers and texts, but was given a {}",
            other.type_name()
        ))),
    };
    const FEW: usize = 8;
    let mut host = lock(host);
    if values.len() <= FEW {
        let mut few = [ParameterValue::Null; FEW];
        for (slot, value) in few.iter_mut().zip(&values) {
            *slot = given(value)?;
        }
        return Ok(status(host.execute(number, &few[..values.len()])));
    }
    let many = values.iter().map(given).collect::<mlua::Result<Vec<_>>>()?;
    Ok(status(host.execute(number, &many)))
}

fn counts(lua: &Lua, shared: &SharedHost, table: &Table) -> mlua::Result<()> {
    let host = shared.clone();
    let failure = lua.create_function(move |_, ()| {
        let told = lock(&host).told.clone();
        Ok((told.errno, told.state, told.message, told.is_ignorable))
    })?;
    table.set("failure", failure)?;
    let host = shared.clone();
    let ignored = lua.create_function(move |_, ()| {
        lock(&host).errors += 1;
        Ok(())
    })?;
    table.set("ignored", ignored)?;
    let host = shared.clone();
    let count = lua.create_function(move |_, kind: u32| {
        let host = &mut *lock(&host);
        match kind {
            0 => host.effect.statements.others += 1,
            1 => host.effect.statements.reads += 1,
            2 => host.effect.statements.writes += 1,
            4 => host.errors += 1,
            5 => host.reconnects += 1,
            _ => {}
        }
        Ok(())
    })?;
    table.set("count", count)?;
    let host = shared.clone();
    let usleep = lua.create_function(move |_, micros: f64| {
        let (refuses, is_trial) = {
            let host = lock(&host);
            (host.refuses_sleep(), host.is_trial())
        };
        if refuses {
            let what = "the script sleeps, and a slice would measure that. Use --method runs";
            return Err(mlua::Error::runtime(what));
        }
        if !is_trial {
            std::thread::sleep(Duration::from_micros(micros.clamp(0.0, 1e9) as u64));
        }
        Ok(0)
    })?;
    table.set("usleep", usleep)
}

fn texts(
    lua: &Lua,
    shared: &SharedHost,
    files: &Arc<ScriptFiles>,
    table: &Table,
) -> mlua::Result<()> {
    let host = shared.clone();
    let print = lua.create_function(move |_, text: LuaString| {
        lock(&host).print(&text.to_string_lossy());
        Ok(())
    })?;
    table.set("print", print)?;
    let unknown = lua.create_function(|_, (of, name, names): (String, String, String)| {
        Ok(format!("unknown name {of}.{name}: {}", suggestion(&name, names.split(','))))
    })?;
    table.set("unknown", unknown)?;
    let load = lua.create_function(|lua, (text, name): (LuaString, LuaString)| {
        let name = name.to_string_lossy();
        let text = text.as_bytes().to_vec();
        let chunk = lua.load(text).set_name(name).set_mode(ChunkMode::Text);
        match chunk.into_function() {
            Ok(function) => Ok((Some(function), None)),
            Err(error) => Ok((None, Some(told(&error)))),
        }
    })?;
    table.set("load", load)?;
    let files = files.clone();
    let module = lua.create_function(move |lua, name: String| {
        let text = match files.module(&name) {
            Ok(text) => text,
            Err(what) => return Ok((None, Some(what))),
        };
        let file = format!("{}.lua", name.strip_suffix(".lua").unwrap_or(&name));
        let chunk = lua.load(text.as_str()).set_name(format!("={file}")).set_mode(ChunkMode::Text);
        match chunk.into_function() {
            Ok(function) => {
                files.keep(&name, &text);
                Ok((Some(function), None))
            }
            Err(error) => Ok((None, Some(syntax(lua, &file, &text, &error).0))),
        }
    })?;
    table.set("module", module)
}
