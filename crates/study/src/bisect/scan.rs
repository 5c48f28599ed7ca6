//! A scan of releases: which of them differ from the one before, and which to measure next.

use std::collections::BTreeMap;

use rqps_stats::change_points::weighted_change_points;
use rqps_store::Run;

use super::SearchDirection;
use super::observed::{TestEffect, effects};

/// The most releases that are measured at once; of more, some first.
const AT_ONCE: usize = 16;
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
    /// The direct comparison of the releases around the largest step, once it was made.
    confirmation: Option<Vec<TestEffect>>,
    made: Vec<MeasuredReleases>,
}

/// A comparison of a scan.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredReleases {
    /// The name of its directory.
    pub name: String,
    /// The releases; the first is the baseline.
    pub places: Vec<usize>,
}

/// The next step of a scan.
#[derive(Clone, Debug, PartialEq)]
pub enum ScanStep {
    /// Compare the first of these places with the others.
    Compare(Vec<usize>),
    /// Compare the releases around the largest step directly, in fresh rounds.
    Confirm([usize; 2]),
    Done,
}

impl ScanStep {
    /// The releases to compare; the first is the baseline.
    pub fn places(&self) -> &[usize] {
        match self {
            ScanStep::Compare(places) => places,
            ScanStep::Confirm(pair) => pair,
            ScanStep::Done => &[],
        }
    }
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
        let (seen, failed, made) = (BTreeMap::new(), Vec::new(), Vec::new());
        ReleaseScan { releases, direction, seen, failed, confirmation: None, made }
    }

    /// The releases in order; all are compared with the first.
    pub fn releases(&self) -> &[String] {
        &self.releases
    }

    /// What each release that was measured came to, by its place.
    pub fn seen(&self) -> &BTreeMap<usize, Vec<TestEffect>> {
        &self.seen
    }

    /// The places of releases that were tried, and did not run.
    pub fn failed(&self) -> &[usize] {
        &self.failed
    }

    /// The comparisons so far, in their order.
    pub fn made(&self) -> &[MeasuredReleases] {
        &self.made
    }

    /// The effects in the direct comparison of the releases around the largest step.
    pub fn confirmation(&self) -> &[TestEffect] {
        self.confirmation.as_deref().unwrap_or_default()
    }

    /// The places to measure first: all, or so many that are spread evenly.
    fn begin(&self, most: usize) -> Vec<usize> {
        spread(0, self.releases.len() - 1, most)
    }

    /// What to do now.
    pub fn next(&self) -> ScanStep {
        let places = match self.made.is_empty() {
            true => self.begin(AT_ONCE),
            false => self.inside(AT_ONCE),
        };
        match self.result().largest() {
            _ if self.confirmation.is_some() => ScanStep::Done,
            _ if places.len() > 1 => ScanStep::Compare(places),
            Some((before, after)) => ScanStep::Confirm([before, after]),
            None => ScanStep::Done,
        }
    }

    /// Adds the run of a step.
    pub fn add_run(&mut self, name: &str, step: &ScanStep, run: &Run) {
        let others = step.places().iter().skip(1);
        let of_release = |place: &usize| effects(run, &self.releases[*place]);
        self.add(name, step, others.map(of_release).collect());
    }

    /// Adds what a step found, for each of its places but the first.
    pub fn add(&mut self, name: &str, step: &ScanStep, found: Vec<Vec<TestEffect>>) {
        let places = step.places().to_vec();
        match step {
            ScanStep::Compare(_) => {
                for (place, effects) in places.iter().skip(1).zip(found) {
                    match effects.iter().any(TestEffect::is_valid) {
                        true => drop(self.seen.insert(*place, effects)),
                        false => self.failed.push(*place),
                    }
                }
            }
            ScanStep::Confirm(_) => self.confirmation = found.into_iter().next_back(),
            ScanStep::Done => return,
        }
        self.made.push(MeasuredReleases { name: name.to_string(), places });
    }

    /// The direct comparison in the test of a step, and whether it agrees.
    pub fn confirmed(&self, step: &ReleaseStep) -> Option<(&TestEffect, bool)> {
        let mut valid = self.confirmation().iter().filter(|effect| effect.is_valid());
        let effect = valid.find(|effect| effect.test == step.test)?;
        Some((effect, effect.is_significant() && effect.value * step.size > 0.0))
    }

    /// Whether the largest step is one, as far as a direct comparison tells.
    pub fn is_confirmed(&self, result: &ScanResult) -> bool {
        let step = result.steps.first();
        step.and_then(|step| self.confirmed(step)).is_some_and(|(_, agrees)| agrees)
    }

    /// The places inside of the largest step, with the first; none if nothing is inside.
    fn inside(&self, most: usize) -> Vec<usize> {
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
    pub fn tests(&self) -> Vec<&str> {
        let mut tests: Vec<&str> = Vec::new();
        for effect in self.seen.values().flatten() {
            if !tests.contains(&effect.test.as_str()) {
                tests.push(&effect.test);
            }
        }
        tests
    }

    /// The valid effects of a test, by place.
    pub fn of_test(&self, test: &str) -> Vec<(usize, &TestEffect)> {
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
        assert!((result.steps[0].size - -0.07).abs() < 1e-3, "{result:?}");
        assert_eq!(scan.inside(16), Vec::<usize>::new(), "they are neighbours");
    }

    #[test]
    fn of_many_releases_some_are_measured_first_and_then_those_in_the_step() {
        let scan = scan(&[(10, 0.0), (20, -0.05), (30, -0.05)], 31);
        assert_eq!(scan.begin(4), [0, 10, 20, 30]);
        assert_eq!(scan.inside(5), [0, 11, 13, 16, 19]);
        let scan = ReleaseScan { failed: (11..20).collect(), ..scan };
        assert_eq!(scan.inside(5), Vec::<usize>::new());
    }

    #[test]
    fn a_step_is_confirmed_by_a_direct_comparison_of_its_sign() {
        let mut scan = scan(&[(1, 0.0), (2, -0.05)], 3);
        let result = scan.result();
        assert!(!scan.is_confirmed(&result));
        for (value, is_confirmed) in [(-0.05, true), (0.05, false), (-0.001, false)] {
            scan.confirmation = Some(vec![effect("scan", value)]);
            assert_eq!(scan.is_confirmed(&result), is_confirmed, "{value}");
        }
    }

    /// A scan that is read again from its directory makes the same steps.
    #[test]
    fn the_same_knowledge_has_the_same_next_step() {
        let names: Vec<String> = (0..40).map(|place| format!("3.{place}")).collect();
        let mut scan = ReleaseScan::new(names, SearchDirection::Slower);
        let level = |place: usize| if place >= 23 { -0.05 } else { 0.0 };
        let mut steps = Vec::new();
        loop {
            let step = scan.next();
            let places = step.places();
            let Some(base) = places.first() else { break };
            let found = places[1..].iter().map(|place| match place {
                // It refuses to start.
                20 => Vec::new(),
                place => vec![effect("scan", level(*place) - level(*base))],
            });
            let found = found.collect();
            scan.add(&format!("{:03}-releases", steps.len() + 1), &step, found);
            steps.push(step);
            assert!(steps.len() < 6, "{steps:?}");
        }
        assert_eq!(steps.last(), Some(&ScanStep::Confirm([22, 23])));
        assert_eq!(scan.made().len(), steps.len());
        assert!(scan.is_confirmed(&scan.result()));
    }

    #[test]
    fn nothing_differs_in_noise() {
        let scan = scan(&[(1, 0.001), (2, -0.002), (3, 0.0)], 4);
        assert_eq!(scan.result(), ScanResult::default());
    }
}
