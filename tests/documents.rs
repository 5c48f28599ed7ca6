//! What pages say of commands that no test runs, of runs that are kept, and of the exercises.

#[path = "common/pages.rs"]
#[allow(dead_code)] // It is shared with the tests that run the commands.
mod pages;

use std::fs;
use std::process::Command;

use pages::{Page, pages, root};

/// What no test runs, by how the command begins, and why. Every other command of a page is run.
const NOT_RUN: [(&str, &str); 36] = [
    (
        "rqps compare old=postgres@17.6 new=postgres@18.0 --workload micro:point-query --",
        "tests/servers/latency.rs compares at a rate and at a level, which take minutes here",
    ),
    (
        "rqps compare postgres@17.6 'jemalloc=",
        "tests/servers/configs.rs starts servers with a library that every machine can make",
    ),
    ("rqps compare postgres@17.6 ours=", "tests/servers/images.rs starts servers of images"),
    (
        "rqps tpcc postgres@18",
        "tests/servers/tpcc.rs has clients that think for less than a minute",
    ),
    ("rqps bisect", "tests/servers/bisect.rs searches in a repository of its own"),
    ("git bisect run", "tests/servers/bisect.rs runs it with a small library"),
    ("rqps sql capture", "tests/servers/capture.rs captures from servers and their logs"),
    ("rqps dbms clean", "tests/servers/guest clean servers with it that have something to clean"),
    ("rqps compare old=postgres://", "tests/servers/guest/compare.rs compares servers"),
    ("rqps compare direct=postgres://", "tests/servers/guest/compare.rs compares a pooler"),
    ("rqps compare base=postgres://", "tests/servers/guest/compare.rs compares settings"),
    ("rqps compare base=mysql://", "tests/servers/guest/mysql.rs compares settings"),
    (".ci/run", "it runs tests"),
    (".ci/nightly", "it runs these tests"),
    ("rqps dbms build", "it builds a DBMS for minutes; tests/servers/build.rs builds a small one"),
    ("rqps compare postgres@src-15.18 postgres@src-18.6", "it builds both first"),
    ("rqps compare postgres@src-15.18 postgres@src-15.18+Os-g", "it builds both first"),
    ("rqps compare postgres@src-18.6 postgres@src-18.6+clang", "it needs a build with clang"),
    ("cargo install", "it builds rqps, or what packs it, once more"),
    ("cargo build", "it builds rqps once more"),
    ("packaging/deb", "it builds rqps once more"),
    (
        "cargo run --release -p rqps-report --example large",
        "it builds an example of rqps's sources",
    ),
    ("fuzz/run", "it builds rqps's clients with coverage, and runs for a minute each"),
    (
        "tests/cgroup2/run",
        "it boots another kernel and emulates its machine, a quarter of an hour long",
    ),
    ("cargo bench", "it builds a benchmark, which takes minutes for each DBMS"),
    ("cargo test", "these are the tests"),
    ("UPDATE_EXPECT=1 cargo test", "a test of these, which would change the pages"),
    ("PROPTEST_CASES=20000 cargo test", "a test of these, with many more cases"),
    ("RQPS_SOAK_SECS=3600 cargo test", "a test that takes an hour, and a minute at least"),
    (
        "rqps compare rocksdb@",
        "tests/servers/rocksdb.rs compares versions, with less of everything",
    ),
    ("rqps fleet", "tests/servers/fleet.rs and tests/nightly/fleet run all of its verbs"),
    ("rqps dbbench", "tests/servers/rocksdb.rs runs it, with less of everything"),
    ("rqps track ack", "tests/servers/track.rs says such words, of changes that it has made"),
    ("rqps track note", "tests/servers/track.rs says such words, of builds that it has"),
    ("rqps selftest", "tests/nightly/selftest.rs runs it, with less of everything"),
    (
        "rqps compare postgres@15 postgres@17 --workload micro:hot-points --profile",
        "tests/servers/profiles.rs profiles a server, which takes eight runs more",
    ),
];

#[test]
fn what_is_not_run_has_a_reason() {
    let mut unused: Vec<&str> = NOT_RUN.iter().map(|(start, _)| *start).collect();
    for block in pages().iter().flat_map(Page::blocks).filter(|block| block.is(&["sh", "parse"])) {
        for line in block.text.lines() {
            let found = NOT_RUN.iter().find(|(start, _)| line.starts_with(start));
            let Some((start, _)) = found else {
                panic!("{}: why is it not run? {line}", block.place)
            };
            unused.retain(|other| other != start);
        }
    }
    assert!(unused.is_empty(), "no page has {unused:?}");
}

#[test]
fn the_verdicts_in_the_readme_are_those_of_the_run_that_it_names() {
    let read = |name: &str| fs::read_to_string(root().join(name)).unwrap();
    let (readme, found) = (read("README.md"), read("reproductions/03-short-ranges/summary.md"));
    // The summary that is kept calls the MDE by an earlier name.
    let found = found.replace("could have seen", "MDE");
    let (_, from) = readme.split_once("| test | rQPS |").unwrap();
    let (table, _) = from.split_once("\n\n").unwrap();
    assert!(found.contains(table), "{table}\n{found}");
}

/// How many files a patch of the exercises may change: a workload is its data and a file with its
/// operations, each with a row in a table; a DBMS has its connections, too.
const EXERCISES: [(&str, usize); 2] = [("workload.patch", 6), ("dbms.patch", 8)];

/// The nightly tests build rqps with each patch, and measure with it.
#[test]
fn the_exercises_apply_to_these_sources_and_change_few_files() {
    let folder = root().join("docs/exercises");
    let page = fs::read_to_string(folder.join("README.md")).unwrap();
    let git = |arguments: &[&str], patch: &str| {
        let mut git = Command::new("git");
        git.arg("apply").args(arguments).arg(folder.join(patch)).current_dir(root());
        let output = git.output().unwrap();
        let (said, errors) = (output.stdout, String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "docs/exercises/README.md says what to do: {errors}");
        String::from_utf8(said).unwrap()
    };
    for (patch, most) in EXERCISES {
        git(&["--check"], patch);
        let changed = git(&["--numstat"], patch);
        assert!(changed.lines().count() <= most, "{patch}, at most {most} files:\n{changed}");
        for line in git(&["--stat"], patch).lines() {
            assert!(page.contains(line.trim_end()), "docs/exercises/README.md has no '{line}'");
        }
    }
}
