//! `rqps fleet cell`: what a job of a scheduler runs. It says by its exit code what the scheduler
//! is to do, and not what was found.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use rqps_analysis::comparison::FailOn;
use rqps_fleet::slurm::Slurm;
use rqps_fleet::{
    Attempt, CellExit, CellFolder, CellHolder, CellLease, FleetError, FleetFolder, Scheduler,
    Submission,
};
use rqps_lab::LabError;
use rqps_observe::{LockError, MachineIdentity, network_filesystem};
use rqps_plan::Plan;
use rqps_store::{RunDirectory, StoreError};

use super::open;
use crate::cli::exit::{self, Exit};
use crate::cli::output;
use crate::cli::progress::Progress;
use crate::cli::session::{SessionOptions, Setup};

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Cell to measure, by its id.
    #[arg(value_name = "ID", required_unless_present = "of")]
    id: Option<String>,
    /// Measure the cell of this submission that the scheduler's index means.
    #[arg(long, value_name = "SUBMISSION", conflicts_with = "id")]
    of: Option<String>,
    /// Refuse a folder of another fleet than this (SHA-256).
    #[arg(long = "fleet", value_name = "HASH")]
    hash: Option<String>,
    /// Measure although RQPS_HOME is on a filesystem of the network.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    if arguments.hash.as_deref().is_some_and(|hash| hash != fleet.hash()) {
        return Err(FleetError::OtherFleet(fleet.path().to_path_buf()).into());
    }
    let submission = arguments.of.as_deref().map(|of| Submission::read(fleet.path(), of));
    let submission = submission.transpose()?;
    let id = match (&arguments.id, &submission) {
        (_, Some(submission)) => submission.cell_of_environment()?,
        (Some(id), _) => id,
        (None, None) => bail!("no cell is named. Name one by its id"),
    };
    measure(&Setup::new()?, &fleet, id, arguments.force)
}

/// Measures what is left of a cell.
pub(super) fn measure(
    setup: &Setup,
    fleet: &FleetFolder,
    id: &str,
    force: bool,
) -> anyhow::Result<Exit> {
    let cell = fleet.cell(id)?;
    if cell.is_done() {
        output::note(&format!("cell {id} is done: {}", cell.spec.title()));
        return Ok(Exit::Done);
    }
    refuse_unfit(setup, &cell, force)?;
    let is_gone = |holder: &CellHolder| match &fleet.file.on {
        Scheduler::Slurm(_) => Slurm::new().is_gone(holder),
        _ => false,
    };
    let _lease = CellLease::take(&cell.path, id, &is_gone)?;
    // Another process may have finished it since.
    if cell.is_done() {
        return Ok(Exit::Done);
    }
    let (attempts, _) = Attempt::all(&cell.path);
    Attempt::refuse_hopeless(&attempts, id, cell.spec.max_attempts)?;
    let (attempt, file) = Attempt::begin(&cell.path)?;
    output::note(&format!("cell {id}, attempt {}: {}", attempt.number, cell.spec.title()));
    let outcome = measured(setup, &cell);
    let (exit, why) = ended(&outcome);
    attempt.end(&file, exit, why)?;
    let code = match exit {
        CellExit::Measured => Exit::Done,
        CellExit::Busy => Exit::Busy,
        CellExit::Refused => Exit::Usage,
        CellExit::Failed => Exit::Failed,
        CellExit::Interrupted => Exit::Interrupted,
    };
    if let Err(error) = outcome {
        output::note(&format!("error: {}", output::told(&error)));
    }
    Ok(code)
}

fn refuse_unfit(setup: &Setup, cell: &CellFolder, force: bool) -> anyhow::Result<()> {
    let found = rqps_fleet::hash_file(Path::new("/proc/self/exe"))?;
    if found != cell.spec.binary {
        let digits = |hash: &str| hash.chars().take(12).collect();
        return Err(FleetError::OtherBinary {
            id: cell.spec.id.clone(),
            planned: digits(&cell.spec.binary),
            found: digits(&found),
        }
        .into());
    }
    let root = setup.home.root();
    match network_filesystem(root) {
        Some(kind) if !force => bail!(
            "the RQPS_HOME '{}' is on {kind}, a filesystem of the network, where data, sockets and locks \
             do not belong. Set it to a local disk, or add --force",
            root.display()
        ),
        _ => Ok(()),
    }
}

