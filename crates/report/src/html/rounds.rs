//! Every test of a comparison, folded: its rounds as dots in the order of time and as numbers, and
//! the tables that are pooled over rounds.

use maud::{Markup, html};

use super::statements::{By, statements};
use super::{counters, together};
use crate::comparison::{TIMES_NOTE, Verdicts, ratio, span};
use crate::model::number::duration;
use crate::model::{Matrix, MatrixRow, Model};

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
    let of = verdicts.judged.iter().map(|judged| (judged, verdicts.times(judged, index)));
    let known: Vec<_> = of.filter(|(_, times)| !times.is_empty()).collect();
    html! {
        @if !known.is_empty() {
            h4 { "Service time by percentile, over rounds" }
            div.scroll tabindex="0" {
                table {
                    thead { tr {
                        th scope="col" { "contender" }
                        th scope="col" { abbr title="share of the operations that took at most this long" { "percentile" } }
                        th scope="col" { (verdicts.base) }
                        th scope="col" { "contender's time" }
                        th scope="col" { "ratio" }
                        th scope="col" { "95 % interval" }
                    } }
                    tbody {
                        @for (judged, times) in &known {
                            @for time in times {
                                tr data-of=(judged.contender) {
                                    th scope="row" { (judged.contender) }
                                    td { (time.name) }
                                    td { (duration(time.base.round() as u64)) }
                                    td { (duration(time.contender.round() as u64)) }
                                    td { (ratio(time.ratio)) }
                                    td { (span(time.ratio)) }
                                }
                            }
                        }
                    }
                }
            }
            p.note { (TIMES_NOTE) }
        }
    }
}

fn numbers(matrix: &Matrix, row: &MatrixRow, unit: &str) -> Markup {
    html! {
        h4 { "By round, " (unit) }
        div.scroll tabindex="0" {
            table.by-round {
                thead { tr {
                    th scope="col" { "contender" }
                    @for round in &row.rounds { th scope="col" { (round) } }
                } }
                tbody {
                    @for (name, values) in matrix.contenders.iter().zip(&row.values[0]) {
                        tr data-of=(name) {
                            th scope="row" { (name) }
                            @for value in values {
                                @match value {
                                    Some(value) => td { (format!("{value:.0}")) },
                                    None => td.missing { "-" },
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
