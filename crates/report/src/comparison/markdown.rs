//! The verdicts for a pull request. However many tests and contenders there are, the lines are few.

use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use super::{Judged, Verdicts, counts, percent, span, word};
use crate::markdown::{escape, rest};

/// Contenders, rows, findings and refusals that are shown: with what stands around them they stay
/// below sixty lines.
const CONTENDERS: usize = 6;
const ROWS: usize = 14;
const FINDINGS: usize = 7;
const REFUSALS: usize = 4;

/// A test of a contender.
struct Row<'a> {
    judged: &'a Judged<'a>,
    verdict: &'a Verdict,
}

pub(crate) fn lines(verdicts: &Verdicts<'_>) -> Vec<String> {
    let mut lines = vec![String::new()];
    for judged in verdicts.judged.iter().take(CONTENDERS) {
        let doubt = judged.invalid.as_ref().map_or(String::new(), |why| {
            format!(" **Nothing of this can be believed: {}.**", escape(why))
        });
        let (contender, base) = (escape(&judged.contender), escape(&verdicts.base));
        let strip = escape(&judged.strip());
        lines.push(format!("- **{contender}** relative to {base}: {strip}.{doubt}"));
    }
    lines.extend(rest(verdicts.judged.len(), CONTENDERS).map(|rest| format!("- {rest}")));
    lines.push(String::new());
    lines.extend(table(verdicts));
    lines.extend(findings(verdicts));
    let remarks = verdicts.remarks().join(" ");
    lines.extend([String::new(), escape(&remarks)]);
    lines.extend(refusals(verdicts));
    lines
}

/// The changes first, the largest of them at the top; then what is not known, then what has not
/// changed.
fn table(verdicts: &Verdicts<'_>) -> Vec<String> {
    let of = |judged| move |verdict| Row { judged, verdict };
    let mut rows: Vec<Row<'_>> =
        verdicts.judged.iter().flat_map(|one| one.verdicts.iter().map(of(one))).collect();
    // The sort is stable: what is alike stays in the order of the tests.
    rows.sort_by(|left, right| {
        let size = |row: &Row<'_>| row.verdict.estimate.value.abs();
        let larger = || match order(&left.verdict.label) {
            0 => size(right).total_cmp(&size(left)),
            _ => std::cmp::Ordering::Equal,
        };
        order(&left.verdict.label).cmp(&order(&right.verdict.label)).then_with(larger)
    });
    let many = verdicts.judged.len() > 1;
    let head = if many { "| contender " } else { "" };
    let rule = if many { "|---" } else { "" };
    let mut lines = vec![
        format!("| test {head}| rQPS | 95 % interval | cpu/o | rounds | verdict |"),
        format!("|---{rule}|--:|--:|--:|--:|---|"),
    ];
    lines.extend(rows.iter().take(ROWS).map(|row| line(row, many)));
    if let Some(rest) = rest(rows.len(), ROWS) {
        let folded = counts(rows[ROWS..].iter().map(|row| row.verdict)).into_iter();
        let folded = folded.map(|(label, tests)| format!("{tests} {}", word(label, tests)));
        let empty = if many { "| " } else { "" };
        let folded = folded.collect::<Vec<_>>().join(", ");
        lines.push(format!("| {rest} {empty}| | | | | {folded} |"));
    }
    lines
}

/// 0 for what has changed, 1 for what is not known, 2 for what has not changed.
fn order(label: &Label) -> u8 {
    match label {
        Label::Regression { .. }
        | Label::SmallRegression { .. }
        | Label::EfficiencyRegression { .. }
        | Label::Improvement { .. }
        | Label::SmallImprovement { .. } => 0,
        Label::Inconclusive { .. } | Label::Invalid { .. } => 1,
        Label::NoChange { .. } => 2,
    }
}

fn line(row: &Row<'_>, many: bool) -> String {
    let verdict = row.verdict;
    let rounds = verdict.contributions.len();
    let (ratio, interval) = match rounds < 2 {
        true => ("-".to_string(), "-".to_string()),
        false => (format!("{:.3}", verdict.ratio()), span(&verdict.estimate)),
    };
    let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
    let cpu = cpu.map_or("-".to_string(), |(_, cost)| percent(cost.value));
    let label = match (&verdict.label, order(&verdict.label)) {
        (label, 0) => format!("**{}**", escape(&label.to_string())),
        (label, _) => escape(&label.to_string()),
    };
    let contender = match many {
        true => format!("| {} ", escape(&row.judged.contender)),
        false => String::new(),
    };
    let test = escape(&verdict.test);
    format!("| {test} {contender}| {ratio} | {interval} | {cpu} | {rounds} | {label} |")
}

fn findings(verdicts: &Verdicts<'_>) -> Vec<String> {
    let mut found: Vec<_> = verdicts.judged.iter().flat_map(|judged| &judged.findings).collect();
    found.sort_by(|left, right| right.importance.total_cmp(&left.importance));
    if found.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "**Why**".to_string(), String::new()];
    let shown = found.iter().take(FINDINGS);
    lines.extend(shown.map(|finding| {
        let cause = finding.cause.name(finding.slower);
        let statement = escape(&finding.statement);
        let checks = finding.checks().map(|(what, checks)| format!(" {what}: {checks}."));
        let checks = escape(&checks.collect::<String>());
        format!("- {}: {statement}{checks} Next: `{}`", escape(cause), finding.next)
    }));
    lines.extend(rest(found.len(), FINDINGS).map(|rest| format!("- {rest}")));
    lines
}

fn refusals(verdicts: &Verdicts<'_>) -> Vec<String> {
    let refusals = verdicts.refusals();
    if refusals.is_empty() {
        return Vec::new();
    }
    let title = "Measured, but refused by a guard:".to_string();
    let mut lines = vec![String::new(), title, String::new()];
    lines.extend(refusals.iter().take(REFUSALS).map(|line| format!("- {}", escape(line))));
    lines.extend(rest(refusals.len(), REFUSALS).map(|rest| format!("- {rest}")));
    lines
}
