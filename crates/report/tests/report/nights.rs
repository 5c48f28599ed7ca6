//! Made nights: tests whose levels and noise are known, for pages, figures and times.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use rqps_store::track::{
    AckKind, ImportedPoint, ImportedValues, NightOutcome, StoredRatio, TRACK_SCHEMA, TrackAck,
    TrackAlert, TrackContents, TrackNote, TrackPoint, TrackSettings, TrackedBuild, TrackedTest,
};

const ERROR: f64 = 0.003;

fn start() -> Timestamp {
    "2025-10-01T02:00:00Z".parse().unwrap()
}

fn at(night: usize) -> Timestamp {
    start() + SignedDuration::from_hours(24 * night as i64)
}

/// Between −1 and 1, different for each pair of numbers.
fn noise(one: usize, other: usize) -> f64 {
    let (one, other) = (one as u64 + 1, other as u64 + 7);
    let mut hash =
        one.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ other.wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash ^= hash >> 33;
    hash = hash.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^= hash >> 29;
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

fn build(night: usize) -> TrackedBuild {
    TrackedBuild {
        spec: format!("postgres@/opt/nightly/{night}"),
        version: "19devel".to_string(),
        sha256: Some(format!(
            "{:08x}{night:056x}",
            (night as u64 + 1).wrapping_mul(2_654_435_761) as u32
        )),
        commit: Some(format!(
            "{:08x}{night:032x}",
            (night as u64 + 7).wrapping_mul(2_654_435_761) as u32
        )),
        commit_time: Some(at(night)),
    }
}

/// A third of the tests loses 4 % in the middle; another third gains 6 % at three quarters.
fn level(test: usize, night: usize, nights: usize) -> f64 {
    match test % 3 {
        0 if night >= nights / 2 => -0.04,
        1 if night >= 3 * nights / 4 => 0.06,
        _ => 0.0,
    }
}

fn night(night: usize, nights: usize, tests: usize) -> TrackPoint {
    let ratio = |log: f64| Some(StoredRatio { log, error: ERROR });
    let tested = |test: usize| {
        let (own, before) = (level(test, night, nights), level(test, night.max(1) - 1, nights));
        let tested = TrackedTest {
            rate: ratio(own + 0.006 * noise(test, night)),
            rounds: 8,
            label: "no change (MDE 0.6 %)".to_string(),
            margin: 0.02,
            method: "slices".to_string(),
            cpu: ratio(-own),
            previous: ratio(before + 0.006 * noise(test + 500, night)).filter(|_| night > 0),
            step: ratio(own - before + 0.004 * noise(test + 900, night)).filter(|_| night > 0),
        };
        (format!("test-{test:02}"), tested)
    };
    TrackPoint {
        schema: TRACK_SCHEMA.to_string(),
        id: format!("n{night:04}"),
        line: "main".to_string(),
        time: at(night) + SignedDuration::from_hours(1),
        build: build(night),
        outcome: NightOutcome::Measured,
        epoch: BTreeMap::from([
            ("cpu".to_string(), "AMD EPYC".to_string()),
            (
                "kernel".to_string(),
                if night < nights / 4 { "Linux 6.1" } else { "Linux 6.12" }.to_string(),
            ),
        ]),
        anchor: Some(build(0)),
        previous: (night > 0).then(|| build(night - 1)),
        run: Some(format!("20251001T020000-{night}-0")),
        kept: Some(format!("n{night:04}")),
        rqps_version: "0.1.0".to_string(),
        tests: (0..tests).map(tested).collect(),
    }
}

/// A folder with as many nights of as many tests.
pub(crate) fn contents(nights: usize, tests: usize) -> TrackContents {
    let mut points: Vec<TrackPoint> = (0..nights).map(|it| night(it, nights, tests)).collect();
    let mut failed = night(nights, nights, 0);
    failed.outcome = NightOutcome::BuildFailed("make: *** [all] Error 2".to_string());
    points.push(failed);
    TrackContents {
        settings: TrackSettings {
            schema: TRACK_SCHEMA.to_string(),
            anchor: "postgres@17.6".parse().unwrap(),
            compare: ["--workload", "micro:point,range", "--budget", "30m"]
                .map(String::from)
                .into(),
            retention: 30,
            on_alert: Vec::new(),
        },
        points,
        pairs: Vec::new(),
        anchors: Vec::new(),
        alerts: vec![alert(nights / 2, nights, true), alert(2, nights, false)],
        acks: vec![ack("lost2", AckKind::Noise)],
        notes: vec![TrackNote {
            schema: TRACK_SCHEMA.to_string(),
            id: "note".to_string(),
            who: "ann".to_string(),
            when: at(nights),
            text: "18.2 was released".to_string(),
            at: build(nights / 3).commit.unwrap(),
            test: None,
            release: true,
            change_point: None,
        }],
        imports: vec![imported()],
        runs: BTreeSet::from([format!("n{:04}", nights - 1)]),
        faults: Vec::new(),
    }
}

fn alert(night: usize, nights: usize, is_slower: bool) -> TrackAlert {
    let size = StoredRatio { log: -0.04, error: 0.001 };
    TrackAlert {
        schema: TRACK_SCHEMA.to_string(),
        id: if is_slower { "told1".to_string() } else { "lost2".to_string() },
        line: "main".to_string(),
        time: at((night + 3).min(nights)),
        night: format!("n{:04}", night + 3),
        is_slower,
        before: build(night - 1),
        after: build(night),
        tests: BTreeMap::from([("test-00".to_string(), size)]),
        method: 1,
    }
}

pub(crate) fn ack(change: &str, kind: AckKind) -> TrackAck {
    TrackAck {
        schema: TRACK_SCHEMA.to_string(),
        id: "ack".to_string(),
        change: change.to_string(),
        kind,
        who: "ann".to_string(),
        when: at(7),
        why: "the machine was moved".to_string(),
        until: None,
    }
}

fn imported() -> ImportedValues {
    let point = |night: usize| ImportedPoint {
        test: "suite/scan".to_string(),
        unit: "ns/iter".to_string(),
        commit: Some(format!("{night:07x}")),
        time: at(night),
        value: 120.0 + 5.0 * noise(3, night),
    };
    ImportedValues {
        schema: TRACK_SCHEMA.to_string(),
        id: "imported".to_string(),
        source: "data.js".to_string(),
        time: at(9),
        points: (0..9).map(point).collect(),
    }
}
