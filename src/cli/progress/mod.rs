//! Progress for the user: a live view on a terminal, plain lines otherwise.

mod board;
mod lines;
mod number;
#[cfg(test)]
mod replay;
mod screen;
mod waiting;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use console::Term;
use rqps_dbms::source::Progress as Fetch;
use rqps_lab::{Event, LabError, PlanEstimate, Remaining};
use rqps_plan::{Plan, Source};
use rqps_system::{Cancel, Cancelled};

use super::output::note;
use super::units::Bytes;
use board::Board;
use lines::{Told, told};
pub(crate) use number::clock;
use screen::{Screen, View};
use waiting::tell_above;
pub(crate) use waiting::{say, tell_of_waiting};

/// Whether stderr is a terminal that a user watches. A log of CI is none, even if it looks like a
/// terminal.
fn is_live() -> bool {
    let is_smart = std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb");
    let is_ci = std::env::var_os("CI").is_some_and(|ci| !ci.is_empty() && ci != "false");
    Term::stderr().is_term() && is_smart && !is_ci
}

/// Shows the fetching of builds.
pub(crate) struct Fetching {
    screen: Option<Screen<Doing>>,
    last: String,
    /// Printed when the screen is gone.
    notes: Vec<String>,
}

/// One line.
struct Doing(String);

impl View for Doing {
    fn lines(&self, width: usize, _height: usize) -> Vec<String> {
        let line = console::truncate_str(&self.0, width.saturating_sub(1), "…");
        if line.is_empty() { Vec::new() } else { vec![line.into_owned()] }
    }
}

impl Fetching {
    pub(crate) fn new() -> Self {
        let screen = is_live().then(|| Screen::start(Doing(String::new())));
        Fetching { screen, last: String::new(), notes: Vec::new() }
    }

    /// Fails if the user has cancelled it.
    pub(crate) fn tell(&mut self, progress: Fetch, cancel: &Cancel) -> Result<(), Cancelled> {
        let (text, detail) = match progress {
            // They answer at once.
            Fetch::Looking { source: Source::System | Source::Image }
            | Fetch::Asking { .. }
            | Fetch::Reading { .. } => Default::default(),
            Fetch::Looking { source } => (format!("asking {source} for versions"), None),
            Fetch::Fetching { what } => (format!("fetching {what}"), None),
            Fetch::Unpacking { done, total } => {
                let (done, total) = (Bytes(done), Bytes(total));
                ("unpacking".to_string(), Some(format!("unpacking {done} of {total}")))
            }
            Fetch::Unpinned { what, hash } => {
                self.notes.push(format!(
                    "{what} is not in the catalogue of this rqps; its hash {hash} is from this fetch"
                ));
                Default::default()
            }
            Fetch::PassedOver { why } => {
                self.notes.push(format!("skipped: {why}"));
                Default::default()
            }
            Fetch::EntryPoint { image, program } => {
                self.notes.push(format!(
                    "the entrypoint of image '{image}' ({program}) is not run: rqps starts its server \
                     itself, with its own settings"
                ));
                Default::default()
            }
            Fetch::WaitingToBuild { whom } => (format!("waiting for {whom}"), None),
            Fetch::Building { what, step, gone, estimate } => building(&what, step, gone, estimate),
            Fetch::Waiting => ("waiting for another rqps that is fetching".to_string(), None),
        };
        if let (Some(screen), false) = (&self.screen, text.is_empty()) {
            let (is_new, shown) = (text != self.last, detail.unwrap_or_else(|| text.clone()));
            screen.update(|view| {
                view.0 = shown;
                is_new
            });
        } else if !text.is_empty() && text != self.last {
            note(&text);
        }
        if !text.is_empty() {
            self.last = text;
        }
        cancel.check()
    }

    /// Only notes remain on the terminal, as when it is dropped.
    pub(crate) fn finish(self) {}
}

/// A line that is logged once for a build, and the line that is shown while it runs.
fn building(
    what: &str,
    step: &str,
    gone: Duration,
    estimate: Duration,
) -> (String, Option<String>) {
    let text = match step {
        "configure" => {
            format!("building {what} from source, which takes about {}", clock(estimate))
        }
        step => format!("building {what} from source ({step})"),
    };
    let left = match estimate.checked_sub(gone) {
        Some(left) => format!("ETA {}", clock(left)),
        None => "longer than estimated".to_string(),
    };
    let elapsed = clock(gone);
    (text, Some(format!("building {what} from source ({step}): {left}, elapsed {elapsed}")))
}

