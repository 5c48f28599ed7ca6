//! What a report says, once for every format.

pub(crate) mod answers;
pub(crate) mod comparison;
pub(crate) mod environment;
pub(crate) mod instructions;
pub(crate) mod legend;
pub(crate) mod profile;
mod statements;
pub(crate) mod steps;
pub(crate) mod suite;
pub(crate) mod tests;
mod verdicts;
pub(crate) mod why;

use rqps_document::{Block, Document, Inline, Style, Table, at_most};
use rqps_plan::Counts;

use crate::Report;
use crate::model::number::by_names;
use crate::model::{Prose, StepModel, printable};

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Extent {
    /// At most sixty lines, for a pull request.
    Comment,
    /// What a terminal shows after a run.
    Screen,
    /// All tables, for a post.
    Post,
}

/// The warnings in a comment.
const WARNINGS: usize = 6;

pub(crate) fn document(report: &Report<'_>, extent: Extent) -> Document {
    let prose = Prose::new(&report.model);
    let mut blocks = head(report, &prose, extent);
    match (&report.verdicts, report.suite()) {
        (Some(verdicts), _) => blocks.extend(comparison::blocks(verdicts, extent)),
        (None, Some(suite)) => blocks.extend(suite::blocks(&suite, extent)),
        (None, None) => blocks.extend(steps::blocks(&report.model, extent)),
    }
    blocks.extend((extent == Extent::Screen).then(|| elsewhere(report)));
    Document { title: prose.title, blocks }
}

/// The title of a page, and what stands above its sections.
pub(crate) fn page_head(report: &Report<'_>) -> (String, Vec<Block>) {
    let prose = Prose::new(&report.model);
    let blocks = head(report, &prose, Extent::Post);
    (prose.title, blocks)
}

/// What was run, and what a reader must know before the numbers.
fn head(report: &Report<'_>, prose: &Prose, extent: Extent) -> Vec<Block> {
    let plan = &report.run.plan;
    let remark = plan.single().map_or(String::new(), |workload| workload.remark());
    let sentence = format!("{} {remark}Seed {}.", prose.sentence, plan.seed);
    let mut blocks = vec![Block::text(sentence)];
    blocks.extend(Block::list(Style::Bullets, named_rates(report)));
    if extent == Extent::Post {
        blocks.push(Block::terms(prose.facts.iter().map(|(name, value)| (*name, value.as_str()))));
    }
    if !prose.warnings.is_empty() {
        let most = if extent == Extent::Comment { WARNINGS } else { usize::MAX };
        blocks.push(Block::heading("Warnings"));
        blocks.extend(Block::list(Style::Bullets, at_most(most, prose.warnings.clone())));
    }
    blocks
}

/// The rates of a single run by the names that the field has for them, if it has any, and what its
/// clients say.
fn named_rates(report: &Report<'_>) -> Vec<String> {
    let (model, names) = (&report.model, report.run.plan.workload().named_rates());
    if names.is_empty() || report.is_comparison() {
        return Vec::new();
    }
    let of_step = |step: &StepModel<'_>| {
        let counts = step.counts == Counts::Transactions;
        let done = step.done().filter(|_| counts).filter_map(|(_, measured)| {
            let rates = by_names(names, measured.throughput()?);
            let note = measured.record.note.iter().map(|note| format!("; {}", printable(note)));
            Some(format!("{}: {rates}{}", measured.contender, note.collect::<String>()))
        });
        done.collect::<Vec<_>>()
    };
    model.steps.iter().flat_map(of_step).collect()
}

/// Where the rest is.
fn elsewhere(report: &Report<'_>) -> Block {
    let more = match (report.is_comparison(), report.suite().is_some()) {
        (true, _) => "costs, times and discarded measurements",
        (_, true) => "all measures of each test",
        _ => "metrics, sizes and response times",
    };
    Block::Text(vec![
        "report.html has charts, result.json has every number. For a text with ".into(),
        more.into(),
        ": ".into(),
        Inline::Code("rqps report RUN --format text".to_string()),
    ])
}

/// A table with its title and its meaning.
pub(crate) struct Titled {
    pub(crate) title: String,
    pub(crate) note: String,
    pub(crate) table: Table,
}

impl Titled {
    pub(crate) fn new(title: impl Into<String>, note: impl Into<String>, table: Table) -> Self {
        Titled { title: title.into(), note: note.into(), table }
    }

    /// Nothing if the table is empty.
    pub(crate) fn blocks(self) -> Vec<Block> {
        if self.table.is_empty() {
            return Vec::new();
        }
        let note = (!self.note.is_empty()).then(|| Block::text(self.note));
        let table = [Block::Heading(self.title), Block::Table(self.table)];
        table.into_iter().chain(note).collect()
    }
}
