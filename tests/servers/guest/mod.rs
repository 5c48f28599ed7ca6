//! rqps as a guest on a server of somebody else: every set-up that people have, with a list of what
//! exists on the server before and after.

mod compare;
mod mysql;
mod places;
mod postgres;
mod production;
pub(crate) mod server;
mod tls;
