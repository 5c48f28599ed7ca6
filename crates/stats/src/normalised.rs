//! The two tables of the IO-bound microbenchmark posts, "iostat, vmstat normalized by operation
//! rate", under their column names. The originals take averages of
//! samples, of which vmstat's are 4.5 % too low for a header line that counts as a sample and all
//! include start and warm-up; these are counted from one edge of the window to the other.

use crate::columns::Column;
use crate::window::Window;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

/// "Operation" is a statement as sysbench counts them, or a row scanned.
pub const IOSTAT: [Column; 8] = [
    Column {
        name: "r/s",
        unit: "requests/s",
        legend: "reads per second from the storage device",
        decimals: 1,
        value: |w| w.per_second(w.device_reads),
    },
    Column {
        name: "rMB/s",
        unit: "MiB/s",
        legend: "MiB read per second from the storage device",
        decimals: 1,
        value: |w| Some(w.per_second(w.device_read_bytes)? / MIB),
    },
    Column {
        name: "w/s",
        unit: "requests/s",
        legend: "writes per second to the storage device",
        decimals: 1,
        value: |w| w.per_second(w.device_writes),
    },
    Column {
        name: "wMB/s",
        unit: "MiB/s",
        legend: "MiB written per second to the storage device",
        decimals: 1,
        value: |w| Some(w.per_second(w.device_write_bytes)? / MIB),
    },
    Column {
        name: "r/o",
        unit: "requests/operation",
        legend: "device reads per operation",
        decimals: 3,
        value: |w| w.per_operation(w.device_reads),
    },
    Column {
        name: "rKB/o",
        unit: "KiB/operation",
        legend: "KiB read from the device per operation",
        decimals: 3,
        value: |w| Some(w.per_operation(w.device_read_bytes)? / KIB),
    },
    Column {
        name: "wKB/o",
        unit: "KiB/operation",
        legend: "KiB written to the device per operation",
        decimals: 3,
        value: |w| Some(w.per_operation(w.device_write_bytes)? / KIB),
    },
    Column {
        name: "o/s",
        unit: "operations/s",
        legend: "operations per second by all clients",
        decimals: 0,
        value: |w| w.per_second(Some(w.operations())),
    },
];

pub const VMSTAT: [Column; 4] = [
    Column {
        name: "cs/s",
        unit: "switches/s",
        legend: "context switches per second of the whole host",
        decimals: 0,
        value: |w| w.per_second(w.host_switches),
    },
    Column {
        name: "cpu/s",
        unit: "%",
        legend: "CPU in use on the whole host, as a percentage of all its CPUs",
        decimals: 1,
        value: |w| w.percent_of_cpus(w.host_cpu),
    },
    Column {
        name: "cs/o",
        unit: "switches/operation",
        legend: "context switches of the whole host per operation",
        decimals: 3,
        value: switches_per_operation,
    },
    Column {
        name: "cpu/o",
        unit: "%/(operations/s)",
        legend: "cpu/s over o/s: times the CPUs of the host and 10000 it is microseconds of CPU per \
                 operation",
        decimals: 6,
        value: |w| {
            let rate = w.per_second(Some(w.operations()))?;
            (rate > 0.0).then_some(w.percent_of_cpus(w.host_cpu)? / rate)
        },
    },
];

/// Context switches of the whole host per operation; their growth with the clients is a sign of
/// contention.
pub fn switches_per_operation(window: &Window) -> Option<f64> {
    window.per_operation(window.host_switches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Normaliser;

    fn print(columns: &[Column], window: &Window) -> String {
        columns.iter().map(|column| column.print(window)).collect::<Vec<_>>().join(" ")
    }

    /// Ten seconds of a host of 48 CPUs with the published rates. Published numbers are rounded, so
    /// KiB and the percentage of CPU are taken with the digits that their own columns lack.
    fn published(
        operations: u64,
        [reads, writes]: [f64; 2],
        [kib_read, kib_written]: [f64; 2],
        switches: u64,
        percent: f64,
    ) -> Window<'static> {
        let total = |per_second: f64| Some((per_second * 10.0).round() as u64);
        Window {
            normaliser: Normaliser::Query,
            seconds: 10.0,
            cpus: 48,
            queries: operations * 10,
            device_reads: total(reads),
            device_read_bytes: total(kib_read * KIB),
            device_writes: total(writes),
            device_write_bytes: total(kib_written * KIB),
            host_switches: Some(switches * 10),
            host_cpu: total(percent / 100.0 * 48.0 * 1e6),
            ..Window::default()
        }
    }

    #[test]
    fn the_published_rows_come_out_as_printed() {
        let (o, io) = (25_817.0, [35_503.0, 58_795.7]);
        let window = published(25_817, io, [14.824 * o, 53.351 * o], 176_167, 14.39);
        assert_eq!(
            print(&IOSTAT, &window),
            "35503.0 373.7 58795.7 1345.1 1.375 14.824 53.351 25817"
        );
        assert_eq!(print(&VMSTAT, &window), "176167 14.4 6.824 0.000557");

        let (o, io) = (97_270.0, [27_405.9, 37_465.1]);
        let window = published(97_270, io, [4.508 * o, 11.9334 * o], 1_213_054, 44.53);
        assert_eq!(
            print(&IOSTAT, &window),
            "27405.9 428.2 37465.1 1133.6 0.282 4.508 11.933 97270"
        );
        assert_eq!(print(&VMSTAT, &window), "1213054 44.5 12.471 0.000458");
    }

    #[test]
    fn the_percentage_per_operation_is_microseconds_of_cpu() {
        let window = published(25_817, [0.0; 2], [0.0; 2], 0, 14.39);
        let value = (VMSTAT[3].value)(&window).unwrap();
        assert!((value * 48.0 * 1e4 - 267.5).abs() < 0.5, "{value}");
    }

    #[test]
    fn nothing_done_costs_nothing_known() {
        let idle = Window { seconds: 1.0, cpus: 2, host_cpu: Some(5), ..Window::default() };
        assert_eq!(print(&VMSTAT, &idle), "NA 0.0 NA NA");
    }
}
