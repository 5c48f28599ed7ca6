//! What a run of the microbenchmarks says, as the posts print it: numbers first, the test last, in
//! four groups.

use rqps_document::{Block, Fold, List, ListItem, Picture, Style, Table};
use rqps_stats::bands::published_band;

use super::{Extent, Titled, steps};
use crate::model::{
    BUSY, Growth, MEASURES, Measure, Model, PUBLISHED_NOTE, SCALEUP_NOTE, SHARE, Suite, Test,
    UNREPORTED, normalised,
};

/// The columns of a single contender beside its rate.
const ALONE: [&str; 4] = ["trx/s", "rows/s", "cv%", "client%"];

const CLIENT_NOTE: &str = "The client's CPU as a percentage of the CPU of client and DBMS. There is \
     no number if they share a process.";

const BUSY_NOTE: &str = "The client's CPU as a percentage of the time in which its threads could \
     run: the time of the clients, or of all CPUs if there are fewer. From 50% on, the client is \
     the bottleneck: even with a DBMS that takes no time, throughput would not double.";

pub(super) fn blocks(suite: &Suite, extent: Extent) -> Vec<Block> {
    match extent {
        Extent::Comment => comment(suite),
        Extent::Screen | Extent::Post => tables(suite, extent == Extent::Post),
    }
}

fn tables(suite: &Suite, is_whole: bool) -> Vec<Block> {
    let mut blocks = Vec::new();
    if suite.is_scaleup() {
        blocks.extend(scaleup(suite, is_whole));
    }
    // The exports have the numbers of clients between the fewest and the most.
    let (fewest, most) = suite.range();
    let mut ends = vec![fewest, most];
    ends.dedup();
    for clients in ends {
        blocks.extend(relative(suite, clients));
    }
    let with = suite.with_clients(most);
    let is_alone = suite.others().next().is_none();
    if !is_alone {
        let rate = suite.rate();
        let rates = suite.by_contender(most, rate.measure);
        blocks.extend(named_last(format!("{}{with}", rate.title), rate.note, rates));
    }
    if !is_alone && is_whole {
        let shares = suite.by_contender(most, &SHARE);
        blocks.extend(named_last(
            format!("The client's share of CPU, %{with}"),
            CLIENT_NOTE,
            shares,
        ));
    }
    if let Some(name) = suite.model.contenders.first().filter(|_| is_alone || is_whole) {
        let measures = suite.by_measure(most, 0, shown()).without_empty_columns();
        let legends = legends(&measures);
        blocks.extend(named_last(format!("Measures of {name}{with}"), legends, measures));
    }
    if is_whole && suite.plan.quiesces_after_each_write() {
        blocks.extend(normalised_writes(suite));
    }
    blocks
}

fn named_last(title: String, note: impl Into<String>, table: Table) -> Vec<Block> {
    Titled::new(title, note, table.named_last()).blocks()
}

/// The measures but the last, the pause, which the page and tests.csv have.
fn shown() -> &'static [Measure] {
    &MEASURES[..MEASURES.len() - 1]
}

/// The legends of the short names in a table.
fn legends(table: &Table) -> String {
    let named = table.headings.iter().filter(|heading| !heading.name.ends_with("/s"));
    let told = named.map(|heading| format!("{}: {}", heading.name, heading.legend));
    told.collect::<Vec<_>>().join(". ") + "."
}

fn relative(suite: &Suite, clients: u32) -> Vec<Block> {
    let Some(table) = suite.relative(clients) else { return Vec::new() };
    let title = format!("{}{}", suite.rate().relative, suite.with_clients(clients));
    let mut blocks = vec![Block::Heading(title)];
    blocks.extend(Block::list(Style::Bullets, suite.columns_told()));
    blocks.extend([Block::Table(table.named_last()), Block::text(PUBLISHED_NOTE)]);
    blocks
}

