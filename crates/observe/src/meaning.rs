//! Meanings of counters of a DBMS, independent of their names: the diagnosis asks by meaning.

use serde::{Deserialize, Serialize};

macro_rules! meanings {
    ($($(#[$doc:meta])* $variant:ident $name:literal;)*) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Meaning { $($(#[$doc])* $variant,)* }

        impl Meaning {
            pub const ALL: &'static [Meaning] = &[$(Meaning::$variant,)*];

            /// The name in the store; never changed once published.
            pub fn name(self) -> &'static str {
                match self { $(Meaning::$variant => $name,)* }
            }
        }
    };
}

meanings! {
    /// How often a statement waited for the lock of a row.
    RowLockWaits "row_lock_waits";
    /// Bytes of the write-ahead or redo log.
    LogBytes "log_bytes";
    /// How often that log was flushed.
    LogFlushes "log_flushes";
    /// Pages that checkpoints wrote.
    CheckpointPages "checkpoint_pages";
    /// Pages that were written to make room or to prepare a checkpoint, where the DBMS spreads
    /// checkpoints over time.
    FlushedPages "flushed_pages";
    /// Pages that were not written by checkpoints, or all pages where the DBMS does not separate
    /// them.
    PagesWritten "pages_written";
    /// Pages that were written a second time to protect against torn pages.
    DoubleWrites "double_writes";
    /// Bytes that the DBMS wrote to all files, by its own count.
    BytesWritten "bytes_written";
    CheckpointsTimed "checkpoints_timed";
    /// Checkpoints that came early because of the amount of log.
    CheckpointsRequested "checkpoints_requested";
    /// Pages or blocks that were found in the cache of the DBMS.
    CacheHits "cache_hits";
    /// Lookups that a Bloom filter avoided.
    BloomFilterHits "bloom_filter_hits";
    CompactionBytesWritten "compaction_bytes_written";
    CompactionBytesRead "compaction_bytes_read";
    /// Tables that autovacuum has finished.
    TablesVacuumed "tables_vacuumed";
    /// Old row versions that vacuum or purge has not removed yet.
    RowVersionsLeft "row_versions_left";
    /// How often, or for how long, the DBMS stalled writes.
    WriterWaits "writer_waits";
    /// Comparisons of keys that searches made.
    KeyComparisons "key_comparisons";
    /// Blocks that were not in the cache of the DBMS, and were read from files.
    BlockReads "block_reads";
    /// Bytes that were read from the last level of an LSM tree.
    LastLevelBytesRead "last_level_bytes_read";
    /// Bytes that were read from all other levels.
    UpperLevelBytesRead "upper_level_bytes_read";
    /// CPU of the threads that serve clients.
    ServingCpu "serving_cpu";
    /// CPU of all other threads of the DBMS.
    BackgroundCpu "background_cpu";
}

impl Meaning {
    pub fn from_name(name: &str) -> Option<Meaning> {
        Meaning::ALL.iter().copied().find(|meaning| meaning.name() == name)
    }
}

/// Counters of a DBMS with a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterMeaning {
    /// The end of their names, in any case: one counter, or one for each table.
    pub ends: String,
    pub meaning: Meaning,
}

impl CounterMeaning {
    pub fn is_of(&self, counter: &str) -> bool {
        let tail = counter.len().checked_sub(self.ends.len()).and_then(|at| counter.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(&self.ends))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_meaning_is_of_counters_by_the_ends_of_their_names() {
        let hits = CounterMeaning { ends: "blks_hit".to_string(), meaning: Meaning::CacheHits };
        let is_of = |counter| hits.is_of(counter);
        assert!(is_of("pg_stat_database.blks_hit") && is_of("pg_statio_user_tables.idx_BLKS_HIT"));
        assert!(!is_of("blks_hit_ratio") && !is_of("hit") && !is_of("…_hit"));
        for meaning in Meaning::ALL {
            assert_eq!(Meaning::from_name(meaning.name()), Some(*meaning));
            assert_eq!(serde_json::to_value(meaning).unwrap(), meaning.name());
        }
    }
}
