//! A scan of releases: which of them differ from the one before, and which to measure next.

use std::collections::BTreeMap;

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use rqps_stats::change_points::weighted_change_points;
use rqps_store::Run;
use serde_json::{Value, json};

use super::observed::{TestEffect, effects};
use super::{BISECT_SCHEMA, SearchDirection};

/// A step must lower the weighted sum of squares by this times the log of the releases.
const PENALTY: f64 = 3.0;
/// What an estimate is off by at least, as a ratio; the baseline is known exactly.
const LEAST_ERROR: f64 = 1e-6;

/// Releases in order, the first of which all others are compared with.
pub struct ReleaseScan {
    releases: Vec<String>,
    direction: SearchDirection,
    /// By place, then by test.
    seen: BTreeMap<usize, Vec<TestEffect>>,
    /// Releases that were tried, and did not run.
    failed: Vec<usize>,
    /// The direct comparison of the releases around the largest step.
    confirmation: Vec<TestEffect>,
}

/// A step between two neighbours among the releases that were measured.
#[derive(Clone, Debug, PartialEq)]
pub struct ReleaseStep {
    pub test: String,
    pub before: usize,
    pub after: usize,
    /// The log ratio of the levels.
    pub size: f64,
}

/// The steps of all tests, the largest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScanResult {
    pub steps: Vec<ReleaseStep>,
}

impl ScanResult {
    /// The releases around the largest step.
    pub fn largest(&self) -> Option<(usize, usize)> {
        self.steps.first().map(|step| (step.before, step.after))
    }
}

impl ReleaseScan {
    pub fn new(releases: Vec<String>, direction: SearchDirection) -> ReleaseScan {
        let (seen, failed, confirmation) = (BTreeMap::new(), Vec::new(), Vec::new());
        ReleaseScan { releases, direction, seen, failed, confirmation }
    }

    /// The places to measure first: all, or so many that are spread evenly.
    pub fn begin(&self, most: usize) -> Vec<usize> {
        spread(0, self.releases.len() - 1, most)
    }

    /// Adds a comparison of some releases with the first.
    pub fn add(&mut self, run: &Run) {
        for contender in run.plan.contenders.iter().skip(1) {
            let name = contender.name();
            let Some(place) = self.releases.iter().position(|release| *release == name) else {
                continue;
            };
            let effects = effects(run, &name);
            match effects.iter().any(TestEffect::is_valid) {
                true => drop(self.seen.insert(place, effects)),
                false => self.failed.push(place),
            }
        }
    }

    /// Adds the direct comparison of the releases around the largest step, in fresh rounds.
    pub fn confirm(&mut self, run: &Run) {
        let after = run.plan.contenders.last().map(|one| one.name()).unwrap_or_default();
        self.confirmation = effects(run, &after);
    }

    /// The direct comparison in the test of the largest step, and whether it agrees.
    fn confirmed(&self, step: &ReleaseStep) -> Option<(&TestEffect, bool)> {
        let mut valid = self.confirmation.iter().filter(|effect| effect.is_valid());
        let effect = valid.find(|effect| effect.test == step.test)?;
        Some((effect, effect.is_significant() && effect.value * step.size > 0.0))
    }

    /// Whether the largest step is one, as far as a direct comparison tells.
    pub fn is_confirmed(&self, result: &ScanResult) -> bool {
        let step = result.steps.first();
        step.and_then(|step| self.confirmed(step)).is_some_and(|(_, agrees)| agrees)
    }

    /// The places to measure next, with the first: those inside of the largest step. None if there
    /// are none.
    pub fn next(&self, most: usize) -> Vec<usize> {
        let Some((before, after)) = self.result().largest() else { return Vec::new() };
        let is_open = |place: &usize| !self.failed.contains(place);
        let inside: Vec<usize> = (before + 1..after).filter(is_open).collect();
        if inside.is_empty() {
            return Vec::new();
        }
        let some = spread(0, inside.len() - 1, most.saturating_sub(1).max(1));
        [0].into_iter().chain(some.into_iter().map(|index| inside[index])).collect()
    }

    /// The tests that were measured.
    fn tests(&self) -> Vec<&str> {
        let mut tests: Vec<&str> = Vec::new();
        for effect in self.seen.values().flatten() {
            if !tests.contains(&effect.test.as_str()) {
                tests.push(&effect.test);
            }
        }
        tests
    }

