//! The report as one page: it contains its styles, scripts and data, and uses no network.

mod counters;
mod data;
mod history;
mod keys;
mod profiles;
mod relative;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use rqps_analysis::history::{History, histories};
use rqps_document::html::blocks;
use rqps_document::{Block, Document};

use crate::Report;
use crate::build::{self, environment, instructions, legend, steps, suite, tests, why};
use crate::comparison::Verdicts;
use crate::model::{Matrix, Model, UNREPORTED};

pub(crate) const STYLE: &str = include_str!("../../assets/report.css");
/// Of every page with commands.
pub(crate) const COPY: &str = include_str!("../../assets/copy.js");
/// Concatenated into one scope.
const SCRIPTS: [&str; 9] = [
    include_str!("../../assets/state.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/matrix.js"),
    include_str!("../../assets/rounds.js"),
    include_str!("../../assets/curves.js"),
    include_str!("../../assets/history.js"),
    include_str!("../../assets/save.js"),
    COPY,
    include_str!("../../assets/report.js"),
];
const CHART_STYLE: &str = include_str!("../../assets/vendor/uplot/uPlot.min.css");
const CHART_SCRIPT: &str = include_str!("../../assets/vendor/uplot/uPlot.iife.min.js");

/// The browser enforces that the page neither loads nor sends anything.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
     img-src data: blob:; form-action 'none'; base-uri 'none'";

/// A part of the page, to which the contents lead.
struct Section {
    id: String,
    /// In the contents.
    name: String,
    title: String,
    body: Markup,
}

fn section(id: &str, name: &str, title: &str, body: Markup) -> Section {
    Section { id: id.to_string(), name: name.to_string(), title: title.to_string(), body }
}

/// A section of blocks; none without blocks.
fn told(id: &str, name: &str, title: &str, all: Vec<Block>) -> Option<Section> {
    (!all.is_empty()).then(|| section(id, name, title, blocks(&all)))
}

/// The whole report as one self-contained page.
pub fn html(report: &Report<'_>) -> String {
    let matrix = report.matrix().filter(|matrix| !matrix.rows.is_empty());
    let matrix = matrix.as_ref();
    let histories = matrix.map(|_| histories(report.run)).unwrap_or_default();
    let (title, head) = build::page_head(report);
    let sections = sections(report, matrix, &histories);
    let names: &[String] = matrix.map_or(&[], |matrix| &matrix.contenders);
    framed(
        &title,
        &[CHART_STYLE, STYLE],
        &html! {
            header { h1 { (title) } (blocks(&head)) }
            nav aria-label="Contents" {
                @for of in &sections { a href={ "#" (of.id) } { (of.name) } }
                (relative::contenders(names))
            }
            main {
                @for of in &sections { section id=(of.id) { h2 { (of.title) } (of.body) } }
            }
            script { (PreEscaped(CHART_SCRIPT)) }
            script { (PreEscaped("\"use strict\";{")) @for script in SCRIPTS { (PreEscaped(script)) } "}" }
        },
    )
}

/// A document as a page without sections, whose only script copies its commands.
pub(crate) fn page_of(document: &Document) -> String {
    framed(
        &document.title,
        &[STYLE],
        &html! {
            header { h1 { (document.title) } }
            main { section { (blocks(&document.blocks)) } }
            script { (PreEscaped(COPY)) }
        },
    )
}

/// A page with these styles, which needs no other files.
pub(crate) fn framed(title: &str, styles: &[&str], body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { @for style in styles { (PreEscaped(style)) } }
            }
            body { (body) }
        }
    };
    page.into_string()
}

fn sections(report: &Report<'_>, matrix: Option<&Matrix>, histories: &[History]) -> Vec<Section> {
    let mut sections = match &report.verdicts {
        Some(verdicts) => of_comparison(report, verdicts, matrix),
        None => of_single(report, matrix),
    };
    if !histories.is_empty() {
        sections.push(section("history", "History", "History", history::body(histories)));
    }
    let blocks_of = environment::blocks(&report.model);
    sections.extend(told("environment", "Environment", "Environment", blocks_of));
    let of_words = match (&report.verdicts, matrix) {
        (Some(verdicts), Some(matrix)) => {
            legend::comparison(verdicts, matrix, &verdicts.together())
        }
        _ if report.suite().is_some() => legend::suite(),
        _ => legend::steps(),
    };
    let words = html! { (blocks(&of_words)) (keys::keys(matrix.is_some())) };
    sections.push(section("legend", "Legend", "Legend", words));
    let files = data::body(report, matrix, histories);
    sections.push(section("data", "Data", "Data", files));
    sections
}

