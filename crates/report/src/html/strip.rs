//! What a run without repeats says at first sight, and how far to believe it.

use maud::{Markup, html};
use rqps_stats::bands::{Relative, relative_band};

use crate::model::{Model, shares};

const DOUBT: &str = "One run of each: a difference may be chance, and none is a verdict. ";

/// For each contender but the first how many steps are faster, slower or alike. Nothing without a
/// contender to compare.
pub(super) fn strip(model: &Model) -> Markup {
    let shares = shares(model);
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
                        @for (band, class, word) in BANDS {
                            @let count = own.iter().filter(|own| relative_band(own.0) == band).count();
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
            p.note { (DOUBT) code { "rqps compare" } " repeats in random order and judges." }
        }
    }
}

const BANDS: [(Relative, &str, &str); 3] = [
    (Relative::Slower, "slower", "▼ below 0.95"),
    (Relative::Same, "same", "from 0.95 to 1.05"),
    (Relative::Faster, "faster", "▲ above 1.05"),
];
