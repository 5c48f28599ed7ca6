//! Nights of known builds: their steps, epochs and acknowledgements are what was put in.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus as Random;
use rqps_analysis::track::{ChangeGroup, ChangeState, TestState, TrackHistory, epoch_changes};
use rqps_store::track::{
    AckKind, AnchorChange, CutChange, NightOutcome, PairPoint, StoredRatio, TRACK_SCHEMA, TrackAck,
    TrackContents, TrackNote, TrackPoint, TrackSettings, TrackedBuild, TrackedTest,
};

const ERROR: f64 = 0.003;
const BETWEEN: f64 = 0.003;

fn start() -> Timestamp {
    "2026-01-01T02:00:00Z".parse().unwrap()
}

fn at(day: usize) -> Timestamp {
    start() + SignedDuration::from_hours(24 * day as i64)
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

fn build(day: usize) -> TrackedBuild {
    TrackedBuild {
        spec: format!("postgres@/builds/{day}"),
        version: "19devel".to_string(),
        sha256: Some(format!("{day:064}")),
        commit: Some(format!("{day:040}")),
        commit_time: Some(at(day)),
    }
}

fn empty() -> TrackContents {
    TrackContents {
        settings: TrackSettings {
            schema: TRACK_SCHEMA.to_string(),
            anchor: "postgres@17.6".parse().unwrap(),
            compare: Vec::new(),
            retention: 30,
            on_alert: Vec::new(),
        },
        points: Vec::new(),
        pairs: Vec::new(),
        anchors: Vec::new(),
        alerts: Vec::new(),
        acks: Vec::new(),
        notes: Vec::new(),
        imports: Vec::new(),
        runs: Default::default(),
        faults: Vec::new(),
    }
}

/// Nights of tests whose levels are known by the day.
struct Nights<'l> {
    random: Random,
    tests: usize,
    level: &'l dyn Fn(usize, usize) -> f64,
    epoch: BTreeMap<String, String>,
    anchor: TrackedBuild,
    /// What the machine and the anchor add to every ratio.
    shift: f64,
}

