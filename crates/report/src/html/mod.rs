//! The report as one page: it contains its styles, scripts and data, and uses no network.

mod counters;
mod data;
mod environment;
mod history;
mod legend;
mod profiles;
mod relative;
mod rounds;
mod sizes;
mod statements;
mod step;
mod strip;
mod suite;
mod together;
mod verdicts;
mod why;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use self::legend::Legend;
use crate::Report;
use crate::build::{promises, summaries};
use crate::comparison::Verdicts;
use crate::document::Table;
use crate::model::{Matrix, Model, Prose, Suite, histories};
use crate::render::html::{blocks, table};

pub(crate) const STYLE: &str = include_str!("../../assets/report.css");
/// Concatenated into one scope.
const SCRIPTS: [&str; 8] = [
    include_str!("../../assets/state.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/matrix.js"),
    include_str!("../../assets/rounds.js"),
    include_str!("../../assets/curves.js"),
    include_str!("../../assets/history.js"),
    include_str!("../../assets/save.js"),
    include_str!("../../assets/report.js"),
];
const CHART_STYLE: &str = include_str!("../../assets/vendor/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../assets/vendor/uplot/uPlot.iife.min.js");

/// The browser enforces that the page neither loads nor sends anything.
pub(crate) const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     img-src data: blob:; form-action 'none'; base-uri 'none'";

/// The whole report as one self-contained page.
pub fn html(report: &Report<'_>) -> String {
    let Report { run, model, verdicts } = report;
    let verdicts = verdicts.as_ref();
    let prose = Prose::new(model);
    let suite = report.suite();
    let matrix = report.matrix().filter(|matrix| !matrix.rows.is_empty());
    let histories = if matrix.is_some() { histories(run) } else { Vec::new() };
    let arms = verdicts.map(|verdicts| verdicts.names()).unwrap_or_default();
    let together = verdicts.map_or_else(|| Model::of(run, Vec::new(), &[]), Verdicts::together);
    let promising = verdicts.map(Verdicts::promising).unwrap_or_default();
    let promising = Model::of(run, arms, &promising);
    let legend = Legend {
        is_suite: suite.is_some(),
        verdicts,
        has_runs: !together.steps.is_empty(),
        matrix: matrix.as_ref(),
    };
    let names: &[String] = matrix.as_ref().map_or(&[], |matrix| &matrix.contenders);
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
                nav aria-label="Contents" {
                    @let has_history = !histories.is_empty();
                    (contents(model, suite.as_ref(), verdicts, (&together, &promising), &matrix, has_history))
                    (relative::contenders(names))
                }
                main {
                    @if let Some(verdicts) = verdicts {
                        (verdicts::section(verdicts, run))
                        @if let Some(matrix) = &matrix { (relative::section(matrix)) }
                        @if matrix.is_some() { (verdicts::forest(verdicts)) }
                        (why::section(verdicts))
                        @if verdicts.is_profiled() { (profiles::section(verdicts)) }
                        @if let Some(matrix) = &matrix { (rounds::section(verdicts, matrix, &together)) }
                        (together::promises_section(&promising))
                        (sizes::section(&together, "Sizes at the end of each run in the last round, and bytes written in all rounds", by_test))
                    } @else if let Some(suite) = &suite {
                        (suite::sections(suite, matrix.as_ref()))
                    } @else {
                        (summary(model))
                        @if let Some(matrix) = &matrix { (relative::section(matrix)) }
                        @for step in &model.steps { (step::section(model, step)) }
                        (sizes::section(model, "Sizes at the end of each step, and bytes written in it", by_contender))
                    }
                    (history::section(&histories))
                    (environment::sections(model))
                    (legend::section(&legend))
                    (data::section(report, matrix.as_ref(), &histories))
                }
                script { (PreEscaped(CHART_SCRIPT)) }
                script { (PreEscaped("\"use strict\";{")) @for script in SCRIPTS { (PreEscaped(script)) } "}" }
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

/// The result of the Insert Benchmark at a glance.
fn summary(model: &Model) -> Markup {
    let [rates, shares, kept, cpu] = summaries(model);
    let [short, lag] = promises(model);
    html! {
        section #summary {
            h2 { "Summary" }
            (strip::strip(model, &strip::STEPS))
            @for noted in [rates, shares, kept, short, lag, cpu] { (blocks(&noted.blocks())) }
        }
    }
}

/// The sizes of a few steps.
fn by_contender(title: &'static str, cells: &Table) -> Markup {
    html! { h3 { (title) } (table(cells)) }
}

/// The sizes of tests: transposed, since there may be many.
fn by_test(title: &'static str, cells: &Table) -> Markup {
    html! { h3 { (title) } (table(&cells.transposed("test"))) }
}

fn contents(
    model: &Model,
    suite: Option<&Suite>,
    verdicts: Option<&Verdicts<'_>>,
    (together, promising): (&Model, &Model),
    matrix: &Option<Matrix>,
    has_history: bool,
) -> Markup {
    let has_matrix = matrix.is_some();
    let sized = if verdicts.is_some() { together } else { model };
    html! {
        @if let Some(verdicts) = verdicts {
            a href="#verdicts" { "Verdicts" }
            @if has_matrix {
                a href="#relative" { "Relative" }
                a href="#forest" { "Intervals" }
            }
            @if why::is_known(verdicts) { a href="#why" { "Why" } }
            @if verdicts.is_profiled() { a href="#profiles" { "Profiles" } }
            @if has_matrix { a href="#tests" { "Tests" } }
            @if together::has_promises(promising) { a href="#sla" { "Write rates" } }
        } @else {
            a href="#summary" { "Summary" }
            @if has_matrix { a href="#relative" { "Relative" } }
            @if let Some(suite) = suite {
                (suite::contents(suite))
            } @else {
                @for step in &model.steps { a href={ "#" (step::anchor(step)) } { (step.name) } }
            }
        }
        @if sizes::are_known(sized) { a href="#sizes" { "Sizes" } }
        @if has_history { a href="#history" { "History" } }
        a href="#environment" { "Environment" }
        a href="#legend" { "Legend" }
        a href="#data" { "Data" }
    }
}
