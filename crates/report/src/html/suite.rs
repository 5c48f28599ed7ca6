//! The microbenchmarks: the published tables first, then every test, folded, by group.

use maud::{Markup, html};

use super::step::{anchor, bars, chart, cost_table, engine_table, histogram_tables, sent};
use super::strip::{TESTS, strip};
use super::{relative, sizes};
use crate::document::Table;
use crate::model::{
    BUSY, Growth, MEASURES, Matrix, Model, PUBLISHED_NOTE, RATE, SCALEUP_NOTE, SCAN_NOTE, SHARE,
    StepModel, Suite, Test, UNREPORTED, normalised, variations,
};
use crate::render::html::{More, table, terms, with_more};

const SHARE_NOTE: &str = "The client's CPU as a percentage of the CPU of client and DBMS. There is no \
     number if they share a process.";

const BUSY_NOTE: &str = "The client's CPU as a percentage of the time in which its threads could run: \
     the time of the clients, or of all CPUs if there are fewer. From 50% on, the client is the \
     bottleneck: even with a DBMS that takes no time, throughput would not double.";

const NORMALISED_NOTE: &str = "The columns of the IO-bound posts. An operation is a statement as \
     sysbench counts them, or a row in scan. CPU, switches and IO are those of the whole host.";

pub(super) fn contents(suite: &Suite) -> Markup {
    html! {
        @if suite.is_scaleup() { a href="#scaleup" { "Scale-up" } }
        @for group in &suite.groups { a href={ "#" (group_anchor(group.title)) } { (group.title) } }
        @if !suite.unreported.is_empty() {
            a href={ "#" (group_anchor(UNREPORTED)) } { "Load and warm-ups" }
        }
    }
}

pub(super) fn sections(suite: &Suite, matrix: Option<&Matrix>) -> Markup {
    html! {
        (summary(suite))
        @if let Some(matrix) = matrix { (relative::section(matrix)) }
        @for group in &suite.groups { (tests(suite.model, group.title, &group.tests)) }
        @if !suite.unreported.is_empty() { (tests(suite.model, UNREPORTED, &suite.unreported)) }
        (sizes::section(suite.model, "Sizes at the end of each step, and bytes written in it", by_step))
    }
}

fn group_anchor(title: &str) -> String {
    format!("group-{}", title.to_lowercase().replace(' ', "-"))
}

fn summary(suite: &Suite) -> Markup {
    let measures = [
        ("The client's share of CPU, %", SHARE_NOTE, SHARE),
        ("Busy time of the client, %", BUSY_NOTE, BUSY),
    ];
    html! {
        section #summary {
            h2 { "Summary" }
            (strip(suite.model, &TESTS))
            @if suite.is_scaleup() { (scaleup(suite)) }
            @for &clients in &suite.clients {
                @let with = suite.with_clients(clients);
                // The table of a scale-up comes first, and there are many of these.
                details open[!suite.is_scaleup()] {
                    summary { "Throughput" (with) }
                    (throughput(suite, clients))
                }
                @for (title, note, measure) in &measures {
                    details {
                        summary { (title) (with) }
                        (table(&suite.by_contender(clients, measure)))
                        p.note { (note) }
                    }
                }
                @for (index, name) in suite.model.contenders.iter().enumerate() {
                    details data-of=(name) {
                        summary { "All measures of " (name) (with) }
                        (table(&suite.by_measure(clients, index, &MEASURES)))
                        p.note { (SCAN_NOTE) " " a href="#legend" { "Legend" } }
                    }
                }
            }
        }
    }
}

/// Relative and absolute values, side by side if there is room.
fn throughput(suite: &Suite, clients: u32) -> Markup {
    let relative = suite.relative(clients);
    // The first line belongs to the baseline.
    let told_of =
        [None].into_iter().chain(suite.others().map(|index| Some(suite.model.contenders[index])));
    html! {
        ul.columns {
            @for (line, contender) in suite.columns_told().into_iter().zip(told_of) {
                li data-of=[contender] { (line) }
            }
        }
        div.beside {
            @if let Some(relative) = &relative {
                div { h3 { "Relative queries per second" } (table(relative)) }
            }
            div { h3 { "Queries per second" } (table(&suite.by_contender(clients, &RATE))) }
        }
        p.note { @if relative.is_some() { (PUBLISHED_NOTE) " " } (SCAN_NOTE) }
    }
}

