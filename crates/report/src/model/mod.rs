//! What every format prints: the steps of a run by contender, and the tables made of them.

mod builds;
mod charts;
mod columns;
mod costs;
mod counted;
mod differences;
mod engine;
mod histograms;
mod history;
mod lanes;
mod machine;
mod matrix;
mod measures;
mod merged;
mod metrics;
mod microbenchmark;
pub(crate) mod number;
mod percentiles;
mod prose;
mod scaleup;
mod seconds;
mod sizes;
mod steadiness;
mod summary;

use std::collections::BTreeMap;

use rqps_plan::Counts;
use rqps_store::{RoundRecord, Run};

use crate::document::{Cell, Heading, Row, Table};

pub(crate) use builds::{lines as lines_of_builds, mark as mark_of_builds};
pub(crate) use charts::{POINTS, charts};
pub(crate) use columns::{by_column, by_known_column};
pub(crate) use costs::{costs, cpu_split};
pub(crate) use counted::Counted;
pub(crate) use differences::differences;
pub(crate) use engine::{ENGINE_NOTE, engine, has_engine};
pub(crate) use histograms::{Clock, HISTOGRAM_NOTE, bucket_counts, histograms};
pub(crate) use history::{History, histories};
pub(crate) use lanes::{Lane, Watched, lanes};
pub(crate) use machine::machine;
pub(crate) use matrix::{
    Discarded, Mark, Matrix, Measure as MatrixMeasure, Row as MatrixRow, matrix, service_time,
    throughput,
};
pub(crate) use measures::{BUSY, MEASURES, Measure, SHARE, normalised, variations, varies};
pub(crate) use merged::{not_comparable, origins, same_machine};
pub(crate) use metrics::{METRICS_NOTE, metrics};
pub(crate) use microbenchmark::{PUBLISHED_NOTE, Suite, Test, UNREPORTED, share};
pub(crate) use percentiles::{line as times_by_percentile, percentiles};
pub(crate) use prose::{Prose, loaded, method, printable};
pub(crate) use rqps_analysis::measured::{Measured, Totals};
pub(crate) use scaleup::{Growth, SCALEUP_NOTE};
pub(crate) use seconds::seconds;
pub(crate) use sizes::all_sizes;
pub(crate) use steadiness::{class as class_of_steadiness, remarks as remarks_on_steadiness};
pub(crate) use summary::{
    ABSOLUTE_NOTE, LAG_NOTE, RELATIVE_NOTE, SHORT_NOTE, SLA_NOTE, absolute, lag, relative, shares,
    short_seconds, sla,
};

/// A run arranged for printing.
pub(crate) struct Model<'a> {
    pub(crate) run: &'a Run,
    /// Names of the contenders that were started, in the order of the plan.
    pub(crate) contenders: Vec<&'a str>,
    /// The index of the baseline; none if the plan's first contender never started.
    pub(crate) base: Option<usize>,
    /// The steps that any contender began, in their order.
    pub(crate) steps: Vec<StepModel<'a>>,
}

pub(crate) struct StepModel<'a> {
    pub(crate) name: &'a str,
    /// What the step does, in a few words.
    pub(crate) title: &'a str,
    /// The group of steps in which tables show it.
    pub(crate) group: Option<&'a str>,
    pub(crate) counts: Counts,
    /// By contender, as in [`Model::contenders`]; none if the contender did not begin the step.
    pub(crate) measured: Vec<Option<Measured<'a>>>,
}

impl<'a> Model<'a> {
    pub(crate) fn new(run: &'a Run) -> Self {
        let contenders = run.contenders.iter().map(|c| c.name.as_str()).collect();
        Model::of(run, contenders, run.single())
    }

    /// A model of records that were derived from those of the run, such as pooled rounds.
    pub(crate) fn of(run: &'a Run, contenders: Vec<&'a str>, records: &'a [RoundRecord]) -> Self {
        let base = run.plan.contenders.first().map(|contender| contender.name());
        let mut begun: BTreeMap<u32, &RoundRecord> = BTreeMap::new();
        for record in records {
            begun.entry(record.place).or_insert(record);
        }
        let steps = begun.into_values();
        let steps = steps.map(|record| StepModel::new(record, records, &contenders, run));
        Model {
            run,
            base: contenders.iter().position(|name| Some(*name) == base.as_deref()),
            steps: steps.collect(),
            contenders,
        }
    }

    /// Whether the published tables show some of the steps, in groups.
    pub(crate) fn has_groups(&self) -> bool {
        self.steps.iter().any(|step| step.group.is_some())
    }

    /// A heading for every step.
    fn step_headings(&self) -> Vec<Heading> {
        self.steps.iter().map(|step| Heading::new(step.name, step.title)).collect()
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
        Table::new(self.step_headings(), rows.collect()).named("contender")
    }
}

impl<'a> StepModel<'a> {
    /// `record` belongs to any contender of this step: the description of the step is the same.
    fn new(
        record: &'a RoundRecord,
        records: &'a [RoundRecord],
        contenders: &[&str],
        run: &Run,
    ) -> Self {
        let of = |name: &&str| {
            let mut records = records.iter();
            records.find_map(|round| {
                let round = Some(round).filter(|round| round.place == record.place)?;
                Measured::new(round, name, run.manifest_of(name).cpus)
            })
        };
        StepModel {
            name: &record.test,
            title: &record.title,
            group: record.group.as_deref(),
            counts: record.counts,
            measured: contenders.iter().map(of).collect(),
        }
    }

    /// The measurements that reached their end, with the index of their contender.
    pub(crate) fn done(&self) -> impl Iterator<Item = (usize, &Measured<'a>)> {
        let begun = self.measured.iter().enumerate();
        begun
            .filter_map(|(index, measured)| Some((index, measured.as_ref()?)))
            .filter(|(_, measured)| measured.is_done())
    }

    /// `l.i0: load without secondary indexes`
    pub(crate) fn heading(&self) -> String {
        format!("{}: {}", self.name, self.title)
    }

    /// Whether the step promises a write rate.
    pub(crate) fn is_promising(&self) -> bool {
        self.measured.iter().flatten().any(|measured| measured.record.target_rate.is_some())
    }
}
