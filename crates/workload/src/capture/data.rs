//! The rows of a server's tables in one snapshot, as files that a folder of SQL loads.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flate2::Compression;
use flate2::write::GzEncoder;
use rqps_dbms::{ALL_ROWS, SourceForeignKey, SourceTable, SourceTables, TableReading};
use rqps_system::printable;
use rqps_wire::{Connection, Error, Target, scalar};

use super::made::MadeFiles;
use super::{CaptureError, LONGEST};
use crate::Dialect;
use crate::sql::within;

/// Tables that an error names.
const NAMED: usize = 5;
/// Bytes of a name of a file, which most file systems have room for.
const LONGEST_NAME: usize = 200;
/// Bytes that are compressed at a time.
const CHUNK: usize = 1 << 18;

/// `orders=5%`: how much of a table is read.
#[derive(Clone, Debug, PartialEq)]
pub struct TableSample {
    table: String,
    /// Rows in a million.
    share: u32,
}

impl FromStr for TableSample {
    type Err = String;

    fn from_str(text: &str) -> Result<TableSample, String> {
        let wrong = || format!("'{text}' is no sample. Write TABLE=5%");
        let (table, share) = text.rsplit_once('=').ok_or_else(wrong)?;
        let percent: f64 =
            share.strip_suffix('%').and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
        let share = (percent / 100.0 * f64::from(ALL_ROWS)).round();
        if table.is_empty() || !(1.0..=f64::from(ALL_ROWS)).contains(&share) {
            return Err(format!("{}: from 0.0001% to 100%", wrong()));
        }
        Ok(TableSample { table: table.to_string(), share: share as u32 })
    }
}

/// What is read of a server.
#[derive(Clone, Copy, Debug)]
pub struct DataOptions<'a> {
    pub samples: &'a [TableSample],
    /// Bytes of text at most.
    pub most: u64,
}

