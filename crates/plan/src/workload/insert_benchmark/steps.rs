//! The steps of the Insert Benchmark, to which a profile and its parameters expand.

use super::InsertBenchmark;
use crate::counts::Counts;

/// One step: what it writes, how, and the maintenance before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// As in the posts: `l.i0`, `qr100`, `q100.2`.
    pub name: String,
    pub kind: StepKind,
    /// Rows that each client inserts; the step ends when these (and their deletes) are done.
    pub rows: u64,
    pub rows_per_commit: u32,
    /// Whether each insert is paired with a delete of as many of the lowest keys.
    pub deletes: bool,
    pub before: Maintenance,
}

impl Step {
    /// What the step does, in a few words.
    pub fn title(&self) -> String {
        let writes = if self.deletes { "insert and delete" } else { "insert" };
        match self.kind {
            StepKind::Load => "load without secondary indexes".to_string(),
            StepKind::Index => "create the secondary indexes".to_string(),
            StepKind::Write => {
                let rows = self.rows_per_commit;
                format!("{writes} with secondary indexes, {rows} rows per transaction")
            }
            StepKind::Query { query, rate } => {
                let query = match query {
                    Query::Range => "range queries",
                    Query::Point => "point queries",
                };
                let writes = if self.deletes { "inserts and deletes" } else { "inserts" };
                format!("{query} while each client {writes} {rate} rows/s")
            }
        }
    }

    pub fn counts(&self) -> Counts {
        match self.kind {
            StepKind::Load | StepKind::Write => Counts::RowsInserted,
            StepKind::Index => Counts::RowsIndexed,
            StepKind::Query { .. } => Counts::Queries,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Create the table and insert in key order, without secondary indexes.
    Load,
    /// Insert a batch, then build the three secondary indexes.
    Index,
    /// Insert and delete as fast as possible.
    Write,
    /// Query as fast as possible while writing at `rate` rows per second and client.
    Query { query: Query, rate: u32 },
}

impl StepKind {
    pub fn is_query(self) -> bool {
        matches!(self, StepKind::Query { .. })
    }

    /// The write rate that a step promises, in rows per second and client.
    pub fn rate(self) -> Option<u32> {
        match self {
            StepKind::Query { rate, .. } => Some(rate),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    Range,
    Point,
}

/// Maintenance of the DBMS before a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maintenance {
    None,
    /// Vacuum and checkpoint, then idle for the rest of the pause.
    Pause,
    /// The legacy profiles: a vacuum that runs while the step does.
    Background,
}

impl InsertBenchmark {
    /// The steps that will run, in order.
    pub fn steps(&self) -> Vec<Step> {
        let chosen = |step: &Step| self.only.is_empty() || self.only.contains(&step.name);
        self.all_steps().into_iter().filter(chosen).collect()
    }

    pub(super) fn all_steps(&self) -> Vec<Step> {
        let [first, second] = self.writes.map(|writes| writes.0);
        let deletes = !self.profile.is_legacy();
        let step = |name: &str, kind, rows, rows_per_commit, deletes| Step {
            name: name.to_string(),
            kind,
            rows,
            rows_per_commit,
            deletes,
            before: Maintenance::None,
        };
        // l.x inserts a batch before it builds the indexes.
        let index_rows = if deletes { 100 } else { 100_000u64.div_ceil(u64::from(self.clients)) };
        let mut steps = vec![
            step("l.i0", StepKind::Load, self.rows.0, 100, false),
            step("l.x", StepKind::Index, index_rows, 100, false),
            step("l.i1", StepKind::Write, first, 50, deletes),
        ];
        if deletes {
            steps.push(step("l.i2", StepKind::Write, second, 5, true));
        }
        let queries: &[Query] =
            if deletes { &[Query::Range, Query::Point] } else { &[Query::Range] };
        let first_query = steps.len();
        for (index, &rate) in self.rates.iter().enumerate() {
            // Rates may repeat; the posts number the repeats, and only those.
            let repeat = self.rates[..index].iter().filter(|&&earlier| earlier == rate).count() + 1;
            for &query in queries {
                let name = match (query, deletes) {
                    (_, false) => format!("q{rate}.{repeat}"),
                    (Query::Range, true) => format!("qr{rate}{}", repeat_suffix(repeat)),
                    (Query::Point, true) => format!("qp{rate}{}", repeat_suffix(repeat)),
                };
                let rows = (self.query_time.0.as_secs_f64() * f64::from(rate)).round() as u64;
                let batch = 50.min(rate);
                steps.push(step(&name, StepKind::Query { query, rate }, rows, batch, deletes));
            }
        }
        for (index, step) in steps[first_query..].iter_mut().enumerate() {
            step.before = match (self.profile.is_legacy(), index) {
                (_, 0) => Maintenance::Pause,
                (true, 1..) => Maintenance::Background,
                (false, 1..) => Maintenance::None,
            };
        }
        steps
    }
}

fn repeat_suffix(repeat: usize) -> String {
    if repeat == 1 { String::new() } else { format!(".{repeat}") }
}
