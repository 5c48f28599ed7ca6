//! A small fleet: comparisons of SQLite with itself, each of a few seconds.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::Rqps;
use super::result::Finished;

/// Each cell takes a second or two.
const PLAN: &str = "\
contenders = ['sqlite', 'again=sqlite']
rows = '1K'
[compare.points]
workload = 'micro:point-query'
secs = '0.1'
rounds = 3
no-guards = true
";

/// The same, for long enough to be killed in the middle.
const LONG: &str = "\
contenders = ['sqlite', 'again=sqlite']
rows = '1K'
[compare.points]
workload = 'micro:point-query'
secs = '0.5'
rounds = 12
precision = '0.01%'
no-guards = true
";

pub(crate) struct SmallFleet<'r> {
    rqps: &'r Rqps,
}

impl<'r> SmallFleet<'r> {
    /// `on` says who starts the cells, and which machines there are.
    pub(crate) fn new(rqps: &'r Rqps, on: &str) -> Self {
        SmallFleet::of(rqps, PLAN, on)
    }

    pub(crate) fn long(rqps: &'r Rqps, on: &str) -> Self {
        SmallFleet::of(rqps, LONG, on)
    }

    fn of(rqps: &'r Rqps, plan: &str, on: &str) -> Self {
        fs::write(rqps.path("plan.toml"), plan).unwrap();
        let fleet = SmallFleet { rqps };
        fleet.write(on);
        fleet
            .verb(&format!("plan {} --out {}", fleet.file().display(), fleet.dir().display()))
            .ok();
        fleet
    }

    /// Waits until a cell is measured, and answers the process that does it.
    pub(crate) fn await_running(&self, id: &str) -> i32 {
        let partial = self.cell(id).join("run.partial/results.sqlite");
        super::await_that("the cell has begun", || partial.exists());
        let lease = fs::read_to_string(self.cell(id).join("lease")).unwrap();
        let lease: Value = serde_json::from_str(&lease).unwrap();
        lease["holder"]["pid"].as_i64().unwrap() as i32
    }

    /// Another file, which is not planned yet.
    pub(crate) fn write(&self, on: &str) {
        fs::write(self.file(), format!("plan = 'plan.toml'\n{on}")).unwrap();
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.rqps.path("fleet.toml")
    }

    pub(crate) fn dir(&self) -> PathBuf {
        self.rqps.path("fleet")
    }

    /// Runs `rqps fleet` with these words to the end.
    pub(crate) fn verb(&self, words: &str) -> Finished {
        self.rqps.run(&format!("fleet {words}"))
    }

    /// A verb about the folder.
    pub(crate) fn on_dir(&self, verb: &str) -> Finished {
        self.verb(&format!("{verb} {}", self.dir().display()))
    }

    /// The cells with their states, in their order.
    pub(crate) fn states(&self) -> Vec<(String, String)> {
        let said = self.verb(&format!("status {} --json", self.dir().display())).ok().stdout;
        let states: Value = serde_json::from_str(&said).unwrap();
        let text = |of: &Value| of.as_str().unwrap().to_string();
        let states = states.as_array().unwrap().iter();
        states.map(|of| (text(&of["cell"]), text(&of["state"]))).collect()
    }

    pub(crate) fn cells(&self) -> Vec<String> {
        self.states().into_iter().map(|(cell, _)| cell).collect()
    }

    pub(crate) fn cell(&self, id: &str) -> PathBuf {
        self.dir().join("cells").join(id)
    }

    /// The attempts at a cell: how each ended.
    pub(crate) fn attempts(&self, id: &str) -> Vec<Value> {
        let read = |number: u32| {
            let path = self.cell(id).join(format!("attempts/{number}.json"));
            serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
        };
        (1..).map_while(read).map(|attempt: Value| attempt["exit"].clone()).collect()
    }

    /// The rounds of a cell that is done.
    pub(crate) fn rounds(&self, id: &str) -> usize {
        let text = fs::read_to_string(self.cell(id).join("run/result.json")).unwrap();
        let result: Value = serde_json::from_str(&text).unwrap();
        let tests = &result["comparison"]["contenders"][0]["tests"];
        tests[0]["rounds"].as_array().unwrap().len()
    }
}
