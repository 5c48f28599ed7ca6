//! Control work over a connection, for rqps's own and remote servers.

use std::path::{Path, PathBuf};

use rqps_wire::Target;

use crate::Quiesce;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// Control work of one DBMS. It is the same for rqps's own and for remote servers, except for what
/// only the owner may do.
pub(crate) trait Control: Send + Sync {
    /// As the server reports it.
    fn version(&self, target: &Target) -> Result<String, DbmsError>;

    /// The settings in force, except those about where the server is.
    fn settings(&self, target: &Target) -> Result<InForce, DbmsError>;

    /// Bytes of the benchmark's tables with their indexes.
    /// `data` is the data directory, if it is rqps's own.
    fn database_bytes(&self, target: &Target, data: Option<&Path>) -> Result<u64, DbmsError>;

    /// The directory of that database, in a data directory.
    fn database_path(&self, target: &Target, data: &Path) -> Result<PathBuf, DbmsError>;

    /// The files and directories with logs, in a data directory; `*` stands for anything.
    fn logs(&self) -> &'static [&'static str];

    fn meter(&self, target: &Target) -> Result<EngineMeter, DbmsError>;

    /// Removes logs that grow with the work and that are never read.
    fn drop_logs(&self, target: &Target) -> Result<(), DbmsError>;

    /// Returns what was still pending when the wait was given up.
    fn quiesce(
        &self,
        target: &Target,
        what: Quiesce,
        tables: &[String],
    ) -> Result<Option<String>, DbmsError>;

    /// Ensures that all commits survive a crash of the machine.
    fn settle(&self, target: &Target) -> Result<(), DbmsError>;
}

/// A step of creating or removing the benchmark's own place in a server.
pub(crate) type Arrange = fn(&Target) -> Result<(), DbmsError>;
