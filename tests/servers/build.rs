//! `rqps dbms build`: builds from source with the real recipe, compiler and make, of a Postgres
//! that is a few lines of C.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::result::Finished;
use crate::common::{Rqps, Running, await_that, entries, processes};
use rustix::process::Signal;

const CONFIGURE: &str = r#"#!/bin/sh
PACKAGE_VERSION='16.99'
for option; do case $option in --prefix=*) prefix=${option#*=};; esac; done
printf 'all: postgres\npostgres:\n\t%s %s -o $@ %s/main.c\n' "$CC" "$CFLAGS" "${0%/configure}" > Makefile
printf 'install:\n\tmkdir -p $(DESTDIR)%s/bin\n\tcp postgres $(DESTDIR)%s/bin/\n' "$prefix" "$prefix" >> Makefile
"#;

const MAIN: &str = r#"
#include <stdio.h>
int main(int count, char **arguments) {
#ifdef __OPTIMIZE_SIZE__
    if (count > 2) puts("for size");
#endif
    puts("postgres (PostgreSQL) 16.99");
    return 0;
}
"#;

/// A home without the builds that all tests share, since these are none; and locks of its own,
/// since builds wait while other tests measure.
struct World {
    rqps: Rqps,
    home: PathBuf,
}

impl World {
    fn new() -> World {
        let rqps = Rqps::with_own_locks();
        let home = rqps.path("own");
        World { rqps, home }
    }

    /// A tarball with these sources.
    fn tarball(&self, name: &str, configure: &str, main: &str) -> String {
        let folder = self.rqps.path("sources").join("postgresql-16.99");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("configure"), configure).unwrap();
        fs::write(folder.join("main.c"), main).unwrap();
        let (chmod, tar) = (Command::new("chmod"), Command::new("tar"));
        for (mut command, arguments) in [
            (chmod, vec!["755".into(), folder.join("configure").into_os_string()]),
            (tar, vec!["-czf".into(), self.rqps.path(name).into(), "postgresql-16.99".into()]),
        ] {
            command.current_dir(self.rqps.path("sources")).args(arguments);
            assert!(command.status().unwrap().success());
        }
        self.rqps.path(name).display().to_string()
    }

    fn start(&self, arguments: &[&str]) -> Running {
        let mut command = self.rqps.command(["dbms"].iter().chain(arguments));
        command.env("RQPS_HOME", &self.home).env_remove("RQPS_SOURCES");
        Running::start(command)
    }

    fn run(&self, arguments: &[&str]) -> Finished {
        self.start(arguments).finish()
    }

    /// What is in the store, and in the folder of builds, apart from locks and notes.
    fn kept(&self) -> Vec<String> {
        let folders = ["builds", "source"].map(|folder| entries(&self.home.join(folder)));
        let names = folders.into_iter().flatten();
        let notes = ["lock", ".hashes"];
        names.filter(|name| !notes.iter().any(|note| name.ends_with(note))).collect()
    }
}

