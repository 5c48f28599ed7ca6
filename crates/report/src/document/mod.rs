//! What a report says, without a layout: headings, sentences, tables and lists, which the renderers
//! write for a terminal, as Markdown and as HTML.

mod table;

pub(crate) use table::{Cell, Content, Heading, Row, Table, Tone};

pub(crate) struct Document {
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

pub(crate) enum Block {
    Heading(String),
    Text(Text),
    Table(Table),
    List(List),
    /// Words, each with what it says.
    Terms(Vec<(String, String)>),
    /// Blocks below their summary, which a page opens on a click.
    Fold(String, Vec<Block>),
}

/// Sentences.
pub(crate) type Text = Vec<Inline>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Inline {
    Plain(String),
    /// A name that stands out.
    Strong(String),
    /// A command, which is copied whole.
    Code(String),
}

pub(crate) struct List {
    pub(crate) style: Style,
    pub(crate) items: Vec<ListItem>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Bullets,
    /// Numbered in the order of their importance.
    Numbers,
    /// Each says something without the others: where lines are few, they are one paragraph.
    Sentences,
}

pub(crate) struct ListItem {
    pub(crate) text: Text,
    /// What supports the text.
    pub(crate) details: Vec<Text>,
}

impl From<String> for Inline {
    fn from(text: String) -> Self {
        Inline::Plain(text)
    }
}

impl From<&str> for Inline {
    fn from(text: &str) -> Self {
        Inline::Plain(text.to_string())
    }
}

impl Inline {
    pub(crate) fn text(&self) -> &str {
        match self {
            Inline::Plain(text) | Inline::Strong(text) | Inline::Code(text) => text,
        }
    }
}

impl Block {
    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Block::Heading(text.into())
    }

    pub(crate) fn text(text: impl Into<Inline>) -> Self {
        Block::Text(vec![text.into()])
    }

    /// A list of plain lines; none without lines.
    pub(crate) fn list(style: Style, lines: impl IntoIterator<Item = String>) -> Option<Self> {
        let item = |line: String| ListItem { text: vec![line.into()], details: Vec::new() };
        let items: Vec<ListItem> = lines.into_iter().map(item).collect();
        (!items.is_empty()).then_some(Block::List(List { style, items }))
    }
}

/// The first lines; the last has the number of the others.
pub(crate) fn at_most(most: usize, mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > most {
        let rest = rest(lines.len(), most - 1);
        lines.truncate(most - 1);
        lines.extend(rest);
    }
    lines
}

/// `… and 3 more`; none if all are shown.
pub(crate) fn rest(all: usize, shown: usize) -> Option<String> {
    (all > shown).then(|| format!("… and {} more", all - shown))
}
