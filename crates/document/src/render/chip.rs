//! A label, as it is drawn on a page.

use maud::{Markup, html};

use crate::Chip;

/// A label; without a class it is a remark beside the others.
pub fn chip(label: &Chip, of: Option<&str>) -> Markup {
    html! {
        @if label.class.is_empty() { span.dim { (label.text) } }
        @else { span class={ "chip " (label.class) } data-of=[of] { (label.text) } }
    }
}
