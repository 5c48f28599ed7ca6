//! What a report over machines says: verdicts by test, ratios by machine, and a forest plot of each
//! test.

use rqps_analysis::machines::{AcrossContender, Fleet, FleetMachine};
use rqps_document::{
    Block, Cell, Chip, Document, Heading, Inline, Picture, Row, Style, Table, Tone,
};
use rqps_stats::across::{AcrossLabel, AcrossVerdict, Direction};
use rqps_stats::verdict::Verdict;
use rqps_stats::{Estimate, Interval};

use super::{FleetReport, machines};
use crate::build::Extent;
use crate::comparison::{ratio, span};

/// Forest plots of a terminal: of the tests that have changed or differ.
const PLOTS_ON_SCREEN: usize = 4;

pub(super) fn document(report: &FleetReport<'_>, extent: Extent) -> Document {
    let fleet = &report.fleet;
    let title = format!("{} on {}", compared(fleet), counted(fleet.machines.len(), "machine"));
    let mut blocks = Vec::new();
    if !report.missing.is_empty() {
        blocks.push(Block::heading("Missing"));
        blocks.extend(Block::list(Style::Bullets, report.missing.iter().cloned()));
    }
    let warnings = warnings(fleet);
    if !warnings.is_empty() {
        blocks.push(Block::heading("Warnings"));
        blocks.extend(Block::list(Style::Bullets, warnings));
    }
    for contender in &fleet.contenders {
        blocks.extend(of_contender(fleet, contender, extent));
    }
    blocks.push(Block::heading("Machines"));
    blocks.push(Block::Table(machines::table(fleet)));
    if extent != Extent::Comment {
        blocks.push(Block::terms(LEGEND));
    }
    Document { title, blocks }
}

const LEGEND: [(&str, &str); 5] = [
    ("rQPS", "throughput relative to the baseline of the same machine; below 1 is slower"),
    (
        "mean",
        "over machines, with random effects (Paule and Mandel; Hartung and Knapp), from three \
         machines on; its 95 % interval is adjusted for the number of tests",
    ),
    ("τ", "standard deviation of the true ratios between machines, in percent"),
    ("I²", "share of the variance that is between machines and not within them"),
    ("another machine", "where its true ratio lies with 95 % probability, from four machines on"),
];

fn compared(fleet: &Fleet<'_>) -> String {
    let names: Vec<&str> = fleet.contenders.iter().map(|one| one.contender.as_str()).collect();
    format!("{} against {}", names.join(", "), fleet.base)
}

