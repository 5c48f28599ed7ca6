//! `rqps pgbench`: pgbench's letters. One contender gets a report in pgbench's form; several are
//! compared.

mod arguments;
mod clients;
mod compared;
mod report;
mod tally;

use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::ArgMatches;
use rqps_plan::{Contender, Pgbench, PgbenchScript, QueryMode, Span};
use rqps_workload::Dialect;
use rqps_workload::pgbench::{
    ALL_STEPS, BEFORE_RUN, BUILTINS, BuiltinScript, Defines, Initialization, STEPS, check, define,
    named, scale, settings, table_of_others,
};

use super::exit::Exit;
use super::output;
use super::reached::Reached;
use super::session::Setup;

pub(crate) use arguments::Arguments;

pub(crate) const VERB: &str = "pgbench";

/// Whether several contenders are named, where other arguments may be wrong.
pub(crate) fn compares(matches: &ArgMatches) -> bool {
    let named = matches.try_get_raw("contenders").ok().flatten();
    named.is_some_and(|contenders| contenders.len() > 1)
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if let several @ [_, _, ..] = &arguments.contenders()[..] {
        return compared::run(arguments, several);
    }
    Ok(alone(arguments).unwrap_or_else(|error| {
        super::errors::tell(&error);
        match error.downcast_ref() {
            Some(rqps_wire::Error::Interrupted(_)) => Exit::Interrupted,
            _ => Exit::ScriptRefused,
        }
    }))
}

fn alone(arguments: &Arguments) -> anyhow::Result<Exit> {
    if let Some(name) = &arguments.given.show_script {
        let script = BuiltinScript::find(name).map_err(anyhow::Error::msg)?;
        output::print(&format!("-- {}: {}\n{}\n", script.name, script.about, script.text))?;
        return Ok(Exit::Done);
    }
    if arguments.lists_builtins() {
        for script in &BUILTINS {
            output::print(&format!("{:>13}: {}\n", script.name, script.about))?;
        }
        return Ok(Exit::Done);
    }
    let [contender] = &arguments.contenders()[..] else {
        bail!("no contender. Name a build or a server, as in rqps pgbench -S postgres@17.6");
    };
    measured(arguments, contender)
}

/// Runs scripts on one contender, and prints what pgbench prints.
fn measured(arguments: &Arguments, contender: &Contender) -> anyhow::Result<Exit> {
    let plan = plan(arguments, contender)?;
    let initialization = initialization(arguments)?;
    let seed = arguments.seed()?;
    let setup = Setup::new()?;
    let reached = Reached::new(&setup, contender)?;
    let ended = tables(arguments, plan, &initialization, &reached).and_then(|plan| match plan {
        None => Ok(Exit::Done),
        Some(plan) => clients(arguments, &plan, seed, &reached, &setup),
    });
    // What failed first says more.
    let discarded = reached.discard();
    let exit = ended?;
    discarded?;
    Ok(exit)
}

/// Makes the tables, where that is asked for or they cannot be there, and prepares them for a run.
/// None if no run is asked for, else the plan with the scale that they have.
fn tables(
    arguments: &Arguments,
    plan: Pgbench,
    initialization: &Initialization,
    reached: &Reached,
) -> anyhow::Result<Option<Pgbench>> {
    let given = &arguments.given;
    let mut connection = reached.target().connect()?;
    if given.initialize || reached.is_fresh() {
        let others = match reached.is_fresh() {
            true => None,
            false => table_of_others(&mut *connection)?,
        };
        if let Some(table) = others {
            bail!(
                "'{table}' exists, and rqps is not known to have made it. Drop it, or name another \
                 database"
            );
        }
        let begun = Instant::now();
        let mut tell = |what: &str| output::note(&format!("{what}..."));
        initialization.fill(&mut *connection, &mut tell)?;
        output::note(&format!("done in {:.2} s", begun.elapsed().as_secs_f64()));
        if given.initialize {
            return Ok(None);
        }
    }
    let uses_tables = plan.scripts.iter().any(|script| script.is_builtin);
    let found = match uses_tables && !reached.is_fresh() {
        true => scale(&mut *connection)
            .context("cannot find the scale: make the tables with rqps pgbench -i")?,
        false => None,
    };
    if let (Some(found), Some(asked)) = (found, given.scale)
        && found != asked
    {
        output::note(&format!("-s {asked} has no effect: the tables have scale {found}"));
    }
    if given.no_vacuum == 0 && connection.scripted().is_some() {
        // As in pgbench, tables that are not there are no error. Unlike there, rows of tables that
        // others have made stay.
        let is_own = table_of_others(&mut *connection)?.is_none();
        for sql in BEFORE_RUN.iter().filter(|sql| is_own || sql.starts_with("vacuum")) {
            let _ = connection.run(sql);
        }
    }
    Ok(Some(Pgbench { scale: found.unwrap_or(plan.scale), ..plan }))
}

