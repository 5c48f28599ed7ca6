//! Stored profiles of a comparison: where the CPU time of a contender's server went in a round of
//! its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use rqps_plan::Contender;
use rqps_system::printable;
use rusqlite::{Connection, params};

use crate::RunDirectory;
use crate::column::{count, seconds, text};
use crate::directory::file_name;
use crate::error::StoreError;
use crate::files::{file, open_own, own};
use crate::results::RESULTS;

/// Where stacks are kept.
const FOLDER: &str = "profiles";
/// The largest unpacked size of a file; gzip expands a thousandfold at most.
const LONGEST: u64 = 256 << 20;

/// One test of one contender, profiled once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProfileRecord {
    pub test: String,
    pub contender: String,
    /// From 1. All contenders were restarted for it.
    pub round: u32,
    /// The place in the order in which contenders took turns, from 0.
    pub turn: u32,
    /// RFC 3339.
    pub started: String,
    pub seconds: f64,
    /// Statements that were executed during the profile.
    pub statements: u64,
    /// Nanoseconds of CPU that the kernel counted for the server during the profile.
    pub server_cpu: u64,
    pub samples: u64,
    /// Whether samples include kernel code.
    pub has_kernel: bool,
    /// Nanoseconds of CPU by stack, the outermost function first, joined by semicolons.
    pub stacks: BTreeMap<String, u64>,
}

impl RunDirectory {
    /// Stores a profile: its file first, so that the row refers to an existing file.
    pub fn save_profile(&mut self, profile: &ProfileRecord) -> Result<(), StoreError> {
        let folder = own(self.path(), FOLDER)?;
        fs::create_dir_all(&folder).map_err(file("create", &folder))?;
        let names: Vec<String> = self.plan.contenders.iter().map(Contender::name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let contender = file_name(&profile.contender, &names);
        let name = format!("{FOLDER}/{}-{contender}-{}.folded.gz", profile.test, profile.round);
        let packed = pack(&profile.stacks).map_err(file("write", &folder))?;
        self.write(&name, |out| out.write_all(&packed))?;
        self.transact(|transaction| {
            transaction.execute(
            "insert or replace into profile values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            params![
                profile.test,
                profile.contender,
                profile.round,
                profile.turn,
                profile.started,
                profile.seconds,
                profile.statements as i64,
                profile.server_cpu as i64,
                profile.samples as i64,
                profile.has_kernel,
                name,
            ],
        )?;
            Ok(())
        })
    }

    /// The stored profiles.
    pub fn profiles(&self) -> Result<Vec<ProfileRecord>, StoreError> {
        profiles(&self.connection, self.path())
    }
}

/// By test, contender and round.
pub(crate) fn profiles(
    connection: &Connection,
    run: &Path,
) -> Result<Vec<ProfileRecord>, StoreError> {
    let damaged = |error: rusqlite::Error| StoreError::damaged(run.join(RESULTS), error);
    let sql = "select * from profile order by test, contender, round";
    let mut select = connection.prepare(sql).map_err(damaged)?;
    let rows = select.query_map([], |row| {
        let profile = ProfileRecord {
            test: text(row, "test")?,
            contender: text(row, "contender")?,
            round: row.get("round")?,
            turn: row.get("turn")?,
            started: text(row, "started")?,
            seconds: seconds(row, "seconds")?,
            statements: count(row, "statements")?,
            server_cpu: count(row, "server_cpu")?,
            samples: count(row, "samples")?,
            has_kernel: row.get("has_kernel")?,
            stacks: BTreeMap::new(),
        };
        Ok((profile, row.get::<_, String>("file")?))
    });
    let rows = rows.map_err(damaged)?;
    let mut profiles = Vec::new();
    for row in rows {
        let (mut profile, file) = row.map_err(damaged)?;
        if Path::new(&file).parent() != Some(Path::new(FOLDER)) {
            let reason = format!("it has a profile in '{file}', which is not in {FOLDER}");
            return Err(StoreError::damaged(run.join(RESULTS), reason));
        }
        let stacks = unpack(open_own(run, &file)?);
        profile.stacks = stacks.map_err(|error| StoreError::damaged(run.join(file), error))?;
        profiles.push(profile);
    }
    Ok(profiles)
}

fn pack(stacks: &BTreeMap<String, u64>) -> std::io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    stacks.iter().try_for_each(|(stack, nanos)| writeln!(gzip, "{stack} {nanos}"))?;
    gzip.finish()
}

fn unpack(file: File) -> io::Result<BTreeMap<String, u64>> {
    let mut text = String::new();
    GzDecoder::new(file).take(LONGEST + 1).read_to_string(&mut text)?;
    let wrong = |reason| io::Error::new(io::ErrorKind::InvalidData, reason);
    if text.len() as u64 > LONGEST {
        return Err(wrong("it is longer than any that rqps writes"));
    }
    let stack = |line: &str| {
        let (stack, nanos) = line.rsplit_once(' ')?;
        Some((printable(stack).into_owned(), nanos.parse().ok()?))
    };
    text.lines().map(stack).collect::<Option<_>>().ok_or_else(|| wrong("a line has no number"))
}