    /// The valid effects of a test, by place.
    fn of_test(&self, test: &str) -> Vec<(usize, &TestEffect)> {
        let found = self.seen.iter().filter_map(|(place, effects)| {
            let effect = effects.iter().find(|effect| effect.test == test && effect.is_valid())?;
            Some((*place, effect))
        });
        found.collect()
    }

    /// What was found until now.
    pub fn result(&self) -> ScanResult {
        let mut steps = Vec::new();
        for test in self.tests() {
            let of_test = self.of_test(test);
            let measured =
                of_test.iter().map(|(place, effect)| (*place, effect.value, effect.error));
            // The first is the baseline.
            let levels: Vec<(usize, f64, f64)> =
                [(0, 0.0, LEAST_ERROR)].into_iter().chain(measured).collect();
            let values: Vec<f64> = levels.iter().map(|level| level.1).collect();
            let errors: Vec<f64> = levels.iter().map(|level| level.2.max(LEAST_ERROR)).collect();
            let penalty = PENALTY * (levels.len() as f64).ln();
            let variances: Vec<f64> = errors.iter().map(|error| error * error).collect();
            let changes = weighted_change_points(&values, &variances, penalty, 1);
            let bounds: Vec<usize> =
                [0].into_iter().chain(changes.iter().copied()).chain([levels.len()]).collect();
            let level = |from: usize, to: usize| {
                let weights = errors[from..to].iter().map(|error| 1.0 / error.powi(2));
                let sum: f64 = weights.clone().sum();
                values[from..to].iter().zip(weights).map(|(v, w)| v * w).sum::<f64>() / sum
            };
            for window in bounds.windows(3) {
                let [from, at, to] = [window[0], window[1], window[2]];
                let size = level(at, to) - level(from, at);
                if self.direction.has(size) {
                    let (before, after) = (levels[at - 1].0, levels[at].0);
                    steps.push(ReleaseStep { test: test.to_string(), before, after, size });
                }
            }
        }
        steps.sort_by(|a, b| b.size.abs().total_cmp(&a.size.abs()));
        ScanResult { steps }
    }
}

/// Places from one to another with both, at most so many, spread evenly.
fn spread(from: usize, to: usize, most: usize) -> Vec<usize> {
    let count = (to - from + 1).min(most.max(1));
    if count == 1 {
        // The middle halves what is left.
        return vec![from + (to - from) / 2];
    }
    (0..count).map(|index| from + index * (to - from) / (count - 1)).collect()
}

fn signed(log: f64) -> String {
    format!("{:+.1} %", 100.0 * log.exp_m1())
}

/// The result for people.
pub fn scan_text(scan: &ReleaseScan, result: &ScanResult) -> String {
    let mut text = String::new();
    for test in scan.tests() {
        let mut table = Table::new();
        table.load_style(NOTHING);
        table.force_no_tty();
        table.set_header([test, "rate", "95 % interval", "step"]);
        for (place, effect) in scan.of_test(test) {
            let step = result.steps.iter().find(|one| one.test == test && one.after == place);
            table.add_row([
                scan.releases[place].clone(),
                signed(effect.value),
                format!("{} – {}", signed(effect.low), signed(effect.high)),
                step.map_or(String::new(), |step| signed(step.size)),
            ]);
        }
        for column in 1..4 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        text.extend(table.lines().map(|line| line.trim_end().to_string() + "\n"));
        text.push('\n');
    }
    for place in &scan.failed {
        text += &format!("{} was not measured: it failed; see its logs\n", scan.releases[*place]);
    }
    text += &format!("Rates are relative to {}.\n", scan.releases[0]);
    let Some(step) = result.steps.first() else {
        return text + "nothing: no release differs from the ones before it\n";
    };
    let [before, after] = [step.before, step.after].map(|place| &scan.releases[place]);
    text +=
        &format!("largest step: {}, from {before} to {after}: {}\n", step.test, signed(step.size));
    if let Some((effect, agrees)) = scan.confirmed(step) {
        let agrees = if agrees { "" } else { ", which does not confirm it" };
        text += &format!(
            "  compared directly, in {} fresh rounds: {} ({} – {}){agrees}\n",
            effect.rounds,
            signed(effect.value),
            signed(effect.low),
            signed(effect.high)
        );
    }
    text
}

