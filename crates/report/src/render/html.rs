//! Blocks of a document as parts of the page, which has charts of its own.

use maud::{Markup, html};

use crate::document::{
    Block, Cell, Content, Heading, Inline, List, ListItem, Row, Style, Table, Text, Tone,
};

/// Headings of row names that are contenders.
const OF_CONTENDERS: [&str; 3] = ["contender", "dbms", "tag"];

/// Blocks below each other.
pub(crate) fn blocks<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Markup {
    html! { @for block in blocks { (self::block(block)) } }
}

pub(crate) fn block(block: &Block) -> Markup {
    html! {
        @match block {
            Block::Heading(text) => h3 { (text) },
            Block::Text(text) => p.note { (spans(text)) },
            Block::Table(table) => (self::table(table)),
            Block::List(list) => (self::list(list)),
            Block::Terms(terms) => (self::terms(terms.iter().map(|(name, what)| (name.as_str(), what.as_str())))),
            Block::Fold(title, blocks) => details { summary { (title) } (self::blocks(blocks)) },
        }
    }
}

fn list(list: &List) -> Markup {
    html! {
        @if list.style == Style::Numbers {
            ol { @for one in &list.items { li { (item(one)) } } }
        } @else {
            ul { @for one in &list.items { li { (item(one)) } } }
        }
    }
}

pub(crate) fn item(item: &ListItem) -> Markup {
    html! { (spans(&item.text)) (details(item)) }
}

/// What supports an item, in lines of its own.
pub(crate) fn details(item: &ListItem) -> Markup {
    html! { @for line in &item.details { br; span.dim { (spans(line)) } } }
}

pub(crate) fn spans(text: &Text) -> Markup {
    html! {
        @for span in text {
            @match span {
                Inline::Plain(text) => (text),
                Inline::Strong(text) => b { (text) },
                Inline::Code(text) => code { (text) },
            }
        }
    }
}

/// Words, each with what it says.
pub(crate) fn terms<'t>(terms: impl Iterator<Item = (&'t str, &'t str)>) -> Markup {
    html! { dl.legend { @for (name, what) in terms { div { dt { (name) } dd { (what) } } } } }
}

/// The table with its headings explained on hover.
pub(crate) fn table(table: &Table) -> Markup {
    with_more(table, None)
}

/// A last column that the page draws: its heading, the cell of a row, and the name of the picture
/// as which the table can be saved.
pub(crate) struct More<'m> {
    pub(crate) heading: &'m str,
    pub(crate) cell: &'m dyn Fn(&str) -> Markup,
    pub(crate) name: &'m str,
}

pub(crate) fn with_more(table: &Table, more: Option<&More<'_>>) -> Markup {
    html! {
        div.scroll tabindex="0" data-save=[more.map(|more| more.name)] {
            table {
                thead {
                    tr {
                        th scope="col" { (table.corner) }
                        @for heading in &table.headings { (head(heading)) }
                        @if let Some(more) = more { th scope="col" { (more.heading) } }
                    }
                }
                @for (title, rows) in table.groups() {
                    tbody {
                        @if !title.is_empty() {
                            tr.group { th scope="rowgroup" colspan="99" { (title) } }
                        }
                        @for row in rows { (self::row(table, row, more)) }
                    }
                }
            }
        }
    }
}

fn row(table: &Table, row: &Row, more: Option<&More<'_>>) -> Markup {
    let is_of_contenders = OF_CONTENDERS.contains(&table.corner.as_str());
    html! {
        tr data-of=[row.of.as_ref().or(is_of_contenders.then_some(&row.name))] {
            th scope="row" {
                @match &row.anchor {
                    Some(anchor) => a href={ "#" (anchor) } { (row.name) },
                    None => (row.name),
                }
            }
            @for (cell, heading) in row.cells.iter().zip(&table.headings) { (self::cell(cell, heading)) }
            @if let Some(more) = more { ((more.cell)(&row.name)) }
        }
    }
}

/// The heading of a column, explained on hover.
fn head(heading: &Heading) -> Markup {
    html! {
        th.words[heading.content == Content::Words] scope="col" data-of=[&heading.of] {
            @if heading.legend.is_empty() { (heading.name) }
            @else { abbr title=(heading.legend) { (heading.name) } }
        }
    }
}

/// A cell with its mark, and the contender of its column.
fn cell(cell: &Cell, heading: &Heading) -> Markup {
    let style = match cell.tone {
        Tone::Shade(shade) if shade > 0 => Some(format!("--shade:{shade}")),
        _ => None,
    };
    html! {
        td class=[class(cell.tone, heading.content)] style=[style] data-of=[&heading.of] {
            (cell.text)
            @if !cell.tone.mark().is_empty() { span.mark { (cell.tone.mark()) } }
        }
    }
}

fn class(tone: Tone, content: Content) -> Option<&'static str> {
    match tone {
        Tone::Plain if content == Content::Words => Some("words"),
        Tone::Plain | Tone::Improvement | Tone::Regression => None,
        Tone::Good => Some("good"),
        Tone::Bad => Some("bad"),
        Tone::Missed => Some("bad"),
        Tone::Ignored => Some("ignored"),
        Tone::Faster => Some("faster"),
        Tone::Slower => Some("slower"),
        Tone::Unsure => Some("unsure"),
        Tone::Reference => Some("reference"),
        Tone::Missing => Some("missing"),
        Tone::Shade(_) => Some("shade"),
    }
}
