//! A folder of nights takes files once, from several machines, and leaves out what it cannot use.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::thread;

use jiff::Timestamp;
use rqps_store::track::{
    AckKind, NightOutcome, StoredRatio, TRACK_SCHEMA, Track, TrackAck, TrackError, TrackPoint,
    TrackSettings, TrackedBuild, TrackedTest, check_track,
};
use tempfile::TempDir;

fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn night(id: &str, at: &str) -> TrackPoint {
    let ratio = StoredRatio { log: -0.01, error: 0.002 };
    let test = TrackedTest {
        rate: Some(ratio),
        rounds: 8,
        label: "no change (MDE 0.6 %)".to_string(),
        margin: 0.02,
        method: "slices".to_string(),
        cpu: None,
        previous: Some(ratio),
        step: None,
    };
    TrackPoint {
        schema: TRACK_SCHEMA.to_string(),
        id: id.to_string(),
        line: "postgres".to_string(),
        time: time(at),
        build: TrackedBuild {
            spec: "postgres@/opt/pg".to_string(),
            version: "19devel".to_string(),
            sha256: Some(format!("{id:0>64}")),
            ..TrackedBuild::default()
        },
        outcome: NightOutcome::Measured,
        epoch: BTreeMap::from([("cpu".to_string(), "AMD EPYC".to_string())]),
        anchor: None,
        previous: None,
        run: Some(format!("run-{id}")),
        kept: None,
        rqps_version: "0.1.0".to_string(),
        tests: BTreeMap::from([("point-query".to_string(), test)]),
    }
}

fn track(folder: &TempDir, name: &str) -> Track {
    let flags = ["--workload".to_string(), "micro:point-query".to_string()];
    Track::create(&folder.path().join(name), &"postgres@17.6".parse().unwrap(), &flags).unwrap()
}

fn add(track: &Track, point: &TrackPoint) {
    track.add(point, point.time).unwrap();
}

fn ids(track: &Track) -> Vec<String> {
    track.contents().unwrap().points.into_iter().map(|point| point.id).collect()
}

#[test]
fn what_is_written_is_read_in_the_order_of_time() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let settings = TrackSettings {
        schema: TRACK_SCHEMA.to_string(),
        anchor: "postgres@17.6".parse().unwrap(),
        compare: vec!["--workload".to_string(), "micro:point-query".to_string()],
        retention: 30,
        on_alert: Vec::new(),
    };
    assert_eq!(track.settings, settings);
    let (late, early) = (night("b", "2026-11-28T02:00:00Z"), night("a", "2026-01-02T02:00:00Z"));
    add(&track, &late);
    add(&track, &early);
    let found = track.contents().unwrap();
    assert_eq!((found.points, found.faults), (vec![early, late], vec![]));
    assert!(folder.path().join("t/points/2026/a.json").exists());
    let again = Track::create(&folder.path().join("t"), &"sqlite".parse().unwrap(), &[]);
    assert!(matches!(again, Err(TrackError::Taken(_))));
    let nothing = Track::open(folder.path()).unwrap_err().to_string();
    assert!(nothing.contains("rqps track init"), "{nothing}");
    let full = Track::create(folder.path(), &"sqlite".parse().unwrap(), &[]);
    assert!(matches!(full, Err(TrackError::NotEmpty(_))));
}

#[test]
fn a_file_is_written_once() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let point = night("a", "2026-11-28T02:00:00Z");
    add(&track, &point);
    add(&track, &point);
    let other = TrackPoint { rqps_version: "0.2.0".to_string(), ..point.clone() };
    assert!(matches!(track.add(&other, other.time), Err(TrackError::Conflict { .. })));
    assert_eq!(track.contents().unwrap().points, [point]);
}

#[test]
fn a_torn_file_is_left_out_and_told_and_one_that_was_begun_is_not_seen() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    add(&track, &night("a", "2026-11-28T02:00:00Z"));
    let points = folder.path().join("t/points/2026");
    let whole = fs::read_to_string(points.join("a.json")).unwrap();
    for length in [0, 1, whole.len() / 2, whole.len() - 3] {
        fs::write(points.join("torn.json"), &whole[..length]).unwrap();
        let found = track.contents().unwrap();
        assert_eq!(found.points.len(), 1);
        assert!(found.faults[0].contains("torn.json' is left out"), "{:?}", found.faults);
    }
    fs::remove_file(points.join("torn.json")).unwrap();
    fs::write(points.join(".rqps-x.new"), &whole[..9]).unwrap();
    assert_eq!(track.contents().unwrap().faults, [""; 0]);
}

