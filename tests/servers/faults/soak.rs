//! A matrix again and again, with rqps and its servers killed at random and the run gone on with:
//! what comes of it has the shape of a run that nobody disturbed, and nothing grows.
//!
//! `RQPS_SOAK_SECS` says how long (60), `RQPS_SOAK_SEED` with which kills (the time's):
//! `RQPS_SOAK_SECS=3600 cargo test --features nightly --test servers soak -- --nocapture`

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rustix::process::Signal;
use serde_json::Value;

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, entries, processes};

const MATRIX: &str = "\
contenders = ['sqlite', 'p=postgres@17.6']
rows = '2K'
pause = 0

[ibench.a]
rates = [100]
query-secs = 1
only = ['l.i0', 'l.x', 'l.i1', 'l.i2', 'qr100']

[micro.b]
secs = 0.5
tests = ['update-index', 'point-query']

[ibench.c]
only = ['l.i0', 'l.x', 'l.i1', 'l.i2']

[micro.d]
secs = 0.5
tests = ['insert', 'range-covered-pk']
";
const WORKLOADS: [&str; 4] = ["ibench-a", "micro-b", "ibench-c", "micro-d"];

/// At most so many kills in one run of the matrix, so that it comes to an end.
const KILLS: usize = 6;
/// How often it is looked at what rqps takes.
const LOOK: Duration = Duration::from_millis(20);
/// What a process may take more than the one before it: pages that an allocator keeps.
const SLACK: u64 = 32 << 20;
/// What is open for a moment is seen in one run and not in another: of undisturbed ones 19, 22, 28
/// and 33 were seen. One that stayed open in each step of each contender would be thirty more.
const MOMENTARY: usize = 20;

/// What a run of the matrix left, without what may differ: numbers, times and attempts.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    steps: Vec<String>,
    /// Rows that steps of a fixed size wrote.
    rows: Vec<String>,
    /// Names of all fields of all steps.
    fields: BTreeSet<String>,
    files: Vec<String>,
}

impl Shape {
    fn of(out: &Path) -> Shape {
        let (mut steps, mut rows, mut fields) = (Vec::new(), Vec::new(), BTreeSet::new());
        for workload in WORKLOADS {
            let result = RunResult::of(&out.join(workload));
            // Contenders run in an order of the run's own; the report has them in the plan's.
            steps.extend(result.states().into_iter().map(|state| format!("{workload} {state}")));
            for step in result.0["steps"].as_array().unwrap() {
                for found in step["results"].as_array().unwrap() {
                    let name = format!("{workload} {} {}", step["name"], found["contender"]);
                    if step["name"].as_str().unwrap().starts_with("l.i") {
                        rows.push(format!("{name} {}", found["work"]["insert"]["rows"]));
                    }
                    names(found, &name, &mut fields);
                }
            }
        }
        let mut files = Vec::new();
        below(out, out, &mut files);
        Shape { steps, rows, fields, files }
    }
}

/// The names of a value's fields. Counters of a DBMS are there when they counted, and samples when
/// a second was over.
fn names(value: &Value, path: &str, into: &mut BTreeSet<String>) {
    const DIFFER: [&str; 7] =
        ["engine", "seconds_series", "samples", "totals", "metrics", "series", "buckets"];
    if let Some(fields) = value.as_object() {
        for (name, value) in fields.iter().filter(|(name, _)| !DIFFER.contains(&name.as_str())) {
            let path = format!("{path}.{name}");
            names(value, &path, into);
            into.insert(path);
        }
    }
}

fn below(root: &Path, folder: &Path, files: &mut Vec<String>) {
    for name in entries(folder) {
        let path = folder.join(name);
        if path.is_dir() {
            below(root, &path, files);
        } else {
            files.push(path.strip_prefix(root).unwrap().display().to_string());
        }
    }
}

/// The most that a process was seen to have.
#[derive(Clone, Copy, Debug, Default)]
struct Most {
    memory: u64,
    files: usize,
}

impl Most {
    fn see(&mut self, pid: i32) {
        self.memory = self.memory.max(processes::most_memory(pid).unwrap_or(0));
        self.files = self.files.max(entries(Path::new(&format!("/proc/{pid}/fd"))).len());
    }
}

/// What happens to a run, and how often it has.
#[derive(Debug, Default)]
struct Tally {
    runs: usize,
    rqps_killed: usize,
    servers_killed: usize,
    interrupted: usize,
}

