//! rqps as a guest on a server of somebody else: every set-up that people have, with a list of what
//! exists on the server before and after.

#[path = "../common/mod.rs"]
mod common;

mod mysql;
mod postgres;
mod server;
mod tls;
