//! How an rqps ended, and what its run directory holds.

use std::fs;
use std::path::Path;
use std::process::ExitStatus;

use serde_json::Value;

/// An rqps that has ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Finished {
        let Finished { status, stdout, stderr } = &self;
        assert_eq!(status.code(), Some(code), "\nstdout:\n{stdout}\nstderr:\n{stderr}");
        self
    }

    /// It worked.
    #[track_caller]
    pub(crate) fn ok(self) -> Finished {
        self.expect_code(0)
    }

    /// stderr holds all of these.
    #[track_caller]
    pub(crate) fn says(self, texts: &[&str]) -> Finished {
        for text in texts {
            assert!(self.stderr.contains(text), "'{text}' is not in stderr:\n{}", self.stderr);
        }
        self
    }

    /// An error of the user is one line, without any other output except what rqps asked and
    /// fetched first, where the machine lacked it, or how that was built.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, texts: &[&str]) -> Finished {
        let finished = self.expect_code(code).says(texts);
        assert_eq!(finished.stdout, "");
        let progress = ["asking ", "fetching ", "unpacking", "waiting for another rqps"];
        let is_progress = |line: &&str| {
            let is_of_build = line.ends_with("unlike the builds that distributions ship");
            is_of_build || progress.iter().any(|begin| line.starts_with(begin))
        };
        let lines: Vec<&str> = finished.stderr.lines().filter(|l| !is_progress(l)).collect();
        assert!(lines.len() == 1 && lines[0].starts_with("error: "), "one error: {lines:#?}");
        finished
    }
}

/// The `result.json` of a run.
pub(crate) struct RunResult(pub(crate) Value);

impl RunResult {
    pub(crate) fn of(run: &Path) -> RunResult {
        let text = fs::read_to_string(run.join("result.json")).unwrap();
        RunResult(serde_json::from_str(&text).unwrap())
    }

    /// The names of the started steps, in order.
    pub(crate) fn steps(&self) -> Vec<&str> {
        let begun = |step: &&Value| !step["results"].as_array().unwrap().is_empty();
        let steps = self.0["steps"].as_array().unwrap().iter().filter(begun);
        steps.map(|step| step["name"].as_str().unwrap()).collect()
    }

    /// A step of the first contender.
    #[track_caller]
    pub(crate) fn step(&self, name: &str) -> &Value {
        let steps = self.0["steps"].as_array().unwrap();
        let step = steps.iter().find(|step| step["name"] == name);
        &step.unwrap_or_else(|| panic!("no step {name}: {:?}", self.steps()))["results"][0]
    }

    /// Every started step of every contender, as `contender step status`.
    pub(crate) fn states(&self) -> Vec<String> {
        let mut states = Vec::new();
        for step in self.0["steps"].as_array().unwrap() {
            for result in step["results"].as_array().unwrap() {
                let text = |value: &Value| value.as_str().unwrap().to_string();
                let (contender, status) = (text(&result["contender"]), text(&result["status"]));
                states.push(format!("{contender} {} {status}", text(&step["name"])));
            }
        }
        states
    }

    #[track_caller]
    pub(crate) fn assert_all_done(&self) {
        let states = self.states();
        assert!(states.iter().all(|state| state.ends_with(" done")), "{states:#?}");
    }

    /// Asserts that all is done, and that the measurements of an earlier attempt are unchanged.
    #[track_caller]
    pub(crate) fn assert_completes(&self, earlier: &RunResult) {
        self.assert_all_done();
        for step in earlier.steps() {
            let before = earlier.step(step);
            if before["status"] == "done" {
                assert_eq!(self.step(step), before, "what was measured is kept");
            }
        }
    }

    /// The state of the step that an attempt of the first contender ended in.
    pub(crate) fn last_state(&self) -> String {
        self.states().pop().unwrap_or_default()
    }
}
