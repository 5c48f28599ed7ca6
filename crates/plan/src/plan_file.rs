//! The expanded plan, as it is kept in the run directory: enough to repeat the run.

use serde::{Deserialize, Serialize};

use crate::contender::{Contender, ContenderError, check_names};
use crate::insert_benchmark::{InsertBenchmark, InsertBenchmarkError};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The first is the one the others are relative to.
    pub contenders: Vec<Contender>,
    /// All random draws derive from it: data, order and arrival times.
    pub seed: u64,
    pub insert_benchmark: InsertBenchmark,
}

#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    #[error("a plan needs at least one contender")]
    NoContender,
    #[error(transparent)]
    Contender(#[from] ContenderError),
    #[error(transparent)]
    InsertBenchmark(#[from] InsertBenchmarkError),
    #[error("not a plan: {0}")]
    Syntax(#[from] toml::de::Error),
}

impl Plan {
    pub fn validate(&self) -> Result<(), PlanError> {
        if self.contenders.is_empty() {
            return Err(PlanError::NoContender);
        }
        check_names(&self.contenders)?;
        self.insert_benchmark.validate()?;
        Ok(())
    }

    pub fn from_toml(text: &str) -> Result<Self, PlanError> {
        let plan: Plan = toml::from_str(text)?;
        plan.validate()?;
        Ok(plan)
    }

    /// The plan as it is stored. Passwords in URLs are left out.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a plan holds only tables, lists, strings and numbers")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, Count, Profile};

    #[test]
    fn a_plan_survives_its_file() {
        let mut benchmark = InsertBenchmark::new(Profile::P2025, Count(100_000));
        benchmark.cache = Some(Cache::IoBound);
        let plan = Plan {
            contenders: vec![
                "postgres@17.6:x10a?jit=off".parse().unwrap(),
                "again=sqlite".parse().unwrap(),
            ],
            seed: 42,
            insert_benchmark: benchmark,
        };
        assert_eq!(Plan::from_toml(&plan.to_toml()).unwrap(), plan);
    }

    #[test]
    fn an_unknown_key_is_refused_by_name() {
        let text = "contenders = ['sqlite']\nseed = 1\nrounds = 3\n";
        assert!(Plan::from_toml(text).unwrap_err().to_string().contains("rounds"));
    }
}
