//! A measured window: the load generator runs while the counters of the server and the host are
//! read at its edges and once a second.

use std::sync::Arc;
use std::time::Duration;

use rqps_analysis::largest_rate::TriedSecond;
use rqps_load::{Cancel, ClientThreads, Failure, Live, Moment, Order, Tally, Until, Work};
use rqps_observe::{Metric, Observer, Reading};
use rqps_store::Sample;

use crate::trying::{TriedSeconds, Trying};

/// Samples of fewer seconds are merged with the one before.
const SHORTEST_SAMPLE: f64 = 0.05;

/// Between ticks.
pub(crate) const SECOND: f64 = 1.0;

/// The result of a window.
pub(crate) struct Window {
    pub(crate) seconds: f64,
    pub(crate) cost: Reading,
    pub(crate) samples: Vec<Sample>,
    /// In the order of the work.
    pub(crate) tallies: Vec<Tally>,
}

/// The state of a running window, once a second.
pub(crate) struct Tick {
    pub(crate) elapsed: Duration,
    /// Operations since the window began, by worker.
    pub(crate) operations: Vec<u64>,
    /// Of them, those of the last second.
    pub(crate) recent: Vec<u64>,
}

/// Counters of the server, the host and the client's threads together.
struct Meter<'a> {
    observer: &'a mut Observer,
    /// The DBMS runs in the client's threads, so their costs are the server's.
    embedded: bool,
    live: Vec<Arc<Live>>,
}

impl Meter<'_> {
    fn read(&mut self) -> Reading {
        let mut reading = self.observer.read();
        let costs = || self.live.iter().map(|live| live.cost());
        let sums = [
            costs().map(|cost| cost.cpu_user).sum(),
            costs().map(|cost| cost.cpu_system).sum(),
            costs().map(|cost| cost.voluntary_switches).sum(),
            costs().map(|cost| cost.involuntary_switches).sum(),
        ];
        let metrics = match self.embedded {
            true => [
                Metric::ServerCpuUser,
                Metric::ServerCpuSystem,
                Metric::ServerVoluntarySwitches,
                Metric::ServerInvoluntarySwitches,
            ],
            false => [
                Metric::ClientCpuUser,
                Metric::ClientCpuSystem,
                Metric::ClientVoluntarySwitches,
                Metric::ClientInvoluntarySwitches,
            ],
        };
        for (metric, sum) in metrics.into_iter().zip(sums) {
            reading.set(metric, sum);
        }
        reading
    }
}

/// Workers that are ready to start.
pub(crate) struct Ready {
    client_threads: ClientThreads,
    orders: Vec<Order>,
}

impl Ready {
    /// Starts the workers, and runs the warm-up, which is not measured. Operations that take longer
    /// than the limit are counted.
    pub(crate) fn new(
        work: Vec<(Box<dyn Work>, Order)>,
        warm_up: Option<Duration>,
        limit: Option<Duration>,
        cancel: &Cancel,
    ) -> Result<Self, Failure> {
        let (work, orders): (Vec<_>, Vec<_>) = work.into_iter().unzip();
        let mut client_threads =
            ClientThreads::start(work).map_err(|error| Failure::Worker { index: 0, error })?;
        limit.into_iter().for_each(|limit| client_threads.count_late(limit));
        if let Some(warm_up) = warm_up {
            let briefly = |order: &Order| Order { until: Until::Elapsed(warm_up), ..*order };
            let orders: Vec<Order> = orders.iter().map(briefly).collect();
            client_threads.run(&orders, &mut |_, _| {}, cancel)?;
            client_threads.forget();
        }
        Ok(Ready { client_threads, orders })
    }
}

/// Runs the workers, and measures them: for longer than ordered while a rate that is tried is
/// undecided.
pub(crate) fn measure(
    ready: Ready,
    observer: &mut Observer,
    embedded: bool,
    trying: Option<&Trying>,
    tick: &mut dyn FnMut(Tick),
    cancel: &Cancel,
) -> Result<Window, Failure> {
    let Ready { mut client_threads, mut orders } = ready;
    let live = client_threads.live();
    let mut meter = Meter { observer, embedded, live: live.clone() };
    let first = meter.read();
    let mut last = first.clone();
    let mut samples = Vec::new();
    let mut sample = |meter: &mut Meter<'_>, at: f64| {
        let now = meter.read();
        samples.push(Sample { at, cost: now.since(&last) });
        last = now;
    };
    let mut seen = vec![0; live.len()];
    let (mut blocks, mut before) = (TriedSeconds::default(), 0);
    // The work of followers after the end of the leaders is not in the time that divides costs.
    let mut watch = |moment: Moment, of_run: u64, before: u64, blocks: &mut TriedSeconds| {
        let elapsed = before + of_run;
        sample(&mut meter, elapsed as f64 / 1e9);
        let sum = |of: fn(&Live) -> u64| live.iter().map(|live| of(live)).sum();
        let totals = TriedSecond { operations: sum(Live::operations), late: sum(Live::late) };
        blocks.see(totals, Duration::from_nanos(of_run));
        if moment == Moment::LeadersDone {
            return;
        }
        let operations: Vec<u64> = live.iter().map(|live| live.operations()).collect();
        let recent =
            operations.iter().zip(&seen).map(|(now, then)| now.saturating_sub(*then)).collect();
        seen.clone_from(&operations);
        tick(Tick { elapsed: Duration::from_nanos(elapsed), operations, recent });
    };
    for piece in 1.. {
        let elapsed = client_threads.run(
            &orders,
            &mut |moment, at| watch(moment, at, before, &mut blocks),
            cancel,
        )?;
        before += elapsed;
        let tried = trying.filter(|it| it.add(blocks.take(), Duration::from_nanos(elapsed)));
        let Some(trying) = tried else { break };
        orders = orders.iter().map(|order| trying.longer(order, piece)).collect();
    }
    let seconds = before as f64 / 1e9;
    let cost = last.since(&first);
    join_last(&mut samples);
    Ok(Window { seconds, cost, samples, tallies: client_threads.finish() })
}

/// A very short rest of the last second is added to the sample before it.
fn join_last(samples: &mut Vec<Sample>) {
    if let [.., before, rest] = samples.as_mut_slice()
        && rest.at - before.at < SHORTEST_SAMPLE
    {
        before.cost = before.cost.plus(&rest.cost);
        samples.pop();
    }
}
