//! Fetches, starts and stops the DBMS under test. Knows nothing of workloads.
//!
//! [`prepare`] turns a contender into a [`Dbms`], whose build is available and whose settings are
//! known to exist. [`Dbms::start`] returns a [`Server`], which is stopped on drop.

mod code;
mod config;
mod control;
mod descriptor;
mod dialect;
mod direct;
mod error;
mod files;
mod freezer;
mod fresh;
mod guest;
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
mod postgres;
mod process;
mod process_id;
mod process_settings;
mod query_plan;
mod remote;
mod rights;
mod rocksdb;
mod server_files;
mod server_folder;
mod shortage;
mod snapshot;
pub mod source;
mod sqlite;
mod statement_statistics;
mod table_data;
mod template;
mod theirs;
mod visit;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::{Build, Contender, Dbms as Name, Flags};
use rqps_system::Cancel;
use rqps_wire::Target;

pub use code::read_code_again;
pub use config::{NamedConfig, all_configs, cache_bytes, configs, memory, resolved, with_cache};
pub use descriptor::{Descriptor, Footprint, descriptor};
pub use dialect::{
    Backslash, Body, Dialect, Forced, Indexes, Lexis, Partitions, PreparedExecution, SearchPath,
    Sql, Transactions,
};
pub use direct::reads_directly;
pub use error::DbmsError;
pub use freezer::Freezer;
pub use fresh::BEGUN;
pub use guest::{GuestError, Needs};
pub use home::{Home, HomeError};
pub use in_force::InForce;
pub use lease::{Lease, reap};
pub use left::Left;
pub use meter::EngineMeter;
pub use others::{ExecutedCounts, OthersWatch};
pub use password::new_password;
pub use process_settings::{data_disk, own_cpus};
pub use remote::Leftovers;
pub use server_files::{outputs, start_beside};
pub use shortage::shortage;
pub use snapshot::{copy_data, forget_data, move_data, settle_data, spread_data};
pub use source::Installed;
pub use sqlite::{SqliteBuild, sqlite_build};
pub use statement_statistics::{
    CatalogColumn, CountedStatement, StatementStatistics, StatisticsError, StatisticsReader,
};
pub use table_data::{
    ALL_ROWS, SourceColumn, SourceForeignKey, SourceTable, SourceTables, TableReading,
};

/// The user of rqps's own servers over loopback, with a password ([`Place::password`]).
pub const LOOPBACK_USER: &str = "rqps";

/// The places of a server's files.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The data directory: created if missing, else used as it is. In an empty one, a folder
    /// inside.
    pub data: PathBuf,
    /// The server's output is appended here.
    pub log: PathBuf,
    /// On a remote server, which set of tables: it can hold several, counted from 0.
    pub set: u32,
    /// Others work on the same tables of a remote server at the same time.
    pub is_shared: bool,
    /// The server keeps running when rqps ends.
    pub detached: bool,
    /// Variables for the server, beside those that are always set. For measuring rqps itself.
    pub environment: Vec<(&'static str, OsString)>,
    /// The words before the server's command, for a program that runs the server.
    pub under: Vec<OsString>,
    /// Makes the server also listen on loopback, for a user `rqps` with this password. Without it,
    /// the server has a Unix socket only, which only rqps's user and the server's can reach.
    pub password: Option<String>,
}

/// A contender that is ready to be started, also several times side by side.
pub trait Dbms: Sync {
    /// The build that will run; none for a DBMS in rqps and for a remote server.
    fn build(&self) -> Option<&Installed>;

    /// How the build was compiled, as far as known.
    fn flags(&self) -> Flags {
        match self.build() {
            Some(build) => build.flags.clone().unwrap_or_default(),
            None => Flags::unknown("rqps does not read the files of a remote server"),
        }
    }

    /// Creates the data directory if there is none, starts the server and waits until it answers.
    /// `cancel` ends this wait, and waits for answers on its connections.
    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError>;

    /// Checks whether a run can work on a remote server, and keeps other runs out of it from now
    /// on. Creates nothing. `sets` are those that it will use: see [`Place::set`].
    fn arrive(&self, _needs: &Needs, _sets: &[u32]) -> Result<(), DbmsError> {
        Ok(())
    }

    /// What identifies a remote server, whatever its URL; none if that is unknown.
    fn identity(&self) -> Result<Option<String>, DbmsError> {
        Ok(None)
    }

    /// How long a remote server has been up; none if that is unknown.
    fn uptime(&self) -> Result<Option<Duration>, DbmsError> {
        Ok(None)
    }

    /// The values of these settings in sessions of clients on a remote server.
    fn in_sessions(&self, _names: &[String]) -> Result<Vec<String>, DbmsError> {
        Ok(Vec::new())
    }

