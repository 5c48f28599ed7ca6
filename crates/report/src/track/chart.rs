//! The chart of a series: dots with their intervals, levels, changes, epochs and releases. It is
//! drawn without a script. Its lines keep their width and its words their size at any width of the
//! page, since only places are stretched.

use std::fmt::Write;

use maud::{Markup, html};
use rqps_analysis::track::{ChangeGroup, NightSeries};
use rqps_stats::nights::LogRatio;

use super::words::day;

const WIDTH: f64 = 1000.0;
const HEIGHT: f64 = 240.0;
/// Steps between lines of the grid, in percent.
const STEPS: [f64; 12] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0];
/// At most so many lines.
const MOST_LINES: f64 = 7.0;
/// The smallest range of values, as a log on either side.
const SMALLEST: f64 = 0.01;
/// Values in a sparkline.
const RECENT: usize = 100;

/// A place that is marked above the chart.
pub(super) struct Flag {
    /// The place of a value, before which it stands.
    pub(super) at: usize,
    pub(super) text: String,
    pub(super) title: String,
    pub(super) link: Option<String>,
    pub(super) class: &'static str,
}

/// The scales of a chart.
struct ChartScale {
    count: f64,
    low: f64,
    high: f64,
}

impl ChartScale {
    fn of(series: &NightSeries<'_>) -> ChartScale {
        let values = series.values.iter().map(|value| value.joined.value);
        let (low, high) = (
            values.clone().fold(f64::INFINITY, f64::min),
            values.fold(f64::NEG_INFINITY, f64::max),
        );
        // An interval that is wider than all values together is cut.
        let room = (high - low).max(SMALLEST);
        let ends = series.values.iter().map(|value| value.joined.estimate().interval);
        let reach = ends.fold((low, high), |(least, most), interval| {
            (least.min(interval.low.max(low - room)), most.max(interval.high.min(high + room)))
        });
        let margin = 0.06 * (reach.1 - reach.0).max(SMALLEST);
        ChartScale {
            count: series.values.len() as f64,
            low: reach.0 - margin,
            high: reach.1 + margin,
        }
    }

    /// The middle of a value's place.
    fn x(&self, at: usize) -> f64 {
        WIDTH * (at as f64 + 0.5) / self.count
    }

    /// The line before a value.
    fn edge(&self, at: usize) -> f64 {
        WIDTH * at as f64 / self.count
    }

    fn y(&self, log: f64) -> f64 {
        HEIGHT * (self.high - log.clamp(self.low, self.high)) / (self.high - self.low)
    }

    /// Lines of the grid, as percent with their places.
    fn lines(&self) -> Vec<(f64, f64)> {
        let [low, high] = [self.low, self.high].map(|log| 100.0 * log.exp_m1());
        let step = STEPS.into_iter().find(|step| (high - low) / step <= MOST_LINES);
        let step = step.unwrap_or(f64::INFINITY);
        let (first, last) = ((low / step).ceil(), (high / step).floor());
        let numbers = if step.is_finite() { first as i64..=last as i64 } else { 0..=0 };
        numbers
            .map(|number| number as f64 * step)
            .map(|at| (at, self.y((at / 100.0).ln_1p())))
            .collect()
    }
}