struct Soak {
    random: Xoshiro256PlusPlus,
    tally: Tally,
}

impl Soak {
    /// Lets a run go on for a random time and ends it in a random way; or it ends before.
    fn disturb(&mut self, mut running: Running, most: &mut Most) -> Finished {
        let time = Duration::from_millis(self.random.random_range(0..6_000));
        let end = Instant::now() + time;
        while Instant::now() < end && !running.has_ended() {
            most.see(running.pid());
            std::thread::sleep(LOOK);
        }
        let pid = running.pid();
        let servers = processes::children(pid, "postgres");
        match (self.random.random_range(0..3), servers.first()) {
            (0, Some(&server)) => {
                self.tally.servers_killed += 1;
                processes::kill(server);
            }
            (1, _) => {
                self.tally.interrupted += 1;
                processes::signal(pid, Signal::INT);
            }
            _ => {
                self.tally.rqps_killed += 1;
                processes::kill(pid);
            }
        }
        running.finish()
    }

    /// Runs the matrix to its end, with some kills on the way. Answers what its sessions took at
    /// most.
    fn run(&mut self, rqps: &Rqps, file: &str) -> Most {
        self.tally.runs += 1;
        let mut most = Most::default();
        let mut running = rqps.start("run", file);
        for _ in 0..self.random.random_range(1..=KILLS) {
            let ended = self.disturb(running, &mut most);
            rqps.await_no_process();
            assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
            let told = ended.status.code().is_none_or(|code| [0, 3, 130].contains(&code));
            assert!(told, "{:?}\n{}", ended.status, ended.stderr);
            // Before it has a plan there is nothing to go on with.
            let begun = rqps.out().join("matrix.toml").exists();
            running = rqps.start("run", if begun { "--resume" } else { file });
        }
        undisturbed(running, &mut most);
        most
    }
}

fn undisturbed(mut running: Running, most: &mut Most) {
    while !running.has_ended() {
        most.see(running.pid());
        std::thread::sleep(LOOK);
    }
    running.finish().ok();
}

#[test]
#[ignore = "nightly: takes a minute, or as long as it is told to"]
fn soak() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let time = Duration::from_secs(number("RQPS_SOAK_SECS").unwrap_or(60));
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    let seed = number("RQPS_SOAK_SEED").unwrap_or(since_epoch.as_secs());
    println!("seed {seed}, {} s", time.as_secs());
    let mut soak =
        Soak { random: Xoshiro256PlusPlus::seed_from_u64(seed), tally: Tally::default() };

    let rqps = Rqps::alone();
    let file = rqps.path("matrix.toml");
    fs::write(&file, MATRIX).unwrap();
    let file = file.display().to_string();
    let own = || entries(Path::new("/proc/self/fd")).len();
    let mut reference = Most::default();
    undisturbed(rqps.start("run", &file), &mut reference);
    let expected = Shape::of(&rqps.out());
    let home = |rqps: &Rqps| {
        let mut files = Vec::new();
        for folder in ["run", "data"] {
            below(&rqps.home(), &rqps.home().join(folder), &mut files);
        }
        files
    };
    assert_eq!(home(&rqps), [] as [&str; 0]);
    let own_files = own();

    let deadline = Instant::now() + time;
    let mut later = Vec::new();
    while Instant::now() < deadline {
        fs::remove_dir_all(rqps.out()).unwrap();
        later.push(soak.run(&rqps, &file));
        let found = Shape::of(&rqps.out());
        assert_eq!(found.steps, expected.steps);
        assert_eq!(found.rows, expected.rows);
        assert_eq!(found.fields, expected.fields);
        assert_eq!(found.files, expected.files);
        rqps.assert_nothing_is_left();
        assert_eq!(home(&rqps), [] as [&str; 0], "no file is left in the home");
        println!("{:?}", soak.tally);
    }
    let memory = later.iter().map(|most| most.memory).max().unwrap_or(0);
    let files = later.iter().map(|most| most.files).max().unwrap_or(0);
    println!("undisturbed: {reference:?}; of the others at most {memory} bytes and {files} files");
    assert!(memory <= reference.memory + SLACK);
    assert!(files <= reference.files + MOMENTARY);
    assert_eq!(own(), own_files, "descriptors of the test itself");
}
