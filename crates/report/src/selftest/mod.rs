//! From the runs of a selftest, real and made up, to what they say of the verdicts of this machine:
//! cells whose truth is known, what they have in common, and the bounds that this must keep.

mod bounds;
mod cells;
mod synthetic;
mod text;
mod variants;

use rqps_analysis::diagnosis::Cause;
use rqps_plan::{Dose, Injection, Method};
use rqps_stats::acceptance::{Known, LEVEL};
use rqps_stats::binomial::Share;
use rqps_store::Run;
use rqps_store::selftest::Fitness;
use serde::{Serialize, Serializer};

pub use synthetic::synthetic;
pub use text::selftest_text;
pub use variants::{Variant, variants};

/// Of the form of the result.
const VERSION: u32 = 1;
/// In the place of an engine: no server took part.
const SYNTHETIC: &str = "synthetic";

/// One run of a selftest: a comparison, what was done to its contenders, and what that came to.
#[derive(Debug)]
pub struct Experiment {
    /// As `rqps_store::selftest::engine` tells it.
    pub engine: String,
    /// By the place of the contender in the plan; none of those that are as they are.
    pub interventions: Vec<Option<Intervention>>,
    pub run: Run,
    pub doses: Vec<Dose>,
}

impl Experiment {
    /// Its pairs of contenders of whose true difference the size or the cause is known.
    pub fn cells(&self) -> Vec<Cell> {
        cells::cells(self)
    }
}

/// What is done to a contender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intervention {
    Injected(Injection),
    /// Its settings are those of the variant.
    Varied(&'static Variant),
}

/// What was done to a contender that is held against its base.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// Nothing: it is the same build.
    Same,
    /// A share of an operation's time, spent by the server.
    Server(f64),
    /// … by the client.
    Client(f64),
    /// CPUs.
    Quota(f64),
    /// Writes per second.
    Writes(u64),
    /// A setting that is known to have this cause, and whose size nobody knows.
    Setting(#[serde(serialize_with = "rule")] Cause),
}

/// A cause as programs read it: `R11`.
fn rule<S: Serializer>(cause: &Cause, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cause.rule())
}

/// One test of one contender.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    pub engine: String,
    pub method: Method,
    /// `point`, `range`, `aggregate` or `write`.
    pub class: String,
    pub test: String,
    pub contender: String,
    pub treatment: Treatment,
    /// What was changed, where that is a setting: `synchronous_commit=on`.
    pub settings: Option<String>,
    /// Ratios to the base. What a setting must come to is not known.
    pub expected: Option<f64>,
    /// That is what must come out, and not only about as much.
    pub is_exact: bool,
    pub measured: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub rounds: usize,
    /// As a comparison would print it.
    pub label: String,
    /// Something was said to have changed.
    pub is_verdict: bool,
    /// The causes that were told, where there was a verdict, the first one first.
    pub cause: Option<String>,
    /// Whether the first one was right.
    pub is_cause_right: Option<bool>,
    /// It has a result: there were rounds enough.
    #[serde(skip)]
    pub(crate) is_counted: bool,
    /// Of one that is counted and whose true difference is known.
    #[serde(skip)]
    pub(crate) known: Option<Known>,
}

/// A share with its 95 % interval (Clopper and Pearson).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Counted {
    pub hits: u64,
    pub of: u64,
    pub low: f64,
    pub high: f64,
}

impl Counted {
    fn new(share: Share) -> Counted {
        let interval = share.interval(LEVEL);
        Counted { hits: share.hits, of: share.of, low: interval.low, high: interval.high }
    }
}

/// What cells of an engine and method that were treated alike have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub engine: String,
    pub method: Method,
    pub treatment: Treatment,
    /// None for all of them.
    pub class: Option<String>,
    pub cells: usize,
    /// Cells without a result, since guards refused their rounds.
    pub refused: usize,
    /// Means of ratios.
    pub expected: Option<f64>,
    pub measured: Option<f64>,
    /// A difference is seen at 5 %: of equals a false alarm.
    pub flagged: Counted,
    pub verdicts: Counted,
    /// The 95 % interval holds the truth, where that is exact.
    pub covered: Counted,
    pub found: Counted,
    pub found_of_detectable: Counted,
    pub wrong_signs: u64,
    /// Measured minus true, as a log ratio, with its 95 % interval, where the truth is exact.
    pub bias: Option<[f64; 3]>,
    pub spread: Option<f64>,
    pub detectable: Option<f64>,
    /// The first cause that was told is right, of those with a verdict: without one there is
    /// nothing to explain.
    pub causes: Counted,
}

/// Something that must be so.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub engine: String,
    pub what: String,
    pub is_kept: bool,
    /// With numbers.
    pub found: String,
}

/// What a selftest comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// Nothing was found that speaks against the verdicts of this machine.
    Sound,
    /// Little can be seen, so nothing is said of the verdicts.
    TooNoisy,
    OutOfBounds,
}