fn measured(setup: &Setup, cell: &CellFolder) -> anyhow::Result<Exit> {
    let plan = Plan::from_toml(&cell.spec.plan)?;
    let ready = setup.prepare(&plan)?;
    setup.arrive(&plan, &ready)?;
    let partial = cell.partial();
    let begun = partial.join("results.sqlite").exists().then(|| RunDirectory::resume(&partial));
    let here = MachineIdentity::current();
    let is_here = |run: &RunDirectory| {
        run.manifest.identity.as_ref().is_some_and(|identity| identity.is_same(&here))
    };
    let mut directory = match begun.transpose()? {
        Some(run) if is_here(&run) => run,
        Some(run) => {
            drop(run);
            let aside = cell.set_aside()?;
            output::note(&format!(
                "another machine has begun this cell: its rounds are kept in '{}', and it begins anew",
                aside.display()
            ));
            setup.create(&partial, plan)?
        }
        None => setup.create(&partial, plan)?,
    };
    let mut progress = Progress::new([(cell.spec.title(), &directory.plan)])?;
    let session = SessionOptions::default();
    let exit = setup.measure(
        &mut directory,
        &ready,
        (&session, FailOn::Regression),
        (&mut progress, 0),
        |_, _| Ok(()),
    )?;
    drop(directory);
    if !matches!(exit, Exit::Failed | Exit::Interrupted) {
        cell.finish()?;
    }
    Ok(exit)
}

/// How an attempt ended, and why if it did not end well.
fn ended(outcome: &anyhow::Result<Exit>) -> (CellExit, Option<String>) {
    match outcome {
        Ok(Exit::Failed) => {
            let why = "a server, a load or a check failed: see run.partial/report.html";
            (CellExit::Failed, Some(why.to_string()))
        }
        Ok(Exit::Interrupted) => (CellExit::Interrupted, None),
        Ok(_) => (CellExit::Measured, None),
        Err(error) => {
            let exit = match exit::of(error) {
                _ if is_busy(error) => CellExit::Busy,
                Exit::Interrupted => CellExit::Interrupted,
                Exit::Usage => CellExit::Refused,
                _ => CellExit::Failed,
            };
            (exit, Some(output::told(error)))
        }
    }
}

/// Whether another process measures on this machine, or works on this run.
fn is_busy(error: &anyhow::Error) -> bool {
    let is_held = |error: &LabError| matches!(error, LabError::Lock(LockError::Held { .. }));
    error.downcast_ref::<LabError>().is_some_and(is_held)
        || matches!(error.downcast_ref(), Some(StoreError::Busy(_)))
}

#[cfg(test)]
mod tests {
    use anyhow::{Context, anyhow};

    use super::*;

    #[test]
    fn an_attempt_ends_as_a_scheduler_must_know_it() {
        let held = || LabError::Lock(LockError::Held { holder: "process 7".to_string() });
        let interrupted = Err::<Exit, _>(LabError::Interrupted);
        for (outcome, exit) in [
            (Ok(Exit::Done), CellExit::Measured),
            (Ok(Exit::Regression), CellExit::Measured),
            (Ok(Exit::Failed), CellExit::Failed),
            (Ok(Exit::Interrupted), CellExit::Interrupted),
            (Err(held().into()), CellExit::Busy),
            (Err::<Exit, _>(held()).context("the run in 'x'"), CellExit::Busy),
            (interrupted.map_err(Into::into), CellExit::Interrupted),
            (Err(anyhow!("no such build")), CellExit::Refused),
            (Err(std::io::Error::other("no disk").into()), CellExit::Failed),
        ] {
            let (found, why) = ended(&outcome);
            assert_eq!(found, exit, "{outcome:?}");
            let is_told = why.is_some();
            assert_eq!(is_told, outcome.is_err() || exit == CellExit::Failed, "{outcome:?}");
        }
    }
}
