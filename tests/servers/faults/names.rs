//! Names, paths and settings with shell, HTML and SQL in them: they are only ever text.

use std::fs;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, can_limit_memory, entries};

/// As a part of a path: what means something to a shell, to HTML, to SQL, to TOML, to a URL and to
/// the configs of servers.
const HOSTILE: &str = "a b'c\"d$(touch owned)`touch owned`;touch owned&#<script>x</script>%41,é";
const SMALL: &str = "--rows 1K --writes 500,20 --only l.i0,l.x,l.i1,l.i2";

/// A script that a shell or a browser would have run leaves its mark.
fn assert_nothing_was_run(rqps: &Rqps) {
    for folder in [rqps.work(), rqps.out(), rqps.home()] {
        assert!(!entries(&folder).contains(&"owned".to_string()), "{}", folder.display());
    }
}

#[test]
fn directories_may_be_called_anything() {
    for contender in ["sqlite", "postgres@17.6", "mysql@8.0.33"] {
        let rqps = Rqps::new();
        // A `/` of a closing tag begins a folder of its own.
        let home = rqps.path(HOSTILE);
        fs::create_dir_all(&home).unwrap();
        rqps.share_builds(&home);
        let out = home.join("out");
        let mut command = rqps.command(["ibench", contender]);
        command.args(SMALL.split_whitespace()).arg("--out").arg(&out).env("RQPS_HOME", &home);
        let ended = Running::start(command).finish();
        assert_eq!(ended.status.code(), Some(0), "{contender}:\n{}", ended.stderr);
        RunResult::of(&out).assert_all_done();
        let page = fs::read_to_string(out.join("report.html")).unwrap();
        assert!(!page.contains("<script>x</script>"), "{contender}");
        assert!(entries(&home.join("data")).is_empty() && entries(&home.join("run")).is_empty());
        assert_nothing_was_run(&rqps);
    }
}

#[test]
fn a_server_in_such_a_directory_can_be_looked_into_by_its_url() {
    for contender in ["postgres@17.6", "mariadb@11.4.5"] {
        let rqps = Rqps::new();
        let home = rqps.path(HOSTILE);
        fs::create_dir_all(&home).unwrap();
        rqps.share_builds(&home);
        let at_home = |arguments: &[&str]| {
            let mut command = rqps.command(arguments);
            command.env("RQPS_HOME", &home);
            command
        };
        let url = Running::start(at_home(&["dbms", "start", contender])).finish().ok().stdout;
        let mut shell = at_home(&["dbms", "shell", url.trim()]);
        shell.stdin(std::process::Stdio::piped());
        let mut shell = Running::start(shell);
        shell.type_in("select 'still there'\n");
        let answer = shell.finish();
        Running::start(at_home(&["dbms", "stop", "--all"])).finish().ok();
        let answer = answer.ok();
        assert!(answer.stdout.contains("still there"), "{contender}: {}", answer.stdout);
        assert_nothing_was_run(&rqps);
    }
}

#[test]
fn labels_hold_no_markup_and_values_of_settings_are_text() {
    let rqps = Rqps::new();
    let bad = ["<b>=sqlite", "$(id)=sqlite", "a;b=sqlite", "a b=sqlite", "..=sqlite/x"];
    for label in bad {
        let mut command = rqps.command(["ibench", label, "--out"]);
        command.arg(rqps.out());
        let ended = Running::start(command).finish().expect_code(2);
        assert!(ended.stderr.contains("error: "), "{label}: {}", ended.stderr);
        assert!(!rqps.out().exists(), "{label}");
    }
    let value = "<script>x</script>'; drop table t; -- $(touch owned) `touch owned` \\";
    let contender = format!("postgres@17.6?cluster_name={}", value.replace('&', ""));
    let mut command = rqps.command(["ibench", &contender]);
    command.args(SMALL.split_whitespace()).arg("--out").arg(rqps.out());
    Running::start(command).finish().ok();
    let result = RunResult::of(&rqps.out());
    result.assert_all_done();
    let page = fs::read_to_string(rqps.out().join("report.html")).unwrap();
    assert!(!page.contains("<script>x</script>"));
    assert!(result.0.to_string().contains("drop table t"), "the setting is told");
    rqps.run(&format!("report {}", rqps.out().display())).ok();
    assert_nothing_was_run(&rqps);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_config_of_ones_own_may_be_called_anything() {
    let rqps = Rqps::new();
    let folder = rqps.path("configs");
    fs::create_dir_all(&folder).unwrap();
    let config = folder.join("a b'c\"d$(touch owned)`touch owned`;<b>.cnf");
    fs::write(&config, "shared_buffers = '16MB'\n").unwrap();
    let contender = format!("postgres@17.6:{}", config.display());
    let mut command = rqps.command(["ibench", &contender]);
    command.args(SMALL.split_whitespace()).arg("--out").arg(rqps.out());
    Running::start(command).finish().ok();
    RunResult::of(&rqps.out()).assert_all_done();
    let page = fs::read_to_string(rqps.out().join("report.html")).unwrap();
    assert!(!page.contains(";<b>"), "the name is escaped");
    assert_nothing_was_run(&rqps);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_contender_whose_name_is_a_path_can_be_held_to_little_memory() {
    if !can_limit_memory() {
        return;
    }
    let rqps = Rqps::new();
    rqps.run("dbms fetch postgres@17.6").ok();
    let build = rqps.home().join("builds/postgres-17.6-npm");
    let arguments = format!(
        "postgres@{} --memory 256M --rows 1K --secs 0.2 --pause 0 --tests point-query",
        build.display()
    );
    rqps.micro(&arguments).ok();
    RunResult::of(&rqps.out()).assert_all_done();
    rqps.assert_nothing_is_left();
}
