//! What rqps asks of a running DBMS.

use std::path::{Path, PathBuf};

use rqps_wire::Target;

use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::left::Left;
use crate::meter::EngineMeter;
use crate::others::OthersWatch;

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
