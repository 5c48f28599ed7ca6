//! `rqps pgbench`: pgbench's letters. One contender gets a report in pgbench's form; several are
//! compared.

mod arguments;
mod clients;
mod compared;
mod contender;
mod report;
mod tally;

use std::time::Instant;

use anyhow::{Context, bail};
use rqps_plan::{Contender, Pgbench, PgbenchScript, QueryMode, Span};
use rqps_workload::Dialect;
use rqps_workload::pgbench::{
    ALL_STEPS, BEFORE_RUN, BUILTINS, BuiltinScript, Defines, Initialization, STEPS, check, define,
    named, scale, settings, table_of_others,
};

use super::exit::Exit;
use super::output;
use super::session::Setup;
use contender::Reached;

pub(crate) use arguments::Arguments;

pub(crate) const VERB: &str = "pgbench";

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    if let several @ [_, _, ..] = &arguments.contenders()[..] {
        return compared::run(arguments, several);
    }
    Ok(alone(arguments).unwrap_or_else(|error| {
        super::tell(&error);
        match error.downcast_ref() {
            Some(rqps_wire::Error::Interrupted(_)) => Exit::Interrupted,
            _ => Exit::PgbenchRefused,
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
    let scripts: Vec<&PgbenchScript> = plan.scripts.iter().collect();
    let seed = arguments.seed()?;
    let setup = Setup::new()?;
    let reached = Reached::new(&setup, contender)?;
    let ended = (|| {
        let dialect = Dialect::from(contender);
        let mut connection = reached.target().connect()?;
        if arguments.given.initialize || reached.is_fresh() {
            if !reached.is_fresh()
                && let Some(table) = table_of_others(&mut *connection)?
            {
                bail!(
                    "'{table}' exists, and rqps did not make it. Drop it, or name another database"
                );
            }
            let begun = Instant::now();
            initialization
                .fill(&mut *connection, &mut |what| output::note(&format!("{what}...")))?;
            output::note(&format!("done in {:.2} s", begun.elapsed().as_secs_f64()));
            if arguments.given.initialize {
                return Ok(Exit::Done);
            }
        }
        let uses_tables = plan.scripts.iter().any(|script| script.is_builtin);
        let found = match uses_tables && !reached.is_fresh() {
            true => scale(&mut *connection)
                .context("cannot find the scale: make the tables with rqps pgbench -i")?,
            false => None,
        };
        if let (Some(found), Some(asked)) = (found, arguments.given.scale)
            && found != asked
        {
            output::note(&format!("-s {asked} has no effect: the tables have scale {found}"));
        }
        let plan = Pgbench { scale: found.unwrap_or(plan.scale), ..plan.clone() };
        if arguments.given.no_vacuum == 0 && connection.scripted().is_some() {
            // As in pgbench, tables that are not there are no error.
            for sql in BEFORE_RUN {
                let _ = connection.run(sql);
            }
        }
        drop(connection);
        if let Some(seed) = arguments.given.random_seed.as_ref().map(|_| seed) {
            output::note(&format!("setting random seed to {seed}"));
        }
        let settings = settings(&plan, &scripts, seed)?;
        let version = reached.version()?;
        let run = clients::Run {
            settings,
            target: reached.target(),
            dialect,
            limits: arguments.limits(),
            cancel: &setup.cancel,
        };
        let result = clients::run(run, &plan)?;
        output::print(&report::text(&version, &plan, &arguments.limits(), &result))?;
        Ok(match &result.aborted {
            None => Exit::Done,
            Some(what) => {
                output::note(&format!("error: {what}"));
                output::note("the run was aborted; the results above are incomplete");
                Exit::PgbenchAborted
            }
        })
    })();
    // What failed first says more.
    let discarded = reached.discard();
    let ended = ended?;
    discarded?;
    Ok(ended)
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
        time: Span(given.time.map_or(std::time::Duration::ZERO, std::time::Duration::from_secs)),
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
    if given.no_vacuum > 0 {
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
