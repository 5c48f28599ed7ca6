//! The steps of the Insert Benchmark as tasks, and how they are run on a server.

use std::time::Duration;

use rqps_dbms::Quiesce;
use rqps_plan::{Class, InsertBenchmark, Maintenance, Query, Specification, Step, StepKind};
use rqps_wire::Error;

use super::Benchmark;
use super::rows::LONGEST_ROW;
use crate::explain::Explained;
use crate::task::{Assigned, Counted, Driver, Rest, Site, Takes, Task, TaskClients, WorkloadError};

/// How long the legacy profiles wait after they have started a vacuum in the background.
const BACKGROUND_HEAD_START: Duration = Duration::from_secs(5);
/// Of every table.
const SECONDARY_INDEXES: u32 = 3;

pub(crate) fn tasks(plan: &InsertBenchmark) -> Vec<Task> {
    let steps = plan.steps().into_iter().enumerate();
    steps.map(|(index, step)| task(plan, index, step)).collect()
}

fn task(plan: &InsertBenchmark, index: usize, step: Step) -> Task {
    let clients = u64::from(plan.clients);
    let rows = step.rows.saturating_mul(clients);
    let loaded = plan.rows.0 * clients;
    let connections = plan.clients;
    let rest = match step.before {
        Maintenance::None => Rest::Nothing,
        Maintenance::Background => Rest::Beside(BACKGROUND_HEAD_START.min(plan.pause.0)),
        Maintenance::Pause if plan.profile.is_legacy() => {
            Rest::Pause(Quiesce::Vacuum, plan.pause.0)
        }
        Maintenance::Pause => Rest::Pause(Quiesce::Full, plan.pause.0),
    };
    let takes = match step.kind {
        StepKind::Load => Takes::Load { rows, connections },
        StepKind::Index => Takes::Index { rows: loaded, indexes: SECONDARY_INDEXES, connections },
        StepKind::Write => {
            Takes::Write { rows, rows_per_commit: step.rows_per_commit, connections }
        }
        StepKind::Query { .. } => Takes::Time(plan.query_time.0),
    };
    let counted = match step.kind {
        StepKind::Index => Counted::All(loaded + step.rows * u64::from(plan.tables())),
        _ => Counted::No,
    };
    Task {
        index,
        title: step.title(),
        counts: step.counts(),
        clients: plan.clients,
        target_rate: step.kind.rate().map(|rate| f64::from(rate) * f64::from(plan.clients)),
        rest,
        counted,
        takes: vec![takes],
        checked_rows: if plan.check { plan.most_rows() } else { 0 },
        ends: plan.check,
        is_planned_again: true,
        statement_bytes: u64::from(step.rows_per_commit) * LONGEST_ROW,
        ..Task::new(&step.name, plan.title(), class(plan, &step))
    }
}

/// The later steps also delete the oldest rows, but for versions before 2024.
fn class(plan: &InsertBenchmark, step: &Step) -> Class {
    match step.kind {
        StepKind::Load => Class::Insert,
        StepKind::Index => Class::Load,
        StepKind::Write if plan.profile.is_legacy() => Class::Insert,
        StepKind::Write => Class::DeleteOldest,
        StepKind::Query { query: Query::Point, .. } => Class::Point,
        StepKind::Query { query: Query::Range, .. } => Class::Range,
    }
}

pub(crate) fn driver<'a>(plan: &'a InsertBenchmark, site: Site<'a>) -> Box<dyn Driver + 'a> {
    let benchmark = Benchmark::new(site.target, site.dialect, plan, site.seed);
    Box::new(Steps { benchmark, steps: plan.steps() })
}

struct Steps<'a> {
    benchmark: Benchmark<'a>,
    steps: Vec<Step>,
}

impl Driver for Steps<'_> {
    fn tables(&self) -> Vec<String> {
        self.benchmark.parts()
    }

    fn prepare(&self, task: &Task, attempt: u32) -> Result<Option<String>, WorkloadError> {
        match self.steps[task.index].kind {
            StepKind::Load => self.benchmark.create_tables()?,
            // An interrupted attempt may have built some.
            StepKind::Index if attempt > 1 => self.benchmark.drop_indexes()?,
            _ => {}
        }
        Ok(None)
    }

    fn explained(&self, task: &Task) -> Result<Vec<Explained>, Error> {
        self.benchmark.explained(&self.steps[task.index])
    }

    fn connect(&self, task: &Task, _clients: u32, place: u64) -> Result<TaskClients<'_>, Error> {
        let step = &self.steps[task.index];
        let super::StepClients { parts, books } = self.benchmark.connect(step, place)?;
        let worth = match step.kind.is_query() {
            true => 1.0,
            false => f64::from(step.rows_per_commit),
        };
        let end = Box::new(move || self.benchmark.check(step, &books));
        Ok(TaskClients { parts, threads: Vec::new(), worth, end })
    }

    fn indexers(&self, task: &Task) -> Result<Vec<Assigned>, Error> {
        match self.steps[task.index].kind {
            StepKind::Index => self.benchmark.index_builders(),
            _ => Ok(Vec::new()),
        }
    }
}
