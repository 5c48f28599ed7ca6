//! The command line that a comparison is asked for with, as a shell takes it.

use crate::cache::Cache;
use crate::comparison::{Compared, Comparison, Method};
use crate::contender::Contender;
use crate::insert_benchmark::{InsertBenchmark, Profile};
use crate::plan_file::{Plan, Workload};

impl Plan {
    /// What measures a test of base and contender again as this comparison does, from loads of its
    /// own. The steps of the Insert Benchmark build on each other, so that it has all of them. None
    /// if the plan is no comparison.
    pub fn command_of(&self, contender: &Contender, test: &str) -> Option<String> {
        let Workload::Comparison(comparison) = &self.workload else { return None };
        let mut words = vec!["rqps".to_string(), "compare".to_string()];
        words.extend([self.contenders.first()?, contender].map(Contender::to_string));
        let mut flag = |name: &str, value: String| words.extend([format!("--{name}"), value]);
        let (workload, rows, clients, secs) = match &comparison.of {
            Compared::Microbenchmark(of) => {
                let clients = of.clients.iter().copied().max().unwrap_or(1);
                (format!("micro:{test}"), of.rows, clients, of.read_time)
            }
            Compared::InsertBenchmark(of) => {
                let version = match of.profile {
                    Profile::P2025 => String::new(),
                    earlier => format!("@{earlier}"),
                };
                let steps = match &of.only[..] {
                    [] => String::new(),
                    only => format!(":{}", only.join(",")),
                };
                (format!("ibench{version}{steps}"), of.rows, of.clients, of.query_time)
            }
        };
        flag("workload", workload);
        flag("rows", rows.to_string());
        flag("secs", secs.to_string());
        let usual = Comparison::new(comparison.of.clone());
        let check = match &comparison.of {
            Compared::Microbenchmark(of) => {
                if of.tables != 1 {
                    flag("tables", of.tables.to_string());
                }
                if comparison.method_of(test) == Method::Runs {
                    flag("method", Method::Runs.to_string());
                }
                of.check
            }
            Compared::InsertBenchmark(of) => {
                if of.writes != InsertBenchmark::new(of.profile, of.rows).writes {
                    let steps = if of.profile.is_legacy() { 1 } else { 2 };
                    let writes = of.writes[..steps].iter().map(ToString::to_string);
                    flag("writes", writes.collect::<Vec<_>>().join(","));
                }
                of.check
            }
        };
        if clients != 1 {
            flag("clients", clients.to_string());
        }
        if comparison.slice != usual.slice {
            flag("slice", comparison.slice.to_string());
        }
        if let Some(margin) = comparison.margin {
            flag("margin", format!("{}%", 100.0 * margin));
        }
        if let Some(memory) = self.memory {
            flag("memory", memory.to_string());
        }
        if self.seed != 1 {
            flag("seed", self.seed.to_string());
        }
        if self.cache == Some(Cache::IoBound) {
            words.push("--io-bound".to_string());
        }
        if !check {
            words.push("--no-check".to_string());
        }
        let quoter = shlex::Quoter::new().allow_nul(true);
        Some(quoter.join(words.iter().map(String::as_str)).expect("NUL is allowed"))
    }
}
