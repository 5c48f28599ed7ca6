//! A folder of runs as a page, and as JSON.

use maud::{Markup, PreEscaped, html};
use rqps_document::html::below;
use rqps_store::{Run, Status};
use serde::Serialize;

use crate::comparison::{Judged, Verdicts, class, counts, label};
use crate::html::{STYLE, framed};
use crate::model::{Model, Prose, shares};

const SCRIPT: &str = include_str!("../assets/index.js");

/// The name of the JSON's format; it changes when the new format breaks readers of the old one.
const SCHEMA: &str = "rqps-index/1";

/// A directory below the folder.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Relative to the folder, with `/`.
    pub path: String,
    #[serde(flatten)]
    pub found: Found,
}

#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Found {
    Run(Box<Summary>),
    /// A run that cannot be read, and why.
    Damaged {
        reason: String,
    },
    /// Not a run.
    Foreign,
}

/// A run in the index.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// `Insert Benchmark: postgres@17.6, postgres@18.0`
    title: String,
    sentence: String,
    /// RFC 3339.
    created: String,
    /// `done`, or the worst status of a step: `failed`, `interrupted` or `running`. None for a
    /// comparison, which may end early when it is precise enough.
    status: Option<&'static str>,
    contenders: Vec<Who>,
    /// Whether there is a `report.html`.
    has_report: bool,
    /// The greatest and the least throughput as a share of the first contender's.
    best: Option<Share>,
    worst: Option<Share>,
    /// The verdicts of a comparison.
    verdicts: Vec<Judgement>,
    /// The number of warnings in the report.
    warnings: usize,
}

#[derive(Clone, Debug, Serialize)]
struct Who {
    name: String,
    dbms: String,
    version: String,
}

#[derive(Clone, Debug, Serialize)]
struct Share {
    relative: f64,
    contender: String,
    step: String,
}

/// The result of a comparison for a contender.
#[derive(Clone, Debug, Serialize)]
struct Judgement {
    contender: String,
    /// Why all its results are invalid.
    invalid: Option<String>,
    /// The labels, the worst first.
    labels: Vec<Counted>,
}

#[derive(Clone, Debug, Serialize)]
struct Counted {
    /// As in `result.json`.
    label: &'static str,
    tests: usize,
    #[serde(skip)]
    class: &'static str,
}

impl Judgement {
    fn of(judged: &Judged) -> Self {
        let counts = counts(&judged.verdicts).into_iter();
        Judgement {
            contender: judged.contender.clone(),
            invalid: judged.invalid.clone(),
            labels: counts
                .map(|(of, tests)| Counted { label: label(of), tests, class: class(of) })
                .collect(),
        }
    }
}

impl Found {
    pub fn of(run: &Run, has_report: bool) -> Found {
        let model = Model::new(run);
        let prose = Prose::new(&model);
        let verdicts = Verdicts::new(run);
        let mut shares: Vec<Share> = shares(&model)
            .into_iter()
            .map(|(relative, contender, step)| Share {
                relative,
                contender: contender.to_string(),
                step: step.to_string(),
            })
            .collect();
        shares.sort_by(|one, other| one.relative.total_cmp(&other.relative));
        let who = run.contenders.iter().map(|record| Who {
            name: record.name.clone(),
            dbms: record.dbms.clone(),
            version: record.version.clone(),
        });
        Found::Run(Box::new(Summary {
            title: prose.title,
            sentence: prose.sentence,
            created: run.manifest.created.clone(),
            status: verdicts.is_none().then(|| status(run).name()),
            contenders: who.collect(),
            has_report,
            worst: shares.first().cloned(),
            best: shares.pop(),
            verdicts: verdicts.iter().flat_map(|of| of.judged.iter().map(Judgement::of)).collect(),
            warnings: prose.warnings.len(),
        }))
    }

    /// The sort key: newest first, and directories that are no run last.
    fn created(&self) -> &str {
        match self {
            Found::Run(summary) => &summary.created,
            Found::Damaged { .. } | Found::Foreign => "",
        }
    }
}

