//! A search for the commit that changed the speed: what it knows, what it measures next, and what
//! it found. All of it is derived from the runs and builds that were made, so that a search which
//! was killed goes on as it would have gone on.

mod conclusion;
mod observed;
mod scan;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use rqps_stats::bisect::{
    CommitLine, Decision, LayoutModel, Observation, Posterior, SearchRule, decide, posterior,
};
use rqps_store::Run;
use serde::{Deserialize, Serialize};

pub use conclusion::{FoundCommits, SearchKind, SearchResult};
pub use observed::{TestEffect, effects};
pub use rqps_stats::bisect::expected as expected_comparisons;
pub use scan::{MeasuredReleases, ReleaseScan, ReleaseStep, ScanResult, ScanStep};

/// The version of the files of a search.
pub const BISECT_SCHEMA: &str = "bisect/1";

/// Rounds of a comparison are chosen so that its error is this part of the change.
const SIZE_BY_ERROR: f64 = 6.0;
/// The fewest and the most rounds of a comparison.
const FEWEST_ROUNDS: u32 = 6;
const MOST_ROUNDS: u32 = 40;
/// A change is searched for if it is this many times the MDE.
const LEAST_BY_MDE: f64 = 2.0;
/// The error of a number of instructions, as a share.
const ERROR_OF_COUNTS: f64 = 0.0005;
/// By how much other commits change the instructions, as a share of the change that is searched.
const SMALL_CHANGES: f64 = 0.1;
/// After so many invalid comparisons the machine is too noisy.
const MOST_INVALID: usize = 3;
/// Of a normal distribution, 95 % are within so many SDs.
const NORMAL_95: f64 = 1.96;

/// Which changes are searched for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchDirection {
    #[default]
    Slower,
    Faster,
    Either,
}

impl SearchDirection {
    /// Whether a change of the rate is one of these.
    fn has(self, log_ratio: f64) -> bool {
        match self {
            SearchDirection::Slower => log_ratio < 0.0,
            SearchDirection::Faster => log_ratio > 0.0,
            SearchDirection::Either => true,
        }
    }
}

/// What a comparison measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchMetric {
    /// Rates, by slices or whole runs.
    Time,
    /// Instructions per operation: no noise, but not the question.
    Instructions,
}

/// A commit of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchedCommit {
    pub hash: String,
    pub tree: String,
    pub parents: Vec<String>,
    pub subject: String,
    /// How likely it is beforehand, in comparison with the others.
    pub weight: f64,
}

impl SearchedCommit {
    /// Its name in tables and as a contender.
    pub fn short(&self) -> &str {
        &self.hash[..12.min(self.hash.len())]
    }
}

/// A search as it was asked for. It is written once, when it begins: commits are fixed by their
/// hashes, whatever happens to the checkout.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchPlan {
    pub schema: String,
    pub rqps_version: String,
    /// GOOD and BAD as they were named.
    pub good: String,
    pub bad: String,
    /// GOOD is the first, BAD the last.
    pub commits: Vec<SearchedCommit>,
    pub direction: SearchDirection,
    pub probability: f64,
    /// The most comparisons.
    pub comparisons: usize,
    /// Whether instructions can be counted: they then choose the commits, and times confirm.
    pub counts: bool,
    /// In how many other layouts of the same code the change must be there.
    pub layouts: u32,
    /// What a person should know of the range, such as that GOOD is no ancestor of BAD.
    pub notes: Vec<String>,
}

/// What a commit came to when it was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildAttempt {
    /// With the hash of what is loaded of its program.
    Built {
        code: String,
    },
    Failed {
        why: String,
        log: String,
    },
}

/// A comparison that was made.
#[derive(Clone, Debug)]
pub struct MadeComparison {
    /// The name of its directory.
    pub name: String,
    pub baseline: usize,
    pub place: usize,
    /// In which layout both are built; 0 as the recipe has it.
    pub layout: u32,
    pub by: SearchMetric,
    pub effects: Vec<TestEffect>,
}

