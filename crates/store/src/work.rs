//! What connections did: counts, and times of operations.

use hdrhistogram::Histogram;
use rqps_plan::Operation;
use serde::{Deserialize, Serialize};

use crate::PackedHistogram;

/// What one connection did of one kind of operation, or the sum over several. Its histograms are
/// packed where many are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkRecord<H = PackedHistogram> {
    /// From 1; 0 for the sum over several.
    pub client: u32,
    pub operation: Operation,
    pub operations: u64,
    /// Rows inserted, deleted or returned, as the DBMS counts them.
    pub rows: u64,
    /// Statements that returned a result set, that changed rows, and that did neither.
    pub reads: u64,
    pub writes: u64,
    pub others: u64,
    /// Operations retried because the DBMS asked for it (deadlock, serialization failure).
    pub retries: u64,
    /// Nanoseconds from the start of an operation to its end.
    pub service: H,
    /// Nanoseconds from the intended start of an operation to its end; only where a rate is set.
    pub response: Option<H>,
    /// The longest delay of an operation's start after its intended start, in nanoseconds.
    pub max_lag: u64,
    pub seconds: Vec<Second>,
}

impl WorkRecord<Histogram<u64>> {
    /// The sum over several, still empty.
    pub fn of_several(operation: Operation) -> Self {
        WorkRecord {
            client: 0,
            operation,
            operations: 0,
            rows: 0,
            reads: 0,
            writes: 0,
            others: 0,
            retries: 0,
            service: growing(),
            response: None,
            max_lag: 0,
            seconds: Vec::new(),
        }
    }

    /// The sum of several of one kind that worked at the same time.
    pub fn together(operation: Operation, workers: &[&WorkRecord<Histogram<u64>>]) -> Self {
        let mut all = WorkRecord::of_several(operation);
        for worker in workers {
            all.add(worker);
            all.add_seconds(&worker.seconds);
        }
        all
    }

    /// Adds another, except for its seconds, which differ if it worked at another time.
    pub fn add(&mut self, other: &WorkRecord<Histogram<u64>>) {
        self.operations += other.operations;
        self.rows += other.rows;
        self.reads += other.reads;
        self.writes += other.writes;
        self.others += other.others;
        self.retries += other.retries;
        self.max_lag = self.max_lag.max(other.max_lag);
        add_times(&mut self.service, &other.service);
        if let Some(times) = &other.response {
            add_times(self.response.get_or_insert_with(growing), times);
        }
    }

    /// Adds the seconds of one that worked at the same time.
    fn add_seconds(&mut self, seconds: &[Second]) {
        if self.seconds.len() < seconds.len() {
            self.seconds.resize(seconds.len(), Second::default());
        }
        for (sum, second) in self.seconds.iter_mut().zip(seconds) {
            sum.operations += second.operations;
            sum.rows += second.rows;
            sum.max_service = sum.max_service.max(second.max_service);
        }
    }
}

impl<H> WorkRecord<H> {
    /// As sysbench counts them.
    pub fn statements(&self) -> u64 {
        self.reads + self.writes + self.others
    }

    /// The same with its histograms in another form.
    fn with_times<To>(self, form: impl Fn(H) -> To) -> WorkRecord<To> {
        WorkRecord {
            client: self.client,
            operation: self.operation,
            operations: self.operations,
            rows: self.rows,
            reads: self.reads,
            writes: self.writes,
            others: self.others,
            retries: self.retries,
            service: form(self.service),
            response: self.response.map(form),
            max_lag: self.max_lag,
            seconds: self.seconds,
        }
    }
}

fn growing() -> Histogram<u64> {
    Histogram::new(3).expect("three significant digits are allowed")
}

fn add_times(sum: &mut Histogram<u64>, times: &Histogram<u64>) {
    sum.add(times).expect("a histogram without bounds grows to hold any value");
}

/// What one connection did in one second of a measurement, by the time its operations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    pub operations: u64,
    pub rows: u64,
    /// The longest service time in nanoseconds.
    pub max_service: u64,
}

impl WorkRecord<Histogram<u64>> {
    pub fn packed(self) -> WorkRecord {
        self.with_times(|times| PackedHistogram::of(&times))
    }
}

impl WorkRecord {
    /// The sum over all connections, by kind of operation.
    pub fn by_operation(work: Vec<WorkRecord>) -> Vec<WorkRecord> {
        let work: Vec<_> = work.into_iter().map(WorkRecord::unpacked).collect();
        let all = Operation::ALL.into_iter().filter_map(|operation| {
            let own: Vec<_> = work.iter().filter(|one| one.operation == operation).collect();
            (!own.is_empty()).then(|| WorkRecord::together(operation, &own).packed())
        });
        all.collect()
    }

    pub fn unpacked(self) -> WorkRecord<Histogram<u64>> {
        self.with_times(|times| times.unpacked())
    }
}
