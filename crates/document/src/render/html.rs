//! Blocks of a document as parts of the page.

use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{figures, markdown};
use crate::{
    Block, Cell, Content, Fold, Heading, Inline, List, ListItem, Row, RowLink, Style, Table, Text,
    Tone,
};

pub use super::chip::chip;

/// The characters of a path that a link escapes: a name may contain `#`, `?` or `:`.
const PATH: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The address of a file below the folder of the page.
pub fn below(path: &str) -> String {
    format!("./{}", utf8_percent_encode(path, PATH))
}

/// Headings of row names that are contenders.
const OF_CONTENDERS: [&str; 3] = ["contender", "dbms", "tag"];

/// Blocks below each other.
pub fn blocks<'b>(blocks: impl IntoIterator<Item = &'b Block>) -> Markup {
    html! { @for block in blocks { (self::block(block, false)) } }
}

/// The same within another block, where headings are smaller.
fn within(blocks: &[Block]) -> Markup {
    html! { @for block in blocks { (self::block(block, true)) } }
}

fn block(block: &Block, is_within: bool) -> Markup {
    html! {
        @match block {
            Block::Heading(text) if is_within => h4 { (text) },
            Block::Heading(text) => h3 { (text) },
            Block::Text(text) => (self::text(text)),
            Block::Table(table) => (self::table(table)),
            Block::List(list) => (self::list(list)),
            Block::Terms(terms) => (self::terms(terms)),
            Block::Fold(fold) => (self::fold(fold)),
            Block::Of(contender, all) => div data-of=(contender) {
                (blocks(all.iter().take(1))) (within(all.get(1..).unwrap_or_default()))
            },
            Block::Beside(parts) => div.beside { @for part in parts { div { (within(part)) } } },
            Block::Figure(figure) => (figures::figure(figure)),
        }
    }
}

/// A command alone can be copied, labels stand apart from each other, and other text is a note.
fn text(text: &Text) -> Markup {
    if let [Inline::Code(command)] = text.as_slice() {
        return html! {
            p.command { code { (command) } " " button type="button" data-copy=(command) { "copy" } }
        };
    }
    let is_strip = text.iter().any(|inline| matches!(inline, Inline::Chip(..)));
    html! { p.strip[is_strip].note[!is_strip] { (inlines(text)) } }
}

fn list(list: &List) -> Markup {
    let items = html! {
        @for item in &list.items {
            li id=[&item.anchor] data-of=[&item.of] {
                (inlines(&item.text))
                @if let Some(anchor) = &item.anchor { (address(anchor, item)) }
                @for line in &item.details { br; span.dim { (inlines(line)) } }
            }
        }
    };
    html! {
        @if list.style == Style::Numbers { ol { (items) } } @else { ul { (items) } }
    }
}

/// A link to an item, which can also be copied for discussions.
fn address(anchor: &str, item: &ListItem) -> Markup {
    html! {
        " " a.permalink href={ "#" (anchor) } title="a link to this" { "#" } " "
        button type="button" data-copy=(markdown::item(item)) { "copy as Markdown" }
    }
}

/// Between two labels, which a page sets apart without it.
fn is_separator(text: &str) -> bool {
    matches!(text, ", " | "; ")
}

fn inlines(text: &Text) -> Markup {
    html! {
        @for inline in text {
            @match inline {
                Inline::Plain(text) if is_separator(text) => " ",
                Inline::Plain(text) => (text),
                Inline::Strong(text) => b { (text) },
                Inline::Code(text) => code { (text) },
                Inline::Chip(label, of) => (chip(label, of.as_deref())),
                Inline::Link(text, place) => a href={ "#" (place) } { (text) },
            }
        }
    }
}

fn terms(terms: &[(String, String)]) -> Markup {
    html! { dl.legend { @for (name, what) in terms { div { dt { (name) } dd { (what) } } } } }
}

fn fold(fold: &Fold) -> Markup {
    html! {
        details.test[fold.anchor.is_some()] id=[&fold.anchor] open[fold.is_open] data-of=[&fold.of] {
            summary { (inlines(&fold.title)) }
            (within(&fold.blocks))
        }
    }
}

/// The table with its headings explained on hover.
pub fn table(table: &Table) -> Markup {
    html! {
        div.scroll tabindex="0" data-save=[&table.saved_as] {
            table {
                thead {
                    tr {
                        th scope="col" { (table.corner) }
                        @for heading in &table.headings { (head(heading)) }
                    }
                }
                @for (title, rows) in table.groups() {
                    tbody {
                        @if !title.is_empty() {
                            tr.group { th scope="rowgroup" colspan="99" { (title) } }
                        }
                        @for row in rows { (self::row(table, row)) }
                    }
                }
            }
        }
    }
}

fn row(table: &Table, row: &Row) -> Markup {
    let is_of_contenders = OF_CONTENDERS.contains(&table.corner.as_str());
    html! {
        tr data-of=[row.of.as_ref().or(is_of_contenders.then_some(&row.name))] {
            th scope="row" {
                @match &row.link {
                    Some(RowLink::Place(anchor)) => a href={ "#" (anchor) } { (row.name) },
                    Some(RowLink::Page(path)) => a href=(below(path)) { (row.name) },
                    None => (row.name),
                }
            }
            @for (cell, heading) in row.cells.iter().zip(&table.headings) { (self::cell(cell, heading)) }
        }
    }
}

/// The heading of a column, explained on hover.
fn head(heading: &Heading) -> Markup {
    html! {
        th.words[heading.content == Content::Words] scope="col" data-of=[&heading.of] {
            @if heading.legend.is_empty() { (heading.name) }
            @else { abbr title=(heading.legend) { (heading.name) } }
            @if let Some(scale) = &heading.scale {
                " " span.axis { @for place in scale { span { (place) } } }
            }
        }
    }
}

/// A cell with its mark, and the contender of its column.
fn cell(cell: &Cell, heading: &Heading) -> Markup {
    let style = match cell.tone {
        Tone::Shade(shade) if shade > 0 => Some(format!("--shade:{shade}")),
        _ => None,
    };
    let label = cell.label.as_ref();
    let label = label.and_then(|label| Some((label, cell.text.split_once(&label.text)?)));
    html! {
        td class=[class(cell, heading.content)] style=[style] data-of=[&heading.of] title=[&cell.hover] {
            @match label {
                Some((label, (before, after))) => {
                    (before) (chip(label, None)) @if !after.is_empty() { span.dim { (after) } }
                }
                None => (cell.text),
            }
            @if !cell.tone.mark().is_empty() { span.mark { (cell.tone.mark()) } }
            @if let Some(picture) = &cell.picture { (figures::picture(picture)) }
        }
    }
}

fn class(cell: &Cell, content: Content) -> Option<&'static str> {
    match cell.tone {
        _ if content == Content::Words => Some("words"),
        Tone::Plain | Tone::Improvement | Tone::Regression => None,
        Tone::Good => Some("good"),
        Tone::Bad | Tone::Missed => Some("bad"),
        Tone::Ignored => Some("ignored"),
        Tone::Faster => Some("faster"),
        Tone::Slower => Some("slower"),
        Tone::Unsure => Some("unsure"),
        Tone::Reference => Some("reference"),
        Tone::Missing => Some("missing"),
        Tone::Shade(_) => Some("shade"),
    }
}
