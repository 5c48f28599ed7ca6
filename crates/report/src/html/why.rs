//! Why a contender is slower or faster: where the time of the counted operations went, and which
//! costs changed.

use maud::{Markup, html};
use rqps_analysis::diagnosis::{Bar, Change, Estimate, Evidence, Part, budget};
use rqps_stats::Interval;
use rqps_stats::digits::Digits;
use rqps_stats::label::Label;

use crate::comparison::{Judged, Verdicts, class, word};

const BUDGET_NOTE: &str = "The plots show a connection's time in microseconds, contender minus baseline. The bars \
     add up to the change: blue is less, orange is more. A line, and the number after ±, is the 95 % interval over \
     rounds; the lowest line is that of the whole change. The interval of a pale bar includes 0. Background \
     processes are included with their CPU only.";

const METRICS_NOTE: &str = "The tables show changes relative to the baseline with 95 % intervals over rounds, not \
     adjusted. Grey changes are not significant, or smaller than the difference of the A/A control.";

/// Metrics by their name in the store, as columns: the first that a test has, as in the rules of
/// causes. In slices all arms share the device, so only the server's own IO is known.
pub(super) const METRICS: [(&[&str], &str, &str); 9] = [
    (&["server_cpu_user"], "cpu user", "the server's CPU in user mode"),
    (&["server_cpu_system"], "cpu sys", "the server's CPU in the kernel"),
    (&["server_voluntary_switches"], "cs vol.", "the server gave up a CPU because it had to wait"),
    (&["server_involuntary_switches"], "cs invol.", "the server was preempted"),
    (&["server_run_queue_wait"], "run queue", "the server's threads waited for a CPU"),
    (&["device_read_bytes", "server_read_bytes"], "rKB", "read from storage"),
    (&["device_write_bytes", "server_write_bytes"], "wKB", "written to storage"),
    (&["server_minor_faults"], "faults", "minor page faults of the server"),
    (&["database_bytes"], "size", "tables and indexes"),
];

pub(super) fn section(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        @if is_known(verdicts) {
            section #why {
                h2 { "Why" }
                @for judged in &verdicts.judged { (contender(verdicts, judged)) }
                p.note { (BUDGET_NOTE) " " (METRICS_NOTE) (verdicts.counted().here()) }
            }
        }
    }
}

/// Whether there is any evidence to show.
pub(super) fn is_known(verdicts: &Verdicts<'_>) -> bool {
    let mut evidence = verdicts.judged.iter().flat_map(|judged| &judged.evidence);
    evidence.any(|evidence| evidence.time.base > 0.0)
}

fn contender(verdicts: &Verdicts<'_>, judged: &Judged) -> Markup {
    let changed = judged.verdicts.iter().zip(&judged.evidence).filter(|(verdict, _)| {
        !matches!(
            verdict.label,
            Label::NoChange { .. } | Label::Inconclusive { .. } | Label::Invalid { .. }
        )
    });
    let changed: Vec<_> = changed.collect();
    let one = verdicts.counted().one;
    html! {
        div data-of=(judged.contender) {
            h3 { (judged.contender) " relative to " (verdicts.base) }
            @if changed.is_empty() {
                p { "No test has changed." }
            } @else {
                h4 { "Where the time per " (one) " went" }
                div.waterfalls {
                    @for (verdict, evidence) in &changed {
                        @let pair = format!("{} relative to {}", judged.contender, verdicts.base);
                        figure.waterfall data-save={ "Where the time of " (evidence.test) " went: " (pair) } {
                            figcaption {
                                a href={ "#test-" (evidence.test) } { (evidence.test) } " "
                                span class={ "chip " (class(&verdict.label)) } { (word(&verdict.label, 1)) }
                            }
                            (waterfall(evidence))
                        }
                    }
                }
            }
            (metrics(judged, one))
        }
    }
}

const NAME: f64 = 110.0;
const PLOT: f64 = 240.0;
const VALUE: f64 = 132.0;
const ROW: f64 = 18.0;

