//! The profiles of a comparison: functions that cost more or less, and flame graphs.

use maud::{Markup, html};
use rqps_stats::profile::Function;

use super::data::embedded;
use crate::comparison::{
    Profiled, Verdicts, flames, profile_notes, profile_numbers, profile_told, readable,
};

const NOTE: &str = "Microseconds of the server's CPU per statement, sampled in separate runs after the \
     verdicts. The tables list functions whose interval, adjusted for their number, excludes 0. In \
     difference flame graphs, red costs more than in the baseline, and blue costs less.";

pub(super) fn section(verdicts: &Verdicts<'_>) -> Markup {
    html! {
        section #profiles {
            h2 { "Profiles" }
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
        (table(profiled, &profiled.own, "itself"))
        details {
            summary { "Including callees" }
            (table(profiled, &profiled.inclusive, "with callees"))
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

fn table(profiled: &Profiled, functions: &[Function], what: &str) -> Markup {
    let [base, contender] = profiled.sides.each_ref().map(|side| side.contender);
    let told = profile_told(functions);
    html! {
        @if told.iter().all(Vec::is_empty) {
            p { "No function has changed significantly." }
        } @else {
            div.scroll tabindex="0" {
                table.functions {
                    thead {
                        tr {
                            th scope="col" { "function " (what) }
                            th scope="col" { (base) }
                            th scope="col" { (contender) }
                            th scope="col" { "change, us" }
                            th scope="col" { "95 % interval" }
                        }
                    }
                    tbody {
                        @for (title, functions) in ["higher cost", "lower cost"].into_iter().zip(told) {
                            @if !functions.is_empty() {
                                tr.group { th scope="rowgroup" colspan="5" { (title) } }
                            }
                            @for function in functions { (row(function)) }
                        }
                    }
                }
            }
        }
    }
}

fn row(function: &Function) -> Markup {
    let [base, contender, change, low, high] = profile_numbers(function);
    html! {
        tr {
            th scope="row" { (readable(&function.name)) }
            td { (base) }
            td { (contender) }
            td { (change) }
            td { (low) " – " (high) }
        }
    }
}
