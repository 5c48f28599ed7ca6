//! What a DBMS is asked over a connection, whoever started it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rqps_wire::Target;

use crate::Quiesce;
use crate::error::DbmsError;

/// Control work of one DBMS; the same for a server of rqps's own and for one that is running
/// elsewhere.
pub(crate) trait Control: Send + Sync {
    /// As the server tells it.
    fn version(&self, target: &Target) -> Result<String, DbmsError>;

    /// The settings in force, but for those that say where the server is.
    fn settings(&self, target: &Target) -> Result<BTreeMap<String, String>, DbmsError>;

    /// Bytes of the benchmark's database alone.
    fn database_bytes(&self, target: &Target) -> Result<u64, DbmsError>;

    /// The directory that holds that database, in a data directory.
    fn database_path(&self, target: &Target, data: &Path) -> Result<PathBuf, DbmsError>;

    fn quiesce(&self, target: &Target, what: Quiesce, tables: &[String]) -> Result<(), DbmsError>;

    /// Sees to it that what has been committed survives a crash of the machine.
    fn settle(&self, target: &Target) -> Result<(), DbmsError>;
}

/// A step of making or removing the benchmark's own place in a server.
pub(crate) type Arrange = fn(&Target) -> Result<(), DbmsError>;
