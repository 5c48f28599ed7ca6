//! What can befall a measurement: a module for each kind of fault. docs/reliability.md has the
//! table of them, with the tests that are elsewhere.

mod clock;
mod disk;
mod killed;
mod memory;
mod names;
mod phases;
mod proxy;
mod rocksdb;
mod soak;
mod socket;
mod twice;
