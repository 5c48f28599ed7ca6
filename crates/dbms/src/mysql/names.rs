//! Names in rqps's own servers of MySQL and MariaDB.

/// The account of a new data directory, without a password.
pub(super) const SUPERUSER: &str = "root";

/// The benchmark's database, with the name from the original benchmark.
pub(super) const DATABASE: &str = "ib";

pub(super) const INNODB: &str = "innodb";

/// MyRocks, which is a plugin in MariaDB.
pub(super) const ROCKSDB: &str = "rocksdb";
