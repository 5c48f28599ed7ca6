//! The sysbench microbenchmarks as data: the sizes of the tables, the tests, their time and number
//! of clients. The tests themselves are in the crate `workload`.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Specification, SpecificationError, Workload};
use crate::class::Class;
use crate::contender::Contender;
use crate::counts::Counts;
use crate::method::Method;
use crate::quantity::{Count, Span};

/// What is run; everything needed to repeat it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Microbenchmark {
    /// Tables `sbtest1`, `sbtest2`, …
    pub tables: u32,
    /// Rows of each table.
    pub rows: Count,
    /// Every test runs with each of these numbers of clients, on one load of the tables.
    pub clients: Vec<u32>,
    /// The measured time of a test that reads.
    pub read_time: Span,
    /// The measured time of a test that writes.
    pub write_time: Span,
    /// The tests in the order in which they run, by their published names or short names.
    pub tests: Vec<String>,
    /// Writes do the same work for all contenders: deleted rows are put back, and inserts begin at
    /// the loaded size. Otherwise they are as published, and a faster server ends up with other
    /// tables.
    pub fair_writes: bool,
    /// The minimum pause after the first warm-up test and after the first block of writes, in which
    /// the server is quiesced.
    pub pause: Span,
    /// The server is quiesced after every test that writes, as in the I/O-bound posts.
    #[serde(default)]
    pub quiesce_after_each_write: bool,
    /// The tables are checked against what was done to them.
    pub check: bool,
}

