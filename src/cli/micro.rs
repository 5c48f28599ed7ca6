//! `rqps micro` and `rqps scaleup`: the sysbench microbenchmarks, with one number of clients or
//! with several on the same load.

use clap::{Args, ValueEnum};
use rqps_plan::{Count, Microbenchmark, Plan, Span, Workload, default_pause};
use rqps_workload::microbenchmark::{Sequence, select};

use super::contenders::Contenders;
use super::exit::Exit;
use super::session::{self, Measures, Session};

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    contenders: Contenders,
    /// Clients, each a connection.
    #[arg(long, default_value_t = 1)]
    clients: u32,
    #[command(flatten)]
    suite: Suite,
    #[command(flatten)]
    session: Session,
}

#[derive(Args)]
pub(crate) struct ScaleupArguments {
    #[command(flatten)]
    contenders: Contenders,
    /// Every test runs with each of these numbers of clients.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,2,4,8")]
    clients: Vec<u32>,
    #[command(flatten)]
    suite: Suite,
    #[command(flatten)]
    session: Session,
}

/// What both verbs say of the tests and their tables.
#[derive(Args)]
pub(crate) struct Suite {
    /// Tables of equal rows.
    #[arg(long, default_value_t = 1)]
    tables: u32,
    /// Rows of each table.
    #[arg(long, default_value = "100K")]
    rows: Count,
    /// How long a test that reads is measured, after a warm-up of a fifth of that, 5 s at most.
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    secs: Span,
    /// The same of a test that writes [default: as --secs].
    #[arg(long, value_name = "SECONDS")]
    write_secs: Option<Span>,
    /// Tests by name, or groups of them: reported (the 32 of the published tables), all (the 38
    /// steps of the suite), pre, point, range, aggregate, write.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "reported")]
    tests: Vec<String>,
    /// In which order the tests run: that of the suite, or as they are given.
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = TestOrder::Suite)]
    order: TestOrder,
    /// Deletes and inserts do the same work for everybody: rows that are deleted are put back, and
    /// inserts begin with the tables as they were loaded. This is the default.
    #[arg(long, conflicts_with = "as_published")]
    fair_writes: bool,
    /// Deletes and inserts as in the published suite, where a faster server does other work.
    #[arg(long)]
    as_published: bool,
    /// Vacuum, or what is like it, after every test that writes, as in the posts with data larger
    /// than memory.
    #[arg(long)]
    vacuum_each_write: bool,
    /// The shortest pause in which the debt of writes is paid
    /// [default: as published from 10M rows on, in proportion below].
    #[arg(long, value_name = "SECONDS")]
    pause: Option<Span>,
    /// Do not compare the tables with what was done to them.
    #[arg(long)]
    no_check: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TestOrder {
    Suite,
    Given,
}

impl Suite {
    /// The benchmark that the flags ask for, with every test named.
    pub(crate) fn microbenchmark(&self, clients: Vec<u32>) -> anyhow::Result<Microbenchmark> {
        let sequence = match self.order {
            TestOrder::Suite => Sequence::Suite,
            TestOrder::Given => Sequence::Given,
        };
        let tests = select(&self.tests, sequence)?;
        let total_rows = self.rows.0.saturating_mul(u64::from(self.tables));
        Ok(Microbenchmark {
            tables: self.tables,
            rows: self.rows,
            clients,
            read_time: self.secs,
            write_time: self.write_secs.unwrap_or(self.secs),
            tests: tests.iter().map(|test| test.short_name().to_string()).collect(),
            fair_writes: !self.as_published,
            pause: self.pause.unwrap_or_else(|| default_pause(total_rows)),
            pay_after_each_write: self.vacuum_each_write,
            check: !self.no_check,
        })
    }
}

fn plan(
    contenders: &Contenders,
    clients: Vec<u32>,
    suite: &Suite,
    session: &Session,
) -> anyhow::Result<Plan> {
    let workload = Workload::Microbenchmark(suite.microbenchmark(clients)?);
    let contenders = contenders.all();
    let (seed, cache, memory) = (session.seed, session.cache(), session.memory);
    let plan = Plan { contenders, seed, cache, memory, workload };
    plan.validate()?;
    Ok(plan)
}

impl Measures for Arguments {
    const VERB: &'static str = "micro";

    fn plan(&self) -> anyhow::Result<Plan> {
        plan(&self.contenders, vec![self.clients], &self.suite, &self.session)
    }
}

impl Measures for ScaleupArguments {
    const VERB: &'static str = "scaleup";

    fn plan(&self) -> anyhow::Result<Plan> {
        plan(&self.contenders, self.clients.clone(), &self.suite, &self.session)
    }
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Exit> {
    let Arguments { contenders, session, .. } = arguments;
    session::run(Arguments::VERB, session, &contenders.all(), || arguments.plan(), |_| Ok(()))
}

pub(crate) fn run_scaleup(arguments: &ScaleupArguments) -> anyhow::Result<Exit> {
    let ScaleupArguments { contenders, session, .. } = arguments;
    session::run(
        ScaleupArguments::VERB,
        session,
        &contenders.all(),
        || arguments.plan(),
        |_| Ok(()),
    )
}
