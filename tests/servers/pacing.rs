//! Coordinated omission: a server that freezes under a rate must be seen in response times.

use std::time::Duration;

use crate::common::result::RunResult;
use crate::common::{Rqps, processes};
use rustix::process::Signal;

#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn a_frozen_server_is_seen_in_response_times_and_not_in_the_usual_service_time() {
    let rqps = Rqps::alone();
    // 160 statements a second for 8 seconds: enough for a 99th percentile.
    let arguments = "postgres@17.6 --rows 10K --writes 2K,500 --rates 8000 --query-secs 8";
    let running = rqps
        .start_ibench(&format!("{arguments} --only l.i0,l.x,l.i1,l.i2,qr8000 --pacing uniform"));
    running.wait_for("qr8000 (5 of 5)");
    std::thread::sleep(Duration::from_secs(1));
    let server = processes::server(running.server());
    assert!(server.len() > 3, "the server and its backends: {server:?}");
    server.iter().for_each(|&process| processes::signal(process, Signal::STOP));
    std::thread::sleep(Duration::from_secs(1));
    server.iter().for_each(|&process| processes::signal(process, Signal::CONT));
    running.finish().ok();
    rqps.assert_nothing_is_left();

    let result = RunResult::of(&rqps.out());
    let step = result.step("qr8000");
    for operation in ["insert", "delete"] {
        let work = &step["work"][operation];
        // No backlog is dropped: all 8 s of writes were done, and count.
        assert_eq!(work["rows"], 64_000, "{operation}");
        assert_eq!(work["operations"], 1_280, "{operation}");
        assert_eq!(work["response"]["count"], 1_280, "{operation}");
        let seconds = |times: &str, percentile: &str| {
            work[times]["percentiles_ns"][percentile].as_f64().expect(percentile) / 1e9
        };
        let response = seconds("response", "p99");
        assert!(response >= 0.5, "{operation}: p99 of response is {response} s");
        let service = seconds("service", "p50");
        assert!(service < 0.1, "{operation}: p50 of service is {service} s");
        let buckets = &work["service"]["buckets"];
        let stalls: u64 =
            ["1s", "4s", "16s"].map(|name| buckets[name].as_u64().unwrap()).iter().sum();
        // 160 were late, and few took long themselves: one or two on a machine that is always
        // there, none where the client stood still, too, until the server went on.
        assert!(stalls <= 16, "{operation}: {stalls} statements took a second");
        let lag = work["max_lag_ns"].as_f64().unwrap() / 1e9;
        assert!(lag >= 0.9, "{operation}: statements were late by {lag} s at most");
    }
    let sla = &step["sla"];
    assert_eq!(sla["target"], 8_000.0);
    let counted = sla["achieved"].as_f64().unwrap() * step["seconds"].as_f64().unwrap();
    assert!((counted - 64_000.0).abs() < 1.0, "the rate counts every row: {counted}");
}
