//! Tests the remaining time against recorded runs: their events and when they happened.
//!
//! Each file in `recorded/` is such a run: its plans and the machine's CPUs and memory, then a line
//! for each event with the seconds since the beginning. `cargo test --bin rqps record_runs --
//! --ignored` makes those that are not there with real servers, from the plans below. They have no
//! guards, since discarded and repeated measurements cannot be forecast.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rqps_analysis::comparison::interim;
use rqps_lab::{Event, Lab, Outcome, Remaining, Restarts};
use rqps_plan::{Matrix, Plan};
use rqps_system::Cancel;
use serde::{Deserialize, Serialize};

use crate::cli::matrix::{Item, expand};
use crate::cli::session::Setup;

const PLANS: [(&str, &str); 3] = [
    (
        "insert-benchmark",
        "contenders = ['sqlite', 'mmap=sqlite?mmap_size=256M', 'small=sqlite?cache_size=100']
         [ibench.a]
         rows = '50K'
         rates = [100, 200]
         query-secs = 5",
    ),
    (
        "microbenchmarks",
        "contenders = ['postgres@17.6', 'sqlite']
         [micro.a]
         rows = '20K'
         secs = 4
         tests = ['point-query', 'hot-points', 'scan', 'update-nonindex']",
    ),
    (
        "comparison",
        "contenders = ['sqlite', 'mmap=sqlite?mmap_size=256M', 'small=sqlite?cache_size=100']
         [compare.a]
         workload = 'micro:point-query,range-covered-pk,read-only-sum,update-nonindex'
         no-guards = true
         secs = 0.4
         rounds = 8",
    ),
];

/// The mean error of the remaining time in each of them, as a share of the run.
const MEAN_ERRORS: [f64; 3] = [0.006, 0.024, 0.098];
/// How much it may grow: two points.
const POINTS: f64 = 0.02;

#[derive(Serialize, Deserialize)]
struct Head {
    plans: Vec<String>,
    cpus: u32,
    memory: u64,
}

#[derive(Serialize, Deserialize)]
enum Line {
    /// A plan is begun, by its place.
    Begin(usize),
    Event(Event),
    End,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/cli/progress/recorded")
}

fn items(text: &str) -> Vec<Item> {
    expand(&Matrix::parse(text).unwrap()).unwrap_or_else(|error| panic!("{error}"))
}

/// Runs the plans and records their events.
#[test]
#[ignore = "runs real servers for some minutes, on a machine that should have nothing else to do"]
fn record_runs() {
    fs::create_dir_all(folder()).unwrap();
    let path = |name: &str| folder().join(format!("{name}.jsonl"));
    for (name, text) in PLANS.into_iter().filter(|(name, _)| !path(name).exists()) {
        let items = items(text);
        let head = Head {
            plans: items.iter().map(|item| item.plan.to_toml()).collect(),
            cpus: rqps_observe::cpus(),
            memory: rqps_dbms::memory(),
        };
        let mut recorded = serde_json::to_string(&head).unwrap() + "\n";
        for (seconds, line) in record(&items) {
            recorded += &serde_json::to_string(&((1e3 * seconds).round() / 1e3, line)).unwrap();
            recorded.push('\n');
        }
        fs::write(path(name), recorded).unwrap();
    }
}

fn record(items: &[Item]) -> Vec<(f64, Line)> {
    let setup = Setup::new().unwrap();
    let ready: Vec<_> = items.iter().map(|item| setup.prepare(&item.plan).unwrap()).collect();
    let out = tempfile::tempdir().unwrap();
    let (began, lines) = (Instant::now(), RefCell::new(Vec::new()));
    let note = |line: Line| lines.borrow_mut().push((began.elapsed().as_secs_f64(), line));
    for (place, (item, ready)) in items.iter().zip(&ready).enumerate() {
        let mut directory = setup.create(&out.path().join(&item.title), item.plan.clone()).unwrap();
        note(Line::Begin(place));
        let mut last = (String::new(), f64::NEG_INFINITY);
        let mut watch = |mut event: Event| {
            // Frequent events are recorded once a second.
            if let Event::Measuring { test, paces, .. } = &mut event {
                paces.clear();
                let now = began.elapsed().as_secs_f64();
                if *test == last.0 && now < last.1 + 1.0 {
                    return;
                }
                last = (test.clone(), now);
            }
            note(Line::Event(event));
        };
        let mut lab = Lab {
            home: &setup.home,
            watch: &mut watch,
            cancel: &Cancel::default(),
            keep_data: false,
            restarts: &Restarts::default(),
            judge: &interim,
        };
        let outcome = rqps_lab::run(&mut lab, &mut directory, ready).unwrap();
        assert_eq!(outcome, Outcome::Complete);
    }
    note(Line::End);
    lines.into_inner()
}

