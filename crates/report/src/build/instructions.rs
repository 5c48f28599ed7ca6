//! Instructions per operation: what the code of two builds executes, test by test.

use rqps_analysis::comparison::{
    CountVerdict, CountedSide, CountedTest, FunctionChange, REPEATABLE,
};
use rqps_analysis::diagnosis::{SAME, grouped, signed};
use rqps_analysis::function_name::short;
use rqps_document::{Block, Cell, Heading, List, ListItem, Row, Style, Table, Text, rest};
use rqps_stats::label::Label;

use super::Extent;
use super::comparison::relative;
use crate::comparison::{Judged, Verdicts};

/// At most this many functions of a test, and tests in a comment, are shown.
const MOST: usize = 8;
/// A function is shown if its change is at least this share of all instructions.
const SHOWN: f64 = 0.001;
/// Instructions without names are told of from this share on.
const UNNAMED: f64 = 0.05;

pub(super) fn blocks(verdicts: &Verdicts<'_>, extent: Extent) -> Vec<Block> {
    if extent == Extent::Comment {
        return comment(verdicts);
    }
    let counted = verdicts.judged.iter().filter(|judged| !judged.counts.is_empty());
    let of = |judged: &Judged<'_>| {
        let title = format!(
            "Instructions in user space, {} relative to {}",
            judged.contender, verdicts.base
        );
        let items = judged.counts.iter().map(|counted| {
            let functions = shown(counted).map(function);
            let details = functions.chain(notes(verdicts, judged, counted));
            let details: Vec<Text> = details.map(|line| vec![line.into()]).collect();
            ListItem { details, ..ListItem::new(headline(verdicts, counted)) }
        });
        [Block::Heading(title), Block::List(List { style: Style::Bullets, items: items.collect() })]
    };
    counted.flat_map(of).collect()
}

/// A line for each test, with what has changed most.
fn comment(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let counted = || verdicts.judged.iter().filter(|judged| !judged.counts.is_empty());
    let are_several = counted().count() > 1;
    let tests = |judged| {
        let judged: &Judged<'_> = judged;
        let line = move |counted| {
            let whose = match are_several {
                true => format!("{}, ", judged.contender),
                false => String::new(),
            };
            let first = shown(counted).map(function).next();
            let first = first.or_else(|| notes(verdicts, judged, counted).into_iter().next());
            let first = first.map_or(String::new(), |first| format!("; {first}"));
            format!("{whose}{}{first}", headline(verdicts, counted))
        };
        judged.counts.iter().map(line)
    };
    let mut lines: Vec<String> = counted().flat_map(tests).collect();
    let rest = rest(lines.len(), MOST);
    lines.truncate(MOST);
    lines.extend(rest);
    let list = Block::list(Style::Bullets, lines);
    list.into_iter().flat_map(|list| [Block::heading("Instructions"), list]).collect()
}

/// The section of a page: the functions of both builds beside each other.
pub(crate) fn by_contender(verdicts: &Verdicts<'_>) -> Vec<Block> {
    let counted = verdicts.judged.iter().filter(|judged| !judged.counts.is_empty());
    let of = |judged: &Judged<'_>| {
        let test = |counted: &CountedTest<'_>| {
            let table = functions(counted);
            let table = (!table.is_empty()).then_some(Block::Table(table));
            let notes = Block::list(Style::Bullets, notes(verdicts, judged, counted));
            let headline = Block::text(headline(verdicts, counted));
            [headline].into_iter().chain(table).chain(notes).collect::<Vec<_>>()
        };
        let tests = judged.counts.iter().flat_map(test);
        let blocks = [relative(verdicts, judged)].into_iter().chain(tests).collect();
        Block::Of(judged.contender.clone(), blocks)
    };
    counted.map(of).collect()
}

