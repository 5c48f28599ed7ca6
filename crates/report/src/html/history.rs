//! Every test over the releases of a DBMS: the script draws it from the numbers of all rounds.

use maud::{Markup, html};
use rqps_analysis::history::History;

const NOTE: &str = "Values are relative to the baseline if it is one of these releases, else to the oldest \
     release. All tests of a DBMS have one logarithmic scale. The ribbon is the 95 % interval of each release, \
     if rounds were repeated; between two releases it has no meaning. A ring marks a release that differs from \
     the one before it: their 95 % interval excludes zero. Intervals are not adjusted, so one of twenty equal \
     pairs has a ring by chance. The number belongs to the newest release. Choose the measure above the \
     relative table.";

pub(super) fn body(histories: &[History]) -> Markup {
    html! {
        p.note { (NOTE) }
        @for (index, history) in histories.iter().enumerate() {
            @let what = if history.is_of_builds { " builds, compiled differently" } else { " releases" };
            h3 { (history.name) ": " (history.releases.len()) (what) }
            div.histories data-history=(index) {
                noscript { "Enable JavaScript for this chart." }
            }
        }
    }
}
