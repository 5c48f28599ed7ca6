//! Response times of one step: the posts' ten buckets with percentiles beside them.

use hdrhistogram::Histogram as Recorded;
use rqps_analysis::comparison::percentile;
use rqps_analysis::course::{Clock, bucket_counts, recorded};
use rqps_document::{Cell, Heading, Row, Table, Tone};
use rqps_stats::bands::{self, Band};
use rqps_stats::histogram::{BOUNDS, NAMES, PERCENTILES, percentages, print, shade};
use rqps_store::Operation;

use super::number::duration;
use super::{Model, StepModel};

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

/// Rounded like the three decimals of the column.
fn milliseconds(nanoseconds: u64) -> u64 {
    (nanoseconds + 500_000) / 1_000_000
}
