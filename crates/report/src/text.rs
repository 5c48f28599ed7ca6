//! The result as text. A terminal shows the summary tables, then the metrics of each step; a post
//! has more tables below them. The page and the exports have the series of seconds.

mod details;
mod suite;

use comfy_table::presets::NOTHING;
use comfy_table::{
    Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table as Drawn, Width,
};

use crate::model::{self, METRICS_NOTE, Model, Prose, Table, Tone};
use crate::{Report, comparison};

pub(crate) use suite::{grouped, published};

/// Whether tones are drawn with terminal escape codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    Always,
    Never,
}

/// The width of a terminal for the summary tables.
const WIDTH: usize = 100;
/// Steps side by side: the ten of the current profiles fit, older profiles have more.
const STEPS_ABREAST: usize = 10;

/// The whole result: the summary, then sizes, response times and the other tables of a post.
pub fn post(report: &Report<'_>, colour: Colour) -> String {
    let mut parts = vec![text(report, colour)];
    match &report.verdicts {
        Some(verdicts) => {
            parts.extend(details::of_comparison(verdicts, &verdicts.together(), colour));
        }
        // The microbenchmarks have too many tests: these tables are in tests.csv.
        None if report.suite().is_some() => {}
        None => parts.extend(details::parts(&report.model, colour)),
    }
    parts.join("\n")
}

/// The summary, ending in a line feed.
pub fn text(report: &Report<'_>, colour: Colour) -> String {
    let Report { model, verdicts, .. } = report;
    let prose = Prose::new(model);
    let mut parts = vec![heading(&prose)];
    if !prose.warnings.is_empty() {
        parts.push(bullets("Warnings", &prose.warnings));
    }
    if let Some(verdicts) = verdicts {
        parts.push(comparison::text(verdicts, colour));
        return parts.join("\n");
    }
    if let Some(suite) = report.suite() {
        parts.extend(suite::parts(&suite, colour));
        return parts.join("\n");
    }
    let summaries = [
        ("Rows inserted (l.x: indexed) or queries per second", model::absolute(model)),
        ("The same, as a share of the first contender's", model::relative(model)),
        ("Rows inserted per second while queries ran", model::sla(model)),
        (
            "CPU per row or query, us: the DBMS's processes (server), rqps's workers (client)",
            model::cpu_split(model),
        ),
    ];
    for (title, table) in summaries {
        if !table.is_empty() {
            parts.push(format!("{title}\n{}", summary(&table, colour)));
        }
    }
    let metrics = metrics(model);
    if !metrics.is_empty() {
        parts.push(format!("Metrics\n{}", wrapped([[METRICS_NOTE]].into_iter())));
        parts.extend(metrics);
    }
    parts.join("\n")
}

fn heading(prose: &Prose) -> String {
    let facts = prose.facts.iter().map(|(name, value)| [*name, value.as_str()]);
    format!("{}\n{}", prose.title, wrapped(facts))
}

pub(crate) fn bullets(title: &str, lines: &[String]) -> String {
    format!("{title}\n{}", wrapped(lines.iter().map(|line| ["-", line.as_str()])))
}

/// Columns of words, broken into lines that fit.
pub(crate) fn wrapped<'a, const COLUMNS: usize>(
    rows: impl Iterator<Item = [&'a str; COLUMNS]>,
) -> String {
    let mut drawn = Drawn::new();
    drawn.load_style(NOTHING);
    drawn.set_content_arrangement(ContentArrangement::Dynamic);
    drawn.set_width(WIDTH as u16);
    drawn.add_rows(rows);
    close_up(&mut drawn);
    finish(drawn)
}

/// One table under the other if there are more steps than fit side by side.
fn summary(table: &Table, colour: Colour) -> String {
    let columns: Vec<usize> = (0..table.headings.len()).collect();
    let parts = columns.chunks(STEPS_ABREAST).map(|columns| {
        let mut drawn = draw(table, columns, colour);
        fit_names(&mut drawn);
        finish(drawn)
    });
    parts.collect::<Vec<_>>().join("\n")
}

/// The posts' rows, with the name last as `tag`.
fn metrics(model: &Model) -> Vec<String> {
    let mut parts = Vec::new();
    for step in &model.steps {
        let table = model::metrics(model, step);
        if table.is_empty() {
            continue;
        }
        let mut drawn = Drawn::new();
        drawn.load_style(NOTHING);
        let names = table.headings.iter().map(|heading| heading.name.as_str());
        drawn.set_header(names.map(right).chain([Cell::new("tag")]));
        for row in &table.rows {
            let cells = row.cells.iter().map(|cell| right(&cell.text));
            drawn.add_row(cells.chain([Cell::new(&row.name)]));
        }
        close_up(&mut drawn);
        parts.push(format!("{}\n{}", step.heading(), finish(drawn)));
    }
    parts
}

fn draw(table: &Table, columns: &[usize], colour: Colour) -> Drawn {
    let mut drawn = Drawn::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    if colour == Colour::Always {
        drawn.enforce_styling();
    }
    let headings = columns.iter().map(|&column| right(&table.headings[column].name));
    drawn.set_header([Cell::new("")].into_iter().chain(headings));
    for row in &table.rows {
        let cells = columns.iter().map(|&column| {
            let cell = &row.cells[column];
            // Values that are no result have a mark, also without colours.
            let is_spoilt = matches!(cell.tone, Tone::Missed | Tone::Ignored);
            let mark = if is_spoilt { cell.tone.mark() } else { "" };
            let drawn = right(&format!("{}{mark}", cell.text));
            match colour_of(cell.tone) {
                Some(colour) => drawn.fg(colour),
                None => drawn,
            }
        });
        drawn.add_row([Cell::new(&row.name)].into_iter().chain(cells));
    }
    close_up(&mut drawn);
    drawn
}

fn right(text: &str) -> Cell {
    Cell::new(text).set_alignment(CellAlignment::Right)
}

fn colour_of(tone: Tone) -> Option<Color> {
    match tone {
        Tone::Good => Some(Color::Green),
        Tone::Bad | Tone::Missed => Some(Color::Red),
        Tone::Faster => Some(Color::Cyan),
        Tone::Slower => Some(Color::Yellow),
        Tone::Ignored | Tone::Missing | Tone::Reference => Some(Color::DarkGrey),
        Tone::Plain | Tone::Shade(_) => None,
    }
}

/// One blank between columns, none before the first.
fn close_up(drawn: &mut Drawn) {
    for (index, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((u16::from(index > 0), 0));
    }
}

/// Names of up to this length, such as `postgres@16.10:x10d server`, are not broken.
const UNBROKEN: usize = 26;

/// Breaks long names, never numbers, into lines.
fn fit_names(drawn: &mut Drawn) {
    let widths = drawn.column_max_content_widths();
    let numbers: usize = widths.iter().skip(1).map(|width| usize::from(*width) + 1).sum();
    let names = WIDTH.saturating_sub(numbers).max(UNBROKEN) as u16;
    drawn.set_content_arrangement(ContentArrangement::Disabled);
    if let Some(column) = drawn.column_mut(0) {
        column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(names)));
    }
}

/// Without blanks at the ends of lines.
fn finish(drawn: Drawn) -> String {
    drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}
