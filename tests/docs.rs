//! What the documentation tells people to type works, in the order in which a page has it.

mod common;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use common::pages::{Page, pages, root, workflow};
use common::{Rqps, can_limit_memory};

/// A comparison may find a regression: its exit code is a verdict, and no failure of the page.
/// Manual pages are shown where there is something to show them with. With `$FEW` a comparison takes
/// seconds, with `$SHORT` the Insert Benchmark.
const PRELUDE: &str = r#"
    rqps() { command rqps "$@" || [ "$? $1" = "1 compare" ]; }
    command -v man > /dev/null || man() { cat > /dev/null; }
    FEW='--rows 10K --secs 0.2 --rounds 3 --loads 1 --no-twin --no-guards'
    SHORT='--rows 10K --writes 1K,100 --rates 100 --query-secs 1'
"#;

/// What a page takes for granted, and what it is run with.
struct Given {
    page: &'static str,
    /// Run before its first block, and after its last.
    before: &'static str,
    after: &'static str,
    /// In blocks marked `sh,small` the second stands for the first.
    small: &'static [(&'static str, &'static str)],
    /// It holds servers to little memory, which not every machine lets rqps do.
    limits_memory: bool,
}

const NOTHING: Given = Given { page: "", before: "", after: "", small: &[], limits_memory: false };

static GIVEN: [Given; 6] = [
    Given {
        page: "README.md",
        before: "rqps compare sqlite again=sqlite --workload micro:point-query $FEW --out out/18
                 rqps ibench postgres@17.6 $SHORT --out other/pg",
        small: &[("--rows 200K --writes 40K,5K --query-secs 5", "$SHORT")],
        ..NOTHING
    },
    Given {
        page: "docs/io-bound.md",
        small: &[
            ("postgres@17.6 postgres@18.0 --rows 10M", "postgres@17.6 --rows 300K --rates 100"),
            ("--query-secs 300", "--query-secs 1 --writes 1K,100"),
        ],
        limits_memory: true,
        ..NOTHING
    },
    Given {
        page: "docs/microbenchmarks.md",
        small: &[("--secs 4", "--secs 0.3 --rows 10K")],
        ..NOTHING
    },
    Given {
        page: "docs/own-build.md",
        before: "rqps dbms fetch postgres@npm-17.6 postgres@npm-18.0",
        small: &[
            ("/opt/pg/base", "$RQPS_HOME/builds/postgres-17.6-npm"),
            ("/opt/pg/head", "$RQPS_HOME/builds/postgres-18.0-npm"),
            ("--out out/patch", "--workload micro:point-query $FEW --out out/patch"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/remote-server.md",
        before: "rqps dbms start postgres@17.6 > postgres.url
                 rqps dbms start mysql@8.0.33 > mysql.url",
        after: "rqps dbms stop --all",
        small: &[
            ("postgres://bench@db.example/bench", "\"$(cat postgres.url)\""),
            ("--rows 1M --query-secs 60", "$SHORT"),
            ("mysql://bench@db.example:3306/test", "\"$(cat mysql.url)\""),
            ("point,range --secs 30", "point-query --secs 0.2 --rows 2K"),
            ("in 1 2 3 4", "in 1 2"),
            ("postgres://bench@$host.example/bench", "$(cat postgres.url)"),
            ("point --secs 30", "point-query --secs 0.2 --rows 2K"),
        ],
        ..NOTHING
    },
    Given {
        page: "docs/tutorial.md",
        small: &[("--out out/pg17", "$FEW --out out/pg17")],
        ..NOTHING
    },
];

/// Runs a script in the working directory, with rqps on the path.
fn run(rqps: &Rqps, script: &str, place: &str) {
    let programs = rqps.path("programs");
    if !programs.exists() {
        fs::create_dir(&programs).unwrap();
        symlink(env!("CARGO_BIN_EXE_rqps"), programs.join("rqps")).unwrap();
    }
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("{PRELUDE}\n{script}")])
        .current_dir(rqps.work())
        .env("RQPS_HOME", rqps.home())
        .env("PATH", format!("{}:{path}", programs.display()))
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{place}: {}\n{told}", output.status);
}

