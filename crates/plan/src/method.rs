//! How the contenders of a comparison take turns.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::nearest::suggestion;

/// How contenders take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Method {
    /// All servers are up, and are driven in turns of some milliseconds.
    Slices,
    /// One server at a time runs the whole workload, alone on the machine.
    Runs,
}

impl Method {
    pub const ALL: [Method; 2] = [Method::Slices, Method::Runs];

    pub fn name(self) -> &'static str {
        match self {
            Method::Slices => "slices",
            Method::Runs => "runs",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.ok_or_else(|| {
            format!("unknown method '{name}': {}", suggestion(name, Method::ALL.map(Method::name)))
        })
    }
}