/// The tables of a server in a transaction that has begun.
pub struct SourceData {
    connection: Box<dyn Connection>,
    reading: &'static TableReading,
    /// In the order in which they can be loaded, with the rows in a million that are read.
    tables: Vec<(SourceTable, u32)>,
    foreign_keys: Vec<SourceForeignKey>,
    most: u64,
    remarks: Vec<String>,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WrittenData {
    pub tables: Vec<WrittenTable>,
    /// What a reader must know.
    pub remarks: Vec<String>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct WrittenTable {
    pub name: String,
    pub file: String,
    pub rows: u64,
    /// In percent.
    pub share: f64,
}

impl SourceData {
    /// Begins the snapshot, and finds out how much there is to read. Refused if it is too much.
    pub fn begin(
        target: &Target,
        dialect: Dialect,
        options: DataOptions<'_>,
    ) -> Result<SourceData, CaptureError> {
        let Some(reading) = dialect.table_reading else {
            let what = format!("{} has no server whose data could be read", dialect.name);
            return Err(CaptureError::Refused(what));
        };
        let mut connection = target.connect()?;
        let interrupter = connection.interrupter()?;
        let (found, is_late) = within(LONGEST, &interrupter, || {
            reading.begin(&mut *connection)?;
            reading.tables(&mut *connection)
        });
        if is_late {
            let what = format!("the server has not told its tables in {} s", LONGEST.as_secs());
            return Err(CaptureError::Refused(what));
        }
        let found = found?;
        if found.tables.is_empty() {
            let what = "the database has no tables. Does the URL name the right one?";
            return Err(CaptureError::Refused(what.to_string()));
        }
        let shares = shares(&found.tables, options.samples).map_err(CaptureError::Refused)?;
        let mut remarks = Vec::new();
        let places = load_order(&found, &mut remarks);
        let mut data = SourceData {
            connection,
            reading,
            tables: Vec::new(),
            foreign_keys: Vec::new(),
            most: options.most,
            remarks,
        };
        data.plan(found, &shares, &places);
        match data.bytes() > options.most {
            true => Err(CaptureError::Refused(data.too_large())),
            false => Ok(data),
        }
    }

    /// Takes the tables that can be read, in this order.
    fn plan(&mut self, found: SourceTables, shares: &[u32], places: &[usize]) {
        let mut moved = vec![None; found.tables.len()];
        for place in places {
            let table = &found.tables[*place];
            match defect(table) {
                Some(why) => {
                    self.remarks.push(format!("{} is left out: {why}", table.name));
                }
                None => {
                    let remark = table.remark.iter().map(|it| format!("{}: {it}", table.name));
                    self.remarks.extend(remark);
                    moved[*place] = Some(self.tables.len());
                    self.tables.push((table.clone(), shares[*place]));
                }
            }
        }
        let kept = found.foreign_keys.into_iter().filter_map(|key| {
            let (child, parent) = (moved[key.child]?, moved[key.parent]?);
            Some(SourceForeignKey { child, parent, ..key })
        });
        self.foreign_keys = kept.collect();
    }

    /// How much will be read, about: what the tables have on disk.
    pub fn bytes(&self) -> u64 {
        self.tables.iter().map(part).sum()
    }

    pub fn tables(&self) -> usize {
        self.tables.len()
    }

    fn too_large(&self) -> String {
        let mut largest: Vec<&(SourceTable, u32)> = self.tables.iter().collect();
        largest.sort_by_key(|table| std::cmp::Reverse(part(table)));
        let named = largest.iter().take(NAMED);
        let named: Vec<String> =
            named.map(|it| format!("{} {}", printable(&it.0.name), size(part(it)))).collect();
        format!(
            "its tables have {}, and --data-limit is {}. The largest: {}. Read a part of them with \
             --sample TABLE=5%, or raise the limit",
            size(self.bytes()),
            size(self.most),
            named.join(", ")
        )
    }

    /// Reads all tables into files of this folder, which is made.
    pub(super) fn write(
        mut self,
        folder: &Path,
        made: &mut MadeFiles,
    ) -> Result<WrittenData, CaptureError> {
        made.folder(folder)?;
        let mut written = WrittenData { remarks: self.remarks.clone(), ..WrittenData::default() };
        let mut left = self.most;
        for number in 0..self.tables.len() {
            let (table, share) = &self.tables[number];
            let file = format!("{:03}_{}.csv.gz", number + 1, table.name);
            let path = folder.join(&file);
            let mut rows = RowFile::new(made.file(&path)?, left);
            let query = select(self.reading, table, *share);
            let outcome = rows
                .head(table)
                .map_err(Error::Io)
                .and_then(|()| self.connection.unload(&query, &mut rows));
            if rows.is_over {
                let what = format!(
                    "the rows have more than --data-limit {} as text, of which {} is the last. Read \
                     a part of it with --sample, or raise the limit",
                    size(self.most),
                    printable(&table.name)
                );
                return Err(CaptureError::Refused(what));
            }
            if let Some(source) = rows.failed.take() {
                return Err(unwritten(path, source));
            }
            let count = outcome?;
            left = rows.left;
            rows.finish().map_err(|source| unwritten(path, source))?;
            let share = f64::from(*share) / f64::from(ALL_ROWS) * 100.0;
            written.tables.push(WrittenTable {
                name: table.name.clone(),
                file,
                rows: count,
                share,
            });
        }
        written.remarks.extend(self.orphans()?);
        self.connection.run(self.reading.end)?;
        Ok(written)
    }

    /// Rows that refer to rows which are not in the sample of their table.
    fn orphans(&mut self) -> Result<Vec<String>, Error> {
        let mut told = Vec::new();
        for key in &self.foreign_keys {
            let Some(query) = orphans_query(self.reading, &self.tables, key) else { continue };
            let count = scalar(&mut *self.connection, &query)?.unwrap_or_default();
            if count != "0" {
                let (child, parent) = (&self.tables[key.child].0, &self.tables[key.parent].0);
                told.push(format!(
                    "{count} rows of {} refer to rows of {} that are not in its sample: leave the \
                     foreign key {} out of schema.sql",
                    child.name, parent.name, key.name
                ));
            }
        }
        Ok(told)
    }
}

fn unwritten(path: PathBuf, source: io::Error) -> CaptureError {
    CaptureError::Written { path: path.display().to_string(), source }
}

/// Bytes of a table that are read, about.
fn part((table, share): &(SourceTable, u32)) -> u64 {
    (table.bytes as f64 * f64::from(*share) / f64::from(ALL_ROWS)) as u64
}

/// In the unit of `--data-limit`, or a smaller one.
fn size(bytes: u64) -> String {
    match bytes {
        1_000_000_000.. => format!("{:.2} GB", bytes as f64 / 1e9),
        1_000_000.. => format!("{:.2} MB", bytes as f64 / 1e6),
        _ => format!("{:.1} kB", bytes as f64 / 1e3),
    }
}

/// Why a table cannot be read into a file of a folder, if so.
fn defect(table: &SourceTable) -> Option<String> {
    let name = &table.name;
    match () {
        () if table.defect.is_some() => table.defect.clone(),
        () if table.columns.is_empty() => Some("it has no columns".to_string()),
        () if name.contains('/') || name.chars().any(char::is_control) => {
            Some("its name cannot be that of a file".to_string())
        }
        () if name.len() > LONGEST_NAME => Some("its name is too long for a file".to_string()),
        () => None,
    }
}

/// Of each table how many rows in a million are wanted.
fn shares(tables: &[SourceTable], samples: &[TableSample]) -> Result<Vec<u32>, String> {
    for sample in samples {
        let Some(table) = tables.iter().find(|table| table.name == sample.table) else {
            let known = tables.iter().map(|table| table.name.as_str());
            let hint = rqps_plan::suggestion(&sample.table, known);
            return Err(format!("--sample: there is no table '{}': {hint}", sample.table));
        };
        if table.key.is_empty() && sample.share < ALL_ROWS {
            return Err(format!(
                "--sample: {} has no primary key, by whose hash rows are chosen",
                printable(&table.name)
            ));
        }
    }
    let share = |table: &SourceTable| {
        let last = samples.iter().rev().find(|sample| sample.table == table.name);
        last.map_or(ALL_ROWS, |sample| sample.share)
    };
    Ok(tables.iter().map(share).collect())
}

/// The places of all tables, those that others refer to first.
fn load_order(found: &SourceTables, remarks: &mut Vec<String>) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let mut left: Vec<usize> = (0..found.tables.len()).collect();
    while !left.is_empty() {
        let waits = |place: &usize| {
            let mut parents = found.foreign_keys.iter().filter(|key| key.child == *place);
            parents.any(|key| key.parent != *place && left.contains(&key.parent))
        };
        let (waiting, ready): (Vec<usize>, Vec<usize>) = left.iter().copied().partition(waits);
        if ready.is_empty() {
            let names: Vec<&str> =
                waiting.iter().map(|place| found.tables[*place].name.as_str()).collect();
            remarks.push(format!(
                "foreign keys form a circle: create those of {} in indexes.sql",
                names.join(", ")
            ));
            order.extend(&waiting);
            break;
        }
        order.extend(ready);
        left = waiting;
    }
    order
}

fn select(reading: &TableReading, table: &SourceTable, share: u32) -> String {
    let values: Vec<&str> = table.columns.iter().map(|column| column.value.as_str()).collect();
    let mut query = format!("select {} from {}", values.join(", "), table.from);
    if share < ALL_ROWS {
        query += &format!(" where {}", (reading.sampled)(&table.key, share));
    }
    query
}

/// How many rows that are read refer to rows that are not; none if all of these are read.
fn orphans_query(
    reading: &TableReading,
    tables: &[(SourceTable, u32)],
    key: &SourceForeignKey,
) -> Option<String> {
    let ((child, of_child), (parent, of_parent)) = (&tables[key.child], &tables[key.parent]);
    if *of_parent == ALL_ROWS {
        return None;
    }
    let of = |alias: &str, columns: &[String]| -> Vec<String> {
        columns.iter().map(|column| format!("{alias}.{column}")).collect()
    };
    let mut conditions = Vec::new();
    if *of_child < ALL_ROWS {
        conditions.push((reading.sampled)(&of("c", &child.key), *of_child));
    }
    conditions.extend(key.columns.iter().map(|(column, _)| format!("c.{column} is not null")));
    let mut same: Vec<String> =
        key.columns.iter().map(|(column, of)| format!("p.{of} = c.{column}")).collect();
    same.push((reading.sampled)(&of("p", &parent.key), *of_parent));
    Some(format!(
        "select count(*) from {} c where {} and not exists (select 1 from {} p where {})",
        child.from,
        conditions.join(" and "),
        parent.from,
        same.join(" and ")
    ))
}

/// A compressed file of rows that takes no more than a number of bytes of text.
struct RowFile {
    file: BufWriter<GzEncoder<File>>,
    left: u64,
    is_over: bool,
    /// Why a row was not written.
    failed: Option<io::Error>,
}

impl RowFile {
    fn new(file: File, left: u64) -> RowFile {
        let file = BufWriter::with_capacity(CHUNK, GzEncoder::new(file, Compression::fast()));
        RowFile { file, left, is_over: false, failed: None }
    }

