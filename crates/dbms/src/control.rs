//! What a DBMS is asked over a connection, whoever started it.

use std::path::{Path, PathBuf};

use rqps_wire::Target;

use crate::Quiesce;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// Control work of one DBMS; the same for a server of rqps's own and for one that is running
/// elsewhere, but for what only its owner may do.
pub(crate) trait Control: Send + Sync {
    /// As the server tells it.
    fn version(&self, target: &Target) -> Result<String, DbmsError>;

    /// The settings in force, but for those that say where the server is.
    fn settings(&self, target: &Target) -> Result<InForce, DbmsError>;

    /// Bytes of the benchmark's tables with their indexes.
    /// `data` is the data directory, where that is rqps's own.
    fn database_bytes(&self, target: &Target, data: Option<&Path>) -> Result<u64, DbmsError>;

    /// The directory that holds that database, in a data directory.
    fn database_path(&self, target: &Target, data: &Path) -> Result<PathBuf, DbmsError>;

    /// The files and directories that hold logs, in a data directory; `*` stands for anything.
    fn logs(&self) -> &'static [&'static str];

    fn meter(&self, target: &Target) -> Result<EngineMeter, DbmsError>;

    /// Removes logs that grow with the work and that nothing will read.
    fn drop_logs(&self, target: &Target) -> Result<(), DbmsError>;

    /// Answers what had not come to rest when patience ended.
    fn quiesce(
        &self,
        target: &Target,
        what: Quiesce,
        tables: &[String],
    ) -> Result<Option<String>, DbmsError>;

    /// Sees to it that what has been committed survives a crash of the machine.
    fn settle(&self, target: &Target) -> Result<(), DbmsError>;
}

/// A step of making or removing the benchmark's own place in a server.
pub(crate) type Arrange = fn(&Target) -> Result<(), DbmsError>;
