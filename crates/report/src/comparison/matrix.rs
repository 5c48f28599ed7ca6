//! The rounds of a comparison, from which the page compares any contender with any other.

use rqps_analysis::comparison::{Observed, Quantity, level, per_statement, restart};
use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::Estimate;
use rqps_stats::histogram::PERCENTILES;
use rqps_stats::verdict::Verdict;
use rqps_store::RoundRecord;

use super::labels::class;
use super::{Judged, Verdicts};
use crate::model::{Discarded, Mark, Matrix, MatrixMeasure, MatrixRow, throughput, time};

/// A cost per operation in one round: its name, the unit of the cost itself, a legend, its value.
type Cost = (&'static str, &'static str, &'static str, Value);

#[derive(Clone, Copy)]
enum Value {
    Of(Quantity),
    /// Divided by that.
    Metric(Metric, f64),
}

impl Value {
    fn of(self, pass: &RoundRecord, name: &str) -> Option<f64> {
        match self {
            Value::Of(quantity) => level(pass, name, quantity),
            Value::Metric(metric, unit) => Some(per_statement(pass, name, metric)? / unit),
        }
    }
}

const KIB: f64 = 1024.0;
const NANOS_OF_MS: f64 = 1e6;

const CPU: &str = "CPU of the server; for a DBMS inside the client, of both";
const RUN_QUEUE: &str = "time that the server's threads waited for a CPU";
const VOLUNTARY: &str = "voluntary context switches of the server: it waited";
const INVOLUNTARY: &str = "involuntary context switches of the server: it was preempted";
const READ: &str = "KiB that the server read from storage";
const WRITTEN: &str = "KiB that the server wrote to files";

const COSTS: [Cost; 8] = [
    ("cpu/o", "us", CPU, Value::Of(Quantity::Cpu)),
    ("client cpu/o", "us", "CPU of the client", Value::Of(Quantity::Client)),
    ("run queue/o", "us", RUN_QUEUE, Value::Of(Quantity::RunQueue)),
    ("vol. cs/o", "switches", VOLUNTARY, Value::Metric(Metric::ServerVoluntarySwitches, 1.0)),
    ("invol. cs/o", "switches", INVOLUNTARY, Value::Metric(Metric::ServerInvoluntarySwitches, 1.0)),
    ("rKB/o", "KiB", READ, Value::Metric(Metric::ServerReadBytes, KIB)),
    ("wKB/o", "KiB", WRITTEN, Value::Metric(Metric::ServerWriteBytes, KIB)),
    (
        "faults/o",
        "faults",
        "minor page faults of the server",
        Value::Metric(Metric::ServerMinorFaults, 1.0),
    ),
];

impl Verdicts<'_> {
    pub(crate) fn matrix(&self) -> Matrix {
        let names = self.names();
        let has_value = |cost: &&Cost| {
            let mut passes = self.run.rounds.iter();
            passes.any(|pass| names.iter().any(|name| is_something(cost.3.of(pass, name))))
        };
        let costs: Vec<&Cost> = COSTS.iter().filter(has_value).collect();
        let counted = self.counted();
        let mut measures = vec![throughput(&counted)];
        measures.extend(costs.iter().map(|(name, unit, legend, _)| MatrixMeasure {
            name: name.to_string(),
            unit: format!("{unit}/{}", counted.one),
            legend: legend.to_string(),
            more_is_better: false,
        }));
        let is_known = |which: &usize| self.tests.iter().any(|test| test.times.has(*which));
        let times: Vec<usize> = (0..PERCENTILES.len()).filter(is_known).collect();
        measures.extend(times.iter().map(|which| time(PERCENTILES[*which].0, self.clock())));
        let rows = 0..self.tests.len();
        let rows = rows.map(|index| self.row(index, &names, &costs, &times)).collect();
        let shift = |judged: &Judged| Some(judged.suite.as_ref()?.shift.value);
        let shifts = self.judged.iter().map(shift);
        let shifts: Vec<Option<f64>> = [Some(0.0)].into_iter().chain(shifts).collect();
        Matrix {
            baseline: Some(0),
            is_comparison: true,
            measures,
            shifts: if shifts[1..].iter().any(Option::is_some) { shifts } else { Vec::new() },
            rows,
            contenders: names.iter().map(|name| name.to_string()).collect(),
        }
    }

    /// `times` are the percentiles that are known for any test.
    fn row(&self, index: usize, names: &[&str], costs: &[&Cost], times: &[usize]) -> MatrixRow {
        let test = &self.tests[index];
        let passes: Vec<&RoundRecord> = test.counted().collect();
        let by_round = |of: &dyn Fn(&RoundRecord, &str) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
            let rounds = |name: &&str| passes.iter().map(|pass| of(pass, name)).collect();
            names.iter().map(rounds).collect()
        };
        let mut values = vec![by_round(&|pass, name| level(pass, name, Quantity::Rate))];
        values.extend(costs.iter().map(|cost| by_round(&|pass, name| cost.3.of(pass, name))));
        values.extend(times.iter().map(|which| {
            by_round(&|pass, name| Some(test.times.within(pass, name, *which)? / NANOS_OF_MS))
        }));
        let judged = self.judged.iter().map(|judged| Some(judgement(&judged.verdicts[index])));
        let control =
            self.judged.first().and_then(|judged| judged.verdicts[index].control.as_ref());
        let marks = [None].into_iter().chain(judged);
        let marks = marks.chain(self.plan.control.then(|| control.map(of_control)));
        let marks = names.iter().zip(marks).map(|(name, mark)| match self.missed(name, index) {
            Some(text) => Some(of_missed(text, mark)),
            None => mark,
        });
        MatrixRow {
            name: test.name.to_string(),
            group: test.group.to_string(),
            operation: test.counts(self.plan).operation(),
            anchor: format!("test-{}", test.name),
            rounds: passes.iter().map(|pass| pass.round).collect(),
            values,
            logs: by_round(&|pass, name| self.log(pass, name)),
            marks: marks.collect(),
            discarded: discarded(test),
        }
    }

    /// As it was compared: within cycles if arms took turns.
    fn log(&self, pass: &RoundRecord, name: &str) -> Option<f64> {
        let base = self.base.as_str();
        match self.plan.method_of(&pass.test) {
            Method::Slices => Some(restart(pass, name, &[base], Quantity::Rate)?.log_ratio),
            Method::Runs => {
                let log = |name| Some(level(pass, name, Quantity::Rate)?.ln());
                Some(log(name)? - log(base)?)
            }
        }
    }
}

