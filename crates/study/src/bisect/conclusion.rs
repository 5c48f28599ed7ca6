//! What a search found.

use rqps_stats::bisect::{CommitBlock, Decision};
use rqps_stats::change_points::weighted_change_points;
use serde::Serialize;

use super::observed::TestEffect;
use super::{Aim, BuildAttempt, CommitSearch, LEAST_BY_MDE, MOST_INVALID};

/// Each further step must explain as much as chance does once in thousands of searches.
const PENALTY: f64 = 5.0;

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchKind {
    /// One commit.
    Found,
    /// Some commits that cannot be told apart.
    Range,
    /// One commit, but not its code: built in another layout it makes no difference.
    Layout,
    /// More than one commit changed the speed.
    Several,
    /// The ends do not differ by enough.
    Nothing,
    /// More comparisons would be needed, or do not help.
    Undecided,
}

impl SearchKind {
    pub fn name(self) -> &'static str {
        match self {
            SearchKind::Found => "found",
            SearchKind::Range => "range",
            SearchKind::Layout => "layout",
            SearchKind::Several => "several",
            SearchKind::Nothing => "nothing",
            SearchKind::Undecided => "undecided",
        }
    }
}

/// The commits that are the change, by place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FoundCommits {
    pub first: usize,
    pub last: usize,
    pub probability: f64,
}

impl From<CommitBlock> for FoundCommits {
    fn from(block: CommitBlock) -> FoundCommits {
        let CommitBlock { first, last, probability } = block;
        FoundCommits { first, last, probability }
    }
}

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    pub kind: SearchKind,
    /// In words.
    pub why: String,
    /// The test that decided, with the change between the ends.
    pub ends: Option<TestEffect>,
    pub found: Option<FoundCommits>,
    /// The direct comparison of the change with what was before it.
    pub confirmation: Option<TestEffect>,
    /// The same with both built in other layouts.
    pub layouts: Vec<TestEffect>,
    /// The places after which levels change, if there are several.
    pub steps: Vec<(usize, usize)>,
    /// By commit after GOOD.
    pub probabilities: Vec<f64>,
    /// The fewest places that have the probability of the search together.
    pub credible: Vec<usize>,
}

fn percent(log: f64) -> String {
    format!("{:.1} %", 100.0 * log.exp_m1())
}

impl CommitSearch {
    /// What was found until now.
    pub fn result(&self) -> SearchResult {
        let ends = self.ends().cloned();
        let nothing = |kind: SearchKind, why: String| SearchResult {
            kind,
            why,
            ends: ends.clone(),
            found: None,
            confirmation: None,
            layouts: Vec::new(),
            steps: Vec::new(),
            probabilities: Vec::new(),
            credible: Vec::new(),
        };
        if self.line.is_empty() {
            let why = "GOOD and BAD have the same binary".to_string();
            return nothing(SearchKind::Nothing, why);
        }
        if self.invalid() >= MOST_INVALID {
            let why = format!("{MOST_INVALID} comparisons were invalid: the machine is too noisy");
            return nothing(SearchKind::Undecided, why);
        }
        let Some(effect) = &ends else {
            return nothing(SearchKind::Undecided, "the ends are not compared yet".to_string());
        };
        let Some(aim) = self.aim() else {
            return nothing(SearchKind::Nothing, self.why_nothing(effect));
        };
        let posterior = self.posterior(&aim);
        let whole = |kind, why, found: Option<FoundCommits>| SearchResult {
            found,
            probabilities: posterior.commits.clone(),
            credible: posterior.credible(self.plan.probability),
            ..nothing(kind, why)
        };
        match self.decision(&aim) {
            Decision::Measure(_) => {
                whole(SearchKind::Undecided, "the search was not completed".to_string(), None)
            }
            Decision::Undecided(best) => {
                let best = best.map(FoundCommits::from);
                if let Some((why, steps)) = self.several(&aim) {
                    return SearchResult { steps, ..whole(SearchKind::Several, why, best) };
                }
                let count = self.comparisons();
                let why = match count >= self.plan.comparisons {
                    true => format!("{count} comparisons were not enough"),
                    false => {
                        "further comparisons tell nothing: layouts of builds differ by as much"
                            .to_string()
                    }
                };
                whole(SearchKind::Undecided, why, best)
            }
            Decision::Found(block) => self.found(&aim, block.into(), whole),
        }
    }