/// Runs the clients and prints the report.
fn clients(
    arguments: &Arguments,
    plan: &Pgbench,
    seed: u64,
    reached: &Reached,
    setup: &Setup,
) -> anyhow::Result<Exit> {
    if arguments.given.random_seed.is_some() {
        output::note(&format!("setting random seed to {seed}"));
    }
    let scripts: Vec<&PgbenchScript> = plan.scripts.iter().collect();
    let limits = arguments.limits();
    let run = clients::Run {
        settings: settings(plan, &scripts, seed)?,
        target: reached.target(),
        dialect: reached.dialect(),
        limits,
        cancel: &setup.cancel,
    };
    let version = reached.version()?;
    let outcome = clients::run(run, plan)?;
    output::print(&report::text(&version, plan, &limits, &outcome))?;
    let Some(what) = &outcome.aborted else { return Ok(Exit::Done) };
    output::note(&format!("error: {what}"));
    output::note("the run was aborted; the results above are incomplete");
    Ok(Exit::ScriptAborted)
}

/// What is run, as a comparison has it, too.
fn plan(arguments: &Arguments, contender: &Contender) -> anyhow::Result<Pgbench> {
    let given = &arguments.given;
    let mut scripts = Vec::new();
    for (text, is_builtin) in &arguments.scripts {
        scripts.push(named(text, *is_builtin).map_err(anyhow::Error::msg)?);
    }
    if scripts.is_empty() {
        scripts.push(named("tpcb-like", true).map_err(anyhow::Error::msg)?);
    }
    let mut defines = Defines::new();
    for text in &given.define {
        define(&mut defines, text).map_err(anyhow::Error::msg)?;
    }
    let plan = Pgbench {
        scripts,
        mix: false,
        scale: given.scale.unwrap_or(1),
        mode: given.protocol.unwrap_or(QueryMode::Simple),
        defines,
        undefined_is_null: given.pgbench_undefined,
        clients: given.client,
        time: Span(given.time.map_or(Duration::ZERO, Duration::from_secs)),
    };
    let dialects = std::iter::once(Dialect::from(contender));
    check(&plan, dialects, given.allow_shell).map_err(anyhow::Error::msg)?;
    Ok(plan)
}

fn initialization(arguments: &Arguments) -> anyhow::Result<Initialization> {
    let given = &arguments.given;
    let mut steps = given.init_steps.clone().unwrap_or_else(|| STEPS.to_string());
    steps.retain(|step| step != ' ');
    if let Some(unknown) = steps.chars().find(|step| !ALL_STEPS.contains(*step)) {
        bail!(
            "unrecognized initialization step '{unknown}'. Allowed step characters are {ALL_STEPS}"
        );
    }
    if given.initialize && given.no_vacuum > 0 {
        steps.retain(|step| step != 'v');
    }
    if given.foreign_keys && !steps.contains('f') {
        steps.push('f');
    }
    Ok(Initialization {
        steps,
        fillfactor: given.fillfactor.unwrap_or(100),
        is_unlogged: given.unlogged_tables,
        ..Initialization::new(given.scale.unwrap_or(1))
    })
}