/// Bars from the baseline's time to the contender's, one below the other.
fn waterfall(evidence: &Evidence) -> Markup {
    let (base, contender) = (evidence.time.base, evidence.time.contender);
    let bars: Vec<Bar> = budget(evidence)
        .into_iter()
        .filter(|bar| bar.part.is_some() || bar.change.abs() >= 0.05)
        .collect();
    // The running sum before and after each bar: with the intervals, it is the extent of the plot.
    let mut steps = Vec::new();
    let mut sum = 0.0;
    for bar in &bars {
        steps.push((sum, sum + bar.change));
        sum += bar.change;
    }
    let whole_change = evidence.time.change.ends();
    let intervals = bars.iter().zip(&steps).filter_map(|(bar, (from, _))| {
        let (low, high) = bar.interval?;
        Some([from + low, from + high])
    });
    let intervals = intervals.chain(whole_change.map(|(low, high)| [low, high]));
    let ends = steps.iter().flat_map(|(from, to)| [*from, *to]).chain(intervals.flatten());
    let ends: Vec<f64> = ends.chain([0.0, sum]).filter(|end| end.is_finite()).collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = if high > low { PLOT / (high - low) } else { 0.0 };
    let x = |value: f64| at(NAME + (value - low) * scale);
    let height = ROW * (bars.len() + 2) as f64;
    let whole = |row: usize, name: &str, value: f64| {
        let y = ROW * row as f64;
        html! {
            text x="0" y=(at(y + 13.0)) { (name) }
            text.value x=(at(NAME + PLOT + VALUE)) y=(at(y + 13.0)) { (micros(value)) }
        }
    };
    let line = |row: usize, from: f64, interval: Option<(f64, f64)>| {
        let y = ROW * row as f64 + 9.0;
        html! {
            @if let Some((low, high)) = interval {
                line.interval x1=(x(from + low)) x2=(x(from + high)) y1=(at(y)) y2=(at(y)) {
                    title { (signed(low)) " to " (signed(high)) " µs" }
                }
            }
        }
    };
    html! {
        svg width=(NAME + PLOT + VALUE) height=(height) viewBox={ "0 0 " (NAME + PLOT + VALUE) " " (height) }
            role="img" aria-label={ "where the time went in " (evidence.test) } {
            (whole(0, "baseline", base))
            line.zero x1=(x(0.0)) x2=(x(0.0)) y1="0" y2=(height) {}
            @for (index, (bar, (from, to))) in bars.iter().zip(&steps).enumerate() {
                @let y = ROW * (index + 1) as f64;
                text x="0" y=(at(y + 13.0)) { (bar.part.map_or("unaccounted", Part::name)) }
                rect.more[bar.change >= 0.0].less[bar.change < 0.0].unsure[!bar.is_sure]
                    x=(x(from.min(*to))) y=(at(y + 3.0)) width=(at((to - from).abs() * scale)) height="12" {}
                (line(index + 1, *from, bar.interval))
                text.value x=(at(NAME + PLOT + VALUE)) y=(at(y + 13.0)) {
                    (signed(bar.change)) (reach(bar.interval)) " µs"
                }
            }
            (line(bars.len() + 1, 0.0, whole_change))
            (whole(bars.len() + 1, "contender", contender))
        }
    }
}

/// Half of the width of an interval.
fn reach(interval: Option<(f64, f64)>) -> String {
    interval.map_or(String::new(), |(low, high)| format!(" ± {:.1}", (high - low) / 2.0))
}

fn at(value: f64) -> String {
    format!("{value:.1}")
}

fn micros(value: f64) -> String {
    format!("{value:.1} µs")
}

/// A value that rounds to zero has no sign.
fn signed(value: f64) -> String {
    if value.abs() < 0.05 { "0.0".to_string() } else { format!("{value:+.1}") }
}

/// A row for every test, a column for every metric that any test has.
fn metrics(judged: &Judged, one: &str) -> Markup {
    let has = |names: &[&str]| judged.evidence.iter().any(|one| metric(one, names).is_some());
    let columns: Vec<_> = METRICS.iter().filter(|(names, _, _)| has(names)).collect();
    html! {
        @if !columns.is_empty() {
            details open {
                summary { "What else changed per " (one) }
                div.scroll tabindex="0" {
                    table.metrics {
                        thead { tr {
                            th scope="col" { "test" }
                            th.words scope="col" { "verdict" }
                            @for (_, name, legend) in &columns {
                                th scope="col" { abbr title=(legend) { (name) } }
                            }
                        } }
                        tbody {
                            @for (verdict, evidence) in judged.verdicts.iter().zip(&judged.evidence) {
                                tr {
                                    th scope="row" { a href={ "#test-" (evidence.test) } { (evidence.test) } }
                                    td.words { span class={ "chip " (class(&verdict.label)) } { (word(&verdict.label, 1)) } }
                                    @for (names, _, _) in &columns { (change(metric(evidence, names))) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn metric<'e>(evidence: &'e Evidence, names: &[&str]) -> Option<&'e Change> {
    names.iter().find_map(|name| evidence.metrics.get(*name))
}

fn change(of: Option<&Change>) -> Markup {
    html! {
        @match of.filter(|change| change.log.low.is_finite()) {
            None => td.missing { "-" },
            Some(change) => {
                @let log = change.log;
                @let digits = Digits::of(Interval { low: log.low, high: log.high });
                @let percent = |log| digits.percent(log);
                td.unsure[!change.is_sure()]
                    title={ (percent(log.low)) " to " (percent(log.high)) ", A/A control " (percent(change.noise)) } {
                    (percent(log.value)) (whisker(log))
                }
            }
        }
    }
}

/// The range of a whisker on either side of no change: half and double.
const REACH: f64 = 0.7;

fn whisker(log: Estimate) -> Markup {
    let x = |value: f64| at(25.0 * (1.0 + value.clamp(-REACH, REACH) / REACH));
    html! {
        svg.whisker width="50" height="8" aria-hidden="true" {
            line.zero x1="25" x2="25" y1="0" y2="8" {}
            line.interval x1=(x(log.low)) x2=(x(log.high)) y1="4" y2="4" {}
            circle cx=(x(log.value)) cy="4" r="1.8" {}
        }
    }
}
