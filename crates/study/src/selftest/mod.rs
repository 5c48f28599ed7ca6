//! The result of a selftest on the verdicts of this machine: cells with a known truth from real and
//! synthetic runs, their summary, and the bounds that it must keep.

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

/// The version of the result's format.
const VERSION: u32 = 1;
/// The engine of synthetic rounds, which have no server.
const SYNTHETIC: &str = "synthetic";

/// One run of a selftest: a comparison, the injected slowdowns of its contenders, and their sizes.
#[derive(Debug)]
pub struct Experiment {
    /// As `rqps_store::selftest::engine` names it.
    pub engine: String,
    /// By the place of the contender in the plan; none for unchanged builds.
    pub interventions: Vec<Option<Intervention>>,
    pub run: Run,
    pub doses: Vec<Dose>,
}

impl Experiment {
    /// The pairs of contenders with a true difference whose size or cause is known.
    pub fn cells(&self) -> Vec<Cell> {
        cells::cells(self)
    }
}

/// What makes a contender differ from its baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Intervention {
    Injected(Injection),
    /// The contender has the settings of the variant.
    Varied(&'static Variant),
}

/// The kind and size of a contender's difference from its baseline.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// None: it is the same build.
    Same,
    /// The server spends more time: a share of an operation's time.
    Server(f64),
    /// The client spends more time: a share of an operation's time.
    Client(f64),
    /// A quota of CPUs.
    Quota(f64),
    /// A limit of writes per second.
    Writes(u64),
    /// A setting with this cause and an effect of unknown size.
    Setting(#[serde(serialize_with = "rule")] Cause),
}

/// A cause in JSON: `R11`.
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
    /// The changed settings, if any: `synchronous_commit=on`.
    pub settings: Option<String>,
    /// The expected ratio to the baseline; not known for settings.
    pub expected: Option<f64>,
    /// The expected ratio is exact, not approximate.
    pub is_exact: bool,
    pub measured: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub rounds: usize,
    /// The label as a comparison prints it.
    pub label: String,
    /// The label reports a change.
    pub is_verdict: bool,
    /// The causes in their order, if there is a verdict.
    pub cause: Option<String>,
    /// Whether the first cause is right.
    pub is_cause_right: Option<bool>,
    /// The cell has enough rounds for a result.
    #[serde(skip)]
    pub(crate) is_counted: bool,
    /// The known truth, if the cell counts.
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

/// The summary of the cells of an engine and method with the same slowdown.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub engine: String,
    pub method: Method,
    pub treatment: Treatment,
    /// None for all classes.
    pub class: Option<String>,
    pub cells: usize,
    /// Cells without a result, since guards discarded their rounds.
    pub refused: usize,
    /// Means of ratios.
    pub expected: Option<f64>,
    pub measured: Option<f64>,
    /// Cells that differ at 5 %: false alarms if the builds are equal.
    pub flagged: Counted,
    pub verdicts: Counted,
    /// Cells whose 95 % interval contains the truth, of those with an exact one.
    pub covered: Counted,
    pub found: Counted,
    pub found_of_detectable: Counted,
    pub wrong_signs: u64,
    /// Measured minus true, as a log ratio, with its 95 % interval, over cells with an exact truth.
    pub bias: Option<[f64; 3]>,
    pub spread: Option<f64>,
    pub detectable: Option<f64>,
    /// Cells whose first cause is right, of those with a verdict: without one there is no cause.
    pub causes: Counted,
}

/// A bound and its result.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub engine: String,
    pub what: String,
    pub is_kept: bool,
    /// The result in numbers.
    pub found: String,
}

/// The conclusion of a selftest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// There is no evidence against verdicts on this machine.
    Sound,
    /// The noise is too high for a conclusion.
    TooNoisy,
    OutOfBounds,
}

#[derive(Clone, Debug, Serialize)]
pub struct SelfTest {
    version: u32,
    pub date: String,
    pub rqps_version: String,
    pub host: String,
    /// Clients of each contender; synthetic rounds have none.
    pub clients: u32,
    pub quick: bool,
    /// Only some of its comparisons were requested.
    pub partial: bool,
    pub conclusion: Conclusion,
    pub checks: Vec<Check>,
    pub lines: Vec<Line>,
    /// Skipped experiments with the reason.
    pub skipped: Vec<String>,
    pub cells: Vec<Cell>,
    /// The result that comparisons use.
    pub fitness: Vec<Fitness>,
}

/// Time, place and options of a selftest.
#[derive(Clone, Debug)]
pub struct Circumstances {
    /// RFC 3339.
    pub date: String,
    pub rqps_version: String,
    pub host: String,
    /// Clients of each contender.
    pub clients: u32,
    pub quick: bool,
    /// Only some of its comparisons were requested.
    pub partial: bool,
    pub skipped: Vec<String>,
}

/// Checks the verdicts of these cells against their known truth.
pub fn selftest(cells: Vec<Cell>, circumstances: Circumstances) -> SelfTest {
    let lines = lines(&cells);
    let checks = bounds::checks(&cells, circumstances.quick);
    let conclusion = bounds::conclusion(&cells, &checks);
    let fitness = match bounds::is_noisy(&cells) {
        // With much noise, a method that finds nothing may be unsound all the same.
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

/// A line for each class of equal builds and one for all; one for each size of a slowdown.
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
    // A stable sort: the line of all classes follows those of each class.
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
    /// The line of at least one cell, all with the same slowdown.
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

/// The result as JSON.
pub fn selftest_json(selftest: &SelfTest) -> String {
    serde_json::to_string_pretty(selftest).expect("numbers and names are JSON") + "\n"
}
