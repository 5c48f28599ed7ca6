//! What an attacker, a careless file or a hostile server must not be able to do to whoever runs
//! rqps. Each test plays the attacker's part for real: a second uid, planted links, a run directory
//! from elsewhere, a server that lies. The table of docs/reliability.md names them.

mod files;
mod numbers;
mod servers;
mod sources;
mod terminal;
mod wire;
