//! The result of a run without repetition at a glance, and its limits.

use maud::{Markup, html};
use rqps_stats::bands::{Relative, published_band, relative_band};

use crate::model::{Model, shares};

const DOUBT: &str =
    "Each contender ran once, so a difference may be noise and has no verdict. Use ";

/// The bounds from which the published tables call a share slower or faster, in words.
pub(super) struct Bands {
    of: fn(f64) -> Relative,
    words: [&'static str; 3],
}

/// The bands of the Insert Benchmark.
pub(super) const STEPS: Bands =
    Bands { of: relative_band, words: ["▼ below 0.95", "from 0.95 to 1.05", "▲ above 1.05"] };
/// The bands of the microbenchmarks, which apply to shares as printed.
pub(super) const TESTS: Bands =
    Bands { of: published_band, words: ["▼ 0.95 and below", "between", "▲ 1.05 and above"] };

/// The number of faster, slower and equal steps of each contender but the first. Empty without a
/// contender to compare.
pub(super) fn strip(model: &Model, bands: &Bands) -> Markup {
    let is_shown = |step: &str| {
        let step = model.steps.iter().find(|known| known.name == step);
        step.is_some_and(|step| step.group.is_some() || !model.has_groups())
    };
    let shares: Vec<_> = shares(model).into_iter().filter(|(_, _, step)| is_shown(step)).collect();
    let Some(base) = model.base.filter(|_| !shares.is_empty()) else { return html! {} };
    let of = |name: &str| -> Vec<(f64, &str)> {
        let own = shares.iter().filter(|(_, contender, _)| *contender == name);
        let mut own: Vec<(f64, &str)> = own.map(|(share, _, step)| (*share, *step)).collect();
        own.sort_by(|one, other| one.0.total_cmp(&other.0));
        own
    };
    html! {
        div.strips {
            @for name in &model.contenders {
                @let own = of(name);
                @if let (Some(least), Some(most)) = (own.first(), own.last()) {
                    p.strip data-of=(name) {
                        b { (name) } " relative to " (model.contenders[base]) ":"
                        @for ((band, class), word) in CLASSES.into_iter().zip(bands.words) {
                            @let count = own.iter().filter(|own| (bands.of)(own.0) == band).count();
                            @if count > 0 { span class={ "chip " (class) } { (count) " " (word) } }
                        }
                        span.dim {
                            "median " (format!("{:.2}", own[own.len() / 2].0))
                            ", least " (format!("{:.2}", least.0)) " (" (least.1) ")"
                            ", most " (format!("{:.2}", most.0)) " (" (most.1) ")"
                        }
                    }
                }
            }
            p.note { (DOUBT) code { "rqps compare" } " for repeated rounds with verdicts." }
        }
    }
}

const CLASSES: [(Relative, &str); 3] =
    [(Relative::Slower, "slower"), (Relative::Same, "same"), (Relative::Faster, "faster")];
