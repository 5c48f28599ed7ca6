//! How contenders were compiled: whether that differs, and what a reader must know of it before
//! their figures.

use rqps_plan::Flags;
use rqps_store::ContenderRecord;

use crate::names::list;

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

/// A line for each unusual way of compiling, and one if the builds are not alike.
pub fn lines(contenders: &[ContenderRecord]) -> Vec<String> {
    let mut ways: Vec<(String, Vec<&str>)> = Vec::new();
    for record in contenders {
        let Some(way) = record.flags.as_ref().and_then(Flags::unusual) else { continue };
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, names)) => names.push(&record.name),
            None => ways.push((way, vec![&record.name])),
        }
    }
    let line = |(way, names): (String, Vec<&str>)| {
        format!(
            "{}: {way}. Distributions ship other builds, so differences between releases may not be \
             those of your servers",
            list(&names)
        )
    };
    ways.into_iter().map(line).chain(unlike(contenders)).collect()
}

/// A line for builds of one DBMS that differ by more than their versions.
fn unlike(contenders: &[ContenderRecord]) -> Option<String> {
    let mut in_flags: Vec<&str> = Vec::new();
    let mut in_packaging = Vec::new();
    for (index, one) in contenders.iter().enumerate() {
        for other in contenders[..index].iter().filter(|other| other.dbms == one.dbms) {
            in_flags.extend(differences(one, other));
            let packaging = [
                ("source", one.source != other.source),
                ("compiler", one.compiler != other.compiler),
                ("C library", one.libc != other.libc),
            ];
            in_packaging.extend(packaging.into_iter().filter(|(_, is)| *is).map(|(what, _)| what));
        }
    }
    let is_of_flags = !in_flags.is_empty();
    let mut all: Vec<&str> = Vec::new();
    for what in in_flags.into_iter().chain(in_packaging) {
        if !all.contains(&what) {
            all.push(what);
        }
    }
    let (last, first) = all.split_last()?;
    let what = match first {
        [] => last.to_string(),
        first => format!("{} and {last}", first.join(", ")),
    };
    let meaning = match is_of_flags {
        true => "differences in results are between builds, not only between releases",
        false => "not only in version",
    };
    let mark = if is_of_flags { ": " } else { ", " };
    Some(format!(
        "builds of one DBMS differ in {what}{mark}{meaning}. See the contenders in the report"
    ))
}

/// The mark behind labels of a pair with an unusual build: `built -Os`, or `built -O2, baseline
/// -Os`.
pub fn mark(base: Option<&Flags>, contender: Option<&Flags>) -> Option<String> {
    let marks = [base, contender].map(|flags| flags.and_then(Flags::mark));
    let told = |flags: Option<&Flags>| flags.map_or("not known".to_string(), Flags::short);
    match marks {
        [None, None] => None,
        [Some(one), Some(other)] if one == other => Some(format!("built {one}")),
        _ => Some(format!("built {}, baseline {}", told(contender), told(base))),
    }
}

#[cfg(test)]
mod tests {
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
    fn builds_for_size_are_named_in_one_line() {
        let [old, new] = ["old", "new"].map(|name| record(name, name, "npm", "-Os"));
        let debian = record("deb", "18", "debian", "-O2");
        assert_eq!(
            lines(&[old.clone(), new.clone()]),
            ["old, new: built for size (-Os). Distributions ship other builds, so differences \
              between releases may not be those of your servers"]
        );
        let all = lines(&[old, new, debian.clone()]);
        assert_eq!(
            all[1],
            "builds of one DBMS differ in optimisation level and source: differences in results are \
             between builds, not only between releases. See the contenders in the report"
        );
        assert_eq!(all.len(), 2);
        let other = ContenderRecord { name: "other".to_string(), ..debian.clone() };
        assert_eq!(lines(&[debian, other]), Vec::<String>::new());
    }

    #[test]
    fn labels_carry_what_is_not_usual_of_either_side() {
        let [size, speed] = ["-Os", "-O2"]
            .map(|level| Flags { level: Some(level.to_string()), ..Flags::default() });
        assert_eq!(mark(Some(&speed), Some(&speed)), None);
        assert_eq!(mark(Some(&size), Some(&size)).unwrap(), "built -Os");
        assert_eq!(mark(Some(&size), Some(&speed)).unwrap(), "built -O2, baseline -Os");
        assert_eq!(mark(Some(&speed), Some(&size)).unwrap(), "built -Os, baseline -O2");
        let unknown = Flags::unknown("stripped");
        assert_eq!(mark(Some(&size), Some(&unknown)).unwrap(), "built not known, baseline -Os");
        assert_eq!(mark(None, None), None);
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
