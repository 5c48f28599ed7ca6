//! The metrics table of the Insert Benchmark posts: the columns under their published names. The
//! posts' last column, `tag`, is the contender's name and is not a number.

use crate::tail::low_tail;
use crate::window::Window;

/// Printed for a value that does not exist, as in the posts.
pub const NOT_AVAILABLE: &str = "NA";

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;

/// One column of a table about a window.
pub struct Column {
    pub name: &'static str,
    pub unit: &'static str,
    pub legend: &'static str,
    /// Digits after the point.
    pub decimals: usize,
    pub value: fn(&Window) -> Option<f64>,
}

impl Column {
    pub fn print(&self, window: &Window) -> String {
        match (self.value)(window) {
            Some(value) => format!("{value:.*}", self.decimals),
            None => NOT_AVAILABLE.to_string(),
        }
    }
}

/// "Operation" below is a row inserted (l.x: indexed) in the l. steps and a query in the others.
pub const METRICS: [Column; 20] = [
    Column {
        name: "ips",
        unit: "rows/s",
        legend: "rows inserted per second by all clients; in l.x rows indexed per second",
        decimals: 0,
        value: |w| w.insert_rate(),
    },
    Column {
        name: "qps",
        unit: "queries/s",
        legend: "queries per second by all clients",
        decimals: 0,
        value: |w| w.query_rate(),
    },
    Column {
        name: "rps",
        unit: "requests/s",
        legend: "reads per second from the storage device",
        decimals: 0,
        value: |w| w.per_second(w.device_reads),
    },
    Column {
        name: "rmbps",
        unit: "MiB/s",
        legend: "MiB read per second from the storage device",
        decimals: 1,
        value: |w| Some(w.per_second(w.device_read_bytes)? / MIB),
    },
    Column {
        name: "wps",
        unit: "requests/s",
        legend: "writes per second to the storage device",
        decimals: 1,
        value: |w| w.per_second(w.device_writes),
    },
    Column {
        name: "wmbps",
        unit: "MiB/s",
        legend: "MiB written per second to the storage device",
        decimals: 1,
        value: |w| Some(w.per_second(w.device_write_bytes)? / MIB),
    },
    Column {
        name: "rpq",
        unit: "requests/operation",
        legend: "device reads per operation",
        decimals: 3,
        value: |w| w.per_operation(w.device_reads),
    },
    Column {
        name: "rkbpq",
        unit: "KiB/operation",
        legend: "KiB read from the device per operation",
        decimals: 3,
        value: |w| Some(w.per_operation(w.device_read_bytes)? / KIB),
    },
    Column {
        name: "wpi",
        unit: "requests/row",
        legend: "device writes per row inserted (also in the steps with queries)",
        decimals: 3,
        value: |w| w.per_insert(w.device_writes),
    },
    Column {
        name: "wkbpi",
        unit: "KiB/row",
        legend: "KiB written to the device per row inserted (also in the steps with queries)",
        decimals: 3,
        value: |w| Some(w.per_insert(w.device_write_bytes)? / KIB),
    },
    Column {
        name: "csps",
        unit: "switches/s",
        legend: "context switches per second of the whole host",
        decimals: 0,
        value: |w| w.per_second(w.host_switches),
    },
    Column {
        name: "cpups",
        unit: "%",
        legend: "CPU in use on the whole host, as a percentage of all its CPUs",
        decimals: 1,
        value: |w| w.percent_of_cpus(w.host_cpu),
    },
    Column {
        name: "cspq",
        unit: "switches/operation",
        legend: "context switches of the whole host per operation",
        decimals: 3,
        value: |w| w.per_operation(w.host_switches),
    },
    Column {
        name: "cpupq",
        unit: "us/operation",
        legend: "microseconds of CPU of the whole host, including client and DBMS, per operation",
        decimals: 0,
        value: |w| w.per_operation(w.host_cpu),
    },
    Column {
        name: "dbgb1",
        unit: "GiB",
        legend: "size of the database at the end of the step",
        decimals: 1,
        value: |w| Some(w.database_bytes? as f64 / GIB),
    },
    Column {
        name: "dbgb2",
        unit: "GiB",
        legend: "size of the whole data directory, logs included, at the end of the step",
        decimals: 1,
        value: |w| Some(w.directory_bytes? as f64 / GIB),
    },
    Column {
        name: "rss",
        unit: "GiB",
        legend: "resident memory of the largest DBMS process",
        decimals: 1,
        value: |w| Some(w.rss_bytes? as f64 / GIB),
    },
    Column {
        name: "maxop",
        unit: "s",
        legend: "the longest response: of inserts in the l. steps, of queries in the others",
        decimals: 3,
        value: |w| Some(w.longest_response? as f64 / 1e9),
    },
    Column {
        name: "p50",
        unit: "operations/s",
        legend: "the rate that client 1 reached in 50% of the seconds; NA below 10 seconds",
        decimals: 0,
        value: |w| low_tail(w.rates, 50.0),
    },
    Column {
        name: "p99",
        unit: "operations/s",
        legend: "the rate that client 1 reached in 99% of the seconds; NA below 10 seconds",
        decimals: 0,
        value: |w| low_tail(w.rates, 99.0),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    fn print(name: &str, window: &Window) -> String {
        METRICS.iter().find(|column| column.name == name).expect(name).print(window)
    }

    #[test]
    fn the_columns_have_the_published_names_in_the_published_order() {
        let names: Vec<&str> = METRICS.iter().map(|column| column.name).collect();
        assert_eq!(
            names.join(" "),
            "ips qps rps rmbps wps wmbps rpq rkbpq wpi wkbpi csps cpups cspq cpupq dbgb1 dbgb2 \
             rss maxop p50 p99"
        );
    }

    #[test]
    fn what_was_not_read_is_not_available_rather_than_zero() {
        let window = Window { seconds: 2.0, inserts: 100, ..Window::default() };
        assert_eq!(print("ips", &window), "50");
        assert_eq!(print("qps", &window), "0");
        for name in ["rps", "wkbpi", "cpupq", "dbgb1", "rss", "maxop", "p50"] {
            assert_eq!(print(name, &window), "NA", "{name}");
        }
    }

    #[test]
    fn sizes_are_binary_and_responses_are_seconds() {
        let window = Window {
            seconds: 1.0,
            inserts: 1,
            database_bytes: Some(13_530_000_000),
            longest_response: Some(264_400_000),
            ..Window::default()
        };
        assert_eq!(print("dbgb1", &window), "12.6");
        assert_eq!(print("maxop", &window), "0.264");
    }
}
