//! Everything about one step.

use maud::{Markup, html};
use rqps_plan::Counts;

use super::table::table;
use crate::model::{self, ENGINE_NOTE, HISTOGRAM_NOTE, METRICS_NOTE, Model, StepModel, Tone};

/// The id of a step's section. Names hold no blanks, and whatever else is allowed in an id.
pub(super) fn anchor(step: &StepModel) -> String {
    format!("step-{}", step.name)
}

pub(super) fn section(model: &Model, step: &StepModel) -> Markup {
    let histograms = model::histograms(model, step);
    let metrics = model::metrics(model, step);
    let costs = model::costs(model, step);
    let engine = model::engine(model, step);
    html! {
        section.step id=(anchor(step)) {
            h2 { (step.heading()) }
            (bars(model, step))
            // Building indexes is one statement: it has no seconds to show.
            @if step.counts != Counts::RowsIndexed {
                h3 { "Second by second" }
                figure.chart data-step=(step.name) {
                    noscript { "The charts are drawn by the script in this page." }
                }
            }
            @for histogram in &histograms {
                h3 { (histogram.title()) }
                (table("contender", &histogram.table))
            }
            @if !histograms.is_empty() { p.note { (HISTOGRAM_NOTE) } }
            @if !metrics.is_empty() {
                h3 { "Metrics" }
                (table("tag", &metrics))
                p.note { (METRICS_NOTE) " " a href="#legend" { "Legend" } }
            }
            @if !costs.is_empty() {
                h3 { "Cost by side, per " (step.counts.operation()) }
                (table("contender", &costs))
            }
            @if !engine.is_empty() {
                // The table is among the compressed data: a DBMS has hundreds of counters.
                details data-engine=(step.name) {
                    summary { "What the DBMS counted itself" }
                    div {}
                    p.note { (ENGINE_NOTE) }
                }
            }
        }
    }
}

/// Throughput as bars from zero on one scale.
fn bars(model: &Model, step: &StepModel) -> Markup {
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
            figure.bars {
                figcaption { (step.counts.unit()) }
                @for (index, rate, tone) in &rates {
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
