//! `rqps sql capture`: statements of a running system as a folder.

use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use rqps_dbms::Dialect;
use rqps_plan::{Build, Contender};
use rqps_system::{Cancel, printable};
use rqps_wire::Target;
use rqps_workload::{
    Capture, CaptureError, CaptureOptions, DataOptions, SourceData, TableSample, WrittenData,
    capture_file, capture_server,
};

use super::exit::Exit;
use super::output;
use super::units::Bytes;

/// More than any disk has: the number of bytes must fit into 64 bits.
const MOST_GIGABYTES: f64 = 1e9;

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
    /// Also read the rows of all tables of this server's database, into DIR/load
    #[arg(long, value_name = "URL")]
    with_data: Option<String>,
    /// With --with-data: read this part of a table, chosen by a hash of its key; repeatable
    #[arg(long, value_name = "TABLE=PERCENT", requires = "with_data")]
    sample: Vec<TableSample>,
    /// With --with-data: read no more than so many gigabytes
    #[arg(long, value_name = "GB", requires = "with_data", default_value_t = 1.0)]
    data_limit: f64,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { source, out, share, database, format, .. } = arguments;
    if !(*share > 0.0 && *share <= 100.0) {
        bail!("cannot keep {share} % of the time. Use a --share above 0 and up to 100");
    }
    if out.symlink_metadata().is_ok() {
        bail!("'{}' exists already. Name another --out", out.display());
    }
    if !(arguments.data_limit > 0.0 && arguments.data_limit <= MOST_GIGABYTES) {
        bail!("cannot read {} GB. Use a --data-limit above 0", arguments.data_limit);
    }
    let options = CaptureOptions {
        format: format.as_deref(),
        database: database.as_deref(),
        share: share / 100.0,
    };
    let (capture, from) = match source.contains("://") {
        true => {
            let (contender, target) = server(source)?;
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
    let data = match &arguments.with_data {
        Some(url) => Some(tables(url, arguments, &capture)?),
        None => None,
    };
    let written = capture.write(out, &from, data)?;
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
    let missing = match &written.data {
        Some(data) => {
            output::print(&told(data))?;
            format!("{shown}/schema.sql")
        }
        None => format!("{shown}/schema.sql and data in {shown}/load/"),
    };
    output::print(&format!("Add {missing}, then: rqps sql check {shown} CONTENDER\n"))?;
    Ok(if written.statements == 0 { Exit::Failed } else { Exit::Done })
}

/// A server by its URL.
fn server(url: &str) -> anyhow::Result<(Contender, Target)> {
    let contender: Contender = url.parse()?;
    let Build::Server { url } = &contender.build else {
        bail!("'{}' is no URL of a server. Write postgres://… or mysql://…", contender.name())
    };
    // Ctrl-C ends the process at once: nothing is made on the server.
    match rqps_dbms::target(contender.dbms, url, &Cancel::default())? {
        Some(target) => Ok((contender, target)),
        None => bail!("'{}' has no servers. Name a server", contender.name()),
    }
}

/// The tables of a server, of which rows are wanted.
fn tables(url: &str, arguments: &Arguments, capture: &Capture) -> anyhow::Result<SourceData> {
    let (contender, target) = server(url)?;
    let dialect = Dialect::from(&contender);
    if dialect != capture.dialect() {
        bail!(
            "'{}' has not the SQL of the captured statements, which is that of {}",
            contender.name(),
            capture.dialect().name
        );
    }
    let most = (arguments.data_limit * 1e9) as u64;
    let options = DataOptions { samples: &arguments.sample, most };
    let data = SourceData::begin(&target, dialect, options)?;
    output::note(&format!(
        "reading {} tables of {}, {} on disk, in one snapshot",
        data.tables(),
        contender.name(),
        Bytes(data.bytes())
    ));
    Ok(data)
}

fn told(data: &WrittenData) -> String {
    let rows: u64 = data.tables.iter().map(|table| table.rows).sum();
    let mut told = format!("data: {} tables, {rows} rows\n", data.tables.len());
    for remark in &data.remarks {
        told += &format!("  {remark}\n");
    }
    told
}
