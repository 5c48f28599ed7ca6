//! The figures of a page, as far as its script does not draw them.

use maud::{Markup, html};

use super::chip::chip;
use crate::{Bars, Figure, Picture, Tone, Waterfall};

pub(super) fn figure(figure: &Figure) -> Markup {
    html! {
        @match figure {
            Figure::Seconds(step) => figure.chart data-step=(step) {
                noscript { "Enable JavaScript for these charts." }
            },
            Figure::Rounds(test) => figure.rounds data-row=(test) {},
            Figure::Curves(test) => figure.curves data-test=(test) {},
            Figure::Counters(of) => div data-engine=(of) {},
            Figure::Bars(bars) => (self::bars(bars)),
            Figure::Waterfalls(all) => div.waterfalls { @for one in all { (waterfall(one)) } },
        }
    }
}

fn bars(bars: &Bars) -> Markup {
    let longest = bars.rows.iter().map(|(_, rate, _)| *rate).fold(0.0, f64::max);
    let percent = |rate: f64| if longest > 0.0 { 100.0 * rate / longest } else { 0.0 };
    html! {
        figure.bars data-save=(bars.saved_as) {
            figcaption { (bars.unit) }
            @for (name, rate, tone) in &bars.rows {
                div.row data-of=(name) {
                    span.name { (name) }
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

const NAME: f64 = 110.0;
const PLOT: f64 = 240.0;
const VALUE: f64 = 132.0;
const ROW: f64 = 18.0;

/// Bars from the baseline's time to the contender's, one below the other.
fn waterfall(of: &Waterfall) -> Markup {
    // The running sum before and after each bar: with the intervals, it is the extent of the plot.
    let mut steps = Vec::new();
    let mut sum = 0.0;
    for bar in &of.bars {
        steps.push((sum, sum + bar.change));
        sum += bar.change;
    }
    let intervals = of.bars.iter().zip(&steps).filter_map(|(bar, (from, _))| {
        let (low, high) = bar.interval?;
        Some([from + low, from + high])
    });
    let intervals = intervals.chain(of.change.map(|(low, high)| [low, high]));
    let ends = steps.iter().flat_map(|(from, to)| [*from, *to]).chain(intervals.flatten());
    let ends: Vec<f64> = ends.chain([0.0, sum]).filter(|end| end.is_finite()).collect();
    let low = ends.iter().copied().fold(f64::INFINITY, f64::min);
    let high = ends.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scale = if high > low { PLOT / (high - low) } else { 0.0 };
    let x = |value: f64| at(NAME + (value - low) * scale);
    let height = ROW * (of.bars.len() + 2) as f64;
    let row = |row: usize, name: &str, value: String| {
        let y = at(ROW * row as f64 + 13.0);
        html! {
            text x="0" y=(y) { (name) }
            text.value x=(at(NAME + PLOT + VALUE)) y=(y) { (value) " µs" }
        }
    };
    let line = |row: usize, from: f64, interval: Option<(f64, f64)>| {
        let y = at(ROW * row as f64 + 9.0);
        html! {
            @if let Some((low, high)) = interval {
                line.interval x1=(x(from + low)) x2=(x(from + high)) y1=(y) y2=(y) {
                    title { (signed(low)) " to " (signed(high)) " µs" }
                }
            }
        }
    };
    let last = of.bars.len() + 1;
    html! {
        figure.waterfall data-save=(of.saved_as) {
            figcaption {
                a href={ "#test-" (of.test) } { (of.test) } " " (chip(&of.label, None))
            }
            svg width=(NAME + PLOT + VALUE) height=(height) viewBox={ "0 0 " (NAME + PLOT + VALUE) " " (height) }
                role="img" aria-label={ "where the time went in " (of.test) } {
                (row(0, "baseline", at(of.baseline)))
                line.zero x1=(x(0.0)) x2=(x(0.0)) y1="0" y2=(height) {}
                @for (index, (bar, (from, to))) in of.bars.iter().zip(&steps).enumerate() {
                    rect.more[bar.change >= 0.0].less[bar.change < 0.0].unsure[!bar.is_sure]
                        x=(x(from.min(*to))) y=(at(ROW * (index + 1) as f64 + 3.0))
                        width=(at((to - from).abs() * scale)) height="12" {}
                    (line(index + 1, *from, bar.interval))
                    (row(index + 1, bar.name,
                        signed(bar.change) + &reach(bar.interval)))
                }
                (line(last, 0.0, of.change))
                (row(last, "contender", at(of.contender)))
            }
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

/// A value that rounds to zero has no sign.
fn signed(value: f64) -> String {
    if value.abs() < 0.05 { "0.0".to_string() } else { format!("{value:+.1}") }
}

/// Half of a plot's width and its height in pixels.
const HALF: f64 = 150.0;
const HEIGHT: f64 = 22.0;
/// The scale of whiskers on either side of no change: half and double.
const REACH: f64 = 0.7;
/// The sides of a curve: it has room above the perfect line, and below a ratio of one.
const SIDE: f64 = 40.0;

pub(super) fn picture(picture: &Picture) -> Markup {
    match picture {
        Picture::Interval { value, ends: (low, high), rounds, margin, extent } => {
            let x = |log: f64| HALF * (1.0 + log.clamp(-extent, *extent) / extent);
            let middle = at(HEIGHT / 2.0);
            html! {
                svg.forest viewBox={ "0 0 " (2.0 * HALF) " " (HEIGHT) } preserveAspectRatio="none"
                    aria-hidden="true" {
                    rect.margin x=(at(x(-margin))) y="0" width=(at(x(*margin) - x(-margin))) height=(HEIGHT) {}
                    line.zero x1=(at(HALF)) x2=(at(HALF)) y1="0" y2=(HEIGHT) {}
                    @for log in rounds { circle.round cx=(at(x(*log))) cy=(middle) r="2" {} }
                    line.interval x1=(at(x(*low))) x2=(at(x(*high))) y1=(middle) y2=(middle) {}
                    rect.estimate x=(at(x(*value) - 3.0)) y=(at(HEIGHT / 2.0 - 3.0)) width="6" height="6" {}
                }
            }
        }
        Picture::Whisker { value, ends: (low, high) } => {
            let x = |log: f64| at(25.0 * (1.0 + log.clamp(-REACH, REACH) / REACH));
            html! {
                svg.whisker width="50" height="8" aria-hidden="true" {
                    line.zero x1="25" x2="25" y1="0" y2="8" {}
                    line.interval x1=(x(*low)) x2=(x(*high)) y1="4" y2="4" {}
                    circle cx=(x(*value)) cy="4" r="1.8" {}
                }
            }
        }
        Picture::Curve { name, points } => {
            let y = |share: f64| at(SIDE * (1.2 - share.clamp(-0.3, 1.2)) / 1.5);
            let point =
                |(across, share): &(f64, f64)| format!("{},{}", at(across * 2.0 * SIDE), y(*share));
            let points: Vec<String> = points.iter().map(point).collect();
            html! {
                svg.curve viewBox="-2 -2 84 44" width="50" height="26" role="img" aria-label=(name) {
                    line.ideal x1="0" y1=(y(0.0)) x2="80" y2=(y(1.0)) {}
                    polyline points=(points.join(" ")) {}
                }
            }
        }
    }
}
