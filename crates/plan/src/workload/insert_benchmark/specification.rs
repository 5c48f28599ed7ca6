//! The properties of the Insert Benchmark.

use super::{InsertBenchmark, Profile};
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::workload::{Specification, SpecificationError, Workload};

impl Specification for InsertBenchmark {
    fn title(&self) -> &'static str {
        "Insert Benchmark"
    }

    fn verb(&self) -> &'static str {
        "ibench"
    }

    fn phrase(&self) -> String {
        let clients = match self.clients {
            1 => "one client".to_string(),
            clients if self.one_table => format!("{clients} clients that share a table"),
            clients => format!("{clients} clients with a table each"),
        };
        let (profile, rows) = (self.profile, self.rows);
        format!(
            "the Insert Benchmark, version {profile}, with {rows} rows per client and {clients}"
        )
    }

    fn size(&self) -> String {
        let (version, rows, clients) = (self.profile, self.rows, self.clients);
        format!("the Insert Benchmark, version {version}, {rows} rows, clients: {clients}")
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let [first, second] = self.writes;
        let writes = match second.0 {
            0 => format!("{first} in l.i1"),
            _ => format!("{first} in l.i1, {second} in l.i2"),
        };
        let rates: Vec<String> = self.rates.iter().map(u32::to_string).collect();
        let tables = if self.one_table { "one table for all" } else { "a table each" };
        vec![
            ("profile", self.profile.to_string()),
            ("rows", format!("{} per client in l.i0, {writes}", self.rows)),
            ("clients", format!("{}, {tables}", self.clients)),
            (
                "queries",
                format!(
                    "{} per step, while each client writes {} rows/s",
                    self.query_time,
                    rates.join(", ")
                ),
            ),
            ("pacing", self.pacing.to_string()),
            ("checks", (if self.check { "after each step" } else { "none" }).to_string()),
        ]
    }

    fn remark(&self) -> String {
        format!("Pacing {}. ", self.pacing)
    }

    fn tests(&self) -> Vec<String> {
        self.steps().into_iter().map(|step| step.name).collect()
    }

    fn is_chain(&self) -> bool {
        true
    }

    fn only(&self, _tests: &[String]) -> Workload {
        self.clone().into()
    }

    fn unchecked(&self) -> Workload {
        InsertBenchmark { check: false, ..self.clone() }.into()
    }

    fn clients(&self) -> &[u32] {
        std::slice::from_ref(&self.clients)
    }

    fn counts(&self, test: &str, _class: Class, _method: Method) -> Counts {
        let steps = self.steps();
        let step = steps.iter().find(|step| step.name == test);
        step.map_or(Counts::Statements, |step| step.counts())
    }

    fn most_rows(&self) -> u64 {
        self.rows_at_most()
    }

    /// Every client has one that inserts, one that deletes and one that queries.
    fn connections(&self) -> u64 {
        let each = if self.profile.is_legacy() { 2 } else { 3 };
        u64::from(self.clients) * each
    }

    fn is_checked(&self) -> bool {
        self.check
    }

    fn validate(&self, contenders: &[Contender]) -> Result<(), SpecificationError> {
        self.refuse_unfit(contenders).map_err(|error| SpecificationError(error.to_string()))
    }

    fn flags(&self, _test: &str) -> Vec<(&'static str, String)> {
        let version = match self.profile {
            Profile::P2025 => String::new(),
            earlier => format!("@{earlier}"),
        };
        let steps = match &self.only[..] {
            [] => String::new(),
            only => format!(":{}", only.join(",")),
        };
        let mut flags = vec![
            ("workload", format!("ibench{version}{steps}")),
            ("rows", self.rows.to_string()),
            ("secs", self.query_time.to_string()),
        ];
        if self.writes != InsertBenchmark::new(self.profile, self.rows).writes {
            let steps = if self.profile.is_legacy() { 1 } else { 2 };
            let writes = self.writes[..steps].iter().map(ToString::to_string);
            flags.push(("writes", writes.collect::<Vec<_>>().join(",")));
        }
        flags
    }
}