/// Runs the commands of a page.
fn run_page(rqps: &Rqps, page: &Page, given: &Given) {
    run(rqps, given.before, &page.name);
    let mut unused: Vec<&str> = given.small.iter().map(|(from, _)| *from).collect();
    for block in page.blocks() {
        if let Some(file) = block.file() {
            fs::write(rqps.work().join(file), &block.text).unwrap();
        }
        let mut script = block.text.clone();
        if block.is(&["sh", "small"]) {
            for (from, to) in given.small {
                unused.retain(|unused| unused != from || !script.contains(from));
                script = script.replace(from, to);
            }
            assert_ne!(script, block.text, "{}: what is to be smaller?", block.place);
        } else if !block.is(&["sh"]) {
            continue;
        }
        run(rqps, &script, &block.place);
    }
    assert!(unused.is_empty(), "{} has no {unused:?}", page.name);
    run(rqps, given.after, &page.name);
}

/// Names of the files in the directories of runs.
fn files_below(folder: &Path, names: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => files_below(&entry.path(), names),
            false => names.push(entry.file_name().into_string().unwrap()),
        }
    }
}

/// Every file in the directories of runs is described.
fn assert_files_are_described(rqps: &Rqps) {
    let described = fs::read_to_string(root().join("docs/files.md")).unwrap();
    let mut files = Vec::new();
    files_below(&rqps.work().join("out"), &mut files);
    for file in files {
        // Logs are called after what they are of.
        let name = file.rsplit_once('.').filter(|(_, kind)| ["log", "hlog"].contains(kind));
        let name = name.map_or(file.clone(), |(_, kind)| format!("*.{kind}"));
        let is_there =
            ["`", "/"].iter().any(|start| described.contains(&format!("{start}{name}`")));
        assert!(is_there, "docs/files.md lacks {name}");
    }
}

#[test]
fn every_command_does_what_its_page_says_and_every_file_it_leaves_is_described() {
    let mut ran = Vec::new();
    for page in pages() {
        let is_run = |info: &[&str]| page.blocks().iter().any(|block| block.is(info));
        if !is_run(&["sh"]) && !is_run(&["sh", "small"]) {
            continue;
        }
        let given = GIVEN.iter().find(|given| given.page == page.name).unwrap_or(&NOTHING);
        if given.limits_memory && !can_limit_memory() {
            continue;
        }
        // One comparison measures on a machine at a time.
        let rqps = Rqps::alone();
        run_page(&rqps, &page, given);
        rqps.assert_no_server_is_left();
        assert_files_are_described(&rqps);
        ran.push(page.name);
    }
    assert!(ran.contains(&"docs/tutorial.md".to_string()), "{ran:?}");
}

#[test]
fn the_documented_gate_compares_two_builds_and_shows_the_verdicts() {
    let rqps = Rqps::alone();
    let workflow = workflow();
    let steps = workflow["jobs"]["compare"]["steps"].as_array().unwrap();
    let step = |name: &str| {
        let step = steps.iter().find(|step| step["name"] == name);
        step.and_then(|step| step["run"].as_str()).unwrap_or_else(|| panic!("no step '{name}'"))
    };
    let (long, short) = ("point,range --budget 30m --confirm", "point-query $FEW --confirm=3");
    let compare = step("Compare").replace(long, short);
    assert!(compare.contains(short), "{compare}");
    let show = step("Show the verdicts");
    let script = format!(
        "rqps dbms fetch postgres@npm-17.6 postgres@npm-18.0
         export RUNNER_TEMP=$PWD/temp GITHUB_STEP_SUMMARY=$PWD/shown
         mkdir $RUNNER_TEMP
         ln -s $RQPS_HOME/builds/postgres-17.6-npm $RUNNER_TEMP/base
         ln -s $RQPS_HOME/builds/postgres-18.0-npm $RUNNER_TEMP/head
         {compare}\n{show}"
    );
    run(&rqps, &script, "docs/ci-gate.md");
    let shown = fs::read_to_string(rqps.work().join("shown")).unwrap();
    assert!(shown.contains("point-query"), "{shown}");
    let verdicts = fs::read_to_string(rqps.work().join("out/pr.xml")).unwrap();
    assert!(verdicts.contains(r#"name="point-query""#), "{verdicts}");
    rqps.assert_nothing_is_left();
}

#[test]
fn every_reproduction_is_a_plan_that_can_be_run() {
    let rqps = Rqps::new();
    let mut plans = 0;
    for entry in fs::read_dir(root().join("reproductions")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let shown = rqps.run(&format!("plan {}", path.display())).ok().stdout;
            assert!(shown.contains("in all"), "{}: {shown}", path.display());
            plans += 1;
        }
    }
    assert!(plans > 10, "{plans}");
}
