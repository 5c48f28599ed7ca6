//! What the posts' metrics do not separate: the CPU and the switches of the DBMS, of the client and
//! of everything else, per operation (whole-host CPU includes the client's own, which was 21 to 45%
//! of it in the original).

use crate::columns::Column;

const KIB: f64 = 1024.0;

/// "Operation" is, as in [`crate::METRICS`], a row in the l. steps and a query in the others.
pub const COSTS: [Column; 13] = [
    Column {
        name: "host CPU",
        unit: "us/operation",
        legend: "CPU of the whole host per operation; cpupq with more digits",
        decimals: 2,
        value: |w| w.per_operation(w.host_cpu),
    },
    Column {
        name: "server CPU",
        unit: "us/operation",
        legend: "CPU of the DBMS's processes per operation",
        decimals: 2,
        value: |w| w.per_operation(w.server_cpu()),
    },
    Column {
        name: "of it system",
        unit: "us/operation",
        legend: "the part of server CPU spent in the kernel",
        decimals: 2,
        value: |w| w.per_operation(w.server_cpu_system),
    },
    Column {
        name: "client CPU",
        unit: "us/operation",
        legend: "CPU of the client's threads per operation; NA when they share a process with \
                 the DBMS, whose CPU then includes it",
        decimals: 2,
        value: |w| w.per_operation(w.client_cpu()),
    },
    Column {
        name: "other CPU",
        unit: "us/operation",
        legend: "CPU of other processes per operation: neither the DBMS's nor the client's",
        decimals: 2,
        value: |w| {
            let known = w.server_cpu()? + w.client_cpu().unwrap_or(0);
            w.per_operation(Some(w.host_cpu?.saturating_sub(known)))
        },
    },
    Column {
        name: "steal",
        unit: "%",
        legend: "time that the hypervisor gave to other guests, as a percentage of all CPUs",
        decimals: 1,
        value: |w| w.percent_of_cpus(w.host_steal),
    },
    Column {
        name: "server vol. cs",
        unit: "switches/operation",
        legend: "voluntary context switches of the DBMS per operation: it waited",
        decimals: 3,
        value: |w| w.per_operation(w.server_voluntary_switches),
    },
    Column {
        name: "server invol. cs",
        unit: "switches/operation",
        legend: "involuntary context switches of the DBMS per operation: it was preempted",
        decimals: 3,
        value: |w| w.per_operation(w.server_involuntary_switches),
    },
    Column {
        name: "client vol. cs",
        unit: "switches/operation",
        legend: "voluntary context switches of the client per operation",
        decimals: 3,
        value: |w| w.per_operation(w.client_voluntary_switches),
    },
    Column {
        name: "run queue",
        unit: "us/operation",
        legend: "time that the DBMS's threads waited for a CPU, per operation",
        decimals: 2,
        value: |w| w.per_operation(w.server_run_queue_wait),
    },
    Column {
        name: "server read",
        unit: "KiB/operation",
        legend: "what the DBMS read from storage per operation",
        decimals: 3,
        value: |w| Some(w.per_operation(w.server_read_bytes)? / KIB),
    },
    Column {
        name: "server written",
        unit: "KiB/row",
        legend: "what the DBMS wrote to files per row inserted",
        decimals: 3,
        value: |w| Some(w.per_insert(w.server_write_bytes)? / KIB),
    },
    Column {
        name: "flushes",
        unit: "requests/s",
        legend: "cache flushes that the storage device completed per second",
        decimals: 1,
        value: |w| w.per_second(w.device_flushes),
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Normaliser, Window};

    fn value(name: &str, window: &Window) -> Option<f64> {
        let column = COSTS.iter().find(|column| column.name == name).expect(name);
        (column.value)(window)
    }

    #[test]
    fn the_cpu_of_the_host_is_split_without_rest() {
        let window = Window {
            normaliser: Normaliser::Query,
            seconds: 1.0,
            queries: 100,
            host_cpu: Some(5_000),
            server_cpu_user: Some(2_000),
            server_cpu_system: Some(1_000),
            client_cpu_user: Some(600),
            client_cpu_system: Some(400),
            ..Window::default()
        };
        let [host, server, client, other] =
            ["host CPU", "server CPU", "client CPU", "other CPU"].map(|name| value(name, &window));
        assert_eq!([host, server, client, other], [Some(50.0), Some(30.0), Some(10.0), Some(10.0)]);
    }

    #[test]
    fn a_client_inside_the_dbms_has_no_cpu_of_its_own() {
        let window = Window {
            seconds: 1.0,
            inserts: 10,
            host_cpu: Some(500),
            server_cpu_user: Some(300),
            server_cpu_system: Some(100),
            ..Window::default()
        };
        assert_eq!(value("client CPU", &window), None);
        assert_eq!(value("server CPU", &window), Some(40.0));
        assert_eq!(value("other CPU", &window), Some(10.0));
    }

    #[test]
    fn what_is_written_is_per_row_even_where_queries_are_counted() {
        let window = Window {
            normaliser: Normaliser::Query,
            inserts: 4,
            queries: 1000,
            server_write_bytes: Some(8192),
            ..Window::default()
        };
        assert_eq!(value("server written", &window), Some(2.0));
    }
}
