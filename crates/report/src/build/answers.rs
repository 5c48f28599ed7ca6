//! Whether contenders answer alike, and by the same query plans: a user's own SQL is checked before
//! it is measured.

use rqps_analysis::comparison::{Answered, PlanVerdict, Total};
use rqps_document::{
    Block, Cell, Heading, Inline, List, ListItem, Row, Style, Table, Text, Tone, rest,
};
use rqps_plan::RowsVerdict;
use rqps_stats::{Estimate, Interval};

use super::Extent;
use crate::comparison::{Judged, Verdicts, chip, with_interval};
use crate::model::number::{duration, significant};

/// Queries of a contender that a comment names.
const NAMED: usize = 5;

/// Contenders and queries of which a comment has tables.
const TABLES: usize = 2;
const ROWS: usize = 10;

const NOTE: &str = "Rows are compared before anything is measured, for up to 20 sets of values of a \
     query that reads and 100 of one that writes. Share is that of the baseline's time, by weights. \
     docs/own-sql.md has the words.";

/// Nothing of a workload whose answers are known.
pub(crate) fn blocks(verdicts: &Verdicts<'_>, extent: Extent) -> Vec<Block> {
    let judged: Vec<&Judged<'_>> =
        verdicts.judged.iter().filter(|judged| !judged.answers.is_empty()).collect();
    if judged.is_empty() {
        return Vec::new();
    }
    let items = judged.iter().map(|judged| item(verdicts, judged, extent)).collect();
    let mut blocks =
        vec![Block::heading("Answers"), Block::List(List { style: Style::Bullets, items })];
    blocks.extend(Block::list(Style::Sentences, notes(verdicts)));
    let (tables, rows) = match extent {
        Extent::Comment => (TABLES, ROWS),
        _ => (usize::MAX, usize::MAX),
    };
    for one in judged.iter().take(tables) {
        if judged.len() > 1 {
            blocks.push(super::comparison::relative(verdicts, one));
        }
        blocks.push(Block::Table(table(verdicts, one, rows)));
    }
    blocks.extend((extent > Extent::Comment).then(|| Block::text(NOTE)));
    blocks
}

/// The same for a page, where a reader can hide a contender.
pub(crate) fn by_contender(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let judged = verdicts.judged.iter().filter(|judged| !judged.answers.is_empty());
    let of = |judged: &Judged<'_>| {
        let items = vec![item(verdicts, judged, Extent::Post)];
        let list = Block::List(List { style: Style::Bullets, items });
        let table = Block::Table(table(verdicts, judged, usize::MAX));
        let title = super::comparison::relative(verdicts, judged);
        Block::Of(judged.contender.clone(), vec![title, list, table])
    };
    let mut blocks: Vec<Block> = judged.map(of).collect();
    if !blocks.is_empty() {
        blocks.extend(Block::list(Style::Sentences, notes(verdicts)));
        blocks.push(Block::text(NOTE));
    }
    blocks
}

/// `new: 1 different rows, 11 same rows; 1 plan changed; total time +4.1 %`, with what differs.
fn item(verdicts: &Verdicts<'_>, judged: &Judged<'_>, extent: Extent) -> ListItem {
    let mut text: Text = vec![Inline::Strong(judged.contender.clone()), ": ".into()];
    // The worst first.
    let counted = RowsVerdict::ALL.into_iter().rev().filter_map(|verdict| {
        let count = judged.answers.iter().filter(|one| one.rows == verdict).count();
        (count > 0).then(|| Inline::chip(class(verdict), format!("{count} {}", verdict.name())))
    });
    for (number, chip) in counted.enumerate() {
        text.extend((number > 0).then(|| ", ".into()));
        text.push(chip);
    }
    let changed = |plan: &PlanVerdict| matches!(plan, PlanVerdict::Changed(_));
    let changed = judged.answers.iter().filter(|one| changed(&one.plan)).count();
    let plans = match changed {
        0 => String::new(),
        1 => "; 1 query plan changed".to_string(),
        many => format!("; {many} query plans changed"),
    };
    text.push(plans.into());
    if let Some(total) = &judged.total {
        text.push(format!("; {}, ", total_time(total)).into());
        text.push(Inline::Chip(chip(&total.verdict.label), None));
        if total.covered < COVERED {
            text.push(format!(" ({:.1} % of the time)", 100.0 * total.covered).into());
        }
    }
    text.extend(whole_day(verdicts, judged).map(Inline::from));
    let told: Vec<String> = judged.answers.iter().filter_map(told).collect();
    let most = if extent == Extent::Comment { NAMED } else { usize::MAX };
    let more = rest(told.len(), most);
    let details = told.into_iter().take(most).chain(more);
    // A comment has them in one line.
    let details: Vec<Text> = details.map(|line| vec![format!("{line}.").into()]).collect();
    text.extend((!details.is_empty()).then(|| ".".into()));
    ListItem { text, details, of: Some(judged.contender.clone()), ..ListItem::default() }
}

/// Why a comparison fails whatever the speed.
pub(super) fn wrong(judged: &Judged<'_>) -> Option<String> {
    let wrong = judged.answers.iter().filter(|one| one.rows.is_wrong());
    let wrong: Vec<String> =
        wrong.map(|one| format!("{} ({})", one.test, one.rows.name())).collect();
    let shown = wrong.iter().take(NAMED).cloned().chain(rest(wrong.len(), NAMED));
    let shown = shown.collect::<Vec<_>>().join(", ");
    (!wrong.is_empty()).then(|| format!("Wrong answers, exit code 1 whatever the speed: {shown}"))
}

