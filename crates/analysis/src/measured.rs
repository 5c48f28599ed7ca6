//! One step of one contender: the merged records of its workers.

use std::sync::OnceLock;

use hdrhistogram::Histogram;
use rqps_observe::Metric;
use rqps_plan::Counts;
use rqps_stats::variation::{Variation, variation};
use rqps_stats::{Normaliser, Window, sla};
use rqps_store::{Measurement, Operation, RoundRecord, Second, Status, WorkRecord};

use crate::comparison::counted_operation;
use crate::steadiness::{Steadiness, steadiness};

/// A step or a test of one contender.
pub struct Measured<'a> {
    pub round: &'a RoundRecord,
    pub contender: &'a str,
    pub record: &'a Measurement,
    /// CPUs of the host.
    cpus: u32,
    /// By kind of operation, if the step has workers for it.
    pub totals: Vec<Totals>,
    /// The longest service time of the operation that the step counts, in nanoseconds.
    longest: Option<u64>,
    /// Rates of client 1 in whole seconds, in the operation that the step counts.
    rates: Vec<f64>,
    steadiness: OnceLock<Option<Steadiness>>,
}

/// The sum of all workers of one kind.
pub type Totals = WorkRecord;

impl<'a> Measured<'a> {
    /// None if it is not one of the arms.
    pub fn new(round: &'a RoundRecord, contender: &str, cpus: u32) -> Option<Self> {
        let (contender, record) = round.arms.get_key_value(contender)?;
        let totals: Vec<Totals> =
            Operation::ALL.into_iter().filter_map(|of| together(record, of)).collect();
        let counted = totals.iter().find(|one| one.operation == counted_operation(round.counts));
        let times = counted.map(|one| one.service.unpacked()).filter(|times| !times.is_empty());
        let longest = times.map(|times| times.max());
        let rates = first_clients_rates(round.counts, record);
        let steadiness = OnceLock::new();
        Some(Measured { round, contender, record, cpus, totals, longest, rates, steadiness })
    }

    pub fn is_done(&self) -> bool {
        self.record.status == Status::Done
    }

    pub fn of(&self, operation: Operation) -> Option<&Totals> {
        self.totals.iter().find(|totals| totals.operation == operation)
    }

    /// The counted operations per second: queries in the steps that have them, rows inserted or
    /// indexed in the others.
    pub fn throughput(&self) -> Option<f64> {
        let window = self.window();
        window.per_second(Some(window.operations()))
    }

    /// The throughput if the step was measured to its end.
    pub fn finished_rate(&self) -> Option<f64> {
        self.throughput().filter(|_| self.is_done())
    }

    /// Seconds with records; the end of the step cuts the last one.
    pub fn seconds(&self) -> usize {
        self.totals.iter().map(|totals| totals.seconds.len()).max().unwrap_or(0)
    }

    /// Cached, since the page uses it twice and the test of a trend takes long.
    pub fn steadiness(&self) -> Option<&Steadiness> {
        let whole_seconds = self.record.seconds as usize;
        let of = || steadiness(self.round.counts, &self.totals, whole_seconds);
        self.steadiness.get_or_init(of).as_ref()
    }

    /// Service times of the operation that the step's throughput counts.
    pub fn counted_times(&self) -> Option<Histogram<u64>> {
        Some(self.of(counted_operation(self.round.counts))?.service.unpacked())
    }

    /// Rates of all clients in whole seconds, in the operation that the step counts. Empty for
    /// indexes and scans: an operation of theirs may take longer than a second.
    pub fn counted_per_second(&self) -> Vec<f64> {
        let operation = counted_operation(self.round.counts);
        let has_seconds = !matches!(self.round.counts, Counts::RowsIndexed | Counts::RowsScanned);
        let Some(totals) = self.of(operation).filter(|_| has_seconds) else { return Vec::new() };
        let idle = std::iter::repeat(Second::default());
        let seconds = totals.seconds.iter().copied().chain(idle);
        let rate = |second: Second| match operation {
            Operation::Query | Operation::Transaction => second.operations as f64,
            Operation::Insert | Operation::Delete => second.rows as f64,
        };
        seconds.map(rate).take(self.record.seconds as usize).collect()
    }

    /// Rows that a counted operation returned or changed, on average.
    pub fn rows_by_operation(&self) -> Option<f64> {
        let done =
            self.of(counted_operation(self.round.counts)).filter(|done| done.operations > 0)?;
        Some(done.rows as f64 / done.operations as f64)
    }

    /// The share of statements that found a row, in tests of single statements that change rows.
    pub fn hit_share(&self) -> Option<f64> {
        let done = self.of(Operation::Transaction)?;
        let is_single = done.reads == 0 && done.statements() == done.operations;
        (is_single && done.writes > 0).then(|| done.writes as f64 / done.statements() as f64)
    }

