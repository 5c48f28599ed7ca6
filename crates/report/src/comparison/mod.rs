//! An analysed comparison in words, numbers and rows.

mod answers_json;
mod evidence_json;
mod flame;
mod instructions_json;
mod joined;
mod json;
mod junit;
mod labels;
mod latency;
mod matrix;
mod printed;
mod profile;
mod profile_json;
mod ratio_json;
mod remarks;
mod servers;
mod together;
mod verdict_row;

use std::ops::Deref;
use std::sync::OnceLock;

use rqps_analysis::comparison::Results;
use rqps_analysis::course::{Curves, curves};
use rqps_store::{RoundRecord, Run};

use crate::model::Counted;

pub(crate) use rqps_analysis::comparison::{Judged, Profiled};

pub(crate) use flame::flames;
pub(crate) use json::Comparison as ComparisonJson;
pub use junit::junit;
pub(crate) use labels::{SHORT_MISSED, chip, class, counts, is_change, label, short, word};
pub(crate) use latency::told as time_told;
pub(crate) use printed::{TAIL, change, ratio, reach, span, with_interval};
pub(crate) use profile::{
    notes as profile_notes, numbers as profile_numbers, readable, told as profile_told,
};
pub(crate) use together::{columns as posts_columns, metrics as metrics_together};
pub(crate) use verdict_row::VerdictRow;

/// An analysed comparison, with the words and rows that every format prints.
pub(crate) struct Verdicts<'a> {
    results: Results<'a>,
    /// Whole runs, pooled over rounds: made when a format needs them, since histograms are large.
    together: OnceLock<Vec<RoundRecord>>,
}

impl<'a> Deref for Verdicts<'a> {
    type Target = Results<'a>;

    fn deref(&self) -> &Results<'a> {
        &self.results
    }
}

impl<'a> Verdicts<'a> {
    /// None if the run is no comparison.
    pub(crate) fn new(run: &'a Run) -> Option<Self> {
        let results = Results::new(run)?;
        Some(Verdicts { results, together: OnceLock::new() })
    }

    /// The units of the tests' rates, and the operations that their costs are divided by.
    pub(crate) fn counted(&self) -> Counted {
        Counted::of(self.tests.iter().map(|test| (test.name, test.counts(self.plan))))
    }

    /// The course of the rounds of each test.
    pub(crate) fn curves(&self) -> Vec<Curves<'_>> {
        curves(&self.tests, self.plan, &self.names())
    }

    /// Why a test is measured as it is.
    pub(crate) fn method_because(&self, test: &str) -> String {
        match self.plan.choice_of(test) {
            Some(choice) => choice.why.clone(),
            None if self.plan.of.is_chain() => "its steps build on each other".to_string(),
            None => "asked for".to_string(),
        }
    }
}