fn relative_section(matrix: Option<&Matrix>) -> Option<Section> {
    let title = "Relative to any contender";
    matrix.map(|matrix| section("relative", "Relative", title, relative::body(matrix)))
}

fn of_comparison(
    report: &Report<'_>,
    verdicts: &Verdicts<'_>,
    matrix: Option<&Matrix>,
) -> Vec<Section> {
    let counted = instructions::by_contender(verdicts);
    let title = "Instructions per operation, in user space";
    let counted = told("instructions", "Instructions", title, counted);
    if verdicts.plan.only_instructions().is_some() {
        return Vec::from_iter(counted);
    }
    let together = verdicts.together();
    let promising = verdicts.promising();
    let promising = Model::of(report.run, verdicts.names(), &promising);
    let of_contenders = build::comparison::by_contender(verdicts);
    let answers = build::answers::by_contender(verdicts);
    let mut sections = Vec::from_iter(told("answers", "Answers", "Answers", answers));
    sections.extend(told("verdicts", "Verdicts", "Verdicts", of_contenders));
    sections.extend(relative_section(matrix));
    if matrix.is_some() {
        let intervals = build::comparison::intervals(verdicts);
        sections.extend(told("forest", "Intervals", "Intervals", intervals));
    }
    sections.extend(told("why", "Why", "Why", why::blocks(verdicts)));
    if verdicts.is_profiled() {
        sections.push(section("profiles", "Profiles", "Profiles", profiles::body(verdicts)));
    }
    sections.extend(counted);
    if let Some(matrix) = matrix {
        let tests = tests::blocks(verdicts, matrix, &together);
        sections.extend(told("tests", "Tests", "Tests", tests));
    }
    let title = "Target write rates, pooled over rounds";
    sections.extend(told("sla", "Write rates", title, steps::promises_together(&promising)));
    let title = "Sizes at the end of each run in the last round, and bytes written in all rounds";
    sections.extend(told("sizes", "Sizes", title, steps::sizes(&together, Some("test"))));
    sections
}

fn of_single(report: &Report<'_>, matrix: Option<&Matrix>) -> Vec<Section> {
    let model = &report.model;
    let suite = report.suite();
    let mut glance = match &suite {
        Some(suite) => suite::glance(suite),
        None => steps::glance(model),
    };
    let mut measures = suite.as_ref().map(suite::measures).unwrap_or_default();
    let scaleup = suite.as_ref().filter(|suite| suite.is_scaleup());
    if scaleup.is_none() {
        glance.append(&mut measures);
    }
    let mut sections = Vec::from_iter(told("summary", "Summary", "Summary", glance));
    if let Some(suite) = scaleup {
        let (fewest, most) = suite.range();
        let title = format!("Scale-up from {fewest} to {most} clients");
        sections.extend(told("scaleup", "Scale-up", &title, suite::growths(suite)));
    }
    sections.extend(told("measures", "Measures", "Measures by clients", measures));
    sections.extend(relative_section(matrix));
    match &suite {
        Some(suite) => {
            let groups = suite.groups.iter().map(|group| (group.title, group.title, &group.tests));
            let others = (UNREPORTED, "Load and warm-ups", &suite.unreported);
            sections.extend(groups.chain([others]).filter_map(|(title, name, tests)| {
                let id = format!("group-{}", title.to_lowercase().replace(' ', "-"));
                told(&id, name, title, suite::tests(model, tests))
            }));
        }
        None => sections.extend(model.steps.iter().map(|step| {
            let id = format!("step-{}", step.name);
            section(&id, step.name, &step.heading(), blocks(&steps::whole(model, step)))
        })),
    }
    let title = "Sizes at the end of each step, and bytes written in it";
    let sizes = steps::sizes(model, suite.as_ref().map(|_| "step"));
    sections.extend(told("sizes", "Sizes", title, sizes));
    sections
}
