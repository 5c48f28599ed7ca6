//! pgbench's scripts as data: their texts, their weights, and how they are sent.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Specification, SpecificationError, Workload};
use crate::build::Build;
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::quantity::Span;

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pgbench {
    /// The tests.
    pub scripts: Vec<PgbenchScript>,
    /// One more test, which plays all scripts by their weights.
    pub mix: bool,
    pub scale: u32,
    pub mode: QueryMode,
    /// Variables that are set before the scripts begin.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub defines: BTreeMap<String, String>,
    /// A variable without a value is NULL where it is sent as a parameter, as in pgbench.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undefined_is_null: bool,
    pub clients: u32,
    /// The measured time of a test.
    pub time: Span,
}

/// A script of pgbench.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PgbenchScript {
    /// The name of its test.
    pub id: String,
    /// As the user named it: a path, or a builtin script.
    pub source: String,
    pub is_builtin: bool,
    pub text: String,
    pub weight: u64,
    pub class: Class,
    /// It waits, and not for the server.
    pub sleeps: bool,
}

/// The test that plays all scripts.
pub const MIX: &str = "mix";

/// How statements are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QueryMode {
    /// As text.
    Simple,
    /// With parameters, parsed for each execution.
    Extended,
    /// With parameters, parsed once.
    Prepared,
}

impl QueryMode {
    pub const ALL: [QueryMode; 3] = [QueryMode::Simple, QueryMode::Extended, QueryMode::Prepared];

    pub fn name(self) -> &'static str {
        match self {
            QueryMode::Simple => "simple",
            QueryMode::Extended => "extended",
            QueryMode::Prepared => "prepared",
        }
    }
}

impl fmt::Display for QueryMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for QueryMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = QueryMode::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| {
            format!("invalid query mode '{text}'. Write simple, extended or prepared")
        })
    }
}

/// The shortest measured time of a test.
const SHORTEST: Duration = Duration::from_millis(100);

/// Rows of the Insert Benchmark that take as much space as one scale: 100,000 accounts with their
/// index.
const ROWS: u64 = 150_000;

impl Pgbench {
    /// The class of the test that plays all scripts: of one kind, if they are.
    pub fn class_of_mix(&self) -> Class {
        let mut classes = self.scripts.iter().map(|script| script.class);
        let first = classes.next().unwrap_or(Class::ReadWrite);
        if classes.all(|class| class == first) { first } else { Class::ReadWrite }
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.scripts.iter().map(|script| script.id.as_str()).collect();
        names.join(", ")
    }
}

impl Specification for Pgbench {
    fn title(&self) -> &'static str {
        "pgbench"
    }

    fn verb(&self) -> &'static str {
        "compare"
    }

    fn phrase(&self) -> String {
        let clients = match self.clients {
            1 => "one client".to_string(),
            clients => format!("{clients} clients"),
        };
        let scripts = if self.scripts.len() == 1 { "script" } else { "scripts" };
        let (names, scale, mode) = (self.names(), self.scale, self.mode);
        format!("pgbench's {scripts} {names} at scale {scale}, {mode}, with {clients}")
    }

    fn size(&self) -> String {
        let (names, scale, mode) = (self.names(), self.scale, self.mode);
        format!("pgbench:{names}, scale {scale}, {mode}, clients: {}", self.clients)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let script = |script: &PgbenchScript| match script.weight {
            1 => script.source.clone(),
            weight => format!("{}@{weight}", script.source),
        };
        let scripts: Vec<String> = self.scripts.iter().map(script).collect();
        let mut facts = vec![
            ("scripts", scripts.join(", ")),
            ("scale", format!("{} (100K accounts each)", self.scale)),
            ("query mode", self.mode.to_string()),
            ("clients", self.clients.to_string()),
            ("time", format!("{} per test", self.time)),
            ("rows", "not compared".to_string()),
        ];
        if !self.defines.is_empty() {
            let names: Vec<&str> = self.defines.keys().map(String::as_str).collect();
            facts.push(("variables", names.join(", ")));
        }
        facts
    }

    fn tests(&self) -> Vec<String> {
        let ids = self.scripts.iter().map(|script| script.id.clone());
        ids.chain(self.mix.then(|| MIX.to_string())).collect()
    }

    fn is_chain(&self) -> bool {
        false
    }

    /// The scripts of a mix stay.
    fn only(&self, tests: &[String]) -> Workload {
        let mut only = self.clone();
        only.mix = self.mix && tests.iter().any(|test| test == MIX);
        if !only.mix {
            only.scripts.retain(|script| tests.contains(&script.id));
        }
        only.into()
    }

    fn unchecked(&self) -> Workload {
        self.clone().into()
    }

    fn clients(&self) -> &[u32] {
        std::slice::from_ref(&self.clients)
    }

    fn counts(&self, _test: &str, _class: Class, _method: Method) -> Counts {
        Counts::Statements
    }

    fn most_rows(&self) -> u64 {
        ROWS * u64::from(self.scale)
    }

    fn is_checked(&self) -> bool {
        false
    }

    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError> {
        let is_remote = |it: &Contender| matches!(it.build, Build::Server { .. });
        let has_files = self.scripts.iter().any(|script| !script.is_builtin);
        let wrong = match () {
            () if self.scripts.is_empty() => "there is no script to run. Name one",
            () if has_files && contenders.iter().any(is_remote) => {
                "a script could change tables of a remote server. Name builds"
            }
            () if self.scale == 0 => "scale must be at least 1",
            () if self.clients == 0 => "clients must be at least 1",
            () if self.time.0 < SHORTEST => "secs must be at least 0.1",
            () => return Ok(()),
        };
        Err(SpecificationError(wrong.to_string()))
    }

    fn refused_by_slices(&self, _tests: &[String]) -> Option<String> {
        let script = self.scripts.iter().find(|script| script.sleeps)?;
        let (id, source) = (&script.id, &script.source);
        Some(format!(
            "script '{id}' ({source}) has \\sleep, and the sleep would be measured. Use --method \
             runs"
        ))
    }

    fn flags(&self, test: &str) -> Vec<(&'static str, String)> {
        let is_wanted = |script: &&PgbenchScript| script.id == test || test == MIX;
        let written = |script: &PgbenchScript| match test {
            MIX => format!("{}@{}", script.source, script.weight),
            _ => script.source.clone(),
        };
        let scripts: Vec<String> = self.scripts.iter().filter(is_wanted).map(written).collect();
        let mut flags = vec![
            ("workload", format!("pgbench:{}", scripts.join(","))),
            ("scale", self.scale.to_string()),
            ("secs", self.time.to_string()),
        ];
        if self.mode != QueryMode::Simple {
            flags.push(("query-mode", self.mode.to_string()));
        }
        flags
    }
}
