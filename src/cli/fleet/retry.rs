//! `rqps fleet retry`: cells that have failed may be tried again.

use std::path::PathBuf;

use clap::Args;
use rqps_fleet::{Attempt, CellFolder, CellLease, CellState, FleetError};

use super::{open, readable};
use crate::cli::exit::Exit;
use crate::cli::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder of the fleet.
    #[arg(value_name = "DIR")]
    fleet: PathBuf,
    /// Cells by their ids [default: all that have failed].
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// Also take cells from hosts that no longer answer
    ///
    /// Say so only of hosts that are known to be gone: a cell must not be measured twice.
    #[arg(long, requires = "ids")]
    abandoned: bool,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let fleet = open(&arguments.fleet)?;
    let named = arguments.ids.iter().map(|id| fleet.cell(id));
    let named: Vec<CellFolder> = named.collect::<Result<_, _>>()?;
    let chosen = match named.is_empty() {
        false => named,
        true => {
            let has_failed = |cell: &CellFolder| matches!(cell.state(), CellState::Failed { .. });
            readable(&fleet).into_iter().filter(has_failed).collect()
        }
    };
    for cell in &chosen {
        if let CellState::Running { holder } = cell.state() {
            let is_here = holder.life() == rqps_fleet::CellLife::Alive;
            if is_here || !arguments.abandoned {
                let (id, holder) = (cell.spec.id.clone(), holder.told());
                return Err(FleetError::Held { id, holder }.into());
            }
            CellLease::release(&cell.path)?;
        }
        Attempt::forgive(&cell.path)?;
        output::note(&format!("cell {} may be tried again: {}", cell.spec.id, cell.spec.title()));
    }
    let dir = fleet.path().display();
    output::note(&match chosen.is_empty() {
        true => "no cell has failed".to_string(),
        false => format!("to begin: rqps fleet submit {dir}"),
    });
    Ok(Exit::Done)
}
