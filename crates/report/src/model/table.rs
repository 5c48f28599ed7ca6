//! A table of cells that are already text: formats differ in layout, not in content.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Headings of the cells; the column of row names has none.
    pub(crate) headings: Vec<Heading>,
    pub(crate) rows: Vec<Row>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Heading {
    pub(crate) name: String,
    /// What the column means, with its unit.
    pub(crate) legend: String,
    /// The contender of the column.
    pub(crate) of: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The contender of the row, if it is not the row's name.
    pub(crate) of: Option<String>,
    pub(crate) cells: Vec<Cell>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) tone: Tone,
}

/// Why a cell stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
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
    /// The row that others are compared with.
    Reference,
    /// There is no number.
    Missing,
    /// A percentage, in steps of 5%.
    Shade(u8),
}

impl Tone {
    /// Repeats the colour as a shape, for readers without colours.
    pub(crate) fn mark(self) -> &'static str {
        match self {
            Tone::Good | Tone::Faster => "▲",
            Tone::Bad | Tone::Slower => "▼",
            Tone::Missed | Tone::Ignored => "✕",
            Tone::Plain | Tone::Reference | Tone::Missing | Tone::Shade(_) => "",
        }
    }
}

impl Heading {
    pub(crate) fn new(name: impl Into<String>, legend: impl Into<String>) -> Self {
        Heading { name: name.into(), legend: legend.into(), of: None }
    }

    pub(crate) fn of(self, contender: &str) -> Self {
        Heading { of: Some(contender.to_string()), ..self }
    }
}

impl Row {
    pub(crate) fn new(name: impl Into<String>, cells: Vec<Cell>) -> Self {
        Row { name: name.into(), of: None, cells }
    }

    pub(crate) fn of(self, contender: &str) -> Self {
        Row { of: Some(contender.to_string()), ..self }
    }
}

impl Cell {
    pub(crate) fn new(text: impl Into<String>, tone: Tone) -> Self {
        Cell { text: text.into(), tone }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Plain)
    }

    pub(crate) fn missing(text: impl Into<String>) -> Self {
        Cell::new(text, Tone::Missing)
    }
}

impl Table {
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty() || self.headings.is_empty()
    }

    /// Rows of contenders become columns, and columns rows; legends of headings are lost.
    pub(crate) fn transposed(&self) -> Table {
        let headings = self.rows.iter().map(|row| Heading::new(&row.name, "").of(&row.name));
        let rows = self.headings.iter().enumerate().map(|(column, heading)| {
            let cells = self.rows.iter().map(|row| row.cells[column].clone());
            Row::new(&heading.name, cells.collect())
        });
        Table { headings: headings.collect(), rows: rows.collect() }
    }
}