    /// The line with the names of the columns.
    fn head(&mut self, table: &SourceTable) -> io::Result<()> {
        let name = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let names: Vec<String> = table.columns.iter().map(|column| name(&column.name)).collect();
        self.write_all(format!("{}\n", names.join(",")).as_bytes())
    }

    fn finish(self) -> io::Result<()> {
        let packed = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        packed.finish()?.sync_all()
    }
}

impl Write for RowFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(left) = self.left.checked_sub(bytes.len() as u64) else {
            self.is_over = true;
            return Err(io::Error::other("there are too many rows"));
        };
        self.left = left;
        match self.file.write_all(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(error) => {
                let told = io::Error::new(error.kind(), error.to_string());
                self.failed = Some(error);
                Err(told)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The part of `capture.md` about the data.
pub(super) fn data_report(data: &WrittenData) -> String {
    let mut page = "\n## Data\n\nAll tables were read in one snapshot. Schema and indexes are not \
                    among them: add `schema.sql`.\n\n| table | file | rows | sample |\n\
                    |---|---|--:|--:|\n"
        .to_string();
    for table in &data.tables {
        let share = match table.share < 100.0 {
            true => format!("{} %", table.share),
            false => "–".to_string(),
        };
        let (name, file) = (super::report::plain(&table.name), super::report::plain(&table.file));
        page += &format!("| {name} | {file} | {} | {share} |\n", table.rows);
    }
    for remark in &data.remarks {
        page += &format!("\n- {}", super::report::plain(remark));
    }
    if !data.remarks.is_empty() {
        page.push('\n');
    }
    page
}

#[cfg(test)]
#[path = "data_tests.rs"]
mod tests;
