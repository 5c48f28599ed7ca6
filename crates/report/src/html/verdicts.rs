//! The verdicts of a comparison: what was found, then each test with its interval drawn.

use maud::{Markup, html};
use rqps_stats::Estimate;
use rqps_stats::cause::{Evidence, budget, budget_text};
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use crate::comparison::{Judged, Verdicts, class, counts, percent, with_interval, word};

const NOTE: &str = "rQPS is statements per second as a share of the base's. The line is its 95 % \
     interval over rounds, adjusted for the number of tests; the dots are rounds, each a restart of all \
     servers. The band is the margin below which a change does not matter in practice. cpu/o is the \
     server's CPU time per statement (of a DBMS inside the client: of both). The suite shift is what all \
     tests have in common, to suite what is left of a test without it.";

/// Pixels of the drawn intervals.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 22.0;
/// The least and the most that a plot shows on either side of no change, as logs.
const LEAST: f64 = 0.02;
const MOST: f64 = 0.7;

pub(super) fn section(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        section #verdicts {
            h2 { "Verdicts" }
            @for judged in &verdicts.judged { (contender(verdicts, judged)) }
            p.note { (NOTE) }
            ul.remarks { @for remark in verdicts.remarks() { li { (remark) } } }
            @let refusals = verdicts.refusals();
            @if !refusals.is_empty() {
                details {
                    summary { (refusals.len()) " measurements that a guard refused" }
                    ul { @for refusal in &refusals { li { (refusal) } } }
                }
            }
        }
    }
}

fn contender(verdicts: &Verdicts<'_>, judged: &Judged) -> Markup {
    let extent = extent(&judged.verdicts);
    html! {
        h3 { (judged.contender) " relative to " (verdicts.base) }
        @if let Some(why) = &judged.invalid {
            ul.warnings { li { "Nothing of this can be believed: " (why) } }
        }
        p.strip {
            @for (label, count) in counts(&judged.verdicts) {
                span class={ "chip " (class(label)) } { (count) " " (word(label, count)) }
            }
        }
        @if !judged.findings.is_empty() {
            ol.findings {
                @for finding in &judged.findings {
                    li {
                        b { (finding.cause.name(finding.slower)) } " " (finding.statement)
                        @let unseen: Vec<&str> = finding.contradicted_by.iter()
                            .filter(|check| !check.looked_at).map(|check| check.what).collect();
                        @if !unseen.is_empty() {
                            br; span.dim { "Would contradict it, not looked at: " (unseen.join("; ")) "." }
                        }
                        br; span.dim { "Next: " code { (finding.next) } }
                    }
                }
            }
        }
        div.scroll tabindex="0" {
            table.verdicts {
                thead {
                    tr {
                        th scope="col" { "test" }
                        th scope="col" { "rQPS" }
                        th scope="col" { "95 % interval" }
                        th scope="col" { (axis(extent)) }
                        th scope="col" { abbr title="server CPU per statement" { "cpu/o" } }
                        @if judged.suite.is_some() {
                            th scope="col" { abbr title="rQPS relative to the suite shift" { "to suite" } }
                        }
                        th scope="col" { "rounds" }
                        th.words scope="col" { "verdict" }
                    }
                }
                tbody {
                    @if let Some(suite) = &judged.suite {
                        tr.suite {
                            th scope="row" { "suite shift" }
                            (measured(&suite.shift))
                            td { (plot(&suite.shift, &[], 0.0, extent)) }
                            td {} td {} td { (suite.rounds) }
                            td.words { "what all tests have in common" }
                        }
                    }
                    @for (index, test) in verdicts.tests.iter().enumerate() {
                        @if index == 0 || verdicts.tests[index - 1].group != test.group {
                            @let columns = 7 + usize::from(judged.suite.is_some());
                            tr.group { th scope="rowgroup" colspan=(columns) { (test.group) } }
                        }
                        (row(judged, index, verdicts.margin(test), extent))
                    }
                }
            }
        }
        details {
            summary { "Where the time of a statement went" }
            ul {
                @for evidence in &judged.evidence { li { (evidence.test) ": " (time(evidence)) } }
            }
        }
    }
}