/// The whole chart of a series.
pub(super) fn chart(
    series: &NightSeries<'_>,
    changes: &[&ChangeGroup<'_>],
    flags: &[Flag],
) -> Markup {
    let scale = ChartScale::of(series);
    let last = series.values.len().saturating_sub(1);
    let percent = |part: f64, whole: f64| format!("{:.2}%", 100.0 * part / whole);
    let named = format!(
        "{}: ratios to the anchor of {} builds, with {} changes",
        series.test,
        series.values.len(),
        changes.len()
    );
    let dates: Vec<String> = [0, last / 2, last]
        .iter()
        .filter_map(|at| Some(day(series.values.get(*at)?.night.place())))
        .collect();
    html! {
        figure.nights data-save=(series.test) {
            div.plot {
                (drawing(series, &scale, flags, &named))
                @for (at, y) in scale.lines() {
                    span.tick style={ "top:" (percent(y, HEIGHT)) } { (tick(at)) }
                }
                @for flag in flags {
                    @let place = format!("left:{}", percent(scale.edge(flag.at), WIDTH));
                    @match &flag.link {
                        Some(link) => a class={ "flag " (flag.class) } style=(place) href=(link) title=(flag.title) { (flag.text) },
                        None => span class={ "flag " (flag.class) } style=(place) title=(flag.title) { (flag.text) },
                    }
                }
            }
            div.dates { @for date in dates { span { (date) } } }
        }
    }
}

/// `+2 %`
fn tick(percent: f64) -> String {
    match percent {
        0.0 => "0".to_string(),
        _ => format!("{percent:+} %"),
    }
}

fn drawing(series: &NightSeries<'_>, scale: &ChartScale, flags: &[Flag], named: &str) -> Markup {
    let (dots, intervals) = dots(series, scale, 0);
    let mut levels = String::new();
    for level in series.stretches.iter().flat_map(|stretch| &stretch.levels) {
        let y = scale.y(level.level.value);
        put(
            &mut levels,
            format_args!("M{:.1} {y:.1}H{:.1}", scale.edge(level.start), scale.edge(level.end)),
        );
    }
    let upright = |class: &str| {
        flags
            .iter()
            .filter(|flag| flag.class == class)
            .map(|flag| format!("M{:.1} 0V{HEIGHT}", scale.edge(flag.at)))
            .collect::<String>()
    };
    let grid: String = scale.lines().iter().map(|(_, y)| format!("M0 {y:.1}H{WIDTH}")).collect();
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } preserveAspectRatio="none" role="img" aria-label=(named) {
            path.grid d=(grid) {}
            @for class in ["change", "epoch", "release", "note"] {
                @let lines = upright(class);
                @if !lines.is_empty() { path class=(class) d=(lines) {} }
            }
            path.interval d=(intervals) {}
            path.dots d=(dots) {}
            path.level d=(levels) {}
        }
    }
}

/// Dots of no length, which round ends make visible, and their intervals.
fn dots(series: &NightSeries<'_>, scale: &ChartScale, from: usize) -> (String, String) {
    let (mut dots, mut intervals) = (String::new(), String::new());
    for (at, value) in series.values.iter().enumerate().skip(from) {
        let (x, interval) = (scale.x(at), value.joined.estimate().interval);
        put(&mut dots, format_args!("M{x:.1} {:.1}h0", scale.y(value.joined.value)));
        put(
            &mut intervals,
            format_args!("M{x:.1} {:.1}V{:.1}", scale.y(interval.low), scale.y(interval.high)),
        );
    }
    (dots, intervals)
}

fn put(text: &mut String, part: std::fmt::Arguments<'_>) {
    // A String takes everything.
    let _ = text.write_fmt(part);
}

/// The last values as a line, with the last level.
pub(super) fn sparkline(series: &NightSeries<'_>) -> Markup {
    let from = series.values.len().saturating_sub(RECENT);
    let recent: Vec<LogRatio> = series.values[from..].iter().map(|value| value.joined).collect();
    line(&recent.iter().map(|ratio| ratio.value).collect::<Vec<_>>())
}

/// Values as a small line.
pub(super) fn line(values: &[f64]) -> Markup {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (middle, half) = ((low + high) / 2.0, ((high - low) / 2.0).max(SMALLEST));
    let last = values.len().saturating_sub(1).max(1) as f64;
    let points: Vec<String> = values
        .iter()
        .enumerate()
        .map(|(at, value)| {
            format!("{:.1},{:.1}", 120.0 * at as f64 / last, 12.0 - 11.0 * (value - middle) / half)
        })
        .collect();
    html! {
        svg.spark viewBox="-1 -1 122 26" width="122" height="26" aria-hidden="true" {
            polyline points=(points.join(" ")) {}
        }
    }
}
