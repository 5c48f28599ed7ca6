//! The settings that a server runs with.

use std::collections::{BTreeMap, BTreeSet};

use rqps_plan::Flags;

use crate::source;

/// As the server reports them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// By name.
    pub values: BTreeMap<String, String>,
    /// Names of settings with the server's own default, where it reports that.
    pub defaults: BTreeSet<String>,
}

impl InForce {
    /// How it was compiled, if the server reports that among its settings.
    pub fn flags(&self) -> Option<Flags> {
        let told = |name: &str| self.values.get(name).map(String::as_str);
        let cflags = told("pg_config.CFLAGS")?;
        Some(source::of_pg_config(cflags, told("pg_config.CONFIGURE").unwrap_or_default()))
    }
}
