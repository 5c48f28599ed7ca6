//! Every test of a comparison, folded: its rounds as dots in the order of time and as numbers, and
//! the tables that are pooled over rounds.

use maud::{Markup, html};
use rqps_analysis::comparison::Time;

use super::statements::{By, statements};
use super::{counters, together};
use crate::build::comparison::{time_cells, time_headings};
use crate::comparison::{TIMES_NOTE, Verdicts};
use crate::document::{Cell, Heading, Row, Table};
use crate::model::{Matrix, MatrixRow, Model};
use crate::render::html::table;

const NOTE: &str = "Each dot is a contender in a round. Lines join the dots of a round: a busy machine moves \
     all of them, a change of one server moves one. A cross below is a discarded measurement. In the charts, a \
     line is the median of the rounds, and its ribbon goes from the 10th to the 90th percentile. In tests by \
     slices, a cycle has one slice of each contender. Lanes below the seconds of whole runs show background \
     work: darker is more.";

/// More discarded measurements than this are folded: a busy machine can have dozens.
const FEW: usize = 4;

/// `together` has the tests by whole runs.
pub(super) fn section(verdicts: &Verdicts<'_>, matrix: &Matrix, together: &Model) -> Markup {
    html! {
        section #tests {
            h2 { "Tests" }
            p.note { (NOTE) }
            @for (index, row) in matrix.rows.iter().enumerate() {
                (folded(verdicts, index, matrix, row, together))
            }
        }
    }
}

fn folded(
    verdicts: &Verdicts<'_>,
    index: usize,
    matrix: &Matrix,
    row: &MatrixRow,
    together: &Model,
) -> Markup {
    let test = &verdicts.tests[index];
    let sent = verdicts.statements(test).into_iter();
    let sent = sent.map(|(contender, statements)| By {
        contender,
        statements,
        rows: test.rows_by_operation(contender, verdicts.plan),
    });
    let sent: Vec<By<'_>> = sent.collect();
    html! {
        details.test id=(row.anchor) {
            summary {
                (row.name)
                @for (name, mark) in matrix.contenders.iter().zip(&row.marks) {
                    @if let Some(mark) = mark.as_ref().filter(|mark| mark.class != "control") {
                        " " span class={ "chip " (mark.class) } data-of=(name) { (name) ": " (mark.text) }
                    }
                }
            }
            figure.rounds data-row=(row.name) {}
            @if !row.discarded.is_empty() {
                details open[row.discarded.len() <= FEW] {
                    summary { "Discarded measurements: " (row.discarded.len()) }
                    ul { @for pass in &row.discarded { li { (pass.why) } } }
                }
            }
            @if !row.rounds.is_empty() { (numbers(matrix, row, test.counts(verdicts.plan).unit())) }
            figure.curves data-test=(row.name) {}
            (times(verdicts, index))
            (together::test(together, test.name))
            (counters::folded(verdicts, index))
            (statements(&sent))
        }
    }
}

/// Service times of the counted operations of whole runs.
fn times(verdicts: &Verdicts<'_>, index: usize) -> Markup {
    let rows = verdicts.judged.iter().flat_map(|judged| {
        let row = |time: Time<'_>| {
            let cells = [time.name.to_string()].into_iter().chain(time_cells(&time));
            Row::new(&judged.contender, cells.map(Cell::plain).collect())
        };
        verdicts.times(judged, index).into_iter().map(row).collect::<Vec<_>>()
    });
    let legend = "share of the operations that took at most this long";
    let mut headings = vec![Heading::new("percentile", legend)];
    headings.extend(time_headings(verdicts, "contender's time"));
    let times = Table::new(headings, rows.collect()).named("contender");
    html! {
        @if !times.is_empty() {
            h4 { "Service time by percentile, over rounds" }
            (table(&times))
            p.note { (TIMES_NOTE) }
        }
    }
}

fn numbers(matrix: &Matrix, row: &MatrixRow, unit: &str) -> Markup {
    let cell = |value: &Option<f64>| match value {
        Some(value) => Cell::plain(format!("{value:.0}")),
        None => Cell::missing("-"),
    };
    let contenders = matrix.contenders.iter().zip(&row.values[0]);
    let rows = contenders.map(|(name, values)| Row::new(name, values.iter().map(cell).collect()));
    let headings = row.rounds.iter().map(|round| Heading::new(round.to_string(), ""));
    let by_round = Table::new(headings.collect(), rows.collect()).named("contender");
    html! { h4 { "By round, " (unit) } (table(&by_round)) }
}
