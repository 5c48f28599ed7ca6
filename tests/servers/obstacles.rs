//! What can stand in a run's way from the outside: servers that do not start or let nobody in, and
//! run directories that are busy, gone or another plan's.

use std::fs;
use std::path::Path;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, entries};

const WRITES: &str = "--rows 2K --writes 500,50 --only l.i0,l.x,l.i1,l.i2";

#[test]
fn a_server_that_will_not_start_says_why() {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("p=postgres@17.6?shared_buffers=999TB {WRITES}"));
    let ended = ended.expect_code(3);
    ended.says(&["error: p: ", "did not start", "999TB", "shared_buffers"]);
    rqps.assert_no_server_is_left();
    let other = Rqps::new();
    let broken = format!("p=postgres@17.6?shared_buffers=999TB s=sqlite {WRITES}");
    let ended = other.ibench(&broken).expect_code(3);
    let result = RunResult::of(&other.out());
    assert_eq!(result.states().len(), 4, "the other contender goes on:\n{}", ended.stderr);
    result.assert_all_done();
}

#[test]
fn data_of_another_version_are_left_alone() {
    are_left_alone(&[("postgres@18.0", "postgres@17.6", "postgres 18.0", "postgres 17.6")]);
}

#[test]
#[ignore = "nightly: other DBMSs in the same way"]
fn data_of_another_version_of_mysql_are_left_alone() {
    are_left_alone(&[
        ("mysql@5.6.14", "mysql@8.0.33", "mysql 5.6.14", "mysql 8.0.33"),
        ("mysql@8.0.33", "mariadb@11.4.5", "mysql 8.0.33", "mariadb 11.4.5"),
    ]);
}

/// Two builds, and what made the data and cannot open them.
fn are_left_alone(pairs: &[(&str, &str, &str, &str)]) {
    for (first, second, maker, build) in pairs {
        let rqps = Rqps::new();
        let data = rqps.path("data").display().to_string();
        rqps.run(&format!("dbms start {first} --data {data}")).ok();
        rqps.run("dbms stop --all").ok();
        let before = entries(Path::new(&data));
        let error = format!("error: '{data}' was created by {maker}; {build} cannot open it. Use ");
        rqps.run(&format!("dbms start {second} --data {data}")).expect_code(3).says(&[&error]);
        assert_eq!(entries(Path::new(&data)), before);
        rqps.run(&format!("dbms start {first} --data {data}")).ok();
        rqps.run("dbms stop --all").ok();
        rqps.assert_no_server_is_left();
    }
}

#[test]
fn a_home_whose_path_is_too_long_for_a_socket_does() {
    let rqps = Rqps::new();
    let deep = rqps.path(&"deep/".repeat(30));
    fs::create_dir_all(&deep).unwrap();
    rqps.share_builds(&deep);
    assert!(deep.as_os_str().len() > 107);
    for contender in ["postgres@17.6", "mysql@8.0.33"] {
        let out = rqps.path(contender);
        let mut command = rqps.command(["ibench", contender, "--rows", "1K", "--only", "l.i0"]);
        command.arg("--out").arg(&out).env("RQPS_HOME", &deep);
        Running::start(command).finish().ok();
        RunResult::of(&out).assert_all_done();
    }
    assert!(entries(&deep.join("run")).is_empty() && entries(&deep.join("data")).is_empty());
}

