//! `rqps man`: the manual pages, one for each verb.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man;

use super::exit::Exit;
use super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Write all pages into this directory, as rqps.1, rqps-compare.1 and so on.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments, rqps: Command) -> anyhow::Result<Exit> {
    match &arguments.out {
        Some(folder) => {
            let written =
                fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(rqps, folder));
            written.with_context(|| format!("cannot write pages to '{}'", folder.display()))?;
        }
        None => {
            let mut page = Vec::new();
            // Each verb has a page, but none is called rqps-help.
            Man::new(rqps.disable_help_subcommand(true)).render(&mut page)?;
            output::print(&String::from_utf8_lossy(&page))?;
        }
    }
    Ok(Exit::Done)
}