fn counted(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

fn warnings(fleet: &Fleet<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if !fleet.differences.is_empty() {
        let differences: Vec<String> = fleet.differences.iter().map(ToString::to_string).collect();
        warnings.push(format!(
            "NOT COMPARABLE: the runs were put together with --force although these differ: {}",
            differences.join("; ")
        ));
    }
    warnings.extend(fleet.clones.iter().map(|(one, other)| {
        format!(
            "'{one}' and '{other}' have one machine-id, as copies of a virtual machine do. They \
             count as two machines, since their kernels and names differ"
        )
    }));
    for machine in &fleet.machines {
        let invalid = machine.results.judged.iter().filter_map(|judged| judged.invalid.as_ref());
        warnings.extend(invalid.map(|why| {
            format!("'{}' takes no part in the results of a contender: {why}", machine.name)
        }));
    }
    warnings
}

fn of_contender(fleet: &Fleet<'_>, contender: &AcrossContender, extent: Extent) -> Vec<Block> {
    let name = &contender.contender;
    let mut blocks = vec![Block::heading(format!("{name} against {}", fleet.base))];
    blocks.extend(headlines(fleet, contender).map(Block::Text));
    blocks.push(Block::Table(verdicts(contender)));
    blocks.push(Block::heading(format!("rQPS of {name} by machine")));
    blocks.push(Block::Table(ratios(fleet, contender)));
    let is_shown = |verdict: &&AcrossVerdict| match extent {
        Extent::Comment => false,
        Extent::Screen => is_news(&verdict.label),
        Extent::Post => true,
    };
    let most = if extent == Extent::Post { usize::MAX } else { PLOTS_ON_SCREEN };
    let shown = contender.verdicts.iter().filter(is_shown).take(most);
    blocks.extend(shown.map(|verdict| {
        let title = format!("{}: {}", verdict.test, verdict.label);
        let plot = forest(fleet, contender, verdict);
        let mut inner = vec![Block::Table(plot)];
        inner.extend(heterogeneity(verdict).map(Block::text));
        let mut fold = Block::fold(title, inner);
        if let Block::Fold(fold) = &mut fold {
            fold.is_open = is_news(&verdict.label);
        }
        fold
    }));
    blocks
}

/// Whether a reader wants to see where it comes from.
fn is_news(label: &AcrossLabel) -> bool {
    !matches!(label, AcrossLabel::NoChange) && !label.is_open()
}

/// The results that are told in a sentence; nothing without one.
fn headlines(fleet: &Fleet<'_>, contender: &AcrossContender) -> impl Iterator<Item = Vec<Inline>> {
    let told = contender.verdicts.iter().filter(|verdict| is_news(&verdict.label));
    let lines: Vec<Vec<Inline>> = told.map(|verdict| headline(fleet, verdict)).collect();
    lines.into_iter()
}

/// Where machines differ no mean is told, since it would be that of no machine.
fn headline(fleet: &Fleet<'_>, verdict: &AcrossVerdict) -> Vec<Inline> {
    let mut line = vec![Inline::Chip(chip(&verdict.label), None), " ".into()];
    line.push(Inline::Strong(verdict.test.clone()));
    match (&verdict.label, &verdict.estimate) {
        (AcrossLabel::All { .. }, Some(mean)) => {
            line.push(format!(": {} ({})", ratio(mean), span(mean)).into());
        }
        (AcrossLabel::Most { not_on, .. }, Some(mean)) => {
            let not_on: Vec<&str> =
                not_on.iter().map(|place| fleet.machines[*place].name.as_str()).collect();
            let mean = format!("{} ({})", ratio(mean), span(mean));
            line.push(format!(": {mean}, but not on {}", not_on.join(", ")).into());
        }
        _ => {}
    }
    line
}

/// The label in the colours of a page.
fn chip(label: &AcrossLabel) -> Chip {
    let class = match tone(label) {
        Tone::Regression => "slower",
        Tone::Improvement => "faster",
        Tone::Plain => "same",
        _ => "unknown",
    };
    Chip { class, text: label.to_string() }
}

fn tone(label: &AcrossLabel) -> Tone {
    match label {
        AcrossLabel::All { direction, .. }
        | AcrossLabel::Most { direction, .. }
        | AcrossLabel::OnlyOn { direction, .. } => match direction {
            Direction::Slower => Tone::Regression,
            Direction::Faster => Tone::Improvement,
        },
        AcrossLabel::NoChange | AcrossLabel::OneMachine => Tone::Plain,
        AcrossLabel::Differs => Tone::Unsure,
        AcrossLabel::TooFew | AcrossLabel::Inconclusive { .. } => Tone::Missing,
    }
}

/// A row for each test.
fn verdicts(contender: &AcrossContender) -> Table {
    let headings = vec![
        Heading::new("mean rQPS", "over machines"),
        Heading::new("95 % interval", ""),
        Heading::new("τ", "percent").ranked(2),
        Heading::new("I²", "").ranked(3),
        Heading::new("machines", "that have a result").ranked(1),
        Heading::words("verdict"),
    ];
    let row = |verdict: &AcrossVerdict| {
        let mean = verdict.estimate.as_ref();
        let pooled = verdict.pooled.as_ref().map(|pooled| pooled.heterogeneity);
        let cells = vec![
            Cell::known(mean.map(ratio)),
            Cell::known(mean.map(span)),
            Cell::known(pooled.map(|it| format!("{:.1} %", 100.0 * it.tau))),
            Cell::known(pooled.map(|it| format!("{:.0} %", 100.0 * it.share))),
            Cell::plain(verdict.places.len().to_string()),
            Cell::new(verdict.label.to_string(), tone(&verdict.label))
                .labelled(chip(&verdict.label)),
        ];
        Row::new(&verdict.test, cells)
    };
    Table::new(headings, contender.verdicts.iter().map(row).collect()).named("test")
}

/// Tests by machines: what each has found by itself.
fn ratios(fleet: &Fleet<'_>, contender: &AcrossContender) -> Table {
    let headings = fleet.machines.iter().map(|machine| Heading::new(&machine.name, ""));
    let cell = |machine: &FleetMachine<'_>, test: &str| {
        let Some(verdict) = machine.verdict(&contender.contender, test) else {
            return Cell::missing("-");
        };
        let tone = own_tone(verdict);
        Cell::new(ratio(&verdict.plain), tone).hovered(verdict.label.to_string())
    };
    let row = |verdict: &AcrossVerdict| {
        let test = &verdict.test;
        Row::new(test, fleet.machines.iter().map(|machine| cell(machine, test)).collect())
    };
    let rows = contender.verdicts.iter().map(row).collect();
    Table::new(headings.collect(), rows).named("test")
}

