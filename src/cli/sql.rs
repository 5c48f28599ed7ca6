//! `rqps sql`: folders of a user's own SQL.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, Subcommand};
use rqps_dbms::{Dialect, Home};
use rqps_plan::{Build, Contender, Dbms, Interface, Method, Sweep};
use rqps_system::Cancel;
use rqps_workload::{CheckedFolder, FolderFaults, Site, check_files, check_folder};

use super::capture;
use super::dbms::temporary;
use super::exit::Exit;
use super::load_errors::OnLoadError;
use super::output;
use super::progress::Fetching;
use super::session::Setup;

#[derive(Subcommand)]
pub(crate) enum Verb {
    /// Check a folder: load it and execute each query once, without measuring
    ///
    /// Prints everything that is wrong with its file and line, and exits with 2 then.
    Check(Arguments),
    /// Write a folder of the statements that a server executes, from its statistics or its log
    ///
    /// Executes none of them. DIR/capture.md tells their shares, what is left out, and where values
    /// come from; then the folder needs a schema and data.
    Capture(capture::Arguments),
}

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder with schema, data and queries: see docs/own-sql.md.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Contenders to load it into; without any, only its files are read.
    #[arg(value_name = "CONTENDER")]
    contenders: Vec<Sweep>,
    /// Seed of the random draws of parameters.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Fail because of a statement that cannot be loaded, or only list it
    #[arg(long, value_name = "stop|skip", default_value = "stop")]
    load_errors: OnLoadError,
}

pub(crate) fn run(verb: &Verb) -> anyhow::Result<Exit> {
    match verb {
        Verb::Check(arguments) => check(arguments),
        Verb::Capture(arguments) => capture::run(arguments),
    }
}

fn check(Arguments { folder, contenders, seed, load_errors }: &Arguments) -> anyhow::Result<Exit> {
    let contenders: Vec<Contender> = contenders.iter().flat_map(|sweep| sweep.0.clone()).collect();
    match contenders.is_empty() {
        true => files(folder),
        false => servers(folder, &contenders, *seed, *load_errors),
    }
}

/// Reads the files for each DBMS. A folder is usually for some of them.
fn files(folder: &Path) -> anyhow::Result<Exit> {
    let of_sql = Dbms::ALL.into_iter().filter(|dbms| dbms.interface() == Interface::Sql);
    let checked = of_sql.map(|dbms| {
        let dialect = Dialect::from(&dbms.name().parse::<Contender>()?);
        anyhow::Ok((dbms, check_files(folder, dbms, dialect)))
    });
    let checked = checked.collect::<anyhow::Result<Vec<_>>>()?;
    for (dbms, result) in &checked {
        match result {
            Ok(()) => output::print(&format!("{dbms}: the files have no faults\n"))?,
            Err(faults) => print_faults(dbms.name(), faults)?,
        }
    }
    Ok(match checked.iter().any(|(_, result)| result.is_ok()) {
        true => Exit::Done,
        false => Exit::Usage,
    })
}

fn print_faults(whose: &str, faults: &FolderFaults) -> anyhow::Result<()> {
    output::print(&format!("{whose}: {faults}\n"))
}

/// Loads the folder into each contender, and compares what they have then.
fn servers(
    folder: &Path,
    contenders: &[Contender],
    seed: u64,
    load_errors: OnLoadError,
) -> anyhow::Result<Exit> {
    if let Some(one) = contenders.iter().find(|one| matches!(one.build, Build::Server { .. })) {
        bail!(
            "cannot check a folder on '{}': its schema could replace tables there. Name builds",
            one.name()
        );
    }
    let Setup { home, cancel, .. } = Setup::new()?;
    let mut exit = Exit::Done;
    let mut first: Option<(String, CheckedFolder)> = None;
    for contender in contenders {
        let name = contender.name();
        if let Err(faults) = check_files(folder, contender.dbms, Dialect::from(contender)) {
            print_faults(&name, &faults)?;
            exit = Exit::Usage;
            continue;
        }
        let checked = on_server(folder, contender, seed, (&home, &cancel))?;
        let rows: u64 = checked.rows.values().sum();
        output::print(&format!(
            "{name}: tables: {}, rows: {rows}, queries executed: {}\n",
            checked.rows.len(),
            checked.queries
        ))?;
        for error in &checked.load_errors {
            output::print(&format!("  load error: {error}\n"))?;
            exit = if load_errors.skips { exit } else { Exit::Usage };
        }
        for fault in &checked.faults {
            output::print(&format!("  {fault}\n"))?;
            exit = Exit::Usage;
        }
        let Some((baseline, of_baseline)) = &first else {
            first = Some((name, checked));
            continue;
        };
        for (table, rows) in &checked.rows {
            if let Some(others) = of_baseline.rows.get(table).filter(|others| *others != rows) {
                output::print(&format!(
                    "  table '{table}' has {rows} rows, but {others} in {baseline}\n"
                ))?;
                exit = exit.max(Exit::Failed);
            }
        }
    }
    Ok(exit)
}

fn on_server(
    folder: &Path,
    contender: &Contender,
    seed: u64,
    (home, cancel): (&Home, &Cancel),
) -> anyhow::Result<CheckedFolder> {
    let mut fetching = Fetching::new();
    let mut tell = |event| fetching.tell(event, cancel);
    let ready = rqps_dbms::prepare(home, contender, &mut tell, cancel)?;
    let place = temporary(home)?;
    let mut server = ready.start(home, &place, cancel)?;
    fetching.finish();
    let (target, dialect) = (server.target().clone(), Dialect::from(contender));
    let (dbms, method) = (contender.dbms, Method::Slices);
    let site = Site { target: &target, dbms, dialect, seed, is_own: true, method };
    let checked = check_folder(folder, site);
    server.discard()?;
    // SQLite writes no log.
    let _ = fs::remove_file(&place.log);
    Ok(checked?)
}