/// What all comparisons of a commit with GOOD say of a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitEffect {
    /// The log ratio, with its 95 % interval.
    pub value: f64,
    pub low: f64,
    pub high: f64,
    pub comparisons: usize,
}

/// The name of a commit as a contender, in a layout.
pub fn label(commit: &SearchedCommit, layout: u32) -> String {
    match layout {
        0 => commit.short().to_string(),
        layout => format!("{}-l{layout}", commit.short()),
    }
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    Compare(ToCompare),
    Done,
}

/// Two places to compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToCompare {
    pub baseline: usize,
    pub place: usize,
    /// Fixed once the size of the change is known.
    pub rounds: Option<u32>,
    pub layout: u32,
    pub by: SearchMetric,
}

/// A search with all that is known.
pub struct CommitSearch {
    plan: SearchPlan,
    line: CommitLine,
    attempts: BTreeMap<usize, BuildAttempt>,
    made: Vec<MadeComparison>,
    /// The only test that decides, if the user named one.
    test: Option<String>,
}

/// What the comparison of the ends decides for all others.
struct Aim<'a> {
    ends: &'a TestEffect,
    rounds: u32,
    rule: SearchRule,
}

impl CommitSearch {
    pub fn new(plan: SearchPlan, test: Option<String>) -> CommitSearch {
        let weights = plan.commits.iter().skip(1).map(|commit| commit.weight).collect();
        let line = CommitLine::new(weights);
        CommitSearch { plan, line, attempts: BTreeMap::new(), made: Vec::new(), test }
    }

    pub fn plan(&self) -> &SearchPlan {
        &self.plan
    }

    /// The place of BAD.
    pub fn last(&self) -> usize {
        self.line.last()
    }

    pub fn commit(&self, place: usize) -> &SearchedCommit {
        &self.plan.commits[place]
    }

    pub fn attempt(&self, place: usize) -> Option<&BuildAttempt> {
        self.attempts.get(&place)
    }

    /// What commits came to, by their places.
    pub fn attempts(&self) -> &BTreeMap<usize, BuildAttempt> {
        &self.attempts
    }

    /// The comparisons so far, in their order.
    pub fn made(&self) -> &[MadeComparison] {
        &self.made
    }

    /// The number of comparisons so far.
    pub fn comparisons(&self) -> usize {
        self.made.len()
    }

    /// The first place with the binary of this one.
    pub fn first_same(&self, place: usize) -> usize {
        self.line.first_same(place)
    }

    /// Adds what a commit came to.
    pub fn add_attempt(&mut self, place: usize, attempt: BuildAttempt) {
        match &attempt {
            BuildAttempt::Failed { .. } => self.line.exclude(place),
            BuildAttempt::Built { .. } => {
                let same = self.attempts.iter().filter(|(_, known)| **known == attempt);
                for place_of_same in same.map(|(place, _)| *place).collect::<Vec<_>>() {
                    self.line.unite(place_of_same, place);
                }
            }
        }
        self.attempts.insert(place, attempt);
    }

    /// The place and layout that a contender has by its name.
    pub fn place(&self, name: &str) -> Option<(usize, u32)> {
        let (short, layout) = match name.split_once("-l") {
            Some((short, layout)) => (short, layout.parse().ok()?),
            None => (name, 0),
        };
        let place = self.plan.commits.iter().position(|commit| commit.short() == short)?;
        Some((place, layout))
    }

    /// The test that decides, once the ends are compared.
    pub fn test(&self) -> Option<&str> {
        self.ends().map(|ends| ends.test.as_str())
    }

    /// Builds in other layouts are not to be had.
    pub fn without_layouts(&mut self) {
        self.plan.layouts = 0;
    }

