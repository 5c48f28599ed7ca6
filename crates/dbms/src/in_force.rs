//! The settings that a server runs with.

use std::collections::{BTreeMap, BTreeSet};

use rqps_plan::Flags;

use crate::source;

/// As the server tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// By name.
    pub values: BTreeMap<String, String>,
    /// Names of those that are as the server has them by itself, as far as it tells.
    pub defaults: BTreeSet<String>,
}

impl InForce {
    /// How it was compiled, if the server tells that among its settings.
    pub fn flags(&self) -> Option<Flags> {
        let told = |name: &str| self.values.get(name).map(String::as_str);
        let cflags = told("pg_config.CFLAGS")?;
        Some(source::of_pg_config(cflags, told("pg_config.CONFIGURE").unwrap_or_default()))
    }
}
