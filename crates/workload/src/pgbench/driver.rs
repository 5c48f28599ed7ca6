//! The load and the scripts as tasks, and how they are run on a server.

use std::fs::File;
use std::path::Path;

use rqps_load::{Order, Schedule, Until};
use rqps_plan::{
    Class, Counts, MIX, Microbenchmark, Operation, Pgbench, PgbenchScript, QueryMode, Workload,
    is_printable,
};
use rqps_wire::Error;

use super::builtin::BuiltinScript;
use super::data::{Initialization, TABLES};
use super::error::ScriptError;
use super::sample::samples;
use super::script::Script;
use super::settings::{Defines, ScriptSettings, define};
use crate::Dialect;
use crate::asked::{Asked, FlagError};
use crate::explain::{Explained, explained};
use crate::random::derive;
use crate::script::Script as Statements;
use crate::script_text::script_text;
use crate::sql::checked_id;
use crate::task::{Assigned, Driver, Part, Site, Takes, Task, TaskClients, WorkloadError};

/// Scripts at most, as in pgbench.
pub const MOST_SCRIPTS: usize = 128;

/// A script and its weight by `NAME[@WEIGHT]`: a file, or a builtin script.
pub fn named(text: &str, is_builtin: bool) -> Result<PgbenchScript, String> {
    let (name, weight) = match text.rsplit_once('@') {
        None => (text, 1),
        Some((name, digits)) => {
            let weight: i64 = digits.parse().map_err(|_| {
                format!("invalid weight specification '@{digits}' of '{name}'. Write a number")
            })?;
            let most = i32::MAX;
            let in_range = u64::try_from(weight).ok().filter(|weight| *weight <= most as u64);
            let weight = in_range.ok_or_else(|| {
                format!("weight specification out of range (0 to {most}): {weight}, of '{name}'")
            })?;
            (name, weight)
        }
    };
    let (id, source, text) = match is_builtin {
        true => {
            let builtin = BuiltinScript::find(name)?;
            (builtin.name.to_string(), builtin.name.to_string(), builtin.text.to_string())
        }
        false => {
            let stem = Path::new(name).file_stem().unwrap_or_default().to_string_lossy();
            (stem.into_owned(), name.to_string(), read(name)?)
        }
    };
    let title = title(&source, is_builtin);
    let script = Script::parse(title, &text).map_err(|error| error.to_string())?;
    let class = match (script.only_reads(), is_builtin) {
        (true, true) => Class::Point,
        (true, false) => Class::Range,
        (false, _) => Class::ReadWrite,
    };
    let sleeps = script.sleeps().is_some();
    Ok(PgbenchScript { id, source, is_builtin, text, weight, class, sleeps })
}

/// What errors and reports call a script.
fn title(source: &str, is_builtin: bool) -> &str {
    match BuiltinScript::find(source) {
        Ok(builtin) if is_builtin => builtin.about,
        _ => source,
    }
}

/// The text of a file.
fn read(path: &str) -> Result<String, String> {
    let text = File::open(path).and_then(script_text);
    text.map_err(|error| format!("could not open file '{path}': {error}"))
}

/// As a comparison asks for it.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.rows.is_some() || asked.writes.is_some() || asked.tables.is_some() {
        let reason = "pgbench's tables grow with --scale. Drop --rows, --tables and --writes";
        return Err(FlagError(reason.to_string()));
    }
    let mut scripts = Vec::new();
    for name in &asked.workload.names {
        let is_file = name.contains(['.', '/']);
        scripts.push(named(name, !is_file).map_err(FlagError)?);
    }
    let mut defines = Defines::new();
    for text in asked.defines {
        define(&mut defines, text).map_err(FlagError)?;
    }
    let mix = scripts.len() > 1;
    let time = asked.secs.unwrap_or_else(|| (asked.fitting)(scripts.len() + usize::from(mix)));
    let plan = Pgbench {
        mix,
        scripts,
        scale: asked.scale.unwrap_or(1),
        mode: asked.query_mode.unwrap_or(QueryMode::Simple),
        defines,
        undefined_is_null: false,
        clients: asked.clients,
        time,
    };
    let dialects = asked.contenders.iter().map(Dialect::from);
    check(&plan, dialects, false).map_err(FlagError)?;
    check_ids(&plan).map_err(FlagError)?;
    Ok(plan.into())
}

