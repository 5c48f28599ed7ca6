//! The changes for a new DBMS and a new workload: `docs/exercises` has a patch with one of each,
//! which is applied to a copy of the sources, built, and used for one measurement. How many files
//! they change is held by `tests/documents.rs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use serde_json::Value;
use tempfile::TempDir;

use crate::common::{directory, lock};

#[test]
fn a_workload_is_added_and_measures() {
    let exercise = Exercise::of("workload.patch");
    let small = ["--rows", "1K", "--secs", "0.3"];
    let single = exercise.measures(&[&["lookup", "sqlite"], &small[..]].concat());
    assert!(rate(&single, "lookup") > 0.0, "{single}");
    let slices = ["--rounds", "3", "--no-guards", "--workload", "lookup"];
    let compared = ["compare", "a=sqlite", "b=sqlite"];
    let compared = exercise.measures(&[&compared[..], &small, &slices].concat());
    let tests = compared["comparison"]["contenders"][0]["tests"].as_array().unwrap();
    assert_eq!(tests.len(), 1, "{compared}");
}

#[test]
fn a_dbms_is_added_and_measured() {
    let exercise = Exercise::of("dbms.patch");
    let tests = ["micro", "duckdb@1.5", "--tests", "point-query,update-nonindex"];
    let result = exercise.measures(&[&tests[..], &["--rows", "1K", "--secs", "0.3"]].concat());
    for test in ["point-query", "update-nonindex"] {
        assert!(rate(&result, test) > 0.0, "{result}");
    }
}

/// The throughput of a step.
fn rate(result: &Value, step: &str) -> f64 {
    let steps = result["steps"].as_array().unwrap();
    let step = steps.iter().find(|one| one["name"] == step).unwrap();
    step["results"][0]["throughput"].as_f64().unwrap()
}

/// The sources with a patch.
struct Exercise {
    folder: TempDir,
    rqps: PathBuf,
}

impl Exercise {
    fn of(patch: &str) -> Exercise {
        // Common parts are built once. Cargo goes by times, so the sources must be newer than the
        // builds of others.
        static ONE: Mutex<()> = Mutex::new(());
        let _one = lock(&ONE);
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = directory();
        let sources = folder.path().join("rqps");
        fs::create_dir(&sources).unwrap();
        let copy = r#"git ls-files -z | xargs -0 cp --parents --target-directory "$0""#;
        done(Command::new("bash").args(["-c", copy]).arg(&sources).current_dir(root));
        let patch = root.join("docs/exercises").join(patch);
        done(Command::new("git").arg("apply").arg(&patch).current_dir(&sources));
        let target = root.join("target/exercises");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--locked", "--target-dir"]).arg(&target);
        done(cargo.current_dir(&sources));
        let rqps = folder.path().join("with-patch");
        fs::copy(target.join("debug/rqps"), &rqps).unwrap();
        Exercise { folder, rqps }
    }

    /// The result of a command.
    fn measures(&self, arguments: &[&str]) -> Value {
        let out = self.folder.path().join(arguments[0]);
        let mut command = Command::new(&self.rqps);
        command
            .env("RQPS_HOME", self.folder.path().join("home"))
            .args(arguments)
            .args(["--json", "--out"])
            .arg(out);
        serde_json::from_str(&said(&mut command)).unwrap()
    }
}

fn done(command: &mut Command) {
    assert!(command.status().unwrap().success(), "{command:?}");
}

fn said(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (said, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8(said).unwrap()
}
