//! The setting that says how much a DBMS caches.

use rqps_plan::{Contender, Dbms};

use super::file::Setting;
use super::machine::size;
use crate::mysql::ROCKSDB;

/// The contender with a cache of so many bytes, unless it has a setting of its own for it.
pub fn with_cache(contender: &Contender, bytes: u64) -> Contender {
    let (name, value) = match (contender.dbms, contender.engine.as_deref()) {
        (Dbms::Postgres, _) => ("shared_buffers", size(contender.dbms, bytes)),
        (Dbms::Mysql | Dbms::Mariadb, Some(ROCKSDB)) => {
            ("rocksdb_block_cache_size", size(contender.dbms, bytes))
        }
        (Dbms::Mysql | Dbms::Mariadb, _) => {
            ("innodb_buffer_pool_size", size(contender.dbms, bytes))
        }
        // A negative number is kibibytes. Each connection has a cache of its own.
        (Dbms::Sqlite, _) => ("cache_size", format!("-{}", bytes >> 10)),
    };
    let mut contender = contender.clone();
    if !contender.settings.iter().any(|(own, _)| Setting::plain(own) == name) {
        contender.settings.push((name.to_string(), value));
    }
    contender
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
}
