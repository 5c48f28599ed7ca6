//! The files of `load/` as they were read.

use std::io;
use std::path::PathBuf;

use super::csv::{NamedRows, Record};
use super::faults::FolderError;
use super::lines::{TextLines, open};
use super::options::Encoding;
use super::parquet;
use super::script::SqlScript;
use super::tokens::SqlTextError;

/// A file of `load/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadedFile {
    Sql(SqlScript),
    Rows(RowsFile),
}

impl LoadedFile {
    /// Bytes of the data, unpacked.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            LoadedFile::Sql(script) => script.bytes,
            LoadedFile::Rows(rows) => rows.bytes,
        }
    }
}

/// A file of rows. They are not held in memory, but read from the file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowsFile {
    /// Below the folder.
    pub(crate) file: String,
    pub(crate) table: String,
    path: PathBuf,
    format: RowsFormat,
    /// Of its values.
    bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowsFormat {
    Csv(Encoding),
    Parquet,
}

/// The rows with their lines or numbers, from the first on.
pub(crate) struct LoadedRows {
    pub(crate) names: Vec<String>,
    pub(super) rows: Box<dyn Iterator<Item = Result<(u32, Record), SqlTextError>>>,
}

impl Iterator for LoadedRows {
    type Item = Result<(u32, Record), SqlTextError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.rows.next()
    }
}

impl RowsFile {
    /// All rows are read once, so that what is wrong in one of them is told before anything is
    /// loaded.
    pub(super) fn checked(
        (file, path): (String, PathBuf),
        table: String,
        format: RowsFormat,
    ) -> Result<RowsFile, FolderError> {
        let mut all = RowsFile { file, table, path, format, bytes: 0 };
        for row in all.rows()? {
            let (_, row) = row.map_err(|wrong| all.wrong(wrong))?;
            all.bytes += size(&row);
        }
        Ok(all)
    }

    pub(crate) fn rows(&self) -> Result<LoadedRows, FolderError> {
        let wrong = |it: io::Error| FolderError::new(&self.file, format!("cannot read it: {it}"));
        let rows = match self.format {
            RowsFormat::Csv(encoding) => {
                NamedRows::begin(TextLines::new(open(&self.path).map_err(wrong)?, encoding))
                    .map(|rows| LoadedRows { names: rows.names.clone(), rows: Box::new(rows) })
            }
            RowsFormat::Parquet => parquet::rows(&self.path),
        };
        rows.map_err(|wrong| self.wrong(wrong))
    }

    /// What is wrong in a line of it.
    pub(crate) fn wrong(&self, wrong: SqlTextError) -> FolderError {
        FolderError::of_text(&self.file, wrong)
    }
}

/// Bytes of its values.
pub(super) fn size(row: &Record) -> u64 {
    let field = |field: &Option<String>| field.as_ref().map_or(1, |it| it.len() as u64 + 1);
    row.iter().map(field).sum()
}
