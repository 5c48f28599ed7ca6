//! Tests that take too long for every change: the commands of the documentation, the selftest,
//! statistics of whole suites. `.ci/nightly` runs them, before an issue is closed.

#[path = "../common/mod.rs"]
mod common;

mod bisect;
mod control;
mod docs;
mod exercises;
mod fleet;
mod microbenchmarks;
mod selftest;
