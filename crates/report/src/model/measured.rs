//! One step of one contender: the records of its workers put together.

use std::borrow::Cow;
use std::cell::OnceCell;

use hdrhistogram::Histogram;
use rqps_observe::Metric;
use rqps_plan::Counts;
use rqps_stats::{Normaliser, Window, sla};
use rqps_store::{Operation, Second, Status, StepRecord, WorkerRecord};

use super::steadiness::{Steadiness, steadiness};

pub(crate) struct Measured<'a> {
    pub(crate) record: &'a StepRecord,
    /// CPUs of the host.
    cpus: u32,
    /// By kind of operation, those that the step has workers for.
    pub(crate) totals: Vec<Cow<'a, Totals>>,
    /// Per second, what client 1 did of the operation that the step counts, in whole seconds.
    rates: Vec<f64>,
    steadiness: OnceCell<Option<Steadiness>>,
}

/// All workers of one kind together.
pub(crate) type Totals = WorkerRecord;

impl<'a> Measured<'a> {
    pub(crate) fn new(record: &'a StepRecord, cpus: u32) -> Self {
        let totals = Operation::ALL
            .into_iter()
            .filter_map(|operation| together(record, operation))
            .collect();
        let rates = first_clients_rates(record);
        Measured { record, cpus, totals, rates, steadiness: OnceCell::new() }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.record.status == Status::Done
    }

    pub(crate) fn of(&self, operation: Operation) -> Option<&Totals> {
        self.totals.iter().map(|totals| &**totals).find(|totals| totals.operation == operation)
    }

    /// Operations per second that the step is judged by: queries in the steps that have them, rows
    /// inserted or indexed in the others.
    pub(crate) fn throughput(&self) -> Option<f64> {
        let window = self.window();
        window.per_second(Some(window.operations()))
    }

    /// The throughput if the step was measured to its end.
    pub(crate) fn finished_rate(&self) -> Option<f64> {
        self.throughput().filter(|_| self.is_done())
    }

    /// Seconds that anything was recorded in, the last one cut short by the end of the step.
    pub(crate) fn seconds(&self) -> usize {
        self.totals.iter().map(|totals| totals.seconds.len()).max().unwrap_or(0)
    }

    /// Whether it ran at one level. The page tells it twice, and of a trend it takes long.
    pub(crate) fn steadiness(&self) -> Option<&Steadiness> {
        self.steadiness.get_or_init(|| steadiness(self)).as_ref()
    }

    /// Service times of the operation that the step's throughput counts.
    pub(crate) fn counted_times(&self) -> Option<&Histogram<u64>> {
        Some(&self.of(counted(self.record.counts))?.service)
    }

    /// What all clients did of the operation that the step counts, in each whole second; nothing of
    /// what has no seconds, or seconds that say nothing: an index, and scans, which may take
    /// longer.
    pub(crate) fn counted_per_second(&self) -> Vec<f64> {
        let operation = counted(self.record.counts);
        let has_seconds = !matches!(self.record.counts, Counts::RowsIndexed | Counts::RowsScanned);
        let Some(totals) = self.of(operation).filter(|_| has_seconds) else { return Vec::new() };
        let idle = std::iter::repeat(Second::default());
        let seconds = totals.seconds.iter().copied().chain(idle);
        let rate = |second: Second| match operation {
            Operation::Query | Operation::Transaction => second.operations as f64,
            Operation::Insert | Operation::Delete => second.rows as f64,
        };
        seconds.map(rate).take(self.record.seconds as usize).collect()
    }

    /// Rows that the operation which the step's throughput counts returned or changed, on average.
    pub(crate) fn rows_by_operation(&self) -> Option<f64> {
        let done = self.of(counted(self.record.counts)).filter(|done| done.operations > 0)?;
        Some(done.rows as f64 / done.operations as f64)
    }

    /// Whether the promised write rate was kept; none where nothing was promised.
    pub(crate) fn sla(&self) -> Option<bool> {
        let target = self.record.target_rate?;
        Some(sla::is_met(self.window().insert_rate()?, target))
    }

    /// The totals as the formulas take them.
    pub(crate) fn window(&self) -> Window<'_> {
        let read = |metric| self.record.cost.get(metric);
        let counted = counted(self.record.counts);
        let rows = |operation| self.of(operation).map_or(0, |totals| totals.rows);
        let longest = self.of(counted).filter(|totals| !totals.service.is_empty());
        Window {
            normaliser: match self.record.counts {
                Counts::RowsInserted | Counts::RowsIndexed => Normaliser::Insert,
                Counts::Queries | Counts::Statements | Counts::RowsScanned => Normaliser::Query,
            },
            seconds: self.record.seconds,
            cpus: self.cpus,
            inserts: match self.record.counts {
                Counts::RowsIndexed => self.record.counted_rows.unwrap_or(0),
                _ => rows(Operation::Insert),
            },
            queries: match self.record.counts {
                Counts::Statements => self.totals.iter().map(|totals| totals.statements()).sum(),
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
            longest_response: longest.map(|totals| totals.service.max()),
            rates: &self.rates,
        }
    }
}

/// A single worker is taken as it is, since histograms are large. None if no worker did this.
fn together(record: &StepRecord, operation: Operation) -> Option<Cow<'_, Totals>> {
    match record.workers_of(operation).as_slice() {
        [] => None,
        [one] => Some(Cow::Borrowed(*one)),
        several => Some(Cow::Owned(Totals::together(operation, several))),
    }
}

/// The operation that a step's throughput counts.
pub(crate) fn counted(counts: Counts) -> Operation {
    match counts {
        Counts::RowsInserted | Counts::RowsIndexed => Operation::Insert,
        Counts::Queries => Operation::Query,
        Counts::Statements | Counts::RowsScanned => Operation::Transaction,
    }
}

/// The posts' percentiles are of client 1 alone, and of whole seconds. Building indexes has none.
fn first_clients_rates(record: &StepRecord) -> Vec<f64> {
    if record.counts == Counts::RowsIndexed {
        return Vec::new();
    }
    let operation = counted(record.counts);
    let mut workers = record.workers.iter();
    let worker = workers.find(|worker| worker.client == 1 && worker.operation == operation);
    let Some(worker) = worker else { return Vec::new() };
    let statements = worker.statements() as f64;
    // What one operation is worth in the unit of the throughput.
    let worth = match record.counts {
        Counts::Statements => statements / (worker.operations as f64).max(1.0),
        Counts::RowsScanned => {
            let scans: u64 = record.workers.iter().map(|worker| worker.operations).sum();
            record.counted_rows.unwrap_or(0) as f64 / (scans as f64).max(1.0)
        }
        _ => 1.0,
    };
    // A worker that did nothing in the last seconds may have no entries for them.
    let idle = std::iter::repeat(Second::default());
    let seconds = worker.seconds.iter().copied().chain(idle);
    let rate = |second: Second| match operation {
        Operation::Query | Operation::Transaction => second.operations as f64 * worth,
        Operation::Insert | Operation::Delete => second.rows as f64,
    };
    seconds.map(rate).take(record.seconds as usize).collect()
}
