//! `rqps track`: nights of real builds, and what a person gets wrong.

// Made nights, as the site is tested with.
#[allow(dead_code)]
#[path = "../../crates/report/tests/report/nights.rs"]
mod nights;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rqps_store::track::Track;

use serde_json::Value;

use crate::common::result::Finished;
use crate::common::{Rqps, entries};
use crate::sqlite::system_library;

const SMALL: &str = "--rows 1K --secs 0.2 --rounds 3 --loads 1 --no-guards";

/// rqps with a folder of nights whose anchor is the SQLite in it.
fn tracked(rqps: &Rqps) -> PathBuf {
    let folder = rqps.path("perf");
    let shown = folder.display();
    rqps.run(&format!(
        "track init {shown} --anchor sqlite --workload micro:point-query -- {SMALL}"
    ))
    .ok();
    folder
}

fn night(rqps: &Rqps, folder: &Path, arguments: &str) -> Finished {
    rqps.run(&format!("track run {} {arguments}", folder.display()))
}

fn status(rqps: &Rqps, folder: &Path) -> Value {
    let told = rqps.run(&format!("track status {} --json", folder.display())).ok().stdout;
    serde_json::from_str(&told).unwrap()
}

fn points(folder: &Path) -> Vec<Value> {
    let years = entries(&folder.join("points"));
    let files = years.iter().flat_map(|year| {
        let year = folder.join("points").join(year);
        entries(&year).into_iter().map(move |name| year.join(name))
    });
    files.map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

#[test]
fn two_nights_of_real_builds_are_measured_told_and_shown() {
    if system_library().is_none() {
        return;
    }
    let rqps = Rqps::with_own_locks();
    let folder = tracked(&rqps);
    let first = night(&rqps, &folder, "--build main=sqlite --commit abc1234 --strict");
    first.ok().says(&["night "]);
    let second = night(&rqps, &folder, "--build main=sqlite@system --commit def5678 --no-confirm");
    assert!(second.status.code().is_some_and(|code| code < 2), "{}", second.stderr);
    let nights = points(&folder);
    assert_eq!(nights.len(), 2);
    let test = &nights[1]["tests"]["point-query"];
    assert_eq!(nights[1]["previous"]["spec"], "sqlite");
    assert_ne!(nights[1]["build"]["version"], nights[0]["build"]["version"]);
    assert_eq!(nights[0]["tests"]["point-query"]["previous"], Value::Null);
    assert_eq!(nights[0]["epoch"], nights[1]["epoch"], "only the build is another");
    if test["rate"]["label"].as_str().is_some_and(|label| label.starts_with("invalid")) {
        // Beside other tests an A/A control differs now and then, and the rest is about rates.
        return;
    }
    for ratio in ["rate", "previous", "step"] {
        assert!(test[ratio]["error"].as_f64().is_some_and(|error| error > 0.0), "{ratio}: {test}");
    }
    let third = night(&rqps, &folder, "--build main=sqlite@system").ok();
    third.says(&["no new build", "--again"]);
    assert_eq!(points(&folder)[2]["outcome"], "no-new-build");
    let told = status(&rqps, &folder);
    let line = &told["lines"][0];
    assert_eq!((&line["line"], &line["nights"]), (&"main".into(), &3.into()));
    assert_eq!(line["tests"][0]["builds"], 2);

    let shown = folder.display().to_string();
    rqps.run(&format!("track site {shown}")).ok();
    let site = entries(&folder.join("site"));
    assert!(site.contains(&"index.html".to_string()) && site.contains(&"feed.xml".to_string()));
    let page = fs::read_to_string(folder.join("site/index.html")).unwrap();
    assert!(page.contains("point-query") && page.contains("main"), "{page}");
    let before = fs::read(folder.join("site/index.html")).unwrap();
    rqps.run(&format!("track site {shown}")).ok();
    assert_eq!(fs::read(folder.join("site/index.html")).unwrap(), before);
    let csv = rqps.run(&format!("track export {shown}")).ok().stdout;
    assert_eq!(csv.lines().count(), 3, "{csv}");
    let listed = rqps.run(&format!("track list {shown}")).ok().stdout;
    assert!(listed.contains("1 of 1 test valid"), "{listed}");

    // A run of a night is one of any comparison, and is in the track already.
    let run = entries(&folder.join("runs")).remove(0);
    let run = folder.join("runs").join(run).display().to_string();
    rqps.run(&format!("report {run} --format json")).ok();
    rqps.run(&format!("track add {shown} {run}")).refuses(2, &["is already in the track"]);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_change_towards_slower_is_told_once_by_exit_code_file_and_program() {
    let rqps = Rqps::with_own_locks();
    let folder = tracked(&rqps);
    let track = Track::open(&folder).unwrap();
    for point in &nights::contents(16, 3).points {
        track.add(point, point.time).unwrap();
    }
    let (program, told) = (rqps.path("tell"), rqps.path("told"));
    fs::write(&program, format!("#!/bin/sh\ncat >> {}\n", told.display())).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let settings = fs::read_to_string(folder.join("track.toml")).unwrap();
    let settings = format!("{settings}on-alert = [\"{}\"]\n", program.display());
    fs::write(folder.join("track.toml"), settings).unwrap();

    let first = night(&rqps, &folder, "--build other=sqlite").expect_code(1);
    first.says(&["slower from", "faster from"]);
    let alerts = entries(&folder.join("alerts"));
    assert_eq!(alerts.len(), 2, "{alerts:?}");
    let text = fs::read_to_string(&told).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let slower = lines.iter().find(|line| line["is_slower"] == true).unwrap();
    assert_eq!(slower["tests"][0]["test"], "test-00");
    let second = "--build other=sqlite?mmap_size=64M --no-previous";
    night(&rqps, &folder, second).ok();
    assert_eq!(fs::read_to_string(&told).unwrap(), text, "once");
    assert_eq!(entries(&folder.join("alerts")), alerts);

    let (shown, id) = (folder.display(), slower["id"].as_str().unwrap());
    let ack =
        ["track", "ack", &shown.to_string(), &id[..6], "--as", "accepted", "--why", "so be it"];
    crate::common::Running::start(rqps.command(ack)).finish().ok();
    let changes = &status(&rqps, &folder)["lines"][0]["changes"];
    let of_ack = changes.as_array().unwrap().iter().find(|change| change["id"] == id).unwrap();
    assert_eq!(of_ack["acknowledged"], "accepted");

    // Where others can change the file that names it, no program is started.
    fs::set_permissions(folder.join("track.toml"), fs::Permissions::from_mode(0o666)).unwrap();
    fs::remove_dir_all(folder.join("alerts")).unwrap();
    let third = night(&rqps, &folder, "--build other=sqlite?mmap_size=32M --no-previous");
    third.says(&["so on-alert is not obeyed"]);
    assert_eq!(fs::read_to_string(&told).unwrap(), text);
}

#[test]
fn nights_without_a_build_and_words_of_people_are_kept() {
    let rqps = Rqps::new();
    let folder = tracked(&rqps);
    let shown = folder.display().to_string();
    night(&rqps, &folder, "--build main=sqlite --build-failed broken").ok();
    let nights = points(&folder);
    assert_eq!(nights[0]["outcome"]["build-failed"], "broken");
    assert_eq!(status(&rqps, &folder)["lines"][0]["tests"], Value::Array(vec![]));
    rqps.run(&format!("track note {shown} released --at sqlite --release")).ok();
    assert_eq!(entries(&folder.join("notes")).len(), 1);
    assert_eq!(rqps.run(&format!("track check {shown}")).ok().stdout, "nothing is wrong\n");
    fs::write(folder.join("points/2026/torn.json"), "{").unwrap();
    let checked = rqps.run(&format!("track check {shown}"));
    assert_eq!(checked.status.code(), Some(3));
    assert!(checked.stdout.contains("torn.json' is left out"), "{}", checked.stdout);
    rqps.run(&format!("track status {shown}")).ok();
    rqps.run(&format!("track site {shown}")).ok();
}

#[test]
fn what_is_wrong_is_told_before_anything_is_made() {
    let rqps = Rqps::new();
    let folder = tracked(&rqps);
    let shown = folder.display().to_string();
    let new = rqps.path("new").display().to_string();
    for (arguments, texts) in [
        (format!("track init {shown} --anchor sqlite"), &["already contains a track"][..]),
        (format!("track init {new} --anchor postgers@17"), &["unknown DBMS 'postgers'"]),
        (format!("track init {new} --anchor sqlite --workload nano:point"), &["nano"]),
        (format!("track init {new} --anchor sqlite -- --out x"), &["cannot use --out"]),
        (format!("track init {new} --anchor sqlite -- --bugdet 3m"), &["--bugdet"]),
        (format!("track run {new} --build sqlite"), &["no track.toml", "rqps track init"]),
        (format!("track run {shown} --build sqlite --time yesterday"), &["--time"]),
        (format!("track ack {shown} 3f9 --why so"), &["there is no change to acknowledge"]),
        (format!("track ack {shown} 3f9 --why so --as mine"), &["known, accepted, noise"]),
        (format!("track note {shown} x --at 18.1"), &["no night has a build '18.1'"]),
        (format!("track anchor {shown} sqlite"), &["is the anchor already"]),
        (format!("track site {shown} --base-url perf"), &["no address of a site"]),
        (format!("track export {shown} --format xml"), &["unknown format 'xml'", "bencher"]),
        (format!("track import {shown} {shown}/track.toml"), &["with --format"]),
        (format!("track add {shown} {shown}"), &["contains no run"]),
    ] {
        rqps.run(&arguments).refuses(2, texts);
        assert!(!rqps.path("new").exists(), "{arguments}");
    }
    let theirs = rqps.path("www");
    fs::create_dir(&theirs).unwrap();
    fs::write(theirs.join("index.html"), "mine").unwrap();
    let site = format!("track site {shown} --out {}", theirs.display());
    rqps.run(&site).refuses(2, &["was not written by rqps"]);
    assert_eq!(fs::read_to_string(theirs.join("index.html")).unwrap(), "mine");

    let values = rqps.path("values.json");
    fs::write(
        &values,
        "{\"scan\": {\"rate\": {\"value\": 3}},\n\"x\": {\"rate\": {\"value\": 0}}}",
    )
    .unwrap();
    let import = format!("track import {shown} {} --format bencher", values.display());
    rqps.run(&import).refuses(2, &["line 2", "not above zero", "Nothing of the file was taken"]);
    assert!(!folder.join("imports").exists());
    fs::write(&values, "{\"scan\": {\"rate\": {\"value\": 3, \"who\": 1}}}").unwrap();
    rqps.run(&import).ok().says(&["took 1 values", "1 keys were ignored"]);

    let settings = fs::read_to_string(folder.join("track.toml")).unwrap();
    fs::write(folder.join("track.toml"), settings.replace("track/1", "track/9")).unwrap();
    rqps.run(&format!("track status {shown}")).refuses(2, &["track/9", "track/1"]);
}