impl Drop for Fetching {
    fn drop(&mut self) {
        self.screen = None;
        self.notes.iter().for_each(|text| note(text));
    }
}

/// Shows workloads that run one after another.
pub(crate) struct Progress {
    boards: Vec<Board>,
    clock: Clock,
    screen: Option<Screen<Live>>,
    last: String,
    /// Contenders whose loading was logged: a comparison may load for each round.
    loaded: BTreeSet<String>,
}

/// Elapsed and remaining time.
#[derive(Clone)]
struct Clock {
    began: Instant,
    remaining: Remaining,
}

impl Clock {
    fn now(&self) -> f64 {
        self.began.elapsed().as_secs_f64()
    }

    /// In seconds.
    fn left(&self) -> f64 {
        self.remaining.seconds(self.now())
    }
}

/// The view of the current workload.
struct Live {
    board: Board,
    clock: Clock,
}

impl View for Live {
    fn lines(&self, width: usize, height: usize) -> Vec<String> {
        self.board.lines(width, height, self.clock.now(), self.clock.left())
    }
}

impl Progress {
    /// Of plans with their titles; one alone needs none.
    pub(crate) fn new<'a>(
        plans: impl IntoIterator<Item = (String, &'a Plan)>,
    ) -> Result<Self, LabError> {
        let (cpus, memory) = (rqps_observe::cpus(), rqps_dbms::memory());
        let estimate = |(title, plan): (String, &'a Plan)| {
            Ok((title, plan, rqps_lab::estimate(plan, cpus, memory)?))
        };
        let all: Vec<(String, &Plan, PlanEstimate)> =
            plans.into_iter().map(estimate).collect::<Result<_, LabError>>()?;
        let remaining = Remaining::new(all.iter().map(|(_, plan, estimate)| (*plan, estimate)));
        let board = |(title, plan, estimate): &(String, &Plan, PlanEstimate)| {
            Board::new(title.clone(), plan, estimate)
        };
        Ok(Progress {
            boards: all.iter().map(board).collect(),
            clock: Clock { began: Instant::now(), remaining },
            screen: None,
            last: String::new(),
            loaded: BTreeSet::new(),
        })
    }

    /// A workload begins, by its place.
    pub(crate) fn begin(&mut self, workload: usize) {
        let now = self.clock.now();
        self.clock.remaining.begin(workload, now);
        let (board, clock) = (self.boards[workload].clone(), self.clock.clone());
        self.screen = is_live().then(|| Screen::start(Live { board, clock }));
        self.screen.iter().for_each(tell_above);
    }

    /// The workload has ended, and the terminal is free.
    pub(crate) fn end(&mut self) {
        self.screen = None;
    }

    pub(crate) fn event(&mut self, event: &Event) {
        let now = self.clock.now();
        self.clock.remaining.event(event, now);
        let told = told(event);
        let Some(screen) = &self.screen else { return self.log(event, told) };
        if let Told::Noted(text) = &told {
            screen.line(text);
        }
        let remaining = self.clock.remaining.clone();
        screen.update(|view| {
            view.clock.remaining = remaining;
            view.board.event(event)
        });
    }

    /// Plain lines: the current work is logged once.
    fn log(&mut self, event: &Event, told: Told) {
        match event {
            Event::Loading { contender } if self.loaded.contains(contender) => return,
            Event::Loaded { contender, .. } if !self.loaded.insert(contender.clone()) => return,
            _ => {}
        }
        let text = match told {
            Told::Nothing => return,
            Told::Now(text) if text == self.last => return,
            Told::Now(text) => {
                self.last.clone_from(&text);
                text
            }
            Told::Done(text) | Told::Noted(text) => text,
        };
        note(&text);
        if matches!(event, Event::StepDone { .. } | Event::RoundDone { .. }) {
            let left = Duration::from_secs_f64(self.clock.left());
            note(&format!("ETA {}", clock(left)));
        }
    }
}
