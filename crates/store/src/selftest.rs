//! Findings of `rqps selftest` on this machine, stored beside the builds, and the method that they
//! allow for a test.

use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::{Contender, Method};
use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::files::{file, write_whole};

/// The file in rqps's home.
const FILE: &str = "selftest.json";
/// Version of the file's form.
const VERSION: u32 = 1;

/// The finding on a method for a class of tests of an engine on a host. The newest counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitness {
    /// From [`host`].
    pub host: String,
    /// From [`engine`].
    pub engine: String,
    /// `point`, `range`, `aggregate` or `write`.
    pub class: String,
    /// Clients of a contender at a time. One client is bound to a CPU with all servers, several are
    /// not: a finding with one says nothing about several.
    #[serde(default = "one")]
    pub clients: u32,
    pub method: Method,
    /// RFC 3339.
    pub date: String,
    pub rqps_version: String,
    /// The estimator that was tested (`rqps_stats::verdict::ESTIMATOR`). A finding on another says
    /// nothing about this one; 0 for findings from before estimators had numbers.
    #[serde(default)]
    pub estimator: u32,
    /// Few comparisons of each kind, or not all kinds of them.
    pub quick: bool,
    /// No finding speaks against it.
    pub is_fit: bool,
    /// The finding, in words with numbers.
    pub why: String,
}

/// Clients of a result that does not name them, from before several were possible.
fn one() -> u32 {
    1
}

/// The conditions of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asking<'a> {
    /// From [`host`].
    pub host: &'a str,
    pub clients: u32,
    /// The estimator in use.
    pub estimator: u32,
}

/// All findings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitnesses {
    version: u32,
    results: Vec<Fitness>,
}

impl Default for Fitnesses {
    fn default() -> Self {
        Fitnesses { version: VERSION, results: Vec::new() }
    }
}

/// Why the file is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{}' {reason}", path.display())]
pub struct Unreadable {
    pub path: PathBuf,
    pub reason: String,
}

/// The host and its CPUs: findings on another machine say nothing about this one.
pub fn host(machine: &[(String, String)]) -> String {
    let fact = |name: &str| {
        let found = machine.iter().find(|(known, _)| known == name);
        found.map_or("?", |(_, value)| value.as_str())
    };
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}, {} x {}", name.trim(), fact("cpus"), fact("cpu"))
}

/// `postgres`, `mysql/innodb`, `mariadb/rocksdb`, `sqlite`.
pub fn engine(contender: &Contender) -> String {
    let dbms = contender.dbms;
    match contender.engine.as_deref().or(dbms.engines().first().copied()) {
        None => dbms.to_string(),
        Some(engine) => format!("{dbms}/{engine}"),
    }
}

