//! Every test over the releases of a DBMS: drawn by the script from the numbers of all rounds.

use maud::{Markup, html};

use crate::model::History;

const NOTE: &str = "Relative to the base if it is one of these releases, else to the oldest of them; all \
     tests of a DBMS on one scale, which is logarithmic. The ribbon is the 95 % interval of each release, \
     drawn where rounds were repeated; it says nothing of the releases between two. A ring is a release that \
     differs from the one before it: the 95 % interval of the two leaves out zero, each pair by itself, so that one \
     of twenty that are alike has a ring by chance. The measure is \
     chosen above the relative table, the number is that of the newest release.";

pub(super) fn section(histories: &[History]) -> Markup {
    html! {
        @if !histories.is_empty() {
            section #history {
                h2 { "History" }
                p.note { (NOTE) }
                @for (index, history) in histories.iter().enumerate() {
                    @let what = if history.is_of_builds { " builds, compiled differently" } else { " releases" };
                    h3 { (history.name) ": " (history.releases.len()) (what) }
                    div.histories data-history=(index) {
                        noscript { "This is drawn by the script in this page." }
                    }
                }
            }
        }
    }
}
