//! `rqps fleet cancel`: the jobs of a fleet are asked to end.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use rqps_fleet::slurm::Slurm;
use rqps_fleet::ssh::Ssh;
use rqps_fleet::{CellLease, FleetFolder, Scheduler, Submission};

use super::{open, readable};
use crate::cli::exit::Exit;
use crate::cli::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Only end the cells that are measured on this machine.
    #[arg(long)]
    here: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    let mut count = here(&fleet);
    let mut unreached = Vec::new();
    if !arguments.here {
        match &fleet.file.on {
            Scheduler::Local(_) => {}
            Scheduler::Slurm(_) => {
                let submissions = Submission::all(fleet.path()).into_iter();
                let jobs: Vec<String> = submissions.filter_map(|one| one.job).collect();
                if !jobs.is_empty() {
                    Slurm::new().cancel(&jobs)?;
                    output::note(&format!("ended job {}", jobs.join(", ")));
                }
                count += jobs.len();
            }
            Scheduler::Ssh(options) => {
                let ssh = Ssh::new(fleet.path(), fleet.hash(), options, fleet.path());
                for host in fleet.file.machines().flat_map(|machine| &machine.hosts) {
                    match ssh.cancel(host) {
                        Ok(said) => output::note(&format!("{host}: {}", said.trim())),
                        Err(error) => unreached.push(format!("{host}: {error}")),
                    }
                }
            }
            Scheduler::Kubernetes(_) => {
                bail!("rqps has applied no manifest. End the jobs with kubectl delete job")
            }
        }
    }
    unreached.iter().for_each(|one| output::note(&format!("error: {one}")));
    output::print(&format!("{count} asked to end\n"))?;
    Ok(if unreached.is_empty() { Exit::Done } else { Exit::Failed })
}

/// Asks the processes on this machine that hold cells.
fn here(fleet: &FleetFolder) -> usize {
    let holders = readable(fleet).into_iter().filter_map(|cell| CellLease::holder(&cell.path));
    holders.filter(|holder| holder.end()).count()
}
