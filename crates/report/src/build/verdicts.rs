//! The verdicts of a comparison as tables by test.

use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use crate::comparison::{
    Judged, SHORT_MISSED, Verdicts, change, counts, ratio, reach, short, span,
};
use crate::comparison::{is_change, word};
use crate::document::{Cell, Content, Heading, Row, Table, Tone, rest};

const SHORT: &str = "slower, faster: significant, and by at least the margin; in parentheses: by \
     less; costlier: as fast, but an operation costs more; same: no change; unclear: inconclusive; \
     SLA: it never kept its write rate.";

/// A row for each test: of one contender with its costs, of several side by side. If only some rows
/// are shown, the largest changes come first, and one more row counts the labels of the others.
pub(super) fn table(verdicts: &Verdicts<'_>, judged: &[&Judged<'_>], most: Option<usize>) -> Table {
    let cells = |test: usize| -> Vec<Cell> {
        match judged {
            [only] => alone(verdicts, only, test).into(),
            several => several.iter().map(|one| among(verdicts, one, test)).collect(),
        }
    };
    let row = |test: &usize| Row::new(verdicts.tests[*test].name, cells(*test));
    let tests = 0..verdicts.tests.len();
    let rows = match most {
        None => tests.map(|test| row(&test).within(verdicts.tests[test].group)).collect(),
        Some(most) => {
            let tests = sorted(verdicts, judged);
            let (shown, others) = tests.split_at(tests.len().min(most));
            let rest = rest(tests.len(), most).map(|rest| Row::new(rest, counted(judged, others)));
            shown.iter().map(row).chain(rest).collect()
        }
    };
    let table = Table::new(headings(judged), rows).named("test");
    Table { short_note: SHORT.to_string(), ..table }
}

fn headings(judged: &[&Judged<'_>]) -> Vec<Heading> {
    match judged {
        [_] => vec![
            Heading::new("rQPS", ""),
            Heading::new("95 % interval", ""),
            Heading::new("cpu/o", "").ranked(1),
            Heading::new("rounds", "").ranked(2),
            Heading::words("verdict"),
        ],
        several => several
            .iter()
            .map(|one| Heading { content: Content::Parts, ..Heading::new(&one.contender, "") })
            .collect(),
    }
}

fn alone(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> [Cell; 5] {
    let verdict = &judged.verdicts[index];
    let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
    [
        Cell::plain(ratio(&verdict.estimate)),
        Cell::plain(span(&verdict.estimate)),
        Cell::plain(cpu.map_or("-".to_string(), |(_, cost)| change(cost))),
        Cell::plain(verdict.contributions.len().to_string()),
        Cell::new(verdicts.told(judged, index), tone(verdict)).or(brief(verdicts, judged, index)),
    ]
}

fn among(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> Cell {
    let verdict = &judged.verdicts[index];
    let numbers = format!("{}\t{}", ratio(&verdict.estimate), reach(&verdict.estimate));
    let label = match verdicts.missed(&judged.contender, index) {
        Some(missed) => missed,
        None => word(&verdict.label, 1).to_string(),
    };
    let built = verdicts.built(judged).map_or(String::new(), |built| format!(" ({built})"));
    let long = Cell::new(format!("{numbers}\t{label}{built}"), tone(verdict));
    long.or(format!("{numbers}\t{}", brief(verdicts, judged, index)))
}

fn brief(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> &'static str {
    match verdicts.missed(&judged.contender, index) {
        Some(_) => SHORT_MISSED,
        None => short(&judged.verdicts[index].label),
    }
}

fn tone(verdict: &Verdict) -> Tone {
    match verdict.label {
        Label::Regression { .. }
        | Label::SmallRegression { .. }
        | Label::EfficiencyRegression { .. } => Tone::Regression,
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Tone::Improvement,
        Label::Inconclusive { .. } | Label::Invalid { .. } => Tone::Missing,
        Label::NoChange { .. } => Tone::Plain,
    }
}

/// The tests that have changed first, the largest change at the top; then those without a verdict,
/// then those that have not changed.
fn sorted(verdicts: &Verdicts<'_>, judged: &[&Judged<'_>]) -> Vec<usize> {
    let order = |label: &Label| match label {
        label if is_change(label) => 0,
        Label::NoChange { .. } => 2,
        _ => 1,
    };
    let rank = |test: &usize| {
        let all = || judged.iter().map(|one| &one.verdicts[*test]);
        let first = all().map(|verdict| order(&verdict.label)).min();
        let changed = all().filter(|verdict| is_change(&verdict.label));
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

/// The number of these tests with each label, in the last column of each contender.
fn counted(judged: &[&Judged<'_>], tests: &[usize]) -> Vec<Cell> {
    let of = |judged: &Judged<'_>| {
        let counted = counts(tests.iter().map(|test| &judged.verdicts[*test]));
        let counted =
            counted.into_iter().map(|(label, tests)| format!("{tests} {}", word(label, tests)));
        Cell::plain(counted.collect::<Vec<_>>().join(", "))
    };
    let blank = || Cell::plain("");
    match judged {
        [only] => vec![blank(), blank(), blank(), blank(), of(only)],
        several => several.iter().map(|one| of(one)).collect(),
    }
}
