//! `rqps sql capture`: statements of a running system as a folder.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use rqps_dbms::Dialect;
use rqps_plan::{Build, Contender};
use rqps_system::{Cancel, printable};
use rqps_workload::{CaptureError, CaptureOptions, capture_file, capture_server};

use super::exit::Exit;
use super::output;

#[derive(Args)]
pub(crate) struct Arguments {
    /// URL of a server, or a file: csvlog, slow log, general log, or statistics as CSV.
    #[arg(value_name = "URL|FILE")]
    source: String,
    /// Folder to write; it must not exist.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Keep the statements that make up this share of the captured time
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0)]
    share: f64,
    /// Database whose statements are wanted, where a file has several.
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Format of a file, if it is not recognised: csvlog, slow-log, general-log,
    /// pg_stat_statements or digests.
    #[arg(long, value_name = "FORMAT")]
    format: Option<String>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { source, out, share, database, format } = arguments;
    if !(*share > 0.0 && *share <= 100.0) {
        bail!("cannot keep {share} % of the time. Use a --share above 0 and up to 100");
    }
    if out.symlink_metadata().is_ok() {
        bail!("'{}' exists already. Name another --out", out.display());
    }
    let options = CaptureOptions {
        format: format.as_deref(),
        database: database.as_deref(),
        share: share / 100.0,
    };
    let (capture, from) = match source.contains("://") {
        true => {
            let contender: Contender = source.parse()?;
            let Build::Server { url } = &contender.build else {
                bail!(
                    "'{}' is no URL of a server. Write postgres://… or mysql://…",
                    contender.name()
                )
            };
            // Ctrl-C ends the process at once: nothing is made on the server.
            let Some(target) = rqps_dbms::target(contender.dbms, url, &Cancel::default())? else {
                bail!("'{}' has no servers. Name a server", contender.name())
            };
            let capture = capture_server(&target, Dialect::from(&contender), options)?;
            (capture, contender.name())
        }
        false => {
            let named = |error: CaptureError| {
                let text = format!("'{}': {error}", printable(source));
                anyhow::Error::from(error).context(text)
            };
            let capture = capture_file(Path::new(source), options).map_err(named)?;
            (capture, source.clone())
        }
    };
    let written = capture.write(out, &from)?;
    let of = if written.is_by_calls { "calls" } else { "time" };
    let shown = out.display();
    let left_out = match written.left_out {
        0 => String::new(),
        count => format!("; {count} left out"),
    };
    output::print(&format!(
        "{shown}: {} statements, {:.2} % of the captured {of}{left_out}. {shown}/capture.md lists all\n",
        written.statements, written.share
    ))?;
    for remark in &written.remarks {
        output::print(&format!("  {remark}\n"))?;
    }
    let next = format!(
        "Add {shown}/schema.sql and data in {shown}/load/, then: rqps sql check {shown} CONTENDER\n"
    );
    output::print(&next)?;
    Ok(if written.statements == 0 { Exit::Failed } else { Exit::Done })
}
