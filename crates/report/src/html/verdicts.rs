//! The verdicts of a comparison: findings, then each test with its interval as a plot.

use maud::{Markup, html};
use rqps_analysis::diagnosis::Finding;
use rqps_stats::Estimate;
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;
use rqps_store::Run;

use crate::build::comparison::{cause, discarded, invalid};
use crate::comparison::{
    Judged, TAIL, Verdicts, change, class, counts, ratio, span, with_interval, word,
};
use crate::model::loaded;
use crate::render::html::{block, details, spans};
use crate::render::markdown;

const NOTE: &str = "The largest slowdown comes first. The line is the 95 % interval of rQPS over rounds, adjusted for \
     the number of tests; the dots are rounds. The band is the margin: smaller changes do not matter in practice. \
     The suite shift is the change that all tests share; to suite is the change of a test without it. Each \
     contender has its own scale.";

const TIME: &str = "change of the service time that 99 % of the operations counted by rQPS do not exceed; known \
     for whole runs only, since slices record no times";

/// Pixels of the drawn intervals.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 22.0;
/// The least and the most that a plot shows on either side of no change, as logs.
const LEAST: f64 = 0.02;
const MOST: f64 = 1.4;

/// The result of each contender: labels and findings, then the quality of the measurement.
pub(super) fn section(verdicts: &Verdicts<'_>, run: &Run) -> Markup {
    html! {
        section #verdicts {
            h2 { "Verdicts" }
            @for (index, judged) in verdicts.judged.iter().enumerate() {
                (contender(verdicts, index, judged))
            }
            (trust(verdicts, run))
        }
    }
}

fn contender(verdicts: &Verdicts<'_>, index: usize, judged: &Judged) -> Markup {
    // Most of many contenders have no finding: one line is enough for them.
    let is_quiet = judged.findings.is_empty() && judged.invalid.is_none();
    html! {
        div.quiet[is_quiet] data-of=(judged.contender) {
            h3 { (judged.contender) " relative to " (verdicts.base) }
            @if let Some(why) = invalid(judged) { ul.warnings { li { (why) } } }
            p.strip {
                @for (label, count) in counts(&judged.verdicts) {
                    span class={ "chip " (class(label)) } { (count) " " (word(label, count)) }
                }
                @if let missed @ 1.. = verdicts.misses(&judged.contender) {
                    span.chip.unknown { "SLA missed in " (missed) }
                }
                @if let Some(built) = verdicts.built(judged) { span.chip.unknown { (built) } }
                @if let Some(mde) = detectable(&judged.verdicts) {
                    span.dim { "median MDE of the tests without a change: " (mde) }
                }
                @if let Some(suite) = &judged.suite {
                    span.dim { "suite shift " (with_interval(&suite.shift)) }
                }
            }
            @if !judged.findings.is_empty() {
                ol.findings {
                    @for (number, finding) in (1..).zip(&judged.findings) {
                        (found(&judged.contender, &format!("finding-{}-{number}", index + 1), finding))
                    }
                }
            }
        }
    }
}

/// A finding with its own address, and as Markdown for discussions.
fn found(contender: &str, id: &str, finding: &Finding) -> Markup {
    let item = cause(None, finding);
    let copied = markdown::item(&cause(Some(contender), finding));
    html! {
        li id=(id) {
            (spans(&item.text)) " "
            a.permalink href={ "#" (id) } title="a link to this finding" { "#" }
            button type="button" data-copy=(copied) { "copy as Markdown" }
            (details(&item))
        }
    }
}

/// The median MDE of the tests without a change.
fn detectable(verdicts: &[Verdict]) -> Option<String> {
    let mut all: Vec<f64> = verdicts
        .iter()
        .filter(|verdict| matches!(verdict.label, Label::NoChange { .. }))
        .map(|verdict| verdict.detectable)
        .collect();
    all.sort_by(f64::total_cmp);
    let median = all.get(all.len() / 2)?;
    median.is_finite().then(|| format!("{:.1} %", 100.0 * median.exp_m1()))
}

/// The method, the A/A control and discarded measurements: the quality of the verdicts.
fn trust(verdicts: &Verdicts<'_>, run: &Run) -> Markup {
    let rounds = run.rounds.iter().map(|pass| pass.round).max().unwrap_or(0);
    let discarded = verdicts.refusals().len();
    html! {
        p.trust {
            b { "Quality: " }
            (verdicts.controls()) " " (rounds) " rounds in random order, seed " (run.plan.seed)
            " · data " (loaded(verdicts.plan)) " · "
            @if let Some(share) = verdicts.most_other() {
                "other processes used at most " (format!("{share:.1} %")) " of the CPUs · "
            }
            @match discarded {
                _ if !verdicts.plan.guards => "guards were off, so no measurement was discarded",
                0 => "no measurement discarded by a guard",
                1 => "1 measurement discarded by a guard",
                _ => { (discarded) " measurements discarded by guards" }
            }
        }
    }
}

/// All tests with their intervals on one scale.
pub(super) fn forest(verdicts: &Verdicts<'_>) -> Markup {
    let counted = verdicts.counted();
    html! {
        section #forest {
            h2 { "Intervals" }
            @for judged in &verdicts.judged {
                div data-of=(judged.contender) {
                    h3 { (judged.contender) " relative to " (verdicts.base) }
                    (rows(verdicts, judged))
                }
            }
            p.note {
                "rQPS is " (counted.many) " per second as a share of the baseline's. cpu/o is the server's CPU time per "
                (counted.one) ", or that of server and client for a DBMS inside the client." (counted.here()) " " (NOTE)
            }
            ul.remarks { @for remark in verdicts.remarks() { li { (remark) } } }
            @if let Some(discarded) = discarded(verdicts) { (block(&discarded)) }
        }
    }
}

