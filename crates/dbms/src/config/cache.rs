//! The setting that says how much a DBMS caches.

use rqps_plan::{Contender, Dbms};

use super::file::Setting;
use super::machine::{resolve, size};
use crate::mysql::ROCKSDB;

/// The contender with a cache of so many bytes, unless it has a setting of its own for it.
pub fn with_cache(contender: &Contender, bytes: u64) -> Contender {
    let mut contender = contender.clone();
    if own(&contender).is_none() {
        let value = match contender.dbms {
            // A negative number is kibibytes. Each connection has a cache of its own.
            Dbms::Sqlite => format!("-{}", bytes >> 10),
            dbms => size(dbms, bytes),
        };
        contender.settings.push((setting(&contender).to_string(), value));
    }
    contender
}

/// The bytes of the cache that the contender's own setting asks for; none without one, or if it is
/// nothing that rqps can read.
pub fn cache_bytes(contender: &Contender) -> Option<u64> {
    let value = resolve(contender.dbms, own(contender)?).trim().to_lowercase();
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: i64 = number.parse().ok()?;
    let unit = match (unit.trim().chars().next(), contender.dbms) {
        (Some('k'), _) => 1 << 10,
        (Some('m'), _) => 1 << 20,
        (Some('g'), _) => 1 << 30,
        (Some('t'), _) => 1 << 40,
        (Some(_), _) => return None,
        // Pages of the usual size; of SQLite a negative number is kibibytes.
        (None, Dbms::Postgres) => 8 << 10,
        (None, Dbms::Sqlite) if number < 0 => 1 << 10,
        (None, Dbms::Sqlite) => 4 << 10,
        (None, Dbms::Mysql | Dbms::Mariadb) => 1,
    };
    number.unsigned_abs().checked_mul(unit)
}

fn setting(contender: &Contender) -> &'static str {
    match (contender.dbms, contender.engine.as_deref()) {
        (Dbms::Postgres, _) => "shared_buffers",
        (Dbms::Mysql | Dbms::Mariadb, Some(ROCKSDB)) => "rocksdb_block_cache_size",
        (Dbms::Mysql | Dbms::Mariadb, _) => "innodb_buffer_pool_size",
        (Dbms::Sqlite, _) => "cache_size",
    }
}

/// The value that the contender itself gives its cache.
fn own(contender: &Contender) -> Option<&str> {
    let is_it = |name: &str| Setting::plain(name) == setting(contender);
    let found = contender.settings.iter().find(|(name, _)| is_it(name));
    found.map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_wins_over_the_config_and_loses_to_the_contenders_own_setting() {
        let with = |contender: &str| with_cache(&contender.parse().unwrap(), 64 << 20).spec();
        assert_eq!(with("postgres:x9a2"), "postgres:x9a2?shared_buffers=64MB");
        assert_eq!(with("mysql@8.0.33"), "mysql@8.0.33?innodb_buffer_pool_size=64M");
        assert_eq!(with("mariadb/rocksdb"), "mariadb/rocksdb?rocksdb_block_cache_size=64M");
        assert_eq!(with("sqlite"), "sqlite?cache_size=-65536");
        for own in ["postgres?Shared_Buffers=1GB", "mysql?innodb-buffer-pool-size=1G"] {
            assert_eq!(with(own), own);
        }
    }

    #[test]
    fn the_size_of_a_contenders_own_cache_is_known() {
        let bytes = |contender: &str| cache_bytes(&contender.parse().unwrap());
        assert_eq!(bytes("postgres?shared_buffers=1GB"), Some(1 << 30));
        assert_eq!(bytes("postgres?shared_buffers=1024"), Some(8 << 20));
        assert_eq!(bytes("mysql?innodb-buffer-pool-size=256M"), Some(256 << 20));
        assert_eq!(bytes("sqlite?cache_size=-2048"), Some(2 << 20));
        assert_eq!(bytes("sqlite?cache_size=1000"), Some(4_096_000));
        let half = bytes("postgres?shared_buffers=50%").unwrap() >> 20;
        assert_eq!(half, (crate::memory() / 2) >> 20);
        assert_eq!(bytes("postgres"), None);
        assert_eq!(bytes("postgres?shared_buffers=much"), None);
    }
}
