//! The load and the scripts as tasks, and how they are run on a server.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use rqps_dbms::Dialect;
use rqps_load::{Order, Schedule, Until};
use rqps_plan::{
    Class, Counts, LuaTest, LuaWorkload, Method, Microbenchmark, Operation, Specification, Workload,
};
use rqps_wire::Error;

use super::client::LuaClient;
use super::files::ScriptFiles;
use super::host::{HostSettings, Output, Reach};
use super::options::ScriptOptions;
use super::random::UniqueNumbers;
use super::script::{LuaScript, driver_name};
use super::state::StateSettings;
use crate::asked::{Asked, FlagError};
use crate::explain::{Explained, explained};
use crate::random::derive;
use crate::script::Script as Statements;
use crate::sql::{checked_id, rows_of_tables, tables};
use crate::task::{Assigned, Driver, Part, Site, Takes, Task, TaskClients, WorkloadError};

/// Characters of a statement that a note shows.
const SHOWN: usize = 60;

/// Options that a comparison has flags of its own for, and these.
const OWN_FLAGS: [(&str, &str); 6] = [
    ("threads", "--clients"),
    ("num_threads", "--clients"),
    ("time", "--secs"),
    ("max_time", "--secs"),
    ("rand_seed", "--seed"),
    ("db_driver", "the contenders"),
];

/// As a comparison asks for it.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.writes.is_some() {
        let reason = "a script decides how much it writes. Drop --writes";
        return Err(FlagError(reason.to_string()));
    }
    let mut defines = BTreeMap::new();
    for text in asked.defines {
        let (name, value) = text.split_once('=').unwrap_or((text, "on"));
        let name = name.replace('-', "_");
        if let Some((_, instead)) = OWN_FLAGS.iter().find(|(own, _)| *own == name) {
            return Err(FlagError(format!("cannot use --define {name}: use {instead}")));
        }
        defines.insert(name, value.to_string());
    }
    if let Some(rows) = asked.rows {
        defines.insert("table_size".to_string(), rows.0.to_string());
    }
    if let Some(tables) = asked.tables {
        defines.insert("tables".to_string(), tables.to_string());
    }
    let mut plan = LuaWorkload {
        scripts: Vec::new(),
        options: defines,
        clients: asked.clients,
        time: asked.secs.unwrap_or_else(|| (asked.fitting)(asked.workload.names.len())),
    };
    let mut unknown: Vec<String> = plan.options.keys().cloned().collect();
    let mut last = None;
    for given in &asked.workload.names {
        let script = LuaScript::read(given, "run").map_err(|error| FlagError(error.to_string()))?;
        unknown.retain(|name| !script.options().is_ok_and(|it| it.takes(name)));
        let test = test(given, &script, &plan, asked)?;
        if plan.scripts.iter().any(|other| other.id == test.id) {
            let reason = format!("two tests would be called '{}'. Rename a script", test.id);
            return Err(FlagError(reason));
        }
        plan.scripts.push(test);
        last = Some(script);
    }
    if let (Some(name), Some(script)) = (unknown.first(), last) {
        // This says what there is.
        let options = script.options().map_err(|error| FlagError(error.to_string()))?;
        options.clone().set(&format!("{name}=")).map_err(FlagError)?;
    }
    Ok(plan.into())
}

/// A script as a test: what is stored with the run, and what a trial shows of it.
fn test(
    given: &str,
    script: &LuaScript,
    plan: &LuaWorkload,
    asked: &Asked<'_>,
) -> Result<LuaTest, FlagError> {
    let wrong = |error: &dyn std::fmt::Display| FlagError(error.to_string());
    checked_id(script.files.id()).map_err(FlagError)?;
    let options = options(script, plan).map_err(FlagError)?;
    let (mut writes, mut statements) = (false, 0.0);
    for contender in asked.contenders {
        let dialect = Dialect::from(contender);
        let trial = script.trial(dialect, &options).map_err(|error| wrong(&error))?;
        writes |= trial.writes.is_some() || trial.problem.is_some();
        statements = trial.statements;
    }
    let class = if writes { Class::ReadWrite } else { Class::Range };
    Ok(LuaTest {
        id: script.files.id().to_string(),
        source: given.to_string(),
        text: script.files.text().to_string(),
        modules: script.files.modules(),
        class,
        statements: if statements > 0.0 { statements } else { 1.0 },
        prepares: script.command("prepare").is_some(),
        is_measured: true,
    })
}

