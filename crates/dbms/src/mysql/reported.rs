//! Which settings of MySQL and MariaDB a report shows. A number, a switch or a word of a known
//! choice holds no secret; of texts, only those known to hold neither a secret nor a place.

/// Settings that say where a server is, or change by themselves, rather than how it works.
const PLACES: [&str; 4] = ["port", "report_port", "server_uid", "server_uuid"];

/// Switches and choices in one word, as servers show them.
const WORDS: [&str; 14] = [
    "", "ALL", "AUTO", "DEFAULT", "DISABLED", "ENABLED", "FALSE", "FORCE", "NO", "NONE", "OFF",
    "ON", "TRUE", "YES",
];

/// Texts that can cause a difference and that hold neither a secret nor a path. A star stands for
/// any end.
const TEXTS: [&str; 75] = [
    "admin_tls_version",
    "alter_algorithm",
    "aria_*",
    "authentication_policy",
    "binlog_*",
    "block_encryption_mode",
    "build_id",
    "character_set_*",
    "collation_*",
    "column_compression_zlib_strategy",
    "completion_type",
    "concurrent_insert",
    "default_authentication_plugin",
    "default_collation_for_utf8mb4",
    "default_storage_engine",
    "default_tmp_storage_engine",
    "disabled_storage_engines",
    "enforce_gtid_consistency",
    "explain_format",
    "ft_boolean_syntax",
    "group_replication_consistency",
    "gtid_mode",
    "histogram_type",
    "innodb_change_buffering",
    "innodb_checksum_algorithm",
    "innodb_compression_algorithm",
    "innodb_data_file_path",
    "innodb_deadlock_report",
    "innodb_default_row_format",
    "innodb_doublewrite",
    "innodb_file_format*",
    "innodb_flush_method",
    "innodb_instant_alter_column_allowed",
    "innodb_log_checksum_algorithm",
    "innodb_stats_method",
    "innodb_temp_data_file_path",
    "internal_tmp_*",
    "lc_messages",
    "lc_time_names",
    "license",
    "log_disabled_statements",
    "log_error_services",
    "log_output",
    "log_slow_disabled_statements",
    "log_slow_filter",
    "log_timestamps",
    "master_info_repository",
    "myisam_*",
    "note_verbosity",
    "old_mode",
    "optimizer_*",
    "performance_schema_*",
    "plugin_maturity",
    "protocol_compression_algorithms",
    "rbr_exec_mode",
    "relay_log_info_repository",
    "replica_exec_mode",
    "replica_parallel_type",
    "replicate_events_marked_for_skip",
    "rocksdb_*",
    "rpl_semi_sync_*_wait_point",
    "session_track_system_variables",
    "slave_*",
    "sql_mode",
    "storage_engine",
    "system_time_zone",
    "system_versioning_*",
    "terminology_use_previous",
    "thread_*",
    "time_zone",
    "tls_*",
    "transaction_*",
    "tx_isolation",
    "use_stat_tables",
    "version*",
];

/// Endings of names that hold a path.
const PATHS: [&str; 3] = ["_dir", "_file", "_tmpdir"];

/// Whether reports show a setting with a value.
pub(super) fn is_reported(name: &str, value: &str) -> bool {
    if name.contains("password") || PLACES.contains(&name) {
        return false;
    }
    let is_text = |pattern: &str| match pattern.split_once('*') {
        Some((start, end)) => name.starts_with(start) && name.ends_with(end),
        None => name == pattern,
    };
    let holds_path = value.contains('/') || PATHS.iter().any(|end| name.ends_with(end));
    value.parse::<f64>().is_ok()
        || WORDS.contains(&value)
        || (TEXTS.iter().any(|pattern| is_text(pattern)) && !holds_path)
}

#[cfg(test)]
mod tests {
    use super::is_reported;

    #[test]
    fn secrets_and_places_are_left_out_and_what_makes_a_difference_is_not() {
        for (name, value) in [
            ("report_password", "12345"),
            ("init_connect", "set @token = 'hush'"),
            ("wsrep_sst_auth", "root:hush"),
            ("ssl_key", "/etc/mysql/key.pem"),
            ("datadir", "/var/lib/mysql/"),
            ("slave_load_tmpdir", "/tmp"),
            ("character_sets_dir", "/usr/share/mysql/charsets/"),
            ("hostname", "db1"),
            ("gtid_executed", "0-1-1"),
            ("server_uuid", "c2f1"),
            ("port", "3306"),
        ] {
            assert!(!is_reported(name, value), "{name}");
        }
        for (name, value) in [
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_flush_method", "O_DIRECT"),
            ("innodb_doublewrite", "DETECT_AND_RECOVER"),
            ("log_bin", "ON"),
            ("optimizer_switch", "index_merge=on,mrr=off"),
            ("sql_mode", "STRICT_TRANS_TABLES"),
            ("transaction_isolation", "REPEATABLE-READ"),
            ("version_comment", "MariaDB Server"),
            ("collation_server", "utf8mb4_0900_ai_ci"),
        ] {
            assert!(is_reported(name, value), "{name}");
        }
    }
}