/// By the interval of the machine itself.
fn own_tone(verdict: &Verdict) -> Tone {
    match verdict.plain.interval {
        Interval { high, .. } if high < 0.0 => Tone::Slower,
        Interval { low, .. } if low > 0.0 => Tone::Faster,
        interval if interval.half_width().is_finite() => Tone::Plain,
        _ => Tone::Missing,
    }
}

/// The least that a plot shows on either side of no change, as a log.
const LEAST: f64 = 0.02;
const MOST: f64 = 1.4;

/// A row for each machine, then the mean and the prediction.
fn forest(fleet: &Fleet<'_>, contender: &AcrossContender, verdict: &AcrossVerdict) -> Table {
    let own = |machine: &FleetMachine<'_>| {
        machine.verdict(&contender.contender, &verdict.test).map(|own| own.plain)
    };
    let prediction = verdict.pooled.as_ref().and_then(|pooled| pooled.prediction());
    let ends = fleet.machines.iter().filter_map(own).map(|estimate| estimate.interval);
    let ends = ends.chain(prediction).flat_map(|it| [it.low.abs(), it.high.abs()]);
    let extent = ends.filter(|end| end.is_finite()).fold(LEAST, f64::max).min(MOST) * 1.05;
    let [low, high] = [-extent, extent].map(|log| format!("{:+.0} %", 100.0 * log.exp_m1()));
    let drawn = |cell: Cell, estimate: &Estimate| {
        let ends = (estimate.interval.low, estimate.interval.high);
        let picture = Picture::Interval {
            value: estimate.value,
            ends,
            rounds: Vec::new(),
            margin: 0.0,
            extent,
        };
        if estimate.value.is_finite() { cell.drawn(picture) } else { cell }
    };
    let row = |(place, machine): (usize, &FleetMachine<'_>)| {
        let Some(found) = machine.verdict(&contender.contender, &verdict.test) else {
            return Row::new(&machine.name, (0..4).map(|_| Cell::missing("-")).collect());
        };
        let weight = verdict.weight(place).map(|weight| format!("{:.0} %", 100.0 * weight));
        let cells = vec![
            Cell::plain(ratio(&found.plain)),
            drawn(Cell::plain(span(&found.plain)), &found.plain),
            Cell::known(weight),
            Cell::plain(found.label.to_string()),
        ];
        Row::new(&machine.name, cells)
    };
    let mut rows: Vec<Row> = fleet.machines.iter().enumerate().map(row).collect();
    rows.extend(verdict.estimate.as_ref().map(|mean| {
        let cells = vec![
            Cell::plain(ratio(mean)),
            drawn(Cell::plain(span(mean)), mean),
            Cell::plain(""),
            Cell::new(verdict.label.to_string(), tone(&verdict.label)),
        ];
        Row::new("mean", cells)
    }));
    rows.extend(prediction.map(|interval| {
        let value = (interval.low + interval.high) / 2.0;
        let predicted = Estimate { value, interval, p: 1.0 };
        let cells = vec![
            Cell::plain(""),
            drawn(Cell::plain(span(&predicted)), &predicted),
            Cell::plain(""),
            Cell::plain(""),
        ];
        Row::new("another machine", cells)
    }));
    let headings = vec![
        Heading::new("rQPS", ""),
        Heading { scale: Some([low, "0".into(), high]), ..Heading::new("95 % interval", "") },
        Heading::new("weight", "").ranked(1),
        Heading::words("verdict"),
    ];
    Table::new(headings, rows).named("machine")
}

/// `Q 12.3 (p = 0.002), τ 1.2 % (0.4 – 3.1 %), I² 84 % (50 – 97 %)`
fn heterogeneity(verdict: &AcrossVerdict) -> Option<String> {
    let found = verdict.pooled.as_ref()?.heterogeneity;
    let percent = |value: f64, digits: usize| format!("{:.digits$}", 100.0 * value);
    let interval = |of: Interval, digits| {
        format!("({} – {} %)", percent(of.low, digits), percent(of.high, digits))
    };
    Some(format!(
        "Between machines: Q {:.1} (p = {:.3}), τ {} % {}, I² {} % {}",
        found.q,
        found.p,
        percent(found.tau, 1),
        interval(found.tau_interval, 1),
        percent(found.share, 0),
        interval(found.share_interval, 0),
    ))
}
