//! A server that is out of memory: the kernel kills a process of it at the limit of its control group.

use std::fs;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, can_limit_memory, entries};

/// How the server is reached whose data are in a folder with this in its name, once it is up and held
/// in a control group.
fn url(rqps: &Rqps, data: &str) -> String {
    let run = rqps.home().join("run");
    let held = |name: String| {
        let pid = name.strip_prefix("server-")?.strip_suffix(".json")?;
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let lease = fs::read_to_string(run.join(&name)).ok()?;
        let lease: serde_json::Value = serde_json::from_str(&lease).ok()?;
        let is_it = groups.contains("/rqps-") && lease["data"].as_str()?.contains(data);
        is_it.then(|| lease["url"].as_str().unwrap().to_string())
    };
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        if let Some(url) = entries(&run).into_iter().find_map(held) {
            return url;
        }
        assert!(Instant::now() < deadline, "no server is held");
        thread::sleep(Duration::from_millis(10));
    }
}

/// A client that sorts in far more memory than the server's group may have.
fn sort(rqps: &Rqps, data: &str) -> Running {
    let url = url(rqps, data);
    let mut shell = rqps.command(["dbms", "shell", &url]);
    shell.stdin(Stdio::piped());
    let mut shell = Running::start(shell);
    shell.type_in(
        "set work_mem = '2GB'\n\
         select count(*) from (select repeat('x', 200) || i as v from generate_series(1, 3000000) i \
         order by v offset 0) t\n",
    );
    shell
}

#[test]
fn a_server_that_the_kernel_kills_for_want_of_memory_is_told_and_the_rest_can_be_done() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::new();
    let arguments = "p=postgres@17.6?shared_buffers=16MB --memory 96M --rows 2K --secs 20 --pause 0 \
                     --tests point-query";
    let running = rqps.start("micro", arguments);
    running.wait_for("point-query (2 of 2)");
    let shell = sort(&rqps, "");
    let ended = running.finish().expect_code(3);
    drop(shell.finish());
    ended.says(&[
        "error: p: point-query: ",
        "for want of memory: its limit (--memory)",
        "terminated by signal 9: Killed",
        "--resume",
    ]);
    rqps.assert_no_server_is_left();
    let failed = RunResult::of(&rqps.out());
    assert_eq!(failed.states(), ["p load done", "p point-query failed"]);
    rqps.micro("--resume").ok();
    RunResult::of(&rqps.out()).assert_completes(&failed);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_comparison_tells_a_server_that_was_killed_for_want_of_memory() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::new();
    let one = "postgres@17.6?shared_buffers=16MB";
    let arguments = format!(
        "p={one} q={one} --workload micro:point-query --method runs --no-twin --memory 256M --rows 2K \
         --secs 10 --rounds 3 --no-guards"
    );
    let running = rqps.start("compare", &arguments);
    running.wait_for("round 1 of");
    // Before its clients are there a server recovers unnoticed.
    while !running.heard().contains("for want of memory: its limit (--memory)") {
        drop(sort(&rqps, "-round").finish());
    }
    running.finish().says(&["terminated by signal 9: Killed"]);
    rqps.assert_no_server_is_left();
}
