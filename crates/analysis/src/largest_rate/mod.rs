//! The search for the largest rate at which a contender keeps a service level: which rate is tried
//! next, and when a try has been measured for long enough. Knows no servers: it asks for tries and
//! is told their answers.

mod search;
mod trial;

pub use search::{LargestRate, RateGrid, RateSearch};
pub use trial::{IsKept, TriedRate, TriedSecond};

#[cfg(test)]
mod tests;
