//! `rqps dbms clean`: shows and removes what rqps left in a remote server.

use std::path::{Path, PathBuf};

use anyhow::bail;
use rqps_dbms::{Guesthouse, Left, Needs};
use rqps_plan::Contender;
use rqps_system::Cancel;
use rqps_workload::is_table;

use super::exit::Exit;
use super::output;
use super::table::table;

pub(super) fn run(contender: &Contender, cancel: &Cancel) -> anyhow::Result<Exit> {
    let Some(server) = Guesthouse::at(contender, cancel)? else {
        bail!(
            "'{contender}' is not the URL of a server. To remove the data of servers that rqps \
             started, use rqps dbms prune"
        );
    };
    let needs = Needs { is_table, ..Needs::default() };
    let all = server.leftovers(needs)?;
    if all.is_empty() {
        output::note(&format!("rqps has left nothing in {contender}"));
    }
    for left in all {
        if !left.tables.is_empty() {
            let mut tables = table(&["TABLE", "KB"]);
            for (name, bytes) in &left.tables {
                tables.add_row([name.clone(), bytes.div_ceil(1024).to_string()]);
            }
            output::print(&format!("{}\n", tables.trim_fmt()))?;
        }
        server.clean(&left)?;
        let since = if left.since.is_empty() { "an unknown time" } else { &left.since };
        output::note(&format!("removed {}, created at {since}", left.place));
    }
    Ok(Exit::Done)
}

/// What a folder of data directories, or one of them, refers to in remote servers.
pub(super) fn left_by(folder: &Path) -> Vec<Left> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let below = entries.map(|entry| entry.path());
    let folders: Vec<PathBuf> = below.chain([folder.to_path_buf()]).collect();
    folders.iter().filter_map(|folder| Left::read(folder)).collect()
}
