//! A server that is out of memory: the kernel kills a process of it at the limit of its control
//! group. And a machine that has less memory than before.

use std::fs;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rqps_observe::Group;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, can_limit_memory, entries, processes};

/// How the server is reached whose data are in a folder with this in its name, once it is up and
/// held in a control group.
fn url(rqps: &Rqps, data: &str) -> String {
    let run = rqps.home().join("run");
    let held = |name: String| {
        let lease = fs::read_to_string(run.join(name).join("lease.json")).ok()?;
        let lease: serde_json::Value = serde_json::from_str(&lease).ok()?;
        let pid = &lease["server"]["pid"];
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        let is_it = groups.contains("/rqps-") && lease["data"].as_str()?.contains(data);
        is_it.then(|| lease["url"].as_str().unwrap().to_string())
    };
    // Long, because an emulated machine (tests/cgroup2) is many times slower than any other.
    let deadline = Instant::now() + Duration::from_secs(600);
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
fn a_server_that_the_kernel_kills_for_want_of_memory_is_told() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::new();
    let arguments = "p=postgres@17.6?shared_buffers=16MB --memory 96M --rows 2K --secs 12 --pause 0 \
                     --tests point-query";
    let running = rqps.start("micro", arguments);
    running.wait_for("point-query (2 of 2)");
    let shell = sort(&rqps, "");
    let ended = running.finish().expect_code(3);
    drop(shell.finish());
    ended.says(&[
        "error: p: point-query: ",
        "for lack of memory: its limit (--memory)",
        "terminated by signal 9: Killed",
        "--resume",
    ]);
    rqps.assert_no_server_is_left();
    let failed = RunResult::of(&rqps.out());
    assert_eq!(failed.states(), ["p load done", "p point-query failed"]);
}

#[test]
#[ignore = "nightly: single runs tell it in the same way"]
fn a_comparison_tells_a_server_that_was_killed_for_want_of_memory() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::new();
    let one = "postgres@17.6?shared_buffers=16MB";
    let arguments = format!(
        "p={one} q={one} --workload micro:point-query --method runs --no-control --memory 256M --rows 2K \
         --secs 10 --rounds 3 --no-guards"
    );
    let running = rqps.start("compare", &arguments);
    running.wait_for("round 1 of");
    // Before its clients are there a server recovers unnoticed.
    while !running.heard().contains("for lack of memory: its limit (--memory)") {
        drop(sort(&rqps, "-round").finish());
    }
    running.finish().says(&["terminated by signal 9: Killed"]);
    rqps.assert_no_server_is_left();
}

/// The command in a control group from its beginning.
fn within(group: &Group, command: &Command) -> Command {
    let enter = r#"for file in $ENTRANCES; do echo 0 > "$file"; done; exec "$0" "$@""#;
    let entrances: Vec<String> =
        group.entrances().iter().map(|path| path.display().to_string()).collect();
    let mut inside = Command::new("bash");
    inside.args(["-c", enter]).arg(command.get_program()).args(command.get_args());
    inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    inside.env("ENTRANCES", entrances.join(" ")).current_dir(command.get_current_dir().unwrap());
    inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    inside
}

#[test]
fn who_is_up_together_stays_so_after_a_resume_with_less_memory() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::with_own_locks();
    let begin = "compare sqlite one=sqlite two=sqlite --workload micro:point-query --rows 2K --secs 0.5 \
                 --rounds 3 --loads 1 --no-guards --no-control";
    let command = |arguments: &str, out: &str| {
        rqps.command(arguments.split_whitespace().chain(["--out", out]))
    };
    let in_pairs = "measured in pairs with the baseline";
    let running = Running::start(command(begin, "before"));
    running.wait_for("round 2 of");
    processes::kill(running.pid());
    assert!(!running.finish().stderr.contains(in_pairs));
    rqps.await_no_process();
    // Of this 80 % are to be used, and SQLite is reckoned with 128 MB for its cache and 200 MB
    // beside.
    let group = Group::create("small").unwrap();
    group.limit_memory(1000 << 20).unwrap();
    let fresh = Running::start(within(&group, &command(begin, "fresh")));
    fresh.wait_for(in_pairs);
    processes::kill(fresh.pid());
    fresh.finish();
    rqps.await_no_process();
    let resumed = Running::start(within(&group, &command("compare --resume", "before"))).finish();
    assert!(resumed.status.code().is_some_and(|code| code < 2), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains(in_pairs), "{}", resumed.stderr);
    let text = fs::read_to_string(rqps.work().join("before/result.json")).unwrap();
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(found["comparison"]["pairs"], false);
}