#[test]
fn what_makes_no_sense_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let good = night("a", "2026-11-28T02:00:00Z");
    add(&track, &good);
    let text = fs::read_to_string(folder.path().join("t/points/2026/a.json")).unwrap();
    let place = folder.path().join("t/points/2026/b.json");
    let renamed = text.replace("\"id\":\"a\"", "\"id\":\"b\"");
    for (from, to, why) in [
        ("-0.01", "1e999", "number out of range"),
        ("-0.01", "null", "invalid type: null"),
        ("-0.01", "77", "a ratio of 'point-query' is not possible"),
        ("0.002", "-1", "a ratio of 'point-query' is not possible"),
        ("\"id\":\"b\"", "\"id\":\"c\"", "its id is 'c'"),
        ("\"id\":\"b\"", "\"id\":\"../b\"", "its id is '../b'"),
        ("track/1", "other", "its schema is not track/1"),
        ("2026-11-28T", "2026-99-28T", "as month"),
        ("\"line\":\"postgres\"", "\"line\":\"a\\nb\"", "control characters"),
    ] {
        let spoilt = renamed.replacen(from, to, 1);
        assert_ne!(spoilt, renamed, "{from}");
        fs::write(&place, spoilt).unwrap();
        let found = track.contents().unwrap();
        assert_eq!(found.points.len(), 1, "{from} {to}");
        assert!(found.faults[0].contains(why), "{from} {to}: {:?}", found.faults);
    }
    fs::write(&place, renamed.replace("postgres@/opt/pg", "\\u001b[2Jred")).unwrap();
    let found = track.contents().unwrap();
    assert_eq!(found.points[1].build.spec, "\\x1b[2Jred", "it cannot control a terminal");
}

#[test]
fn a_newer_schema_is_refused_with_both_versions_and_an_older_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    // As the first version could have written it, without anything that is optional.
    let old = r#"{"schema":"track/1","id":"old","line":"sqlite","time":"2026-01-01T00:00:00Z",
        "build":{"spec":"sqlite","version":"3.54.1"},"outcome":{"build-failed":"make: error 2"},
        "rqps_version":"0.1.0"}"#;
    let points = folder.path().join("t/points/2026");
    fs::create_dir_all(&points).unwrap();
    fs::write(points.join("old.json"), old).unwrap();
    let found = track.contents().unwrap();
    assert_eq!(found.points[0].outcome, NightOutcome::BuildFailed("make: error 2".to_string()));

    fs::write(points.join("new.json"), r#"{"schema":"track/2","id":"new"}"#).unwrap();
    let refused = track.contents().unwrap_err().to_string();
    assert!(refused.contains("track/2") && refused.contains("track/1"), "{refused}");
    let settings = folder.path().join("t/track.toml");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace("track/1", "track/7") + "unheard = 1\n").unwrap();
    let refused = Track::open(&folder.path().join("t")).unwrap_err();
    assert!(matches!(refused, TrackError::Newer { .. }), "{refused}");
}

#[test]
fn mistakes_in_the_settings_are_told_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    track(&folder, "t");
    let settings = folder.path().join("t/track.toml");
    let text = fs::read_to_string(&settings).unwrap();
    for (from, to, told) in [
        ("retention = 30", "retention = 'all'", "line 8: invalid type"),
        ("retention = 30", "retain = 30", "line 8: unknown field"),
        ("\"postgres@17.6\"", "\"postgers@17.6\"", "line 4: unknown DBMS 'postgers'"),
        ("\"postgres@17.6\"", "\"postgres@17.6", "line 4"),
        ("track/1", "folder", "schema is not track/1"),
    ] {
        fs::write(&settings, text.replacen(from, to, 1)).unwrap();
        let error = Track::open(&folder.path().join("t")).unwrap_err().to_string();
        assert!(error.contains(told), "{to}: {error}");
    }
}

#[test]
fn another_anchor_leaves_what_people_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let settings = folder.path().join("t/track.toml");
    let text = fs::read_to_string(&settings).unwrap() + "# ours: ask before changing\n";
    fs::write(&settings, &text).unwrap();
    track.set_anchor(&"postgres@18.0:x10a".parse().unwrap()).unwrap();
    let expected = text.replace("\"postgres@17.6\"", "\"postgres@18.0:x10a\"");
    assert_eq!(fs::read_to_string(&settings).unwrap(), expected);
}

#[test]
fn one_process_writes_at_a_time_and_no_file_of_two_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let first = track(&folder, "t");
    let second = Track::open(first.path()).unwrap();
    let held = first.lock().unwrap();
    if held.is_none() {
        return;
    }
    let busy = second.lock().unwrap_err().to_string();
    assert!(busy.contains("another rqps is using"), "{busy}");
    assert_eq!(second.contents().unwrap().points, [], "a reader needs no lock");
    drop(held);
    assert!(second.lock().unwrap().is_some());

    // Even without the lock, as over a file system that has none.
    thread::scope(|scope| {
        for writer in 0..4 {
            let track = &first;
            scope.spawn(move || {
                (0..10).for_each(|place| {
                    add(track, &night(&format!("n{writer}-{place}"), "2026-11-28T02:00:00Z"));
                });
            });
        }
    });
    assert_eq!(ids(&first).len(), 40);
    let names: BTreeSet<String> =
        (0..999).map(|_| Track::new_id(time("2026-11-28T02:00:00Z"))).collect();
    assert_eq!(names.len(), 999, "a name is drawn for each");
}

