//! What takes too long for every change: the commands of the documentation, the selftest,
//! statistics of whole suites. `.ci/nightly` runs it, before an issue is closed.

#[path = "../common/mod.rs"]
mod common;

mod docs;
mod exercises;
mod microbenchmarks;
mod selftest;
