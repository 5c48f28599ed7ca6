//! The microbenchmarks as the posts print them: numbers first, the test last, in four groups.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Table as Drawn};

use super::{Colour, WIDTH, close_up, colour_of, finish, right, wrapped};
use crate::model::{
    Grouped, MEASURES, Measure, PUBLISHED_NOTE, RATE, Row, SCALEUP_NOTE, SCAN_NOTE, SHARE, Suite,
    normalised,
};

const ELSEWHERE: &str = "tests.csv and report.html have more for each test and contender: IO, context \
     switches and CPU per operation, variation of the rate, response times.";

const CLIENT_NOTE: &str = "The client's CPU as a percentage of the CPU of client and DBMS.";

pub(super) fn parts(suite: &Suite, colour: Colour) -> Vec<String> {
    let mut parts = Vec::new();
    if suite.is_scaleup() {
        parts.extend(scaleup(suite, colour));
    }
    // The exports have the numbers of clients between the fewest and the most.
    let (fewest, most) = suite.range();
    let mut ends = vec![fewest, most];
    ends.dedup();
    for clients in ends {
        parts.extend(relative(suite, clients, colour));
    }
    let with = suite.with_clients(most);
    if suite.others().next().is_some() {
        let rates = suite.by_contender(most, &RATE);
        let title = format!("Queries per second{with}");
        parts.push(titled(&title, SCAN_NOTE, &rates, colour));
        let shares = suite.by_contender(most, &SHARE);
        let title = format!("The client's share of CPU, %{with}");
        parts.push(titled(&title, CLIENT_NOTE, &shares, colour));
    }
    if let Some(name) = suite.model.contenders.first() {
        let measures = suite.by_measure(most, 0, told());
        let title = format!("Measures of {name}{with}");
        parts.push(titled(&title, &legends(), &measures, colour));
    }
    if suite.plan.quiesces_after_each_write() {
        parts.extend(normalised_writes(suite));
    }
    parts.push(wrapped([[ELSEWHERE]].into_iter()));
    parts
}

/// The measures that fit in a line; the page and tests.csv also have the pause.
fn told() -> &'static [Measure] {
    &MEASURES[..MEASURES.len() - 1]
}

/// The legends of the short names.
fn legends() -> String {
    let named = told().iter().filter(|measure| !measure.name.ends_with("/s"));
    let told = named.map(|measure| format!("{}: {}", measure.name, measure.legend));
    told.collect::<Vec<_>>().join(". ") + "."
}

fn titled(title: &str, note: &str, table: &Grouped, colour: Colour) -> String {
    let note = wrapped([[note]].into_iter());
    format!("{title}\n{note}\n{}", grouped(table, colour))
}

fn relative(suite: &Suite, clients: u32, colour: Colour) -> Option<String> {
    let table = suite.relative(clients)?;
    let with = suite.with_clients(clients);
    let title = format!("Relative queries per second{with}");
    let columns = suite.columns_told().join("\n");
    let note = wrapped([[PUBLISHED_NOTE]].into_iter());
    Some(format!("{title}\n{note}\n{columns}\n\n{}", grouped(&table, colour)))
}

fn scaleup(suite: &Suite, colour: Colour) -> Vec<String> {
    let (fewest, most) = suite.range();
    let note = wrapped([[SCALEUP_NOTE]].into_iter());
    let mut parts = vec![format!("Scale-up from {fewest} to {most} clients\n{note}")];
    for (index, name) in suite.model.contenders.iter().enumerate() {
        let table = grouped(&suite.scaleup(index), colour);
        let mut part = format!("Scale-up of {name}\n\n{table}");
        for (group, buckets) in suite.buckets(index) {
            let lines = buckets.iter().map(|(bounds, tests)| ["-", bounds, tests]);
            part += &format!("\n{group}, throughput with {most} clients over that with {fewest}\n");
            part += &wrapped(lines);
        }
        parts.push(part);
    }
    parts
}