    /// Adds a comparison. False if it is none of this search.
    pub fn add_run(&mut self, name: &str, run: &Run) -> bool {
        let contenders = run.plan.contenders.iter().map(|one| one.name());
        let places: Vec<Option<(usize, u32)>> = contenders.map(|name| self.place(&name)).collect();
        let [Some((baseline, layout)), Some((place, _))] = places[..] else { return false };
        let effects = effects(run, &label(self.commit(place), layout));
        let is_counted = run.plan.comparison().is_some_and(|it| it.only_instructions().is_some());
        let by = if is_counted { SearchMetric::Instructions } else { SearchMetric::Time };
        let name = name.to_string();
        self.add(MadeComparison { name, baseline, place, layout, by, effects });
        true
    }

    /// Adds what a comparison found.
    pub fn add(&mut self, made: MadeComparison) {
        self.made.push(made);
    }

    /// What the comparisons of a place itself with GOOD say of a test; none if none is valid.
    pub fn effect_of(&self, place: usize, test: &str, by: SearchMetric) -> Option<CommitEffect> {
        let at = self.with_first(by).filter(|made| made.place == place);
        let valid: Vec<&TestEffect> = at.filter_map(|made| made.effect(test)).collect();
        if let [only] = valid[..] {
            let (value, low, high) = (only.value, only.low, only.high);
            return Some(CommitEffect { value, low, high, comparisons: 1 });
        }
        let weight = |effect: &&TestEffect| 1.0 / effect.error.powi(2).max(f64::MIN_POSITIVE);
        let sum: f64 = valid.iter().map(weight).sum();
        let value = valid.iter().map(|effect| effect.value * weight(effect)).sum::<f64>() / sum;
        let half = NORMAL_95 / sum.sqrt();
        let (low, high, comparisons) = (value - half, value + half, valid.len());
        (comparisons > 0).then_some(CommitEffect { value, low, high, comparisons })
    }

    /// Whether a place needs no comparison, since its binary is GOOD's or was measured.
    pub fn is_measured_elsewhere(&self, place: usize) -> bool {
        let first = self.line.first_same(place);
        let measured = self.made.iter().filter(|made| made.baseline == 0);
        let mut measured = measured.map(|made| self.line.first_same(made.place));
        first == 0 || measured.any(|same| same == first)
    }

    /// The comparisons with the first commit.
    fn with_first(&self, by: SearchMetric) -> impl Iterator<Item = &MadeComparison> {
        let is_one =
            move |made: &&MadeComparison| (made.baseline, made.layout, made.by) == (0, 0, by);
        self.made.iter().filter(is_one)
    }

    /// What the ends say of the test that decides: the change that is largest for its error.
    fn ends(&self) -> Option<&TestEffect> {
        let ends = self.with_first(SearchMetric::Time).find(|made| made.place == self.last())?;
        let is_asked =
            |effect: &&TestEffect| self.test.as_ref().is_none_or(|test| *test == effect.test);
        let fits = |effect: &&TestEffect| self.plan.direction.has(effect.value);
        let size = |effect: &&TestEffect| effect.value.abs() / effect.error;
        let valid = || ends.effects.iter().filter(is_asked).filter(|effect| effect.is_valid());
        let best = valid().filter(fits).max_by(|a, b| size(a).total_cmp(&size(b)));
        best.or_else(|| valid().max_by(|a, b| size(a).total_cmp(&size(b))))
    }

