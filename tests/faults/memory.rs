//! A server that is out of memory: the kernel kills a process of it at the limit of its control group.

use std::fs;
use std::process::Stdio;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, can_limit_memory, entries};

/// How the only server of this home is reached.
fn url(rqps: &Rqps) -> String {
    let run = rqps.home().join("run");
    let leases = entries(&run).into_iter().filter(|name| name.ends_with(".json"));
    let leases: Vec<String> = leases.collect();
    assert_eq!(leases.len(), 1, "one server: {leases:?}");
    let lease = fs::read_to_string(run.join(&leases[0])).unwrap();
    let lease: serde_json::Value = serde_json::from_str(&lease).unwrap();
    lease["url"].as_str().unwrap().to_string()
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
    let url = url(&rqps);
    let mut shell = rqps.command(["dbms", "shell", &url]);
    shell.stdin(Stdio::piped());
    let mut shell = Running::start(shell);
    // A sort in far more memory than the group may have.
    shell.type_in(
        "set work_mem = '2GB'\n\
         select count(*) from (select repeat('x', 200) || i as v from generate_series(1, 3000000) i \
         order by v offset 0) t\n",
    );
    let ended = running.finish().expect_code(3);
    drop(shell.finish());
    ended.says(&[
        "error: p: point-query: ",
        "its memory limit is too small",
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
