//! A search for the release or the commit that changed the speed, as one report.

mod commits;
mod json;
mod releases;

use rqps_document::{Block, Cell, Document, Heading, Picture, Row, Table};
use rqps_stats::{Estimate, Interval};
use rqps_study::{
    CommitSearch, ReleaseScan, ScanResult, SearchDirection, SearchResult, TestEffect,
};

use crate::build::Extent;
use crate::comparison::{ratio, span};
use crate::joint::JointReport;

/// The page beside a comparison of a search, and beside a search.
const PAGE: &str = "report.html";
/// Rows of a table in a comment.
const IN_COMMENT: usize = 12;

/// Where a search lies, and what lies beside it.
#[derive(Clone, Debug, Default)]
pub struct SearchPlace {
    /// What was searched in: the contender without its build.
    pub contender: String,
    /// The checkout with the commits.
    pub repo: Option<String>,
    /// Searches that followed from this one: among what, and their directories below this one.
    pub further: Vec<(String, String)>,
}

/// What was searched and found, for every format.
pub struct BisectReport<'a> {
    searched: Searched<'a>,
    place: SearchPlace,
}

enum Searched<'a> {
    Commits(&'a CommitSearch, Box<SearchResult>),
    Releases(&'a ReleaseScan, ScanResult),
}

impl<'a> BisectReport<'a> {
    pub fn of_commits(search: &'a CommitSearch, place: SearchPlace) -> BisectReport<'a> {
        BisectReport { searched: Searched::Commits(search, Box::new(search.result())), place }
    }

    pub fn of_releases(scan: &'a ReleaseScan, place: SearchPlace) -> BisectReport<'a> {
        BisectReport { searched: Searched::Releases(scan, scan.result()), place }
    }

    fn document(&self, extent: Extent) -> Document {
        let (searched, place) = (&self.searched, &self.place);
        match searched {
            Searched::Commits(search, result) => commits::document((search, result), place, extent),
            Searched::Releases(scan, result) => releases::document((scan, result), place, extent),
        }
    }

    /// The report in every format; that of its JSON is [`rqps_study::BISECT_SCHEMA`].
    pub fn formats(&self) -> JointReport {
        let json = match &self.searched {
            Searched::Commits(search, result) => json::of_commits((search, result), &self.place),
            Searched::Releases(scan, result) => json::of_releases((scan, result), &self.place),
        };
        JointReport::new(|extent| self.document(extent), json)
    }
}

fn estimate(value: f64, low: f64, high: f64) -> Estimate {
    Estimate { value, interval: Interval { low, high }, p: f64::NAN }
}

fn of_effect(effect: &TestEffect) -> Estimate {
    estimate(effect.value, effect.low, effect.high)
}

/// A change in the direction that was searched, or any change.
fn class(change: f64, direction: SearchDirection) -> &'static str {
    match (change < 0.0, direction) {
        (true, _) => "slower",
        (false, SearchDirection::Slower) => "unknown",
        (false, _) => "faster",
    }
}

/// The scale of intervals that are drawn below each other.
#[derive(Clone, Copy)]
struct IntervalScale(f64);

impl IntervalScale {
    /// The least and the most on either side of no change, as logs.
    const LEAST: f64 = 0.02;
    const MOST: f64 = 1.4;

    /// With room for these intervals.
    fn of(all: impl Iterator<Item = Estimate>) -> IntervalScale {
        let ends = all.flat_map(|one| [one.interval.low.abs(), one.interval.high.abs()]);
        let widest = ends.filter(|end| end.is_finite()).fold(Self::LEAST, f64::max);
        IntervalScale(widest.min(Self::MOST) * 1.05)
    }

    /// The heading of the intervals.
    fn heading(self) -> Heading {
        let [low, high] = [-self.0, self.0].map(|log| format!("{:+.0} %", 100.0 * log.exp_m1()));
        Heading { scale: Some([low, "0".into(), high]), ..Heading::new("95 % interval", "") }
    }

    /// The cells of a ratio and its interval.
    fn cells(self, estimate: &Estimate) -> [Cell; 2] {
        let picture = Picture::Interval {
            value: estimate.value,
            ends: (estimate.interval.low, estimate.interval.high),
            rounds: Vec::new(),
            margin: 0.0,
            extent: self.0,
        };
        let interval = Cell::plain(span(estimate));
        let is_drawn = estimate.value.is_finite() && estimate.interval.half_width().is_finite();
        [Cell::plain(ratio(estimate)), if is_drawn { interval.drawn(picture) } else { interval }]
    }
}

/// The searches that followed from this one.
fn further(place: &SearchPlace) -> Vec<Block> {
    if place.further.is_empty() {
        return Vec::new();
    }
    let row = |(among, directory): &(String, String)| {
        let page = format!("{directory}/{PAGE}");
        Row::new(among, vec![Cell::plain(directory)]).leading_to_page(page)
    };
    let rows = place.further.iter().map(row).collect();
    let table = Table::new(vec![Heading::words("directory")], rows).named("among");
    vec![Block::heading("Further searches"), Block::Table(table)]
}

/// `3 commits`
fn many(count: usize, what: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {what}{plural}")
}
