//! Instructions per operation of a comparison, in words, rows and for programs.

use rqps_analysis::comparison::{
    CountVerdict, CountedSide, CountedTest, FunctionChange, REPEATABLE,
};
use rqps_analysis::diagnosis::{SAME, signed};
use rqps_stats::label::Label;
use serde::Serialize;

use super::{Judged, Verdicts};

/// At most this many functions of a test are shown.
const MOST: usize = 8;
/// A function is shown if its change is at least this share of all instructions.
const SHOWN: f64 = 0.001;
/// Instructions without names are told of from this share on.
const UNNAMED: f64 = 0.05;

impl Verdicts<'_> {
    /// The tests of a contender: a line for each, and lines about it below.
    pub(crate) fn instructions(&self, judged: &Judged<'_>) -> Vec<(String, Vec<String>)> {
        let of = |counted: &CountedTest<'_>| {
            let mut notes = functions(counted);
            notes.extend(self.costs_no_time(judged, counted));
            notes.extend(counted.sides.iter().flat_map(limits));
            (self.headline(counted), notes)
        };
        judged.counts.iter().map(of).collect()
    }

    /// `point-query: 55,965 -> 57,205 instructions per operation (+2.22 %)`
    fn headline(&self, counted: &CountedTest<'_>) -> String {
        let test = counted.test;
        let Some(([base, contender], change)) = counted.both().zip(counted.change()) else {
            let (contender, why) = counted.why().unwrap_or_default();
            return format!("{test}: no instructions of {contender}: {why}");
        };
        let verdict = match self.plan.only_instructions() {
            Some(threshold) => format!(": {}", word(counted.verdict(threshold))),
            None => String::new(),
        };
        format!(
            "{test}: {} -> {} instructions per operation ({:+.2} %){verdict}",
            plain(base),
            plain(contender),
            100.0 * change
        )
    }

    /// More instructions in a test whose rate has not changed are no finding.
    fn costs_no_time(&self, judged: &Judged<'_>, counted: &CountedTest<'_>) -> Option<String> {
        let index = self.tests.iter().position(|test| test.name == counted.test)?;
        let is_same = matches!(judged.verdicts[index].label, Label::NoChange { .. });
        let is_longer = counted.change()? > SAME;
        (is_same && is_longer).then(|| "a longer code path that costs no time here".to_string())
    }
}

/// The largest differences by function, as far as they matter.
fn functions(counted: &CountedTest<'_>) -> Vec<String> {
    let Some([base, _]) = counted.both() else { return Vec::new() };
    let shown = counted.functions.iter().take(MOST);
    let shown = shown.filter(|one| one.change().abs() >= SHOWN * base);
    shown.map(function).collect()
}

/// `+800 ExecInterpExpr (1,000 -> 1,800; postgres)`
fn function(one: &FunctionChange<'_>) -> String {
    let FunctionChange { name, library, file, baseline, contender } = *one;
    let file = file.and_then(|file| file.rsplit('/').next());
    let place = file.map_or(library.to_string(), |file| format!("{library}, {file}"));
    let (change, baseline, contender) = (signed(one.change()), plain(baseline), plain(contender));
    format!("{change} {name} ({baseline} -> {contender}; {place})")
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

/// `55,965`
fn plain(count: f64) -> String {
    signed(count).trim_start_matches('+').to_string()
}

fn word(verdict: CountVerdict) -> &'static str {
    match verdict {
        CountVerdict::More => "more instructions",
        CountVerdict::Fewer => "fewer instructions",
        CountVerdict::Same => "no change",
        CountVerdict::Unknown => "inconclusive",
    }
}

/// A contender's tests for a terminal; nothing if nothing was to be counted.
pub(super) fn text(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> String {
    let tests = verdicts.instructions(judged);
    if tests.is_empty() {
        return String::new();
    }
    let mut text =
        format!("Instructions in user space, {} relative to {}\n", judged.contender, verdicts.base);
    for (test, notes) in tests {
        text.push_str(&format!("  {test}\n"));
        notes.iter().for_each(|note| text.push_str(&format!("    {note}\n")));
    }
    text
}

/// The same as lines of Markdown, without functions but the first.
pub(super) fn markdown(verdicts: &Verdicts<'_>) -> Vec<String> {
    let tests = |judged: &Judged<'_>| {
        let first = |(test, notes): (String, Vec<String>)| {
            let note = notes.into_iter().next().map(|note| format!("; {note}"));
            crate::markdown::escape(&format!("{test}{}", note.unwrap_or_default()))
        };
        verdicts.instructions(judged).into_iter().map(first)
    };
    let lines: Vec<String> =
        verdicts.judged.iter().flat_map(tests).map(|line| format!("- {line}")).collect();
    if lines.is_empty() {
        return lines;
    }
    let more = crate::markdown::rest(lines.len(), MOST).map(|rest| format!("- {rest}"));
    let head = ["", "**Instructions**", ""].map(str::to_string);
    head.into_iter().chain(lines.into_iter().take(MOST)).chain(more).collect()
}

/// A test for programs. Counts are per operation, in user space.
#[derive(Serialize)]
pub(super) struct CountJson {
    test: String,
    /// `more`, `fewer`, `same`, `unknown`: by the threshold of --instructions-only, else by 0.3 %.
    verdict: &'static str,
    baseline: SideJson,
    contender: SideJson,
    /// As a share of the baseline's; null if one of them is not known.
    change: Option<f64>,
    /// The largest difference first.
    functions: Vec<FunctionJson>,
}

#[derive(Serialize)]
struct SideJson {
    /// How many were counted in each of the two servers.
    operations: u64,
    instructions: Option<f64>,
    /// By how much the two counts differ, as a share.
    spread: f64,
    /// The share in functions without a name.
    unnamed: f64,
    /// Why there are none.
    why: Option<String>,
}

#[derive(Serialize)]
struct FunctionJson {
    name: String,
    library: String,
    file: Option<String>,
    baseline: f64,
    contender: f64,
}

/// Functions with less than this in both arms, as a share, are left out.
const TOLD: f64 = 0.000_1;

pub(super) fn json(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> Vec<CountJson> {
    let threshold = verdicts.plan.only_instructions().unwrap_or(SAME);
    let of = |counted: &CountedTest<'_>| {
        let [baseline, contender] = counted.sides.each_ref().map(side_json);
        let least = counted.both().map_or(0.0, |[base, _]| TOLD * base);
        let is_told =
            |one: &&FunctionChange<'_>| one.baseline.abs().max(one.contender.abs()) >= least;
        CountJson {
            test: counted.test.to_string(),
            verdict: match counted.verdict(threshold) {
                CountVerdict::More => "more",
                CountVerdict::Fewer => "fewer",
                CountVerdict::Same => "same",
                CountVerdict::Unknown => "unknown",
            },
            baseline,
            contender,
            change: counted.change(),
            functions: counted.functions.iter().filter(is_told).map(function_json).collect(),
        }
    };
    judged.counts.iter().map(of).collect()
}

fn side_json(side: &CountedSide<'_>) -> SideJson {
    SideJson {
        operations: side.operations,
        instructions: side.instructions.ok(),
        spread: side.spread,
        unnamed: side.unnamed,
        why: side.instructions.err().map(str::to_string),
    }
}

fn function_json(one: &FunctionChange<'_>) -> FunctionJson {
    FunctionJson {
        name: one.name.to_string(),
        library: one.library.to_string(),
        file: one.file.map(str::to_string),
        baseline: one.baseline,
        contender: one.contender,
    }
}
