//! sysbench's Lua scripts as data: their texts, their options, and what a trial showed of them.

use std::collections::BTreeMap;
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
pub struct LuaWorkload {
    /// The tests.
    pub scripts: Vec<LuaTest>,
    /// The scripts' options that were given, by their names with underscores.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    pub clients: u32,
    /// The measured time of a test.
    pub time: Span,
}

/// A script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LuaTest {
    /// The name of its test.
    pub id: String,
    /// As the user named it.
    pub source: String,
    pub text: String,
    /// The texts of the modules that it requires.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, String>,
    pub class: Class,
    /// How many an event sends.
    pub statements: f64,
    /// It has a command that makes its tables.
    pub prepares: bool,
    /// Otherwise it is only there for its tables.
    pub is_measured: bool,
}

/// The shortest measured time of a test.
const SHORTEST: Duration = Duration::from_millis(100);

/// The options that decide how large the tables of sysbench's own scripts are, and their defaults.
const SIZES: [(&str, u64); 2] = [("tables", 1), ("table_size", 10_000)];

impl LuaWorkload {
    /// The scripts that are tests.
    pub fn measured(&self) -> impl Iterator<Item = &LuaTest> {
        self.scripts.iter().filter(|script| script.is_measured)
    }

    fn names(&self) -> String {
        self.tests().join(", ")
    }

    fn given(&self) -> String {
        let option = |(name, value): (&String, &String)| format!("{name}={value}");
        self.options.iter().map(option).collect::<Vec<_>>().join(", ")
    }
}

impl Specification for LuaWorkload {
    fn title(&self) -> &'static str {
        "sysbench scripts"
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
        let given = match self.given() {
            given if given.is_empty() => String::new(),
            given => format!(", {given},"),
        };
        format!("the Lua {scripts} {}{given} with {clients}", self.names())
    }

    fn size(&self) -> String {
        let given = self.given();
        let given = if given.is_empty() { String::new() } else { format!(", {given}") };
        format!("lua:{}{given}, clients: {}", self.names(), self.clients)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let sources: Vec<&str> = self.scripts.iter().map(|it| it.source.as_str()).collect();
        let mut facts = vec![
            ("scripts", sources.join(", ")),
            ("clients", self.clients.to_string()),
            ("time", format!("{} per test", self.time)),
            ("rows", "not compared".to_string()),
        ];
        if !self.options.is_empty() {
            facts.push(("options", self.given()));
        }
        facts
    }

    fn tests(&self) -> Vec<String> {
        self.measured().map(|script| script.id.clone()).collect()
    }

    fn is_chain(&self) -> bool {
        false
    }

    /// The first script stays, because it makes the tables.
    fn only(&self, tests: &[String]) -> Workload {
        let mut only = self.clone();
        for script in &mut only.scripts {
            script.is_measured &= tests.contains(&script.id);
        }
        let first = only.scripts.first().map(|script| script.id.clone());
        only.scripts.retain(|script| script.is_measured || Some(&script.id) == first.as_ref());
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
        let of = |(name, usual): (&str, u64)| {
            let given = self.options.get(name).and_then(|value| value.parse::<f64>().ok());
            given.map_or(usual, |given| given.max(1.0) as u64)
        };
        SIZES.into_iter().map(of).fold(1, u64::saturating_mul)
    }

    fn is_checked(&self) -> bool {
        false
    }

    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError> {
        let is_remote = |it: &Contender| matches!(it.build, Build::Server { .. });
        let wrong = match () {
            () if self.measured().next().is_none() => "there is no script to run. Name one",
            () if contenders.iter().any(is_remote) => {
                "a script could change tables of a remote server. Name builds, or use rqps \
                 sysbench"
            }
            () if self.clients == 0 => "clients must be at least 1",
            () if self.time.0 < SHORTEST => "secs must be at least 0.1",
            () => return Ok(()),
        };
        Err(SpecificationError(wrong.to_string()))
    }

    fn flags(&self, test: &str) -> Vec<(&'static str, String)> {
        let is_here = |(place, script): &(usize, &LuaTest)| *place == 0 || script.id == test;
        let these = self.scripts.iter().enumerate().filter(is_here);
        let sources: Vec<&str> = these.map(|(_, script)| script.source.as_str()).collect();
        let mut flags = vec![
            ("workload", format!("lua:{}", sources.join(","))),
            ("secs", self.time.to_string()),
        ];
        let option = |(name, value): (&String, &String)| ("define", format!("{name}={value}"));
        flags.extend(self.options.iter().map(option));
        flags
    }
}
