//! `rqps fleet submit`: cells that are neither done nor running are handed over. Everything is
//! shown before it is.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use clap::Args;
use rqps_fleet::slurm::{self, Slurm, SlurmJob};
use rqps_fleet::ssh::{Driven, OnHost, Patience, Ssh, drive};
use rqps_fleet::{
    Attempt, CellFolder, CellSpec, CellState, FleetFolder, KubernetesOptions, MachineEntry,
    Scheduler, SlurmOptions, SshOptions, Submission, kubernetes,
};
use rqps_store::write_whole;

use super::{cell, collect, open, readable};
use crate::cli::exit::Exit;
use crate::cli::output;
use crate::cli::session::Setup;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Show what would be handed over, and hand nothing over.
    #[arg(long)]
    dry_run: bool,
}

/// The cells of a machine entry that are to be handed over.
struct Handover<'a> {
    machine: &'a MachineEntry,
    cells: Vec<CellFolder>,
    submission: Submission,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    let queued = match &fleet.file.on {
        Scheduler::Slurm(_) if !arguments.dry_run => queued(&fleet)?,
        _ => BTreeSet::new(),
    };
    let parts = parts(&fleet, &queued);
    if parts.is_empty() {
        output::note("no cell is to be handed over: see rqps fleet status");
        return Ok(Exit::Done);
    }
    match &fleet.file.on {
        Scheduler::Local(_) => local(&fleet, &parts, arguments.dry_run),
        Scheduler::Slurm(options) => to_slurm(&fleet, options, parts, arguments.dry_run),
        Scheduler::Ssh(options) => by_ssh(&fleet, options, &parts, arguments.dry_run),
        Scheduler::Kubernetes(options) => manifests(&fleet, options, &parts, arguments.dry_run),
    }
}

/// Cells that Slurm has already, waiting or running.
fn queued(fleet: &FleetFolder) -> anyhow::Result<BTreeSet<String>> {
    let queue = Slurm::new().queue()?;
    let mut cells = BTreeSet::new();
    for submission in Submission::all(fleet.path()) {
        let Some(job) = &submission.job else { continue };
        for (index, cell) in submission.cells.iter().enumerate() {
            if queue.contains(&format!("{job}_{index}")) {
                cells.insert(cell.clone());
            }
        }
    }
    Ok(cells)
}

fn parts<'f>(fleet: &'f FleetFolder, queued: &BTreeSet<String>) -> Vec<Handover<'f>> {
    let left = |cell: &CellFolder| {
        matches!(cell.state(), CellState::Waiting { .. }) && !queued.contains(&cell.spec.id)
    };
    let cells: Vec<CellFolder> = readable(fleet).into_iter().filter(left).collect();
    let part = |(number, machine): (usize, &'f MachineEntry)| {
        let is_own = |cell: &&CellFolder| cell.spec.machine == machine.name;
        let cells: Vec<CellFolder> = cells.iter().filter(is_own).cloned().collect();
        let specs: Vec<&CellSpec> = cells.iter().map(|cell| &cell.spec).collect();
        let submission = Submission::new(&machine.name, number, &specs);
        (!cells.is_empty()).then_some(Handover { machine, cells, submission })
    };
    fleet.file.machines().enumerate().filter_map(part).collect()
}

fn show(text: &str) -> anyhow::Result<()> {
    output::print(&format!("{}\n", text.trim_end()))
}