fn options(script: &LuaScript, plan: &LuaWorkload) -> Result<ScriptOptions, String> {
    let mut options = script.options().map_err(|fault| fault.to_string())?;
    let threads = format!("threads={}", plan.clients);
    // The others are for other scripts.
    let given = plan.options.iter().filter(|(name, _)| options.takes(name));
    let given: Vec<String> = given.map(|(name, value)| format!("{name}={value}")).collect();
    for text in given.into_iter().chain([threads, "time=0".to_string()]) {
        options.set(&text)?;
    }
    Ok(options)
}

pub(crate) fn tasks(plan: &LuaWorkload) -> Vec<Task> {
    let load = Task {
        title: "run the script's prepare".to_string(),
        counts: Counts::RowsInserted,
        fills: true,
        takes: vec![Takes::Load { rows: plan.most_rows(), connections: 1 }],
        ..Task::new("load", "", Class::Load)
    };
    let test = |(index, test): (usize, &LuaTest)| {
        let (class, time) = (test.class, plan.time.0);
        let warm_up = Microbenchmark::warm_up(time);
        Task {
            index,
            family: "lua",
            is_reported: true,
            clients: plan.clients,
            warm_up: Some(warm_up),
            time,
            takes: vec![Takes::Time(warm_up + time)],
            ..Task::new(&test.id, if class.writes() { "Writes" } else { "Queries" }, class)
        }
    };
    std::iter::once(load).chain((1..).zip(plan.measured()).map(test)).collect()
}

pub(crate) fn driver<'a>(
    plan: &'a LuaWorkload,
    site: Site<'a>,
) -> Result<Box<dyn Driver + 'a>, WorkloadError> {
    let read = |test: &LuaTest| -> Result<(LuaScript, ScriptOptions), Error> {
        let files = ScriptFiles::stored(&test.source, &test.text, test.modules.clone());
        let script = LuaScript::of_files(Arc::new(files), "run");
        let script = script.map_err(|fault| Error::Client(fault.to_string()))?;
        let options = options(&script, plan).map_err(Error::Client)?;
        Ok((script, options))
    };
    let scripts = plan.scripts.iter().map(read).collect::<Result<_, _>>()?;
    let wrote = RefCell::new(BTreeMap::new());
    Ok(Box::new(LuaScripts { plan, site, scripts, wrote }))
}

/// The first statement of a test that may write, and does so although a trial showed none.
type Wrote = Arc<Mutex<Option<String>>>;

struct LuaScripts<'a> {
    plan: &'a LuaWorkload,
    site: Site<'a>,
    scripts: Vec<(LuaScript, ScriptOptions)>,
    wrote: RefCell<BTreeMap<String, Wrote>>,
}

impl LuaScripts<'_> {
    fn of(&self, task: &Task) -> Result<(&LuaScript, &ScriptOptions, &LuaTest), Error> {
        let all = self.scripts.iter().zip(&self.plan.scripts);
        let mut found = all.filter(|(_, test)| test.id == task.name || task.fills);
        let missing = || Error::Client(format!("the script '{}' has gone", task.name));
        let ((script, options), test) = found.next().ok_or_else(missing)?;
        Ok((script, options, test))
    }

    fn settings(&self, script: &LuaScript, command: &str, unique: UniqueNumbers) -> StateSettings {
        let (dialect, target) = (self.site.dialect, self.site.target);
        let (_, options) = &self.scripts[0];
        StateSettings {
            files: script.files.clone(),
            command: command.to_string(),
            driver: driver_name(dialect),
            host: HostSettings {
                reach: Reach::Server(Box::new(target.clone())),
                dialect,
                is_emulating: options.text("db-ps-mode") == "disable",
                ignored: options.list("mysql-ignore-errors").to_vec(),
                refuses_sleep: self.site.method == Method::Slices,
                wrote: None,
                unique,
                output: Output::none(),
            },
        }
    }

    /// Every use has a part of the sequence that no other has, so that no key is inserted twice.
    fn unique(&self, index: usize, place: u64) -> UniqueNumbers {
        const OF_A_TASK: u32 = 20;
        const OF_A_PLACE: u32 = 24;
        let seed = derive(self.site.seed, &[u64::from(u32::MAX)]);
        let all = UniqueNumbers::new(seed as u32, (seed >> 32) as u32);
        let (index, place) = (index as u32, place as u32);
        all.skip(place.wrapping_shl(OF_A_PLACE).wrapping_add(index.wrapping_shl(OF_A_TASK)))
    }
}

