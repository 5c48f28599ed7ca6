//! Histories: contenders that are releases of one DBMS.

use rqps_plan::Contender;
use rqps_store::Run;
use serde::Serialize;

use crate::builds::{Alike, alike};

/// Fewer versions are no history.
const FEWEST: usize = 3;

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct History {
    /// The DBMS, and the settings of its contenders if the page has several histories of it.
    pub name: String,
    /// The oldest first.
    pub releases: Vec<Release>,
    /// They were compiled in different ways.
    #[serde(skip)]
    pub is_of_builds: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Release {
    pub contender: String,
    pub version: String,
}

/// What is the same in all releases of a history.
#[derive(PartialEq)]
struct Line<'a> {
    dbms: &'a str,
    engine: Option<&'a str>,
    /// Config and settings; none if each version occurs once, since each then has its own.
    set: Option<String>,
}

/// Histories with enough versions, in the order of the plan.
pub fn histories(run: &Run) -> Vec<History> {
    let planned = |name: &str| run.plan.contenders.iter().find(|one| one.name() == name);
    let found: Vec<(Line<'_>, Release)> = run
        .contenders
        .iter()
        .map(|record| {
            let planned = planned(&record.name);
            let line = Line {
                dbms: &record.dbms,
                engine: planned.and_then(|one| one.engine.as_deref()),
                set: planned.map(set),
            };
            let (contender, version) = (record.name.clone(), record.version.clone());
            (line, Release { contender, version })
        })
        .collect();
    let is_twice = |line: &Line<'_>| {
        let same: Vec<&str> = found
            .iter()
            .filter(|(one, _)| (one.dbms, one.engine) == (line.dbms, line.engine))
            .map(|(_, release)| release.version.as_str())
            .collect();
        same.iter().enumerate().any(|(index, version)| same[..index].contains(version))
    };
    let apart: Vec<bool> = found.iter().map(|(line, _)| is_twice(line)).collect();
    let mut lines: Vec<(Line<'_>, Vec<Release>)> = Vec::new();
    for ((line, release), apart) in found.into_iter().zip(apart) {
        let line = Line { set: line.set.filter(|_| apart), ..line };
        match lines.iter_mut().find(|(known, _)| *known == line) {
            Some((_, releases)) => releases.push(release),
            None => lines.push((line, vec![release])),
        }
    }
    let mut histories: Vec<History> =
        lines.into_iter().filter_map(|(line, releases)| history(&line, releases)).collect();
    for history in &mut histories {
        let record =
            |release: &Release| run.contenders.iter().find(|one| one.name == release.contender);
        let records: Vec<_> = history.releases.iter().filter_map(record).collect();
        history.is_of_builds = records.windows(2).any(|pair| alike(pair[0], pair[1]) != Alike::Yes);
    }
    histories
}

fn history(line: &Line<'_>, mut releases: Vec<Release>) -> Option<History> {
    releases.sort_by_key(|release| numbers(&release.version));
    let mut versions: Vec<&str> = releases.iter().map(|one| one.version.as_str()).collect();
    versions.dedup();
    if versions.len() < FEWEST {
        return None;
    }
    let engine = line.engine.map(|engine| format!(" {engine}"));
    let set = line.set.as_deref().filter(|set| !set.is_empty()).map(|set| format!(" {set}"));
    let name = [Some(line.dbms.to_string()), engine, set].into_iter().flatten().collect();
    Some(History { name, releases, is_of_builds: false })
}

/// `:x10d?work_mem=16MB`
fn set(contender: &Contender) -> String {
    let config = contender.config.as_ref().map(|config| format!(":{config}"));
    let settings: Vec<String> =
        contender.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let settings = (!settings.is_empty()).then(|| format!("?{}", settings.join("&")));
    [config, settings].into_iter().flatten().collect()
}

/// The numbers of a version, for sorting: 9.6 comes before 10.1.
fn numbers(version: &str) -> Vec<u64> {
    let parts = version.split(|c: char| !c.is_ascii_digit());
    parts.filter_map(|digits| digits.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut versions = ["10.1", "9.6.24", "18beta1", "9.10", "18.0", "11.8.6-MariaDB"];
        versions.sort_by_key(|version| numbers(version));
        assert_eq!(versions, ["9.6.24", "9.10", "10.1", "11.8.6-MariaDB", "18.0", "18beta1"]);
    }
}