impl Fitnesses {
    /// No findings where there is no file.
    pub fn read(home: &Path) -> Result<Fitnesses, Unreadable> {
        let path = home.join(FILE);
        let unreadable = |reason: String| Unreadable { path: path.clone(), reason };
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Fitnesses::default());
            }
            Err(error) => return Err(unreadable(format!("cannot be read: {error}"))),
        };
        let garbled = |error: serde_json::Error| unreadable(format!("is damaged: {error}"));
        let value: serde_json::Value = serde_json::from_str(&text).map_err(garbled)?;
        match value.get("version").and_then(serde_json::Value::as_u64) {
            Some(found) if found == u64::from(VERSION) => {
                serde_json::from_value(value).map_err(garbled)
            }
            Some(found) => {
                Err(unreadable(format!("has version {found}; this rqps reads version {VERSION}")))
            }
            None => Err(unreadable("is damaged: it has no version".to_string())),
        }
    }

    /// Adds findings in place of earlier ones on the same conditions. A quick selftest without
    /// findings does not replace a complete one of the same estimator.
    pub fn add(&mut self, results: Vec<Fitness>) {
        let key = |one: &Fitness| {
            (
                one.host.clone(),
                one.engine.clone(),
                one.class.clone(),
                one.clients,
                one.method.name(),
            )
        };
        for fresh in results {
            let says_less = |old: &Fitness| {
                fresh.quick && fresh.is_fit && !old.quick && fresh.estimator == old.estimator
            };
            match self.results.iter_mut().find(|old| key(old) == key(&fresh)) {
                Some(old) if says_less(old) => {}
                Some(old) => *old = fresh,
                None => self.results.push(fresh),
            }
        }
    }

    pub fn write(&self, home: &Path) -> Result<PathBuf, StoreError> {
        fs::create_dir_all(home).map_err(file("create", home))?;
        let path = home.join(FILE);
        let text = serde_json::to_string_pretty(self).expect("plain data are JSON") + "\n";
        write_whole(&path, |out| out.write_all(text.as_bytes()))?;
        Ok(path)
    }

    /// With any estimator.
    fn find(
        &self,
        asking: Asking<'_>,
        engine: &str,
        class: &str,
        method: Method,
    ) -> Option<&Fitness> {
        self.results.iter().find(|one| {
            (one.host.as_str(), one.clients, one.engine.as_str(), one.class.as_str(), one.method)
                == (asking.host, asking.clients, engine, class, method)
        })
    }

    /// The method for a class of cached tests of contenders with these engines, and why: slices,
    /// unless the selftest found them unfit for one of the engines.
    pub fn method(&self, asking: Asking<'_>, engines: &[String], class: &str) -> (Method, String) {
        let any = |engine: &String, method| self.find(asking, engine, class, method);
        let of = |engine: &String, method| {
            any(engine, method).filter(|one| one.estimator == asking.estimator)
        };
        let failed =
            |method| engines.iter().find_map(|one| of(one, method).filter(|it| !it.is_fit));
        if let Some(slices) = failed(Method::Slices) {
            let Fitness { engine, why, .. } = slices;
            let text = format!("by selftest of {}: {engine} by slices: {why}", day(slices));
            return match failed(Method::Runs) {
                None => (Method::Runs, text),
                Some(runs) => (
                    Method::Runs,
                    format!("{text}; whole runs are not sound here either: {}", runs.why),
                ),
            };
        }
        let missing: Vec<&String> =
            engines.iter().filter(|engine| of(engine, Method::Slices).is_none()).collect();
        if missing.is_empty() {
            let oldest =
                engines.iter().filter_map(|engine| of(engine, Method::Slices)).map(day).min();
            return (Method::Slices, format!("by selftest of {}", oldest.unwrap_or_default()));
        }
        let with = match asking.clients {
            1 => String::new(),
            clients => format!(" with {clients} clients"),
        };
        let named = |engines: &[&String]| {
            let names: Vec<&str> = engines.iter().map(|engine| engine.as_str()).collect();
            format!("{}{with} here", names.join(" and "))
        };
        let earlier: Vec<&String> = missing
            .iter()
            .copied()
            .filter(|engine| any(engine, Method::Slices).is_some())
            .collect();
        let why = match earlier[..] {
            [] => format!("by default: no selftest of {}", named(&missing)),
            _ => format!(
                "by default: the selftest of {} was made with an earlier estimate: run rqps selftest again",
                named(&earlier)
            ),
        };
        (Method::Slices, why)
    }
}

