//! The profiles of a comparison: functions that cost more or less, and flame graphs.

use maud::{Markup, html};
use rqps_document::html::blocks;

use super::data::embedded;
use crate::build::profile::changes;
use crate::comparison::{Profiled, Verdicts, flames, profile_notes};

const NOTE: &str = "Microseconds of the server's CPU per statement, sampled in separate runs after the \
     verdicts. The tables list functions whose interval, adjusted for their number, excludes 0. In \
     difference flame graphs, red costs more than in the baseline, and blue costs less.";

pub(super) fn body(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        @for (place, judged) in verdicts.judged.iter().enumerate() {
            div data-of=(judged.contender) {
                @for (number, profiled) in judged.profiles.iter().enumerate() {
                    (test(profiled, &format!("flame-{place}-{number}")))
                }
            }
        }
        p.note { (NOTE) }
    }
}

fn test(profiled: &Profiled, id: &str) -> Markup {
    let [base, contender] = profiled.sides.each_ref().map(|side| side.contender);
    let (flames, anchor) = flames(profiled);
    let file = |name: &str| {
        let plain = |c: char| if c.is_ascii_alphanumeric() || "._".contains(c) { c } else { '-' };
        format!("{}-{}.svg", profiled.test, name).chars().map(plain).collect::<String>()
    };
    html! {
        h3 { (profiled.test) ": " (base) " → " (contender) }
        (blocks(&[changes(profiled, &profiled.own, "itself")]))
        details {
            summary { "Including callees" }
            (blocks(&[changes(profiled, &profiled.inclusive, "with callees")]))
        }
        ul.dim { @for note in profile_notes(profiled) { li { (note) } } }
        details.flames {
            summary { "Flame graphs" }
            @if let Some(anchor) = anchor {
                p.note { "Stacks start at " code { (anchor) } ", which takes nearly all of the time." }
            }
            div.choice {
                @for (number, flame) in flames.iter().enumerate() {
                    button type="button" data-flame={ (id) "-" (number) } { (flame.name) }
                }
            }
            figure {}
            ul.files {
                @for (number, flame) in flames.iter().enumerate() {
                    li {
                        button type="button" data-source={ (id) "-" (number) }
                            data-file=(file(&flame.name)) { (file(&flame.name)) }
                    }
                }
            }
            @for (number, flame) in flames.iter().enumerate() {
                (embedded(&format!("{id}-{number}"), &flame.svg))
            }
        }
    }
}
