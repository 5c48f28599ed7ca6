//! The expanded plan, as stored in the run directory: enough to repeat the run.

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::comparison::{Comparison, ComparisonError};
use crate::contender::{Contender, check_names};
use crate::contender_error::ContenderError;
use crate::dbms::Interface;
use crate::design::Design;
use crate::quantity::Memory;
use crate::workload::{SpecificationError, Workload};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The first is the baseline.
    pub contenders: Vec<Contender>,
    /// All random draws derive from it: data, order and arrival times.
    pub seed: u64,
    /// How much of the data each DBMS caches; none: as in its config.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<Cache>,
    /// The memory limit of each server, including the page cache of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What is run, and how.
    #[serde(rename = "workload")]
    pub design: Design,
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("a plan needs at least one contender. Add one")]
    NoContender,
    #[error(transparent)]
    Contender(#[from] ContenderError),
    #[error(
        "cannot limit the memory of '{0}': --memory needs a server that rqps starts as a process of its \
         own. Drop it"
    )]
    Memory(String),
    #[error(
        "'{0}' has no SQL, so it cannot run {1}. Use the workloads of db_bench, as in --workload \
         rocksdb:readrandom, or rqps dbbench"
    )]
    NoSql(String, &'static str),
    #[error("'{0}' cannot run {1}, which are for RocksDB. Drop it, or use another workload")]
    NotRocksdb(String, &'static str),
    #[error("cannot use the place of '{0}': only rqps compare has places of tables. Drop place=")]
    Place(String),
    #[error(transparent)]
    Workload(#[from] SpecificationError),
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
    #[error("cannot read the plan: line {line}: {reason}")]
    Syntax { line: usize, reason: String },
    #[error("line {line}: '{key}' is called '{now}' since 0.1.0. Rename it")]
    Renamed { line: usize, key: &'static str, now: &'static str },
}

/// Keys by the names that they had, and have now.
const RENAMED: [(&str, &str); 6] = [
    ("base_from", "baseline_from"),
    ("canary", "reference_loop"),
    ("canary_rounds", "reference_loop_rounds"),
    ("head", "warm_up"),
    ("pay_after_each_write", "quiesce_after_each_write"),
    ("twin", "control"),
];

impl Plan {
    /// The workload of every contender.
    pub fn workload(&self) -> &Workload {
        match &self.design {
            Design::Single(workload) => workload,
            Design::Comparison(comparison) => &comparison.of,
        }
    }

    /// What each contender runs once; none if they are compared.
    pub fn single(&self) -> Option<&Workload> {
        match &self.design {
            Design::Single(workload) => Some(workload),
            Design::Comparison(_) => None,
        }
    }

    /// None if the plan has no verdicts.
    pub fn comparison(&self) -> Option<&Comparison> {
        match &self.design {
            Design::Single(_) => None,
            Design::Comparison(comparison) => Some(comparison),
        }
    }

    pub fn comparison_mut(&mut self) -> Option<&mut Comparison> {
        match &mut self.design {
            Design::Single(_) => None,
            Design::Comparison(comparison) => Some(comparison),
        }
    }

    pub fn validate(&self) -> Result<(), PlanError> {
        if self.contenders.is_empty() {
            return Err(PlanError::NoContender);
        }
        check_names(&self.contenders)?;
        if self.memory.is_some()
            && let Some(other) = self.contenders.iter().find(|one| !one.has_own_processes())
        {
            return Err(PlanError::Memory(other.name()));
        }
        let workload = self.workload();
        let is_other = |one: &&Contender| one.dbms.interface() != workload.interface();
        if let Some(other) = self.contenders.iter().find(is_other) {
            let error = match workload.interface() {
                Interface::Sql => PlanError::NoSql,
                Interface::KeyValue => PlanError::NotRocksdb,
            };
            return Err(error(other.name(), workload.title()));
        }
        match &self.design {
            Design::Single(workload) => {
                if let Some(one) = self.contenders.iter().find(|one| one.place.is_some()) {
                    return Err(PlanError::Place(one.name()));
                }
                workload.validate(&self.contenders)?
            }
            Design::Comparison(comparison) => comparison.validate(&self.contenders)?,
        }
        Ok(())
    }

    /// Whether a file is a stored plan, with one workload, and not a matrix that a person wrote.
    pub fn is_stored(text: &str) -> bool {
        text.parse::<toml::Table>().is_ok_and(|table| table.contains_key("workload"))
    }

    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        let plan: Plan = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = 1 + text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count();
            let reason = error.message();
            let is_unknown = |key: &str| reason.starts_with(&format!("unknown field `{key}`"));
            match RENAMED.into_iter().find(|(key, _)| is_unknown(key)) {
                Some((key, now)) => PlanError::Renamed { line, key, now },
                None => PlanError::Syntax { line, reason: reason.to_string() },
            }
        })?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as it is stored, without the passwords of URLs.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan holds only tables, lists, strings and numbers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Count, InsertBenchmark, Profile};

    #[test]
    fn a_plan_survives_its_file() {
        let plan = Plan {
            contenders: vec![
                "postgres@17.6:x10a?jit=off".parse().unwrap(),
                "again=sqlite".parse().unwrap(),
            ],
            seed: 42,
            cache: Some(Cache::IoBound),
            memory: None,
            design: Design::Single(InsertBenchmark::new(Profile::P2025, Count(100_000)).into()),
        };
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
        assert!(Plan::is_stored(&plan.to_toml()));
        assert!(!Plan::is_stored("contenders = ['sqlite']\n[ibench.small]\n"));
    }

    #[test]
    fn a_plan_from_before_an_option_is_still_read() {
        let benchmark = InsertBenchmark::new(Profile::P2025, Count(100_000));
        let (contenders, cache) = (vec!["sqlite".parse().unwrap()], None);
        let plan = Plan {
            contenders,
            seed: 42,
            cache,
            memory: None,
            design: Design::Single(benchmark.into()),
        };
        let text = plan.to_toml();
        let is_new = |line: &&str| line.starts_with("partitions") || line.starts_with("column_f");
        assert_eq!(text.lines().filter(is_new).count(), 2);
        let old: String = text.lines().filter(|l| !is_new(l)).map(|l| format!("{l}\n")).collect();
        assert_eq!(Plan::from_toml(&old).unwrap(), plan);
    }

    #[test]
    fn an_unknown_workload_is_answered_with_the_nearest_and_its_line() {
        let text = "contenders = ['sqlite']\nseed = 1\n\n[workload.micobenchmark]\nrows = '1K'\n";
        let error = Plan::from_toml(text).unwrap_err().to_string();
        assert!(error.contains("line 4"), "{error}");
        let told = "unknown workload 'micobenchmark': did you mean 'microbenchmark'?";
        assert!(error.contains(told), "{error}");
    }

    #[test]
    fn a_key_that_was_renamed_is_told_with_its_new_name() {
        let text = "contenders = ['sqlite']\nseed = 1\n\n[workload.comparison]\ntwin = true\n";
        let error = Plan::from_toml(text).unwrap_err().to_string();
        assert_eq!(error, "line 5: 'twin' is called 'control' since 0.1.0. Rename it");
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let text = "contenders = ['sqlite']\nseed = 1\nrounds = 3\n";
        assert!(Plan::from_toml(text).unwrap_err().to_string().contains("rounds"));
    }
}
