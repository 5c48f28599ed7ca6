//! Searches that take minutes: one that is killed at many points, and a scan of real releases of
//! SQLite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::common::history::{Change, History, change, git, shim, sixty_four};
use crate::common::{Rqps, Running, processes};

const SPIN: u32 = 2_000;

fn changes(culprit: usize) -> Vec<Change> {
    let one = |place: usize| {
        let turns = if place >= culprit { SPIN } else { 0 };
        change(&format!("change {place}"), shim(turns, &format!("{place}"), ""))
    };
    (0..=16).map(one).collect()
}

/// Turns that slow a point query by some 4 %.
const SMALL_SPIN: u32 = 250;

/// The subject of what a search found.
fn found(out: &Path) -> Value {
    let text = fs::read_to_string(out.join("bisect.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    result["found"]["commits"][0]["subject"].clone()
}

#[test]
fn a_search_that_is_killed_twenty_times_finds_the_same() {
    let rqps = Rqps::with_own_locks();
    let history = History::new(rqps.root(), &changes(11));
    let (home, out) = (rqps.path("own"), rqps.path("out"));
    let start = |arguments: &[&str]| {
        let mut command = rqps.command(["bisect"].iter().chain(arguments));
        command.env("RQPS_HOME", &home);
        Running::start(command)
    };
    let first = history.search(&out);
    let first: Vec<&str> = first.iter().map(String::as_str).collect();
    let out_name = out.display().to_string();
    let resumed = ["--resume", "--out", &out_name];
    let mut kills = 0;
    for turn in 0..20 {
        let arguments = if out.join("search.json").exists() { &resumed[..] } else { &first[..] };
        let mut running = start(arguments);
        // Another point of a search each time: builds, the creation of runs, rounds.
        let pause = Duration::from_millis(300 + 371 * turn);
        let deadline = std::time::Instant::now() + pause;
        while std::time::Instant::now() < deadline && !running.has_ended() {
            std::thread::sleep(Duration::from_millis(5));
        }
        if running.has_ended() {
            break;
        }
        processes::signal(running.pid(), Signal::KILL);
        running.finish();
        kills += 1;
    }
    assert!(kills >= 10, "it ended after {kills} kills");
    start(&resumed).finish().ok();
    assert_eq!(found(&out), "change 11");
}

/// It needs a quiet machine: on one that runs other tests so small a change is not seen.
#[test]
fn a_change_of_four_percent_among_sixty_four_commits_is_found() {
    let rqps = Rqps::alone();
    let history = History::new(rqps.root(), &sixty_four(41, SMALL_SPIN));
    let out = rqps.path("out");
    let mut command = rqps.command(["bisect".to_string()].into_iter().chain(history.search(&out)));
    command.env("RQPS_HOME", rqps.path("own"));
    let ended = Running::start(command).finish().ok();
    println!("{}{}", ended.stderr, ended.stdout);
    assert_eq!(found(&out), "the culprit");
    let text = fs::read_to_string(out.join("bisect.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let made = result["comparisons"].as_array().unwrap().len();
    assert!(made <= 12, "{made} comparisons");
}

/// A tarball of a release of SQLite, by the package of cargo that has it.
fn tarball(folder: &Path, package: &str) -> String {
    let project = folder.join(package);
    fs::create_dir_all(project.join("src")).unwrap();
    fs::write(project.join("src/lib.rs"), "").unwrap();
    let manifest = format!(
        "[package]\nname = \"x\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\
         [dependencies]\nlibsqlite3-sys = \"={package}\"\n[workspace]\n"
    );
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
    let manifest = project.join("Cargo.toml");
    let arguments = ["metadata", "--format-version", "1", "--manifest-path"];
    let output = Command::new(env!("CARGO")).args(arguments).arg(&manifest).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == "libsqlite3-sys").unwrap();
    let sources = PathBuf::from(package["manifest_path"].as_str().unwrap());
    let sources = sources.parent().unwrap().join("sqlite3");
    let header = fs::read_to_string(sources.join("sqlite3.h")).unwrap();
    let line = header.lines().find(|line| line.starts_with("#define SQLITE_VERSION ")).unwrap();
    let version = line.split('"').nth(1).unwrap().to_string();
    let top = folder.join(format!("sqlite-amalgamation-{version}"));
    fs::create_dir_all(&top).unwrap();
    for file in ["sqlite3.c", "sqlite3.h", "sqlite3ext.h"] {
        fs::copy(sources.join(file), top.join(file)).unwrap();
    }
    let mut tar = Command::new("tar");
    tar.current_dir(folder).arg("-czf").arg(format!("sqlite-amalgamation-{version}.tar.gz"));
    assert!(tar.arg(top.file_name().unwrap()).status().unwrap().success());
    version
}

#[test]
fn releases_of_sqlite_are_scanned() {
    let rqps = Rqps::alone();
    let folder = rqps.path("tarballs");
    let versions: Vec<String> =
        ["0.25.0", "0.30.1", "0.36.0"].map(|package| tarball(&folder, package)).to_vec();
    let [first, last] = [&versions[0], &versions[2]].map(|version| format!("sqlite@src-{version}"));
    let out = rqps.path("out");
    let mut command = rqps.command(["bisect", &first, &last]);
    command.args(["--workload", "micro:point-query,scan", "--rows", "20K", "--secs", "0.3"]);
    command.args(["--direction", "either", "--no-guards", "--out"]).arg(&out);
    command.env("RQPS_SOURCES", &folder).env("RQPS_HOME", rqps.path("own"));
    let ended = Running::start(command).finish().ok();
    println!("{}", ended.stdout);
    let text = fs::read_to_string(out.join("bisect.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    // Whether there is a step is not known; that each release was compared is.
    let releases = result["releases"].as_array().unwrap();
    let names: Vec<&str> = releases.iter().map(|one| one["release"].as_str().unwrap()).collect();
    assert_eq!(names, [versions[1].as_str(), versions[2].as_str()]);
    assert!(ended.stdout.contains(&format!("Rates are relative to {}", versions[0])));
}

/// A Postgres whose commits change a function in front of the C library's: its programs start
/// those of a release with a library of their own before all others.
const START: &str = r#"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **arguments) {
    /* The library beside this program. */
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, 4000);
    path[length < 0 ? 0 : length] = 0;
    char *slash = strrchr(path, '/');
    strcpy(slash ? slash : path, "/../lib/receive.so");
    setenv("LD_PRELOAD", path, 1);
    arguments[0] = PROGRAM;
    execv(PROGRAM, arguments);
    return 127;
}
"#;

fn receive(turns: u32, differs: usize) -> String {
    format!(
        "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <sys/socket.h>\n\
         const char rqps_differs[] = \"{differs}\";\n\
         ssize_t recv(int socket, void *buffer, size_t length, int flags) {{\n\
         \x20   static ssize_t (*real)(int, void *, size_t, int);\n\
         \x20   if (!real) real = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, \"recv\");\n\
         \x20   for (volatile int turn = 0; turn < {turns}; turn++);\n\
         \x20   return real(socket, buffer, length, flags);\n}}\n"
    )
}

#[test]
fn instructions_of_a_server_choose_the_commits() {
    let rqps = Rqps::alone();
    rqps.run("dbms fetch postgres@npm-17.6").ok();
    let release = rqps.home().join("builds").canonicalize().unwrap().join("postgres-17.6-npm");
    let (repo, recipe, out) = (rqps.path("repo"), rqps.path("recipe.toml"), rqps.path("out"));
    fs::create_dir(&repo).unwrap();
    git(&repo, &["init", "--quiet", "--initial-branch=main"]);
    for place in 0..=8 {
        let turns = if place >= 6 { 3_000 } else { 0 };
        fs::write(repo.join("start.c"), START).unwrap();
        fs::write(repo.join("VERSION"), "17.6\n").unwrap();
        fs::write(repo.join("receive.c"), receive(turns, place)).unwrap();
        git(&repo, &["add", "-A"]);
        let name = format!("change {place}");
        git(&repo, &["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", &name]);
        if place == 0 {
            git(&repo, &["tag", "v1"]);
        }
    }
    let release = release.display();
    let text = format!(
        r#"dbms = "postgres"
product = "bin/postgres"
prefix = "/usr/local/rqps"
cc = "gcc"
flags = "-O2"
seconds = 1
megabytes = 20
quiet = ["doc/"]

[[version]]
file = "VERSION"
marks = [""]

[tarball]
folder = "{{version}}"
names = ["postgres-{{version}}.tar.gz"]
checksum = "{{tarball}}.sha256"

[[way]]
file = "receive.c"
configure = "true"
build = '''
"$CC" $CFLAGS -shared -fPIC -o receive.so "$SRC/receive.c" -ldl
for program in postgres initdb; do
    "$CC" $CFLAGS "-DPROGRAM=\"{release}/bin/$program\"" -o $program "$SRC/start.c"
done
'''
install = '''
mkdir -p "$ROOT$PREFIX/bin" "$ROOT$PREFIX/lib"
cp postgres initdb "$ROOT$PREFIX/bin/"
cp receive.so "$ROOT$PREFIX/lib/"
'''
"#
    );
    fs::write(&recipe, text).unwrap();
    let mut command = rqps.command(["bisect", "postgres@git:v1", "postgres@git:main"]);
    command.args(["--workload", "micro:point-query", "--rows", "5K", "--secs", "0.5"]);
    command.arg("--no-guards").arg("--repo").arg(&repo).arg("--recipe").arg(&recipe);
    command.arg("--out").arg(&out).env("RQPS_HOME", rqps.path("own"));
    let ended = Running::start(command).finish().ok();
    println!("{}{}", ended.stderr, ended.stdout);
    assert_eq!(found(&out), "change 6");
    let text = fs::read_to_string(out.join("bisect.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let made = result["comparisons"].as_array().unwrap();
    let timed = made.iter().filter(|one| one["by"] == "time").count();
    assert_eq!(timed, 2, "the ends, and the direct comparison: {made:#?}");
}
