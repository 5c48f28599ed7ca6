//! Where a contender's server runs and has its memory and its data, if its name says so: the
//! kernel is asked while it runs, and what cannot be is refused.

use std::fs;
use std::path::Path;

use crate::common::result::RunResult;
use crate::common::{Rqps, await_that, entries, processes};
use rqps_observe::{allowed_cpus, kernel_list};
use serde_json::Value;

const SMALL: &str = "--rows 1K --secs 0.2 --rounds 3 --no-guards --no-control --margin 50%";

/// A line of a file as `/proc/PID/status`.
fn status(file: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| Some(line.strip_prefix(name)?.strip_prefix(':')?.trim().to_string());
    text.lines().find_map(value)
}

/// The CPUs of all threads of a process.
fn cpus(pid: i32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|one| status(&one.path().join("status"), "Cpus_allowed_list")).collect()
}

fn settings(result: &RunResult, contender: usize) -> Value {
    result.0["contenders"][contender]["settings"].clone()
}

#[test]
fn servers_are_on_the_cpus_of_their_contenders_and_the_client_is_on_another() {
    let allowed = allowed_cpus().unwrap();
    let [own, .., last] = allowed[..] else {
        eprintln!("skipped: with one CPU there is none for clients");
        return;
    };
    let (own, last) = (own.to_string(), last.to_string());
    let rqps = Rqps::with_own_locks();
    let process = format!("process.cpus={own}&process.thp=off");
    let contenders = format!("a=postgres@17.6?{process} b=postgres@17.6?{process}&jit=off");
    let running =
        rqps.start("compare", &format!("{contenders} --workload micro:point-query {SMALL}"));
    let rqps_pid = running.pid();
    await_that("both servers work on their CPU, for a client on another", || {
        let servers = processes::children(rqps_pid, "postgres");
        let backends: Vec<i32> = servers.into_iter().flat_map(processes::backends).collect();
        let is_placed = |pid: &i32| {
            let proc = format!("/proc/{pid}/status");
            let has_thp = status(Path::new(&proc), "THP_enabled").is_none_or(|it| it != "0");
            !has_thp && cpus(*pid).iter().all(|it| *it == own)
        };
        let has_client = cpus(rqps_pid).contains(&last);
        has_client && backends.len() > 1 && backends.iter().all(is_placed)
    });
    running.finish().ok();
    let result = RunResult::of(&rqps.out());
    for contender in [0, 1] {
        let settings = settings(&result, contender);
        assert_eq!(settings["process.cpus"], own.as_str());
        assert_eq!(settings["process.thp"], "off");
    }
    let round = &result.0["comparison"]["contenders"][0]["tests"][0]["rounds"][0];
    assert_eq!(round["cpus"], Value::Array(Vec::new()), "client and servers share no CPU");
    rqps.assert_nothing_is_left();
}

#[test]
fn that_contenders_leave_clients_no_cpu_is_told() {
    let all = kernel_list(&allowed_cpus().unwrap());
    let rqps = Rqps::with_own_locks();
    let contender = format!("a=postgres@17.6?process.cpus={all}&process.mems=0");
    let ended = rqps.micro(&format!("{contender} --rows 1K --secs 0.2 --tests point-query"));
    if ended.stderr.contains("cannot set 'process.mems'") {
        eprintln!("skipped: this kernel does not let memory nodes be chosen");
        return;
    }
    let told = "contenders have all CPUs that rqps may use, so that clients have none of their own";
    ended.ok().says(&[told]);
    let report = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    assert!(report.contains(told), "it is a part of the result");
    let settings = settings(&RunResult::of(&rqps.out()), 0);
    assert_eq!(settings["process.cpus"], all.as_str());
    assert_eq!(settings["process.mems"], "0");
}