#[test]
fn two_folders_become_one_unless_a_file_differs() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (track(&folder, "here"), track(&folder, "there"));
    let both = night("both", "2026-11-26T02:00:00Z");
    add(&here, &both);
    add(&there, &both);
    add(&here, &night("mine", "2026-11-27T02:00:00Z"));
    add(&there, &night("theirs", "2026-11-28T02:00:00Z"));
    let ack = TrackAck {
        schema: TRACK_SCHEMA.to_string(),
        id: "ack-1".to_string(),
        change: "c1".to_string(),
        kind: AckKind::NotOurs,
        who: "ann".to_string(),
        when: time("2026-11-28T09:00:00Z"),
        why: "a new \"compiler\"\nsince Monday".to_string(),
        until: None,
    };
    there.add(&ack, ack.when).unwrap();
    assert_eq!(here.take_over(&there).unwrap(), 2);
    assert_eq!(here.take_over(&there).unwrap(), 0, "nothing twice");
    assert_eq!(ids(&here), ["both", "mine", "theirs"]);
    assert_eq!(here.contents().unwrap().acks, [ack]);

    let unlike = TrackPoint { line: "mysql".to_string(), ..night("mine", "2026-11-27T02:00:00Z") };
    add(&there, &unlike);
    add(&there, &night("later", "2026-11-29T02:00:00Z"));
    let refused = here.take_over(&there).unwrap_err().to_string();
    for path in ["here/points/2026/mine.json", "there/points/2026/mine.json"] {
        assert!(refused.contains(path), "{refused}");
    }
    assert_eq!(ids(&here).len(), 3, "nothing was taken");
}

#[test]
fn links_in_the_folder_lead_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, folder.path().join("t/points")).unwrap();
    let refused = track.add(&night("a", "2026-11-28T02:00:00Z"), time("2026-11-28T02:00:00Z"));
    assert!(refused.unwrap_err().to_string().contains("symbolic link"));
    assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
}

#[test]
fn only_runs_that_nights_name_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let make = |name: &str| {
        fs::create_dir_all(track.run_path(name)).unwrap();
        fs::write(track.run_path(name).join("manifest.json"), "{}").unwrap();
    };
    ["old", "kept", "theirs"].iter().for_each(|name| make(name));
    for (id, kept) in [("a", "old"), ("b", "kept"), ("c", "../../elsewhere"), ("d", "gone")] {
        let kept = Some(kept.to_string());
        add(&track, &TrackPoint { kept, ..night(id, "2026-11-28T02:00:00Z") });
    }
    fs::create_dir(folder.path().join("elsewhere")).unwrap();
    fs::write(folder.path().join("elsewhere/manifest.json"), "{}").unwrap();
    let all = track.contents().unwrap();
    assert_eq!(track.prune(&BTreeSet::from(["kept".to_string()]), &all).unwrap(), 1);
    let left = |path: &Path| path.exists();
    assert!(!left(&track.run_path("old")) && left(&track.run_path("kept")));
    assert!(left(&track.run_path("theirs")) && left(&folder.path().join("elsewhere")));
}

#[test]
fn the_check_finds_what_a_person_must_mend() {
    let folder = tempfile::tempdir().unwrap();
    let track = track(&folder, "t");
    let now = time("2026-11-28T02:00:00Z");
    add(&track, &night("a", "2026-11-27T02:00:00Z"));
    assert_eq!(check_track(&track, now).unwrap(), [""; 0]);
    add(
        &track,
        &TrackPoint { run: Some("run-a".to_string()), ..night("b", "2026-11-27T03:00:00Z") },
    );
    let mut ahead = night("c", "2031-01-01T00:00:00Z");
    ahead.build.commit_time = Some(time("2026-11-01T00:00:00Z"));
    add(&track, &ahead);
    fs::create_dir_all(folder.path().join("t/points/2025")).unwrap();
    let twice = folder.path().join("t/points/2026/a.json");
    fs::copy(twice, folder.path().join("t/points/2025/a.json")).unwrap();
    fs::write(folder.path().join("t/points/2026/d.json"), "{").unwrap();
    let found = check_track(&track, now).unwrap().join("\n");
    for told in [
        "d.json' is left out",
        "night a is in two files",
        "nights a and b have the same run, run-a",
        "night c is of the future: 2031-01-01T00:00:00Z",
        "postgres: 1 of 3 nights have the time of their commit",
    ] {
        assert!(found.contains(told), "{told}\n{found}");
    }
}
