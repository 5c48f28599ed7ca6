//! What the machine and the DBMS did in the seconds of a step, beside what the clients saw: CPU and
//! IO as lines, and what goes on in the background as lanes.

use rqps_observe::{Kind, Metric};
use rqps_stats::stalls::stalled;
use rqps_store::{Column, Series};
use serde::Serialize;

use super::charts::{at, stretch, thinned};
use super::{Measured, Model, StepModel, seconds};

/// One step.
#[derive(Serialize)]
pub(crate) struct Machine<'a> {
    step: &'a str,
    /// Whole seconds that two points, or one cell of a lane, stand for.
    stretch: usize,
    /// Seconds from the start of the window.
    at: Vec<f64>,
    lines: Vec<Line<'a>>,
    lanes: Vec<Lane<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    contender: &'a str,
    /// CPUs that the server kept busy.
    cpu: Vec<Option<f64>>,
    /// MiB per second between the server and storage.
    read: Vec<Option<f64>>,
    written: Vec<Option<f64>>,
}

/// How much of something there was over the step.
#[derive(Serialize)]
struct Lane<'a> {
    kind: &'static str,
    legend: &'static str,
    contender: &'a str,
    /// The counter, and its highest value of a second.
    counter: String,
    most: u64,
    /// A digit for each stretch: 0 is nothing, 9 the most that any contender had.
    cells: String,
}

struct Background {
    kind: &'static str,
    legend: &'static str,
    /// Ends of the names that DBMSs have for it, in lower case.
    counters: &'static [&'static str],
}

const BACKGROUND: [Background; 5] = [
    Background {
        kind: "checkpoint",
        legend: "pages that checkpoints wrote; InnoDB's are spread over time, so all that it flushed",
        counters: &[
            "buffers_checkpoint",
            "pg_stat_checkpointer.buffers_written",
            "innodb_buffer_pool_pages_flushed",
        ],
    },
    Background {
        kind: "autovacuum",
        legend: "tables whose autovacuum ended",
        counters: &["autovacuum_count"],
    },
    Background {
        kind: "purge lag",
        legend: "old row versions that vacuum or purge has not removed yet",
        counters: &["n_dead_tup", "innodb_history_list_length", "trx_rseg_history_len"],
    },
    Background {
        kind: "compaction",
        legend: "bytes that compaction wrote",
        counters: &["rocksdb_compact_write_bytes"],
    },
    Background {
        kind: "writers wait",
        legend: "the DBMS held writers back: full log buffers, no free pages, compaction behind",
        counters: &[
            "rocksdb_stall_micros",
            "innodb_log_waits",
            "innodb_buffer_pool_wait_free",
            "wal_buffers_full",
        ],
    },
];

const STALL: &str = "stall";
const STALL_LEGEND: &str = "seconds with less than half of the usual throughput around them";

const MIB: f64 = 1024.0 * 1024.0;

/// The steps of which seconds were recorded.
pub(crate) fn machine<'a>(model: &'a Model<'a>) -> Vec<Machine<'a>> {
    model.steps.iter().filter_map(|step| of_step(model, step)).collect()
}

fn of_step<'a>(model: &'a Model<'a>, step: &'a StepModel<'a>) -> Option<Machine<'a>> {
    let begun: Vec<(&str, &Measured)> = step
        .measured
        .iter()
        .enumerate()
        .filter_map(|(index, measured)| Some((model.contenders[index], measured.as_ref()?)))
        .filter(|(_, measured)| !measured.record.samples.is_empty())
        .collect();
    // What is left of the last second is no rate.
    let length = |measured: &Measured| (measured.record.seconds as usize).max(1);
    let longest = begun.iter().map(|(_, measured)| length(measured)).max()?;
    let stretch = stretch(longest);
    let lines: Vec<Line> =
        begun.iter().map(|(name, measured)| line(name, measured, stretch)).collect();
    let mut lanes: Vec<Lane> = Vec::new();
    for background in &BACKGROUND {
        lanes.extend(of_dbms(background, &begun, stretch));
    }
    lanes.extend(begun.iter().filter_map(|(name, measured)| stalls(name, measured, stretch)));
    let step = step.name;
    Some(Machine { step, stretch, at: at(longest, stretch), lines, lanes })
}

