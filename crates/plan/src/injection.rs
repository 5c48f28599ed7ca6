//! A slowdown of known size that `rqps selftest` gives a contender, to see whether it is found. No
//! contender as a user writes it has one.

use serde::{Deserialize, Serialize};

/// What makes a contender slower than it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Injection {
    /// The server (or the client) keeps a CPU busy for a share of the time that an operation takes,
    /// in each operation. With neither, everything is there that it takes, and nothing is spent:
    /// the base of the others.
    Delay { server: f64, client: f64 },
    /// The server has so many CPUs, by a quota.
    Cpus(f64),
    /// The server may write to its disk so often in a second.
    WritesPerSecond(u64),
}

/// What a delay came to in one pass of one contender, as it was counted where it was spent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dose {
    pub round: u32,
    pub test: String,
    pub attempt: u32,
    pub contender: String,
    /// Nanoseconds per operation in the server.
    pub server: f64,
    /// Nanoseconds per operation in the client.
    pub client: f64,
    /// Nanoseconds that an operation takes, the delay included, when nothing else slows it down.
    pub undisturbed: Option<f64>,
}