/// The IO-bound posts' tables of the tests that write.
fn normalised_writes(suite: &Suite) -> Vec<String> {
    let mut parts = Vec::new();
    let writes = suite.tests().flat_map(|(_, test)| &test.steps).filter(|(_, step)| {
        step.done().any(|(_, m)| m.totals.iter().any(|totals| totals.writes > 0))
    });
    for (_, step) in writes {
        let tables = normalised(suite.model, step).map(|table| {
            let rows = vec![("dbms", table.rows)];
            grouped(&Grouped { headings: table.headings, groups: rows }, Colour::Never)
        });
        parts.push(format!(
            "{}: iostat, vmstat normalized by operation rate\n{}",
            step.name,
            tables.join("\n")
        ));
    }
    parts
}

/// The groups below each other, each with its title over the names. A table that is wider than a
/// terminal is split.
pub(crate) fn grouped(table: &Grouped, colour: Colour) -> String {
    let marked = table.rows().any(|row| row.cells.iter().any(|cell| !cell.tone.mark().is_empty()));
    let width = |column: usize| {
        let cells = table.rows().map(|row| row.cells[column].text.chars().count());
        let heading = table.headings[column].name.chars().count();
        cells.chain([heading]).max().unwrap_or(0) + 1 + usize::from(marked)
    };
    let titles = table.groups.iter().map(|(title, _)| title.chars().count());
    let names = table.rows().map(|row| row.name.chars().count()).chain(titles).max().unwrap_or(0);
    let room = WIDTH.saturating_sub(names);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = 0;
    for column in 0..table.headings.len() {
        used += width(column);
        match parts.last_mut().filter(|_| used <= room) {
            Some(part) => part.push(column),
            None => {
                used = width(column);
                parts.push(vec![column]);
            }
        }
    }
    let draw = |columns: &Vec<usize>| draw(table, columns, marked, colour);
    parts.iter().map(draw).collect::<Vec<_>>().join("\n")
}

fn draw(table: &Grouped, columns: &[usize], marked: bool, colour: Colour) -> String {
    let mut drawn = Drawn::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    if colour == Colour::Always {
        drawn.enforce_styling();
    }
    let blank = if marked { " " } else { "" };
    let cell = |row: &Row, column: usize| {
        let cell = &row.cells[column];
        let mark = if cell.tone.mark().is_empty() { blank } else { cell.tone.mark() };
        let drawn = right(&format!("{}{mark}", cell.text));
        match colour_of(cell.tone) {
            Some(colour) => drawn.fg(colour),
            None => drawn,
        }
    };
    let shown = table.groups.iter().filter(|(_, rows)| !rows.is_empty());
    for (index, (title, rows)) in shown.enumerate() {
        if index > 0 {
            drawn.add_row([""]);
        }
        let headings =
            columns.iter().map(|&c| right(&format!("{}{blank}", table.headings[c].name)));
        drawn.add_row(headings.chain([Cell::new(title)]));
        for row in rows {
            let cells = columns.iter().map(|&column| cell(row, column));
            drawn.add_row(cells.chain([Cell::new(&row.name)]));
        }
    }
    close_up(&mut drawn);
    finish(drawn)
}

/// The relative tables for a post or a spreadsheet: columns separated by tabs, no marks.
pub(crate) fn published(suite: &Suite) -> String {
    let mut lines = Vec::new();
    for &clients in &suite.clients {
        let Some(table) = suite.relative(clients) else { continue };
        let mut columns = suite.columns_told();
        if suite.is_scaleup() {
            columns[0] += &suite.with_clients(clients);
        }
        lines.extend(columns);
        let headings = table.headings.iter().map(|heading| heading.name.as_str());
        let headings = headings.collect::<Vec<_>>().join("\t");
        for (title, rows) in &table.groups {
            lines.extend([String::new(), format!("{headings}\t{title}")]);
            let line = |row: &Row| {
                let cells = row.cells.iter().map(|cell| cell.text.as_str());
                cells.chain([row.name.as_str()]).collect::<Vec<_>>().join("\t")
            };
            lines.extend(rows.iter().map(line));
        }
        lines.push(String::new());
    }
    lines.join("\n")
}
