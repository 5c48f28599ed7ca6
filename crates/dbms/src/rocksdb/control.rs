//! Control work, by requests that the process of the database knows.

use std::path::{Path, PathBuf};

use rqps_wire::{Target, scalar};

use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// Counters that show background work, and are cheap to read.
const COUNTERS: &str = "counters";

pub(super) struct RocksdbControl;

impl Control for RocksdbControl {
    fn version(&self, target: &Target) -> Result<String, DbmsError> {
        Ok(scalar(&mut *target.connect()?, "version")?.unwrap_or_default())
    }

    fn settings(&self, target: &Target) -> Result<InForce, DbmsError> {
        let rows = target.connect()?.query("settings")?;
        let pair = |row: Vec<Option<String>>| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            Some((fields.next()?, fields.next().unwrap_or_default()))
        };
        let mut values: std::collections::BTreeMap<String, String> =
            rows.into_iter().filter_map(pair).collect();
        // Where it is, and not what it does.
        values.retain(|name, _| !name.ends_with("_dir"));
        Ok(InForce { values, ..InForce::default() })
    }

    fn database_bytes(&self, target: &Target, _data: Option<&Path>) -> Result<u64, DbmsError> {
        let bytes = scalar(&mut *target.connect()?, "property rocksdb.total-sst-files-size")?;
        Ok(bytes.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    fn database_path(&self, _target: &Target, data: &Path) -> Result<PathBuf, DbmsError> {
        Ok(data.to_path_buf())
    }

    /// The write-ahead log.
    fn logs(&self) -> &'static [&'static str] {
        &["*.log"]
    }

    fn meter(&self, target: &Target) -> Result<EngineMeter, DbmsError> {
        Ok(EngineMeter {
            connection: target.connect()?,
            sources: vec![COUNTERS.to_string()],
            lanes: vec![COUNTERS.to_string()],
            is_gauge: |_| false,
            is_wanted: |_| true,
            uncounted: None,
        })
    }

    /// It removes its logs itself.
    fn drop_logs(&self, _target: &Target) -> Result<(), DbmsError> {
        Ok(())
    }

    /// Everything is compacted, so that all versions have the same shape, and none works in the
    /// background while others are measured.
    fn quiesce(
        &self,
        target: &Target,
        what: Quiesce,
        _tables: &[String],
    ) -> Result<Option<String>, DbmsError> {
        let request = match what {
            Quiesce::Full => "compact",
            Quiesce::Vacuum => "wait",
        };
        target.connect()?.run(request)?;
        Ok(None)
    }

    fn settle(&self, target: &Target) -> Result<(), DbmsError> {
        target.connect()?.run("flush")?;
        Ok(())
    }
}
