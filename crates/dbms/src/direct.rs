//! Whether a DBMS reads its data by direct IO, without the page cache.

use std::collections::BTreeMap;

use rqps_plan::Contender;

use crate::descriptor::{Deciding, Descriptor};

/// Whether a contender reads its data by direct IO, by the first deciding setting in force.
pub fn reads_directly(contender: &Contender, settings: &BTreeMap<String, String>) -> bool {
    let decided = |&(name, is_direct): &Deciding| Some(is_direct(settings.get(name)?.as_str()));
    <&Descriptor>::from(contender).direct_reads.iter().find_map(decided).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_the_engine_decide() {
        type Settings = &'static [(&'static str, &'static str)];
        let cases: [(&str, Settings, bool); 13] = [
            ("sqlite", &[("mmap_size", "0")], false),
            ("postgres@15.14", &[], false),
            ("postgres", &[("debug_io_direct", "")], false),
            ("postgres", &[("debug_io_direct", "wal")], false),
            ("postgres", &[("debug_io_direct", "wal, data")], true),
            ("mysql@5.6.14", &[("innodb_flush_method", "")], false),
            ("mysql", &[("innodb_flush_method", "fsync")], false),
            ("mysql", &[("innodb_flush_method", "O_DIRECT_NO_FSYNC")], true),
            ("mysql", &[("innodb_flush_method", "ALL_O_DIRECT")], true),
            (
                "mariadb",
                &[("innodb_flush_method", "O_DIRECT"), ("innodb_data_file_buffering", "ON")],
                false,
            ),
            (
                "mariadb",
                &[("innodb_flush_method", "fsync"), ("innodb_data_file_buffering", "OFF")],
                true,
            ),
            (
                "mariadb/rocksdb",
                &[("innodb_flush_method", "O_DIRECT"), ("rocksdb_use_direct_reads", "OFF")],
                false,
            ),
            ("mysql/rocksdb", &[("rocksdb_use_direct_reads", "ON")], true),
        ];
        for (contender, settings, expected) in cases {
            let setting = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
            let in_force = settings.iter().map(setting).collect();
            let found = reads_directly(&contender.parse().unwrap(), &in_force);
            assert_eq!(found, expected, "{contender} {settings:?}");
        }
    }
}
