//! Comparisons on several machines as one report. Only ratios to a baseline of the same machine are
//! in it: rates of two machines are on no scale together.

mod build;
mod json;
mod machines;

use maud::html;
use rqps_analysis::machines::Fleet;
use rqps_store::Machines;

use crate::build::Extent;
use crate::html::{STYLE, framed};
use crate::render::html::blocks;
use crate::render::{Terminal, markdown, terminal};

/// The name of the JSON's format; it changes when the new format breaks readers of the old one.
pub const FLEET_SCHEMA: &str = "rqps-fleet/1";

/// The analysed results of several machines, for every format.
pub struct FleetReport<'a> {
    fleet: Fleet<'a>,
    /// What is not there, such as a cell that has failed, each in a sentence.
    missing: Vec<String>,
}

impl<'a> FleetReport<'a> {
    pub fn new(machines: &'a Machines, missing: Vec<String>) -> Self {
        FleetReport { fleet: Fleet::new(machines), missing }
    }

    /// Whether a contender is slower on all machines, on most, or on a class of them.
    pub fn has_regression(&self) -> bool {
        self.fleet.has_regression()
    }

    /// Whether anything is missing or undecided.
    pub fn is_open(&self) -> bool {
        self.fleet.is_open() || !self.missing.is_empty()
    }

    /// What a terminal shows.
    pub fn text(&self, to: Terminal) -> String {
        terminal::render(&build::document(self, Extent::Screen), to)
    }

    /// All tables as text.
    pub fn post(&self, to: Terminal) -> String {
        terminal::render(&build::document(self, Extent::Post), to)
    }

    pub fn markdown(&self) -> String {
        markdown::render(&build::document(self, Extent::Comment))
    }

    /// The name of its format is [`FLEET_SCHEMA`].
    pub fn json(&self) -> String {
        json::json(&self.fleet, &self.missing)
    }

    /// One page, which needs no other file and no script.
    pub fn html(&self) -> String {
        let document = build::document(self, Extent::Post);
        framed(
            &document.title,
            &[STYLE],
            &html! {
                header { h1 { (document.title) } }
                main { section { (blocks(&document.blocks)) } }
            },
        )
    }
}