/// The total time, and the forecast of the remaining time at each event.
fn foretold(recorded: &str) -> (f64, Vec<(f64, f64)>) {
    let (head, lines) = recorded.split_once('\n').unwrap();
    let head: Head = serde_json::from_str(head).unwrap();
    let plans: Vec<Plan> = head.plans.iter().map(|text| Plan::from_toml(text).unwrap()).collect();
    let estimates: Vec<_> = plans
        .iter()
        .map(|plan| rqps_lab::estimate(plan, head.cpus, head.memory).unwrap())
        .collect();
    let mut remaining = Remaining::new(plans.iter().zip(&estimates));
    let lines: Vec<(f64, Line)> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let total = lines.last().unwrap().0;
    let mut told = Vec::new();
    for (now, line) in lines {
        match line {
            Line::Begin(place) => remaining.begin(place, now),
            Line::Event(event) => remaining.event(&event, now),
            Line::End => break,
        }
        told.push((now, remaining.seconds(now)));
    }
    (total, told)
}

/// A recorded run: its time, and the forecast of the remaining time at each event.
fn replayed(name: &str) -> (f64, Vec<(f64, f64)>) {
    foretold(&fs::read_to_string(folder().join(format!("{name}.jsonl"))).unwrap())
}

/// The largest error from a quarter of a run on, as a share of the remaining time; near the end as
/// a share of a tenth of the run.
fn largest_error(name: &str) -> (f64, String) {
    let (total, told) = replayed(name);
    let late = told.into_iter().filter(|(now, _)| *now >= 0.25 * total);
    let errors = late.map(|(now, foretold)| {
        let left = total - now;
        let error = (foretold - left).abs() / left.max(0.1 * total);
        (error, format!("{name}: {foretold:.1} s and not {left:.1} s at {now:.1} of {total:.1} s"))
    });
    errors.max_by(|one, other| one.0.total_cmp(&other.0)).unwrap()
}

/// The mean error over the time of a run, as a share of that time: what somebody sees who looks at
/// the view at any moment.
fn mean_error(name: &str) -> f64 {
    let (total, told) = replayed(name);
    let until = told.iter().skip(1).map(|(now, _)| *now).chain([total]);
    let each = told.iter().zip(until).map(|((now, foretold), until)| {
        let error = (foretold - (total - now)).abs();
        error * (until - now)
    });
    each.sum::<f64>() / (total * total)
}

#[test]
fn from_a_quarter_of_a_run_on_the_remaining_time_is_right_within_a_fifth() {
    let errors: Vec<(f64, String)> = PLANS.map(|(name, _)| largest_error(name)).to_vec();
    assert!(errors.iter().all(|(error, _)| *error <= 0.2), "{errors:#?}");
}

/// A slow or busy machine takes twice as long as the estimate, a fast one half.
#[test]
fn before_anything_is_started_the_forecast_is_right_within_a_factor_of_two() {
    for (name, _) in PLANS {
        let (total, told) = replayed(name);
        let (began, first) = told[0];
        let share = first / (total - began);
        assert!((0.5..=2.0).contains(&share), "{name}: {first:.1} s, and it took {total:.1} s");
    }
}

/// The forecast and the view have one model of what work costs. A change of it by which recorded
/// runs are foretold worse shows here.
#[test]
fn the_error_of_the_remaining_time_does_not_grow() {
    let errors = PLANS.map(|(name, _)| (name, mean_error(name)));
    let grown = errors.iter().zip(MEAN_ERRORS).filter(|((_, error), was)| *error > was + POINTS);
    assert_eq!(grown.count(), 0, "{errors:.3?}, and {MEAN_ERRORS:?} before");
}
