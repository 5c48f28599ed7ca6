//! The frame of each page of the site.

use maud::{Markup, PreEscaped, html};

use crate::html::framed;

const STYLE: &str = include_str!("../../assets/track.css");

/// A page of the site, with the script that it needs. Its links lead to files beside it, or above
/// it by `up`.
pub(super) fn sheet(title: &str, up: &str, script: Option<&str>, body: &Markup) -> String {
    framed(
        title,
        &[crate::html::STYLE, STYLE],
        &html! {
            nav aria-label="Site" {
                a href={ (up) "index.html" } { "All tests" }
                a href={ (up) "feed.xml" } { "Feed" }
                a href={ (up) "points.csv" } { "All points" }
            }
            (body)
            @if let Some(script) = script { script { (PreEscaped(script)) } }
        },
    )
}