#[derive(Clone, Debug, Serialize)]
pub struct SelfTest {
    version: u32,
    pub date: String,
    pub rqps_version: String,
    pub host: String,
    /// Of each contender at once; made-up rounds have none.
    pub clients: u32,
    pub quick: bool,
    /// Some of its comparisons were not wanted.
    pub partial: bool,
    pub conclusion: Conclusion,
    pub checks: Vec<Check>,
    pub lines: Vec<Line>,
    /// What could not be tried here, and why.
    pub skipped: Vec<String>,
    pub cells: Vec<Cell>,
    /// What comparisons will go by.
    pub fitness: Vec<Fitness>,
}

/// When, where and how a selftest was made.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// RFC 3339.
    pub date: String,
    pub rqps_version: String,
    pub host: String,
    /// Of each contender at once.
    pub clients: u32,
    pub quick: bool,
    /// Some of its comparisons were not wanted.
    pub partial: bool,
    pub skipped: Vec<String>,
}

/// Puts the verdicts of these cells to the test.
pub fn selftest(cells: Vec<Cell>, circumstances: Circumstances) -> SelfTest {
    let lines = lines(&cells);
    let checks = bounds::checks(&cells, circumstances.quick);
    let conclusion = bounds::conclusion(&cells, &checks);
    let fitness = match bounds::is_noisy(&cells) {
        // What cannot be seen is not known to be sound.
        true => Vec::new(),
        false => bounds::fitness(&cells, &circumstances),
    };
    let Circumstances { date, rqps_version, host, clients, quick, partial, skipped } =
        circumstances;
    SelfTest {
        version: VERSION,
        date,
        rqps_version,
        host,
        clients,
        quick,
        partial,
        conclusion,
        checks,
        lines,
        skipped,
        cells,
        fitness,
    }
}

/// Of equals a line for each class and one for all; of others one for each size.
fn lines(cells: &[Cell]) -> Vec<Line> {
    let mut kinds: Vec<(&str, Method, Treatment, Option<&str>)> = Vec::new();
    for cell in cells {
        let (engine, method, treatment) = (cell.engine.as_str(), cell.method, cell.treatment);
        let classes = match treatment {
            Treatment::Same => vec![Some(cell.class.as_str()), None],
            _ => vec![None],
        };
        for kind in classes.into_iter().map(|class| (engine, method, treatment, class)) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
    }
    let line = |&(engine, method, treatment, class): &(&str, Method, Treatment, Option<&str>)| {
        let own = cells.iter().filter(|cell| {
            (cell.engine.as_str(), cell.method, cell.treatment) == (engine, method, treatment)
                && class.is_none_or(|class| cell.class == class)
        });
        Line::of(&own.collect::<Vec<_>>(), class)
    };
    // Stable: the line of all classes goes behind those of each.
    let place = |&(engine, method, treatment, class): &(&str, Method, Treatment, Option<&str>)| {
        let same = |cell: &Cell| {
            (cell.engine.as_str(), cell.method, cell.treatment) == (engine, method, treatment)
        };
        (cells.iter().position(same), class.is_none())
    };
    kinds.sort_by_key(place);
    kinds.iter().map(line).collect()
}

impl Line {
    /// Of at least one cell, all treated alike.
    fn of(cells: &[&Cell], class: Option<&str>) -> Line {
        let exact: Vec<&Cell> = cells.iter().copied().filter(|cell| cell.is_exact).collect();
        let (summary, exact) = (bounds::summary(cells), bounds::summary(&exact));
        let mean = |values: Vec<f64>| {
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let seen = || cells.iter().filter(|cell| cell.is_counted);
        let count = seen().count();
        let finite = |value: f64| value.is_finite().then_some(value);
        let bias = exact.bias(LEVEL);
        let bias = bias.map(|bias| [bias.value, bias.interval.low, bias.interval.high]);
        Line {
            engine: cells[0].engine.clone(),
            method: cells[0].method,
            treatment: cells[0].treatment,
            class: class.map(str::to_string),
            cells: count,
            refused: cells.len() - count,
            expected: mean(seen().filter_map(|cell| cell.expected).collect()),
            measured: mean(seen().filter_map(|cell| cell.measured).collect()),
            flagged: Counted::new(summary.flagged),
            verdicts: Counted::new(Share::count(seen().map(|cell| cell.is_verdict))),
            covered: Counted::new(exact.covered),
            found: Counted::new(summary.found),
            found_of_detectable: Counted::new(summary.found_of_detectable),
            wrong_signs: summary.wrong_signs.hits,
            bias,
            spread: finite(summary.spread),
            detectable: finite(summary.detectable),
            causes: Counted::new(Share::count(seen().filter_map(|cell| cell.is_cause_right))),
        }
    }
}

/// The result for programs.
pub fn selftest_json(selftest: &SelfTest) -> String {
    serde_json::to_string_pretty(selftest).expect("numbers and names are JSON") + "\n"
}
