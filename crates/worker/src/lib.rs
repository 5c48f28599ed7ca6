//! The process in which RocksDB runs. rqps starts itself as this process, one for each contender,
//! which loads a library, opens a database, and performs operations when it is asked to: an
//! operation takes a few microseconds, less than a message between processes.

mod check;
mod data;
mod database;
mod describe;
mod library;
mod operations;
mod options_file;
mod serve;
mod session;
mod settings;
mod shared;
mod tree_report;
mod work_clock;
mod writer;

use std::io;
use std::path::PathBuf;
use std::time::Duration;

pub use data::ROW_BYTES;
pub use describe::describe;
pub use operations::{Kind, RANGE};
pub use serve::{Service, serve};

/// Why something asked of the process cannot be done.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    #[error("{0}")]
    NotLoaded(String),
    #[error("it has no function {0}, which rqps needs: it is not RocksDB, or too old")]
    NoFunction(&'static str),
    #[error("{name} = {value}: write {takes}")]
    Value { name: String, value: String, takes: &'static str },
    #[error("'{0}' is no option: a name has letters, digits, dots and _")]
    Name(String),
    #[error(
        "{name} = {value}: this is more than one value. Close all braces, and write ; only within \
         braces"
    )]
    Unbalanced { name: String, value: String },
    #[error("cannot set '{name}': {why}. Remove it")]
    Reserved { name: &'static str, why: &'static str },
    #[error(
        "a library is not loaded as root: its code could do anything. rqps starts this command \
         itself, as the user of servers"
    )]
    Root,
    #[error("cache needs a size. Add cache_size, as in cache_size=64M")]
    NoCacheSize,
    #[error("it has no HyperClock cache, which is in RocksDB 8.1 and later. Use cache=lru")]
    NoHyperClock,
    #[error("it does not accept the settings: {0}")]
    Options(String),
    #[error("it does not open the database: {0}")]
    Open(String),
    #[error("{0}")]
    Failed(String),
    #[error("background work has failed. RocksDB's LOG in the data directory says why")]
    Background,
    #[error(
        "background work has not ended after {} minutes: {left} is not 0. RocksDB's LOG in the data \
         directory says what it does",
        patience.as_secs() / 60
    )]
    Busy { left: &'static str, patience: Duration },
    #[error("key {0} was not found")]
    Missing(u64),
    #[error("key {number} has a value of {length} bytes, which rqps did not put there")]
    Length { number: u64, length: usize },
    #[error("{found} of {wanted} keys were found with their values")]
    MissingOf { found: u64, wanted: u64 },
    #[error("a range has no keys")]
    EmptyRange,
    #[error("there is a key out of order or not of this workload: {0}")]
    ForeignKey(String),
    #[error("key {0} has a value that is not of this workload")]
    ForeignValue(u64),
    #[error("the database is closed")]
    Closed,
    #[error("the library does not tell its version")]
    NoVersion,
    #[error("there is no property {0}")]
    NoProperty(String),
    #[error("no writer is at work")]
    NoWriter,
    #[error("no test was chosen before operations")]
    NoClient,
    #[error(
        "unknown request '{0}'. There are: version, settings, counters, property NAME, flush, wait, \
         compact"
    )]
    Request(String),
    #[error("a text contains a zero byte")]
    Zero,
    #[error("cannot use '{}': {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}
