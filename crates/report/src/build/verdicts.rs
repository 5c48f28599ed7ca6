//! The verdicts of a comparison as tables by test.

use rqps_document::{Cell, Content, Heading, Picture, Row, Table, Tone, rest};
use rqps_stats::Estimate;
use rqps_stats::label::Label;

use crate::comparison::{
    Judged, SHORT_MISSED, Verdicts, change, counts, ratio, reach, short, span,
};
use crate::comparison::{TAIL, chip, is_change, with_interval, word};

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
        Cell::new(verdicts.told(judged, index), tone(&verdict.label))
            .or(brief(verdicts, judged, index)),
    ]
}

/// What the change of the tail is.
const TIME: &str = "change of the time that 99 % of the operations counted by rQPS do not exceed; \
     slices give it no verdict";

/// The least and the most that a plot shows on either side of no change, as logs.
const LEAST: f64 = 0.02;
const MOST: f64 = 1.4;

/// All that is known of each test of a contender, with its interval as a plot. The largest slowdown
/// comes first.
pub(super) fn intervals(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Table {
    let extent = extent(judged);
    let ends = [-extent, extent].map(|log| format!("{:+.0} %", 100.0 * log.exp_m1()));
    let [low, high] = ends;
    let tail = |index: usize| judged.times[index].iter().find(|time| time.name == TAIL);
    let has_times = (0..judged.times.len()).any(|index| tail(index).is_some());
    let cpu = format!("server CPU per {}", verdicts.counted().one);
    let mut headings = vec![
        Heading::new("rQPS", ""),
        Heading { scale: Some([low, "0".into(), high]), ..Heading::new("95 % interval", "") },
        Heading::words("verdict"),
        Heading::new("cpu/o", cpu),
    ];
    headings.extend(has_times.then(|| Heading::new(TAIL, TIME)));
    let suite = judged.suite.as_ref();
    headings.extend(suite.map(|_| Heading::new("to suite", "rQPS relative to the suite shift")));
    headings.extend([Heading::new("rounds", ""), Heading::words("group")]);
    let plot = |estimate: &Estimate, rounds: &[f64], margin: f64| Picture::Interval {
        value: estimate.value,
        ends: (estimate.interval.low, estimate.interval.high),
        rounds: rounds.to_vec(),
        margin,
        extent,
    };
    let shift = suite.map(|suite| {
        let interval = Cell::plain(span(&suite.shift)).drawn(plot(&suite.shift, &[], 0.0));
        let mut cells = vec![Cell::plain(ratio(&suite.shift)), interval];
        cells.push(Cell::plain("change that all tests share"));
        cells.extend((0..=usize::from(has_times) + 1).map(|_| Cell::plain("")));
        cells.extend([Cell::plain(suite.rounds.to_string()), Cell::plain("")]);
        Row::new("suite shift", cells)
    });
    let row = |index: usize| {
        let (test, verdict) = (&verdicts.tests[index], &judged.verdicts[index]);
        let [ratio, interval, cpu, rounds, label] = alone(verdicts, judged, index);
        let is_measured = verdict.contributions.len() > 1;
        let (ratio, interval) = match is_measured {
            true => {
                let margin = verdicts.margin(test);
                let plot = plot(&verdict.estimate, &verdict.contributions, margin);
                (ratio, interval.drawn(plot))
            }
            false => (Cell::missing("-"), Cell::missing("-")),
        };
        let mut cells = vec![ratio, interval, label.labelled(chip(&verdict.label)), cpu];
        cells.extend(has_times.then(|| match tail(index).and_then(|time| time.ratio.as_ref()) {
            Some(time) => Cell::plain(change(time)).hovered(span(time)),
            None => Cell::missing("-"),
        }));
        cells.extend(suite.map(|suite| match &suite.relative[index] {
            Some(of) => Cell::plain(self::ratio(of)).hovered(with_interval(of)),
            None => Cell::missing("-"),
        }));
        cells.extend([rounds, Cell::plain(test.group)]);
        Row::new(test.name, cells).leading_to(format!("test-{}", test.name))
    };
    let mut tests: Vec<usize> = (0..verdicts.tests.len()).collect();
    // NaN comes last.
    let effect = |test: &usize| judged.verdicts[*test].estimate.value;
    tests.sort_by(|one, other| effect(one).total_cmp(&effect(other)));
    let rows = shift.into_iter().chain(tests.into_iter().map(row)).collect();
    let saved_as = Some(format!("rQPS of {} relative to {}", judged.contender, verdicts.base));
    Table { saved_as, ..Table::new(headings, rows).named("test") }
}

/// The extent of the plots: all estimates and the finite ends of their intervals.
fn extent(judged: &Judged<'_>) -> f64 {
    let estimates = judged.verdicts.iter().map(|verdict| &verdict.estimate);
    let estimates = estimates.chain(judged.suite.iter().map(|suite| &suite.shift));
    let bounds = estimates.flat_map(|estimate| {
        [estimate.value, estimate.interval.low, estimate.interval.high].map(f64::abs)
    });
    bounds.filter(|bound| bound.is_finite()).fold(LEAST, f64::max).min(MOST) * 1.05
}

fn among(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> Cell {
    let verdict = &judged.verdicts[index];
    let numbers = format!("{}\t{}", ratio(&verdict.estimate), reach(&verdict.estimate));
    let label = match verdicts.missed(&judged.contender, index) {
        Some(missed) => missed,
        None => word(&verdict.label, 1).to_string(),
    };
    let built = verdicts.built(judged).map_or(String::new(), |built| format!(" ({built})"));
    let long = Cell::new(format!("{numbers}\t{label}{built}"), tone(&verdict.label));
    long.or(format!("{numbers}\t{}", brief(verdicts, judged, index)))
}

fn brief(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> &'static str {
    match verdicts.missed(&judged.contender, index) {
        Some(_) => SHORT_MISSED,
        None => short(&judged.verdicts[index].label),
    }
}

pub(super) fn tone(label: &Label) -> Tone {
    match label {
        Label::Regression { .. }
        | Label::Overdue { .. }
        | Label::SmallRegression { .. }
        | Label::EfficiencyRegression { .. } => Tone::Regression,
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Tone::Improvement,
        Label::Inconclusive { .. } | Label::Invalid { .. } | Label::Capped { .. } => Tone::Missing,
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