/// One after another, by this process.
fn local(fleet: &FleetFolder, parts: &[Handover<'_>], dry_run: bool) -> anyhow::Result<Exit> {
    let cells = || parts.iter().flat_map(|part| &part.cells);
    for cell in cells() {
        let dir = fleet.path().to_string_lossy();
        let line = rqps_fleet::shell_line(["rqps", "fleet", "cell", &dir, &cell.spec.id])?;
        show(&format!("{line}   # {}", cell.spec.title()))?;
    }
    if dry_run {
        return Ok(Exit::Done);
    }
    let setup = Setup::new()?;
    let mut worst = Exit::Done;
    for cell in cells() {
        let exit = cell::measure(&setup, fleet, &cell.spec.id, false).unwrap_or_else(|error| {
            output::note(&format!("error: {}", output::told(&error)));
            crate::cli::exit::of(&error)
        });
        worst = worst.max(exit);
        if exit == Exit::Interrupted {
            break;
        }
    }
    tell_next(fleet);
    Ok(worst)
}

fn tell_next(fleet: &FleetFolder) {
    let dir = fleet.path().display();
    output::note(&format!("to see what is done: rqps fleet status {dir}"));
    output::note(&format!("to report it: rqps fleet report {dir}"));
}

/// All jobs are tested before the first is queued.
fn to_slurm(
    fleet: &FleetFolder,
    options: &SlurmOptions,
    parts: Vec<Handover<'_>>,
    dry_run: bool,
) -> anyhow::Result<Exit> {
    let folder = fleet.path().join("submissions");
    let slurm = Slurm::new();
    let mut jobs: Vec<(Handover<'_>, SlurmJob, PathBuf)> = Vec::new();
    for part in parts {
        let limits = part.cells.iter().map(|cell| cell.spec.limit);
        let limit = limits.max().unwrap_or(rqps_plan::Span(std::time::Duration::ZERO));
        let exclude = nodes_that_have_measured(fleet, part.machine);
        let of = (part.machine, &part.submission);
        let job = slurm::array((fleet.path(), fleet.hash()), options, of, limit, &exclude)?;
        let script = folder.join(format!("{}.sh", part.submission.id));
        show(&slurm::shown(&job, &script)?)?;
        jobs.push((part, job, script));
    }
    if dry_run {
        return Ok(Exit::Done);
    }
    std::fs::create_dir_all(&folder)?;
    for (part, job, script) in &jobs {
        write(script, &job.script)?;
        slurm.test(job, script)?;
        part.submission.write(fleet.path())?;
    }
    let mut numbers = Vec::new();
    for (part, job, script) in jobs {
        let command = slurm::shown(&job, &script)?;
        let number = slurm.submit(&job, &script)?;
        output::note(&format!("{}: job {number}", part.machine.name));
        let submission = Submission { command, job: Some(number.clone()), ..part.submission };
        submission.write(fleet.path())?;
        numbers.push(number);
    }
    let report = slurm::report(fleet.path(), options, &numbers)?;
    let script = folder.join("report.sh");
    show(&slurm::shown(&report, &script)?)?;
    write(&script, &report.script)?;
    let number = slurm.submit(&report, &script)?;
    output::note(&format!("report: job {number}, when all others have ended"));
    tell_next(fleet);
    Ok(Exit::Done)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    Ok(write_whole(path, |out| out.write_all(text.as_bytes()))?)
}

/// Where several nodes are wanted, those that have measured cells of this machine leave the rest to
/// others.
fn nodes_that_have_measured(fleet: &FleetFolder, machine: &MachineEntry) -> Vec<String> {
    if machine.count < 2 {
        return Vec::new();
    }
    let is_own = |cell: &CellFolder| cell.spec.machine == machine.name && cell.is_done();
    let done = readable(fleet).into_iter().filter(is_own);
    let nodes = done.filter_map(|cell| Attempt::all(&cell.path).0.pop()?.holder.node);
    let nodes: BTreeSet<String> = nodes.collect();
    // All of them would leave nobody.
    if nodes.len() < machine.count as usize { nodes.into_iter().collect() } else { Vec::new() }
}

/// Waits until all hosts are done. A person may end it, and submit again: cells go on.
fn by_ssh(
    fleet: &FleetFolder,
    options: &SshOptions,
    parts: &[Handover<'_>],
    dry_run: bool,
) -> anyhow::Result<Exit> {
    let ssh = Ssh::new(fleet.path(), fleet.hash(), options, fleet.path());
    for part in parts {
        for cell in &part.cells {
            let host = part.machine.hosts.join("|");
            let line = ssh.shown(&host, &cell.spec)?;
            show(&format!("{line}   # {}", cell.spec.title()))?;
        }
    }
    if dry_run {
        return Ok(Exit::Done);
    }
    let cancel = crate::cli::cancel::listen()?;
    let told = Mutex::new(());
    let tell = |one: &Driven| {
        let _one_line_at_a_time = told.lock();
        let outcome = match &one.outcome {
            OnHost::Measured => "measured".to_string(),
            OnHost::Later(why) => format!("later: {why}"),
            OnHost::Failed(why) => format!("failed: {why}"),
        };
        output::note(&format!("{}: cell {} {outcome}", one.host, one.cell));
    };
    let measure = |host: &str, cell: &CellSpec| ssh.measure(host, cell, &cancel);
    let driven: Vec<Driven> = std::thread::scope(|scope| {
        let workers: Vec<_> = parts
            .iter()
            .map(|part| {
                let specs: Vec<CellSpec> =
                    part.cells.iter().map(|cell| cell.spec.clone()).collect();
                let (hosts, cancel) = (&part.machine.hosts, &cancel);
                scope.spawn({
                    let (measure, tell) = (&measure, &tell);
                    move || drive(hosts, &specs, Patience::USUAL, cancel, measure, tell)
                })
            })
            .collect();
        let ended = workers.into_iter().map(|worker| worker.join());
        ended
            .flat_map(|driven| driven.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let collected = match options.folder {
        Some(_) => collect::all(fleet, &ssh)?,
        None => Exit::Done,
    };
    tell_next(fleet);
    let has = |is: fn(&OnHost) -> bool| driven.iter().any(|one| is(&one.outcome));
    let own = match cancel.is_requested() {
        true => Exit::Interrupted,
        false if has(|outcome| matches!(outcome, OnHost::Failed(_))) => Exit::Failed,
        false if has(|outcome| matches!(outcome, OnHost::Later(_))) => Exit::Busy,
        false => Exit::Done,
    };
    Ok(own.max(collected))
}

/// Writes them for kubectl, and applies none.
fn manifests(
    fleet: &FleetFolder,
    options: &KubernetesOptions,
    parts: &[Handover<'_>],
    dry_run: bool,
) -> anyhow::Result<Exit> {
    for part in parts {
        let limit = part.cells.iter().map(|cell| cell.spec.limit).max();
        let limit = limit.unwrap_or(rqps_plan::Span(std::time::Duration::ZERO));
        let of = (part.machine, &part.submission);
        let text =
            kubernetes::manifest(fleet.hash(), options, of, (limit, fleet.file.max_attempts));
        show(&format!("---\n{text}"))?;
        if !dry_run {
            part.submission.write(fleet.path())?;
            let path = fleet.path().join(format!("submissions/{}.yaml", part.submission.id));
            write(&path, &text)?;
            output::note(&format!("to apply it: kubectl apply -f {}", path.display()));
        }
    }
    Ok(Exit::Done)
}