    /// None if there is nothing to search.
    fn aim(&self) -> Option<Aim<'_>> {
        let ends = self.ends()?;
        let is_clear = ends.value.abs() >= LEAST_BY_MDE * ends.detectable;
        if !(is_clear && self.plan.direction.has(ends.value)) || self.line.is_empty() {
            return None;
        }
        let needed = (SIZE_BY_ERROR * ends.spread / ends.value).powi(2).ceil();
        let rounds = (needed as u32).clamp(FEWEST_ROUNDS, MOST_ROUNDS);
        let error = (self.spread(&ends.test) / f64::from(rounds).sqrt()).max(f64::MIN_POSITIVE);
        let by = SearchMetric::Time;
        let invalid = self.with_first(by).count() - self.observations(&ends.test, by).len();
        let comparisons = self.plan.comparisons.saturating_sub(invalid);
        let rule = SearchRule { probability: self.plan.probability, comparisons, error };
        Some(Aim { ends, rounds, rule })
    }

    /// The SD between rounds of a test, from all comparisons together, since each has few rounds.
    fn spread(&self, test: &str) -> f64 {
        let timed = self.made.iter().filter(|made| made.by == SearchMetric::Time);
        let all = timed.flat_map(|made| &made.effects);
        let all: Vec<&TestEffect> =
            all.filter(|effect| effect.test == test && effect.is_valid()).collect();
        let degrees = |effect: &TestEffect| f64::from(effect.rounds.saturating_sub(1));
        let squares: f64 = all.iter().map(|one| one.spread.powi(2) * degrees(one)).sum();
        let sum: f64 = all.iter().map(|one| degrees(one)).sum();
        if sum > 0.0 { (squares / sum).sqrt() } else { f64::NAN }
    }

    /// What the valid comparisons with the first commit found in a test.
    fn observations(&self, test: &str, by: SearchMetric) -> Vec<Observation> {
        let spread = self.spread(test);
        let one = |made: &MadeComparison| {
            let effect = made.effect(test)?;
            let error = match by {
                SearchMetric::Time => effect.widened * spread / f64::from(effect.rounds).sqrt(),
                SearchMetric::Instructions => effect.error,
            };
            let error = error.max(f64::MIN_POSITIVE);
            Some(Observation { place: made.place, value: effect.value, error })
        };
        self.with_first(by).filter_map(one).collect()
    }

    /// What the ends say of the instructions of a test.
    fn counted_ends(&self, test: &str) -> Option<&TestEffect> {
        let mut made = self.with_first(SearchMetric::Instructions);
        made.find(|made| made.place == self.last())?.effect(test)
    }

    /// What chooses the commits: instructions, if they could be counted in each, their number
    /// changed with the time, and clearly, and no timed comparison contradicts what they found.
    fn steered_by(&self, aim: &Aim<'_>) -> SearchMetric {
        let test = &aim.ends.test;
        let counted = self.counted_ends(test).filter(|effect| {
            let is_clear = effect.value.abs() >= LEAST_BY_MDE * effect.detectable;
            self.plan.counts && is_clear && effect.value * aim.ends.value > 0.0
        });
        let mut all = self.with_first(SearchMetric::Instructions);
        if counted.is_none() || all.any(|made| made.effect(test).is_none()) {
            return SearchMetric::Time;
        }
        let block = match self.decision_by(aim, SearchMetric::Instructions) {
            Decision::Measure(_) => return SearchMetric::Instructions,
            Decision::Undecided(_) => return SearchMetric::Time,
            Decision::Found(block) => block,
        };
        let timed = self.confirmation(self.to_confirm(block.first, block.last));
        let effect = timed.and_then(|made| made.effect(test));
        match effect.is_none_or(|effect| effect.agrees(aim.ends)) {
            true => SearchMetric::Instructions,
            false => SearchMetric::Time,
        }
    }

    /// What is assumed of layouts. Other commits change instructions as well, by a little.
    fn model(&self, test: &str, by: SearchMetric) -> LayoutModel {
        match (by, self.counted_ends(test)) {
            (SearchMetric::Instructions, Some(ends)) => {
                LayoutModel::with_layout(ends.value.abs() * SMALL_CHANGES)
            }
            _ => LayoutModel::default(),
        }
    }

    fn decision_by(&self, aim: &Aim<'_>, by: SearchMetric) -> Decision {
        let test = &aim.ends.test;
        let error = match by {
            SearchMetric::Time => aim.rule.error,
            SearchMetric::Instructions => ERROR_OF_COUNTS,
        };
        let rule = SearchRule { error, ..aim.rule };
        decide(&self.line, &self.observations(test, by), &self.model(test, by), &rule)
    }

    fn decision(&self, aim: &Aim<'_>) -> Decision {
        self.decision_by(aim, self.steered_by(aim))
    }

    /// What all comparisons by the metric that chooses say of the commits.
    fn posterior(&self, aim: &Aim<'_>) -> Posterior {
        let (test, by) = (&aim.ends.test, self.steered_by(aim));
        posterior(&self.line, &self.observations(test, by), &self.model(test, by))
    }

    /// The two places whose direct comparison confirms a block.
    fn to_confirm(&self, first: usize, last: usize) -> (usize, usize) {
        let builds =
            |place: &usize| !matches!(self.attempts.get(place), Some(BuildAttempt::Failed { .. }));
        let before = (0..first).rev().find(builds).unwrap_or(0);
        let after = (last..=self.last()).find(builds).unwrap_or(self.last());
        (before, after)
    }

    /// The direct comparison of two places.
    fn confirmation(&self, (before, after): (usize, usize)) -> Option<&MadeComparison> {
        self.in_layout((before, after), 0)
    }

    fn in_layout(&self, places: (usize, usize), layout: u32) -> Option<&MadeComparison> {
        let is_it = |made: &&MadeComparison| {
            (made.baseline, made.place) == places
                && (made.layout, made.by) == (layout, SearchMetric::Time)
        };
        self.made.iter().rev().find(is_it)
    }

    fn invalid(&self) -> usize {
        let is_invalid = |made: &&MadeComparison| {
            made.by == SearchMetric::Time && !made.effects.iter().any(TestEffect::is_valid)
        };
        self.made.iter().filter(is_invalid).count()
    }

    /// What to do now.
    pub fn next(&self) -> SearchStep {
        let by = SearchMetric::Time;
        let ends = ToCompare { baseline: 0, place: self.last(), rounds: None, layout: 0, by };
        if self.line.is_empty() || self.invalid() >= MOST_INVALID {
            return SearchStep::Done;
        }
        if self.ends().is_none() {
            return SearchStep::Compare(ends);
        }
        let Some(aim) = self.aim() else { return SearchStep::Done };
        let counted = SearchMetric::Instructions;
        if self.plan.counts && self.with_first(counted).next().is_none() {
            return SearchStep::Compare(ToCompare { by: counted, ..ends });
        }
        let (by, rounds) = (self.steered_by(&aim), Some(aim.rounds));
        match self.decision_by(&aim, by) {
            Decision::Measure(place) => {
                SearchStep::Compare(ToCompare { place, rounds, by, ..ends })
            }
            Decision::Found(block) => {
                let places = self.to_confirm(block.first, block.last);
                self.after(places, by, ToCompare { rounds, ..ends })
            }
            Decision::Undecided(_) => SearchStep::Done,
        }
    }

    /// What follows when a block is found: a direct comparison, and the same in other layouts.
    fn after(
        &self,
        (baseline, place): (usize, usize),
        by: SearchMetric,
        like: ToCompare,
    ) -> SearchStep {
        let compare = |layout| SearchStep::Compare(ToCompare { baseline, place, layout, ..like });
        let is_it = |made: &&MadeComparison| {
            (made.baseline, made.place, made.layout) == (baseline, place, 0) && made.by == like.by
        };
        // With GOOD as its parent a comparison is as direct as can be, but not fresh.
        let needed = if baseline == 0 && by == SearchMetric::Time { 2 } else { 1 };
        if self.made.iter().filter(is_it).count() < needed {
            return compare(0);
        }
        if self.result().kind != SearchKind::Found {
            return SearchStep::Done;
        }
        let is_missing = |layout: &u32| self.in_layout((baseline, place), *layout).is_none();
        (1..=self.plan.layouts).find(is_missing).map_or(SearchStep::Done, compare)
    }
}

impl MadeComparison {
    /// What it says of a test, if that can be used.
    pub fn effect(&self, test: &str) -> Option<&TestEffect> {
        self.effects.iter().find(|effect| effect.test == test && effect.is_valid())
    }
}