/// The result for programs.
pub fn scan_json(scan: &ReleaseScan, result: &ScanResult, rqps_version: &str) -> String {
    let step = |step: &ReleaseStep| {
        json!({
            "test": step.test,
            "before": scan.releases[step.before],
            "after": scan.releases[step.after],
            "size": step.size,
        })
    };
    let release = |(place, effects): (&usize, &Vec<TestEffect>)| json!({ "release": scan.releases[*place], "effects": effects });
    let failed: Vec<&String> = scan.failed.iter().map(|place| &scan.releases[*place]).collect();
    let value: Value = json!({
        "schema": BISECT_SCHEMA,
        "rqps_version": rqps_version,
        "kind": if result.steps.is_empty() { "nothing" } else { "releases" },
        "baseline": scan.releases[0],
        "releases": scan.seen.iter().map(release).collect::<Vec<_>>(),
        "failed": failed,
        "steps": result.steps.iter().map(step).collect::<Vec<_>>(),
        "confirmation": scan.confirmation,
        "confirmed": scan.is_confirmed(result),
    });
    serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(test: &str, value: f64) -> TestEffect {
        TestEffect {
            test: test.to_string(),
            value,
            low: value - 0.004,
            high: value + 0.004,
            rounds: 6,
            spread: 0.004,
            error: 0.0016,
            widened: 1.0,
            detectable: 0.006,
            invalid: None,
        }
    }

    fn scan(values: &[(usize, f64)], releases: usize) -> ReleaseScan {
        let names = (0..releases).map(|place| format!("3.{place}")).collect();
        let mut scan = ReleaseScan::new(names, SearchDirection::Slower);
        for &(place, value) in values {
            scan.seen.insert(place, vec![effect("scan", value)]);
        }
        scan
    }

    #[test]
    fn steps_are_found_wherever_they_are_and_the_largest_is_first() {
        let scan = scan(&[(1, 0.001), (2, -0.03), (3, -0.031), (4, 0.02), (5, -0.05)], 6);
        let result = scan.result();
        let steps: Vec<(usize, usize)> =
            result.steps.iter().map(|step| (step.before, step.after)).collect();
        assert_eq!(steps, [(4, 5), (1, 2)], "that to the better is not asked for");
        let text = scan_text(&scan, &result);
        assert!(text.contains("largest step: scan, from 3.4 to 3.5: -6.8 %"), "{text}");
        let json: Value = serde_json::from_str(&scan_json(&scan, &result, "0")).unwrap();
        assert_eq!(json["steps"][1]["after"], "3.2");
        assert_eq!(scan.next(16), Vec::<usize>::new(), "they are neighbours");
    }

    #[test]
    fn of_many_releases_some_are_measured_first_and_then_those_in_the_step() {
        let scan = scan(&[(10, 0.0), (20, -0.05), (30, -0.05)], 31);
        assert_eq!(scan.begin(4), [0, 10, 20, 30]);
        assert_eq!(scan.next(5), [0, 11, 13, 16, 19]);
        assert_eq!(ReleaseScan { failed: (11..20).collect(), ..scan }.next(5), Vec::<usize>::new());
    }

    #[test]
    fn a_step_is_confirmed_by_a_direct_comparison_of_its_sign() {
        let mut scan = scan(&[(1, 0.0), (2, -0.05)], 3);
        let result = scan.result();
        assert!(!scan.is_confirmed(&result));
        for (value, is_confirmed) in [(-0.05, true), (0.05, false), (-0.001, false)] {
            scan.confirmation = vec![effect("scan", value)];
            assert_eq!(scan.is_confirmed(&result), is_confirmed, "{value}");
            let text = scan_text(&scan, &result);
            assert_eq!(text.contains("does not confirm it"), !is_confirmed, "{text}");
        }
    }

    #[test]
    fn nothing_differs_in_noise() {
        let scan = scan(&[(1, 0.001), (2, -0.002), (3, 0.0)], 4);
        assert_eq!(scan.result(), ScanResult::default());
        assert!(scan_text(&scan, &scan.result()).contains("nothing: no release differs"));
    }
}
