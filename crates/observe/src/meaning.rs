//! What counters of a DBMS stand for, whatever it calls them: what looks for causes asks by this.

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
    /// Pages that were written to make room or to get ready for a checkpoint, where the DBMS
    /// spreads those over time.
    FlushedPages "flushed_pages";
    /// Pages that others than checkpoints wrote, or all of them where the DBMS does not tell.
    PagesWritten "pages_written";
    /// Pages that were written a second time, against torn pages.
    DoubleWrites "double_writes";
    /// Bytes of all files that the DBMS wrote, as it counts them itself.
    BytesWritten "bytes_written";
    CheckpointsTimed "checkpoints_timed";
    /// Checkpoints that came early, since so much log was written.
    CheckpointsRequested "checkpoints_requested";
    /// Pages or blocks that were found in the cache of the DBMS.
    CacheHits "cache_hits";
    /// Lookups that a Bloom filter spared.
    BloomFilterHits "bloom_filter_hits";
    CompactionBytesWritten "compaction_bytes_written";
    CompactionBytesRead "compaction_bytes_read";
    /// Tables whose vacuum by the server itself has ended.
    TablesVacuumed "tables_vacuumed";
    /// Old row versions that vacuum or purge has not removed yet.
    RowVersionsLeft "row_versions_left";
    /// How often, or for how long, the DBMS held back what writes.
    WriterWaits "writer_waits";
}

impl Meaning {
    pub fn from_name(name: &str) -> Option<Meaning> {
        Meaning::ALL.iter().copied().find(|meaning| meaning.name() == name)
    }
}

/// Counters of a DBMS with a meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterMeaning {
    /// What their names end with, in whatever case: one counter, or that of each table.
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
