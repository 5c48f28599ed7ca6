//! The size of the data at the end of each step or run.

use maud::{Markup, html};

use crate::document::Table;
use crate::model::{Model, all_sizes};

/// A section of the sizes that were read, each drawn by `each`; empty if none was.
pub(super) fn section(
    model: &Model,
    title: &str,
    each: impl Fn(&'static str, &Table) -> Markup,
) -> Markup {
    let tables = all_sizes(model);
    html! {
        @if !tables.is_empty() {
            section #sizes {
                h2 { (title) }
                @for (name, cells) in &tables { (each(name, cells)) }
            }
        }
    }
}

pub(super) fn are_known(model: &Model) -> bool {
    !all_sizes(model).is_empty()
}
