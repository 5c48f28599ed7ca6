//! Whether builds differ in more than their sources.

use rqps_store::ContenderRecord;

/// Whether two builds of one DBMS were compiled in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alike {
    /// No difference is known.
    Yes,
    /// Packaged builds of one version with different compiler flags.
    ButForFlags,
    No,
}

/// The compiler flags in which they differ.
pub fn differences(one: &ContenderRecord, other: &ContenderRecord) -> Vec<&'static str> {
    match (&one.flags, &other.flags) {
        (Some(flags), Some(others)) => flags.differences(others),
        _ => Vec::new(),
    }
}

/// Whether two builds differ in their sources only.
pub fn alike(one: &ContenderRecord, other: &ContenderRecord) -> Alike {
    let is_packaged = |record: &ContenderRecord| !record.source.starts_with('/');
    match (one.dbms == other.dbms, differences(one, other).is_empty()) {
        (true, false) if one.version == other.version && is_packaged(one) && is_packaged(other) => {
            Alike::ButForFlags
        }
        (true, false) => Alike::No,
        (_, true) | (false, _) => Alike::Yes,
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::Flags;

    use super::*;

    fn record(name: &str, version: &str, source: &str, level: &str) -> ContenderRecord {
        ContenderRecord {
            name: name.to_string(),
            dbms: "postgres".to_string(),
            version: version.to_string(),
            source: source.to_string(),
            flags: Some(Flags { level: Some(level.to_string()), ..Flags::default() }),
            ..ContenderRecord::default()
        }
    }

    #[test]
    fn one_version_of_two_packagers_is_one_source_and_a_folder_may_be_anything() {
        let size = record("a", "17.6", "npm", "-Os");
        let speed = record("b", "17.6", "debian", "-O2");
        assert_eq!(alike(&size, &speed), Alike::ButForFlags);
        assert_eq!(alike(&size, &size), Alike::Yes);
        let newer = ContenderRecord { version: "18.0".to_string(), ..speed.clone() };
        assert_eq!(alike(&size, &newer), Alike::No);
        let own = ContenderRecord { source: "/opt/patched".to_string(), ..speed.clone() };
        assert_eq!(alike(&size, &own), Alike::No);
        let mysql = ContenderRecord { dbms: "mysql".to_string(), ..speed.clone() };
        assert_eq!(alike(&size, &mysql), Alike::Yes, "another DBMS is more than another build");
        let untold = ContenderRecord { flags: None, ..speed };
        assert_eq!(alike(&size, &untold), Alike::Yes, "of a run of an older rqps");
    }
}
