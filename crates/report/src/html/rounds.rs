//! Every test of a comparison, folded: all its rounds as dots, in the order in which they were
//! made, and as numbers, and what is told of them together.

use maud::{Markup, html};

use super::statements::{By, statements};
use super::{counters, together};
use crate::comparison::{TIMES_NOTE, Verdicts, ratio, span};
use crate::model::number::duration;
use crate::model::{Matrix, MatrixRow, Model};

const NOTE: &str = "Each dot is a contender in a round, a restart of all servers; those of one round \
     are joined, so that what moves all of them, such as a busy machine, is told from what moves one. \
     A cross below is a pass that a guard refused. In the charts a line is the median of the rounds, and \
     its ribbon reaches from the 10th to the 90th percentile. Where contenders take turns, a cycle is a \
     slice of each of them. Lanes below the seconds of whole runs are what went on in the background: the \
     darker, the more.";

/// Of a noisy hour there are dozens of refused passes, and what counts comes below them.
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
                    @if let Some(mark) = mark.as_ref().filter(|mark| mark.class != "twin") {
                        " " span class={ "chip " (mark.class) } data-of=(name) { (name) ": " (mark.text) }
                    }
                }
            }
            figure.rounds data-row=(row.name) {}
            @if !row.refused.is_empty() {
                details open[row.refused.len() <= FEW] {
                    summary { "Passes that do not count: " (row.refused.len()) }
                    ul { @for pass in &row.refused { li { (pass.why) } } }
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

/// Of whole runs, how long the operations took that the test counts.
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
                        th scope="col" { abbr title="the share that took at most this long" { "within" } }
                        th scope="col" { (verdicts.base) }
                        th scope="col" { "itself" }
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