fn row(judged: &Judged, index: usize, margin: f64, extent: f64) -> Markup {
    let verdict = &judged.verdicts[index];
    let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
    html! {
        tr {
            th scope="row" { (verdict.test) }
            @if verdict.contributions.len() > 1 {
                (measured(&verdict.estimate))
                td { (plot(&verdict.estimate, &verdict.contributions, margin, extent)) }
            } @else {
                td { "-" } td { "-" } td {}
            }
            td { (cpu.map_or("-".to_string(), |(_, cost)| percent(cost.value))) }
            @if let Some(suite) = &judged.suite {
                @match &suite.relative[index] {
                    Some(relative) => td {
                        abbr title=(with_interval(relative)) { (format!("{:.3}", relative.ratio())) }
                    }
                    None => td { "-" }
                }
            }
            td { (verdict.contributions.len()) }
            td.words { (told(&verdict.label)) }
        }
    }
}

/// The label, with its numbers beside it.
fn told(label: &Label) -> Markup {
    let text = label.to_string();
    let (word, numbers) = text.split_once(" (").map_or((text.as_str(), ""), |parts| parts);
    html! {
        span class={ "chip " (class(label)) } { (word) }
        @if !numbers.is_empty() { " " span.dim { (numbers.trim_end_matches(')')) } }
    }
}

/// A ratio and its interval.
fn measured(estimate: &Estimate) -> Markup {
    let interval = estimate.interval.exp();
    html! {
        td { (format!("{:.3}", estimate.ratio())) }
        td { (format!("{:.3} – {:.3}", interval.low, interval.high)) }
    }
}

/// An interval with its rounds, on the scale of all tests.
fn plot(estimate: &Estimate, rounds: &[f64], margin: f64, extent: f64) -> Markup {
    let x = |log: f64| (WIDTH / 2.0) * (1.0 + log.clamp(-extent, extent) / extent);
    let at = |value: f64| format!("{value:.1}");
    let (low, high) = (estimate.interval.low, estimate.interval.high);
    let label = format!("{:.3}", estimate.ratio());
    html! {
        svg.forest width=(WIDTH) height=(HEIGHT) role="img" aria-label=(label) {
            rect.margin x=(at(x(-margin))) y="0" width=(at(x(margin) - x(-margin))) height=(HEIGHT) {}
            line.zero x1=(at(x(0.0))) x2=(at(x(0.0))) y1="0" y2=(HEIGHT) {}
            @for log in rounds {
                circle.round cx=(at(x(*log))) cy=(at(HEIGHT / 2.0)) r="2" {}
            }
            line.interval x1=(at(x(low))) x2=(at(x(high))) y1=(at(HEIGHT / 2.0)) y2=(at(HEIGHT / 2.0)) {}
            rect.estimate x=(at(x(estimate.value) - 3.0)) y=(at(HEIGHT / 2.0 - 3.0))
                width="6" height="6" {}
        }
    }
}

/// The ends and the middle of the plots' scale.
fn axis(extent: f64) -> Markup {
    html! {
        span.axis {
            span { (percent(-extent)) } span { "0" } span { (percent(extent)) }
        }
    }
}

/// How far the plots must reach.
fn extent(verdicts: &[Verdict]) -> f64 {
    let bounds = verdicts.iter().flat_map(|verdict| {
        let interval = verdict.estimate.interval;
        [interval.low.abs(), interval.high.abs()]
    });
    bounds.filter(|bound| bound.is_finite()).fold(LEAST, f64::max).min(MOST) * 1.05
}

fn time(evidence: &Evidence) -> String {
    let unsure = budget(evidence).iter().filter(|bar| bar.part.is_some() && !bar.is_sure).count();
    let all = match unsure {
        0 => "",
        _ => "; some of these parts may be none",
    };
    format!("{}{all}", budget_text(evidence))
}
