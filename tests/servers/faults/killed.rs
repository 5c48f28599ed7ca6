//! Servers and rqps itself killed or interrupted at work: what is said, what is left, and that
//! `--resume` finishes the rest.

use std::process::Stdio;
use std::time::Duration;

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, await_that, processes};
use rustix::process::{Signal, getpid, set_child_subreaper};

/// The last two take as long as they are told to.
const ARGUMENTS: &str = "--rows 5K --writes 1K,100 --rates 100";
const STEPS: [&str; 6] = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"];
/// Without one after the step that is interrupted.
const TO_QR100: &[&str] = &["l.i0", "l.x", "l.i1", "l.i2", "qr100"];

/// Every commit takes 100 ms and is on the disk then, so no step is over before a signal arrives.
pub(crate) const SLOW: &str =
    "slow=postgres@17.6?synchronous_commit=on&commit_delay=100000&commit_siblings=0";

/// A run of these steps that is in the middle of qr100.
fn in_qr100(rqps: &Rqps, steps: &[&str]) -> Running {
    let only = steps.join(",");
    let arguments = format!("postgres@17.6 {ARGUMENTS} --query-secs 4 --only {only}");
    let running = rqps.start_ibench(&arguments);
    running.wait_for(&format!("qr100 (5 of {})", steps.len()));
    // The step lasts for four seconds; a moment later it has done something.
    std::thread::sleep(Duration::from_millis(300));
    running
}

/// The first four steps are done and qr100 is not; going on does only what is missing.
fn resume_finishes(rqps: &Rqps, steps: &[&str], state: &str) -> Finished {
    let before = rqps.so_far();
    let expected: Vec<String> = steps[..4].iter().map(|step| format!("{step} done")).collect();
    let states: Vec<String> = before.states();
    let states: Vec<&str> = states.iter().map(|state| &state["postgres@17.6 ".len()..]).collect();
    assert_eq!(states[..4], expected);
    assert_eq!(states[4..], [format!("qr100 {state}")]);

    let ended = rqps.resume().ok();
    let after = RunResult::of(&rqps.out());
    assert_eq!(after.steps(), steps);
    after.assert_completes(&before);
    assert_eq!(after.step("qr100")["attempt"], 2);
    for step in &steps[5..] {
        assert_eq!(after.step(step)["attempt"], 1);
    }
    assert!(ended.stdout.contains("repeated after"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
    ended
}

/// As `nohup` starts it.
#[test]
fn who_is_to_go_on_when_the_terminal_is_gone_does_so() {
    let rqps = Rqps::new();
    let arguments =
        "ibench sqlite --rows 1K --query-secs 2 --only l.i0,l.x,l.i1,l.i2,qr100 --out out";
    let rqps_itself = rqps.command(arguments.split(' '));
    let mut command = rqps.program("sh");
    command.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(rqps_itself.get_program());
    command.args(rqps_itself.get_args());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = Running::start(command);
    running.wait_for("qr100 (5 of 5)");
    processes::signal(running.pid(), Signal::HUP);
    running.finish().ok();
}

#[test]
fn a_killed_server_ends_the_step_with_its_log_and_the_rest_can_be_done() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, &STEPS);
    processes::kill(running.server());
    let ended = running.finish().expect_code(3);
    let log = ["its log ends with", "listening on Unix socket"];
    let ended = ended.says(&["error: postgres@17.6: qr100: ", "signal: 9", log[0], "--resume"]);
    assert!(ended.stdout.contains("l.i2"), "what was measured is shown:\n{}", ended.stdout);
    // The other processes of the server see for themselves that it is gone.
    rqps.await_no_process();
    rqps.assert_no_server_is_left();
    let result = RunResult::of(&rqps.out());
    let error = result.step("qr100")["error"].as_str().unwrap().to_string();
    assert!(error.contains("signal: 9"), "{error}");
    let ended = resume_finishes(&rqps, &STEPS, "failed");
    assert!(ended.stdout.contains("repeated after 1 interruption"), "{}", ended.stdout);
}

