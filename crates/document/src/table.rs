//! A table of cells that are already text: formats differ in layout, not in content.

use crate::Chip;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The heading of the names of rows.
    pub corner: String,
    /// Headings of the cells.
    pub headings: Vec<Heading>,
    pub rows: Vec<Row>,
    /// Whether the name of a row comes after its cells, as in published tables.
    pub is_named_last: bool,
    /// The meaning of short forms of cells, where there is no room for the long ones.
    pub short_note: String,
    /// The name of its file if a page saves it as a picture.
    pub saved_as: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Heading {
    pub name: String,
    /// What the column means, with its unit.
    pub legend: String,
    /// The contender of the column.
    pub of: Option<String>,
    /// Where there is no room, columns with the largest number are left out first; 0 stays.
    pub rank: u8,
    pub content: Content,
    /// The ends and the middle of the scale of the pictures below it.
    pub scale: Option<[String; 3]>,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// Below each other by their ends.
    #[default]
    Numbers,
    /// They can be shortened.
    Words,
    /// Parts that tabs separate, below each other: numbers and a word.
    Parts,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub name: String,
    /// The contender of the row, if it is not the row's name.
    pub of: Option<String>,
    /// What the name leads to.
    pub link: Option<RowLink>,
    /// The title of this row and its neighbours; empty in a table without groups.
    pub group: String,
    pub cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum RowLink {
    /// A place in the page.
    Place(String),
    /// A page below the folder of this one.
    Page(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub text: String,
    /// The same where there is little room.
    pub short: Option<String>,
    pub tone: Tone,
    /// The part of the text that is a verdict.
    pub label: Option<Chip>,
    /// More about it, which a page shows on hover.
    pub hover: Option<String>,
    pub picture: Option<Picture>,
}

/// Why a cell stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    /// Among the best of its column.
    Good,
    /// Among the worst of its column.
    Bad,
    /// Below the target.
    Missed,
    /// Not comparable: the step missed its write rate.
    Ignored,
    Faster,
    Slower,
    /// A verdict that there is a change, which has words of its own.
    Improvement,
    Regression,
    /// An interval around no change.
    Unsure,
    /// The row that others are compared with.
    Reference,
    /// There is no number.
    Missing,
    /// A percentage, in steps of 5%.
    Shade(u8),
}

/// Beside the text of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Picture {
    /// An interval of logs with its rounds and the margin, on the scale of the table.
    Interval {
        value: f64,
        ends: (f64, f64),
        rounds: Vec<f64>,
        margin: f64,
        /// Of the scale on either side of no change.
        extent: f64,
    },
    /// An interval of logs without a scale: it is cut at half and double.
    Whisker { value: f64, ends: (f64, f64) },
    /// A curve beside the perfect one, both from 0 to 1.
    Curve { name: String, points: Vec<(f64, f64)> },
}

impl Tone {
    /// Repeats the colour as a shape, for readers without colours.
    pub fn mark(self) -> &'static str {
        match self {
            Tone::Good | Tone::Faster => "▲",
            Tone::Bad | Tone::Slower => "▼",
            Tone::Missed | Tone::Ignored => "✕",
            Tone::Plain
            | Tone::Improvement
            | Tone::Unsure
            | Tone::Regression
            | Tone::Reference
            | Tone::Missing
            | Tone::Shade(_) => "",
        }
    }
}

impl Heading {
    pub fn new(name: impl Into<String>, legend: impl Into<String>) -> Self {
        Heading { name: name.into(), legend: legend.into(), ..Heading::default() }
    }

    /// A column of words.
    pub fn words(name: impl Into<String>) -> Self {
        Heading { content: Content::Words, ..Heading::new(name, "") }
    }

    pub fn of(self, contender: &str) -> Self {
        Heading { of: Some(contender.to_string()), ..self }
    }

    /// See [`Heading::rank`].
    pub fn ranked(self, rank: u8) -> Self {
        Heading { rank, ..self }
    }
}

impl Row {
    pub fn new(name: impl Into<String>, cells: Vec<Cell>) -> Self {
        Row { name: name.into(), of: None, link: None, group: String::new(), cells }
    }

    pub fn of(self, contender: &str) -> Self {
        Row { of: Some(contender.to_string()), ..self }
    }

    pub fn leading_to(self, anchor: impl Into<String>) -> Self {
        Row { link: Some(RowLink::Place(anchor.into())), ..self }
    }

