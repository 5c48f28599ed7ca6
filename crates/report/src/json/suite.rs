//! The part of the result that only microbenchmarks have.

use std::collections::BTreeMap;

use rqps_stats::normalised::{IOSTAT, VMSTAT};
use serde::Serialize;

use crate::model::{Growth, MEASURES, Measured, Suite};

/// Of one step of one contender.
#[derive(Serialize)]
pub(super) struct OfTest {
    /// By their keys; null if a value could not be read or has no meaning.
    measures: BTreeMap<&'static str, Option<f64>>,
    /// The columns of the IO-bound posts.
    normalised: BTreeMap<&'static str, Option<f64>>,
    /// Null for fewer than three seconds, and for scans.
    seconds: Option<Seconds>,
}

/// Of the rates of whole seconds.
#[derive(Serialize)]
struct Seconds {
    min: f64,
    median: f64,
    max: f64,
}

/// One test of one contender with every number of clients.
#[derive(Serialize)]
pub(super) struct Scaleup<'a> {
    contender: &'a str,
    test: &'a str,
    group: &'a str,
    clients: Vec<u32>,
    /// By number of clients; null if the step was not finished.
    throughput: Vec<Option<f64>>,
    /// Throughput over that with the fewest clients.
    relative: Vec<Option<f64>>,
    /// Context switches per operation with the most clients over those with the fewest.
    switches_growth: Option<f64>,
    /// The fitted universal scalability law; null for fewer than three numbers of clients.
    law: Option<FittedLaw>,
}

#[derive(Serialize)]
struct FittedLaw {
    single: f64,
    contention: f64,
    coherency: f64,
    /// Clients beyond which throughput falls; null if it does not.
    knee: Option<f64>,
}

pub(super) fn of_test(measured: &Measured) -> OfTest {
    let window = measured.window();
    let columns = IOSTAT.iter().chain(&VMSTAT);
    OfTest {
        measures: MEASURES.iter().map(|m| (m.key, (m.value)(measured))).collect(),
        normalised: columns.map(|column| (column.name, (column.value)(&window))).collect(),
        seconds: measured.variation().map(|found| Seconds {
            min: found.min,
            median: found.median,
            max: found.max,
        }),
    }
}

pub(super) fn scaleup<'a>(suite: &Suite<'_, 'a>) -> Vec<Scaleup<'a>> {
    let of = |growth: Growth<'a>| Scaleup {
        contender: suite.model.contenders[growth.contender],
        test: growth.test,
        group: growth.group,
        clients: suite.clients.clone(),
        throughput: growth.rates.iter().map(|(_, rate)| *rate).collect(),
        relative: suite.clients.iter().map(|&clients| growth.relative(clients)).collect(),
        switches_growth: growth.switches,
        law: growth.law.map(|law| FittedLaw {
            single: law.single,
            contention: law.contention,
            coherency: law.coherency,
            knee: growth.knee(),
        }),
    };
    suite.growths().into_iter().map(of).collect()
}
