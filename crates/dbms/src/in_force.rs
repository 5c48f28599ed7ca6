//! The settings that a server runs with.

use std::collections::{BTreeMap, BTreeSet};

/// As the server tells them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InForce {
    /// By name.
    pub values: BTreeMap<String, String>,
    /// Names of those that are as the server has them by itself, as far as it tells.
    pub defaults: BTreeSet<String>,
}