#[test]
#[ignore = "nightly: a killed server ends it in the same way"]
fn a_killed_backend_ends_the_step_too() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, TO_QR100);
    processes::kill(processes::backends(running.server())[0]);
    let ended = running.finish().expect_code(3);
    ended.says(&["error: postgres@17.6: qr100: ", "terminated by signal 9: Killed"]);
    rqps.assert_no_server_is_left();
    resume_finishes(&rqps, TO_QR100, "failed");
}

#[test]
fn a_killed_rqps_takes_its_server_along() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, TO_QR100);
    let server = running.server();
    processes::kill(running.pid());
    rqps.await_no_process();
    assert_eq!(running.finish().status.code(), None, "it was killed");
    assert!(processes::children(1, "postgres").iter().all(|&pid| pid != server));
    resume_finishes(&rqps, TO_QR100, "running");
}

#[test]
fn one_interrupt_ends_in_an_orderly_way() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, TO_QR100);
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    ended.says(&["its data are kept in", "to resume: rqps ibench --resume --out"]);
    rqps.assert_no_server_is_left();
    resume_finishes(&rqps, TO_QR100, "interrupted");
}

/// Freezes all processes of the server.
fn freeze(running: &Running) -> Vec<i32> {
    let server = processes::server(running.server());
    server.iter().for_each(|&process| processes::signal(process, Signal::STOP));
    // One may have ended in time.
    let is_frozen =
        |&process: &i32| processes::is_stopped(process) || !processes::is_alive(process);
    await_that("all are frozen", || server.iter().all(is_frozen));
    server
}

#[test]
fn one_interrupt_ends_a_frozen_server_with_all_its_processes() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, TO_QR100);
    let backends = processes::backends(running.server());
    let server = freeze(&running);
    assert!(backends.iter().any(|backend| server.contains(backend)), "backends are frozen, too");
    processes::signal(running.pid(), Signal::INT);
    running.finish().expect_code(130);
    rqps.assert_no_server_is_left();
    resume_finishes(&rqps, TO_QR100, "interrupted");
}

#[test]
fn a_frozen_server_of_a_killed_rqps_is_gone_after_the_next_one() {
    let rqps = Rqps::new();
    // As below an init that asks none of its children how they ended: the server stays a zombie.
    // From here on that is so for all tests of this process, none of which needs another.
    set_child_subreaper(Some(getpid())).unwrap();
    let running = in_qr100(&rqps, TO_QR100);
    freeze(&running);
    processes::kill(running.pid());
    running.finish();
    // The kernel wakes the server's main process when its parent dies, and none of the others.
    rqps.run("dbms prune").ok();
    rqps.assert_no_server_is_left();
    resume_finishes(&rqps, TO_QR100, "running");
}

#[test]
fn the_second_interrupt_ends_at_once() {
    let rqps = Rqps::new();
    let running = in_qr100(&rqps, TO_QR100);
    // With a frozen server the orderly way would take minutes.
    let server = freeze(&running);
    running.interrupted_twice();
    server.iter().for_each(|&process| processes::signal(process, Signal::CONT));
    rqps.await_no_process();
    resume_finishes(&rqps, TO_QR100, "running");
}

/// Interrupts a run in three of its steps. Answers whether none was over when its signal arrived.
fn each_is_interrupted() -> bool {
    let rqps = Rqps::new();
    let arguments = "--rows 2K --writes 1K,20 --only l.i0,l.x,l.i1,l.i2";
    let mut running = rqps.start_ibench(&format!("{SLOW} {arguments}"));
    for (number, step) in [(1, "l.i0"), (2, "l.x"), (3, "l.i1")] {
        running.wait_for(&format!("{step} ({number} of 4)"));
        processes::signal(running.pid(), Signal::INT);
        let ended = running.finish();
        let state = RunResult::of(&rqps.out()).last_state();
        if state != format!("slow {step} interrupted") {
            eprintln!("{step} was not interrupted: {state}");
            return false;
        }
        ended.expect_code(130);
        rqps.assert_no_server_is_left();
        running = rqps.start_ibench("--resume");
    }
    running.finish().ok();
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.steps(), ["l.i0", "l.x", "l.i1", "l.i2"]);
    result.assert_all_done();
    let attempts = ["l.i0", "l.x", "l.i1", "l.i2"].map(|step| result.step(step)["attempt"].clone());
    assert_eq!(attempts, [2, 2, 2, 1]);
    rqps.assert_nothing_is_left();
    true
}

