//! `rqps bisect` in repositories whose truth is known, and `rqps compare --git-exit` under a real
//! `git bisect run`.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::history::{Change, History, change, git, shim, sixty_four};
use crate::common::result::Finished;
use crate::common::{Rqps, Running, entries, processes};

/// Turns that slow a point query by more than the noise of a machine that runs other tests: 250 of
/// them were 4 %, which such a machine cannot tell.
const SPIN: u32 = 2_000;

/// A home of its own, since the builds are of use to no other test, and a history.
struct World {
    rqps: Rqps,
    history: History,
}

impl World {
    fn new(changes: &[Change]) -> World {
        let rqps = Rqps::with_own_locks();
        let history = History::new(rqps.root(), changes);
        World { rqps, history }
    }

    fn out(&self) -> PathBuf {
        self.rqps.path("out")
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.rqps.command(["bisect"].iter().chain(arguments));
        command.env("RQPS_HOME", self.rqps.path("own"));
        Running::start(command)
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    fn search(&self) -> Vec<String> {
        self.history.search(&self.out())
    }

    fn result(&self) -> Value {
        let text = fs::read_to_string(self.out().join("bisect.json")).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

fn words(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[test]
#[ignore = "nightly: takes minutes"]
fn the_culprit_among_sixty_four_commits_is_found() {
    let world = World::new(&sixty_four(41, SPIN));
    let before = git(&world.history.repo, &["status", "--porcelain"]);
    let began = Instant::now();
    let ended = world.run(&words(&world.search())).ok();
    let took = began.elapsed();
    println!("{}{}took {took:?}", ended.stderr, ended.stdout);
    let result = world.result();
    assert_eq!(result["kind"], "found", "{}", ended.stdout);
    assert_eq!(result["found"]["commits"][0]["subject"], "the culprit");
    let comparisons = result["comparisons"].as_array().unwrap();
    assert!(comparisons.len() <= 12, "{} comparisons", comparisons.len());
    assert!(ended.stdout.contains("fresh rounds: -"), "{}", ended.stdout);
    // The checkout is as it was.
    assert_eq!(git(&world.history.repo, &["status", "--porcelain"]), before);
    assert!(!world.history.repo.join(".git/worktrees").exists());
}

#[test]
#[ignore = "nightly: builds that are alike differ by chance in one of forty"]
fn nothing_is_found_where_nothing_changed() {
    let world = World::new(&sixty_four(65, 0));
    let ended = world.run(&words(&world.search())).ok();
    let result = world.result();
    assert_eq!(result["kind"], "nothing", "{}", ended.stdout);
    assert_eq!(result["comparisons"].as_array().unwrap().len(), 1);
    // The end is written: there is nothing to resume, and nothing is measured again.
    let out = world.out().display().to_string();
    let again = world.run(&["--resume", "--out", &out]).ok();
    assert_eq!(again.stdout, ended.stdout);
}

fn few(culprit: usize, spin: u32) -> Vec<Change> {
    let one = |place: usize| {
        let turns = if place >= culprit { spin } else { 0 };
        change(&format!("change {place}"), shim(turns, &format!("{place}"), ""))
    };
    (0..=8).map(one).collect()
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn an_interrupted_search_goes_on_where_it_was() {
    let world = World::new(&few(6, SPIN));
    let running = world.start(&words(&world.search()));
    running.wait_for("comparison 2: ");
    processes::signal(running.pid(), Signal::INT);
    let ended = running.finish().expect_code(130);
    assert!(ended.stderr.contains("To resume: rqps bisect --resume --out"), "{}", ended.stderr);
    let out = world.out().display().to_string();
    // What is known until now is told.
    let report = |more: &[&str]| {
        Running::start(world.rqps.command(["report", out.as_str()].iter().chain(more))).finish()
    };
    let told = report(&[]).ok().stdout;
    assert!(told.starts_with("sqlite: 8 commits from v1 to main\nundecided"), "{told}");
    let ended = world.run(&["--resume", "--out", &out]).ok();
    assert!(!ended.stderr.contains("comparison 1: "), "{}", ended.stderr);
    assert_eq!(world.result()["found"]["commits"][0]["subject"], "change 6", "{}", ended.stdout);
    // The report is the same when it is made again from the directory.
    let read = |name: &str| fs::read_to_string(world.out().join(name)).unwrap();
    let files = ["bisect.json", "bisect.txt", "report.html", "summary.md"];
    let written = files.map(read);
    files.iter().for_each(|name| fs::remove_file(world.out().join(name)).unwrap());
    assert_eq!(report(&[]).ok().stdout, ended.stdout);
    assert_eq!(files.map(read), written);
    assert_eq!(report(&["--format", "json"]).ok().stdout, read("bisect.json"));
    report(&["--format", "csv"]).refuses(2, &["is a search, which this format has no place for"]);
    let page = read("report.html");
    let links = page.split("href=\"./").skip(1).map(|rest| rest.split('"').next().unwrap());
    let links: Vec<&str> = links.collect();
    assert!(links.len() > 3, "{links:?}");
    assert!(links.iter().all(|link| world.out().join(link).is_file()), "{links:?}");
}

#[test]
fn what_is_to_be_done_is_told_without_doing_it() {
    let world = World::new(&sixty_four(41, SPIN));
    let search = world.search();
    let ended = world.run(&[&words(&search)[..], &["--dry-run"]].concat()).ok();
    ended.says(&[
        "sqlite: 64 commits from ",
        "about 9 comparisons of at most ",
        " of disk",
        "each commit is built like ",
        "  build      \"$CC\" $CFLAGS -shared",
    ]);
    assert!(!world.out().exists());
    assert_eq!(entries(&world.rqps.path("own/builds")), [""; 0]);
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_built() {
    let world = World::new(&few(6, SPIN));
    let History { repo, recipe, .. } = &world.history;
    let search = world.search();
    let search = words(&search);
    let ends = |good: &'static str, bad: &'static str| [&[good, bad], &search[2..]].concat();
    let file = |name: &str, text: &str| {
        let path = world.rqps.path(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let good = fs::read_to_string(recipe).unwrap();
    let no_product =
        file("no-product.toml", &good.replace("product = \"lib/libsqlite3.so\"\n", ""));
    let other = file("other.toml", &good.replace("dbms = \"sqlite\"", "dbms = \"mysql\""));
    let prior = file("prior", "nothing 3\n");
    let empty = world.rqps.path("empty");
    fs::create_dir(&empty).unwrap();
    let empty = empty.display().to_string();
    let with = |name: &'static str, value: &'static str| [&search[..], &[name, value]].concat();
    let instead = |name: &str, value: &str| -> Vec<String> {
        let mut all: Vec<String> = search.iter().map(|word| word.to_string()).collect();
        let at = all.iter().position(|word| word == name).unwrap();
        all[at + 1] = value.to_string();
        all
    };
    let told: Vec<(Vec<String>, &str)> = [
        (ends("sqlite@git:main", "sqlite@git:main"), "GOOD and BAD are both main"),
        (ends("sqlite@git:main", "sqlite@git:HEAD"), "GOOD and BAD are one commit"),
        (ends("sqlite@git:main", "sqlite@git:v1"), "GOOD is newer than BAD: main ("),
        (ends("sqlite@git:v2", "sqlite@git:main"), "has no commit 'v2': did you mean 'v1'?"),
        (ends("sqlite@git:v1", "postgres@git:main"), "the same DBMS, engine, config"),
        (ends("sqlite@git:v1", "sqlite@git:main?mmap_size=0"), "Give both the same DBMS"),
        (ends("sqlite@git:v1", "sqlite@src-3.46.1"), "cannot compare a release with a commit"),
        (ends("sqlite", "sqlite@git:main"), "cannot compare a release with a commit"),
        (with("--posterior", "1"), "--posterior must be from 0.5 to below 1"),
        (with("--test", "scan"), "--test 'scan' is not measured here"),
    ]
    .into_iter()
    .map(|(arguments, told)| (arguments.iter().map(|word| word.to_string()).collect(), told))
    .chain([
        (instead("--recipe", &no_product), "no-product.toml', line 1: missing field `product`"),
        (instead("--recipe", &other), "other.toml': it is for mysql, not for sqlite"),
        (instead("--recipe", "/no/recipe"), "recipe '/no/recipe': No such file"),
        (instead("--repo", &empty), "is not a checkout of git"),
        (
            [words(&instead("--rows", "5K")), vec!["--prior", &prior]]
                .concat()
                .iter()
                .map(|word| word.to_string())
                .collect(),
            "'nothing' is none of the commits",
        ),
        (instead("--out", &repo.display().to_string()), "is not empty. Use another --out"),
    ])
    .collect();
    for (arguments, told) in told {
        world.run(&words(&arguments)).refuses(2, &[told]);
        assert!(!world.out().exists(), "{told}");
    }
    world.run(&["--resume", "--out", &empty]).refuses(2, &["is no search to resume"]);
}

#[test]
fn an_end_that_does_not_build_is_told_with_its_error() {
    let mut changes = few(6, SPIN);
    changes.push(change("broken", "int sqlite3_step(void *x { return; }\n".into()));
    let world = World::new(&changes);
    let ended = world.run(&words(&world.search()));
    ended.expect_code(2).says(&["BAD (", "does not build: build with gcc", "error: "]);
    assert!(!world.out().exists());
}

/// A script for git builds a library and compares it with that of the first commit.
#[test]
#[ignore = "nightly: compiles each commit once more"]
fn a_real_git_bisect_run_is_told_good_bad_and_skip() {
    let mut changes = few(6, SPIN);
    changes[5] = change("does not build", "int sqlite3_step(void *x { return; }\n".into());
    let world = World::new(&changes);
    let History { repo, object, .. } = &world.history;
    let folder = world.rqps.path("libraries");
    fs::create_dir(&folder).unwrap();
    let build = format!(
        "gcc -O2 -shared -fPIC -Wl,-Bsymbolic -o {0}/$1.so {1}/shim.c {2} -lm",
        folder.display(),
        repo.display(),
        object.display()
    );
    let script = world.rqps.path("script");
    let (rqps, folder) = (env!("CARGO_BIN_EXE_rqps"), folder.display());
    let text = format!(
        "#!/bin/sh\nset -- \"$(git -C {} rev-parse HEAD)\"\n{build} || exit 125\n\
         exec {rqps} compare good=sqlite@{folder}/good.so bad=sqlite@{folder}/$1.so --git-exit \
         --workload micro:point-query --rows 5K --secs 0.2 --no-guards --out {folder}/$1\n",
        repo.display()
    );
    fs::write(&script, text).unwrap();
    git(repo, &["checkout", "--quiet", "v1"]);
    let first = build.replace("$1", "good");
    let built = std::process::Command::new("sh").args(["-c", &first]).status().unwrap();
    assert!(built.success());
    git(repo, &["bisect", "start", "main", "v1"]);
    let mut command = world.rqps.program("git");
    command.arg("-C").arg(repo).args(["bisect", "run", "sh"]).arg(&script);
    command.env("RQPS_HOME", world.rqps.path("own"));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    // The commit before the change does not build, so either may be it.
    let named = git(repo, &["log", "-1", "--format=%H", "main~2"]);
    let skipped = text.contains("only 'skip'ped commits left to test");
    assert!(text.contains(&named), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    assert!(skipped || text.contains("is the first bad commit"), "{text}");
}
