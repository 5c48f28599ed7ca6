//! The size of the DBMS's cache, by the size of the data.

use serde::{Deserialize, Serialize};

use crate::build::Build;
use crate::contender::Contender;
use crate::quantity::Count;

/// How much of the data the DBMS's own cache holds. The page cache of the operating system may hold
/// the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cache {
    /// All data, with room.
    Cached,
    /// A tenth of the data.
    IoBound,
}

/// The needs of a DBMS's cache, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct CacheNeed {
    /// The size of a row of the Insert Benchmark with its four index entries.
    pub row: u64,
    /// The smallest I/O-bound cache: a smaller one would not even hold what the server itself
    /// needs.
    pub least: u64,
}

/// Room beside the data, in percent of them: old row versions, pages that are not full.
const ROOM: u64 = 25;
/// The smallest cache for all data, as large as that of a server without a config.
const LEAST_CACHED_MB: u64 = 128;
const LEAST_CACHED: u64 = LEAST_CACHED_MB << 20;
/// An I/O-bound cache holds one in this many rows.
const SHARE: u64 = 10;
/// The largest cache, in percent of the machine's memory or of the memory limit of its server:
/// the rest is for connections, for sorting and for the operating system.
const MOST_MEMORY: u64 = 70;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CacheError {
    #[error(
        "{contender} needs a cache of {needed} MB for {rows} rows, but {MOST_MEMORY} % of the memory that \
         it may use is {most} MB. Use up to {fit} rows of all clients together, or --io-bound, which \
         caches a tenth"
    )]
    TooLarge { contender: String, rows: Count, needed: u64, most: u64, fit: Count },
    #[error(
        "{contender} needs a cache of {LEAST_CACHED_MB} MB even for few rows, but {MOST_MEMORY} % of the \
         memory that it may use is {most} MB. Let it use {enough} MB (--memory), or cache a tenth \
         (--io-bound)"
    )]
    TooLittleMemory { contender: String, most: u64, enough: u64 },
    #[error(
        "{rows} rows are too few for {contender} to be I/O-bound: a tenth of them is less than the \
         {smallest} MB that its cache needs. Load {least} rows or more, or drop --io-bound"
    )]
    TooSmall { contender: String, rows: Count, smallest: u64, least: Count },
    #[error("cannot choose the cache of '{0}': it is a remote server. Drop --cached or --io-bound")]
    Running(String),
}

impl Cache {
    /// The bytes of a contender's cache for tables of up to `rows` rows, if it may use `memory`
    /// bytes of memory.
    pub fn bytes(
        self,
        contender: &Contender,
        need: CacheNeed,
        rows: u64,
        memory: u64,
    ) -> Result<u64, CacheError> {
        if let Build::Server { .. } = contender.build {
            return Err(CacheError::Running(contender.name()));
        }
        let data = rows.saturating_mul(need.row);
        match self {
            Cache::Cached => {
                let needed = (data / 100).saturating_mul(100 + ROOM).max(LEAST_CACHED);
                let most = memory / 100 * MOST_MEMORY;
                if needed <= most {
                    return Ok(needed);
                }
                if most < LEAST_CACHED {
                    let enough = (LEAST_CACHED_MB * 100).div_ceil(MOST_MEMORY);
                    let (contender, most) = (contender.name(), most >> 20);
                    return Err(CacheError::TooLittleMemory { contender, most, enough });
                }
                // Rounded down to a number that a person would type.
                let fit = Count((most / (100 + ROOM) * 100 / need.row) / 100_000 * 100_000);
                let (contender, rows) = (contender.name(), Count(rows));
                let (needed, most) = (needed >> 20, most >> 20);
                Err(CacheError::TooLarge { contender, rows, needed, most, fit })
            }
            Cache::IoBound if data / SHARE >= need.least => Ok(data / SHARE),
            Cache::IoBound => {
                let least = Count((need.least * SHARE).div_ceil(need.row).next_multiple_of(10_000));
                let (contender, rows) = (contender.name(), Count(rows));
                let smallest = need.least >> 20;
                Err(CacheError::TooSmall { contender, rows, smallest, least })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GB: u64 = 1 << 30;
    /// As of Postgres.
    const NEED: CacheNeed = CacheNeed { row: 305, least: 8 << 20 };

    fn bytes(cache: Cache, contender: &str, rows: u64) -> Result<u64, String> {
        let contender = contender.parse().unwrap();
        cache.bytes(&contender, NEED, rows, 16 * GB).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cached_cache_holds_the_data_with_room() {
        // Published as 9 GB after churn, cached in 10.
        let postgres = bytes(Cache::Cached, "postgres", 30_000_000).unwrap();
        assert!((10 * GB..11 * GB).contains(&postgres), "{postgres}");
    }

    #[test]
    fn an_io_bound_cache_holds_a_tenth() {
        let cached = bytes(Cache::Cached, "postgres", 10_000_000).unwrap();
        let io_bound = bytes(Cache::IoBound, "postgres", 10_000_000).unwrap();
        assert_eq!(io_bound, cached / 125 * 10);
    }

    #[test]
    fn small_data_have_the_cache_of_a_server_without_a_config() {
        assert_eq!(bytes(Cache::Cached, "postgres", 1_000), Ok(128 << 20));
    }

    #[test]
    fn what_does_not_fit_is_answered_with_what_would() {
        let error = bytes(Cache::Cached, "postgres", 800_000_000).unwrap_err();
        let fit = error.split("up to ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let fit: Count = fit.parse().unwrap();
        assert!(bytes(Cache::Cached, "postgres", fit.0).is_ok(), "{error}");
        assert!(bytes(Cache::Cached, "postgres", fit.0 + 200_000).is_err(), "{error}");
    }

    #[test]
    fn memory_that_is_too_small_for_any_cache_is_answered_with_what_would_do() {
        let (postgres, mb) = ("postgres".parse().unwrap(), 1 << 20);
        let bytes = |memory| {
            Cache::Cached.bytes(&postgres, NEED, 1_000, memory).map_err(|error| error.to_string())
        };
        let error = bytes(96 * mb).unwrap_err();
        let enough =
            error.split("Let it use ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let enough: u64 = enough.parse().unwrap();
        assert!(bytes(enough * mb).is_ok(), "{error}");
        assert!(bytes((enough - 1) * mb).is_err(), "{error}");
    }

    #[test]
    fn what_is_too_small_is_answered_with_what_would_do() {
        let error = bytes(Cache::IoBound, "mysql", 100_000).unwrap_err();
        let least = error.split("Load ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        let least: Count = least.parse().unwrap();
        assert!(bytes(Cache::IoBound, "mysql", least.0).is_ok(), "{error}");
        assert!(bytes(Cache::IoBound, "mysql", least.0 - 20_000).is_err(), "{error}");
    }

    #[test]
    fn a_running_server_has_the_cache_that_it_has() {
        let error = bytes(Cache::Cached, "postgres://ann:secret@host/db", 1).unwrap_err();
        assert!(error.contains("'postgres://ann@host/db'"), "{error}");
    }
}