fn scaleup(suite: &Suite, is_whole: bool) -> Vec<Block> {
    let (fewest, most) = suite.range();
    let mut blocks = vec![
        Block::heading(format!("Scale-up from {fewest} to {most} clients")),
        Block::text(SCALEUP_NOTE),
    ];
    for (index, name) in suite.model.contenders.iter().enumerate() {
        blocks.extend(named_last(format!("Scale-up of {name}"), "", suite.scaleup(index)));
        let buckets = if is_whole { suite.buckets(index) } else { Vec::new() };
        for (group, buckets) in buckets {
            blocks.push(Block::heading(format!(
                "{group}, throughput with {most} clients over that with {fewest}"
            )));
            blocks.push(Block::Terms(buckets));
        }
    }
    blocks
}

/// The IO-bound posts' tables of the tests that write.
fn normalised_writes(suite: &Suite) -> Vec<Block> {
    let writes = suite.tests().flat_map(|(_, test)| &test.steps).filter(|(_, step)| {
        step.done().any(|(_, m)| m.totals.iter().any(|totals| totals.writes > 0))
    });
    let tables = writes.flat_map(|(_, step)| {
        let title = format!("{}: iostat, vmstat normalized by operation rate", step.name);
        let tables = normalised(suite.model, step).map(|table| table.named("dbms").named_last());
        [Block::Heading(title)].into_iter().chain(tables.map(Block::Table))
    });
    tables.collect()
}

/// All 32 published tests in one table, below sixty lines.
fn comment(suite: &Suite) -> Vec<Block> {
    let is_alone = suite.others().next().is_none();
    let mut notes = Vec::new();
    if suite.is_scaleup() {
        let (fewest, most) = suite.range();
        notes.push(format!("x{most} is throughput with {most} clients over that with {fewest}."));
    }
    if !is_alone {
        notes.push(PUBLISHED_NOTE.to_string());
    }
    notes.push(suite.rate().note.to_string());
    let columns = (!is_alone).then(|| Block::text(suite.columns_told().join("; ")));
    let table = [Block::Table(together(suite)), Block::text(notes.join(" "))];
    columns.into_iter().chain(table).collect()
}

/// The baseline's rate, then the others' as shares of it, or the growth of rates with clients.
fn together(suite: &Suite) -> Table {
    let (fewest, most) = suite.range();
    let base = suite.model.base.unwrap_or(0);
    let columns = suite.columns();
    let mut table = suite.by_measure(fewest, base, std::slice::from_ref(suite.rate().measure));
    table.rows.retain(|row| row.group != UNREPORTED);
    let name = suite.rate().measure.name;
    table.headings[0].name = format!("{name} of the baseline{}", suite.with_clients(fewest));
    if suite.is_scaleup() {
        for (index, name) in columns.iter().enumerate() {
            let mut growth = suite.scaleup(index);
            if columns.len() > 1 {
                growth = growth.only(&[&format!("x{most}")]);
                growth.headings[0].name = format!("x{most} {name}");
            }
            table.join(growth);
        }
    }
    match suite.relative(most) {
        Some(mut relative) => {
            for heading in &mut relative.headings {
                heading.name += &suite.with_clients(most);
            }
            table.join(relative);
        }
        None if suite.is_scaleup() => {}
        None => {
            let others = ALONE.into_iter().filter(|other| *other != name);
            let measures = suite.by_measure(fewest, base, &MEASURES);
            table.join(measures.only(&others.collect::<Vec<_>>()).without_empty_columns());
        }
    }
    if suite.model.contenders.len() == 1 {
        table.headings[0].name = format!("{name}{}", suite.with_clients(fewest));
    }
    table
}

/// The section of a page with the result at a glance.
pub(crate) fn glance(suite: &Suite) -> Vec<Block> {
    let words = ["▼ 0.95 and below", "between", "▲ 1.05 and above"];
    steps::strips(suite.model, published_band, words)
}

