//! Every test of a comparison, folded, for a page: its rounds as dots in the order of time and as
//! numbers, and the tables that are pooled over rounds.

use rqps_document::{Block, Cell, Chip, Figure, Fold, Heading, Inline, Row, Style, Table};

use super::comparison::{time_cells, time_headings};
use super::statements::{By, statements};
use super::{Titled, steps};
use crate::comparison::Verdicts;
use crate::model::{Matrix, MatrixRow, Model};

const NOTE: &str = "Each dot is a contender in a round. Lines join the dots of a round: a busy \
     machine moves all of them, a change of one server moves one. A cross below is a discarded \
     measurement. In the charts, a line is the median of the rounds, and its ribbon goes from the \
     10th to the 90th percentile. In tests by slices, a cycle has one slice of each contender. \
     Lanes below the seconds of whole runs show background work: darker is more.";

const TOGETHER_NOTE: &str = "The tables below pool the runs of all rounds that count. Sizes and \
     memory are from the last round.";

const COUNTERS_NOTE: &str = "Counters of the DBMS with its own names and units, per operation of a \
     client: a statement, a transaction or a batch of rows, warm-up included. The table has the \
     counters behind causes, and those that differ significantly and by at least the margin. The \
     interval of the ratio is over rounds and not adjusted. Grey changes are not significant, or \
     smaller than the difference of the A/A control.";

/// More discarded measurements than this are folded: a busy machine can have dozens.
const FEW: usize = 4;

/// `together` has the tests by whole runs.
pub(crate) fn blocks(verdicts: &Verdicts<'_>, matrix: &Matrix, together: &Model) -> Vec<Block> {
    let tests = matrix.rows.iter().enumerate();
    let tests = tests.map(|(index, row)| folded(verdicts, index, matrix, row, together));
    [Block::text(NOTE)].into_iter().chain(tests).collect()
}

fn folded(
    verdicts: &Verdicts<'_>,
    index: usize,
    matrix: &Matrix,
    row: &MatrixRow,
    together: &Model,
) -> Block {
    let test = &verdicts.tests[index];
    let mut title: Vec<Inline> = vec![row.name.as_str().into()];
    for (name, mark) in matrix.contenders.iter().zip(&row.marks) {
        if let Some(mark) = mark.as_ref().filter(|mark| mark.class != "control") {
            let chip = Chip { class: mark.class, text: format!("{name}: {}", mark.text) };
            title.extend([" ".into(), Inline::Chip(chip, Some(name.clone()))]);
        }
    }
    let mut blocks = vec![Block::Figure(Figure::Rounds(row.name.clone()))];
    let why = row.discarded.iter().map(|pass| pass.why.clone());
    blocks.extend(Block::list(Style::Bullets, why).map(|list| {
        let count = row.discarded.len();
        let title = vec![format!("Discarded measurements: {count}").into()];
        Block::Fold(Fold { title, blocks: vec![list], is_open: count <= FEW, ..Fold::default() })
    }));
    let unit = test.counts(verdicts.plan).unit();
    blocks.extend(Titled::new(format!("By round, {unit}"), "", by_round(matrix, row)).blocks());
    blocks.push(Block::Figure(Figure::Curves(row.name.clone())));
    let times = times(verdicts, index);
    let of_times = format!("{} by percentile, over rounds", verdicts.time());
    let of_times = Titled::new(of_times, verdicts.times_note(), times);
    blocks.extend(of_times.blocks());
    if let Some(step) = together.steps.iter().find(|step| step.name == test.name) {
        blocks.extend([Block::heading("Pooled over rounds"), Block::text(TOGETHER_NOTE)]);
        blocks.extend(steps::tables(together, step));
    }
    let mut judged = verdicts.judged.iter();
    if judged.any(|judged| !verdicts.counters(judged, index).is_empty()) {
        blocks.push(steps::counters(test.name, COUNTERS_NOTE));
    }
    let sent = verdicts.statements(test).into_iter().map(|(contender, statements)| By {
        contender,
        statements,
        rows: test.rows_by_operation(contender, verdicts.plan),
    });
    blocks.extend(statements(&sent.collect::<Vec<_>>()));
    Block::Fold(Fold { title, blocks, anchor: Some(row.anchor.clone()), ..Fold::default() })
}

/// Times of the counted operations.
fn times(verdicts: &Verdicts<'_>, index: usize) -> Table {
    let rows = verdicts.judged.iter().flat_map(|judged| {
        judged.times[index].iter().map(|time| {
            let name = Cell::plain(time.name);
            Row::new(&judged.contender, [name].into_iter().chain(time_cells(time)).collect())
        })
    });
    let legend = "share of the operations that took at most this long";
    let mut headings = vec![Heading::new("percentile", legend)];
    headings.extend(time_headings(verdicts, "contender's time"));
    Table::new(headings, rows.collect()).named("contender")
}

fn by_round(matrix: &Matrix, row: &MatrixRow) -> Table {
    let cell = |value: &Option<f64>| Cell::known(value.map(|value| format!("{value:.0}")));
    let contenders = matrix.contenders.iter().zip(&row.values[0]);
    let rows = contenders.map(|(name, values)| Row::new(name, values.iter().map(cell).collect()));
    let headings = row.rounds.iter().map(|round| Heading::new(round.to_string(), ""));
    Table::new(headings.collect(), rows.collect()).named("contender")
}
