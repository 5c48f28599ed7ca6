//! The report as one page: it holds its styles, scripts and data, and asks no network for anything.

mod data;
mod environment;
mod legend;
mod step;
mod suite;
mod summary;
mod table;
mod verdicts;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use rqps_store::Run;

use crate::comparison::Verdicts;
use crate::model::{Model, Prose, Suite};

pub(crate) const STYLE: &str = include_str!("../../assets/report.css");
const SCRIPT: &str = include_str!("../../assets/report.js");
const CHART_STYLE: &str = include_str!("../../assets/vendor/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../assets/vendor/uplot/uPlot.iife.min.js");

/// The browser itself refuses what the page must not do: load or send anything.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     img-src data: blob:; form-action 'none'; base-uri 'none'";

/// The whole report, with everything it needs inside.
pub fn html(run: &Run) -> String {
    let model = Model::new(run);
    let prose = Prose::new(&model);
    let suite = Suite::new(&model);
    let verdicts = Verdicts::new(run);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (prose.title) }
                style { (PreEscaped(CHART_STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                header { (head(&prose)) }
                (contents(&model, suite.as_ref(), verdicts.is_some()))
                main {
                    @if let Some(verdicts) = &verdicts {
                        (verdicts::section(verdicts))
                    } @else if let Some(suite) = &suite {
                        (suite::sections(suite))
                    } @else {
                        (summary::section(&model))
                        @for step in &model.steps { (step::section(&model, step)) }
                        (summary::sizes_section(&model))
                    }
                    (environment::sections(&model))
                    (legend::section(suite.is_some()))
                    (data::section(&model))
                }
                script { (PreEscaped(CHART_SCRIPT)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

fn head(prose: &Prose) -> Markup {
    html! {
        h1 { (prose.title) }
        p.lead { (prose.sentence) }
        dl.facts {
            @for (name, value) in &prose.facts { div { dt { (name) } dd { (value) } } }
        }
        @if !prose.warnings.is_empty() {
            ul.warnings { @for warning in &prose.warnings { li { (warning) } } }
        }
    }
}

fn contents(model: &Model, suite: Option<&Suite>, is_comparison: bool) -> Markup {
    html! {
        nav aria-label="Contents" {
            @if is_comparison {
                a href="#verdicts" { "Verdicts" }
            } @else if let Some(suite) = suite {
                (suite::contents(suite))
            } @else {
                a href="#summary" { "Summary" }
                @for step in &model.steps { a href={ "#" (step::anchor(step)) } { (step.name) } }
            }
            @if !is_comparison { a href="#sizes" { "Sizes" } }
            a href="#environment" { "Environment" }
            a href="#legend" { "Legend" }
            a href="#data" { "Data" }
        }
    }
}
