//! Injected slowdowns of known size, by which `rqps selftest` checks that slowdowns are found.
//! Users cannot ask for one.

use serde::{Deserialize, Serialize};

/// A slowdown of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Injection {
    /// In each operation, the server (or the client) keeps a CPU busy for a share of the time that
    /// the operation takes. With both 0, the mechanism is installed and spends nothing: this is the
    /// baseline of the others.
    Delay { server: f64, client: f64 },
    /// The CPUs of the server, by a quota.
    Cpus(f64),
    /// The writes per second that the server may make to its disk.
    WritesPerSecond(u64),
}

/// The measured delay of one contender in one measurement, counted where it was spent.
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
    /// Nanoseconds that an operation takes with its delay, if nothing else slows it down.
    pub undisturbed: Option<f64>,
}
