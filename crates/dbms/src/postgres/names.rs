//! Names in rqps's own servers of Postgres.

/// The superuser that initdb creates.
pub(super) const SUPERUSER: &str = crate::LOOPBACK_USER;

/// The benchmark's database, with the name from the original benchmark.
pub(super) const DATABASE: &str = "ib";