fn line<'a>(contender: &'a str, measured: &Measured, stretch: usize) -> Line<'a> {
    let place = |metric: Metric| Metric::ALL.iter().position(|known| *known == metric);
    let of = |metrics: &[Metric], unit: f64| {
        let rate = |cost: &[Option<u64>]| {
            let known: Vec<u64> =
                metrics.iter().filter_map(|metric| cost[place(*metric)?]).collect();
            (!known.is_empty()).then(|| short(known.iter().sum::<u64>() as f64 / unit))
        };
        let whole = seconds(measured).take((measured.record.seconds as usize).max(1));
        thinned(whole.map(|second| rate(&second.cost)).collect(), stretch)
    };
    Line {
        contender,
        cpu: of(&[Metric::ServerCpuUser, Metric::ServerCpuSystem], 1e6),
        read: of(&[Metric::ServerReadBytes], MIB),
        written: of(&[Metric::ServerWriteBytes], MIB),
    }
}

/// Three significant digits, since nobody sees more in a chart.
fn short(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

/// Of each contender the first of the names that it has; none where it was nothing all the time.
fn of_dbms<'a>(
    background: &Background,
    begun: &[(&'a str, &'a Measured)],
    stretch: usize,
) -> Vec<Lane<'a>> {
    let found: Vec<(&str, &str, Vec<u64>)> = begun
        .iter()
        .filter_map(|(name, measured)| {
            let series = &measured.record.engine_samples;
            let has = |end: &&str| series.columns().find(|(name, _)| ends_with(name, end));
            let (counter, column) = background.counters.iter().find_map(has)?;
            let cells = cells(series, column, stretch);
            cells.iter().any(|cell| *cell > 0).then_some((*name, counter.as_str(), cells))
        })
        .collect();
    let all = found.iter().flat_map(|(_, _, cells)| cells);
    let most_of_all = all.copied().max().unwrap_or(0);
    let lane = |(contender, counter, cells): (&'a str, &str, Vec<u64>)| Lane {
        kind: background.kind,
        legend: background.legend,
        contender,
        counter: counter.to_string(),
        most: cells.iter().copied().max().unwrap_or(0),
        cells: cells.iter().map(|cell| digit(*cell, most_of_all)).collect(),
    };
    found.into_iter().map(lane).collect()
}

fn ends_with(name: &str, end: &str) -> bool {
    name.to_lowercase().ends_with(end)
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
        let index = (at.ceil() as usize).max(1).div_ceil(stretch) - 1;
        if cells.len() <= index {
            cells.resize(index + 1, 0);
        }
        cells[index] = cells[index].max(value);
    }
    cells
}

/// Anything at all is more than nothing.
fn digit(value: u64, most: u64) -> char {
    let tenth = |value: u64| (value as f64 / most as f64 * 9.0).round().clamp(1.0, 9.0) as u32;
    let digit = if value == 0 { 0 } else { tenth(value) };
    char::from_digit(digit, 10).unwrap_or('9')
}

fn stalls<'a>(contender: &'a str, measured: &Measured, stretch: usize) -> Option<Lane<'a>> {
    let stalled = stalled(&measured.counted_per_second());
    let count = stalled.iter().filter(|stalled| **stalled).count();
    let cell = |seconds: &[bool]| if seconds.contains(&true) { '9' } else { '0' };
    (count > 0).then(|| Lane {
        kind: STALL,
        legend: STALL_LEGEND,
        contender,
        counter: "seconds".to_string(),
        most: count as u64,
        cells: stalled.chunks(stretch).map(cell).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_of_something_is_not_nothing() {
        assert_eq!([0, 1, 50, 100].map(|value| digit(value, 100)), ['0', '1', '5', '9']);
    }

    #[test]
    fn a_chart_has_three_digits() {
        assert_eq!([0.0, 1.23456, 98765.4].map(short), [0.0, 1.23, 98800.0]);
    }
}
