//! The hidden verb of the process that loads RocksDB: rqps starts itself with it.

use std::path::PathBuf;

use clap::Args;
use rqps_worker::{Service, describe, serve};

use super::exit::Exit;
use super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Library to load
    library: PathBuf,
    /// Set an option of RocksDB
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Print version and options, and end
    #[arg(long, conflicts_with_all = ["data", "socket"])]
    describe: bool,
    /// Directory of the database
    #[arg(long, value_name = "DIR", required_unless_present = "describe")]
    data: Option<PathBuf>,
    /// Socket to answer on
    #[arg(long, value_name = "PATH", required_unless_present = "describe")]
    socket: Option<PathBuf>,
}

fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_string(), value.to_string()))
}

pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Exit> {
    let Arguments { library, set: settings, data, socket, .. } = arguments;
    match (data, socket) {
        (Some(data), Some(socket)) => serve(Service { library, settings, data, socket })?,
        _ => output::print(&(describe(&library, settings)?.join("\n") + "\n"))?,
    }
    Ok(Exit::Done)
}