#[test]
fn a_server_that_cannot_be_reached_or_lets_nobody_in_is_named() {
    let rqps = Rqps::new();
    let ended = rqps.ibench(&format!("postgres://ann@127.0.0.1:1/bench {WRITES}"));
    let ended = ended.expect_code(3);
    ended.says(&["error: postgres://ann@127.0.0.1:1/bench: ", "cannot connect to 127.0.0.1:1"]);

    let url = rqps.run("dbms start --tcp postgres@17.6").ok().stdout;
    let url = url.trim().to_string();
    let mut shell = rqps.command(["dbms", "shell", &url]);
    shell.stdin(std::process::Stdio::piped());
    let mut shell = Running::start(shell);
    shell.type_in("create role ann login password 'right'\n");
    shell.finish().ok();
    let port = url.split([':', '/']).find(|part| part.parse::<u16>().is_ok()).unwrap();
    let out = rqps.path("refused");
    let mut command = rqps.command(["ibench", "--out"]);
    command.arg(&out).arg(format!("postgres://ann:hunter2@127.0.0.1:{port}/ib"));
    command.args(WRITES.split_whitespace());
    let ended = Running::start(command).finish().expect_code(3);
    let reason = ["cannot log in as 'ann'", "password authentication failed"];
    let ended = ended.says(&[reason[0], reason[1]]);
    for (name, text) in [("stdout", &ended.stdout), ("stderr", &ended.stderr)] {
        assert!(!text.contains("hunter2"), "the password is shown on {name}:\n{text}");
    }
    for file in entries(&out).iter().filter(|file| *file != "logs") {
        let bytes = fs::read(out.join(file)).unwrap();
        let found = bytes.windows(7).any(|bytes| bytes == b"hunter2");
        assert!(!found, "the password is in {file}");
    }
    rqps.run("dbms stop --all").ok();
    rqps.assert_no_server_is_left();
}

#[test]
fn one_run_directory_has_one_rqps_at_a_time() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 1K --rates 100 --query-secs 3";
    let first = rqps.start_ibench(arguments);
    first.wait_for("qr100 (5 of 6)");
    let busy = format!("another rqps is using '{}'", rqps.out().display());
    rqps.resume().refuses(2, &[&busy]);
    rqps.ibench("sqlite").expect_code(2);
    // Looking is allowed.
    let report = rqps.run(&format!("report {} --format text", rqps.out().display())).ok();
    assert!(report.stdout.contains("l.i2"), "{}", report.stdout);
    first.finish().ok();
    RunResult::of(&rqps.out()).assert_all_done();
}

/// A run whose l.i1 was interrupted.
fn interrupted(rqps: &Rqps) {
    let arguments = "sqlite --rows 1K --writes 500K,5 --only l.i0,l.x,l.i1,l.i2";
    let running = rqps.start_ibench(arguments);
    running.wait_for("l.i1 (3 of 4)");
    crate::common::processes::signal(running.pid(), rustix::process::Signal::INT);
    running.finish().expect_code(130);
}

#[test]
fn another_plan_is_not_mixed_into_a_run() {
    let rqps = Rqps::new();
    interrupted(&rqps);
    let before = fs::read(rqps.out().join("results.sqlite")).unwrap();
    let ended = rqps.ibench("--resume sqlite --rows 3K");
    ended.refuses(2, &["with another plan", "plan.toml"]);
    // It would be of no effect.
    rqps.ibench("--resume --rows 3K")
        .expect_code(2)
        .says(&["cannot change --rows of a resumed run. Drop it"]);
    assert!(fs::read(rqps.out().join("results.sqlite")).unwrap() == before, "nothing changed");
    // The plan itself is no other plan.
    rqps.ibench("--resume sqlite --rows 1K --writes 500K,5 --only l.i0,l.x,l.i1,l.i2").ok();
    RunResult::of(&rqps.out()).assert_all_done();
}

#[test]
fn a_run_whose_data_are_gone_is_not_gone_on_with() {
    let rqps = Rqps::new();
    interrupted(&rqps);
    let before = RunResult::of(&rqps.out());
    fs::remove_dir_all(rqps.data(0)).unwrap();
    let ended = rqps.resume().expect_code(3);
    ended.says(&["its data directory", "is missing", "another --out"]);
    let after = RunResult::of(&rqps.out());
    assert_eq!(after.step("l.i0"), before.step("l.i0"), "what was measured is kept");
}

#[test]
fn half_a_result_is_never_written() {
    let rqps = Rqps::new();
    interrupted(&rqps);
    let files = entries(&rqps.out());
    assert!(files.iter().all(|file| !file.ends_with(".new")), "{files:?}");
    for file in ["result.json", "report.html", "summary.md", "metrics.csv", "seconds.csv"] {
        assert!(Path::new(&rqps.out().join(file)).exists(), "{file}");
    }
    assert_eq!(RunResult::of(&rqps.out()).last_state(), "sqlite l.i1 interrupted");
}
