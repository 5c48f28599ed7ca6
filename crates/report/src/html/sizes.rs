//! How large the data were at the end of each step or run.

use maud::{Markup, html};

use crate::model::{Model, Size, Table, amplification, sizes};

const AMPLIFICATION: &str = "Whole data directory as a multiple of the smallest";

/// A section of those that were read, each drawn by `each`; nothing if none was.
pub(super) fn section(
    model: &Model,
    title: &str,
    each: impl Fn(&'static str, &Table) -> Markup,
) -> Markup {
    let tables = tables(model);
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
    !tables(model).is_empty()
}

fn tables(model: &Model) -> Vec<(&'static str, Table)> {
    let all = Size::ALL.map(|size| (size.title(), sizes(model, size)));
    let relative = (AMPLIFICATION, amplification(model, Size::Directory));
    all.into_iter().chain([relative]).filter(|(_, cells)| !cells.is_empty()).collect()
}
