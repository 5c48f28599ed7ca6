//! Response times of one step: the posts' ten buckets with percentiles beside them.

use hdrhistogram::Histogram as Recorded;
use rqps_analysis::comparison::percentile;
use rqps_stats::bands::{self, Band};
use rqps_stats::histogram::{
    BOUNDS, BUCKETS, NAMES, PERCENTILES, bucket, percentages, print, shade,
};
use rqps_store::Operation;

use super::number::duration;
use super::{Model, StepModel, Totals};
use crate::document::{Cell, Heading, Row, Table, Tone};

pub(crate) const HISTOGRAM_NOTE: &str = "Percentage of the responses that took at most the time in \
     the heading and longer than the time in the heading before it; in the page, darker is more. \
     Empty cells are zero, nonzero is less than 0.0005%. max is in seconds: ▼ is the top quarter of \
     the column's range, ▲ the bottom quarter, and nothing is ▼ where the smallest is at least 80% \
     of the largest. A percentile needs ten responses beyond it; the cell says few where there are \
     fewer.";

/// The table of one kind of operation, by one of the two clocks.
pub(crate) struct Histogram {
    pub(crate) operation: Operation,
    pub(crate) clock: Clock,
    pub(crate) table: Table,
}

/// Where the time of a response starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// When it was sent.
    Service,
    /// When it was due, in a step that writes at a rate.
    Response,
}

impl Clock {
    pub(crate) const ALL: [Clock; 2] = [Clock::Service, Clock::Response];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Clock::Service => "service",
            Clock::Response => "response",
        }
    }

    /// `Insert response time, from when it was due`
    pub(crate) fn title(self, operation: Operation) -> String {
        let operation = match operation {
            Operation::Insert => "Insert",
            Operation::Delete => "Delete",
            Operation::Query => "Query",
            Operation::Transaction => "Transaction",
        };
        match self {
            Clock::Service => format!("{operation} service time, from when it was sent"),
            Clock::Response => format!("{operation} response time, from when it was due"),
        }
    }
}

/// The tables of a step that have any response in them.
pub(crate) fn histograms(model: &Model, step: &StepModel) -> Vec<Histogram> {
    let mut tables = Vec::new();
    for operation in Operation::ALL {
        for clock in Clock::ALL {
            let table = table(model, step, operation, clock);
            if !table.is_empty() {
                tables.push(Histogram { operation, clock, table });
            }
        }
    }
    tables
}

fn table(model: &Model, step: &StepModel, operation: Operation, clock: Clock) -> Table {
    let recorded: Vec<(usize, Recorded<u64>)> = step
        .done()
        .filter_map(|(index, measured)| Some((index, recorded(measured.of(operation)?, clock)?)))
        .filter(|(_, recorded)| !recorded.is_empty())
        .collect();
    let longest: Vec<u64> =
        recorded.iter().map(|(_, recorded)| milliseconds(recorded.max())).collect();
    let rows = recorded
        .iter()
        .zip(bands::longest_response(&longest))
        .map(|((index, recorded), band)| Row::new(model.contenders[*index], cells(recorded, band)));
    Table::new(headings(), rows.collect()).named("contender")
}

pub(super) fn recorded(totals: &Totals, clock: Clock) -> Option<Recorded<u64>> {
    match clock {
        Clock::Service => Some(totals.service.unpacked()),
        Clock::Response => totals.response.as_ref().map(|times| times.unpacked()),
    }
}

fn headings() -> Vec<Heading> {
    let buckets = NAMES.iter().enumerate().map(|(index, name)| {
        Heading::new(
            *name,
            match BOUNDS.get(index) {
                Some(bound) => format!("at most {} (%)", duration(*bound)),
                None => "longer than 16 s (%)".to_string(),
            },
        )
    });
    let max = Heading::new("max", "the longest (s)");
    let percentiles = PERCENTILES
        .iter()
        .map(|(name, percent)| Heading::new(*name, format!("{percent}% took at most this long")));
    buckets.chain([max]).chain(percentiles).collect()
}

fn cells(recorded: &Recorded<u64>, band: Band) -> Vec<Cell> {
    let buckets = percentages(&bucket_counts(recorded))
        .map(|percentage| Cell::new(print(percentage), Tone::Shade(shade(percentage))));
    let tone = match band {
        Band::Good => Tone::Good,
        Band::Bad => Tone::Bad,
        Band::Ignored | Band::Plain => Tone::Plain,
    };
    let max = Cell::new(format!("{:.3}", recorded.max() as f64 / 1e9), tone);
    let percentiles = PERCENTILES.iter().map(|(_, percent)| match percentile(recorded, *percent) {
        Some(value) => Cell::plain(duration(value)),
        None => Cell::missing("few"),
    });
    buckets.into_iter().chain([max]).chain(percentiles).collect()
}

/// Responses by the posts' buckets. A recorded value stands for a small range: its lowest value
/// counts, so a response of exactly a bound is counted below it.
pub(crate) fn bucket_counts(recorded: &Recorded<u64>) -> [u64; BUCKETS] {
    let mut counts = [0; BUCKETS];
    for value in recorded.iter_recorded() {
        let lowest = recorded.lowest_equivalent(value.value_iterated_to());
        counts[bucket(lowest)] += value.count_since_last_iteration();
    }
    counts
}

/// Rounded like the three decimals of the column.
fn milliseconds(nanoseconds: u64) -> u64 {
    (nanoseconds + 500_000) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_of_exactly_a_bound_counts_below_it() {
        for (index, bound) in BOUNDS.into_iter().enumerate() {
            let mut recorded = Recorded::<u64>::new(3).unwrap();
            recorded.record(bound).unwrap();
            assert_eq!(bucket_counts(&recorded)[index], 1, "{bound} ns");
            recorded.record(bound + bound / 100).unwrap();
            assert_eq!(bucket_counts(&recorded)[index + 1], 1, "1% above {bound} ns");
        }
    }
}
