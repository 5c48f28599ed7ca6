//! A comparison whose outcome is known, and whether it came out.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

/// Counts of one build differ by less.
const SAME: f64 = 0.001;
/// The error of an added number of instructions, as a share of it.
const ERROR: f64 = 0.05;
/// How many functions of the profile are looked at.
const HOTTEST: usize = 10;

/// A comparison whose outcome is known.
pub(crate) struct Case {
    pub(crate) what: &'static str,
    /// The baseline and the contender.
    pub(crate) contenders: [String; 2],
    pub(crate) tests: &'static [&'static str],
    /// Otherwise only instructions are counted.
    pub(crate) is_timed: bool,
    pub(crate) expected: Expected,
}

pub(crate) enum Expected {
    SameCount,
    /// So many instructions per operation, most of them in this function.
    MoreBy(f64, &'static str),
    /// Of tests that have changed.
    Kind(&'static str),
    /// The function whose instructions change most is one of those whose samples do.
    FunctionsOfProfile,
}

pub(crate) struct Outcome {
    pub(crate) what: &'static str,
    pub(crate) right: usize,
    pub(crate) of: usize,
    pub(crate) found: String,
    /// Of a test in a contender, if nothing else was done.
    pub(crate) counting: Option<Duration>,
}

impl Case {
    pub(crate) fn run(&self, out: &Path, is_full: bool) -> anyhow::Result<Outcome> {
        let tests = self.tests.join(",");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rqps"));
        command.arg("compare").args(&self.contenders).arg("--workload");
        command.arg(format!("micro:{tests}")).args(["--rows", "20K", "--out"]).arg(out);
        match self.is_timed {
            true => {
                command.arg(format!("--instructions={tests}"));
                match is_full {
                    true => command.args(["--rounds", "8"]),
                    false => command.args(["--rounds", "3", "--no-guards"]),
                };
            }
            false => drop(command.arg("--instructions-only")),
        }
        if matches!(self.expected, Expected::FunctionsOfProfile) {
            command.arg("--profile=all");
        }
        let begun = Instant::now();
        let output = command.output()?;
        // 1: something has changed, which is meant here.
        if !matches!(output.status.code(), Some(0 | 1)) {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("rqps ended with {}: {}", output.status, said.trim_end());
        }
        let counted = (2 * self.tests.len()) as u32;
        let counting = (!self.is_timed).then(|| begun.elapsed() / counted);
        let text = fs::read_to_string(out.join("result.json"))?;
        let result: Value = serde_json::from_str(&text)?;
        let contender = result["comparison"]["contenders"].as_array().and_then(|all| all.last());
        let contender = contender.context("a result has contenders")?;
        let (right, of, found) = self.judged(contender)?;
        Ok(Outcome { what: self.what, right, of, found, counting })
    }

    /// How many are as expected, of how many, and what was found.
    fn judged(&self, contender: &Value) -> anyhow::Result<(usize, usize, String)> {
        let counts = contender["instructions"].as_array().context("instructions")?;
        let tests = contender["tests"].as_array().context("tests")?;
        Ok(match &self.expected {
            Expected::SameCount => {
                let changes: Vec<f64> =
                    counts.iter().filter_map(|one| one["change"].as_f64()).collect();
                let right = changes.iter().filter(|change| change.abs() <= SAME).count();
                (right, self.tests.len(), format!("{} %", range(&changes, 100.0, 3)))
            }
            Expected::MoreBy(added, function) => {
                let of = |one: &Value| {
                    let of = |side: &str| one[side]["instructions"].as_f64();
                    Some((of("contender")? - of("baseline")?, first(one)?.to_string()))
                };
                let found: Vec<(f64, String)> = counts.iter().filter_map(of).collect();
                let is_right = |(change, name): &&(f64, String)| {
                    (change / added - 1.0).abs() <= ERROR && name == function
                };
                let right = found.iter().filter(is_right).count();
                let changes: Vec<f64> = found.iter().map(|(change, _)| *change).collect();
                let functions = listed(found.iter().map(|(_, name)| name.as_str()));
                (
                    right,
                    self.tests.len(),
                    format!("{}; first: {functions}", range(&changes, 1.0, 0)),
                )
            }
            Expected::Kind(kind) => {
                let is_changed = |test: &&Value| {
                    test["label"].as_str().is_some_and(|label| label.ends_with("regression"))
                };
                let changed: Vec<&Value> = tests.iter().filter(is_changed).collect();
                let kinds =
                    || changed.iter().map(|test| test["kind"].as_str().unwrap_or("unknown"));
                let ratios: Vec<f64> =
                    tests.iter().filter_map(|test| test["ratio"]["value"].as_f64()).collect();
                let found = format!(
                    "{} of {} tests slower ({}): {}",
                    changed.len(),
                    tests.len(),
                    range(&ratios, 1.0, 3),
                    listed(kinds())
                );
                (kinds().filter(|found| found == kind).count(), changed.len(), found)
            }
            Expected::FunctionsOfProfile => {
                let hottest = hottest(contender);
                let executed: Vec<&str> = counts.iter().filter_map(first).collect();
                let right = executed.iter().filter(|name| hottest.contains(*name)).count();
                (right, counts.len(), format!("first: {}", listed(executed.into_iter())))
            }
        })
    }
}

/// The function whose instructions differ most.
fn first(count: &Value) -> Option<&str> {
    count["functions"].get(0)?["name"].as_str()
}

/// The functions of the profiles whose samples differ most.
fn hottest(contender: &Value) -> Vec<&str> {
    let profiles = contender["profiles"].as_array().map_or(&[][..], Vec::as_slice);
    let functions = profiles.iter().filter_map(|profile| profile["functions"].as_array());
    functions
        .flat_map(|all| all.iter().take(HOTTEST))
        .filter_map(|one| one["name"].as_str())
        .collect()
}

/// The least and the most.
fn range(values: &[f64], times: f64, decimals: usize) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min) * times;
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max) * times;
    format!("{least:.decimals$} to {most:.decimals$}")
}

/// Each once, with how often it is there.
fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut counted: Vec<(&str, usize)> = Vec::new();
    for name in names {
        match counted.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => counted.push((name, 1)),
        }
    }
    let told = counted.iter().map(|(name, count)| format!("{name} {count}"));
    told.collect::<Vec<_>>().join(", ")
}
