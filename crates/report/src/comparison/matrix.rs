//! The rounds of a comparison as the page holds any contender against any other.

use rqps_observe::Metric;
use rqps_plan::Method;
use rqps_stats::Estimate;
use rqps_stats::histogram::PERCENTILES;
use rqps_stats::verdict::Verdict;
use rqps_store::{RoundRecord, Run};

use super::costs::per_statement;
use super::labels::class;
use super::observed::{Observed, Quantity, level, restart};
use super::{Judged, Verdicts};
use crate::model::{Mark, Matrix, MatrixMeasure, MatrixRow, Refused, service_time, throughput};

/// A cost in one pass, for one of what the test counts.
struct Cost {
    name: &'static str,
    /// Of the cost itself.
    unit: &'static str,
    legend: &'static str,
    value: fn(&RoundRecord, &str) -> Option<f64>,
}

const KIB: f64 = 1024.0;
const NANOS_OF_MS: f64 = 1e6;

const COSTS: [Cost; 8] = [
    Cost {
        name: "cpu/o",
        unit: "us",
        legend: "the server's CPU; of a DBMS inside the client, of both",
        value: |pass, name| level(pass, name, Quantity::Cpu),
    },
    Cost {
        name: "client cpu/o",
        unit: "us",
        legend: "the client's CPU",
        value: |pass, name| level(pass, name, Quantity::Client),
    },
    Cost {
        name: "run queue/o",
        unit: "us",
        legend: "the server's threads waited for a CPU",
        value: |pass, name| level(pass, name, Quantity::RunQueue),
    },
    Cost {
        name: "vol. cs/o",
        unit: "switches",
        legend: "the server gave up a CPU because it had to wait",
        value: |pass, name| per_statement(pass, name, Metric::ServerVoluntarySwitches),
    },
    Cost {
        name: "invol. cs/o",
        unit: "switches",
        legend: "the server was put off a CPU",
        value: |pass, name| per_statement(pass, name, Metric::ServerInvoluntarySwitches),
    },
    Cost {
        name: "rKB/o",
        unit: "KiB",
        legend: "the server read from storage",
        value: |pass, name| Some(per_statement(pass, name, Metric::ServerReadBytes)? / KIB),
    },
    Cost {
        name: "wKB/o",
        unit: "KiB",
        legend: "the server wrote to files",
        value: |pass, name| Some(per_statement(pass, name, Metric::ServerWriteBytes)? / KIB),
    },
    Cost {
        name: "faults/o",
        unit: "faults",
        legend: "minor page faults of the server",
        value: |pass, name| per_statement(pass, name, Metric::ServerMinorFaults),
    },
];

impl Verdicts<'_> {
    pub(crate) fn matrix(&self, run: &Run) -> Matrix {
        let names = self.names();
        let has_value = |cost: &&Cost| {
            let mut passes = run.rounds.iter();
            passes.any(|pass| names.iter().any(|name| is_something((cost.value)(pass, name))))
        };
        let costs: Vec<&Cost> = COSTS.iter().filter(has_value).collect();
        let counted = self.counted();
        let mut measures = vec![throughput(&counted)];
        measures.extend(costs.iter().map(|cost| MatrixMeasure {
            name: cost.name.to_string(),
            unit: format!("{}/{}", cost.unit, counted.one),
            legend: cost.legend.to_string(),
            more_is_better: false,
        }));
        let is_known = |which: &usize| self.tests.iter().any(|test| test.times.has(*which));
        let times: Vec<usize> = (0..PERCENTILES.len()).filter(is_known).collect();
        measures.extend(times.iter().map(|which| service_time(PERCENTILES[*which].0)));
        let rows = 0..self.tests.len();
        let rows = rows.map(|index| self.row(index, &names, &costs, &times)).collect();
        let shift = |judged: &Judged| Some(judged.suite.as_ref()?.shift.value);
        let shifts = self.judged.iter().map(shift);
        let shifts: Vec<Option<f64>> = [Some(0.0)].into_iter().chain(shifts).collect();
        Matrix {
            base: Some(0),
            is_comparison: true,
            measures,
            shifts: if shifts[1..].iter().any(Option::is_some) { shifts } else { Vec::new() },
            rows,
            contenders: names.iter().map(|name| name.to_string()).collect(),
        }
    }

    /// `times` are the percentiles that are known of any test.
    fn row(&self, index: usize, names: &[&str], costs: &[&Cost], times: &[usize]) -> MatrixRow {
        let test = &self.tests[index];
        let passes: Vec<&RoundRecord> = test.counted().collect();
        let by_round = |of: &dyn Fn(&RoundRecord, &str) -> Option<f64>| -> Vec<Vec<Option<f64>>> {
            let rounds = |name: &&str| passes.iter().map(|pass| of(pass, name)).collect();
            names.iter().map(rounds).collect()
        };
        let mut values = vec![by_round(&|pass, name| level(pass, name, Quantity::Rate))];
        values.extend(costs.iter().map(|cost| by_round(&cost.value)));
        values.extend(times.iter().map(|which| {
            by_round(&|pass, name| Some(test.times.within(pass, name, *which)? / NANOS_OF_MS))
        }));
        let judged = self.judged.iter().map(|judged| Some(judgement(&judged.verdicts[index])));
        let twin = self.judged.first().and_then(|judged| judged.verdicts[index].twin.as_ref());
        let marks = [None].into_iter().chain(judged);
        let marks = marks.chain(self.plan.twin.then(|| twin.map(of_twin)));
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
            refused: refused(test),
        }
    }

    /// As it was compared: within cycles where contenders took turns.
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

/// Queries per second are no result where writes fell behind, whatever was judged of them.
fn of_missed(text: String, judged: Option<Mark>) -> Mark {
    let nothing = Mark { class: "missed", text: String::new(), ratio: None, low: None, high: None };
    let judged = judged.filter(|mark| mark.ratio.is_some()).unwrap_or(nothing);
    let text = match judged.text.is_empty() {
        true => text,
        false => format!("{text}; {}", judged.text),
    };
    Mark { class: "missed", text, ..judged }
}

fn of_twin(estimate: &Estimate) -> Mark {
    Mark { text: "the base again".to_string(), ..mark(estimate, "twin") }
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

fn refused(test: &Observed<'_>) -> Vec<Refused> {
    let refused = test.passes.iter().filter_map(|pass| {
        let why = pass.discarded.as_ref()?;
        let why = format!("round {}, attempt {}: {why}", pass.round, pass.attempt);
        Some(Refused { round: pass.round, why })
    });
    refused.collect()
}
