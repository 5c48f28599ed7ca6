//! What a report says, without a layout: headings, sentences, tables, lists and figures, which the
//! renderers write for a terminal, as Markdown and as HTML. All of it is text and numbers already:
//! what they mean was decided before.

mod figure;
mod render;
mod table;

pub use figure::{Bars, Figure, Waterfall, WaterfallBar};
pub use render::{Colour, Terminal, html, markdown, terminal};
pub use table::{Cell, Content, Heading, Picture, Row, RowLink, Table, Tone};

pub struct Document {
    pub title: String,
    pub blocks: Vec<Block>,
}

pub enum Block {
    Heading(String),
    Text(Text),
    Table(Table),
    List(List),
    /// Words, each with what it says.
    Terms(Vec<(String, String)>),
    /// Blocks below their summary, which a page opens on a click.
    Fold(Fold),
    /// Blocks about a contender, which a page can hide.
    Of(String, Vec<Block>),
    /// Beside each other where there is room.
    Beside(Vec<Vec<Block>>),
    /// Only a page has figures.
    Figure(Figure),
}

#[derive(Default)]
pub struct Fold {
    pub title: Text,
    pub blocks: Vec<Block>,
    pub is_open: bool,
    /// The place in the page that links lead to.
    pub anchor: Option<String>,
    /// The contender that it is about.
    pub of: Option<String>,
}

/// Sentences.
pub type Text = Vec<Inline>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inline {
    Plain(String),
    /// A name that stands out.
    Strong(String),
    /// A command, which is copied whole.
    Code(String),
    /// A result in a word, and the contender whose it is if that is not said around it.
    Chip(Chip, Option<String>),
    /// Leads to a place in the page.
    Link(String, &'static str),
}

/// A word with a colour of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chip {
    /// In the style sheet.
    pub class: &'static str,
    pub text: String,
}

pub struct List {
    pub style: Style,
    pub items: Vec<ListItem>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Bullets,
    /// Numbered in the order of their importance.
    Numbers,
    /// Each says something without the others: where lines are few, they are one paragraph.
    Sentences,
}

#[derive(Default)]
pub struct ListItem {
    pub text: Text,
    /// What supports the text.
    pub details: Vec<Text>,
    /// The place in the page that links lead to: such an item can be copied, too.
    pub anchor: Option<String>,
    /// The contender that it is about.
    pub of: Option<String>,
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
    pub fn chip(class: &'static str, text: impl Into<String>) -> Self {
        Inline::Chip(Chip { class, text: text.into() }, None)
    }

    pub fn text(&self) -> &str {
        match self {
            Inline::Plain(text) | Inline::Strong(text) | Inline::Code(text) => text,
            Inline::Chip(label, _) => &label.text,
            Inline::Link(text, _) => text,
        }
    }
}

/// The words alone.
pub fn plain(text: &[Inline]) -> String {
    text.iter().map(Inline::text).collect()
}

impl Block {
    pub fn heading(text: impl Into<String>) -> Self {
        Block::Heading(text.into())
    }

    pub fn text(text: impl Into<Inline>) -> Self {
        Block::Text(vec![text.into()])
    }

    /// A list of plain lines; none without lines.
    pub fn list(style: Style, lines: impl IntoIterator<Item = String>) -> Option<Self> {
        let items: Vec<ListItem> = lines.into_iter().map(ListItem::new).collect();
        (!items.is_empty()).then_some(Block::List(List { style, items }))
    }

    pub fn terms<N: Into<String>, W: Into<String>>(
        terms: impl IntoIterator<Item = (N, W)>,
    ) -> Self {
        let terms = terms.into_iter().map(|(name, what)| (name.into(), what.into()));
        Block::Terms(terms.collect())
    }

    pub fn fold(title: impl Into<Inline>, blocks: Vec<Block>) -> Self {
        Block::Fold(Fold { title: vec![title.into()], blocks, ..Fold::default() })
    }
}

impl ListItem {
    pub fn new(text: impl Into<Inline>) -> Self {
        ListItem { text: vec![text.into()], ..ListItem::default() }
    }
}

/// The first lines; the last has the number of the others.
pub fn at_most(most: usize, mut lines: Vec<String>) -> Vec<String> {
    if lines.len() > most {
        let rest = rest(lines.len(), most - 1);
        lines.truncate(most - 1);
        lines.extend(rest);
    }
    lines
}

/// `… and 3 more`; none if all are shown.
pub fn rest(all: usize, shown: usize) -> Option<String> {
    (all > shown).then(|| format!("… and {} more", all - shown))
}
