//! `rqps track export` and `import`.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, bail};
use clap::Args;
use jiff::Timestamp;
use rqps_analysis::track::TrackHistory;
use rqps_report::{ExportFormat, TrackExport};
use rqps_store::track::{ImportFormat, ImportedValues, TRACK_SCHEMA, Track, track_import};

use super::super::exit::Exit;
use super::super::files::write_file;
use super::super::headings::OUTPUT;
use super::super::output;

/// The most that is read of a file from elsewhere.
const LONGEST: u64 = 64 << 20;

#[derive(Args)]
pub(crate) struct Export {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Format: github-action-benchmark, bencher, otava, conbench, csv or parquet.
    #[arg(long, value_name = "FORMAT", help_heading = OUTPUT, default_value = "csv")]
    format: Exported,
    /// Output file [default: stdout].
    #[arg(long, value_name = "FILE", help_heading = OUTPUT)]
    out: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Import {
    /// Folder of nights.
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Another folder of nights, or a file.
    #[arg(value_name = "FROM")]
    from: PathBuf,
    /// Format of a file: github-action-benchmark (its data.js), bencher or csv
    ///
    /// [default: that of a folder of nights]
    #[arg(long, value_name = "FORMAT")]
    format: Option<Taken>,
    /// Time of values that have none [default: now].
    #[arg(long, value_name = "TIME")]
    time: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug)]
struct Exported(ExportFormat);

#[derive(Clone, Copy, Debug)]
struct Taken(ImportFormat);

/// The format of a name.
fn named<F: Copy>(all: &[(&str, F)], text: &str) -> Result<F, String> {
    let found = all.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
    found.ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        format!("unknown format '{text}': there are: {}", names.join(", "))
    })
}

impl FromStr for Exported {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&ExportFormat::ALL, text).map(Exported)
    }
}

impl FromStr for Taken {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&ImportFormat::ALL, text).map(Taken)
    }
}

pub(super) fn export(arguments: &Export) -> anyhow::Result<Exit> {
    let all = Track::open(&arguments.folder)?.contents()?;
    let made = rqps_report::track_export(&TrackHistory::new(&all), arguments.format.0);
    match (&arguments.out, made) {
        (Some(path), TrackExport::Text(text)) => write_file(path, text.as_bytes())?,
        (Some(path), TrackExport::Bytes(bytes)) => write_file(path, &bytes)?,
        (None, TrackExport::Text(text)) => output::print(&text)?,
        (None, TrackExport::Bytes(_)) => {
            bail!("this format is no text. Name a file with --out FILE")
        }
    }
    Ok(Exit::Done)
}

pub(super) fn import(arguments: &Import) -> anyhow::Result<Exit> {
    let track = Track::open(&arguments.folder)?;
    let _alone = track.lock()?;
    let from = arguments.from.display();
    let Some(Taken(format)) = arguments.format else {
        if arguments.from.is_file() {
            bail!("'{from}' is a file. Say what it is with --format");
        }
        let files = track.take_over(&Track::open(&arguments.from)?)?;
        output::note(&format!("took {files} files from '{from}'"));
        return Ok(Exit::Done);
    };
    let now = Timestamp::now();
    let text = text(&arguments.from)?;
    let found = track_import(&text, format, arguments.time.unwrap_or(now))
        .with_context(|| format!("cannot import '{from}'"))?;
    let name = arguments.from.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let values = ImportedValues {
        schema: TRACK_SCHEMA.to_string(),
        id: Track::new_id(now),
        source: name,
        time: now,
        points: found.points,
    };
    track.add(&values, now)?;
    output::note(&format!(
        "took {} values from '{from}'; {} keys were ignored",
        values.points.len(),
        found.ignored
    ));
    Ok(Exit::Done)
}

fn text(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("cannot read '{}'", path.display());
    let mut bytes = Vec::new();
    let file = File::open(path).with_context(cannot)?;
    file.take(LONGEST + 1).read_to_end(&mut bytes).with_context(cannot)?;
    if bytes.len() as u64 > LONGEST {
        bail!("'{}' is larger than {} MB. Import a part of it", path.display(), LONGEST >> 20);
    }
    String::from_utf8(bytes).with_context(|| format!("'{}' is not text", path.display()))
}