    /// Removes the data directory of a killed rqps; on a remote server, the place that it stands
    /// for, if that still exists.
    fn disclaim(&self, data: &Path) -> Result<(), DbmsError> {
        std::fs::remove_dir_all(data).map_err(DbmsError::file("remove", data))
    }
}

/// Maintenance so that earlier writes do not slow down the following reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiesce {
    /// Vacuum with statistics, and a checkpoint.
    Full,
    /// A plain vacuum, as in the legacy profiles between steps.
    Vacuum,
}

/// A DBMS that answers.
pub trait Server: Send + Sync {
    fn target(&self) -> &Target;

    /// As the server reports it.
    fn version(&self) -> &str;

    /// The root of the server's processes; none if it runs elsewhere.
    fn process(&self) -> Option<u32>;

    /// The port on loopback, if it listens there.
    fn port(&self) -> Option<u16> {
        None
    }

    /// The DBMS runs in this process.
    fn is_embedded(&self) -> bool {
        false
    }

    /// The data directory, if it is on this machine and rqps's own.
    fn data(&self) -> Option<&Path>;

    /// Where the data stay on a remote server when rqps disconnects.
    fn left(&self) -> Option<Left> {
        None
    }

    /// An error if the contents of the benchmark's place may not be this run's any more, since
    /// another run may have used it, or if something is there that rqps could not remove.
    fn still_ours(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    /// The directory or file with only the benchmark's database, if it is on this machine and
    /// rqps's own.
    fn database_path(&self) -> Result<Option<PathBuf>, DbmsError> {
        Ok(None)
    }

    /// The settings in force.
    fn settings(&self) -> Result<InForce, DbmsError>;

    /// Settings of a remote server that differ from those that this process read first, in words.
    fn changed_settings(&self) -> Result<Option<String>, DbmsError> {
        Ok(None)
    }

    /// Watches what others do on a remote server; none on a server of rqps's own.
    fn watch_others(&self) -> Result<Option<OthersWatch>, DbmsError> {
        Ok(None)
    }

    /// Bytes of the benchmark's tables with their indexes, without logs and other data of the DBMS.
    fn database_bytes(&self) -> Result<u64, DbmsError>;

    /// Bytes of the DBMS's logs (write-ahead, redo, undo, binary), if its files are rqps's own.
    fn log_bytes(&self) -> Option<u64> {
        None
    }

    /// Counters of the DBMS; none if it has none.
    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError>;

    /// Removes logs that grow with the work and that are never read. Those of a remote server stay.
    fn drop_logs(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    /// Returns what was still pending when the wait was given up.
    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError>;

    /// Ensures that all commits so far survive a crash.
    fn settle(&self) -> Result<(), DbmsError>;

    /// The state of the server, or how it ended, and the tail of its log; none without a log.
    fn last_words(&mut self) -> Option<String> {
        None
    }

    /// Stops the server in an orderly way; its data stay.
    fn stop(&mut self) -> Result<(), DbmsError>;

    /// Removes what rqps created in the DBMS. The server is stopped, if it is rqps's own.
    fn discard(&mut self) -> Result<(), DbmsError>;
}

/// Finds or fetches the contender's build and checks its config and settings.
pub fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut source::Tell,
    cancel: &Cancel,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let descriptor: &Descriptor = contender.into();
    match (&contender.build, descriptor.remote) {
        (Build::Server { url }, Some(remote)) => Ok(Box::new(remote(contender, url, cancel)?)),
        _ => (descriptor.prepare)(home, contender, tell),
    }
}

/// The target of a URL for any client of its DBMS; none if the DBMS has no servers.
pub fn target(dbms: Name, url: &str, cancel: &Cancel) -> Result<Option<Target>, DbmsError> {
    let target = descriptor(dbms, None).target;
    Ok(target.map(|target| target(url, cancel)).transpose()?)
}

/// What rqps has left on a remote server, and a handle that removes it.
pub struct Guesthouse(remote::Remote);

impl Guesthouse {
    /// By the contender's URL; none for a contender without one.
    pub fn at(contender: &Contender, cancel: &Cancel) -> Result<Option<Self>, DbmsError> {
        let Build::Server { url } = &contender.build else { return Ok(None) };
        let remote = <&Descriptor>::from(contender).remote;
        Ok(remote.map(|remote| remote(contender, url, cancel)).transpose()?.map(Guesthouse))
    }

    /// Lists it, and keeps runs out from now on; an error if there is anything that rqps did not
    /// create.
    pub fn leftovers(&self, needs: Needs) -> Result<Vec<Leftovers>, DbmsError> {
        self.0.leftovers(needs)
    }

    /// Removes what [`Guesthouse::leftovers`] listed.
    pub fn clean(&self, left: &Leftovers) -> Result<(), DbmsError> {
        self.0.clean(left)
    }
}
