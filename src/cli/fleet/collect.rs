//! `rqps fleet collect`: results of hosts that do not share the fleet's folder.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use rqps_fleet::ssh::Ssh;
use rqps_fleet::{CellFolder, FleetFolder, Scheduler};

use super::{open, readable};
use crate::cli::exit::Exit;
use crate::cli::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    let Scheduler::Ssh(options) = &fleet.file.on else {
        bail!(
            "the machines of [on.{}] share the fleet's folder. There is nothing to collect",
            fleet.file.on.name()
        );
    };
    let ssh = Ssh::new(fleet.path(), fleet.hash(), options, fleet.path());
    all(&fleet, &ssh)
}

/// Fetches what is done; what could not be fetched is named.
pub(super) fn all(fleet: &FleetFolder, ssh: &Ssh) -> anyhow::Result<Exit> {
    let (mut count, mut failed) = (0, 0);
    for cell in readable(fleet).iter().filter(|cell| !cell.is_done()) {
        let entry = fleet.file.machines().find(|machine| machine.name == cell.spec.machine);
        for host in entry.iter().flat_map(|machine| &machine.hosts) {
            match of_host(ssh, host, cell) {
                Ok(true) => {
                    count += 1;
                    output::note(&format!("{host}: {}", cell.spec.title()));
                    break;
                }
                Ok(false) => {}
                Err(error) => {
                    failed += 1;
                    output::note(&format!("error: {host}: {}", output::told(&error)));
                }
            }
        }
    }
    output::note(&format!("collected {count} cells"));
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// Whether a host had the results of a cell.
fn of_host(ssh: &Ssh, host: &str, cell: &CellFolder) -> anyhow::Result<bool> {
    // Attempts tell why there are no results.
    if let Some(archive) = ssh.fetch(host, &cell.spec, "attempts")? {
        rqps_fleet::unpack(archive, host, (&cell.path, "attempts"))?;
    }
    let Some(archive) = ssh.fetch(host, &cell.spec, "run")? else { return Ok(false) };
    Ok(rqps_fleet::unpack(archive, host, (&cell.path, "run"))?)
}