fn day(one: &Fitness) -> &str {
    one.date.get(..10).unwrap_or(&one.date)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKING: Asking<'_> = Asking { host: "here, 2 x CPU", clients: 1, estimator: 3 };

    fn fitness(engine: &str, class: &str, method: Method, is_fit: bool) -> Fitness {
        Fitness {
            host: ASKING.host.to_string(),
            engine: engine.to_string(),
            class: class.to_string(),
            clients: 1,
            method,
            date: "2026-11-22T03:00:00Z".to_string(),
            rqps_version: "0.1.0".to_string(),
            estimator: ASKING.estimator,
            quick: true,
            is_fit,
            why: "9 of 40 equals were told apart".to_string(),
        }
    }

    fn chosen(known: &Fitnesses, engines: &[&str], class: &str) -> (Method, String) {
        let engines: Vec<String> = engines.iter().map(ToString::to_string).collect();
        known.method(ASKING, &engines, class)
    }

    #[test]
    fn the_selftest_decides_and_without_one_there_is_a_default() {
        let mut known = Fitnesses::default();
        let default = (Method::Slices, "by default: no selftest of postgres here".to_string());
        assert_eq!(chosen(&known, &["postgres"], "point"), default);
        known.add(vec![
            fitness("postgres", "point", Method::Slices, true),
            fitness("mysql/innodb", "write", Method::Slices, false),
            fitness("mysql/innodb", "point", Method::Slices, true),
        ]);
        let fit = (Method::Slices, "by selftest of 2026-11-22".to_string());
        assert_eq!(chosen(&known, &["postgres", "mysql/innodb"], "point"), fit);
        assert_eq!(chosen(&known, &["postgres"], "range"), default);
        let (method, why) = chosen(&known, &["postgres", "mysql/innodb"], "write");
        assert_eq!(method, Method::Runs);
        assert!(why.contains("mysql/innodb by slices: 9 of 40"), "{why}");
        known.add(vec![fitness("mysql/innodb", "write", Method::Runs, false)]);
        assert!(
            chosen(&known, &["mysql/innodb"], "write")
                .1
                .contains("whole runs are not sound here either")
        );
        known.add(vec![fitness("mysql/innodb", "write", Method::Slices, true)]);
        assert_eq!(chosen(&known, &["mysql/innodb"], "write"), fit, "the newest counts");
        let mut whole = fitness("mysql/innodb", "write", Method::Slices, false);
        whole.quick = false;
        known.add(vec![whole]);
        known.add(vec![fitness("mysql/innodb", "write", Method::Slices, true)]);
        assert_eq!(
            chosen(&known, &["mysql/innodb"], "write").0,
            Method::Runs,
            "few cells say less"
        );
        let there = Asking { host: "there", ..ASKING };
        assert_eq!(known.method(there, &["postgres".to_string()], "point").1, default.1);
    }

    #[test]
    fn as_many_clients_go_by_a_result_and_no_others() {
        let four = Fitness { clients: 4, ..fitness("postgres", "point", Method::Slices, false) };
        let mut known = Fitnesses::default();
        known.add(vec![four, fitness("postgres", "point", Method::Slices, true)]);
        let of = |clients| {
            known.method(Asking { clients, ..ASKING }, &["postgres".to_string()], "point")
        };
        assert_eq!(of(1), (Method::Slices, "by selftest of 2026-11-22".to_string()));
        assert_eq!(of(4).0, Method::Runs);
        let none = "by default: no selftest of postgres with 2 clients here";
        assert_eq!(of(2), (Method::Slices, none.to_string()));
    }

    #[test]
    fn a_result_that_names_no_clients_is_of_one_and_one_without_an_estimator_of_an_earlier_one() {
        let one = fitness("postgres", "point", Method::Slices, true);
        let mut stored = serde_json::to_value(&one).unwrap();
        stored.as_object_mut().unwrap().remove("clients");
        stored.as_object_mut().unwrap().remove("estimator");
        let read: Fitness = serde_json::from_value(stored).unwrap();
        assert_eq!(read, Fitness { estimator: 0, ..one });
    }

    #[test]
    fn what_was_found_of_another_estimator_decides_nothing() {
        let mut known = Fitnesses::default();
        let earlier = Fitness {
            estimator: ASKING.estimator - 1,
            quick: false,
            ..fitness("postgres", "point", Method::Slices, false)
        };
        known.add(vec![earlier, fitness("sqlite", "point", Method::Slices, true)]);
        let (method, why) = chosen(&known, &["postgres", "sqlite"], "point");
        assert_eq!(method, Method::Slices, "it was unfit by another estimate");
        assert_eq!(
            why,
            "by default: the selftest of postgres here was made with an earlier estimate: run rqps \
             selftest again"
        );
        let none = "by default: no selftest of postgres here";
        assert_eq!(chosen(&known, &["postgres"], "range").1, none);
        // A complete one of an earlier estimator says less than a quick one of this.
        known.add(vec![fitness("postgres", "point", Method::Slices, true)]);
        assert_eq!(chosen(&known, &["postgres"], "point").1, "by selftest of 2026-11-22");
    }

    #[test]
    fn what_is_written_is_read_and_what_is_garbled_or_of_another_version_is_told() {
        let home = tempfile::tempdir().unwrap();
        assert_eq!(Fitnesses::read(home.path()), Ok(Fitnesses::default()));
        let mut known = Fitnesses::default();
        known.add(vec![fitness("postgres", "point", Method::Slices, true)]);
        let path = known.write(home.path()).unwrap();
        assert_eq!(Fitnesses::read(home.path()), Ok(known));
        for (text, said) in [
            ("{\"version\": 1, \"resu", "is damaged"),
            ("[]", "it has no version"),
            ("{\"version\": 1}", "is damaged: missing field `results`"),
            ("{\"version\": 0, \"hosts\": {}}", "has version 0; this rqps reads version 1"),
        ] {
            fs::write(&path, text).unwrap();
            let error = Fitnesses::read(home.path()).unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("selftest.json"), "{error}");
        }
    }

    #[test]
    fn engines_are_told_apart() {
        for (contender, name) in [
            ("postgres@17.6", "postgres"),
            ("sqlite", "sqlite"),
            ("mysql@8.0.33", "mysql/innodb"),
            ("mariadb@10.11/rocksdb", "mariadb/rocksdb"),
        ] {
            assert_eq!(engine(&contender.parse().unwrap()), name);
        }
    }
}
