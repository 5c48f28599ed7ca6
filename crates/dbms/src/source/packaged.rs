//! Versions as packages name them, and which of them is fetched.

use rqps_plan::{Dbms, Source};

use super::version::{compare, is};
use crate::registry::descriptor;

/// The maturity of the packaging; the DBMS inside is always a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Alpha,
    Beta,
    Final,
}

/// A version in a package registry, as `17.6.0-beta.15`, `11.22.1`, `10.5.0-1`, `9.6.24`,
/// `8.0.33.1`, `10.11.14-0+deb12u2` or `1:11.8.9+ds-0+deb13u1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Packaged {
    /// Its name in the registry.
    pub(super) name: String,
    /// Its usual name: `17.6`.
    pub(super) version: String,
    pub(super) source: Source,
    stage: Stage,
    /// Orders repackagings of the same version: the third number, then those after the dash.
    repackaging: Vec<u32>,
}

impl Packaged {
    /// None where the name does not start with numbers.
    pub(super) fn parse(dbms: Dbms, source: &Source, name: &str) -> Option<Packaged> {
        // Debian's epoch, by which apt orders: `1:11.8.6`.
        let (_, version) = name.split_once(':').unwrap_or(("", name));
        let (upstream, tag) = version.split_once('-').unwrap_or((version, ""));
        // After a plus Debian notes changes to the sources: `11.8.9+ds`.
        let numbers = upstream.split_once('+').map_or(upstream, |(numbers, _)| numbers);
        let numbers: Vec<u32> =
            numbers.split('.').map(|n| n.parse().ok()).collect::<Option<_>>()?;
        let told = (descriptor(dbms, None).numbers)(*numbers.first()?);
        let (told, rest) = numbers.split_at(told.min(numbers.len()));
        let version = told.iter().map(u32::to_string).collect::<Vec<_>>().join(".");
        let mut repackaging = vec![rest.first().copied().unwrap_or(0)];
        repackaging.extend(tag.split('.').filter_map(|part| part.parse::<u32>().ok()));
        let stage = match tag {
            _ if tag.contains("alpha") => Stage::Alpha,
            _ if tag.starts_with(|c: char| c.is_ascii_alphabetic()) => Stage::Beta,
            _ => Stage::Final,
        };
        let (name, source) = (name.to_string(), source.clone());
        Some(Packaged { name, version, source, stage, repackaging })
    }

    fn rank(&self) -> (Stage, &[u32]) {
        (self.stage, &self.repackaging)
    }
}

/// The best packaging of exactly this version in the first source that has it: an alpha only if
/// there is nothing else, then the highest.
pub(super) fn exact<'a>(packaged: &'a [Packaged], wanted: &str) -> Option<&'a Packaged> {
    let source = &packaged.iter().find(|p| p.version == wanted)?.source;
    let of_source = packaged.iter().filter(|p| p.version == wanted && p.source == *source);
    of_source.max_by(|a, b| a.rank().cmp(&b.rank()))
}

/// The best packaging of the version, or of the newest that starts with it: `17` is the newest
/// 17.x.
pub(super) fn choose<'a>(packaged: &'a [Packaged], wanted: &str) -> Option<&'a Packaged> {
    exact(packaged, wanted).or_else(|| newest_of(packaged, |p| is(&p.version, wanted)))
}

/// The best packaging of the newest version, skipping those that exist only as alpha.
pub(super) fn newest(packaged: &[Packaged]) -> Option<&Packaged> {
    newest_of(packaged, |_| true)
}

fn newest_of(packaged: &[Packaged], which: impl Fn(&Packaged) -> bool) -> Option<&Packaged> {
    let stable = packaged.iter().filter(|p| p.stage > Stage::Alpha && which(p));
    let newest = stable.max_by(|a, b| compare(&a.version, &b.version))?;
    exact(packaged, &newest.version)
}

/// The usual names of the versions, newest first, each once.
pub(super) fn newest_first(packaged: &[Packaged]) -> Vec<String> {
    let mut versions: Vec<String> = packaged.iter().map(|p| p.version.clone()).collect();
    versions.sort_by(|a, b| compare(b, a));
    versions.dedup();
    versions
}

#[cfg(test)]
mod tests {
    use super::super::version::alternatives;
    use super::*;

    const NPM: &[&str] = &[
        "10.20.0-beta.6",
        "10.23.0-beta.6",
        "11.22.1-beta.9",
        "11.22.1-beta.10",
        "11.22.1-beta.11",
        "14.3.0-alpha.2",
        "14.3.0-alpha.21",
        "14.3.0-beta.6",
        "16.13.0-beta.16",
        "16.13.0-beta.17",
        "17.6.0-beta.15",
        "18.0.0-beta.15",
    ];
    const MAVEN: &[&str] = &["9.6.10", "9.6.24", "10.5.0", "10.5.0-1", "11.22.0", "11.22.1"];

