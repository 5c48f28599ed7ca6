//! `rqps doctor`: checks whether this machine is fit to measure on, and has what rqps needs.

use std::time::Duration;

use clap::Args;
use comfy_table::presets::NOTHING;
use comfy_table::{ContentArrangement, Table};
use rqps_dbms::Home;
use rqps_observe::Finding;

use super::exit::Exit;
use super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// Exit with 5 if there is a warning.
    #[arg(long)]
    strict: bool,
}

/// How long the CPU of other processes is observed.
const WATCH: Duration = Duration::from_secs(1);

/// Programs that fetch builds, with their purposes.
const CLIENTS: [(&str, &str); 2] =
    [("npm", "Postgres builds"), ("mvn", "MySQL, MariaDB and older Postgres builds")];

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let home = Home::from_env().map_err(rqps_dbms::DbmsError::from)?;
    let data = home.data().map_err(rqps_dbms::DbmsError::from)?;
    let mut findings = rqps_observe::examine(&data, WATCH);
    findings.extend(CLIENTS.map(|(program, purpose)| client(program, purpose)));
    let subject = "rqps's files".to_string();
    let value = home.root().display().to_string();
    let network = rqps_observe::network_filesystem(home.root());
    let warning = network.map(|kind| {
        format!("they are on {kind}, a filesystem of the network. Set RQPS_HOME to a local disk")
    });
    findings.push(Finding { subject, value, warning });

    let mut table = Table::new();
    // Long cells are wrapped within their columns, by the width of the terminal.
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
    for finding in &findings {
        let mark = if finding.warning.is_some() { "!" } else { "ok" };
        let warning = finding.warning.clone().unwrap_or_default();
        table.add_row([mark, &finding.subject, &finding.value, &warning]);
    }
    let warnings = findings.iter().filter(|finding| finding.warning.is_some()).count();
    let verdict = match warnings {
        0 => "this machine is fit to measure on".to_string(),
        1 => "1 warning: results may be noisier or less complete".to_string(),
        n => format!("{n} warnings: results may be noisier or less complete"),
    };
    output::print(&format!("{}\n\n{verdict}\n", table.trim_fmt()))?;
    Ok(if arguments.strict && warnings > 0 { Exit::Unfit } else { Exit::Done })
}

fn client(program: &str, purpose: &str) -> Finding {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|p| p.is_file());
    Finding {
        subject: program.to_string(),
        value: found.as_ref().map_or("not found".to_string(), |path| path.display().to_string()),
        warning: found.is_none().then(|| format!("{purpose} cannot be fetched without it")),
    }
}
