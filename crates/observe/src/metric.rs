//! The metrics: one row each, with its unit and its source.

use std::collections::BTreeMap;

/// How a metric is read from two readings at the edges of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only increases; a window has the difference.
    Counter,
    /// Has a value at any time; a window has the last one.
    Gauge,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Counter, Kind::Gauge];

    /// The name in the store; never changed once published.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
        }
    }
}

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident $name:literal $kind:ident $unit:literal $source:literal;)*) => {
        /// A value that is read at the edges of a window and once a second.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric { $($(#[$doc])* $variant,)* }

        impl Metric {
            pub const ALL: &'static [Metric] = &[$(Metric::$variant,)*];

            /// The name in the store and in exports; never changed once published.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name,)* }
            }

            pub fn kind(self) -> Kind {
                match self { $(Metric::$variant => Kind::$kind,)* }
            }

            pub fn unit(self) -> &'static str {
                match self { $(Metric::$variant => $unit,)* }
            }

            /// The source of the number: a kernel file, a call, or the DBMS.
            pub fn source(self) -> &'static str {
                match self { $(Metric::$variant => $source,)* }
            }
        }
    };
}

metrics! {
    /// CPU of the client's worker threads. Absent when the DBMS runs inside the client.
    ClientCpuUser "client_cpu_user" Counter "us" "getrusage(RUSAGE_THREAD) of each worker";
    ClientCpuSystem "client_cpu_system" Counter "us" "getrusage(RUSAGE_THREAD) of each worker";
    ClientVoluntarySwitches "client_voluntary_switches" Counter "switches" "getrusage(RUSAGE_THREAD) of each worker";
    ClientInvoluntarySwitches "client_involuntary_switches" Counter "switches" "getrusage(RUSAGE_THREAD) of each worker";
    /// How late the client started operations that were due, in 99 % of them at most: by its own
    /// fault, after it had the answer to the one before. Only where operations are due at a rate.
    ClientLateness "client_lateness" Gauge "ns" "CLOCK_MONOTONIC before each operation";
    /// How long the client held operations back, summed over its threads. Only where a plan limits
    /// their number per second.
    HeldBack "held_back" Gauge "ns" "CLOCK_MONOTONIC from the end of an operation to when the next may start";
    /// CPU of the server's processes, including those that have ended. For a DBMS inside the
    /// client: of the worker threads, including client work.
    ServerCpuUser "server_cpu_user" Counter "us" "the server's control group, or /proc/PID/stat of its process tree with reaped children";
    ServerCpuSystem "server_cpu_system" Counter "us" "the server's control group, or /proc/PID/stat of its process tree with reaped children";
    ServerVoluntarySwitches "server_voluntary_switches" Counter "switches" "/proc/PID/task/*/status";
    ServerInvoluntarySwitches "server_involuntary_switches" Counter "switches" "/proc/PID/task/*/status";
    /// Time the server's threads were runnable but had no CPU.
    ServerRunQueueWait "server_run_queue_wait" Counter "us" "/proc/PID/task/*/schedstat";
    /// Time the server's threads waited for reads from block devices.
    ServerBlockIoWait "server_block_io_wait" Counter "us" "/proc/PID/task/*/stat: delayacct_blkio_ticks, where kernel.task_delayacct is on";
    ServerMinorFaults "server_minor_faults" Counter "faults" "/proc/PID/stat of the server's process tree, with reaped children";
    ServerMajorFaults "server_major_faults" Counter "faults" "/proc/PID/stat of the server's process tree, with reaped children";
    /// Bytes that the server's processes read from storage, and bytes that they passed to write(2)
    /// and its like. Not `write_bytes`: where the page cache has folios of more than a page, it
    /// counts a whole folio, of up to 2 MiB, when a byte of it becomes dirty (mm/page-writeback.c:
    /// folio_account_dirtied).
    ServerReadBytes "server_read_bytes" Counter "bytes" "/proc/PID/io: read_bytes";
    ServerWriteBytes "server_write_bytes" Counter "bytes" "/proc/PID/io: wchar";
    /// Of the CPU's own counters, where a machine has them: while statements run in slices.
    ServerInstructions "server_instructions" Counter "instructions" "perf_event_open: PERF_COUNT_HW_INSTRUCTIONS in user space";
    ServerCycles "server_cycles" Counter "cycles" "perf_event_open: PERF_COUNT_HW_CPU_CYCLES in user space";
    ServerBranchMisses "server_branch_misses" Counter "misses" "perf_event_open: PERF_COUNT_HW_BRANCH_MISSES in user space";
    ServerItlbMisses "server_itlb_misses" Counter "misses" "perf_event_open: PERF_COUNT_HW_CACHE_ITLB, reads, in user space";
    ServerDtlbMisses "server_dtlb_misses" Counter "misses" "perf_event_open: PERF_COUNT_HW_CACHE_DTLB, reads, in user space";
    ServerL1iMisses "server_l1i_misses" Counter "misses" "perf_event_open: PERF_COUNT_HW_CACHE_L1I, reads, in user space";
    ServerLlcMisses "server_llc_misses" Counter "misses" "perf_event_open: PERF_COUNT_HW_CACHE_LL, reads, in user space";
    /// Resident memory of the largest server process; shared memory counts where it was touched.
    ServerRss "server_rss" Gauge "bytes" "/proc/PID/stat";
    HostCpuBusy "host_cpu_busy" Counter "us" "/proc/stat: user, nice, system, irq and softirq of all CPUs";
    HostCpuSteal "host_cpu_steal" Counter "us" "/proc/stat";
    HostSwitches "host_switches" Counter "switches" "/proc/stat: ctxt";
    /// Time in which at least one task of the host waited for a CPU, for IO, for memory.
    PressureCpu "pressure_cpu" Counter "us" "/proc/pressure/cpu: some";
    PressureIo "pressure_io" Counter "us" "/proc/pressure/io: some";
    PressureMemory "pressure_memory" Counter "us" "/proc/pressure/memory: some";
    /// The block device under the data directory, used by any process.
    DeviceReads "device_reads" Counter "requests" "/proc/diskstats";
    DeviceReadBytes "device_read_bytes" Counter "bytes" "/proc/diskstats";
    DeviceWrites "device_writes" Counter "requests" "/proc/diskstats";
    DeviceWriteBytes "device_write_bytes" Counter "bytes" "/proc/diskstats";
    DeviceFlushes "device_flushes" Counter "requests" "/proc/diskstats";
    /// Time that flushes took, summed; counted in milliseconds.
    DeviceFlushTime "device_flush_time" Counter "us" "/proc/diskstats";
    /// What others do on a remote server while rqps measures there.
    OtherStatements "other_statements" Gauge "for 1000 of rqps" "the DBMS: statements (Postgres: transactions) of all, without those of rqps";
    OtherSessions "other_sessions" Gauge "1/1000" "the DBMS: sessions of others that execute something, the mean of looks twice a second";
    /// An empty exchange with the server, just before a test: the median, and half of the distance
    /// between quartiles.
    RoundTrip "round_trip" Gauge "ns" "CLOCK_MONOTONIC around a Sync (Postgres) or COM_PING";
    RoundTripSpread "round_trip_spread" Gauge "ns" "CLOCK_MONOTONIC around a Sync (Postgres) or COM_PING";
    /// The benchmark's tables with their indexes: for a step, from the DBMS; for a second, from the
    /// sizes of the database's files.
    DatabaseBytes "database_bytes" Gauge "bytes" "the DBMS; each second: sizes of its files";
    /// Write-ahead, redo, undo and binary logs in the data directory, at the end of a step.
    LogBytes "log_bytes" Gauge "bytes" "sizes of the files in the data directory";
    /// The whole data directory, with logs.
    DirectoryBytes "directory_bytes" Gauge "bytes" "sizes of the files in the data directory";
}

