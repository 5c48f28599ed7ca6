//! What every format prints: the steps of a run by contender, and the tables made of them.

mod costs;
mod differences;
mod engine;
mod histograms;
mod measured;
mod metrics;
mod number;
mod prose;
mod sizes;
mod summary;
mod table;

use rqps_plan::{Query, Step, StepKind};
use rqps_store::Run;

pub(crate) use costs::{costs, cpu_split};
pub(crate) use differences::differences;
pub(crate) use engine::{ENGINE_NOTE, engine};
pub(crate) use histograms::{HISTOGRAM_NOTE, bucket_counts, histograms, percentile};
pub(crate) use measured::{Measured, Totals};
pub(crate) use metrics::{METRICS_NOTE, metrics};
pub(crate) use prose::Prose;
pub(crate) use sizes::{Size, sizes};
pub(crate) use summary::{
    ABSOLUTE_NOTE, LAG_NOTE, RELATIVE_NOTE, SLA_NOTE, absolute, lag, relative, sla,
};
pub(crate) use table::{Cell, Heading, Row, Table, Tone};

/// A run arranged for printing.
pub(crate) struct Model<'a> {
    pub(crate) run: &'a Run,
    /// Names of the contenders that were started, in the order of the plan.
    pub(crate) contenders: Vec<&'a str>,
    /// Which of them the others are relative to; none if the plan's first was never started.
    pub(crate) base: Option<usize>,
    /// The steps that were begun by any contender, in the order of the plan.
    pub(crate) steps: Vec<StepModel<'a>>,
}

pub(crate) struct StepModel<'a> {
    pub(crate) plan: Step,
    /// By contender, as in [`Model::contenders`]; none where the step was not begun.
    pub(crate) measured: Vec<Option<Measured<'a>>>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        let contenders: Vec<&str> = run.contenders.iter().map(|c| c.name.as_str()).collect();
        let base = run.plan.contenders.first().map(|contender| contender.name());
        let steps = run.plan.insert_benchmark.steps().into_iter();
        let steps = steps.map(|step| StepModel::new(step, &contenders, run));
        Model {
            run,
            base: contenders.iter().position(|name| Some(*name) == base.as_deref()),
            steps: steps.filter(|step| step.measured.iter().any(Option::is_some)).collect(),
            contenders,
        }
    }

    /// A heading for every step.
    fn step_headings(&self) -> Vec<Heading> {
        self.steps.iter().map(|step| Heading::new(&step.plan.name, step.title())).collect()
    }

    /// A table with a row for every contender and a column for every step.
    fn by_step(&self, cell: impl Fn(&Measured) -> Cell) -> Table {
        let rows = self.contenders.iter().enumerate().map(|(index, name)| {
            let cells = self.steps.iter().map(|step| match &step.measured[index] {
                Some(measured) => cell(measured),
                None => Cell::missing("-"),
            });
            Row::new(*name, cells.collect())
        });
        Table { headings: self.step_headings(), rows: rows.collect() }
    }
}

impl<'a> StepModel<'a> {
    fn new(plan: Step, contenders: &[&str], run: &'a Run) -> Self {
        let of = |name: &&str| {
            let mut records = run.steps.iter();
            let record = records.find(|r| r.contender == **name && r.step == plan.name)?;
            Some(Measured::new(record, plan.kind, run.manifest.cpus))
        };
        StepModel { measured: contenders.iter().map(of).collect(), plan }
    }

    /// Those that were measured to the end, with the index of their contender.
    pub(crate) fn done(&self) -> impl Iterator<Item = (usize, &Measured<'a>)> {
        let begun = self.measured.iter().enumerate();
        begun
            .filter_map(|(index, measured)| Some((index, measured.as_ref()?)))
            .filter(|(_, measured)| measured.is_done())
    }

    /// `l.i0: load without secondary indexes`
    pub(crate) fn heading(&self) -> String {
        format!("{}: {}", self.plan.name, self.title())
    }

    /// What the step does, in a few words.
    pub(crate) fn title(&self) -> String {
        let writes = if self.plan.deletes { "insert and delete" } else { "insert" };
        match self.plan.kind {
            StepKind::Load => "load without secondary indexes".to_string(),
            StepKind::Index => "create the secondary indexes".to_string(),
            StepKind::Write => format!(
                "{writes} with secondary indexes, {} rows per transaction",
                self.plan.rows_per_commit
            ),
            StepKind::Query { query, rate } => {
                let query = match query {
                    Query::Range => "range queries",
                    Query::Point => "point queries",
                };
                let writes = if self.plan.deletes { "inserts and deletes" } else { "inserts" };
                format!("{query} while each client {writes} {rate} rows/s")
            }
        }
    }

    /// What the throughput of the step counts.
    pub(crate) fn unit(&self) -> &'static str {
        match self.plan.kind {
            StepKind::Load | StepKind::Write => "rows inserted per second",
            StepKind::Index => "rows indexed per second",
            StepKind::Query { .. } => "queries per second",
        }
    }

    /// The operation that the costs of the step are divided by.
    pub(crate) fn operation(&self) -> &'static str {
        match self.plan.kind {
            StepKind::Load | StepKind::Write => "row inserted",
            StepKind::Index => "row indexed",
            StepKind::Query { .. } => "query",
        }
    }
}
