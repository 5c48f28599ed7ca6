//! What a scan of releases says: the steps between them, and each release beside the first.

use rqps_document::{Block, Cell, Document, Heading, Inline, Row, Style, Table, Text, Tone};
use rqps_study::{MeasuredReleases, ReleaseScan, ReleaseStep, ScanResult, TestEffect};

use super::{IN_COMMENT, IntervalScale, PAGE, SearchPlace, further, many, of_effect};
use crate::build::Extent;
use crate::comparison::with_interval;

/// A scan with its result.
type Scanned<'a> = (&'a ReleaseScan, &'a ScanResult);

pub(super) fn document(scanned: Scanned<'_>, place: &SearchPlace, extent: Extent) -> Document {
    let (scan, _) = scanned;
    let releases = scan.releases();
    let (count, [first, last]) = (releases.len(), [&releases[0], &releases[releases.len() - 1]]);
    let title = format!("{}: {} from {first} to {last}", place.contender, many(count, "release"));
    let mut blocks = vec![Block::Text(headline(scanned))];
    blocks.extend(Block::list(Style::Bullets, support(scanned)));
    for test in scan.tests() {
        let table = of_test(scanned, test);
        let table = if extent == Extent::Comment { table.at_most(IN_COMMENT) } else { table };
        blocks.extend([Block::heading(test), Block::Table(table)]);
    }
    if extent == Extent::Post {
        let table = comparisons(scan);
        if !table.is_empty() {
            blocks.extend([Block::heading("Comparisons, in their order"), Block::Table(table)]);
        }
    }
    blocks.extend(further(place));
    if extent != Extent::Comment {
        let text =
            format!("Rates are relative to {first}. {}.", many(scan.made().len(), "comparison"));
        blocks.push(Block::text(text));
    }
    Document { title, blocks }
}

fn signed(log: f64) -> String {
    format!("{:+.1} %", 100.0 * log.exp_m1())
}

/// `17.4 to 17.5, scan: -4.1 %`
fn told((scan, _): Scanned<'_>, step: &ReleaseStep) -> String {
    let [before, after] = [step.before, step.after].map(|place| &scan.releases()[place]);
    format!("{}, from {before} to {after}: {}", step.test, signed(step.size))
}

fn headline(scanned: Scanned<'_>) -> Text {
    let (scan, result) = scanned;
    let Some(step) = result.steps.first() else {
        let chip = Inline::chip("same", "nothing");
        return vec![chip, " no release differs from the ones before it".into()];
    };
    let is_unconfirmed = scan.confirmed(step).is_some_and(|(_, agrees)| !agrees);
    let class = match (is_unconfirmed, step.size < 0.0) {
        (true, _) => "unknown",
        (_, true) => "slower",
        (_, false) => "faster",
    };
    vec![Inline::chip(class, "largest step"), format!(" {}", told(scanned, step)).into()]
}

/// The direct comparison, the other steps, and what was not measured.
fn support(scanned: Scanned<'_>) -> Vec<String> {
    let (scan, result) = scanned;
    let mut lines = Vec::new();
    if let Some((effect, agrees)) = result.steps.first().and_then(|step| scan.confirmed(step)) {
        let agrees = if agrees { "" } else { ", which does not confirm it" };
        lines.push(format!(
            "compared directly, in {} fresh rounds: {}{agrees}",
            effect.rounds,
            with_interval(&of_effect(effect))
        ));
    }
    let others = result.steps.iter().skip(1);
    lines.extend(others.map(|step| format!("another step: {}", told(scanned, step))));
    let failed = scan.failed().iter().map(|place| &scan.releases()[*place]);
    lines.extend(failed.map(|name| format!("{name} was not measured: it failed; see its logs")));
    lines
}

/// A row for each release that was measured in a test.
fn of_test((scan, result): Scanned<'_>, test: &str) -> Table {
    let all = scan.of_test(test);
    let scale = IntervalScale::of(all.iter().map(|(_, effect)| of_effect(effect)));
    let row = |(place, effect): &(usize, &TestEffect)| {
        let step = result.steps.iter().find(|one| one.test == test && one.after == *place);
        let [ratio, interval] = scale.cells(&of_effect(effect));
        let step = match step {
            Some(step) if step.size < 0.0 => Cell::new(signed(step.size), Tone::Slower),
            Some(step) => Cell::new(signed(step.size), Tone::Faster),
            None => Cell::plain(""),
        };
        let row = Row::new(&scan.releases()[*place], vec![ratio, interval, step]);
        let made = scan.made().iter().find(|made| made.places.contains(place));
        match made {
            Some(made) => row.leading_to_page(page(made)),
            None => row,
        }
    };
    let headings = vec![
        Heading::new("rQPS", "relative to the first release"),
        scale.heading(),
        Heading::new("step", "from the level of the releases before it"),
    ];
    Table::new(headings, all.iter().map(row).collect()).named("release")
}

fn page(made: &MeasuredReleases) -> String {
    format!("{}/{PAGE}", made.name)
}

fn comparisons(scan: &ReleaseScan) -> Table {
    let row = |(number, made): (usize, &MeasuredReleases)| {
        let names = made.places.iter().skip(1).map(|place| scan.releases()[*place].as_str());
        let base = made.places.first().map_or("", |place| &scan.releases()[*place]);
        let cells = vec![Cell::plain(base), Cell::plain(names.collect::<Vec<_>>().join(", "))];
        Row::new(number.to_string(), cells).leading_to_page(page(made))
    };
    let headings = vec![Heading::words("baseline"), Heading::words("releases")];
    Table::new(headings, (1..).zip(scan.made()).map(row).collect()).named("comparison")
}