/// Each script is a test of its own name.
fn check_ids(plan: &Pgbench) -> Result<(), String> {
    for (place, script) in plan.scripts.iter().enumerate() {
        let id = checked_id(&script.id)?;
        if plan.scripts[..place].iter().any(|other| other.id == id) || id == MIX && plan.mix {
            return Err(format!("two tests would be called '{id}'. Rename a script"));
        }
    }
    Ok(())
}

/// Refuses what can be found wrong without a server.
pub fn check(
    plan: &Pgbench,
    mut dialects: impl Iterator<Item = Dialect>,
    allows_shell: bool,
) -> Result<(), String> {
    if plan.scripts.len() > MOST_SCRIPTS {
        return Err(format!("at most {MOST_SCRIPTS} SQL scripts are allowed"));
    }
    if plan.scripts.iter().all(|script| script.weight == 0) {
        return Err("total script weight must not be zero. Give a script a weight".to_string());
    }
    let other = dialects.find(|dialect| *dialect != Dialect::POSTGRES);
    for script in &plan.scripts {
        if !script.source.chars().all(is_printable) {
            return Err(format!(
                "'{}' has characters that cannot be shown. Rename it",
                script.source
            ));
        }
        let parsed = parsed(script).map_err(|error| error.to_string())?;
        if !allows_shell {
            refuse_shell(&parsed).map_err(|error| error.to_string())?;
        }
        if let (Some(dialect), Some(command)) = (other, parsed.needs_postgres()) {
            let what = format!("{} has nothing like it. Compare builds of Postgres", dialect.name);
            return Err(ScriptError::at(&parsed, command, what).to_string());
        }
    }
    match other {
        Some(dialect) if plan.mode == QueryMode::Extended => Err(format!(
            "query mode extended is not known for {}. Use simple or prepared",
            dialect.name
        )),
        _ => settings(plan, &plan.scripts.iter().collect::<Vec<_>>(), 0)
            .and_then(|settings| settings.check())
            .map_err(|error| error.to_string()),
    }
}

fn parsed(script: &PgbenchScript) -> Result<Script, ScriptError> {
    Script::parse(title(&script.source, script.is_builtin), &script.text)
}

/// The settings of clients of these scripts.
pub fn settings(
    plan: &Pgbench,
    scripts: &[&PgbenchScript],
    seed: u64,
) -> Result<ScriptSettings, ScriptError> {
    let one = |script: &&PgbenchScript| Ok((parsed(script)?, script.weight));
    Ok(ScriptSettings {
        scripts: scripts.iter().map(one).collect::<Result<_, _>>()?,
        mode: plan.mode,
        defines: plan.defines.clone(),
        is_lenient: plan.undefined_is_null,
        scale: plan.scale,
        seed,
    })
}

pub(crate) fn tasks(plan: &Pgbench) -> Vec<Task> {
    let load = Task {
        title: "create pgbench's tables and fill them".to_string(),
        counts: Counts::RowsInserted,
        fills: true,
        takes: vec![Takes::Load { rows: plan.scale as u64 * 100_000, connections: 1 }],
        ..Task::new("load", "", Class::Load)
    };
    let test = |index: usize, id: &str, class: Class| {
        let time = plan.time.0;
        let warm_up = Microbenchmark::warm_up(time);
        Task {
            index,
            family: "pgbench",
            is_reported: true,
            clients: plan.clients,
            warm_up: Some(warm_up),
            time,
            takes: vec![Takes::Time(warm_up + time)],
            ..Task::new(id, if class.writes() { "Writes" } else { "Queries" }, class)
        }
    };
    let scripts = plan.scripts.iter().map(|script| (script.id.as_str(), script.class));
    let mix = plan.mix.then(|| (MIX, plan.class_of_mix()));
    let tests = (1..).zip(scripts.chain(mix)).map(|(index, (id, class))| test(index, id, class));
    std::iter::once(load).chain(tests).collect()
}