/// `point-query: 55,965 -> 57,205 instructions per operation (+2.22 %)`
fn headline(verdicts: &Verdicts<'_>, counted: &CountedTest<'_>) -> String {
    let test = counted.test;
    let Some(([base, contender], change)) = counted.both().zip(counted.change()) else {
        let (contender, why) = counted.why().unwrap_or_default();
        return format!("{test}: no instructions of {contender}: {why}");
    };
    let verdict = match verdicts.plan.only_instructions() {
        Some(threshold) => format!(": {}", word(counted.verdict(threshold))),
        None => String::new(),
    };
    format!(
        "{test}: {} -> {} instructions per operation ({:+.2} %){verdict}",
        grouped(base),
        grouped(contender),
        100.0 * change
    )
}

fn notes(verdicts: &Verdicts<'_>, judged: &Judged<'_>, counted: &CountedTest<'_>) -> Vec<String> {
    let longer = costs_no_time(verdicts, judged, counted);
    let longer = longer.then(|| "a longer code path that costs no time here".to_string());
    longer.into_iter().chain(counted.sides.iter().flat_map(limits)).collect()
}

/// More instructions in a test whose rate has not changed are no finding.
fn costs_no_time(verdicts: &Verdicts<'_>, judged: &Judged<'_>, counted: &CountedTest<'_>) -> bool {
    let index = verdicts.tests.iter().position(|test| test.name == counted.test);
    let label = index.map(|index| &judged.verdicts[index].label);
    let is_longer = counted.change().is_some_and(|change| change > SAME);
    is_longer && matches!(label, Some(Label::NoChange { .. }))
}

/// The functions with the largest differences, as far as they matter.
fn shown<'a>(counted: &'a CountedTest<'a>) -> impl Iterator<Item = &'a FunctionChange<'a>> {
    let least = counted.both().map_or(f64::INFINITY, |[base, _]| SHOWN * base);
    counted.functions.iter().take(MOST).filter(move |one| one.change().abs() >= least)
}

/// `+800 ExecInterpExpr (1,000 -> 1,800; postgres)`
fn function(one: &FunctionChange<'_>) -> String {
    let (baseline, contender) = (grouped(one.baseline), grouped(one.contender));
    let (change, place) = (signed(one.change()), place(one));
    format!("{change} {} ({baseline} -> {contender}; {place})", short(one.name))
}

/// Its library, and its file if that is known.
fn place(one: &FunctionChange<'_>) -> String {
    let file = one.file.and_then(|file| file.rsplit('/').next());
    file.map_or(one.library.to_string(), |file| format!("{}, {file}", one.library))
}

fn functions(counted: &CountedTest<'_>) -> Table {
    let [base, contender] = counted.sides.each_ref().map(|side| side.contender);
    let headings = [base, contender, "change"].map(|name| Heading::new(name, ""));
    let headings = headings.into_iter().chain([Heading::words("library and file").ranked(1)]);
    let rows = shown(counted).map(|one| {
        let numbers = [grouped(one.baseline), grouped(one.contender), signed(one.change())];
        let cells = numbers.into_iter().chain([place(one)]).map(Cell::plain);
        Row::new(short(one.name), cells.collect())
    });
    Table::new(headings.collect(), rows.collect()).named("function itself")
}

/// What limits the count of an arm.
fn limits(side: &CountedSide<'_>) -> Vec<String> {
    let mut limits = Vec::new();
    if side.instructions.is_err() {
        return limits;
    }
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    if side.spread > REPEATABLE {
        let spread = percent(side.spread);
        limits.push(format!("{}: two counts of it differ by {spread}", side.contender));
    }
    if side.unnamed > UNNAMED {
        let unnamed = percent(side.unnamed);
        limits.push(format!(
            "{}: {unnamed} of its instructions are in functions without names in the build",
            side.contender
        ));
    }
    limits
}

fn word(verdict: CountVerdict) -> &'static str {
    match verdict {
        CountVerdict::More => "more instructions",
        CountVerdict::Fewer => "fewer instructions",
        CountVerdict::Same => "no change",
        CountVerdict::Unknown => "inconclusive",
    }
}
