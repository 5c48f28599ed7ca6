//! Exports in the formats of other programs, from the same model as the tables.

mod db_bench;
mod hdr;
mod otava;
pub(crate) mod parquet;
mod sysbench;

pub use db_bench::db_bench;
pub use hdr::hdr;
pub use otava::otava;
pub use parquet::parquet;
pub use sysbench::sysbench;

/// A file of an export with several files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    pub name: String,
    pub contents: Vec<u8>,
}
