//! What a page draws, as numbers.

use crate::{Chip, Tone};

pub enum Figure {
    /// The seconds of a step. This and the next three are drawn by the script from the data of the
    /// page.
    Seconds(String),
    /// The rounds of a test as dots.
    Rounds(String),
    /// The course of the rounds of a test.
    Curves(String),
    /// The counters of the DBMS in a step or test, as a table.
    Counters(String),
    Bars(Bars),
    Waterfalls(Vec<Waterfall>),
}

/// Rates from zero on one scale.
pub struct Bars {
    pub unit: &'static str,
    /// The name of its file if it is saved.
    pub saved_as: String,
    pub rows: Vec<(String, f64, Tone)>,
}

/// How the time of an operation became that of the contender, in microseconds.
pub struct Waterfall {
    pub test: String,
    pub label: Chip,
    pub saved_as: String,
    pub baseline: f64,
    pub contender: f64,
    pub bars: Vec<WaterfallBar>,
    /// The interval of the whole change.
    pub change: Option<(f64, f64)>,
}

/// A part of a change.
pub struct WaterfallBar {
    pub name: &'static str,
    /// In microseconds.
    pub change: f64,
    /// Its ends, from low to high, where they are known.
    pub interval: Option<(f64, f64)>,
    /// The interval excludes 0.
    pub is_sure: bool,
}