/// Refuses a script that runs programs.
fn refuse_shell(script: &Script) -> Result<(), ScriptError> {
    let what = "\\shell and \\setshell run programs. Use rqps pgbench --allow-shell with one \
                contender if that is meant";
    let found = script.shells().map(|command| ScriptError::at(script, command, what));
    found.map_or(Ok(()), Err)
}

pub(crate) fn driver<'a>(plan: &'a Pgbench, site: Site<'a>) -> Box<dyn Driver + 'a> {
    Box::new(Scripts { plan, site })
}

struct Scripts<'a> {
    plan: &'a Pgbench,
    site: Site<'a>,
}

impl Scripts<'_> {
    /// Of a task; all of the plan's for the mix.
    fn scripts(&self, task: &Task) -> Vec<&PgbenchScript> {
        let is_wanted =
            |script: &&PgbenchScript| script.id == task.name || self.plan.mix && task.name == MIX;
        self.plan.scripts.iter().filter(is_wanted).collect()
    }

    /// Scripts were checked when the plan was made, but a stored plan may come from elsewhere.
    fn settings(&self, task: &Task, seed: u64) -> Result<ScriptSettings, Error> {
        let scripts = self.scripts(task);
        let mut checked = scripts.iter().map(|script| refuse_shell(&parsed(script)?));
        let settings =
            checked.try_for_each(|one| one).and_then(|()| settings(self.plan, &scripts, seed));
        settings.map_err(|error| Error::Client(error.to_string()))
    }
}

impl Driver for Scripts<'_> {
    fn tables(&self) -> Vec<String> {
        TABLES.map(str::to_string).into()
    }

    fn prepare(&self, task: &Task, _attempt: u32) -> Result<Option<String>, WorkloadError> {
        if task.fills {
            let filled = Initialization::new(self.plan.scale);
            filled.fill(&mut *self.site.target.connect()?, &mut |_| {})?;
        }
        Ok(None)
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        let connection = &mut *self.site.target.connect()?;
        let (variables, _, draws) = self.settings(task, self.site.seed)?.beginning(1);
        let draws = draws.into_iter().cycle();
        let mut all = Vec::new();
        for (script, draws) in self.scripts(task).into_iter().zip(draws) {
            let parsed = parsed(script).map_err(|error| Error::Client(error.to_string()))?;
            for (text, sql) in samples(&parsed, variables.clone(), draws) {
                all.push(explained(connection, self.site.dialect, text, &sql)?);
            }
        }
        Ok(all)
    }

    fn connect(&self, task: &Task, clients: u32, place: u64) -> Result<TaskClients<'_>, Error> {
        let mut connected = TaskClients::none();
        if task.fills {
            // The tables are full already.
            let count = self.site.dialect.tables.to_string();
            let (work, order) = Statements::assigned(self.site.target.connect()?, vec![count]);
            connected.parts.push(Part { client: 1, operation: Operation::Insert, work, order });
            return Ok(connected);
        }
        let (target, dialect) = (self.site.target, self.site.dialect);
        let seed = derive(self.site.seed, &[task.index as u64, place]);
        let settings = self.settings(task, seed)?;
        connected.worth = settings.statements();
        for (number, mut client) in (1..).zip(settings.clients(target, dialect, clients)?) {
            connected.threads.push(match clients {
                1 => None,
                _ => dialect.thread(client.connection())?,
            });
            let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(task.time) };
            let (operation, work) = (Operation::Transaction, client.work());
            connected.parts.push(Part { client: number, operation, work, order });
        }
        Ok(connected)
    }

    fn indexers(&self, _task: &Task) -> Result<Vec<Assigned>, Error> {
        Ok(Vec::new())
    }
}
