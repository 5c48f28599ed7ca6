//! What a client of pgbench's scripts needs beside [`crate::Connection`]: results with the names of
//! their columns, statements with all values as text, several of them on their way at a time, and
//! whether a transaction is open.

use crate::Row;
use crate::error::Error;

/// The result of one statement; without columns where it returns no rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultRows {
    pub columns: Vec<String>,
    pub rows: Vec<Row>,
}

/// Whether the session is in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionBlock {
    None,
    Begun,
    /// It can only be rolled back.
    Failed,
}

/// A statement to execute.
#[derive(Clone, Copy, Debug)]
pub enum Texted<'a> {
    /// It was prepared under this name.
    Prepared(&'a str),
    /// It is parsed for this execution.
    Unnamed(&'a str),
}

/// The values of a statement's parameters as they are sent, all of them as text.
#[derive(Clone, Debug, Default)]
pub struct TextValues {
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u16,
}

impl TextValues {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.count = 0;
    }

    /// Adds a value, which `write` appends to the buffer.
    pub fn add(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; 4]);
        write(&mut self.bytes);
        let length = (self.bytes.len() - start - 4) as u32;
        self.bytes[start..start + 4].copy_from_slice(&length.to_be_bytes());
        self.count += 1;
    }

    pub fn add_null(&mut self) {
        self.bytes.extend_from_slice(&(-1_i32).to_be_bytes());
        self.count += 1;
    }
}

/// A session that can run scripts. [`Scripted::queue`] and [`Scripted::sync`] send nothing, and
/// [`Scripted::finish`] sends what is queued.
pub trait Scripted {
    /// Sends one or more statements as text and receives all results, which are kept if wanted.
    /// Returns the number of rows returned or changed.
    fn ask(&mut self, sql: &str, keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error>;

    /// Prepares a statement under a name.
    fn parse(&mut self, name: &str, sql: &str) -> Result<(), Error>;

    /// Adds an execution to what is sent next.
    fn queue(&mut self, statement: Texted<'_>, values: &TextValues);

    /// Adds the end of an implicit transaction to what is sent next.
    fn sync(&mut self);

    /// Ends what is queued, sends it and receives all results, which are kept if wanted. Returns
    /// the number of rows returned or changed.
    fn finish(&mut self, keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error>;

    /// Bytes that are queued.
    fn queued(&self) -> usize;

    fn block(&self) -> TransactionBlock;
}
