//! The result for a pull request: at most sixty lines.

mod suite;

use rqps_plan::Design;
use rqps_store::Run;

use crate::model::{self, Cell, Prose, Table};
use crate::{Report, comparison};

/// The number of rows of each table, and of warnings; three tables stay below sixty lines.
const ROWS: usize = 10;
const WARNINGS: usize = 6;

/// The summary tables in Markdown, ending in a line feed.
pub fn summary_markdown(report: &Report<'_>) -> String {
    let Report { run, model, verdicts } = report;
    let prose = Prose::new(model);
    let mut lines = vec![
        format!("## {}", escape(&prose.title)),
        String::new(),
        format!("{} {}Seed {}.", escape(&prose.sentence), remark(run), run.plan.seed),
    ];
    if !prose.warnings.is_empty() {
        lines.push(String::new());
        lines.extend(prose.warnings.iter().take(WARNINGS).map(|w| format!("- {}", escape(w))));
        lines.extend(rest(prose.warnings.len(), WARNINGS).map(|rest| format!("- {rest}")));
    }
    if let Some(verdicts) = verdicts {
        lines.extend(comparison::markdown(verdicts));
        lines.push(String::new());
        return lines.join("\n");
    }
    if let Some(suite) = report.suite() {
        lines.extend(suite::lines(&suite));
        lines.push(String::new());
        return lines.join("\n");
    }
    let summaries = [
        ("Relative to the first", model::relative(model)),
        ("Operations per second (l.x: rows indexed per second)", model::absolute(model)),
        ("Rows inserted per second while queries ran", model::sla(model)),
    ];
    for (title, drawn) in summaries {
        if !drawn.is_empty() {
            lines.extend([String::new(), format!("**{title}**"), String::new()]);
            lines.extend(table(&drawn));
        }
    }
    lines.push(String::new());
    lines.join("\n")
}

/// A remark on single steps.
fn remark(run: &Run) -> String {
    match &run.plan.design {
        Design::Single(workload) => workload.remark(),
        Design::Comparison(_) => String::new(),
    }
}

fn table(table: &Table) -> Vec<String> {
    let line = |name: &str, cells: Vec<String>| format!("| {name} | {} |", cells.join(" | "));
    let names = table.headings.iter().map(|heading| escape(&heading.name)).collect();
    let mut lines = vec![line("", names), format!("|---|{}", "--:|".repeat(table.headings.len()))];
    // The last row may be the target, which applies to all rows, shown or not.
    let shown = if table.rows.len() > ROWS { ROWS - 1 } else { table.rows.len() };
    for row in &table.rows[..shown] {
        lines.push(line(&escape(&row.name), row.cells.iter().map(marked).collect()));
    }
    if let Some(rest) = rest(table.rows.len(), shown) {
        lines.push(line(&rest, vec![String::new(); table.headings.len()]));
    }
    lines
}

fn marked(cell: &Cell) -> String {
    match cell.tone.mark() {
        "" => escape(&cell.text),
        mark => format!("{} {mark}", escape(&cell.text)),
    }
}

pub(crate) fn rest(all: usize, shown: usize) -> Option<String> {
    (all > shown).then(|| format!("… and {} more", all - shown))
}

/// Names can contain anything, which must not become markup.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        match c {
            // Inside a word these have no meaning: postgres@17.6 mentions no user.
            '_' | '@' if before.is_alphanumeric() => escaped.push(c),
            '@' => escaped.push_str("&#64;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '$' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}
