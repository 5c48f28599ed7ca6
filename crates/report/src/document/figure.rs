//! What a page draws, as numbers.

use rqps_analysis::diagnosis::Bar;

use super::Chip;

pub(crate) enum Figure {
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
pub(crate) struct Bars {
    pub(crate) unit: &'static str,
    /// The name of its file if it is saved.
    pub(crate) saved_as: String,
    pub(crate) rows: Vec<(String, f64, super::Tone)>,
}

/// How the time of an operation became that of the contender, in microseconds.
pub(crate) struct Waterfall {
    pub(crate) test: String,
    pub(crate) label: Chip,
    pub(crate) saved_as: String,
    pub(crate) baseline: f64,
    pub(crate) contender: f64,
    pub(crate) bars: Vec<Bar>,
    /// The interval of the whole change.
    pub(crate) change: Option<(f64, f64)>,
}

/// Beside the text of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Picture {
    /// An interval of logs with its rounds and the margin, on the scale of the table.
    Interval {
        value: f64,
        ends: (f64, f64),
        rounds: Vec<f64>,
        margin: f64,
        /// Of the scale on either side of no change.
        extent: f64,
    },
    /// An interval of logs without a scale: it is cut at half and double.
    Whisker { value: f64, ends: (f64, f64) },
    /// A curve beside the perfect one, both from 0 to 1.
    Curve { name: String, points: Vec<(f64, f64)> },
}
