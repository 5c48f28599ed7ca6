//! A fleet on this machine: cells are idempotent, resumed when they were killed, and never measured
//! twice at once; what is wrong is told.

use std::fs;

use crate::common::fleets::SmallFleet;
use crate::common::{Rqps, Running, await_that, entries, processes};
use rustix::process::Signal;
use serde_json::{Value, json};

const LOCAL: &str = "[on.local]\n[[machine]]\nname = 'here'\n";
const TWICE: &str = "repeats = 2\n[on.local]\n[[machine]]\nname = 'here'\n";

#[test]
fn cells_are_measured_once_and_reported() {
    let rqps = Rqps::with_own_locks();
    let fleet = SmallFleet::new(&rqps, TWICE);
    let waiting: Vec<String> = fleet.states().into_iter().map(|(_, state)| state).collect();
    assert_eq!(waiting, ["waiting", "waiting"]);
    fleet.on_dir("report").refuses(2, &["no cell is done yet"]);
    let shown = fleet.verb(&format!("submit {} --dry-run", fleet.dir().display())).ok();
    assert_eq!(shown.stdout.matches("fleet cell").count(), 2, "{}", shown.stdout);
    assert!(fleet.states().iter().all(|(_, state)| state == "waiting"), "nothing was begun");

    fleet.on_dir("submit").ok();
    assert!(fleet.states().iter().all(|(_, state)| state == "done"));
    let cells = fleet.cells();
    let before: Vec<_> = cells.iter().map(|id| entries(&fleet.cell(id).join("run"))).collect();
    for id in &cells {
        let again = fleet.verb(&format!("cell {} {id}", fleet.dir().display())).ok();
        again.says(&["is done"]);
        assert_eq!(fleet.attempts(id), [json!("measured")]);
        assert_eq!(entries(&fleet.cell(id)), ["attempts", "cell.toml", "run"]);
    }
    let after: Vec<_> = cells.iter().map(|id| entries(&fleet.cell(id).join("run"))).collect();
    assert_eq!(before, after);
    fleet.on_dir("submit").ok().says(&["no cell is to be handed over"]);

    let report = fleet.on_dir("report").ok();
    assert!(report.stdout.contains("again against sqlite on 1 machine"), "{}", report.stdout);
    let result = fs::read_to_string(fleet.dir().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&result).unwrap();
    assert_eq!(result["machines"][0]["runs"], json!(["here", "here (2)"]), "one machine");
    assert_eq!(result["missing"], json!([]));
    for file in ["report.html", "summary.md"] {
        assert!(fleet.dir().join(file).is_file(), "{file}");
    }
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn a_cell_that_is_killed_is_resumed_and_a_second_process_is_sent_away() {
    let rqps = Rqps::with_own_locks();
    let fleet = SmallFleet::long(&rqps, LOCAL);
    let id = fleet.cells().remove(0);
    let words =
        ["fleet".to_string(), "cell".to_string(), fleet.dir().display().to_string(), id.clone()];
    let begun = Running::start(rqps.command(&words));
    begun.wait_for("round 2");
    let sent_away = Running::start(rqps.command(&words)).finish().expect_code(75);
    sent_away.says(&["is being measured by"]);
    assert_eq!(fleet.attempts(&id), [Value::Null], "it was no attempt");
    let (_, state) = fleet.states().remove(0);
    assert_eq!(state, "running");
    let retry = format!("retry {} {id}", fleet.dir().display());
    fleet.verb(&retry).refuses(75, &["is being measured by"]);

    processes::kill(begun.pid());
    begun.finish();
    rqps.await_no_process();
    fleet.on_dir("status").ok();
    assert_eq!(fleet.states()[0].1, "waiting");
    // TERM is an orderly end, and TERM is what schedulers send.
    let interrupted = Running::start(rqps.command(&words));
    interrupted.wait_for("round");
    fleet.on_dir("cancel").ok();
    interrupted.finish().expect_code(130);
    assert_eq!(fleet.attempts(&id), [Value::Null, json!("interrupted")]);

    Running::start(rqps.command(&words)).finish().ok();
    assert_eq!(fleet.attempts(&id).len(), 3);
    assert_eq!(fleet.rounds(&id), 12, "no round is lost, and none is measured twice");
    assert_eq!(fleet.states()[0].1, "done");
    rqps.assert_nothing_is_left();
}

/// Whatever a scheduler says, a machine measures one thing at a time.
#[test]
fn a_machine_that_measures_something_else_is_busy() {
    let rqps = Rqps::with_own_locks();
    let fleet = SmallFleet::long(&rqps, TWICE);
    let cells = fleet.cells();
    let words = |id: &String| {
        let dir = fleet.dir().display().to_string();
        ["fleet".to_string(), "cell".to_string(), dir, id.clone()]
    };
    let first = Running::start(rqps.command(words(&cells[0])));
    first.wait_for("round 1");
    let second = Running::start(rqps.command(words(&cells[1]))).finish().expect_code(75);
    second.says(&["another session is measuring on this machine"]);
    assert_eq!(fleet.attempts(&cells[1]), [json!("busy")]);
    assert_eq!(fleet.states()[1].1, "waiting", "it is tried again");
    processes::signal(first.pid(), Signal::TERM);
    first.finish().expect_code(130);
}

#[test]
fn what_is_not_as_it_was_planned_is_refused() {
    let rqps = Rqps::new();
    let fleet = SmallFleet::new(&rqps, LOCAL);
    let id = fleet.cells().remove(0);
    let dir = fleet.dir().display().to_string();
    let refuses = |words: &str, texts: &[&str]| {
        fleet.verb(words).refuses(2, texts);
    };
    refuses(&format!("cell {dir} nothing"), &["cell 'nothing' is not in this fleet"]);
    refuses(&format!("cell {dir} {id} --fleet 0000"), &["is the folder of another fleet"]);
    refuses("cell /nowhere abc", &["is not the folder of a fleet", "rqps fleet plan"]);
    refuses(&format!("cell {dir} --of ../x"), &["submissions"]);
    refuses(&format!("retry {dir} nothing"), &["is not in this fleet"]);
    refuses(&format!("collect {dir}"), &["share the fleet's folder"]);

    let spec = fleet.cell(&id).join("cell.toml");
    let text = fs::read_to_string(&spec).unwrap();
    fs::write(&spec, text.replace("seed = 1", "seed = 2")).unwrap();
    refuses(&format!("cell {dir} {id}"), &["was changed after it was planned"]);
    assert_eq!(fleet.states()[0].1, "damaged");
    fs::write(&spec, text).unwrap();

    // A new plan leaves what is there.
    fleet.write(&LOCAL.replace("here", "there"));
    fleet.verb(&format!("plan {} --out {dir}", fleet.file().display())).ok();
    let status = fleet.on_dir("status").ok();
    assert!(status.stdout.contains("1 more of an earlier plan"), "{}", status.stdout);
}

#[test]
fn what_a_fleet_cannot_have_is_told_when_it_is_planned() {
    let rqps = Rqps::new();
    let plan = |fleet: &str, plan: &str, texts: &[&str]| {
        fs::write(rqps.path("plan.toml"), plan).unwrap();
        fs::write(rqps.path("fleet.toml"), fleet).unwrap();
        let file = rqps.path("fleet.toml").display().to_string();
        rqps.run(&format!("fleet plan {file}")).refuses(2, texts);
    };
    let file = format!("plan = 'plan.toml'\n{LOCAL}");
    let compare = "contenders = ['sqlite', 'again=sqlite']\n[compare.a]\nworkload = 'micro:scan'\n";
    plan(&file, "contenders = ['sqlite']\n[micro.a]\n", &["micro-a", "[compare.NAME]"]);
    plan(&file, &compare.replace("'sqlite',", "'sqlite@./lib.so',"), &["sqlite@./lib.so"]);
    plan(&file, "[compare.a]\nnonsense = 1\n", &["plan.toml", "line"]);
    plan("plan = 'missing.toml'\n[on.local]\n[[machine]]\nname = 'a'", compare, &["missing.toml"]);
    plan(&file.replace("here", "he/re"), compare, &["fleet.toml: line 3", "he/re"]);
    plan(&file.replace("local", "moon"), compare, &["fleet.toml: line 2", "moon"]);
    let many = file.replace("[on", "repeats = 100\n[on");
    let names = (0..11).map(|at| format!("[[machine]]\nname = 'm{at}'\n")).collect::<String>();
    plan(&(many + &names), compare, &["1200 cells", "--yes"]);
    rqps.run("fleet plan /nowhere/fleet.toml").refuses(2, &["cannot read fleet file"]);
}

/// Nothing of a run is lost when the folder cannot be written to any more.
#[test]
fn a_folder_that_cannot_be_written_to_is_told() {
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let rqps = Rqps::with_own_locks();
    let fleet = SmallFleet::new(&rqps, LOCAL);
    let id = fleet.cells().remove(0);
    let dir = fleet.dir().display().to_string();
    let mounts = format!("mount --bind {dir} {dir} && mount -o remount,ro,bind {dir}");
    let mut command = std::process::Command::new("unshare");
    let script = format!(r#"{mounts} && exec "$0" "$@""#);
    command.args(["--mount", "bash", "-c", &script, env!("CARGO_BIN_EXE_rqps")]);
    command.args(["fleet", "cell", &dir, &id]).env("RQPS_HOME", rqps.home());
    let Ok(said) = command.output() else { return };
    if said.status.code() == Some(1) {
        // This machine does not allow mounts.
        return;
    }
    let told = String::from_utf8_lossy(&said.stderr);
    assert_eq!(said.status.code(), Some(3), "{told}");
    assert!(told.contains("Read-only file system") || told.contains("read-only"), "{told}");
    await_that("it is over", || fleet.states()[0].1 == "waiting");
}
