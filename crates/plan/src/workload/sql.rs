//! SQL as data: schema, data and queries of a folder, by the contents of its files, or of a data
//! set that rqps makes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::scale_factor::ScaleFactor;
use super::{Specification, SpecificationError, Workload};
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::quantity::Span;

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlWorkload {
    pub name: String,
    pub source: SqlSource,
    pub tests: Vec<SqlTest>,
    /// Queries that are not for all contenders, or have the weight 0.
    pub left_out: Vec<String>,
    /// Weights are the executions of so many days.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub days: Option<f64>,
    pub clients: u32,
    /// The measured time of a test.
    pub time: Span,
    /// The size of the data files, in bytes.
    pub bytes: u64,
    /// The load goes on without the statements that a contender refuses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skips_load_errors: bool,
}

/// Where schema, data and queries come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SqlSource {
    /// A user's folder.
    Folder {
        path: PathBuf,
        /// The SHA-256 of each file, in hexadecimal digits, by its path below the folder: another
        /// session runs the same, or nothing.
        files: BTreeMap<String, String>,
    },
    /// Derived from TPC-H, made by rqps.
    Tpch { scale: ScaleFactor },
}

/// A query of the folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SqlTest {
    pub id: String,
    pub class: Class,
    /// How often it is executed relative to the others.
    #[serde(default = "usual_weight")]
    pub weight: f64,
}

fn usual_weight() -> f64 {
    1.0
}

/// The shortest measured time of a test.
const SHORTEST: Duration = Duration::from_millis(100);

/// As many queries that are left out are named in a sentence.
const NAMED: usize = 3;

/// Bytes of a row of the Insert Benchmark, about.
const ROW_BYTES: u64 = 100;

impl SqlTest {
    pub fn new(id: &str, class: Class, weight: f64) -> SqlTest {
        SqlTest { id: id.to_string(), class, weight }
    }
}

impl Specification for SqlWorkload {
    fn title(&self) -> &'static str {
        match self.source {
            SqlSource::Folder { .. } => "SQL",
            SqlSource::Tpch { .. } => "Derived from TPC-H",
        }
    }

    fn verb(&self) -> &'static str {
        "compare"
    }

    fn phrase(&self) -> String {
        let left_out = match self.left_out.len() {
            0 => String::new(),
            1..=NAMED => format!(" (left out: {})", self.left_out.join(", ")),
            many => format!(" ({many} of them left out)"),
        };
        let clients = match self.clients {
            1 => "one client".to_string(),
            clients => format!("{clients} clients"),
        };
        match &self.source {
            SqlSource::Folder { .. } => {
                format!("the queries of {}{left_out} with {clients}", self.name)
            }
            SqlSource::Tpch { scale } => format!(
                "a workload derived from TPC-H (not a TPC result) at scale factor {scale}{left_out} \
                 with {clients}"
            ),
        }
    }

    fn size(&self) -> String {
        let of = match &self.source {
            SqlSource::Folder { .. } => format!("sql:{}", self.name),
            SqlSource::Tpch { scale } => format!("tpch, scale factor: {scale}"),
        };
        format!("{of}, queries: {}, clients: {}", self.tests.len(), self.clients)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let source = match &self.source {
            SqlSource::Folder { path, .. } => vec![("folder", path.display().to_string())],
            SqlSource::Tpch { scale } => vec![
                ("result", "derived from TPC-H, not a TPC result".to_string()),
                ("scale factor", scale.to_string()),
            ],
        };
        let queries = [
            ("queries", self.tests.len().to_string()),
            ("clients", self.clients.to_string()),
            ("time", format!("{} per query", self.time)),
        ];
        let mut facts: Vec<_> = source.into_iter().chain(queries).collect();
        if !self.left_out.is_empty() {
            facts.push(("left out", self.left_out.join(", ")));
        }
        facts
    }

    fn remark(&self) -> String {
        match &self.source {
            SqlSource::Folder { .. } => String::new(),
            SqlSource::Tpch { .. } => {
                let what = "Derived from TPC-H, not a TPC result: it cannot be compared with \
                            published results. ";
                what.to_string()
            }
        }
    }

    fn tests(&self) -> Vec<String> {
        self.tests.iter().map(|test| test.id.clone()).collect()
    }

    fn is_chain(&self) -> bool {
        false
    }

    fn only(&self, tests: &[String]) -> Workload {
        let mut only = self.clone();
        only.tests.retain(|test| tests.contains(&test.id));
        only.into()
    }

    fn unchecked(&self) -> Workload {
        self.clone().into()
    }

    fn clients(&self) -> &[u32] {
        std::slice::from_ref(&self.clients)
    }

    /// A query is one, however many statements it has.
    fn counts(&self, _test: &str, _class: Class, _method: Method) -> Counts {
        Counts::Statements
    }

    fn weight(&self, test: &str) -> Option<f64> {
        self.tests.iter().find(|one| one.id == test).map(|one| one.weight)
    }

    fn executions_per_day(&self, test: &str) -> Option<f64> {
        Some(self.weight(test)? / self.days?)
    }

    fn most_rows(&self) -> u64 {
        self.bytes / ROW_BYTES
    }

    fn is_checked(&self) -> bool {
        false
    }

    fn validate(&self, _contenders: &[Contender]) -> Result<(), SpecificationError> {
        let wrong = match () {
            () if self.tests.is_empty() => "no query is for all of these contenders",
            () if self.clients == 0 => "clients must be at least 1",
            () if self.time.0 < SHORTEST => "secs must be at least 0.1",
            () => return Ok(()),
        };
        Err(SpecificationError(wrong.to_string()))
    }

    fn flags(&self, test: &str) -> Vec<(&'static str, String)> {
        let workload = match &self.source {
            SqlSource::Folder { path, .. } => format!("sql:{}", path.display()),
            SqlSource::Tpch { scale } => format!("tpch:{scale},{test}"),
        };
        vec![("workload", workload), ("secs", self.time.to_string())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_derived_from_a_standard_says_that_it_is_no_result_of_it() {
        let plan = SqlWorkload {
            name: "tpch".to_string(),
            source: SqlSource::Tpch { scale: "0.1".parse().unwrap() },
            tests: vec![SqlTest::new("q01", Class::Range, 1.0)],
            left_out: Vec::new(),
            days: Some(0.5),
            clients: 1,
            time: Span(Duration::from_secs(1)),
            bytes: 0,
            skips_load_errors: false,
        };
        assert_eq!(plan.size(), "tpch, scale factor: 0.1, queries: 1, clients: 1");
        let texts = [plan.phrase(), plan.remark(), format!("{:?}", plan.facts())];
        for text in texts {
            assert!(text.contains("erived from TPC-H") && text.contains("not a TPC result"));
        }
        assert_eq!(plan.flags("q01")[0].1, "tpch:0.1,q01");
        assert_eq!(plan.executions_per_day("q01"), Some(2.0));
        let stored = toml::to_string(&Workload::from(plan.clone())).unwrap();
        assert_eq!(toml::from_str::<Workload>(&stored).unwrap(), plan.into());
    }
}