fn status(run: &Run) -> Status {
    let arms = || run.single().iter().flat_map(|round| round.arms.values());
    let has = |status: &Status| arms().any(|arm| arm.status == *status);
    let worst = [Status::Failed, Status::Interrupted, Status::Running];
    worst.into_iter().find(has).unwrap_or(Status::Done)
}

fn sorted(entries: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = entries.iter().collect();
    entries.sort_by(|one, other| {
        (other.found.created(), &one.path).cmp(&(one.found.created(), &other.path))
    });
    entries
}

/// `{"schema": …, "entries": […]}`, newest first, ending in a line feed.
pub fn index_json(entries: &[Entry]) -> String {
    #[derive(Serialize)]
    struct Index<'a> {
        schema: &'static str,
        entries: Vec<&'a Entry>,
    }
    let index = Index { schema: SCHEMA, entries: sorted(entries) };
    let json = serde_json::to_string_pretty(&index).expect("it holds only numbers and text");
    json + "\n"
}

/// The page. It needs no other files than the linked reports.
pub fn index_html(entries: &[Entry]) -> String {
    let entries = sorted(entries);
    let runs = entries.iter().filter(|entry| matches!(entry.found, Found::Run(_))).count();
    let title = format!("rqps: {}", many(runs, "run"));
    framed(
        &title,
        &[STYLE],
        &html! {
            header {
                h1 { (many(runs, "run")) }
                p {
                    label {
                        "Search by DBMS, version, contender, workload, date, status: "
                        input #search type="search" autocomplete="off";
                    }
                    " " span #found role="status" {}
                }
            }
            main { @for entry in &entries { (draw(entry)) } }
            script { (PreEscaped(SCRIPT)) }
        },
    )
}

fn draw(entry: &Entry) -> Markup {
    html! {
        section.run {
            @match &entry.found {
                Found::Run(summary) => (run(&entry.path, summary)),
                Found::Damaged { reason } => {
                    h2 { (entry.path) }
                    p { "damaged run: " (reason) }
                }
                Found::Foreign => {
                    h2 { (entry.path) }
                    p.note { "not a run" }
                }
            }
        }
    }
}

fn run(path: &str, summary: &Summary) -> Markup {
    let link = below(&format!("{path}/report.html"));
    html! {
        h2 {
            @if summary.has_report { a href=(link) { (summary.title) } } @else { (summary.title) }
        }
        p {
            time datetime=(summary.created) { (minute(&summary.created)) } " · " (path)
            @if let Some(status) = summary.status { " · " span.state { (status) } }
            @if !summary.has_report { " · no report.html: create it with rqps report" }
        }
        p { (summary.sentence) }
        @if let (Some(worst), Some(best)) = (&summary.worst, &summary.best) {
            p { "relative to the first contender: worst " (share(worst)) ", best " (share(best)) }
        }
        @for judgement in &summary.verdicts { (verdicts(judgement)) }
        @if summary.warnings > 0 { p.note { (many(summary.warnings, "warning")) " in the report" } }
        ul {
            @for who in &summary.contenders {
                li { (who.name) span.note { " " (who.dbms) " " (who.version) } }
            }
        }
    }
}

fn many(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}

/// `2026-11-24 19:13 UTC` for a time in RFC 3339; other texts are unchanged.
fn minute(created: &str) -> String {
    let time = created.parse::<jiff::Timestamp>();
    time.map_or_else(
        |_| created.to_string(),
        |time| time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
    )
}

fn share(share: &Share) -> Markup {
    html! { strong { (format!("{:.2}", share.relative)) } " (" (share.contender) ", " (share.step) ")" }
}

fn verdicts(judgement: &Judgement) -> Markup {
    html! {
        p.strip {
            (judgement.contender) ": "
            @for counted in &judgement.labels {
                span class={ "chip " (counted.class) } {
                    (counted.tests) " " (counted.label.replace('_', " "))
                }
            }
            @if let Some(why) = &judgement.invalid { " all results of this contender are invalid: " (why) }
        }
    }
}