    /// The variation of the throughput of whole seconds over all clients. None for scans, since one
    /// can take longer than a second.
    pub fn variation(&self) -> Option<Variation> {
        let done = self.of(Operation::Transaction)?;
        if self.round.counts == Counts::RowsScanned || done.operations == 0 {
            return None;
        }
        let worth = done.statements() as f64 / done.operations as f64;
        let seconds = done.seconds.iter().map(|second| second.operations as f64 * worth);
        let idle = std::iter::repeat(0.0);
        let rates: Vec<f64> = seconds.chain(idle).take(self.record.seconds as usize).collect();
        variation(&rates)
    }

    /// Whether the target write rate was met; none without a target.
    pub fn sla(&self) -> Option<bool> {
        let target = self.record.target_rate?;
        Some(sla::is_met(self.window().insert_rate()?, target))
    }

    /// The totals as the formulas take them.
    pub fn window(&self) -> Window<'_> {
        let read = |metric| self.record.cost.get(metric);
        let rows = |operation| self.of(operation).map_or(0, |totals| totals.rows);
        Window {
            normaliser: match self.round.counts {
                Counts::RowsInserted | Counts::RowsIndexed => Normaliser::Insert,
                Counts::Queries
                | Counts::Statements
                | Counts::Transactions
                | Counts::RowsScanned => Normaliser::Query,
            },
            seconds: self.record.seconds,
            cpus: self.cpus,
            inserts: match self.round.counts {
                Counts::RowsIndexed => self.record.counted_rows.unwrap_or(0),
                _ => rows(Operation::Insert),
            },
            queries: match self.round.counts {
                Counts::Statements | Counts::Transactions => {
                    self.totals.iter().map(|totals| totals.statements()).sum()
                }
                Counts::RowsScanned => self.record.counted_rows.unwrap_or(0),
                _ => self.of(Operation::Query).map_or(0, |totals| totals.operations),
            },
            device_reads: read(Metric::DeviceReads),
            device_read_bytes: read(Metric::DeviceReadBytes),
            device_writes: read(Metric::DeviceWrites),
            device_write_bytes: read(Metric::DeviceWriteBytes),
            device_flushes: read(Metric::DeviceFlushes),
            host_switches: read(Metric::HostSwitches),
            host_cpu: read(Metric::HostCpuBusy),
            host_steal: read(Metric::HostCpuSteal),
            server_cpu_user: read(Metric::ServerCpuUser),
            server_cpu_system: read(Metric::ServerCpuSystem),
            server_voluntary_switches: read(Metric::ServerVoluntarySwitches),
            server_involuntary_switches: read(Metric::ServerInvoluntarySwitches),
            server_run_queue_wait: read(Metric::ServerRunQueueWait),
            server_read_bytes: read(Metric::ServerReadBytes),
            server_write_bytes: read(Metric::ServerWriteBytes),
            client_cpu_user: read(Metric::ClientCpuUser),
            client_cpu_system: read(Metric::ClientCpuSystem),
            client_voluntary_switches: read(Metric::ClientVoluntarySwitches),
            client_involuntary_switches: read(Metric::ClientInvoluntarySwitches),
            database_bytes: read(Metric::DatabaseBytes),
            directory_bytes: read(Metric::DirectoryBytes),
            rss_bytes: read(Metric::ServerRss),
            longest_response: self.longest,
            rates: &self.rates,
        }
    }
}

/// None if no connection has this operation.
fn together(record: &Measurement, operation: Operation) -> Option<Totals> {
    let own = record.work.iter().filter(|work| work.operation == operation);
    let mut own: Vec<Totals> = own.cloned().collect();
    if own.len() > 1 {
        own = WorkRecord::by_operation(own);
    }
    own.pop()
}

/// The posts' percentiles are those of client 1, over whole seconds. Building indexes has none.
fn first_clients_rates(counts: Counts, record: &Measurement) -> Vec<f64> {
    if counts == Counts::RowsIndexed {
        return Vec::new();
    }
    let operation = counted_operation(counts);
    let mut workers = record.work.iter();
    let worker = workers.find(|worker| worker.client == 1 && worker.operation == operation);
    let Some(worker) = worker else { return Vec::new() };
    let statements = worker.statements() as f64;
    // What one operation is worth in the unit of the throughput.
    let worth = match counts {
        Counts::Statements => statements / (worker.operations as f64).max(1.0),
        Counts::RowsScanned => {
            let scans: u64 = record.work.iter().map(|worker| worker.operations).sum();
            record.counted_rows.unwrap_or(0) as f64 / (scans as f64).max(1.0)
        }
        _ => 1.0,
    };
    // A worker that was idle in the last seconds may have no entries for them.
    let idle = std::iter::repeat(Second::default());
    let seconds = worker.seconds.iter().copied().chain(idle);
    let rate = |second: Second| match operation {
        Operation::Query | Operation::Transaction => second.operations as f64 * worth,
        Operation::Insert | Operation::Delete => second.rows as f64,
    };
    seconds.map(rate).take(record.seconds as usize).collect()
}
