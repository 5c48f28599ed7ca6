//! How a build from source was made.

use serde::{Deserialize, Serialize};

/// How a build was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Built {
    /// Its name after the version; none for a release built by the recipe without changes.
    pub variant: Option<String>,
    /// The hash of the recipe.
    pub recipe: String,
    /// What the compiler is called, and what it calls itself.
    pub cc: String,
    pub compiler: String,
    pub flags: String,
    pub lto: bool,
    /// The time that it took.
    pub seconds: f64,
    /// When it was done, in seconds since 1970.
    pub made: u64,
}
