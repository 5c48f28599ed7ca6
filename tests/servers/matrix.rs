//! A whole matrix from a plan file: what it comes to, its workloads in turn, going on where it was
//! interrupted, and what is said of a file that is wrong.

use std::fs;

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, entries, processes};
use rustix::process::Signal;

/// Two workloads of a second or two.
const TINY: &str = "\
contenders = ['sqlite?cache_size={1000,2000}']
rows = '1K'

[micro.reads]
secs = 1
tests = ['point-query']

[ibench.writes]
only = ['l.i0', 'l.x', 'l.i1', 'l.i2']
";

/// The second can be killed in the middle.
const SLOW: &str = "\
contenders = ['sqlite']
rows = '1K'
[ibench.first]
only = ['l.i0']
[ibench.second]
query-secs = 6
rates = [100]
";

struct Matrix(Rqps);

impl Matrix {
    fn new(text: &str) -> Matrix {
        let matrix = Matrix(Rqps::new());
        matrix.write(text);
        matrix
    }

    fn write(&self, text: &str) {
        fs::write(self.file(), text).unwrap();
    }

    fn file(&self) -> String {
        self.0.path("matrix.toml").display().to_string()
    }

    fn out(&self) -> String {
        self.0.out().display().to_string()
    }

    /// `rqps run` of the file into the directory for results.
    fn start(&self, flags: &[&str]) -> Running {
        let (file, out) = (self.file(), self.out());
        let arguments = ["run", &file, "--out", &out].into_iter().chain(flags.iter().copied());
        Running::start(self.0.command(arguments))
    }

    fn run(&self, flags: &[&str]) -> Finished {
        self.start(flags).finish()
    }

    /// Goes on with what is in the directory for results.
    fn resume(&self) -> Finished {
        self.0.run(&format!("run --resume --out {}", self.out()))
    }

    fn plan(&self) -> Finished {
        self.0.run(&format!("plan {}", self.file()))
    }

    fn result(&self, workload: &str) -> RunResult {
        RunResult::of(&self.0.out().join(workload))
    }

    /// The lines of the summary, from the name of the first workload on.
    fn summary(&self, ended: &Finished, expected: &[(&str, &str)]) {
        let (_, summary) = ended.stdout.rsplit_once("WORKLOAD").expect(&ended.stdout);
        let lines: Vec<&str> = summary.lines().skip(1).collect();
        assert_eq!(lines.len(), expected.len(), "{summary}");
        for (line, (workload, result)) in lines.iter().zip(expected) {
            let words = line.trim().strip_prefix(workload).unwrap_or_else(|| panic!("{summary}"));
            assert!(words.trim().starts_with(result), "{workload} is {result}:\n{summary}");
            let report = self.0.out().join(workload).join("report.html");
            assert_eq!(words.contains(&report.display().to_string()), report.exists(), "{summary}");
        }
    }
}

#[test]
fn workloads_run_in_turn_each_with_a_run_of_its_own() {
    let matrix = Matrix::new(TINY);
    let ended = matrix.run(&[]).ok();
    matrix.summary(&ended, &[("micro-reads", "done"), ("ibench-writes", "done")]);
    assert_eq!(
        entries(&matrix.0.out()),
        ["ibench-writes", "matrix.json", "matrix.toml", "micro-reads"]
    );
    assert_eq!(fs::read_to_string(matrix.0.out().join("matrix.toml")).unwrap(), TINY);
    assert_eq!(matrix.result("micro-reads").steps(), ["load", "point-query"]);
    let writes = matrix.result("ibench-writes");
    assert_eq!(writes.steps(), ["l.i0", "l.x", "l.i1", "l.i2"]);
    writes.assert_all_done();
    let names: Vec<&str> = writes.0["contenders"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["sqlite?cache_size=1000", "sqlite?cache_size=2000"]);
    matrix.0.assert_nothing_is_left();

    matrix.run(&[]).refuses(2, &["already contains a run", "--resume"]);
    // A run's own plan is a matrix of one.
    let again = matrix.0.out().join("ibench-writes/plan.toml").display().to_string();
    let ended = matrix.0.run(&format!("plan {again}")).ok();
    assert!(ended.stdout.contains("l.i0 l.x l.i1 l.i2"), "{}", ended.stdout);
    let ended = matrix.0.run(&format!("plan {again} --json")).ok();
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect(&ended.stdout);
    let steps = ["l.i0", "l.x", "l.i1", "l.i2"];
    assert_eq!(json["workloads"][0]["steps"], serde_json::json!(steps));
    assert!(json["seconds"]["total"].as_f64().unwrap() > 0.0, "{json}");
    assert!(json["data_bytes"].as_u64().unwrap() > 0, "{json}");
    let other = matrix.0.path("again").display().to_string();
    matrix.0.run(&format!("run {again} --out {other}")).ok();
    RunResult::of(&matrix.0.path("again/ibench")).assert_all_done();
}

