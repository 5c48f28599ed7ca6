//! The workloads of db_bench on RocksDB: a load, tests that read, and tests that write and then
//! wait for compaction. The process of the database performs the operations by itself.

mod client;
mod driver;
mod flags;

pub(crate) use driver::{driver, tasks};
pub(crate) use flags::{DbbenchFlags, asked, select};
