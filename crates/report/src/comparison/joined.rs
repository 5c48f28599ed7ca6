//! Remarks on a comparison with the rounds of several merged runs.

use std::collections::BTreeSet;

use rqps_analysis::merged::{not_comparable, same_machine};
use rqps_stats::agreement::one_mean;
use rqps_store::Part;

use super::{Judged, Verdicts};

/// The level at which runs differ from each other.
const ALPHA: f64 = 0.05;

impl Verdicts<'_> {
    /// The rounds of each run, the difference between the runs, and the scope of the intervals.
    /// Empty for a single run.
    pub(super) fn joined(&self) -> Vec<String> {
        let parts = &self.run.parts;
        if parts.is_empty() {
            return Vec::new();
        }
        let mut told = Vec::from_iter(not_comparable(self.run));
        let of = |part: &Part| {
            format!("{} of '{}', begun {}", spans(&part.rounds), part.name, part.manifest.created)
        };
        let rounds: Vec<String> = parts.iter().map(of).collect();
        told.push(format!("The rounds are of {} runs: {}.", parts.len(), rounds.join("; ")));
        if !same_machine(self.run) {
            told.push(
                "The machines, or their settings, differ: intervals hold for these machines, pooled, \
                 and not for others."
                    .to_string(),
            );
        }
        if self.run.differences.iter().all(|difference| difference.what != "seed") {
            told.push(
                "All runs have one seed, and so the same data and orders: an effect of the order is \
                 the same in every run."
                    .to_string(),
            );
        }
        told.extend(self.disagreement());
        told
    }

    /// The tests in which the runs differ by more than their rounds.
    fn disagreement(&self) -> Option<String> {
        let (mut tests, mut differing) = (0, Vec::new());
        for judged in &self.judged {
            for (index, verdict) in judged.verdicts.iter().enumerate() {
                let Some(p) = one_mean(&self.by_run(judged, index)) else { continue };
                tests += 1;
                if p < ALPHA {
                    differing.push(format!("{} ({})", verdict.test, judged.contender));
                }
            }
        }
        let count = differing.len();
        let which = match count {
            0 => String::new(),
            _ => format!(": {}. Their results hold for the merged runs only", differing.join(", ")),
        };
        (tests > 0).then(|| {
            format!(
                "The runs differ from each other in {count} of {tests} tests (p < {ALPHA}){which}."
            )
        })
    }

    /// The log ratios of the rounds that decided a test.
    fn by_run(&self, judged: &Judged<'_>, index: usize) -> Vec<Vec<f64>> {
        let pair = self.pair(judged);
        let passes = pair.passes(&self.tests[index], judged.verdicts[index].stage);
        let of = |part: &Part| {
            let own = passes.iter().filter(|pass| part.rounds.contains(&pass.round));
            own.filter_map(|pass| pair.ratio(pass)).collect()
        };
        self.run.parts.iter().map(of).collect()
    }
}

/// `1 to 6, 13`
pub(super) fn spans(rounds: &BTreeSet<u32>) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for &round in rounds {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == round => *last = round,
            _ => spans.push((round, round)),
        }
    }
    let told = spans.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    let told: Vec<String> = told.collect();
    if told.is_empty() { "none".to_string() } else { told.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_rounds_are_a_range() {
        assert_eq!(spans(&BTreeSet::from([1, 2, 3, 5, 7, 8])), "1 to 3, 5, 7 to 8");
        assert_eq!(spans(&BTreeSet::new()), "none");
    }
}