    pub fn leading_to_page(self, path: impl Into<String>) -> Self {
        Row { link: Some(RowLink::Page(path.into())), ..self }
    }

    pub fn within(self, group: impl Into<String>) -> Self {
        Row { group: group.into(), ..self }
    }
}

impl Cell {
    pub fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), short: None, tone, label: None, hover: None, picture: None }
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Plain)
    }

    pub fn missing(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Missing)
    }

    /// Whether it says that there is no value.
    fn is_empty(&self) -> bool {
        self.tone == Tone::Missing && self.text == "-"
    }

    pub fn labelled(self, label: Chip) -> Self {
        Cell { label: Some(label), ..self }
    }

    pub fn hovered(self, hover: impl Into<String>) -> Self {
        Cell { hover: Some(hover.into()), ..self }
    }

    pub fn drawn(self, picture: Picture) -> Self {
        Cell { picture: Some(picture), ..self }
    }

    /// A number that may be unknown.
    pub fn known(text: Option<String>) -> Self {
        text.map_or(Cell::missing("-"), Cell::plain)
    }

    pub fn or(self, short: impl Into<String>) -> Self {
        Cell { short: Some(short.into()), ..self }
    }
}

impl Table {
    pub fn new(headings: Vec<Heading>, rows: Vec<Row>) -> Self {
        Table { headings, rows, ..Table::default() }
    }

    /// What the names of rows are.
    pub fn named(self, corner: impl Into<String>) -> Self {
        Table { corner: corner.into(), ..self }
    }

    pub fn named_last(self) -> Self {
        Table { is_named_last: true, ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.headings.is_empty()
    }

    /// The rows in their groups.
    pub fn groups(&self) -> impl Iterator<Item = (&str, &[Row])> {
        let groups = self.rows.chunk_by(|one, other| one.group == other.group);
        groups.map(|rows| (rows[0].group.as_str(), rows))
    }

    /// The first rows; one more has the number of the others.
    pub fn at_most(mut self, most: usize) -> Self {
        if self.rows.len() > most
            && let Some(rest) = crate::rest(self.rows.len(), most - 1)
        {
            self.rows.truncate(most - 1);
            self.rows.push(Row::new(rest, self.headings.iter().map(|_| Cell::plain("")).collect()));
        }
        self
    }

    /// Rows of contenders become columns, and columns rows; legends of headings are lost.
    pub fn transposed(&self, corner: &str) -> Table {
        let content = self.headings.first().map(|heading| heading.content).unwrap_or_default();
        let headings = self
            .rows
            .iter()
            .map(|row| Heading { content, ..Heading::new(&row.name, "").of(&row.name) });
        let rows = self.headings.iter().enumerate().map(|(column, heading)| {
            let cells = self.rows.iter().map(|row| row.cells[column].clone());
            Row::new(&heading.name, cells.collect())
        });
        Table::new(headings.collect(), rows.collect()).named(corner)
    }

    /// The columns with these names, in the table's order.
    pub fn only(mut self, names: &[&str]) -> Self {
        let kept: Vec<bool> =
            self.headings.iter().map(|heading| names.contains(&heading.name.as_str())).collect();
        for row in &mut self.rows {
            let mut kept = kept.iter();
            row.cells.retain(|_| kept.next() == Some(&true));
        }
        self.headings.retain(|heading| names.contains(&heading.name.as_str()));
        self
    }

    /// Without the columns that have no value in any row.
    pub fn without_empty_columns(self) -> Self {
        let is_full = |column: usize| self.rows.iter().any(|row| !row.cells[column].is_empty());
        let full: Vec<String> = (self.headings.iter().enumerate())
            .filter(|(column, _)| is_full(*column))
            .map(|(_, heading)| heading.name.clone())
            .collect();
        let names: Vec<&str> = full.iter().map(String::as_str).collect();
        self.only(&names)
    }

    /// Adds the columns of another table. Rows that the other table lacks get empty cells.
    pub fn join(&mut self, other: Table) {
        for row in &mut self.rows {
            match other.rows.iter().find(|found| found.name == row.name) {
                Some(found) => row.cells.extend(found.cells.iter().cloned()),
                None => row.cells.extend(other.headings.iter().map(|_| Cell::missing("-"))),
            }
        }
        self.headings.extend(other.headings);
    }
}