impl Driver for LuaScripts<'_> {
    fn tables(&self) -> Vec<String> {
        let Ok(mut connection) = self.site.target.connect() else { return Vec::new() };
        tables(&mut *connection, self.site.dialect).unwrap_or_default()
    }

    fn prepare(&self, task: &Task, _attempt: u32) -> Result<Option<String>, WorkloadError> {
        if !task.fills {
            return Ok(None);
        }
        let (script, options, test) = self.of(task)?;
        if !test.prepares {
            return Ok(Some(format!("{} has no prepare: nothing is loaded", test.id)));
        }
        let mut options = options.clone();
        options.set("threads=1").map_err(Error::Client)?;
        let settings = self.settings(script, "prepare", self.unique(0, 0));
        script.run_command(&settings, &options, "prepare")?;
        Ok(None)
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        let (script, options, _) = self.of(task)?;
        let trial = script.trial(self.site.dialect, options);
        let trial = trial.map_err(|fault| Error::Client(fault.to_string()))?;
        let connection = &mut *self.site.target.connect()?;
        let mut all: Vec<Explained> = Vec::new();
        for (text, sql) in trial.seen {
            if all.iter().any(|one| one.text == text) {
                continue;
            }
            all.push(explained(connection, self.site.dialect, text, &sql)?);
            if all.len() >= EXPLAINED {
                break;
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
        let (script, options, test) = self.of(task)?;
        let dialect = self.site.dialect;
        connected.worth = test.statements;
        let mut settings = self.settings(script, "run", self.unique(task.index, place));
        if !test.class.writes() {
            let wrote = self.wrote.borrow_mut().entry(test.id.clone()).or_default().clone();
            settings.host.wrote = Some(wrote);
        }
        for tid in 0..clients {
            let use_of = |half: u64| [task.index as u64, place, u64::from(tid), half];
            let seed = [0, 1].map(|half| derive(self.site.seed, &use_of(half)));
            let mut client = LuaClient::start(&settings, options, tid, seed)?;
            let thread = match clients {
                1 => None,
                _ => client.with_connection(|connection| dialect.thread(connection)).transpose()?,
            };
            connected.threads.push(thread.flatten());
            let order = Order { schedule: Schedule::Closed, until: Until::Elapsed(task.time) };
            let (operation, work) = (Operation::Transaction, client.work());
            connected.parts.push(Part { client: tid + 1, operation, work, order });
        }
        Ok(connected)
    }

    fn row_counts(&self) -> Result<BTreeMap<String, u64>, Error> {
        rows_of_tables(&mut *self.site.target.connect()?, self.site.dialect)
    }

    fn told(&self) -> Option<String> {
        let wrote = self.wrote.borrow();
        let mut notes = wrote.iter().filter_map(|(id, wrote)| {
            let sql = wrote.lock().ok()?.clone()?;
            let shown: String = sql.chars().take(SHOWN).collect();
            Some(format!(
                "{id} is measured as a script that only reads, because a trial of it sent no \
                 write, but it has sent one: {shown}"
            ))
        });
        notes.next()
    }

    fn indexers(&self, _task: &Task) -> Result<Vec<Assigned>, Error> {
        Ok(Vec::new())
    }
}

/// Statements of a script that are explained at most.
const EXPLAINED: usize = 50;
