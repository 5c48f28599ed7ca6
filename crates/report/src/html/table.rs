//! Tables of cells as HTML.

use maud::{Markup, html};

use crate::model::{Cell, Heading, Row, Table, Tone};

/// Headings of row names that are contenders.
const OF_CONTENDERS: [&str; 3] = ["contender", "dbms", "tag"];

/// The table with its headings explained on hover; `corner` is the heading of the row names.
pub(super) fn table(corner: &str, table: &Table) -> Markup {
    let is_of_contenders = OF_CONTENDERS.contains(&corner);
    html! {
        div.scroll tabindex="0" {
            table {
                thead {
                    tr {
                        th scope="col" { (corner) }
                        @for heading in &table.headings { (head(heading)) }
                    }
                }
                tbody {
                    @for row in &table.rows {
                        tr data-of=[row.of.as_ref().or(is_of_contenders.then_some(&row.name))] {
                            th scope="row" { (row.name) }
                            (cells(row, &table.headings))
                        }
                    }
                }
            }
        }
    }
}

/// The heading of a column, explained on hover.
pub(super) fn head(heading: &Heading) -> Markup {
    html! {
        th scope="col" data-of=[&heading.of] { abbr title=(heading.legend) { (heading.name) } }
    }
}

/// The cells of a row, each marked with the contender of its column.
pub(super) fn cells(row: &Row, headings: &[Heading]) -> Markup {
    html! {
        @for (cell, heading) in row.cells.iter().zip(headings) { (draw(cell, &heading.of)) }
    }
}

/// A cell with its mark.
fn draw(cell: &Cell, contender: &Option<String>) -> Markup {
    let style = match cell.tone {
        Tone::Shade(shade) if shade > 0 => Some(format!("--shade:{shade}")),
        _ => None,
    };
    html! {
        td class=[class(cell.tone)] style=[style] data-of=[contender] {
            (cell.text)
            @if !cell.tone.mark().is_empty() { span.mark { (cell.tone.mark()) } }
        }
    }
}

fn class(tone: Tone) -> Option<&'static str> {
    match tone {
        Tone::Plain => None,
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Missed => Some("bad"),
        Tone::Ignored => Some("ignored"),
        Tone::Faster => Some("faster"),
        Tone::Slower => Some("slower"),
        Tone::Reference => Some("reference"),
        Tone::Missing => Some("missing"),
        Tone::Shade(_) => Some("shade"),
    }
}
