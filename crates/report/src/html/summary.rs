//! The tables at the start of the page.

use maud::{Markup, html};

use super::strip::{STEPS, strip};
use super::table::table;
use crate::model::{
    self, ABSOLUTE_NOTE, LAG_NOTE, Model, RELATIVE_NOTE, SHORT_NOTE, SLA_NOTE, Table,
};

const CPU_NOTE: &str = "Microseconds of CPU per row in the l. steps and per query in the others, \
     user plus system: server is the processes of the DBMS, client is rqps's worker threads.";

/// A title, a note and a table.
pub(super) type Noted = (&'static str, &'static str, Table);

pub(super) fn section(model: &Model) -> Markup {
    let rates = [
        ("Throughput", ABSOLUTE_NOTE, model::absolute(model)),
        ("Relative to the first", RELATIVE_NOTE, model::relative(model)),
    ];
    let cpu = ("CPU of server and client", CPU_NOTE, model::cpu_split(model));
    html! {
        section #summary {
            h2 { "Summary" }
            (strip(model, &STEPS))
            @for noted in rates.iter().chain(&promises(model)).chain([&cpu]) { (drawn(noted)) }
        }
    }
}

/// Whether the target write rates were met; empty tables without a target.
pub(super) fn promises(model: &Model) -> [Noted; 3] {
    [
        ("Insert rate while queries ran", SLA_NOTE, model::sla(model)),
        ("Seconds below the target insert rate", SHORT_NOTE, model::short_seconds(model)),
        ("Longest delay of a write", LAG_NOTE, model::lag(model)),
    ]
}

/// Draws nothing if the table is empty.
pub(super) fn drawn((title, note, cells): &Noted) -> Markup {
    html! {
        @if !cells.is_empty() {
            h3 { (title) }
            (table("contender", cells))
            p.note { (note) }
        }
    }
}
