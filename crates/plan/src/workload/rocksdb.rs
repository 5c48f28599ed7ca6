//! The workloads of db_bench as data: keys, tests, clients, time. Its operations are in the crate
//! `worker`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Specification, SpecificationError, Workload};
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::dbms::Interface;
use crate::method::Method;
use crate::nearest::suggestion;
use crate::quantity::{Count, Span};

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dbbench {
    /// Keys of 20 bytes, with values of 400.
    pub keys: Count,
    pub clients: u32,
    /// The measured time of a test that reads.
    pub time: Span,
    /// By the names of db_bench, in the order in which they run.
    pub tests: Vec<String>,
    /// All keys and values are read after the load and after each test that writes.
    pub check: bool,
}

/// A test, and what it does.
pub struct DbbenchTest {
    pub name: &'static str,
    pub title: &'static str,
    pub class: Class,
}

impl DbbenchTest {
    /// A writer is at work beside it.
    pub fn is_beside_writer(&self) -> bool {
        self.name.ends_with("whilewriting")
    }
}

/// In the order of benchmark.sh.
pub static DBBENCH_TESTS: [DbbenchTest; 9] = [
    DbbenchTest {
        name: "fillseq",
        title: "put all keys in order, without the write-ahead log, then wait for compaction",
        class: Class::Load,
    },
    DbbenchTest { name: "readrandom", title: "get a key", class: Class::Point },
    DbbenchTest {
        name: "fwdrange",
        title: "seek a key, read 10 rows forward",
        class: Class::Range,
    },
    DbbenchTest {
        name: "revrange",
        title: "seek a key, read 10 rows backward",
        class: Class::Range,
    },
    DbbenchTest {
        name: "multireadrandom",
        title: "get 10 keys by one multi_get",
        class: Class::Point,
    },
    DbbenchTest {
        name: "revrangewhilewriting",
        title: "revrange beside a writer of 2 MB/s",
        class: Class::Range,
    },
    DbbenchTest {
        name: "fwdrangewhilewriting",
        title: "fwdrange beside a writer of 2 MB/s",
        class: Class::Range,
    },
    DbbenchTest {
        name: "readwhilewriting",
        title: "readrandom beside a writer of 2 MB/s",
        class: Class::Point,
    },
    DbbenchTest {
        name: "overwrite",
        title: "put half as many keys as there are, then wait for compaction",
        class: Class::Update,
    },
];

/// The shortest measured time of a test.
const SHORTEST: Duration = Duration::from_millis(100);
const MOST_KEYS: Count = Count(10_000_000_000);
const MOST_CLIENTS: u32 = 1_000;

impl Dbbench {
    /// Bytes of a key with its value.
    pub const ROW_BYTES: u64 = 420;

    /// A test by its name.
    pub fn test(name: &str) -> Option<&'static DbbenchTest> {
        DBBENCH_TESTS.iter().find(|test| test.name == name)
    }

    fn clients_told(&self) -> String {
        match self.clients {
            1 => "one client".to_string(),
            clients => format!("{clients} clients"),
        }
    }

    fn refuse_unfit(&self) -> Result<(), SpecificationError> {
        let unknown = self.tests.iter().find(|name| Dbbench::test(name).is_none());
        let twice = |&(index, name): &(usize, &String)| self.tests[..index].contains(name);
        let twice = self.tests.iter().enumerate().find(twice);
        let wrong = match (unknown, self) {
            (Some(name), _) => {
                let hint = suggestion(name, DBBENCH_TESTS.iter().map(|test| test.name));
                format!("unknown test '{name}': {hint}")
            }
            (None, plan) if plan.tests.is_empty() => "there are no tests to run. Name one".into(),
            (None, _) if twice.is_some() => {
                let name = twice.map_or("", |(_, name)| name.as_str());
                format!("the test '{name}' is given twice. Drop one")
            }
            (None, plan) if plan.keys.0 < 1_000 => "rows must be at least 1000".to_string(),
            (None, plan) if plan.keys > MOST_KEYS => format!("rows must be at most {MOST_KEYS}"),
            (None, plan) if plan.clients == 0 => "clients must be at least 1".to_string(),
            (None, plan) if plan.clients > MOST_CLIENTS => {
                format!("clients must be at most {MOST_CLIENTS}")
            }
            (None, plan) if plan.time.0 < SHORTEST => "secs must be at least 0.1".to_string(),
            _ => return Ok(()),
        };
        Err(SpecificationError(wrong))
    }
}

