//! The files of `load/` as they were read.

use std::io;
use std::path::PathBuf;

use super::csv::{NamedRows, Record};
use super::faults::FolderError;
use super::lines::{TextLines, open};
use super::options::Encoding;
use super::script::SqlScript;
use super::tokens::SqlTextError;

/// A file of `load/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LoadedFile {
    Sql(SqlScript),
    Csv(CsvFile),
}

impl LoadedFile {
    /// Bytes of the data, unpacked.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            LoadedFile::Sql(script) => script.bytes,
            LoadedFile::Csv(csv) => csv.bytes,
        }
    }
}

/// A file of rows. They are not held in memory, but read from the file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CsvFile {
    /// Below the folder.
    pub(crate) file: String,
    pub(crate) table: String,
    path: PathBuf,
    encoding: Encoding,
    /// Of its values.
    bytes: u64,
}

impl CsvFile {
    /// All rows are read once, so that what is wrong in one of them is told before anything is
    /// loaded.
    pub(super) fn checked(
        (file, path): (String, PathBuf),
        table: String,
        encoding: Encoding,
    ) -> Result<CsvFile, FolderError> {
        let mut csv = CsvFile { file, table, path, encoding, bytes: 0 };
        for row in csv.rows()? {
            let (_, row) = row.map_err(|wrong| csv.wrong(wrong))?;
            csv.bytes += size(&row);
        }
        Ok(csv)
    }

    /// Its rows with their lines, from the first on.
    pub(crate) fn rows(&self) -> Result<NamedRows<'static>, FolderError> {
        let wrong = |it: io::Error| FolderError::new(&self.file, format!("cannot read it: {it}"));
        let lines = TextLines::new(open(&self.path).map_err(wrong)?, self.encoding);
        NamedRows::begin(lines).map_err(|wrong| self.wrong(wrong))
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
