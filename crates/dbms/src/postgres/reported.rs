//! Which settings of Postgres a report shows. A number, a switch or a choice holds no secret; of
//! texts, only those known to hold neither a secret nor a place.

/// Numbers and choices about where the server is rather than how it works.
const PLACES: [&str; 1] = ["port"];

/// Texts that can cause a difference and that hold neither a secret nor a path.
const TEXTS: [&str; 48] = [
    "DateStyle",
    "TimeZone",
    "application_name",
    "archive_library",
    "backtrace_functions",
    "client_encoding",
    "cluster_name",
    "createrole_self_grant",
    "debug_io_direct",
    "default_table_access_method",
    "default_tablespace",
    "default_text_search_config",
    "event_source",
    "io_method",
    "jit_provider",
    "lc_collate",
    "lc_ctype",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "local_preload_libraries",
    "log_connections",
    "log_destination",
    "log_filename",
    "log_line_prefix",
    "log_timezone",
    "oauth_validator_libraries",
    "primary_slot_name",
    "restrict_nonsystem_relation_kind",
    "search_path",
    "server_encoding",
    "server_version",
    "session_preload_libraries",
    "shared_preload_libraries",
    "ssl_ciphers",
    "ssl_ecdh_curve",
    "ssl_groups",
    "ssl_library",
    "ssl_tls13_ciphers",
    "synchronized_standby_slots",
    "synchronous_standby_names",
    "syslog_ident",
    "temp_tablespaces",
    "timezone_abbreviations",
    "track_commit_timestamp",
    "wal_consistency_checking",
    "zero_damaged_pages",
];

/// Whether reports show a setting of a type, as `pg_settings` names it.
pub(super) fn is_reported(name: &str, vartype: &str) -> bool {
    if name.contains("password") || PLACES.contains(&name) {
        return false;
    }
    match vartype {
        "bool" | "integer" | "real" | "enum" => true,
        _ => TEXTS.contains(&name),
    }
}

#[cfg(test)]
mod tests {
    use super::is_reported;

    #[test]
    fn secrets_and_places_are_left_out_and_what_makes_a_difference_is_not() {
        for name in [
            "archive_command",
            "data_directory",
            "primary_conninfo",
            "restore_command",
            "ssl_key_file",
            "ssl_passphrase_command",
            "unix_socket_directories",
            // An unknown name of an extension.
            "vault.token",
        ] {
            assert!(!is_reported(name, "string"), "{name}");
        }
        assert!(!is_reported("password_encryption", "enum"));
        assert!(!is_reported("port", "integer"));
        for (name, kind) in [
            ("shared_buffers", "integer"),
            ("jit", "bool"),
            ("random_page_cost", "real"),
            ("wal_level", "enum"),
            ("shared_preload_libraries", "string"),
            ("debug_io_direct", "string"),
        ] {
            assert!(is_reported(name, kind), "{name}");
        }
    }
}
