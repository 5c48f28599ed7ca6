//! The verdicts for a pull request, in few lines for any number of tests and contenders.

use rqps_stats::label::Label;

use super::{Judged, Verdicts, change, counts, ratio, reach, span, word};
use crate::markdown::{escape, rest};

/// Contenders, rows, findings and discarded measurements that are shown: with everything around
/// them they stay below sixty lines.
const CONTENDERS: usize = 6;
const ROWS: usize = 14;
const FINDINGS: usize = 7;
const REFUSALS: usize = 4;

pub(crate) fn lines(verdicts: &Verdicts<'_>) -> Vec<String> {
    if verdicts.plan.only_instructions().is_some() {
        return super::instructions::markdown(verdicts);
    }
    let mut lines = vec![String::new()];
    for judged in verdicts.judged.iter().take(CONTENDERS) {
        let doubt = judged.invalid.as_ref().map_or(String::new(), |why| {
            format!(" **All results of this contender are invalid: {}.**", escape(why))
        });
        let (contender, base) = (escape(&judged.contender), escape(&verdicts.base));
        let strip = escape(&verdicts.strip(judged));
        lines.push(format!("- **{contender}** relative to {base}: {strip}.{doubt}"));
    }
    lines.extend(rest(verdicts.judged.len(), CONTENDERS).map(|rest| format!("- {rest}")));
    lines.push(String::new());
    lines.extend(table(verdicts));
    lines.extend(findings(verdicts));
    lines.extend(super::instructions::markdown(verdicts));
    let remarks = verdicts.remarks().join(" ");
    lines.extend([String::new(), escape(&remarks)]);
    lines.extend(refusals(verdicts));
    lines
}

/// A row for each test, and contenders side by side if there are several.
fn table(verdicts: &Verdicts<'_>) -> Vec<String> {
    let judged = &verdicts.judged;
    let row = |name: &str, cells: Vec<String>| format!("| {name} | {} |", cells.join(" | "));
    type Fill = fn(&Verdicts<'_>, &Judged<'_>, usize) -> String;
    let (mut lines, cell, unsaid): (_, Fill, _) = match judged.len() {
        1 => {
            let headings = "| test | rQPS | 95 % interval | cpu/o | rounds | verdict |";
            let lines = [headings, "|---|--:|--:|--:|--:|---|"].map(str::to_string);
            (lines.to_vec(), alone, "| | | | ")
        }
        many => {
            let base = escape(&verdicts.base);
            let names = judged.iter().map(|one| escape(&one.contender)).collect();
            let note = format!("rQPS relative to {base}, ± half of its 95 % interval:");
            let rule = format!("|---{}|", "|---".repeat(many));
            (vec![note, String::new(), row("test", names), rule], among_others, "")
        }
    };
    let tests = sorted(verdicts);
    let (shown, folded) = tests.split_at(tests.len().min(ROWS));
    lines.extend(shown.iter().map(|&test| {
        let cells = judged.iter().map(|one| cell(verdicts, one, test)).collect();
        row(&escape(verdicts.tests[test].name), cells)
    }));
    if let Some(rest) = rest(tests.len(), ROWS) {
        let counts = judged.iter().map(|one| format!("{unsaid}{}", counted(one, folded)));
        lines.push(row(&rest, counts.collect()));
    }
    lines
}

/// The tests that have changed first, the largest change at the top; then those without a verdict,
/// then those that have not changed.
fn sorted(verdicts: &Verdicts<'_>) -> Vec<usize> {
    let rank = |test: &usize| {
        let all = || verdicts.judged.iter().map(|one| &one.verdicts[*test]);
        let first = all().map(|verdict| order(&verdict.label)).min();
        let changed = all().filter(|verdict| order(&verdict.label) == 0);
        (first, changed.map(|verdict| verdict.estimate.value.abs()).fold(0.0, f64::max))
    };
    let mut tests: Vec<usize> = (0..verdicts.tests.len()).collect();
    // The sort is stable: equal ones stay in the order of the tests.
    tests.sort_by(|one, other| {
        let ((first, change), (second, larger)) = (rank(one), rank(other));
        first.cmp(&second).then_with(|| larger.total_cmp(&change))
    });
    tests
}

/// 0 for a change, 1 for no verdict, 2 for no change.
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

/// The cells of the only contender.
fn alone(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> String {
    let verdict = &judged.verdicts[index];
    let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
    let cells = [
        ratio(&verdict.estimate),
        span(&verdict.estimate),
        cpu.map_or("-".to_string(), |(_, cost)| change(cost)),
        verdict.contributions.len().to_string(),
        marked(&verdict.label, &verdicts.told(judged, index)),
    ];
    cells.join(" | ")
}

/// The cell of one of several contenders.
fn among_others(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> String {
    let verdict = &judged.verdicts[index];
    let label = match verdicts.missed(&judged.contender, index) {
        Some(missed) => missed,
        None => marked(&verdict.label, word(&verdict.label, 1)),
    };
    let built =
        verdicts.built(judged).map_or(String::new(), |built| format!("({})", escape(&built)));
    let parts = [ratio(&verdict.estimate), reach(&verdict.estimate), label, built];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// A change is bold.
fn marked(label: &Label, words: &str) -> String {
    match order(label) {
        0 => format!("**{}**", escape(words)),
        _ => escape(words),
    }
}

/// The number of these tests with each label.
fn counted(judged: &Judged<'_>, tests: &[usize]) -> String {
    let counted = counts(tests.iter().map(|test| &judged.verdicts[*test])).into_iter();
    let counted = counted.map(|(label, tests)| format!("{tests} {}", word(label, tests)));
    counted.collect::<Vec<_>>().join(", ")
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
    let title = "Discarded measurements:".to_string();
    let mut lines = vec![String::new(), title, String::new()];
    lines.extend(refusals.iter().take(REFUSALS).map(|line| format!("- {}", escape(line))));
    lines.extend(rest(refusals.len(), REFUSALS).map(|rest| format!("- {rest}")));
    lines
}