impl Metric {
    /// Whether it is about the whole machine, with all processes.
    pub fn is_of_host(self) -> bool {
        let begins = |start: &&str| self.name().starts_with(*start);
        ["host_", "pressure_", "device_"].iter().any(begins)
    }

    pub fn from_name(name: &str) -> Option<Metric> {
        Metric::ALL.iter().copied().find(|metric| metric.name() == name)
    }
}

/// Values of the metrics that could be read, at one instant or over one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading(BTreeMap<Metric, u64>);

impl Reading {
    pub fn get(&self, metric: Metric) -> Option<u64> {
        self.0.get(&metric).copied()
    }

    pub fn set(&mut self, metric: Metric, value: u64) {
        self.0.insert(metric, value);
    }

    pub fn iter(&self) -> impl Iterator<Item = (Metric, u64)> + '_ {
        self.0.iter().map(|(metric, value)| (*metric, *value))
    }

    /// The sum of those of `metrics` that were read; none if none was read.
    pub fn sum(&self, metrics: &[Metric]) -> Option<u64> {
        metrics.iter().filter_map(|metric| self.get(*metric)).reduce(|sum, value| sum + value)
    }

    /// The window from `earlier` to this reading: differences of counters, and the last value of
    /// gauges. A metric that was missing at either edge is missing from the window.
    pub fn since(&self, earlier: &Reading) -> Reading {
        let mut window = Reading::default();
        for (metric, value) in self.iter() {
            match metric.kind() {
                Kind::Gauge => window.set(metric, value),
                Kind::Counter => {
                    if let Some(before) = earlier.get(metric) {
                        window.set(metric, value.saturating_sub(before));
                    }
                }
            }
        }
        window
    }

    /// Two windows, one after the other, as one.
    pub fn plus(&self, later: &Reading) -> Reading {
        let mut both = self.clone();
        for (metric, value) in later.iter() {
            match (metric.kind(), self.get(metric)) {
                (Kind::Counter, Some(before)) => both.set(metric, before + value),
                _ => both.set(metric, value),
            }
        }
        both
    }

    /// Takes over the metrics of `other`.
    pub fn merge(&mut self, other: Reading) {
        self.0.extend(other.0);
    }
}

impl FromIterator<(Metric, u64)> for Reading {
    fn from_iter<I: IntoIterator<Item = (Metric, u64)>>(values: I) -> Self {
        Reading(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_found_by_its_name() {
        for metric in Metric::ALL {
            assert_eq!(Metric::from_name(metric.name()), Some(*metric));
        }
    }

    #[test]
    fn a_window_has_differences_of_counters_and_the_last_gauge() {
        let before = Reading::from_iter([(Metric::DeviceReads, 10), (Metric::ServerRss, 500)]);
        let after = Reading::from_iter([
            (Metric::DeviceReads, 17),
            (Metric::ServerRss, 400),
            (Metric::DeviceWrites, 3),
        ]);
        let window = after.since(&before);
        assert_eq!(window.get(Metric::DeviceReads), Some(7));
        assert_eq!(window.get(Metric::ServerRss), Some(400));
        assert_eq!(window.get(Metric::DeviceWrites), None, "it was not read at the first edge");

        let both = window.plus(&window);
        assert_eq!(both.get(Metric::DeviceReads), Some(14));
        assert_eq!(both.get(Metric::ServerRss), Some(400));
    }
}
