//! Getting, starting and stopping the DBMS under test. Knows nothing of workloads.
//!
//! [`prepare`] turns a contender into a [`Dbms`]: its build is there and its settings are known to
//! exist. [`Dbms::start`] gives a [`Server`], which is stopped when it is dropped.

mod config;
mod control;
mod descriptor;
mod dialect;
mod direct;
mod error;
mod files;
mod fresh;
mod guest;
mod home;
mod in_force;
mod lease;
mod linked;
mod managed;
mod meter;
mod mysql;
mod password;
mod postgres;
mod process;
mod process_id;
mod remote;
mod rights;
mod server_folder;
mod snapshot;
pub mod source;
mod sqlite;
mod template;
mod theirs;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_plan::{Build, Contender, Dbms as Name, Flags};
use rqps_system::Cancel;
use rqps_wire::Target;

pub use config::{NamedConfig, all_configs, cache_bytes, configs, memory, resolved, with_cache};
pub use descriptor::{Descriptor, Footprint, descriptor};
pub use dialect::{Dialect, Forced, Indexes, Partitions, Sql, Transactions};
pub use direct::reads_directly;
pub use error::DbmsError;
pub use fresh::BEGUN;
pub use guest::{GuestError, Needs};
pub use home::{Home, HomeError};
pub use in_force::InForce;
pub use lease::{Lease, reap};
pub use meter::EngineMeter;
pub use password::new_password;
pub use remote::{Left, Leftovers};
pub use rights::shortage;
pub use snapshot::{copy_data, forget_data, settle_data};
pub use source::Installed;
pub use sqlite::{SqliteBuild, sqlite_build};

/// Whom servers of rqps's own let in over loopback, with a password ([`Place::password`]).
pub const LOOPBACK_USER: &str = "rqps";

/// Where a server's files go.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The data directory; made when it is not there, used as it is when it is. In one that is
    /// empty, a folder of it.
    pub data: PathBuf,
    /// What the server prints is appended here.
    pub log: PathBuf,
    /// The server goes on when rqps ends.
    pub detached: bool,
    /// Set for the server, beside what is always set. For what measures rqps itself.
    pub environment: Vec<(&'static str, OsString)>,
    /// Has the server listen on loopback, too, for a user `rqps` with this password. Without one it
    /// has a Unix socket only, which nobody but rqps's user and the server's can reach.
    pub password: Option<String>,
}

/// A contender that is ready to be started.
pub trait Dbms {
    /// The build that will run; none for a DBMS in rqps and for a server that is running already.
    fn build(&self) -> Option<&Installed>;

    /// How what will run was compiled, as far as that is known.
    fn flags(&self) -> Flags {
        match self.build() {
            Some(build) => build.flags.clone().unwrap_or_default(),
            None => {
                Flags::unknown("rqps does not look at the files of a server that it did not start")
            }
        }
    }

    /// Creates the data directory if there is none, starts the server and waits until it answers.
    /// That, and waiting for answers on its connections, ends with `cancel`.
    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError>;

    /// Looks whether a run could work on a server that is running already, and keeps other runs out
    /// of it from now on. Makes nothing.
    fn arrive(&self, _needs: &Needs) -> Result<(), DbmsError> {
        Ok(())
    }

    /// Removes the data directory that an rqps that was killed left; on a server that is running
    /// already what it stands for, if that is there still.
    fn disclaim(&self, data: &Path) -> Result<(), DbmsError> {
        std::fs::remove_dir_all(data).map_err(DbmsError::file("remove", data))
    }
}

/// What is done so that the reads that follow do not pay for the writes before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quiesce {
    /// Vacuum with statistics, and a checkpoint.
    Full,
    /// A plain vacuum, as the legacy profiles have it between steps.
    Vacuum,
}

/// A DBMS that answers.
pub trait Server: Send + Sync {
    fn target(&self) -> &Target;

    /// As the server tells it.
    fn version(&self) -> &str;

    /// The root of the server's processes; none when it runs elsewhere.
    fn process(&self) -> Option<u32>;

    /// The port on loopback, where rqps has it listen there.
    fn port(&self) -> Option<u16> {
        None
    }

    /// The DBMS runs in this process.
    fn is_embedded(&self) -> bool {
        false
    }

    /// The data directory, where it is on this machine and rqps's own.
    fn data(&self) -> Option<&Path>;

    /// Where the data are that stay when the server is left, on a server that is not rqps's own.
    fn left(&self) -> Option<Left> {
        None
    }

    /// An error if what is in the benchmark's place may not be this run's any more, as another may
    /// have come there since.
    fn still_ours(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    /// The directory or file that holds the benchmark's database alone, where it is on this machine
    /// and rqps's own.
    fn database_path(&self) -> Result<Option<PathBuf>, DbmsError>;

    /// The settings in force.
    fn settings(&self) -> Result<InForce, DbmsError>;

    /// Bytes of the benchmark's tables with their indexes, without logs and without what else the
    /// DBMS keeps.
    fn database_bytes(&self) -> Result<u64, DbmsError>;

    /// Bytes of the DBMS's logs (write-ahead, redo, undo, binary), where its files are rqps's own.
    fn log_bytes(&self) -> Option<u64>;

    /// What the DBMS counts itself; none if it counts nothing.
    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError>;

    /// Removes logs that grow with the work and that nothing will read, so that they do not pile
    /// up. Those of a server that is not rqps's own stay.
    fn drop_logs(&self) -> Result<(), DbmsError>;

    /// Answers what had not come to rest when patience ended.
    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError>;

    /// Sees to it that what has been committed survives a crash from now on.
    fn settle(&self) -> Result<(), DbmsError>;

    /// How the server is, or how it ended, and the tail of its log; none without a log.
    fn last_words(&mut self) -> Option<String>;

    /// Stops the server in an orderly way; its data stay.
    fn stop(&mut self) -> Result<(), DbmsError>;

    /// Removes what rqps made in the DBMS. The server is stopped, if it is rqps's own.
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

/// Where a URL leads any client of its DBMS; none if that has no servers.
pub fn target(dbms: Name, url: &str, cancel: &Cancel) -> Result<Option<Target>, DbmsError> {
    let target = descriptor(dbms, None).target;
    Ok(target.map(|target| target(url, cancel)).transpose()?)
}

/// What rqps has left on a server that is running already, and a handle that removes it.
pub struct Guesthouse(remote::Remote);

impl Guesthouse {
    /// By the contender's URL; none for a contender without one.
    pub fn at(contender: &Contender, cancel: &Cancel) -> Result<Option<Self>, DbmsError> {
        let Build::Server { url } = &contender.build else { return Ok(None) };
        let remote = <&Descriptor>::from(contender).remote;
        Ok(remote.map(|remote| remote(contender, url, cancel)).transpose()?.map(Guesthouse))
    }

    /// Looks, and keeps runs out from now on; an error if there is anything that rqps did not make.
    pub fn leftovers(&self, needs: Needs) -> Result<Option<Leftovers>, DbmsError> {
        self.0.leftovers(needs)
    }

    /// Removes what [`Guesthouse::leftovers`] showed.
    pub fn clean(&self) -> Result<(), DbmsError> {
        self.0.clean()
    }
}
