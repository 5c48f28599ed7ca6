//! The cache-size setting of a DBMS.

use rqps_plan::Contender;

use super::file::Setting;
use super::machine::resolve;
use super::settings::settings;
use crate::descriptor::{CacheSetting, Descriptor};

/// The contender with a cache of this many bytes, unless it sets the size itself.
pub fn with_cache(contender: &Contender, bytes: u64) -> Contender {
    let mut contender = contender.clone();
    if own(&contender).is_none() {
        let cache = setting(&contender);
        contender.settings.push((cache.name.to_string(), (cache.value)(bytes)));
    }
    contender
}

/// The cache size in bytes by the contender's own setting; none without one, or if rqps cannot read
/// it.
pub fn cache_bytes(contender: &Contender) -> Option<u64> {
    bytes(contender, &resolve(contender.dbms, own(contender)?))
}

/// The cache size in bytes that a contender runs with, by its config or its own setting; none if it
/// has neither.
pub(crate) fn cache_in_force(contender: &Contender) -> Option<u64> {
    let settings = settings(contender).ok()?;
    let name = setting(contender).name;
    bytes(contender, &settings.iter().find(|setting| setting.name == name)?.value)
}

fn bytes(contender: &Contender, value: &str) -> Option<u64> {
    let value = value.trim().to_lowercase();
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let number: i64 = number.parse().ok()?;
    let unit = match unit.trim().chars().next() {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some('t') => 1 << 40,
        Some(_) => return None,
        None => (setting(contender).unit)(number),
    };
    number.unsigned_abs().checked_mul(unit)
}

fn setting(contender: &Contender) -> &'static CacheSetting {
    &<&Descriptor>::from(contender).cache
}

/// The contender's own value for its cache.
fn own(contender: &Contender) -> Option<&str> {
    let is_it = |name: &str| Setting::plain(name) == setting(contender).name;
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
