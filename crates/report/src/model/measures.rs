//! The measures of a test beside its throughput.

use rqps_document::{Cell, Heading, Row, Table};
use rqps_plan::Counts;
use rqps_stats::client_share::{client_busy, client_share};
use rqps_stats::normalised::{IOSTAT, VMSTAT};
use rqps_store::Operation;

use super::columns::by_column;
use super::number::significant;
use super::{Measured, Model, StepModel};

pub(crate) const SCAN_NOTE: &str =
    "A statement of scan reads a whole table, so its throughput is in rows per second.";

/// A number of one step of one contender.
pub(crate) struct Measure {
    /// As a column.
    pub(crate) name: &'static str,
    /// In JSON and CSV.
    pub(crate) key: &'static str,
    pub(crate) legend: &'static str,
    pub(crate) value: fn(&Measured) -> Option<f64>,
    pub(crate) print: fn(f64) -> String,
}

pub(crate) const RATE: Measure = Measure {
    name: "q/s",
    key: "queries_per_second",
    legend: "statements per second as sysbench counts them, with BEGIN, COMMIT and statements that \
             changed nothing; rows per second in scan",
    value: |m| m.throughput().filter(|_| m.round.counts != Counts::Transactions),
    print: whole,
};

pub(crate) const TRANSACTIONS: Measure = Measure {
    name: "trx/s",
    key: "transactions_per_second",
    legend: "events per second: transactions, or single statements",
    value: |m| m.window().per_second(Some(m.of(Operation::Transaction)?.operations)),
    print: whole,
};

pub(crate) const SHARE: Measure = Measure {
    name: "client%",
    key: "client_share",
    legend: "the client's CPU as a percentage of the CPU of client and DBMS",
    value: |m| client_share(&m.window()),
    print: percent,
};

pub(crate) const BUSY: Measure = Measure {
    name: "busy%",
    key: "client_busy",
    legend: "the client's CPU as a percentage of the time its threads could run; from 50% on the \
             client is the bottleneck",
    value: |m| client_busy(&m.window(), m.record.clients),
    print: percent,
};

/// All of them, in the order of the tables.
pub(crate) static MEASURES: [Measure; 10] = [
    RATE,
    TRANSACTIONS,
    Measure {
        name: "rows/s",
        key: "rows_per_second",
        legend: "rows returned or changed per second; rows read in scan",
        value: |m| match m.round.counts {
            Counts::RowsScanned => m.throughput(),
            _ => m.window().per_second(Some(m.of(Operation::Transaction)?.rows)),
        },
        print: whole,
    },
    Measure {
        name: "writes/s",
        key: "effective_writes_per_second",
        legend: "statements per second that changed rows",
        value: |m| {
            let writes = m.of(Operation::Transaction)?.writes;
            m.window().per_second(Some(writes)).filter(|_| writes > 0)
        },
        print: whole,
    },
    Measure {
        name: "hit%",
        key: "hit_share",
        legend: "percentage of the statements that found a row to change, in tests of single \
                 statements",
        value: |m| m.hit_share(),
        print: percent,
    },
    Measure {
        name: "krows/s/cl",
        key: "scan_krows_per_second_and_client",
        legend: "scan as published: thousands of rows per second and client",
        value: |m| {
            let rate = m.throughput().filter(|_| m.round.counts == Counts::RowsScanned)?;
            (m.record.clients > 0).then(|| rate / 1e3 / f64::from(m.record.clients))
        },
        print: significant,
    },
    Measure {
        name: "cv%",
        key: "coefficient_of_variation",
        legend: "variation of the rate from second to second: standard deviation as a percentage of \
                 the mean; needs three seconds, not known for scans",
        value: |m| Some(m.variation()?.coefficient),
        print: percent,
    },
    SHARE,
    BUSY,
    Measure {
        name: "pause s",
        key: "pause_seconds",
        legend: "seconds before the test in which the DBMS flushed, vacuum or compaction caught up, \
                 and the client paused",
        value: |m| Some(m.record.pause_seconds).filter(|seconds| *seconds >= 0.05),
        print: significant,
    },
];

fn whole(value: f64) -> String {
    format!("{value:.0}")
}

fn percent(share: f64) -> String {
    significant(share * 100.0)
}

/// The variation over time: one row for each contender that finished the step.
pub(crate) fn variations(model: &Model, step: &StepModel) -> Table {
    let headings = [
        ("cv%", "standard deviation of the rates of seconds as a percentage of their mean"),
        ("min", "the lowest rate of a second"),
        ("median", "the median of the rates of seconds"),
        ("max", "the highest rate of a second"),
    ];
    let rows = step.done().filter_map(|(index, measured)| {
        let found = measured.variation()?;
        let rates = [found.min, found.median, found.max].map(|rate| Cell::plain(whole(rate)));
        let cells = [Cell::plain(percent(found.coefficient))].into_iter().chain(rates);
        Some(Row::new(model.contenders[index], cells.collect()))
    });
    let headings = headings.map(|(name, legend)| Heading::new(name, legend));
    Table::new(headings.into(), rows.collect()).named("contender")
}

/// The tables of the IO-bound posts, a row for each contender that finished the step.
pub(crate) fn normalised(model: &Model, step: &StepModel) -> [Table; 2] {
    [&IOSTAT[..], &VMSTAT[..]].map(|columns| by_column(model, step, columns))
}
