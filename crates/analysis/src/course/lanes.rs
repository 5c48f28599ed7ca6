//! Background work during a test, as lanes below its charts: a cell for each second, or for each
//! stretch of seconds.

use rqps_observe::{Kind, Meaning};
use rqps_stats::stalls::stalled;
use rqps_store::{Column, Series};
use serde::Serialize;

use super::charts::short;

/// The amount of one kind of background work over a test.
#[derive(Serialize)]
pub(super) struct Lane<'a> {
    kind: &'static str,
    legend: &'static str,
    contender: &'a str,
    /// What was counted, and the highest value of a cell.
    counter: String,
    most: f64,
    /// A digit for each stretch: 0 is nothing, 9 the most of any contender.
    cells: String,
}

/// A round of a contender; a run without repetition has one.
pub(super) struct Watched<'r> {
    /// The rate of each whole second; empty where rates do not show stalls.
    pub(super) rates: Vec<f64>,
    /// The DBMS's own counters.
    pub(super) samples: &'r Series<String>,
}

struct Background {
    kind: &'static str,
    legend: &'static str,
    /// The meanings of counters that belong to this kind.
    of: &'static [Meaning],
}

const BACKGROUND: [Background; 5] = [
    Background {
        kind: "checkpoint",
        legend: "pages that checkpoints wrote; all flushed pages of InnoDB, which spreads its \
                 checkpoints over time",
        of: &[Meaning::CheckpointPages, Meaning::FlushedPages],
    },
    Background {
        kind: "autovacuum",
        legend: "tables whose autovacuum ended",
        of: &[Meaning::TablesVacuumed],
    },
    Background {
        kind: "purge lag",
        legend: "old row versions that vacuum or purge has not removed yet",
        of: &[Meaning::RowVersionsLeft],
    },
    Background {
        kind: "compaction",
        legend: "bytes that compaction wrote",
        of: &[Meaning::CompactionBytesWritten],
    },
    Background {
        kind: "writers wait",
        legend: "the DBMS held writers back: full log buffers, no free pages, late compaction",
        of: &[Meaning::WriterWaits],
    },
];

const STALL: &str = "stall";
const STALL_LEGEND: &str = "seconds with less than half of the usual throughput of their time";
const STALL_COUNTER: &str = "stalled seconds";