fn says(server: &Path, more: &str) -> String {
    let output = Command::new(server).args(["--version", more]).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_release_is_built_once_and_each_variant_of_it() {
    let world = World::new();
    let source = world.tarball("pg.tar.gz", CONFIGURE, MAIN);
    let build = ["build", "postgres@16.99", "--source", &source];
    let ended = world.run(&build).ok();
    assert_eq!(ended.stdout, "postgres@src-16.99\n", "the contender and nothing else");
    let ended = ended.says(&[
        "building postgres@src-16.99 from source, which takes about ",
        "pg.tar.gz is not in the catalogue of this rqps; its hash sha256:",
        "built in 0:0",
        "-O2 -g, gcc",
    ]);
    drop(ended);
    let again = world.run(&build).ok().says(&["built before, in 0:0"]);
    assert!(!again.stderr.contains("building"), "{}", again.stderr);
    let size = world.run(&[&build[..], &["--flags", "-Os -g"]].concat()).ok();
    assert_eq!(size.stdout, "postgres@src-16.99+Os-g\n");

    let listed = world.run(&["list", "--installed"]).ok().stdout;
    let root = |contender: &str| {
        let line = listed.lines().find(|line| line.split_whitespace().next() == Some(contender));
        PathBuf::from(line.unwrap().split_whitespace().last().unwrap())
    };
    let roots = ["postgres@src-16.99", "postgres@src-16.99+Os-g"].map(root);
    assert_eq!(roots[0].as_os_str().len(), roots[1].as_os_str().len());
    let told = roots.each_ref().map(|root| says(&root.join("bin/postgres"), "more"));
    assert!(told[1].starts_with("for size") && !told[0].starts_with("for size"), "{told:?}");

    let none = world.run(&["fetch", "postgres@src-16.99+clang"]);
    none.refuses(
        2,
        &["is called 'clang' (there are: postgres@src-16.99", "'rqps dbms build postgres@16.99'"],
    );
    world.run(&["prune", "--builds"]).ok().says(&["removed "]);
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn what_does_not_compile_is_told_in_the_compilers_words_and_not_tried_again() {
    let world = World::new();
    let source = world.tarball("pg.tar.gz", CONFIGURE, "int main(void) { return x; }\n");
    let build = ["build", "postgres@16.99", "--source", &source];
    let failed = world.run(&build).expect_code(3).says(&[
        "postgres 16.99 did not build: build with gcc",
        "error: 'x' undeclared",
        "rqps dbms build --retry --source",
        "\n  make: *** ",
    ]);
    let log = failed.stderr.split('\'').find(|part| part.ends_with("/build.log")).unwrap();
    assert!(fs::read_to_string(log).unwrap().contains("main.c"));
    let again = world.run(&build).expect_code(3).says(&["did not build in an earlier attempt"]);
    assert!(!again.stderr.contains("building"), "{}", again.stderr);
    let retried = world.run(&[&build[..], &["--retry"]].concat()).expect_code(3);
    retried.says(&["building postgres@src-16.99", "did not build: build with gcc"]);
    world.run(&["prune", "--builds"]).ok().says(&["removed the logs of 1 failed build\n"]);
    assert_eq!(world.kept(), Vec::<String>::new());
}

#[test]
fn an_interrupted_build_leaves_nothing() {
    let world = World::new();
    let waits = format!("{CONFIGURE}echo \"$$\" > pid; sleep 600\n");
    let source = world.tarball("pg.tar.gz", &waits, MAIN);
    let running = world.start(&["build", "postgres@16.99", "--source", &source]);
    let pid = world.home.join("source/postgres/build/pid");
    await_that("the build runs", || pid.is_file());
    processes::signal(running.pid(), Signal::INT);
    running.finish().expect_code(130);
    assert_eq!(world.kept(), Vec::<String>::new());
    // The group is killed, and the kernel ends its members one by one.
    await_that("no part of the build runs on", || processes::below(&world.home).is_empty());
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_built() {
    let world = World::new();
    let source = world.tarball("pg.tar.gz", CONFIGURE, MAIN);
    let text = world.rqps.path("text");
    fs::write(&text, "text").unwrap();
    let text = text.display().to_string();
    for (arguments, told) in [
        (
            vec!["postgres@16.98", "--source", &source],
            "'pg.tar.gz' contains postgres 16.99, not 16.98",
        ),
        (vec!["postgres@16.99", "--source", &text], "is not a tarball. Name a .tar.gz"),
        (vec!["postgres@16.99", "--cc", "gcc-99"], "gcc-99 is missing. Install it"),
        (vec!["postgres@16.99", "--name", "a/b"], "--name 'a/b' may contain only letters"),
        (vec!["postgres@16.99+clang"], "Write postgres@16.99, and what 'clang' stands for as --cc"),
        (vec!["postgres"], "'postgres' names no version to build"),
        (vec!["postgres@npm-16.99"], "names no version to build"),
        (vec!["sqlite"], "'sqlite' names no version to build"),
    ] {
        let ended = world.run(&[&["build"], &arguments[..]].concat());
        let code = if told.starts_with("gcc-99") { 3 } else { 2 };
        ended.refuses(code, &[told]);
        assert!(!world.home.join("builds").exists() || world.kept().is_empty(), "{told}");
    }
}