#[test]
fn loading_indexing_and_writing_can_each_be_interrupted() {
    // The indexes are built after 0.4 s: a signal that comes later is sent to another run.
    assert!((0..5).any(|_| each_is_interrupted()), "a step cannot be interrupted");
}

#[test]
fn keys_that_recovery_skips_are_no_error() {
    // Postgres notes 32 values of a sequence in advance, and skips what it noted when it recovers.
    let rqps = Rqps::new();
    let arguments = "--rows 1K --writes 500,300 --only l.i0,l.x,l.i1,l.i2";
    let running = rqps.start_ibench(&format!("{SLOW} {arguments}"));
    running.wait_for("l.i2 (4 of 4)");
    // Two or three statements of five rows.
    std::thread::sleep(Duration::from_millis(250));
    processes::kill(running.server());
    running.finish().expect_code(3);
    // No server can start while one of the other processes is left.
    rqps.await_no_process();
    rqps.resume().ok();
    RunResult::of(&rqps.out()).assert_all_done();
    rqps.assert_nothing_is_left();
}

#[test]
fn sqlite_goes_on_after_a_kill_in_each_step() {
    let rqps = Rqps::new();
    let arguments = "sqlite --rows 300K --writes 20K,2K --rates 100 --query-secs 2 --only \
                     l.i0,l.x,l.i1,l.i2,qp100";
    let mut running = rqps.start_ibench(arguments);
    for step in ["l.i0 (1 of 5)", "l.i1 (3 of 5)", "qp100 (5 of 5)"] {
        running.wait_for(step);
        processes::kill(running.pid());
        running.finish();
        running = rqps.start_ibench("--resume");
    }
    running.finish().ok();
    RunResult::of(&rqps.out()).assert_all_done();
    rqps.assert_nothing_is_left();
}

#[test]
fn nobody_reads_what_it_prints() {
    for close in ["stdout", "stderr", "both"] {
        let rqps = Rqps::new();
        let out = rqps.out();
        let mut command = rqps.command(["ibench", "sqlite", "--rows", "1K", "--writes", "500,50"]);
        command.args(["--rates", "100", "--query-secs", "1", "--out"]).arg(&out);
        let mut child = command.spawn().unwrap();
        if close != "stderr" {
            drop(child.stdout.take());
        }
        if close != "stdout" {
            drop(child.stderr.take());
        }
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{close} closed: {output:?}");
        let result = RunResult::of(&out);
        assert_eq!(result.steps(), STEPS, "{close} closed");
        result.assert_all_done();
        assert!(out.join("report.html").exists(), "{close} closed");
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn a_step_that_is_done_stays_done_when_the_server_is_killed_right_after() {
    // Commits do not wait for the disk, so the last of a step may be in memory alone when the
    // next step begins.
    let rqps = Rqps::new();
    // In the long pause the server is still there for a signal that comes late.
    let arguments = "p=postgres@17.6 --rows 20K --writes 100,10 --rates 100 --query-secs 1 --pause 10 \
                     --only l.i0,l.x,l.i1,l.i2,qr100 --keep-data";
    let running = rqps.start_ibench(arguments);
    running.wait_for("l.x (2 of 5)");
    processes::kill(running.server());
    running.finish();
    rqps.await_no_process();
    rqps.ibench("--resume --keep-data").ok();
    let data = rqps.data(0);
    let mut command = rqps.command(["dbms", "start", "postgres@17.6", "--data"]);
    command.arg(&data);
    let url = Running::start(command).finish().ok().stdout;
    let mut shell = rqps.command(["dbms", "shell", url.trim()]);
    shell.stdin(std::process::Stdio::piped());
    let mut shell = Running::start(shell);
    shell.type_in("select 'loaded ' || count(*) from public.pi1\n");
    let answer = shell.finish().ok().stdout;
    rqps.run("dbms stop --all").ok();
    await_that("the server has ended", || processes::below(&data).is_empty());
    // The killed attempt at l.x may have inserted its 100 rows or not; one at a later step may have
    // inserted or deleted 50 more.
    let mut possible = (20_050..=20_250).map(|rows| format!("loaded {rows}"));
    assert!(possible.any(|text| answer.contains(&text)), "{answer}");
}