    fn all(names: &[&str]) -> Vec<Packaged> {
        let parse = |name: &&str| Packaged::parse(Dbms::Postgres, &Source::Npm, name);
        names.iter().map(|name| parse(name).unwrap()).collect()
    }

    #[test]
    fn the_highest_packaging_of_a_version_is_taken() {
        for (names, version, expected) in [
            (NPM, "17.6", "17.6.0-beta.15"),
            (NPM, "16.13", "16.13.0-beta.17"),
            (NPM, "11.22", "11.22.1-beta.11"),
            (NPM, "14.3", "14.3.0-beta.6"),
            (NPM, "10.20", "10.20.0-beta.6"),
            (MAVEN, "9.6.24", "9.6.24"),
            (MAVEN, "11.22", "11.22.1"),
            (MAVEN, "10.5", "10.5.0-1"),
            (&["14.3.0-alpha.2", "14.3.0-alpha.21"], "14.3", "14.3.0-alpha.21"),
        ] {
            let chosen = all(names);
            assert_eq!(choose(&chosen, version).map(|p| p.name.as_str()), Some(expected));
        }
    }

    #[test]
    fn the_start_of_a_version_is_the_newest_of_them() {
        for (names, wanted, expected) in [
            (NPM, "17", "17.6.0-beta.15"),
            (NPM, "10", "10.23.0-beta.6"),
            (NPM, "14", "14.3.0-beta.6"),
            (MAVEN, "9", "9.6.24"),
            (MAVEN, "9.6", "9.6.24"),
            (&["14.9.0", "14.10.0", "14.11.0-alpha.1"], "14", "14.10.0"),
        ] {
            let chosen = all(names);
            assert_eq!(choose(&chosen, wanted).map(|p| p.name.as_str()), Some(expected));
        }
        for wanted in ["17.6.0", "1", "17.60", "", "17.", "17.6.0-beta.15"] {
            assert_eq!(choose(&all(NPM), wanted), None, "{wanted}");
        }
    }

    #[test]
    fn mysql_and_mariadb_have_three_numbers() {
        for (dbms, source, name, version) in [
            (Dbms::Mysql, Source::Maven, "8.0.33.1", "8.0.33"),
            (Dbms::Mysql, Source::Maven, "5.6.14", "5.6.14"),
            (Dbms::Mysql, Source::Debian, "9.7.4-2", "9.7.4"),
            (Dbms::Mariadb, Source::Maven, "10.11.5", "10.11.5"),
            (Dbms::Mariadb, Source::Debian, "11.8.6-0+deb13u1", "11.8.6"),
            (Dbms::Mariadb, Source::Debian, "1:11.8.9+ds-0+deb13u1", "11.8.9"),
            (Dbms::Mariadb, Source::Debian, "1:11.4.5+maria~deb12", "11.4.5"),
            (Dbms::Mysql, Source::Debian, "8.0.36-28-1.bookworm", "8.0.36"),
        ] {
            let packaged = Packaged::parse(dbms, &source, name).unwrap();
            assert_eq!((packaged.version.as_str(), packaged.stage), (version, Stage::Final));
        }
    }

    #[test]
    fn the_newest_is_by_number_and_no_alpha() {
        let mut names = NPM.to_vec();
        names.extend(["9.6.24", "19.0.0-alpha.1"]);
        assert_eq!(newest(&all(&names)).unwrap().name, "18.0.0-beta.15");
    }

    #[test]
    fn people_see_each_version_once_newest_first() {
        let packaged = all(&[MAVEN, NPM].concat());
        let expected = "18.0 17.6 16.13 14.3 11.22 10.23 10.20 10.5 9.6.24 9.6.10";
        assert_eq!(newest_first(&packaged).join(" "), expected);
    }

    #[test]
    fn names_that_are_no_versions_are_passed_over() {
        for name in ["", "latest", "-1", "17.x.0", "17..6", "99999999999.1"] {
            assert_eq!(Packaged::parse(Dbms::Mysql, &Source::Maven, name), None, "{name}");
        }
    }

    #[test]
    fn what_is_offered_instead_is_short() {
        let known = newest_first(&all(NPM));
        assert_eq!(alternatives("16.99", &known), ["16.13"]);
        assert_eq!(
            alternatives("99.1", &known),
            ["18.0", "17.6", "16.13", "14.3", "11.22", "10.23"]
        );
    }
}