impl<'l> Nights<'l> {
    fn new(seed: u64, tests: usize, level: &'l dyn Fn(usize, usize) -> f64) -> Nights<'l> {
        Nights {
            random: Random::seed_from_u64(seed),
            tests,
            level,
            epoch: BTreeMap::from([("kernel".to_string(), "Linux 6.1".to_string())]),
            anchor: build(0),
            shift: 0.0,
        }
    }

    fn ratio(&mut self, level: f64) -> Option<StoredRatio> {
        let noise = BETWEEN * normal(&mut self.random) + ERROR * normal(&mut self.random);
        Some(StoredRatio { log: level + self.shift + noise, error: ERROR })
    }

    fn night(&mut self, day: usize) -> TrackPoint {
        let tests = (0..self.tests).map(|test| {
            let (level, before) = ((self.level)(test, day), (self.level)(test, day.max(1) - 1));
            let step = normal(&mut self.random) * ERROR + level - before;
            let tested = TrackedTest {
                rate: self.ratio(level),
                rounds: 8,
                label: "no change".to_string(),
                margin: 0.02,
                method: "slices".to_string(),
                cpu: None,
                previous: self.ratio(before).filter(|_| day > 0),
                step: Some(StoredRatio { log: step, error: ERROR }).filter(|_| day > 0),
            };
            (format!("test{test}"), tested)
        });
        let tests = tests.collect();
        TrackPoint {
            schema: TRACK_SCHEMA.to_string(),
            id: format!("n{day:04}"),
            line: "main".to_string(),
            time: at(day) + SignedDuration::from_hours(1),
            build: build(day),
            outcome: NightOutcome::Measured,
            epoch: self.epoch.clone(),
            anchor: Some(self.anchor.clone()),
            previous: (day > 0).then(|| build(day - 1)),
            run: Some(format!("run{day}")),
            kept: None,
            rqps_version: "0.1.0".to_string(),
            tests,
        }
    }

    fn add(&mut self, contents: &mut TrackContents, days: std::ops::Range<usize>) {
        days.for_each(|day| contents.points.push(self.night(day)));
    }
}

/// Nights with these levels.
fn nights(
    seed: u64,
    tests: usize,
    days: usize,
    level: impl Fn(usize, usize) -> f64,
) -> TrackContents {
    let mut contents = empty();
    Nights::new(seed, tests, &level).add(&mut contents, 0..days);
    contents
}

/// One test that loses 5 % on day 20.
fn stepped(_: usize, day: usize) -> f64 {
    if day >= 20 { -0.05 } else { 0.0 }
}

fn only<'h, 'a>(history: &'h TrackHistory<'a>) -> &'h ChangeGroup<'a> {
    let found: Vec<&ChangeGroup<'_>> = history.changes().collect();
    let places: Vec<&str> = found.iter().map(|group| group.after.id.as_str()).collect();
    assert_eq!(found.len(), 1, "{places:?}");
    found[0]
}

/// As `rqps track run` does it: what is untold after a night is told.
fn tell(contents: &mut TrackContents) -> Vec<String> {
    let history = TrackHistory::new(contents);
    let night = contents.points.last().unwrap();
    let alerts: Vec<_> = history.untold().map(|group| group.alert(night, night.time)).collect();
    let ids = alerts.iter().map(|alert| alert.id.clone()).collect();
    contents.alerts.extend(alerts);
    ids
}

#[test]
fn a_step_is_suspected_at_once_and_a_change_after_three_nights() {
    let state = |days: usize| -> Vec<ChangeState> {
        let contents = nights(1, 1, days, stepped);
        TrackHistory::new(&contents).changes().map(|group| group.state).collect()
    };
    assert_eq!(state(20), []);
    let contents = nights(1, 1, 21, stepped);
    let history = TrackHistory::new(&contents);
    let line = &history.lines[0];
    // Whether one value is enough for a step depends on its noise; the night itself shows it.
    let is_suspected = history.changes().any(|it| it.state == ChangeState::Suspected)
        || line.suspicions.iter().any(|one| one.test == "test0");
    assert!(is_suspected && line.state("test0") == TestState::Suspected);
    assert_eq!(history.untold().count(), 0);
    assert_eq!(state(23), [ChangeState::Found]);
    let contents = nights(1, 1, 30, stepped);
    let history = TrackHistory::new(&contents);
    let change = only(&history);
    assert!(change.is_slower && change.after.id == "n0020" && change.before.id == "n0019");
    let size = change.tests[0].size;
    assert!((size.value + 0.05).abs() < 3.0 * size.error && size.error < 0.003, "{size:?}");
    assert!(change.tests[0].same_night.is_some());
    assert_eq!(history.lines[0].state("test0"), TestState::Slower(change.id.clone()));
}

/// The builds of a change in fresh rounds.
fn pair(before: usize, after: usize, log: f64) -> PairPoint {
    PairPoint {
        schema: TRACK_SCHEMA.to_string(),
        id: "pair".to_string(),
        line: "main".to_string(),
        time: at(after),
        before: build(before),
        after: build(after),
        run: "fresh".to_string(),
        kept: None,
        tests: BTreeMap::from([("test0".to_string(), StoredRatio { log, error: ERROR })]),
    }
}

#[test]
fn a_direct_comparison_decides() {
    let mut contents = nights(1, 1, 30, stepped);
    let state = |contents: &TrackContents| only(&TrackHistory::new(contents)).state;
    contents.pairs = vec![pair(19, 20, -0.048)];
    assert_eq!(state(&contents), ChangeState::Found);
    contents.pairs = vec![pair(19, 20, 0.001)];
    assert_eq!(state(&contents), ChangeState::Dismissed);
    contents.pairs = vec![pair(19, 20, 0.05)];
    assert_eq!(state(&contents), ChangeState::Dismissed, "the sign is another");
    contents.pairs = vec![pair(2, 25, 0.001)];
    assert_eq!(state(&contents), ChangeState::Found, "too much lies between those builds");
    // One value is enough if it is confirmed and the levels have it.
    let early = (21..=22).map(|days| nights(1, 1, days, stepped)).find_map(|mut contents| {
        contents.pairs = vec![pair(19, 20, -0.05)];
        let found = TrackHistory::new(&contents).changes().map(|it| it.state).collect::<Vec<_>>();
        (!found.is_empty()).then_some(found)
    });
    assert_eq!(early, Some(vec![ChangeState::Found]));
}

#[test]
fn a_change_is_told_once_wherever_it_moves_and_tests_of_a_night_are_one() {
    let level = |test: usize, day: usize| match test {
        0..=4 if day >= 20 => -0.03,
        5 if day >= 30 => 0.06,
        _ => 0.0,
    };
    let mut contents = empty();
    let mut nights = Nights::new(4, 8, &level);
    let mut told = Vec::new();
    for day in 0..60 {
        nights.add(&mut contents, day..day + 1);
        told.extend(tell(&mut contents));
    }
    assert_eq!(told.len(), 2, "{told:?}");
    let history = TrackHistory::new(&contents);
    let groups: Vec<&ChangeGroup<'_>> = history.changes().collect();
    assert_eq!(groups.iter().map(|group| &group.id).collect::<Vec<_>>(), [&told[0], &told[1]]);
    assert_eq!((groups[0].tests.len(), groups[0].is_slower), (5, true));
    assert_eq!((groups[1].tests.len(), groups[1].is_slower), (1, false));
    assert_eq!(history.lines[0].state("test7"), TestState::Steady);
    assert_eq!(history.lines[0].lost.len(), 0);
}

#[test]
fn what_is_brought_back_is_closed_with_its_acknowledgement_and_a_new_one_is_told_anew() {
    let level = |_: usize, day: usize| match day {
        20..=39 | 60..=79 => -0.05,
        _ => 0.0,
    };
    let mut contents = empty();
    let mut nights = Nights::new(5, 1, &level);
    let mut told = Vec::new();
    for day in 0..75 {
        nights.add(&mut contents, day..day + 1);
        for id in tell(&mut contents) {
            told.push(id.clone());
            contents.acks.push(ack(&id, AckKind::Known, at(day), None));
        }
    }
    let history = TrackHistory::new(&contents);
    let states: Vec<(bool, ChangeState)> =
        history.changes().map(|group| (group.is_slower, group.state)).collect();
    let expected =
        [(true, ChangeState::Reverted), (false, ChangeState::Reverted), (true, ChangeState::Found)];
    assert_eq!(states, expected);
    assert_eq!(told.len(), 3, "each is told, though the first was acknowledged");
}

fn ack(change: &str, kind: AckKind, when: Timestamp, until: Option<&str>) -> TrackAck {
    TrackAck {
        schema: TRACK_SCHEMA.to_string(),
        id: format!("{kind}{when}").chars().filter(char::is_ascii_alphanumeric).collect(),
        change: change.to_string(),
        kind,
        who: "ann".to_string(),
        when,
        why: "see the mail".to_string(),
        until: until.map(str::to_string),
    }
}

#[test]
fn an_acknowledgement_holds_until_its_date_or_build() {
    let mut contents = nights(1, 1, 40, stepped);
    tell(&mut contents);
    let id = contents.alerts[0].id.clone();
    let is_open = |contents: &TrackContents| only(&TrackHistory::new(contents)).is_open();
    assert!(is_open(&contents));
    for (until, holds) in [
        (None, true),
        (Some("2026-03-01"), true),
        (Some("2026-02-01"), false),
        (Some("2026-02-01T00:00:00Z"), false),
        (Some("20devel"), true),
        (Some(&*build(38).commit.unwrap()), false),
    ] {
        contents.acks = vec![ack(&id, AckKind::Accepted, at(25), until)];
        assert_eq!(!is_open(&contents), holds, "{until:?}");
    }
    contents.acks = vec![ack(&id, AckKind::Noise, at(25), None)];
    let history = TrackHistory::new(&contents);
    assert_eq!(history.changes().count(), 0, "noise is no step");
    assert_eq!(history.lines[0].lost[0].id, id);
    assert_eq!(history.lines[0].series[0].stretches[0].levels.len(), 1);
    let text = &history.contents.acks[0].why;
    assert_eq!(text, "see the mail");
}

fn note(at_build: usize, change_point: Option<CutChange>, release: bool) -> TrackNote {
    TrackNote {
        schema: TRACK_SCHEMA.to_string(),
        id: format!("note{at_build}"),
        who: "ann".to_string(),
        when: at(50),
        text: "18.1".to_string(),
        at: build(at_build).commit.unwrap(),
        test: None,
        release,
        change_point,
    }
}

#[test]
fn a_person_moves_a_step() {
    let mut contents = nights(1, 1, 40, stepped);
    contents.notes =
        vec![note(20, Some(CutChange::Remove), false), note(24, Some(CutChange::Add), false)];
    let history = TrackHistory::new(&contents);
    let change = only(&history);
    assert_eq!(change.after.id, "n0024");
    assert!(change.tests[0].is_set && change.is_open());
}

#[test]
fn another_machine_begins_an_epoch_that_the_build_of_the_night_before_joins() {
    let mut contents = empty();
    let level = |_: usize, _: usize| 0.0;
    let mut nights = Nights::new(6, 1, &level);
    nights.add(&mut contents, 0..30);
    nights.epoch.insert("kernel".to_string(), "Linux 6.12".to_string());
    nights.shift = 0.2;
    nights.add(&mut contents, 30..60);
    let history = TrackHistory::new(&contents);
    assert_eq!(history.changes().count(), 0, "an epoch is no change");
    let series = &history.lines[0].series[0];
    let [first, second] = &series.stretches[..] else { panic!("two epochs") };
    assert_eq!((first.end, second.start, second.is_joined), (30, 30, true));
    assert!((second.offset.value + 0.2).abs() < 4.0 * second.offset.error, "{:?}", second.offset);
    let last = series.values.last().unwrap();
    assert!(last.joined.value.abs() < 0.04, "it is on the first scale");
    assert!(last.joined.error > last.ratio.error, "its interval is wider by the joint");
    let changed = epoch_changes(series.values[29].night, series.values[30].night);
    assert_eq!(changed, [("kernel", "Linux 6.1", "Linux 6.12")]);

    contents.points[30].tests.get_mut("test0").unwrap().previous = None;
    let history = TrackHistory::new(&contents);
    assert!(!history.lines[0].series[0].stretches[1].is_joined, "nothing was on both sides");
}

#[test]
fn anchors_are_chained_by_their_comparison() {
    let mut contents = empty();
    let level = |_: usize, _: usize| 0.0;
    let mut nights = Nights::new(7, 1, &level);
    nights.add(&mut contents, 0..30);
    // The new anchor is 10 % faster than the old one.
    nights.anchor = build(900);
    nights.epoch.insert("anchor".to_string(), "new".to_string());
    nights.shift = -0.1;
    nights.add(&mut contents, 30..60);
    contents.anchors = vec![AnchorChange {
        schema: TRACK_SCHEMA.to_string(),
        id: "anchor".to_string(),
        time: at(30),
        before: build(0),
        after: build(900),
        run: "anchors".to_string(),
        tests: BTreeMap::from([("test0".to_string(), StoredRatio { log: 0.1, error: 0.001 })]),
    }];
    let history = TrackHistory::new(&contents);
    let stretch = &history.lines[0].series[0].stretches[1];
    assert_eq!((stretch.offset.value, stretch.offset.error), (0.1, 0.001));
    assert!(history.lines[0].series[0].values[45].joined.value.abs() < 0.03);
    assert_eq!(history.changes().count(), 0);
}

#[test]
fn nights_of_one_build_are_one_value_and_a_late_night_finds_its_place() {
    let mut contents = nights(8, 1, 10, |_, _| 0.0);
    for (night, point) in contents.points.iter_mut().enumerate().skip(5) {
        if night < 8 {
            point.build = build(5);
        }
    }
    let history = TrackHistory::new(&contents);
    let series = &history.lines[0].series[0];
    assert_eq!(series.values.len(), 8);
    assert_eq!(series.values[5].nights, 3);
    assert!(series.values[5].ratio.error < series.values[4].ratio.error / 1.5);

    // Measured today, committed on the third day.
    let level = |_: usize, _: usize| 0.0;
    let mut late = Nights::new(9, 1, &level).night(99);
    late.build.commit_time = Some(at(2) + SignedDuration::from_hours(2));
    contents.points.push(late);
    let history = TrackHistory::new(&contents);
    assert_eq!(history.lines[0].nights[3].id, "n0099");
}

#[test]
fn nights_without_a_value_fill_nothing_in() {
    let mut contents = nights(10, 2, 20, |_, _| 0.0);
    contents.points[5].outcome = NightOutcome::BuildFailed("make: error 2".to_string());
    contents.points[6].tests.get_mut("test0").unwrap().rate = None;
    let history = TrackHistory::new(&contents);
    let values = history.lines[0].series.iter().map(|series| series.values.len());
    assert_eq!(values.collect::<Vec<_>>(), [18, 19]);
    let nothing = empty();
    assert_eq!(TrackHistory::new(&nothing).lines.len(), 0);
}

#[test]
fn a_drift_without_a_step_is_told_against_the_last_release() {
    // 4 % in 200 nights: never a step of the margin.
    let mut contents = nights(11, 1, 200, |_, day| -0.0002 * day as f64);
    contents.notes = vec![note(15, None, true)];
    let history = TrackHistory::new(&contents);
    let drifts = &history.lines[0].drifts;
    let open = history.changes().filter(|group| group.is_open()).count();
    // Its levels are steps below the margin, unless noise makes one of them larger.
    assert!(open > 0 || drifts[0].since == "18.1" && drifts[0].size.value < -0.02);
    let steady = {
        let mut contents = nights(12, 1, 200, |_, _| 0.0);
        contents.notes = vec![note(15, None, true)];
        TrackHistory::new(&contents).lines[0].drifts.len()
    };
    assert_eq!(steady, 0);
}

/// A year of nights with 20 tests, in which two regressions and an improvement happen.
#[test]
fn a_year_has_its_changes_and_no_others() {
    let level = |test: usize, day: usize| {
        let all = if day >= 100 { -0.04 } else { 0.0 };
        let some = if test < 3 && day >= 200 { -0.03 } else { 0.0 };
        let one = if test == 7 && day >= 300 { 0.05 } else { 0.0 };
        all + some + one
    };
    let mut contents = empty();
    let mut nights = Nights::new(2026, 20, &level);
    let mut told: Vec<(usize, String)> = Vec::new();
    for day in 0..365 {
        nights.add(&mut contents, day..day + 1);
        // Days around the changes are looked at one by one, others once a week: the tests of
        // crates/stats look every day.
        let is_near = [100, 200, 300].iter().any(|step| (*step..*step + 8).contains(&day));
        if is_near || day % 7 == 0 || day == 364 {
            told.extend(tell(&mut contents).into_iter().map(|id| (day, id)));
        }
    }
    let history = TrackHistory::new(&contents);
    let found: Vec<(&str, usize)> = history
        .changes()
        .filter(|group| told.iter().any(|(_, id)| *id == group.id))
        .map(|group| (group.after.id.as_str(), group.tests.len()))
        .collect();
    assert_eq!(found, [("n0100", 20), ("n0200", 3), ("n0300", 1)]);
    let days: Vec<usize> = told.iter().map(|(day, _)| *day).collect();
    assert_eq!(told.len(), 3, "{told:?}");
    for (day, step) in days.iter().zip([100, 200, 300]) {
        assert!((step..step + 6).contains(day), "told on day {day}, {step} was the step");
    }
}