impl Specification for Dbbench {
    fn title(&self) -> &'static str {
        "db_bench's workloads"
    }

    fn verb(&self) -> &'static str {
        "dbbench"
    }

    fn interface(&self) -> Interface {
        Interface::KeyValue
    }

    fn phrase(&self) -> String {
        let (keys, clients) = (self.keys, self.clients_told());
        format!("db_bench's workloads with {keys} keys and {clients}")
    }

    fn size(&self) -> String {
        format!("db_bench, {} keys, clients: {}", self.keys, self.clients)
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let checks = if self.check { "after the load and after writes" } else { "none" };
        let keys = format!("{} of 20 bytes, with values of 400 bytes", self.keys);
        let mut facts = vec![("keys", keys), ("clients", self.clients_told())];
        let writes = |is: bool| {
            let mut tests = self.tests.iter().filter_map(|name| Dbbench::test(name));
            tests.any(|test| test.class.writes() == is)
        };
        if writes(false) {
            facts.push(("time", format!("{} per read", self.time)));
        }
        if writes(true) {
            facts.push(("writes", "as many as there are to do, then the compaction".to_string()));
        }
        facts.push(("checks", checks.to_string()));
        facts
    }

    fn remark(&self) -> String {
        "An operation takes microseconds, so the process of the database performs and times them by \
         itself: response times begin there, at the end of the operation before. "
            .to_string()
    }

    fn tests(&self) -> Vec<String> {
        self.tests.clone()
    }

    fn is_chain(&self) -> bool {
        false
    }

    fn only(&self, tests: &[String]) -> Workload {
        Dbbench { tests: tests.to_vec(), ..self.clone() }.into()
    }

    fn clients(&self) -> &[u32] {
        std::slice::from_ref(&self.clients)
    }

    fn counts(&self, _test: &str, class: Class, _method: Method) -> Counts {
        if class.writes() { Counts::RowsInserted } else { Counts::Statements }
    }

    fn most_rows(&self) -> u64 {
        self.keys.0
    }

    fn unchecked(&self) -> Workload {
        Dbbench { check: false, ..self.clone() }.into()
    }

    fn is_checked(&self) -> bool {
        self.check
    }

    fn validate(&self, _contenders: &[Contender]) -> Result<(), SpecificationError> {
        self.refuse_unfit()
    }

    fn refused_by_slices(&self, tests: &[String]) -> Option<String> {
        let writes = |name: &&String| Dbbench::test(name).is_some_and(|it| it.class.writes());
        let name = tests.iter().find(writes)?;
        Some(format!(
            "'{name}' leaves work to background threads, which would work while others are \
             measured. Use --method runs, or drop --method"
        ))
    }

    fn flags(&self, test: &str) -> Vec<(&'static str, String)> {
        vec![
            ("workload", format!("rocksdb:{test}")),
            ("rows", self.keys.to_string()),
            ("secs", self.time.to_string()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Dbbench {
        Dbbench {
            keys: Count(1_000),
            clients: 1,
            time: Span(Duration::from_secs(1)),
            tests: vec!["readrandom".to_string()],
            check: true,
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        let wrong = |plan: Dbbench| plan.refuse_unfit().unwrap_err().to_string();
        assert_eq!(plan().refuse_unfit(), Ok(()));
        let misspelt = wrong(Dbbench { tests: vec!["readrandm".to_string()], ..plan() });
        assert!(misspelt.starts_with("unknown test 'readrandm': did you mean 'readrandom'?"));
        assert_eq!(wrong(Dbbench { keys: Count(10), ..plan() }), "rows must be at least 1000");
        assert_eq!(wrong(Dbbench { clients: 0, ..plan() }), "clients must be at least 1");
        let twice = vec!["readrandom".to_string(); 2];
        let twice = wrong(Dbbench { tests: twice, ..plan() });
        assert_eq!(twice, "the test 'readrandom' is given twice. Drop one");
        let none = wrong(Dbbench { tests: Vec::new(), ..plan() });
        assert_eq!(none, "there are no tests to run. Name one");
    }

    #[test]
    fn only_reads_go_by_slices() {
        let refused = |tests: &[&str]| {
            plan().refused_by_slices(&tests.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(refused(&["readrandom", "fwdrangewhilewriting"]), None);
        for test in ["overwrite", "fillseq"] {
            let told = refused(&["readrandom", test]).unwrap();
            assert!(told.starts_with(&format!("'{test}' leaves")), "{told}");
        }
    }
}