fn scaleup(suite: &Suite) -> Markup {
    let (fewest, most) = suite.range();
    html! {
        h3 #scaleup { "Scale-up from " (fewest) " to " (most) " clients" }
        p.note {
            (SCALEUP_NOTE)
            " The small charts show throughput over clients, both logarithmic; the dashed line is \
              perfect scaling."
        }
        @for (index, name) in suite.model.contenders.iter().enumerate() {
            div data-of=(name) {
                h3 { (name) }
                (growths(suite, index))
                @for (group, buckets) in suite.buckets(index) {
                    details {
                        summary { (group) ", by scale-up at " (most) " clients" }
                        (terms(buckets.iter().map(|(bounds, tests)| (bounds.as_str(), tests.as_str()))))
                    }
                }
            }
        }
    }
}

/// The grouped table with a chart in every row.
fn growths(suite: &Suite, contender: usize) -> Markup {
    let all = suite.growths();
    let curve_of = |test: &str| {
        let found = all.iter().find(|growth| growth.contender == contender && growth.test == test);
        html! { td { @if let Some(growth) = found { (curve(growth)) } } }
    };
    let name = format!("Scale-up of {}", suite.model.contenders[contender]);
    let more = More { heading: "growth", cell: &curve_of, name: &name };
    with_more(&suite.scaleup(contender), Some(&more))
}

/// Growth over clients, both logarithmic, with the perfect line dashed.
fn curve(growth: &Growth) -> Markup {
    const SIDE: f64 = 40.0;
    let Some((fewest, _)) = growth.rates.first() else { return html! {} };
    let Some((most, _)) = growth.rates.last() else { return html! {} };
    let ideal = (f64::from(*most) / f64::from(*fewest)).ln();
    let points: Vec<String> = growth
        .rates
        .iter()
        .filter_map(|(clients, _)| {
            let relative = growth.relative(*clients).filter(|relative| *relative > 0.0)?;
            let x = (f64::from(*clients) / f64::from(*fewest)).ln() / ideal;
            // Leaves room above the perfect line, and below a ratio of one.
            let y = (relative.ln() / ideal).clamp(-0.3, 1.2);
            Some(format!("{:.1},{:.1}", x * 2.0 * SIDE, SIDE * (1.2 - y) / 1.5))
        })
        .collect();
    let [bottom, top] = [0.0, 1.0].map(|y| format!("{:.1}", SIDE * (1.2 - y) / 1.5));
    html! {
        svg.curve viewBox="-2 -2 84 44" width="50" height="26" role="img"
            aria-label={ "growth of " (growth.test) } {
            line.ideal x1="0" y1=(bottom) x2="80" y2=(top) {}
            polyline points=(points.join(" ")) {}
        }
    }
}

fn tests(model: &Model, title: &str, tests: &[Test]) -> Markup {
    html! {
        section id=(group_anchor(title)) {
            h2 { (title) }
            @for test in tests { (folded(model, test)) }
        }
    }
}

fn folded(model: &Model, test: &Test) -> Markup {
    html! {
        details.test id={ "test-" (test.name) } {
            summary { (test.name) }
            @for (_, step) in &test.steps {
                div.step id=(anchor(step)) {
                    @if test.steps.len() > 1 { h3 { (step.name) } }
                    (body(model, step))
                }
            }
        }
    }
}

fn body(model: &Model, step: &StepModel) -> Markup {
    let [io, cpu] = normalised(model, step).map(|table| table.named("dbms"));
    let variations = variations(model, step);
    html! {
        (bars(model, step))
        (chart(step))
        @if !variations.is_empty() {
            h3 { "Variation of the rate from second to second, " (step.counts.unit()) }
            (table(&variations))
        }
        @if !io.is_empty() {
            h3 { "iostat, vmstat normalized by operation rate" }
            (table(&io))
            (table(&cpu))
            p.note { (NORMALISED_NOTE) " " a href="#legend" { "Legend" } }
        }
        (histogram_tables(model, step))
        (cost_table(model, step))
        (engine_table(step))
        (sent(step))
    }
}

/// A row for each step, since there are many.
fn by_step(title: &'static str, cells: &Table) -> Markup {
    html! {
        details {
            summary { (title) }
            (table(&cells.transposed("step")))
        }
    }
}
