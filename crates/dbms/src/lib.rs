//! Fetches, starts and stops the DBMS under test. Knows nothing of workloads.
//!
//! [`prepare`] turns a contender into a [`Dbms`], whose build is available and whose settings are
//! known to exist. [`Dbms::start`] returns a [`Server`], which is stopped on drop.

mod code;
mod config;
mod control;
mod dbms;
mod descriptor;
mod dialect;
mod direct;
mod driver;
mod drivers;
mod error;
mod files;
mod freezer;
mod fresh;
mod guest;
mod guest_error;
mod hold;
mod home;
mod in_force;
mod lease;
mod left;
mod linked;
mod managed;
mod meter;
mod mysql;
mod others;
mod password;
mod place;
mod postgres;
mod process;
mod process_id;
mod process_settings;
mod query_plan;
mod registry;
mod remote;
mod rights;
mod rocksdb;
mod server;
mod server_files;
mod server_folder;
mod shortage;
mod snapshot;
pub mod source;
mod sql;
mod sqlite;
mod statement_statistics;
mod table_data;
mod template;
mod theirs;
mod visit;

pub use code::read_code_again;
pub use config::{NamedConfig, all_configs, cache_bytes, configs, memory, resolved, with_cache};
pub use dbms::Dbms;
pub use descriptor::{Descriptor, Footprint};
pub use dialect::Dialect;
pub use direct::reads_directly;
pub use drivers::{Guesthouse, prepare, target};
pub use error::DbmsError;
pub use freezer::Freezer;
pub use fresh::BEGUN;
pub use guest::Needs;
pub use guest_error::GuestError;
pub use home::{Home, HomeError};
pub use in_force::InForce;
pub use lease::{Lease, reap};
pub use left::Left;
pub use meter::EngineMeter;
pub use others::{ExecutedCounts, OthersWatch};
pub use password::new_password;
pub use place::{LOOPBACK_USER, Place};
pub use process_settings::{data_disk, own_cpus};
pub use registry::descriptor;
pub use remote::Leftovers;
pub use server::{Quiesce, Server};
pub use server_files::{outputs, start_beside};
pub use shortage::shortage;
pub use snapshot::{copy_data, forget_data, move_data, settle_data, spread_data};
pub use source::Installed;
pub use sql::{
    Backslash, Body, Forced, Indexes, Lexis, Partitions, PreparedExecution, SearchPath, Sql,
    Transactions,
};
pub use sqlite::{SqliteBuild, sqlite_build};
pub use statement_statistics::{
    CatalogColumn, CountedStatement, StatementStatistics, StatisticsError, StatisticsReader,
};
pub use table_data::{
    ALL_ROWS, SourceColumn, SourceForeignKey, SourceTable, SourceTables, TableReading,
};
