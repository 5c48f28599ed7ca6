//! The tables that a reader wants first.

use maud::{Markup, html};

use super::strip::{STEPS, strip};
use super::table::table;
use crate::model::{
    self, ABSOLUTE_NOTE, LAG_NOTE, Model, RELATIVE_NOTE, SHORT_NOTE, SLA_NOTE, Table,
};

const CPU_NOTE: &str = "Microseconds of CPU per row in the l. steps and per query in the others, \
     user and system together: of the DBMS's processes (server) and of the threads of rqps that \
     drive it (client).";

/// A title, a table and what must be known of it.
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

/// How the promised write rates were kept; empty tables where none is promised.
pub(super) fn promises(model: &Model) -> [Noted; 3] {
    [
        ("Insert rate beside the queries", SLA_NOTE, model::sla(model)),
        ("Seconds in which the insert rate was not kept", SHORT_NOTE, model::short_seconds(model)),
        ("How late writes began", LAG_NOTE, model::lag(model)),
    ]
}

/// Nothing of an empty table.
pub(super) fn drawn((title, note, cells): &Noted) -> Markup {
    html! {
        @if !cells.is_empty() {
            h3 { (title) }
            (table("contender", cells))
            p.note { (note) }
        }
    }
}