#[test]
fn what_the_machine_does_not_have_is_refused_with_what_it_has() {
    let rqps = Rqps::new();
    let allowed = kernel_list(&allowed_cpus().unwrap());
    let cpus = format!("rqps may not use CPU 1999 on this machine, but {allowed}");
    for (setting, says) in [
        ("cpus=1999", cpus.as_str()),
        ("cpus=all", "write numbers of CPUs, such as 0-2,5"),
        ("mems=999", "memory node"),
        ("thp=never", "it can be off"),
        ("data=/no/such", "No such file"),
        ("data=data", "write the whole path of the folder"),
    ] {
        let arguments =
            format!("micro postgres@17.6?process.{setting} --rows 1K --tests point-query");
        let name = setting.split('=').next().unwrap();
        rqps.run(&arguments).refuses(2, &[&format!("cannot set 'process.{name}'"), says]);
    }
    rqps.run("micro sqlite?process.cpus=0 --rows 1K --tests point-query")
        .refuses(2, &["sqlite runs in the process of rqps, and so has process.data alone"]);
    let disk = rqps.path("disk");
    fs::create_dir(&disk).unwrap();
    rqps.run(&format!("dbms start postgres@17.6?process.data={}", disk.display()))
        .refuses(2, &["process.data is for runs. Use --data DIR"]);
}

#[test]
fn too_few_huge_pages_are_told_with_the_command_for_more() {
    let rqps = Rqps::new();
    // More than any machine of a test has reserved.
    let process = "shared_buffers=60GB&process.hugepages=on";
    rqps.micro(&format!("postgres@17.6?{process} --rows 1K --tests point-query"))
        .expect_code(3)
        .says(&[
            "huge pages of",
            "are free, but its cache alone takes",
            "sysctl -w vm.nr_hugepages=",
        ]);
    rqps.assert_no_server_is_left();
}

#[test]
fn data_are_on_the_disk_of_their_contender_and_nothing_else_goes_from_there() {
    let rqps = Rqps::with_own_locks();
    let disk = rqps.path("disk");
    fs::create_dir(&disk).unwrap();
    fs::write(disk.join("thesis"), "").unwrap();
    let contenders = format!(
        "a=sqlite b=sqlite?process.data={disk} c=postgres@17.6?process.data={disk}",
        disk = disk.display()
    );
    let compare = |more: &str| {
        let _ = fs::remove_dir_all(rqps.out());
        let line = format!("{contenders} --workload micro:point-query {SMALL} {more}");
        let ended = rqps.start("compare", &line).finish();
        // A server may well be slower than what runs inside rqps.
        assert!(ended.status.code().is_some_and(|code| code < 2), "{}", ended.stderr);
    };
    compare("");
    assert_eq!(entries(&disk), ["thesis"]);
    rqps.assert_nothing_is_left();
    let result = RunResult::of(&rqps.out());
    let facts: Vec<bool> =
        (0..3).map(|one| settings(&result, one)["filesystem of its data"].is_string()).collect();
    assert_eq!(facts, [false, true, true]);

    compare("--keep-data");
    let kept = entries(&disk);
    let [own, _] = &kept[..] else { panic!("the folder of the run is there: {kept:?}") };
    let own = entries(&disk.join(own));
    assert!(own.iter().any(|it| it.starts_with("1-")), "those of b are there: {own:?}");
    assert!(!own.iter().any(|it| it.starts_with("0-")), "and not those of a: {own:?}");
    rqps.run("dbms prune").ok();
    assert_eq!(entries(&disk), kept, "the run may be resumed");
    rqps.run("dbms prune --data").ok().says(&["removed "]);
    assert_eq!(entries(&disk), ["thesis"]);
    rqps.assert_nothing_is_left();
}

#[test]
fn single_runs_have_their_data_on_that_disk_too_and_resume_there() {
    let rqps = Rqps::new();
    let disk = rqps.path("disk");
    fs::create_dir(&disk).unwrap();
    let arguments = format!(
        "sqlite?process.data={} --rows 1K --secs 0.2 --tests point-query --keep-data",
        disk.display()
    );
    rqps.micro(&arguments).ok();
    let of_run = disk.join(&entries(&disk)[0]);
    assert!(entries(&of_run).contains(&"0".to_string()), "{:?}", entries(&of_run));
    rqps.run("dbms prune --data").ok();
    assert!(entries(&disk).is_empty());
    rqps.assert_nothing_is_left();
}