fn rows(verdicts: &Verdicts<'_>, judged: &Judged) -> Markup {
    let extent = extent(judged);
    let effect = |test: &usize| judged.verdicts[*test].estimate.value;
    let mut tests: Vec<usize> = (0..verdicts.tests.len()).collect();
    // NaN comes last.
    tests.sort_by(|one, other| effect(one).total_cmp(&effect(other)));
    let one = verdicts.counted().one;
    let has_times = judged.verdicts.iter().any(|verdict| !verdict.times.is_empty());
    html! {
        @let name = format!("rQPS of {} relative to {}", judged.contender, verdicts.base);
        div.scroll tabindex="0" data-save=(name) {
            table.verdicts {
                thead {
                    tr {
                        th scope="col" { "test" }
                        th scope="col" { "rQPS" }
                        th scope="col" { "95 % interval" }
                        th.words scope="col" { "verdict" }
                        th scope="col" { (axis(extent)) }
                        th scope="col" { abbr title={ "server CPU per " (one) } { "cpu/o" } }
                        @if has_times {
                            th scope="col" { abbr title=(TIME) { (TAIL) } }
                        }
                        @if judged.suite.is_some() {
                            th scope="col" { abbr title="rQPS relative to the suite shift" { "to suite" } }
                        }
                        th scope="col" { "rounds" }
                        th.words scope="col" { "group" }
                    }
                }
                tbody {
                    @if let Some(suite) = &judged.suite {
                        tr.suite {
                            th scope="row" { "suite shift" }
                            (measured(&suite.shift))
                            td.words { "change that all tests share" }
                            td { (plot(&suite.shift, &[], 0.0, extent)) }
                            td {} td {} @if has_times { td {} }
                            td { (suite.rounds) }
                            td {}
                        }
                    }
                    @for index in tests {
                        (row(verdicts, judged, index, extent, has_times))
                    }
                }
            }
        }
    }
}

fn row(
    verdicts: &Verdicts<'_>,
    judged: &Judged,
    index: usize,
    extent: f64,
    has_times: bool,
) -> Markup {
    let (test, verdict) = (&verdicts.tests[index], &judged.verdicts[index]);
    let cpu = verdict.costs.iter().find(|(name, _)| name == "cpu/o");
    let tail = verdict.times.iter().find(|(name, _)| name == TAIL);
    html! {
        tr {
            th scope="row" { a href={ "#test-" (verdict.test) } { (verdict.test) } }
            @let is_measured = verdict.contributions.len() > 1;
            @if is_measured { (measured(&verdict.estimate)) } @else { td { "-" } td { "-" } }
            td.words {
                @if let Some(missed) = verdicts.missed(&judged.contender, index) { (missed) " " }
                (told(&verdict.label))
                @if let Some(built) = verdicts.built(judged) { " " span.dim { (built) } }
            }
            @if is_measured {
                td { (plot(&verdict.estimate, &verdict.contributions, verdicts.margin(test), extent)) }
            } @else {
                td {}
            }
            td { (cpu.map_or("-".to_string(), |(_, cost)| change(cost))) }
            @if has_times {
                @match tail {
                    Some((_, time)) => td { abbr title=(span(time)) { (change(time)) } }
                    None => td { "-" }
                }
            }
            @if let Some(suite) = &judged.suite {
                @match &suite.relative[index] {
                    Some(relative) => td {
                        abbr title=(with_interval(relative)) { (ratio(relative)) }
                    }
                    None => td { "-" }
                }
            }
            td { (verdict.contributions.len()) }
            td.words.dim { (test.group) }
        }
    }
}

/// The label and its numbers.
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
    html! {
        td { (ratio(estimate)) }
        td { (span(estimate)) }
    }
}

/// An interval with its rounds, on the scale of all tests.
fn plot(estimate: &Estimate, rounds: &[f64], margin: f64, extent: f64) -> Markup {
    let x = |log: f64| (WIDTH / 2.0) * (1.0 + log.clamp(-extent, extent) / extent);
    let at = |value: f64| format!("{value:.1}");
    let (low, high) = (estimate.interval.low, estimate.interval.high);
    html! {
        svg.forest viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img"
            aria-label=(ratio(estimate)) {
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
            span { (whole(-extent)) } span { "0" } span { (whole(extent)) }
        }
    }
}

fn whole(log: f64) -> String {
    format!("{:+.0} %", 100.0 * log.exp_m1())
}

/// The extent of the plots: all estimates and the finite ends of their intervals.
fn extent(judged: &Judged) -> f64 {
    let estimates = judged.verdicts.iter().map(|verdict| &verdict.estimate);
    let estimates = estimates.chain(judged.suite.iter().map(|suite| &suite.shift));
    let bounds = estimates.flat_map(|estimate| {
        [estimate.value, estimate.interval.low, estimate.interval.high].map(f64::abs)
    });
    bounds.filter(|bound| bound.is_finite()).fold(LEAST, f64::max).min(MOST) * 1.05
}
