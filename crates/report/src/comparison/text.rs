//! The verdicts for a terminal: a table by test, then findings and remarks.

use comfy_table::presets::NOTHING;
use comfy_table::{Cell, CellAlignment, Color, Table};
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use super::{
    Judged, TAIL, TIMES_NOTE, Verdicts, change, instructions, post, profile_text, ratio, span,
};
use crate::Colour;
use crate::model::loaded;
use crate::model::number::duration;
use crate::text::{bullets, wrapped};

/// The discarded measurements that are shown.
const REFUSALS: usize = 10;

/// The verdicts as text, without the facts of the run.
pub(crate) fn text(verdicts: &Verdicts<'_>, colour: Colour) -> String {
    if verdicts.plan.only_instructions().is_some() {
        let texts = verdicts.judged.iter().map(|judged| instructions::text(verdicts, judged));
        return texts.collect::<Vec<_>>().join("\n");
    }
    let mut parts = vec![post::text(verdicts)];
    for judged in &verdicts.judged {
        parts.push(format!("{} relative to {}\n", judged.contender, verdicts.base));
        if let Some(why) = &judged.invalid {
            parts.push(format!("All results of this contender are invalid: {why}\n"));
        }
        parts.push(table(verdicts, judged, colour));
        parts.push(times(verdicts, judged));
        parts.push(findings(judged));
        parts.push(profile_text::text(&judged.profiles));
        parts.push(instructions::text(verdicts, judged));
    }
    let remarks = verdicts.remarks().into_iter();
    parts.push(bullets("Certainty", &remarks.collect::<Vec<_>>()));
    let mut refusals = verdicts.refusals();
    if !refusals.is_empty() {
        let more = refusals.len().saturating_sub(REFUSALS);
        refusals.truncate(REFUSALS);
        refusals.extend((more > 0).then(|| format!("… and {more} more, in result.json")));
        parts.push(bullets("Discarded measurements", &refusals));
    }
    parts.push(legend(verdicts));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// Service times of whole runs; slices record no times.
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
            Cell::new(format!("change that all tests share: {}", change(&suite.shift))),
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
        text.push_str(&format!("   Next: {}\n", finding.next));
    }
    text
}

fn legend(verdicts: &Verdicts<'_>) -> String {
    let control = match verdicts.plan.control {
        true => "The baseline is the mean of the baseline and its A/A control. ",
        false => "",
    };
    let mut more = String::new();
    if !verdicts.plan.of.is_chain() && verdicts.plan.loads.is_some() {
        more += " Intervals hold for these loads: the effect of another load may be larger.";
    }
    if let Some((micros, share)) = verdicts.reading() {
        let share = 100.0 * share;
        more += &format!(
            " Reading counters at the edges of slices took {micros:.0} us of the client's CPU, \
             {share:.1} % beside each slice."
        );
    }
    let counted = verdicts.counted();
    let here = counted.here();
    let legend = format!(
        "rQPS is {} per second as a share of the baseline's.{here} {control}Each round restarts all \
         servers; intervals are over rounds and adjusted for the number of tests. Data were \
         {}.{more} docs/verdicts.md explains how a verdict is reached.",
        counted.many,
        loaded(verdicts.plan),
    );
    wrapped([[legend.as_str()]].into_iter())
}