#[test]
fn some_of_the_workloads_can_be_run_and_the_others_later() {
    let matrix = Matrix::new(TINY);
    let ended = matrix.run(&["--only", "writes", "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect(&ended.stdout);
    assert_eq!(json["workloads"].as_array().unwrap().len(), 1);
    assert_eq!(json["workloads"][0]["workload"], "ibench-writes");
    assert_eq!(json["workloads"][0]["outcome"], "done");
    assert!(!matrix.0.out().join("micro-reads").exists());

    let before = matrix.result("ibench-writes").0;
    let ended = matrix.resume().ok();
    matrix.summary(&ended, &[("micro-reads", "done"), ("ibench-writes", "done")]);
    assert!(!ended.stderr.contains("ibench-writes ("), "it is done:\n{}", ended.stderr);
    assert_eq!(matrix.result("ibench-writes").0, before);
    matrix.run(&["--resume", "--only", "raeds"]).refuses(2, &["'raeds'", "micro-reads"]);

    // Workloads can be added, but not changed under what was measured.
    matrix.write(&TINY.replace("secs = 1", "secs = 2"));
    matrix.run(&["--resume"]).refuses(2, &["micro-reads' was started with another plan"]);
}

#[test]
fn a_killed_matrix_goes_on_where_it_was() {
    let matrix = Matrix::new(SLOW);
    let running = matrix.start(&[]);
    running.wait_for("qr100 (5 of 6)");
    processes::kill(running.pid());
    running.finish();
    matrix.0.await_no_process();
    let first = matrix.result("ibench-first").0;

    let ended = matrix.resume().ok();
    matrix.summary(&ended, &[("ibench-first", "done"), ("ibench-second", "done")]);
    assert_eq!(matrix.result("ibench-first").0, first, "what is done stays");
    let second = matrix.result("ibench-second");
    second.assert_all_done();
    assert_eq!(second.step("l.i2")["attempt"], 1, "steps that were done are kept");
    assert_eq!(second.step("qr100")["attempt"], 2);
    matrix.0.assert_nothing_is_left();
}

#[test]
fn an_interruption_ends_the_matrix_and_says_how_to_go_on() {
    let matrix = Matrix::new(&format!("{SLOW}[micro.last]\ntests = ['point-query']\n"));
    let running = matrix.start(&[]);
    running.wait_for("qr100 (5 of 6)");
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130).says(&["rqps run --resume --out"]);
    let expected =
        [("ibench-first", "done"), ("ibench-second", "interrupted"), ("micro-last", "not started")];
    matrix.summary(&ended, &expected);
}

#[test]
fn a_failed_workload_does_not_end_the_matrix() {
    // Nobody listens there, which is found when it begins.
    let matrix = Matrix::new(&format!(
        "{TINY}[ibench.remote]\ncontenders = 'postgres://ann:s3cret@127.0.0.1:1/db'\n\
         [ibench.last]\nonly = ['l.i0']\n"
    ));
    let ended = matrix.run(&["--only", "remote,last"]).expect_code(3);
    matrix.summary(&ended, &[("ibench-remote", "failed"), ("ibench-last", "done")]);
    let kept = fs::read_to_string(matrix.0.out().join("matrix.toml")).unwrap();
    assert!(kept.contains("postgres://ann@127.0.0.1:1/db") && !kept.contains("s3cret"));
}

#[test]
fn what_is_wrong_with_a_plan_is_told_with_its_line_before_anything_begins() {
    let matrix = Matrix::new(TINY);
    for (from, to, texts) in [
        ("secs = 1", "sces = 1", &["line 5: unknown key 'sces': did you mean 'secs'?"][..]),
        ("'point-query'", "'point-qeury'", &["line 6: micro.reads", "did you mean 'point-query'"]),
        ("[ibench.writes]", "[ibnech.writes]", &["line 8: ", "did you mean 'ibench'"]),
        ("{1000,2000}", "{1000,2000", &["line 1: ", "without a '}'"]),
        ("{1000,2000}", "1&jurnal_mode=wal", &["micro-reads: ", "did you mean 'journal_mode'"]),
    ] {
        matrix.write(&TINY.replacen(from, to, 1));
        let ended = matrix.run(&[]).expect_code(2).says(texts);
        assert!(!matrix.0.out().exists(), "{}", ended.stderr);
    }
    matrix.0.run("run nowhere.toml").refuses(2, &["cannot read plan 'nowhere.toml'"]);
    matrix.0.run("plan nowhere.toml").refuses(2, &["cannot read plan 'nowhere.toml'"]);
    matrix.resume().refuses(2, &["contains no matrix"]);
}

#[test]
fn a_plan_is_shown_with_time_and_disk() {
    let matrix = Matrix::new(TINY);
    let ended = matrix.plan().ok();
    for text in [
        "micro-reads: microbenchmarks, 1K rows",
        "sqlite?cache_size=2000",
        "load point-query",
        "l.i0 l.x l.i1 l.i2",
        "ESTIMATE",
        "total",
        "140 on sqlite",
        "nothing to fetch",
        "These are estimates",
    ] {
        assert!(ended.stdout.contains(text), "'{text}' is missing:\n{}", ended.stdout);
    }
    assert!(!matrix.0.out().exists() && !ended.stderr.contains("disk space"), "{}", ended.stderr);
    matrix.write("contenders = ['postgres@17.6', 'mysql@1.2.3']\n[ibench.huge]\nrows = '100G'\n");
    let ended = matrix.plan().ok().says(&["not enough disk space"]);
    assert!(ended.stdout.contains("builds to fetch: ") && ended.stdout.contains("mysql@1.2.3"));
}

#[test]
fn braces_stand_for_several_contenders_on_the_command_line() {
    let rqps = Rqps::new();
    rqps.ibench("{a,b}=sqlite --rows 1K --only l.i0").ok();
    let result = RunResult::of(&rqps.out());
    assert_eq!(result.0["contenders"].as_array().unwrap().len(), 2);
    rqps.ibench("sqlite{ --rows 1K").refuses(2, &["'sqlite{' has a '{' without a '}'"]);
}
