//! How remote servers are restarted.

use std::time::Duration;

/// How long a command may take by default, and a restarted server to answer after it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The user's commands that restart remote servers.
#[derive(Clone, Debug)]
pub struct Restarts {
    /// By the contender's name.
    pub commands: Vec<(String, String)>,
    /// How long a command may take.
    pub timeout: Duration,
}

impl Default for Restarts {
    fn default() -> Self {
        Restarts { commands: Vec::new(), timeout: PATIENCE }
    }
}