/// The lanes of each contender by kind: the mean over its rounds. A cell stands for `stretch`
/// seconds.
pub(super) fn lanes<'a>(of: &[(&'a str, Vec<Watched<'_>>)], stretch: usize) -> Vec<Lane<'a>> {
    let mut lanes = Vec::new();
    for background in &BACKGROUND {
        let cells = |rounds: &[Watched<'_>]| background.cells(rounds, stretch);
        lanes.extend(kind(background.kind, background.legend, of, cells));
    }
    let cells = |rounds: &[Watched<'_>]| {
        let found = rounds.iter().map(|round| stalls(&round.rates, stretch));
        Some((STALL_COUNTER.to_string(), found.collect()))
    };
    lanes.extend(kind(STALL, STALL_LEGEND, of, cells));
    lanes
}

/// The lanes of one kind on one scale: the name of the counter and the cells of each round come
/// from `cells`. A contender with zeros only has no lane.
fn kind<'a>(
    kind: &'static str,
    legend: &'static str,
    of: &[(&'a str, Vec<Watched<'_>>)],
    cells: impl Fn(&[Watched<'_>]) -> Option<(String, Vec<Vec<u64>>)>,
) -> Vec<Lane<'a>> {
    let found = of.iter().filter_map(|(contender, rounds)| {
        let (counter, cells) = cells(rounds)?;
        let counter = match rounds.len() {
            1 => counter,
            many => format!("{counter}, mean of {many} rounds"),
        };
        let cells = mean(&cells);
        let most = cells.iter().copied().fold(0.0, f64::max);
        (most > 0.0).then_some((*contender, counter, cells, most))
    });
    let found: Vec<(&str, String, Vec<f64>, f64)> = found.collect();
    let most_of_all = found.iter().map(|(_, _, _, most)| *most).fold(0.0, f64::max);
    let lane = |(contender, counter, cells, most): (&'a str, String, Vec<f64>, f64)| Lane {
        kind,
        legend,
        contender,
        counter,
        most: short(most),
        cells: cells.iter().map(|cell| digit(*cell, most_of_all)).collect(),
    };
    found.into_iter().map(lane).collect()
}

/// The mean of each cell over the rounds. A shorter round counts as zero after its end.
fn mean(rounds: &[Vec<u64>]) -> Vec<f64> {
    let longest = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let sum = |place: usize| rounds.iter().filter_map(|round| round.get(place)).sum::<u64>();
    (0..longest).map(|place| sum(place) as f64 / rounds.len() as f64).collect()
}

impl Background {
    /// The first of its counters that is not zero in any round.
    fn cells(&self, rounds: &[Watched<'_>], stretch: usize) -> Option<(String, Vec<Vec<u64>>)> {
        let columns = || rounds.iter().flat_map(|round| round.samples.columns());
        let moved = |column: &Column| column.values().any(|value| value.is_some_and(|v| v > 0));
        let has = |meaning: &Meaning| {
            columns().find(|(_, column)| column.meaning == Some(*meaning) && moved(column))
        };
        let (counter, _) = self.of.iter().find_map(has)?;
        let of = |round: &Watched<'_>| match round.samples.column(counter) {
            Some(column) => cells(round.samples, column, stretch),
            None => Vec::new(),
        };
        Some((counter.clone(), rounds.iter().map(of).collect()))
    }
}

/// The greatest value of each stretch of seconds.
fn cells(series: &Series<String>, column: &Column, stretch: usize) -> Vec<u64> {
    let mut cells: Vec<u64> = Vec::new();
    // A gauge that did not move keeps its value: every sample has one.
    let mut last = 0;
    for (at, value) in series.at().iter().zip(column.values()) {
        let value = match column.kind {
            Kind::Gauge => value.unwrap_or(last),
            Kind::Counter => value.unwrap_or(0),
        };
        last = value;
        // A sample at the end of a second is of that second, and taken a moment later.
        let index = (at.round() as usize).max(1).div_ceil(stretch) - 1;
        if cells.len() <= index {
            cells.resize(index + 1, 0);
        }
        cells[index] = cells[index].max(value);
    }
    cells
}

/// The number of stalled seconds in each stretch.
fn stalls(rates: &[f64], stretch: usize) -> Vec<u64> {
    let count = |seconds: &[bool]| seconds.iter().filter(|stalled| **stalled).count() as u64;
    stalled(rates).chunks(stretch).map(count).collect()
}

/// A value above zero never becomes the digit 0.
fn digit(value: f64, most: f64) -> char {
    let tenth = |value: f64| (value / most * 9.0).round().clamp(1.0, 9.0) as u32;
    let digit = if value > 0.0 { tenth(value) } else { 0 };
    char::from_digit(digit, 10).unwrap_or('9')
}

#[cfg(test)]
mod tests {
    use rqps_observe::EngineReading;
    use rqps_store::EngineSample;

    use super::*;

    #[test]
    fn the_least_of_something_is_not_nothing() {
        let digits = [0.0, 0.1, 50.0, 100.0].map(|value| digit(value, 100.0));
        assert_eq!(digits, ['0', '1', '5', '9']);
    }

    /// Pages that checkpoints wrote in some of the seconds.
    fn samples(pages: &[u64]) -> Series<String> {
        let sample = |(second, pages): (u32, &u64)| {
            let mut values = EngineReading::default();
            values.set("pg_stat_bgwriter.buffers_checkpoint", Kind::Counter, *pages);
            // The servers are read when the second is over, which takes a moment.
            EngineSample { at: f64::from(second) + 0.002, values }
        };
        let mut samples: Series<String> = (1..).zip(pages).map(sample).collect();
        samples.mean(|_| Some(Meaning::CheckpointPages));
        samples
    }

    #[test]
    fn a_counter_that_stood_still_hides_no_other() {
        let sample = |second: u32| {
            let mut values = EngineReading::default();
            values.set("Innodb_log_waits", Kind::Counter, 0);
            values.set("Innodb_buffer_pool_wait_free", Kind::Counter, u64::from(second == 2));
            EngineSample { at: f64::from(second), values }
        };
        let mut samples: Series<String> = (1..4).map(sample).collect();
        samples.mean(|_| Some(Meaning::WriterWaits));
        let found = lanes(&[("new", vec![Watched { rates: Vec::new(), samples: &samples }])], 1);
        let told: Vec<(&str, &str)> =
            found.iter().map(|lane| (lane.counter.as_str(), lane.cells.as_str())).collect();
        assert_eq!(told, [("Innodb_buffer_pool_wait_free", "090")]);
    }

    #[test]
    fn a_lane_is_the_mean_of_the_rounds_on_the_scale_of_all_contenders() {
        let rounds = [samples(&[0, 60, 0, 0]), samples(&[0, 0, 30, 0, 90])];
        let other = samples(&[5, 0, 0, 0]);
        let steady = || vec![10.0; 4];
        let stalls_once = || vec![10.0, 10.0, 1.0, 10.0];
        let one = |rates, samples| Watched { rates, samples };
        let both = vec![one(steady(), &rounds[0]), one(stalls_once(), &rounds[1])];
        let found = lanes(&[("new", both), ("old", vec![one(steady(), &other)])], 1);
        let told: Vec<(&str, &str, &str, f64)> = found
            .iter()
            .map(|lane| (lane.kind, lane.contender, lane.cells.as_str(), lane.most))
            .collect();
        let expected = [("checkpoint", "new", "06309", 45.0), ("checkpoint", "old", "1000", 5.0)];
        assert_eq!(told[..2], expected);
        assert_eq!(told[2..], [("stall", "new", "0090", 0.5)]);
        assert!(found[0].counter.ends_with("buffers_checkpoint, mean of 2 rounds"));
        let alone = vec![one(steady(), &rounds[1])];
        assert_eq!(lanes(&[("new", alone)], 2)[0].cells, "039");
    }
}