/// A total of more than this share is one of all.
const COVERED: f64 = 0.9995;

/// `total time +4.1 % (3.0 % to 5.3 %)`
pub(crate) fn total_time(total: &Total) -> String {
    format!("total time {}", with_interval(&time(&total.verdict.estimate)))
}

/// From rates to times.
pub(crate) fn time(rate: &Estimate) -> Estimate {
    let Interval { low, high } = rate.interval;
    Estimate { value: -rate.value, interval: Interval { low: -high, high: -low }, p: rate.p }
}

/// What differs in a query; none if nothing does.
fn told(one: &Answered<'_>) -> Option<String> {
    let mut parts = Vec::new();
    if one.rows != RowsVerdict::Same {
        let detail = one.record.detail.as_ref().map(|detail| format!(", {detail}"));
        let file = one.record.file.as_ref().map(|file| format!(" ({file})"));
        let more = detail.into_iter().chain(file).collect::<String>();
        parts.push(format!("{}{more}", one.rows.name()));
    }
    if !one.plan.changes().is_empty() {
        parts.push(format!("{}: {}", one.plan.name(), one.plan.changes().join(", ")));
    }
    (!parts.is_empty()).then(|| format!("{}: {}", one.test, parts.join("; ")))
}

/// What a reader should know of the values, and of the baseline.
fn notes(verdicts: &Verdicts<'_>) -> Vec<String> {
    let Some(first) = verdicts.judged.first() else { return Vec::new() };
    let mut notes = Vec::new();
    for one in &first.answers {
        if one.baseline.verdict == RowsVerdict::Fails {
            let detail = one.baseline.detail.as_deref().unwrap_or_default();
            notes.push(format!("{} fails in the baseline: {detail}.", one.test));
        }
        notes.extend(one.baseline.note.as_ref().map(|note| format!("{}: {note}.", one.test)));
    }
    notes
}

/// `1.20 h → 1.31 h`
fn of_day([base, contender]: [f64; 2]) -> String {
    let told = |seconds: f64| match seconds {
        seconds if seconds < 60.0 => duration((1e9 * seconds).round() as u64),
        seconds if seconds < 3600.0 => format!("{} min", significant(seconds / 60.0)),
        seconds => format!("{} h", significant(seconds / 3600.0)),
    };
    format!("{} → {}", told(base), told(contender))
}

/// `; in a day 1.20 h → 1.31 h`, where the number of executions is known.
fn whole_day(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Option<String> {
    let each: Vec<[f64; 2]> = verdicts.per_day(judged).into_iter().flatten().collect();
    let sum = |side: usize| each.iter().map(|of| of[side]).sum::<f64>();
    (!each.is_empty()).then(|| format!("; in a day {}", of_day([sum(0), sum(1)])))
}

/// The queries with the largest shares come first.
fn table(verdicts: &Verdicts<'_>, judged: &Judged<'_>, most: usize) -> Table {
    let (shares, per_day) = (verdicts.shares(judged), verdicts.per_day(judged));
    let knows_day = per_day.iter().any(Option::is_some);
    let share = |one: &&Answered<'_>| {
        let place = verdicts.tests.iter().position(|test| test.name == one.test);
        place.and_then(|place| shares[place]).unwrap_or_default()
    };
    let mut answers: Vec<&Answered<'_>> = judged.answers.iter().collect();
    answers.sort_by(|one, other| share(other).total_cmp(&share(one)));
    let row = |one: &Answered<'_>| {
        let place = verdicts.tests.iter().position(|test| test.name == one.test);
        let share = place.and_then(|place| shares[place]);
        let share = share.map(|share| format!("{:.1} %", 100.0 * share));
        let verdict = match place.map(|place| &judged.verdicts[place]) {
            Some(verdict) => Cell::plain(verdict.label.to_string()).labelled(chip(&verdict.label)),
            None => Cell::missing("not measured"),
        };
        let in_a_day = place.and_then(|place| per_day[place]).map(of_day);
        let mut cells = vec![Cell::known(share)];
        cells.extend(knows_day.then(|| Cell::known(in_a_day)));
        cells.extend([
            Cell::new(one.rows.name(), tone(one.rows)),
            Cell::plain(one.plan.name()),
            verdict,
        ]);
        Row::new(one.test, cells)
    };
    let columns = 4 + usize::from(knows_day);
    let others = rest(answers.len(), most)
        .map(|rest| Row::new(rest, (0..columns).map(|_| Cell::plain("")).collect()));
    let rows = answers.into_iter().take(most).map(row).chain(others).collect();
    let mut headings = vec![Heading::new("share", "of the baseline's time, by weights")];
    let in_a_day = || Heading::new("in a day", "time of all executions, baseline → contender");
    headings.extend(knows_day.then(in_a_day));
    headings.extend(["rows", "plan", "verdict"].map(Heading::words));
    Table::new(headings, rows).named("query")
}

fn class(verdict: RowsVerdict) -> &'static str {
    match verdict {
        RowsVerdict::Same => "same",
        RowsVerdict::Different | RowsVerdict::Fails => "slower",
        RowsVerdict::Order | RowsVerdict::Ties | RowsVerdict::NotComparable => "unknown",
    }
}

fn tone(verdict: RowsVerdict) -> Tone {
    match verdict {
        RowsVerdict::Same => Tone::Plain,
        RowsVerdict::Different | RowsVerdict::Fails => Tone::Regression,
        RowsVerdict::Order | RowsVerdict::Ties | RowsVerdict::NotComparable => Tone::Missing,
    }
}