/// The section of a page with the published tables, and all measures.
pub(crate) fn measures(suite: &Suite) -> Vec<Block> {
    let mut blocks = Vec::new();
    for &clients in &suite.clients {
        let with = suite.with_clients(clients);
        // Of a scale-up there are many.
        blocks.push(Block::Fold(Fold {
            title: vec![format!("Throughput{with}").into()],
            blocks: throughput(suite, clients),
            is_open: !suite.is_scaleup(),
            ..Fold::default()
        }));
        let measures = [
            ("The client's share of CPU, %", CLIENT_NOTE, SHARE),
            ("Busy time of the client, %", BUSY_NOTE, BUSY),
        ];
        blocks.extend(measures.map(|(title, note, measure)| {
            let table = Block::Table(suite.by_contender(clients, &measure));
            Block::fold(format!("{title}{with}"), vec![table, Block::text(note)])
        }));
        blocks.extend(suite.model.contenders.iter().enumerate().map(|(index, name)| {
            let measures = suite.by_measure(clients, index, &MEASURES).without_empty_columns();
            let table = Block::Table(measures);
            let note = Block::Text(vec![format!("{} ", suite.rate().note).into(), steps::legend()]);
            let title = vec![format!("All measures of {name}{with}").into()];
            let of = Some(name.to_string());
            Block::Fold(Fold { title, blocks: vec![table, note], of, ..Fold::default() })
        }));
    }
    blocks
}

/// Relative and absolute values.
fn throughput(suite: &Suite, clients: u32) -> Vec<Block> {
    // The first line belongs to the baseline.
    let others = suite.others().map(|index| Some(suite.model.contenders[index].to_string()));
    let lines = suite.columns_told().into_iter().zip([None].into_iter().chain(others));
    let items = lines.map(|(line, of)| ListItem { of, ..ListItem::new(line) }).collect();
    let mut blocks = vec![Block::List(List { style: Style::Bullets, items })];
    let relative = suite.relative(clients);
    let rate = suite.rate();
    let relative = relative.map(|table| Titled::new(rate.relative, PUBLISHED_NOTE, table).blocks());
    let rates = suite.by_contender(clients, rate.measure);
    let rates = Titled::new(rate.title, rate.note, rates).blocks();
    blocks.push(Block::Beside(relative.into_iter().chain([rates]).collect()));
    blocks
}

/// The section of a page on scale-up.
pub(crate) fn growths(suite: &Suite) -> Vec<Block> {
    let (_, most) = suite.range();
    let growths = suite.growths();
    let of = |(index, name): (usize, &&str)| {
        let mut table = suite.scaleup(index);
        for growth in growths.iter().filter(|growth| growth.contender == index) {
            let row = table.rows.iter_mut().find(|row| row.name == growth.test);
            // The growth to the most clients, before cs/o and the law.
            let cell = row.and_then(|row| row.cells.get_mut(growth.rates.len() - 2));
            if let Some(cell) = cell {
                cell.picture = curve(growth);
            }
        }
        table.saved_as = Some(format!("Scale-up of {name}"));
        let mut blocks = vec![Block::heading(*name), Block::Table(table)];
        blocks.extend(suite.buckets(index).into_iter().map(|(group, buckets)| {
            let title = format!("{group}, by scale-up at {most} clients");
            Block::fold(title, vec![Block::Terms(buckets)])
        }));
        Block::Of(name.to_string(), blocks)
    };
    let note = format!(
        "{SCALEUP_NOTE} The small charts show throughput over clients, both logarithmic; the \
         dashed line is perfect scaling."
    );
    let contenders = suite.model.contenders.iter().enumerate().map(of);
    [Block::text(note)].into_iter().chain(contenders).collect()
}

fn curve(growth: &Growth) -> Option<Picture> {
    let [fewest, most] = [growth.rates.first()?.0, growth.rates.last()?.0].map(f64::from);
    let ideal = (most / fewest).ln();
    let points = growth.rates.iter().filter_map(|(clients, _)| {
        let relative = growth.relative(*clients).filter(|relative| *relative > 0.0)?;
        Some(((f64::from(*clients) / fewest).ln() / ideal, relative.ln() / ideal))
    });
    Some(Picture::Curve { name: format!("growth of {}", growth.test), points: points.collect() })
}

/// The section of a page with the tests of a group, folded.
pub(crate) fn tests(model: &Model, tests: &[Test]) -> Vec<Block> {
    let folded = |test: &Test| {
        let blocks = test.steps.iter().flat_map(|(_, step)| {
            let name = (test.steps.len() > 1).then(|| Block::heading(step.name));
            name.into_iter().chain(steps::whole(model, step))
        });
        Block::Fold(Fold {
            title: vec![test.name.into()],
            blocks: blocks.collect(),
            anchor: Some(format!("test-{}", test.name)),
            ..Fold::default()
        })
    };
    tests.iter().map(folded).collect()
}