/// The published schema has 32-bit keys.
const MOST_ROWS: Count = Count(2_000_000_000);
/// The shortest measured time of a test.
const SHORTEST: Duration = Duration::from_millis(100);
const MOST_TABLES: u32 = 1_000;
const MOST_CLIENTS: u32 = 10_000;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum MicrobenchmarkError {
    #[error("{0} must be at least {1}")]
    TooSmall(&'static str, u64),
    #[error("{0} must be at least {shortest}", shortest = SHORTEST.as_secs_f64())]
    TooShort(&'static str),
    #[error("{0} must be at most {1}")]
    TooLarge(&'static str, u64),
    #[error("there are no tests to run. Name one")]
    NoTests,
    #[error("the number of clients {0} is given twice. Drop one")]
    ClientsTwice(u32),
}

impl Microbenchmark {
    /// The warm-up: sysbench discards the first 5 seconds of tests that take minutes; for shorter
    /// tests it is a fifth.
    pub fn warm_up(measured: Duration) -> Duration {
        (measured / 5).min(Duration::from_secs(5))
    }

    fn refuse_unfit(&self) -> Result<(), MicrobenchmarkError> {
        use MicrobenchmarkError::{ClientsTwice, NoTests, TooLarge, TooShort, TooSmall};
        let fewest_clients = self.clients.iter().copied().min().unwrap_or(0);
        let most_clients = self.clients.iter().copied().max().unwrap_or(0);
        let at_least = [
            ("tables", u64::from(self.tables), 1),
            ("rows", self.rows.0, 1_000),
            ("clients", u64::from(fewest_clients), 1),
            // Clients that put back deleted rows have keys of their own.
            ("rows", self.rows.0, u64::from(if self.fair_writes { most_clients } else { 1 })),
        ];
        for (name, value, minimum) in at_least {
            if value < minimum {
                return Err(TooSmall(name, minimum));
            }
        }
        for (name, time) in [("secs", self.read_time), ("write-secs", self.write_time)] {
            if time.0 < SHORTEST {
                return Err(TooShort(name));
            }
        }
        let at_most = [
            ("tables", u64::from(self.tables), u64::from(MOST_TABLES)),
            ("rows", self.rows.0, MOST_ROWS.0),
            ("clients", u64::from(most_clients), u64::from(MOST_CLIENTS)),
        ];
        for (name, value, maximum) in at_most {
            if value > maximum {
                return Err(TooLarge(name, maximum));
            }
        }
        if self.tests.is_empty() {
            return Err(NoTests);
        }
        let twice = |&(index, count): &(usize, &u32)| self.clients[..index].contains(count);
        match self.clients.iter().enumerate().find(twice) {
            Some((_, &count)) => Err(ClientsTwice(count)),
            None => Ok(()),
        }
    }

    /// `one table of 100K rows`
    fn shape(&self) -> String {
        match self.tables {
            1 => format!("one table of {} rows", self.rows),
            tables => format!("{tables} tables of {} rows", self.rows),
        }
    }

    /// `one client`, or `1, 2, 4 clients`
    fn clients_told(&self) -> String {
        match self.clients[..] {
            [1] => "one client".to_string(),
            _ => format!("{} clients", self.numbers_of_clients()),
        }
    }

    fn numbers_of_clients(&self) -> String {
        let numbers: Vec<String> = self.clients.iter().map(u32::to_string).collect();
        numbers.join(", ")
    }
}

impl Specification for Microbenchmark {
    fn title(&self) -> &'static str {
        "Microbenchmarks"
    }

    fn verb(&self) -> &'static str {
        "micro"
    }

    fn phrase(&self) -> String {
        let (shape, clients) = (self.shape(), self.clients_told());
        format!("the sysbench microbenchmarks with {shape} and {clients}")
    }

    fn size(&self) -> String {
        let (tables, rows, clients) = (self.tables, self.rows, self.numbers_of_clients());
        format!("microbenchmarks, {rows} rows, tables: {tables}, clients: {clients}")
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        let fair = match self.fair_writes {
            true => "the same work for all",
            false => "as published: a faster server ends up with other tables",
        };
        let checks = if self.check { "after the load and each step" } else { "none" };
        vec![
            ("tables", self.shape()),
            ("clients", self.clients_told()),
            ("time", format!("{} per read, {} per write", self.read_time, self.write_time)),
            ("deletes and inserts", fair.to_string()),
            ("checks", checks.to_string()),
        ]
    }

    fn tests(&self) -> Vec<String> {
        self.tests.clone()
    }

    fn is_chain(&self) -> bool {
        false
    }

    fn only(&self, tests: &[String]) -> Workload {
        Microbenchmark { tests: tests.to_vec(), ..self.clone() }.into()
    }

    fn unchecked(&self) -> Workload {
        Microbenchmark { check: false, ..self.clone() }.into()
    }

    fn clients(&self) -> &[u32] {
        &self.clients
    }

    /// Scans of whole runs have one for each table.
    fn clients_of(&self, class: Class, method: Method) -> u32 {
        match (class, method) {
            (Class::Scan, Method::Runs) => self.tables,
            _ => self.most_clients(),
        }
    }

    /// Slices count statements.
    fn counts(&self, _test: &str, class: Class, method: Method) -> Counts {
        match (class, method) {
            (Class::Scan, Method::Runs) => Counts::RowsScanned,
            _ => Counts::Statements,
        }
    }

    /// A row of sbtest takes up to 1.5 times as much as one of the Insert Benchmark.
    fn most_rows(&self) -> u64 {
        self.rows.0.saturating_mul(u64::from(self.tables)).saturating_mul(3) / 2
    }

    /// Some tests have a client for every table.
    fn connections(&self) -> u64 {
        u64::from(self.clients.iter().copied().max().unwrap_or(0).max(self.tables))
    }

    fn is_checked(&self) -> bool {
        self.check
    }

    fn validate(&self, _contenders: &[Contender]) -> Result<(), SpecificationError> {
        self.refuse_unfit().map_err(|error| SpecificationError(error.to_string()))
    }

    fn quiesces_after_each_write(&self) -> bool {
        self.quiesce_after_each_write
    }

    fn flags(&self, test: &str) -> Vec<(&'static str, String)> {
        let mut flags = vec![
            ("workload", format!("micro:{test}")),
            ("rows", self.rows.to_string()),
            ("secs", self.read_time.to_string()),
        ];
        if self.tables != 1 {
            flags.push(("tables", self.tables.to_string()));
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small() -> Microbenchmark {
        Microbenchmark {
            tables: 1,
            rows: Count(1_000),
            clients: vec![1, 2],
            read_time: Span(Duration::from_secs(1)),
            write_time: Span(Duration::from_secs(1)),
            tests: vec!["point-query".to_string()],
            fair_writes: true,
            pause: Span(Duration::from_secs(1)),
            quiesce_after_each_write: false,
            check: true,
        }
    }

    #[test]
    fn what_cannot_be_run_is_refused_by_name() {
        assert_eq!(small().refuse_unfit(), Ok(()));
        let with = |change: fn(&mut Microbenchmark)| {
            let mut plan = small();
            change(&mut plan);
            plan.refuse_unfit().unwrap_err().to_string()
        };
        assert_eq!(with(|plan| plan.clients = vec![0]), "clients must be at least 1");
        assert_eq!(with(|plan| plan.clients.clear()), "clients must be at least 1");
        assert_eq!(
            with(|plan| plan.clients = vec![4, 4]),
            "the number of clients 4 is given twice. Drop one"
        );
        assert_eq!(with(|plan| plan.tables = 0), "tables must be at least 1");
        assert_eq!(with(|plan| plan.rows = Count(10)), "rows must be at least 1000");
        assert_eq!(with(|plan| plan.clients = vec![1_001]), "rows must be at least 1001");
        assert_eq!(with(|plan| plan.tests.clear()), "there are no tests to run. Name one");
    }

    #[test]
    fn warm_up_is_that_of_sysbench_for_long_tests_and_in_proportion_for_short_ones() {
        let seconds = |measured| Microbenchmark::warm_up(Duration::from_secs(measured));
        assert_eq!(seconds(600), Duration::from_secs(5));
        assert_eq!(seconds(5), Duration::from_secs(1));
    }
}
