//! The verdicts as a terminal shows them: what was found, then a table by test.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Color, Table};
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use super::{Judged, TAIL, TIMES_NOTE, Verdicts, change, post, profile_text, ratio, span};
use crate::Colour;
use crate::model::loaded;
use crate::model::number::duration;
use crate::text::{bullets, wrapped};

/// Refusals that are shown.
const REFUSALS: usize = 10;

/// The verdicts as text, without the facts of the run.
pub(crate) fn text(verdicts: &Verdicts<'_>, colour: Colour) -> String {
    let mut parts = vec![post::text(verdicts)];
    for judged in &verdicts.judged {
        parts.push(format!("{} relative to {}\n", judged.contender, verdicts.base));
        if let Some(why) = &judged.invalid {
            parts.push(format!("Nothing of this can be believed: {why}\n"));
        }
        parts.push(table(verdicts, judged, colour));
        parts.push(times(verdicts, judged));
        parts.push(findings(judged));
        parts.push(profile_text::text(&judged.profiles));
    }
    let remarks = verdicts.remarks().into_iter();
    parts.push(bullets("How sure that is", &remarks.collect::<Vec<_>>()));
    let mut refusals = verdicts.refusals();
    if !refusals.is_empty() {
        let more = refusals.len().saturating_sub(REFUSALS);
        refusals.truncate(REFUSALS);
        refusals.extend((more > 0).then(|| format!("… and {more} more, in result.json")));
        parts.push(bullets("Measured, but refused by a guard", &refusals));
    }
    parts.push(legend(verdicts));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Of whole runs, how long the operations took that the tests count; slices keep no times.
fn times(verdicts: &Verdicts<'_>, judged: &Judged<'_>) -> String {
    let tails = (0..verdicts.tests.len()).filter_map(|index| {
        let time = verdicts.times(judged, index).into_iter().find(|time| time.name == TAIL)?;
        Some((verdicts.tests[index].name, time))
    });
    let tails: Vec<_> = tails.collect();
    if tails.is_empty() {
        return String::new();
    }
    let mut drawn = Table::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let headings = [verdicts.base.as_str(), judged.contender.as_str(), "ratio", "95 % interval"];
    let header = [Cell::new(format!("{TAIL} of service times"))];
    let headings = headings.map(|name| right(name.to_string()));
    drawn.set_header(header.into_iter().chain(headings));
    for (name, time) in &tails {
        drawn.add_row([
            Cell::new(format!("  {name}")),
            right(duration(time.base.round() as u64)),
            right(duration(time.contender.round() as u64)),
            right(ratio(time.ratio)),
            right(span(time.ratio)),
        ]);
    }
    lines(&mut drawn) + &wrapped([[TIMES_NOTE]].into_iter())
}

fn table(verdicts: &Verdicts<'_>, judged: &Judged, colour: Colour) -> String {
    let mut drawn = Table::new();
    drawn.load_style(NOTHING);
    drawn.force_no_tty();
    if colour == Colour::Always {
        drawn.enforce_styling();
    }
    let right = |text: String| Cell::new(text).set_alignment(CellAlignment::Right);
    let headings = ["rQPS", "95 % interval", "cpu/o", "rounds"];
    let mut header = vec![Cell::new("")];
    header.extend(headings.map(|name| right(name.to_string())));
    header.push(Cell::new("verdict"));
    drawn.set_header(header);
    if let Some(suite) = &judged.suite {
        drawn.add_row([
            Cell::new("suite shift"),
            right(ratio(&suite.shift)),
            right(span(&suite.shift)),
            Cell::new(""),
            right(suite.rounds.to_string()),
            Cell::new(format!("what all tests have in common: {}", change(&suite.shift))),
        ]);
    }
    let mut group = "";
    for (index, (test, verdict)) in verdicts.tests.iter().zip(&judged.verdicts).enumerate() {
        if test.group != group {
            group = test.group;
            drawn.add_row([Cell::new(group)]);
        }
        let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
        let cpu = cpu.map_or("-".to_string(), |(_, cost)| change(cost));
        let label = Cell::new(verdicts.told(judged, index));
        let label = match tone(verdict).filter(|_| colour == Colour::Always) {
            Some(tone) => label.fg(tone),
            None => label,
        };
        drawn.add_row([
            Cell::new(format!("  {}", test.name)),
            right(ratio(&verdict.estimate)),
            right(span(&verdict.estimate)),
            right(cpu),
            right(verdict.contributions.len().to_string()),
            label,
        ]);
    }
    lines(&mut drawn)
}

fn lines(drawn: &mut Table) -> String {
    for (index, column) in drawn.column_iter_mut().enumerate() {
        column.set_padding((if index > 0 { 2 } else { 0 }, 0));
    }
    drawn.lines().map(|line| line.trim_end().to_string() + "\n").collect()
}

fn tone(verdict: &Verdict) -> Option<Color> {
    match verdict.label {
        Label::Regression { .. }
        | Label::SmallRegression { .. }
        | Label::EfficiencyRegression { .. } => Some(Color::Yellow),
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Some(Color::Cyan),
        Label::Inconclusive { .. } | Label::Invalid { .. } => Some(Color::DarkGrey),
        Label::NoChange { .. } => None,
    }
}

fn findings(judged: &Judged) -> String {
    let mut text = String::new();
    for (number, finding) in (1..).zip(&judged.findings) {
        let cause = finding.cause.name(finding.slower);
        text.push_str(&format!("{number}. {cause}: {}\n", finding.statement));
        let checks = finding.checks();
        text.extend(checks.map(|(what, checks)| format!("   {what}: {checks}\n")));
        text.push_str(&format!("   next: {}\n", finding.next));
    }
    text
}

fn legend(verdicts: &Verdicts<'_>) -> String {
    let twin = match verdicts.plan.twin {
        true => "The base takes part twice, and both are its level. ",
        false => "",
    };
    let mut more = String::new();
    if !verdicts.plan.of.is_chain() && verdicts.plan.loads.is_some() {
        more += " Intervals are about these loads: how data came to be may be worth more.";
    }
    if let Some((micros, share)) = verdicts.reading() {
        let share = 100.0 * share;
        more += &format!(
            " Reading counters at the edges of slices took {micros:.0} us of the client's CPU, {share:.1} % \
             beside each slice."
        );
    }
    let counted = verdicts.counted();
    let here = counted.here();
    let legend = format!(
        "rQPS is {} per second as a share of the base's.{here} {twin}A round is a restart of all \
         servers; intervals are over rounds and adjusted for the number of tests. Data were \
         {}.{more} docs/verdicts.md says how a verdict is reached.",
        counted.many,
        loaded(verdicts.plan),
    );
    wrapped([[legend.as_str()]].into_iter())
}
