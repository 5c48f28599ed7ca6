//! The counters of MySQL and MariaDB, of InnoDB and of MyRocks.

use rqps_observe::Meaning;
use rqps_wire::Target;

use crate::error::DbmsError;
use crate::meter::EngineMeter;

/// Prefixes of the status variables about the work, in lower case.
const WANTED: [&str; 8] = [
    "binlog_",
    "created_tmp_",
    "handler_",
    "innodb_",
    "rocksdb_",
    "select_",
    "sort_",
    "table_locks_",
];

/// Prefixes of variables that say nothing about the work, or duplicate others.
const UNWANTED: [&str; 14] = [
    "binlog_snapshot_position",
    "innodb_metrics.buffer_",
    "innodb_metrics.dml_",
    "innodb_metrics.file_num_open_files",
    "innodb_metrics.innodb_dblwr_",
    "innodb_metrics.innodb_page_size",
    "innodb_metrics.lock_row_lock_",
    "innodb_metrics.log_w",
    "innodb_metrics.os_",
    "innodb_num_open_files",
    "innodb_page_size",
    "innodb_redo_log_capacity_resized",
    "innodb_redo_log_uuid",
    "innodb_undo_tablespaces_",
];

/// Parts of the names of status variables that are gauges; the others only increase.
const GAUGES: [&str; 23] = [
    "_age",
    "_adaptive_hash_cells",
    "_adaptive_hash_heap_buffers",
    "_available_",
    "_buffer_pool_bytes_",
    "_buffer_pool_pages_data",
    "_buffer_pool_pages_dirty",
    "_buffer_pool_pages_free",
    "_buffer_pool_pages_misc",
    "_buffer_pool_pages_old",
    "_buffer_pool_pages_total",
    "_current_waits",
    "_history_list_length",
    "_ibuf_free_list",
    "_ibuf_segment_size",
    "_ibuf_size",
    "_manual_compactions_running",
    "_mem_",
    "_memtable_total",
    "_memtable_unflushed",
    "_num_iterators",
    "_pending_",
    "_redo_log_",
];
/// Ends of such names.
const GAUGE_ENDS: [&str; 3] = ["_avg", "_max", "_status_code"];
/// Counters that match one of [`GAUGES`].
const COUNTERS: [&str; 2] = ["innodb_redo_log_current_lsn", "rocksdb_stall_pending_compaction"];

/// The meanings of status variables. A counter that did not move is not kept: the first of a
/// meaning is then known to be zero.
pub(super) const MEANINGS: [(&str, Meaning); 19] = [
    ("Innodb_row_lock_waits", Meaning::RowLockWaits),
    ("Innodb_os_log_written", Meaning::LogBytes),
    ("Rocksdb_wal_bytes", Meaning::LogBytes),
    ("Innodb_os_log_fsyncs", Meaning::LogFlushes),
    ("Rocksdb_wal_synced", Meaning::LogFlushes),
    ("Innodb_buffer_pool_pages_flushed", Meaning::FlushedPages),
    ("Innodb_pages_written", Meaning::PagesWritten),
    ("Innodb_dblwr_pages_written", Meaning::DoubleWrites),
    ("Innodb_data_written", Meaning::BytesWritten),
    ("Innodb_buffer_pool_read_requests", Meaning::CacheHits),
    ("Rocksdb_block_cache_hit", Meaning::CacheHits),
    ("Rocksdb_bloom_filter_useful", Meaning::BloomFilterHits),
    ("Rocksdb_compact_write_bytes", Meaning::CompactionBytesWritten),
    ("Rocksdb_compact_read_bytes", Meaning::CompactionBytesRead),
    ("Innodb_history_list_length", Meaning::RowVersionsLeft),
    ("trx_rseg_history_len", Meaning::RowVersionsLeft),
    ("Rocksdb_stall_micros", Meaning::WriterWaits),
    ("Innodb_log_waits", Meaning::WriterWaits),
    ("Innodb_buffer_pool_wait_free", Meaning::WriterWaits),
];

/// Status variables of background work.
const LANES: [&str; 17] = [
    "Innodb_buffer_pool_pages_dirty",
    "Innodb_buffer_pool_pages_flushed",
    "Innodb_buffer_pool_wait_free",
    "Innodb_checkpoint_age",
    "Innodb_data_written",
    "Innodb_history_list_length",
    "Innodb_log_waits",
    "Innodb_os_log_written",
    "Innodb_redo_log_logical_size",
    "Innodb_row_lock_time",
    "Rocksdb_bytes_written",
    "Rocksdb_compact_read_bytes",
    "Rocksdb_compact_write_bytes",
    "Rocksdb_flush_write_bytes",
    "Rocksdb_memtable_total",
    "Rocksdb_stall_micros",
    "Rocksdb_wal_bytes",
];

/// InnoDB's metrics, each with whether it is a counter or a gauge.
const INNODB_METRICS: &str = "select concat('innodb_metrics.', name), count, \
     if(type like '%counter', 'counter', 'gauge') from information_schema.innodb_metrics";

pub(super) fn meter(target: &Target) -> Result<EngineMeter, DbmsError> {
    let lanes: Vec<String> = LANES.iter().map(|name| format!("'{name}'")).collect();
    let lanes = lanes.join(", ");
    let meter = EngineMeter {
        connection: target.connect()?,
        sources: vec![
            "show global status".to_string(),
            format!("{INNODB_METRICS} where status = 'enabled'"),
            // Column families come and go, so their sum is read.
            "select concat('rocksdb_cfstats.', stat_type), sum(value), 'gauge' \
             from information_schema.rocksdb_cfstats group by stat_type"
                .to_string(),
            "select concat('rocksdb_dbstats.', stat_type), value, 'gauge' \
             from information_schema.rocksdb_dbstats"
                .to_string(),
        ],
        lanes: vec![
            format!("show global status where variable_name in ({lanes})"),
            format!("{INNODB_METRICS} where name = 'trx_rseg_history_len'"),
        ],
        is_gauge,
        is_wanted,
        uncounted: None,
    };
    meter.keep_readable()
}

fn is_wanted(name: &str) -> bool {
    let name = name.to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    begins(&WANTED) && !begins(&UNWANTED)
}

fn is_gauge(name: &str) -> bool {
    let name = name.to_lowercase();
    let is_counter = COUNTERS.iter().any(|start| name.starts_with(start));
    !is_counter
        && (GAUGES.iter().any(|part| name.contains(part))
            || GAUGE_ENDS.iter().any(|end| name.ends_with(end)))
}

#[cfg(test)]
mod tests {
    use super::is_gauge;

    #[test]
    fn what_only_grows_is_told_from_what_stands_for_now() {
        let gauges = [
            "Innodb_buffer_pool_pages_dirty",
            "Innodb_history_list_length",
            "Innodb_data_pending_reads",
            "Innodb_row_lock_time_max",
            "Innodb_checkpoint_age",
            "Innodb_redo_log_logical_size",
            "Rocksdb_memtable_total",
        ];
        let counters = [
            "Innodb_buffer_pool_pages_flushed",
            "Innodb_rows_inserted",
            "Innodb_os_log_written",
            "Innodb_row_lock_time",
            "Innodb_redo_log_current_lsn",
            "Innodb_pages_written",
            "Rocksdb_stall_pending_compaction_limit_stops",
            "Rocksdb_bloom_filter_useful",
            "rocksdb_wal_bytes",
            "Handler_write",
        ];
        assert_eq!(gauges.into_iter().find(|name| !is_gauge(name)), None);
        assert_eq!(counters.into_iter().find(|name| is_gauge(name)), None);
    }
}
