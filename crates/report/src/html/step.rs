//! Everything about one step.

use maud::{Markup, html};
use rqps_plan::Counts;

use super::statements::{By, statements};
use crate::document::Tone;
use crate::model::{self, ENGINE_NOTE, HISTOGRAM_NOTE, METRICS_NOTE, Model, StepModel};
use crate::render::html::table;

/// The id of a step's section: names contain no blanks.
pub(super) fn anchor(step: &StepModel) -> String {
    format!("step-{}", step.name)
}

const ENGINE_TITLE: &str = "Counters of the DBMS";

/// Fewer whole seconds are too few for a curve.
const LEAST_SECONDS: usize = 3;

pub(super) fn section(model: &Model, step: &StepModel) -> Markup {
    let metrics = model::metrics(model, step).named("tag");
    html! {
        section.step id=(anchor(step)) {
            h2 { (step.heading()) }
            (bars(model, step))
            (chart(step))
            (histogram_tables(model, step))
            @if !metrics.is_empty() {
                h3 { "Metrics" }
                (table(&metrics))
                p.note { (METRICS_NOTE) " " a href="#legend" { "Legend" } }
            }
            (cost_table(model, step))
            (engine_table(step))
            (sent(step))
        }
    }
}

pub(super) fn sent(step: &StepModel) -> Markup {
    let by = step.measured.iter().flatten().map(|one| By {
        contender: one.contender,
        statements: &one.record.statements,
        rows: one.rows_by_operation(),
    });
    statements(&by.collect::<Vec<_>>())
}

/// The seconds of the step, which the script draws. Building indexes is one statement and has none.
pub(super) fn chart(step: &StepModel) -> Markup {
    let begun = step.measured.iter().flatten();
    let whole = begun.map(|one| one.seconds().min(one.record.seconds as usize));
    let longest = whole.max().unwrap_or(0);
    html! {
        @if step.counts != Counts::RowsIndexed && longest >= LEAST_SECONDS {
            h3 { "Rates by second, and times by percentile" }
            figure.chart data-step=(step.name) {
                noscript { "Enable JavaScript for these charts." }
            }
            (levels(step))
        }
    }
}

/// Contenders that stalled or did not run at one level.
fn levels(step: &StepModel) -> Markup {
    let found = step.done().filter_map(|(_, measured)| {
        let remarks = measured.steadiness()?.remarks().join("; ");
        (!remarks.is_empty()).then_some((measured.contender, remarks))
    });
    let found: Vec<(&str, String)> = found.collect();
    html! {
        @if !found.is_empty() {
            ul.levels { @for (contender, remarks) in &found { li data-of=(contender) { b { (contender) } ": " (remarks) } } }
        }
    }
}

pub(super) fn histogram_tables(model: &Model, step: &StepModel) -> Markup {
    let histograms = model::histograms(model, step);
    html! {
        @for histogram in &histograms {
            h3 { (histogram.clock.title(histogram.operation)) }
            (table(&histogram.table))
        }
        @if !histograms.is_empty() { p.note { (HISTOGRAM_NOTE) } }
    }
}

pub(super) fn cost_table(model: &Model, step: &StepModel) -> Markup {
    let costs = model::costs(model, step);
    html! {
        @if !costs.is_empty() {
            h3 { "Costs of server and client, per " (step.counts.operation()) }
            (table(&costs))
        }
    }
}

/// The table itself is in the compressed data, for the script: a DBMS has hundreds of counters.
pub(super) fn engine_table(step: &StepModel) -> Markup {
    html! {
        @if model::has_engine(step) {
            details data-engine=(step.name) {
                summary { (ENGINE_TITLE) }
                div {}
                p.note { (ENGINE_NOTE) }
            }
        }
    }
}

/// Throughput as bars from zero on one scale.
pub(super) fn bars(model: &Model, step: &StepModel) -> Markup {
    let rates: Vec<(usize, f64, Tone)> = step
        .done()
        .filter_map(|(index, measured)| {
            let kept = measured.sla().unwrap_or(true);
            let tone = if kept { Tone::Plain } else { Tone::Ignored };
            Some((index, measured.throughput()?, tone))
        })
        .collect();
    let longest = rates.iter().map(|(_, rate, _)| *rate).fold(0.0, f64::max);
    let percent = |rate: f64| if longest > 0.0 { 100.0 * rate / longest } else { 0.0 };
    html! {
        @if !rates.is_empty() {
            figure.bars data-save={ (step.name) " " (step.counts.unit()) } {
                figcaption { (step.counts.unit()) }
                @for (index, rate, tone) in &rates {
                    div.row data-of=(model.contenders[*index]) {
                        span.name { (model.contenders[*index]) }
                        span.track {
                            span.bar.ignored[*tone == Tone::Ignored]
                                style={ "width:" (format!("{:.2}", percent(*rate))) "%" } {}
                        }
                        span.value { (format!("{rate:.0}")) span.mark { (tone.mark()) } }
                    }
                }
            }
        }
    }
}