fn is_something(value: Option<f64>) -> bool {
    value.is_some_and(|value| value > 0.0)
}

fn judgement(verdict: &Verdict) -> Mark {
    let has_value = verdict.contributions.len() > 1;
    let text = verdict.label.to_string();
    match has_value {
        true => Mark { text, ..mark(&verdict.estimate, class(&verdict.label)) },
        false => Mark { class: class(&verdict.label), text, ratio: None, low: None, high: None },
    }
}

/// Queries per second are not a result if writes fell behind, whatever their verdict is.
fn of_missed(text: String, judged: Option<Mark>) -> Mark {
    let nothing = Mark { class: "missed", text: String::new(), ratio: None, low: None, high: None };
    let judged = judged.filter(|mark| mark.ratio.is_some()).unwrap_or(nothing);
    let text = match judged.text.is_empty() {
        true => text,
        false => format!("{text}; {}", judged.text),
    };
    Mark { class: "missed", text, ..judged }
}

fn of_control(estimate: &Estimate) -> Mark {
    Mark { text: "A/A control".to_string(), ..mark(estimate, "control") }
}

fn mark(estimate: &Estimate, class: &'static str) -> Mark {
    let interval = estimate.interval.exp();
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Mark {
        class,
        text: String::new(),
        ratio: finite(estimate.ratio()),
        low: finite(interval.low).filter(|low| *low > 0.0),
        high: finite(interval.high),
    }
}

fn discarded(test: &Observed<'_>) -> Vec<Discarded> {
    let discarded = test.passes.iter().filter_map(|pass| {
        let why = pass.discarded.as_ref()?;
        let why = format!("round {}, attempt {}: {why}", pass.round, pass.attempt);
        Some(Discarded { round: pass.round, why })
    });
    discarded.collect()
}
