//! A report about several runs together, such as those of a fleet or of a search, in every format.

use rqps_document::Document;
use rqps_document::{Terminal, markdown, terminal};

use crate::build::Extent;
use crate::html::page_of;

/// What a report about several runs says.
pub struct JointReport {
    comment: Document,
    screen: Document,
    whole: Document,
    json: String,
}

impl JointReport {
    pub(crate) fn new(document: impl Fn(Extent) -> Document, json: String) -> JointReport {
        let [comment, screen, whole] =
            [Extent::Comment, Extent::Screen, Extent::Post].map(document);
        JointReport { comment, screen, whole, json }
    }

    /// What a terminal shows.
    pub fn text(&self, to: Terminal) -> String {
        terminal::render(&self.screen, to)
    }

    /// All tables as text.
    pub fn post(&self, to: Terminal) -> String {
        terminal::render(&self.whole, to)
    }

    pub fn markdown(&self) -> String {
        markdown::render(&self.comment)
    }

    /// One page, which needs no other file. Its links lead to pages below its folder.
    pub fn html(&self) -> String {
        page_of(&self.whole)
    }

    pub fn json(&self) -> &str {
        &self.json
    }
}
