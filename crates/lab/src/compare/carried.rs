//! What is read of a server at the edges of slices, as the load generator carries it: numbers.

use rqps_load::Counters;
use rqps_observe::{Edge, Metric};

/// What a device counts, as at the end of an edge.
pub(super) const REQUESTS: [Metric; 4] =
    [Metric::DeviceReads, Metric::DeviceReadBytes, Metric::DeviceFlushes, Metric::DeviceFlushTime];

/// An edge as the relay carries it.
pub(super) fn counters(of: Edge) -> Counters {
    let [a, b, c, d, e, f, g] = of.hardware;
    let Edge { cpu, run_queue_wait, switches, reads, read_bytes, flushes, flush_time, .. } = of;
    [cpu, run_queue_wait, switches, reads, read_bytes, flushes, flush_time, a, b, c, d, e, f, g]
}

pub(super) fn edge(of: Counters) -> Edge {
    let [cpu, run_queue_wait, switches, reads, read_bytes, flushes, flush_time, hardware @ ..] = of;
    Edge { cpu, run_queue_wait, switches, reads, read_bytes, flushes, flush_time, hardware }
}
