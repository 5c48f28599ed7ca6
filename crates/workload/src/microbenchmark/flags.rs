//! The flags of the microbenchmarks, on the command line and in plan files.

use clap::{Args, ValueEnum};
use rqps_plan::{Count, Microbenchmark, Span, Workload, default_pause};

use super::{Sequence, select};
use crate::asked::{Asked, FlagError, Reads};
use crate::task::WorkloadError;

/// The tests if none are named: each kind of read once.
const USUAL: [&str; 10] = [
    "point-query",
    "random-points_range=100",
    "hot-points",
    "points-covered-si",
    "range-covered-pk",
    "range-notcovered-si",
    "read-only_range=10",
    "read-only_range=10000",
    "read-only-sum",
    "read-only-count",
];

#[derive(Args)]
#[command(next_help_heading = "What to measure")]
pub(crate) struct MicroFlags {
    /// Number of clients, each with a connection.
    #[arg(long, value_name = "N", default_value_t = 1)]
    clients: u32,
    #[command(flatten)]
    suite: Suite,
}

#[derive(Args)]
#[command(next_help_heading = "What to measure")]
pub(crate) struct ScaleupFlags {
    /// Run every test with each of these numbers of clients.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4,8")]
    clients: Vec<u32>,
    #[command(flatten)]
    suite: Suite,
}

/// The flags of both verbs for tests and tables.
#[derive(Args)]
struct Suite {
    /// Number of tables.
    #[arg(long, value_name = "N", default_value_t = 1)]
    tables: u32,
    /// Rows of each table.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// Measured time of a test that reads
    ///
    /// The warm-up before it takes a fifth of that, at most 5 s.
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    secs: Span,
    /// Measured time of a test that writes [default: --secs].
    #[arg(long, value_name = "SECONDS")]
    write_secs: Option<Span>,
    /// Run these tests or groups of tests
    ///
    /// Groups are reported (the 32 tests of the published tables), all (the 38 steps of the suite),
    /// pre, point, range, aggregate and write.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "reported")]
    tests: Vec<String>,
    /// Order of the tests: suite or given.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = TestOrder::Suite)]
    order: TestOrder,
    /// Let deletes and inserts do the same work for all contenders (default)
    ///
    /// Deleted rows are put back, and inserts begin with the tables as they were loaded.
    #[arg(long, conflicts_with = "as_published")]
    fair_writes: bool,
    /// Run deletes and inserts as published
    ///
    /// Then a faster server does different work.
    #[arg(long)]
    as_published: bool,
    /// Vacuum, or compact, after every test that writes
    ///
    /// This is as in the posts with data larger than memory.
    #[arg(long)]
    vacuum_each_write: bool,
    /// Minimum pause in which the server is quiesced
    ///
    /// [default: as published from 10M rows on, in proportion below]
    #[arg(long, value_name = "SECONDS")]
    pause: Option<Span>,
    /// Do not check the data.
    #[arg(long)]
    no_check: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TestOrder {
    Suite,
    Given,
}

impl Suite {
    fn workload(&self, clients: Vec<u32>) -> Result<Workload, FlagError> {
        let sequence = match self.order {
            TestOrder::Suite => Sequence::Suite,
            TestOrder::Given => Sequence::Given,
        };
        let total_rows = self.rows.0.saturating_mul(u64::from(self.tables));
        Ok(Workload::from(Microbenchmark {
            tables: self.tables,
            rows: self.rows,
            clients,
            read_time: self.secs,
            write_time: self.write_secs.unwrap_or(self.secs),
            tests: names(&self.tests, sequence)?,
            fair_writes: !self.as_published,
            pause: self.pause.unwrap_or_else(|| default_pause(total_rows)),
            quiesce_after_each_write: self.vacuum_each_write,
            check: !self.no_check,
        }))
    }
}

impl Reads for MicroFlags {
    fn workload(self) -> Result<Workload, FlagError> {
        self.suite.workload(vec![self.clients])
    }
}

impl Reads for ScaleupFlags {
    fn workload(self) -> Result<Workload, FlagError> {
        self.suite.workload(self.clients)
    }
}

/// The tests of these names or groups, by their own names.
fn names(wanted: &[String], sequence: Sequence) -> Result<Vec<String>, WorkloadError> {
    let tests = select(wanted, sequence)?;
    Ok(tests.iter().map(|test| test.short_name().to_string()).collect())
}

/// The tests of the suite of these names or groups.
pub(crate) fn select_names(wanted: &[String]) -> Result<Vec<String>, WorkloadError> {
    names(wanted, Sequence::Suite)
}

/// The tests that are compared if none are named.
pub(crate) fn usual() -> Vec<String> {
    USUAL.map(str::to_string).to_vec()
}

/// The workload of a comparison.
pub(crate) fn asked(asked: &Asked<'_>) -> Result<Workload, FlagError> {
    if asked.writes.is_some() {
        let reason = "--writes needs the Insert Benchmark. Add --workload ibench, or drop it";
        return Err(FlagError(reason.to_string()));
    }
    let tests = select_names(&asked.workload.names)?;
    let tables = asked.tables.unwrap_or(1);
    let total_rows = asked.rows().0.saturating_mul(u64::from(tables));
    let secs = asked.secs.unwrap_or_else(|| (asked.fitting)(tests.len()));
    Ok(Workload::from(Microbenchmark {
        tables,
        rows: asked.rows(),
        clients: vec![asked.clients],
        read_time: secs,
        write_time: secs,
        tests,
        fair_writes: true,
        pause: default_pause(total_rows),
        quiesce_after_each_write: false,
        check: asked.check,
    }))
}