    fn why_nothing(&self, effect: &TestEffect) -> String {
        let change = percent(effect.value);
        let least = percent(LEAST_BY_MDE * effect.detectable);
        let mde = percent(effect.detectable);
        if !effect.is_significant() {
            return format!("{}: BAD does not differ from GOOD ({change}; MDE {mde})", effect.test);
        }
        if !self.plan.direction.has(effect.value) {
            let other = if effect.value > 0.0 { "faster" } else { "slower" };
            return format!(
                "{}: BAD is {other} than GOOD ({change}). To search for that: --direction {other}",
                effect.test
            );
        }
        format!(
            "{}: the change is too small to search for ({change}; {least} is the least here, twice the \
             MDE). Raise --rounds or --secs",
            effect.test
        )
    }

    fn found(
        &self,
        aim: &Aim<'_>,
        found: FoundCommits,
        whole: impl Fn(SearchKind, String, Option<FoundCommits>) -> SearchResult,
    ) -> SearchResult {
        if let Some((why, steps)) = self.several(aim) {
            return SearchResult { steps, ..whole(SearchKind::Several, why, Some(found)) };
        }
        let (before, after) = self.to_confirm(found.first, found.last);
        let test = &aim.ends.test;
        let effect = |layout| self.in_layout((before, after), layout)?.effect(test).cloned();
        let confirmation = effect(0);
        let layouts: Vec<TestEffect> = (1..=self.plan.layouts).filter_map(effect).collect();
        // Noise and layouts make a change smaller or larger, but do not halve it.
        let is_there =
            |effect: &TestEffect| effect.agrees(aim.ends) && effect.value / aim.ends.value >= 0.5;
        let is_of_layout = !layouts.iter().all(is_there);
        let is_agreed = confirmation.as_ref().is_none_or(|effect| effect.agrees(aim.ends));
        let (kind, why) = if !is_agreed {
            let why = "a direct comparison in fresh rounds does not confirm it".to_string();
            (SearchKind::Undecided, why)
        } else if is_of_layout {
            let why = "built in another layout, the same code makes no such difference";
            (SearchKind::Layout, why.to_string())
        } else if found.first == found.last {
            (SearchKind::Found, String::new())
        } else {
            let between = found.first..found.last;
            let fails =
                |place: &usize| matches!(self.attempt(*place), Some(BuildAttempt::Failed { .. }));
            let failed = between.filter(fails).count();
            (SearchKind::Range, format!("{failed} commits between them do not build"))
        };
        SearchResult { confirmation, layouts, ..whole(kind, why, Some(found)) }
    }

    /// The steps, if there are several.
    fn several(&self, aim: &Aim<'_>) -> Option<(String, Vec<(usize, usize)>)> {
        let steps = Some(self.steps(aim)).filter(|steps| steps.len() > 1)?;
        Some((format!("the speed changes in {} places", steps.len()), steps))
    }

    /// Between which measured places levels change, each as the places before and after.
    fn steps(&self, aim: &Aim<'_>) -> Vec<(usize, usize)> {
        let (test, by) = (&aim.ends.test, self.steered_by(aim));
        let observations = self.observations(test, by);
        // Not what the search made of it: several changes look like layouts to one change.
        let layout = self.model(test, by).expected_sd();
        // GOOD is the baseline: its ratio is 1, but for its own layout.
        let mut levels: Vec<(usize, f64, f64)> = vec![(0, 0.0, 1e18)];
        for one in observations {
            let place = self.line.first_same(one.place);
            let weight = 1.0 / one.error.powi(2);
            match levels.iter_mut().find(|level| level.0 == place) {
                _ if place == 0 => {}
                Some(level) => {
                    level.1 = (level.1 * level.2 + one.value * weight) / (level.2 + weight);
                    level.2 += weight;
                }
                None => levels.push((place, one.value, weight)),
            }
        }
        levels.sort_by_key(|level| level.0);
        let values: Vec<f64> = levels.iter().map(|level| level.1).collect();
        let variance = |level: &(usize, f64, f64)| layout.powi(2) + 1.0 / level.2;
        let variances: Vec<f64> = levels.iter().map(variance).collect();
        let penalty = PENALTY * (self.plan.commits.len() as f64).ln();
        let changes = weighted_change_points(&values, &variances, penalty, 1).into_iter();
        changes.map(|index| (levels[index - 1].0, levels[index].0)).collect()
    }
}
