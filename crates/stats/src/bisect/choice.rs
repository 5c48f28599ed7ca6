//! What to do next in a search: measure a commit, or end.

use super::{
    Combined, CommitBlock, CommitLine, LayoutModel, Observation, Posterior, measured, posterior,
};

/// When a search ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchRule {
    /// A commit, or a block of them, is found once it has this probability.
    pub probability: f64,
    /// The most comparisons.
    pub comparisons: usize,
    /// The standard error of a comparison.
    pub error: f64,
}

/// The next step of a search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decision {
    /// Measure the commit at this place.
    Measure(usize),
    /// One commit, or some that cannot be told apart, is the change.
    Found(CommitBlock),
    /// No further comparison helps, or there were too many.
    Undecided(Option<CommitBlock>),
}

/// Less than this share of what a fresh commit adds is nothing: layouts hide the rest.
const NOTHING: f64 = 0.02;

/// The next step after these comparisons.
pub fn decide(
    line: &CommitLine,
    observations: &[Observation],
    model: &LayoutModel,
    rule: &SearchRule,
) -> Decision {
    let posterior = posterior(line, observations, model);
    let Some(best) = posterior.best(line) else { return Decision::Undecided(None) };
    let known = measured(line, observations);
    let search = NextCommit { line, posterior: &posterior, known: &known, rule };
    let is_over = observations.len() >= rule.comparisons;
    if best.probability >= rule.probability {
        // Both sides of it, so that no conclusion rests on commits far away.
        let beside = [best.first - 1, best.last].map(|place| search.nearest(place, &best));
        let open = beside.into_iter().find(|place| !search.is_known(*place));
        return match open {
            Some(place) if !is_over => Decision::Measure(place),
            _ => Decision::Found(best),
        };
    }
    if is_over {
        return Decision::Undecided(Some(best));
    }
    search.most_informative().map_or(Decision::Undecided(Some(best)), Decision::Measure)
}

struct NextCommit<'a> {
    line: &'a CommitLine,
    posterior: &'a Posterior,
    known: &'a [Combined],
    rule: &'a SearchRule,
}

impl NextCommit<'_> {
    fn is_known(&self, place: usize) -> bool {
        let first = self.line.first_same(place);
        first == 0 || self.known.iter().any(|one| one.place == first)
    }

    /// The place beside a block, or the next one outwards that can be measured.
    fn nearest(&self, place: usize, block: &CommitBlock) -> usize {
        let can = |place: &usize| self.line.can_be_measured[*place];
        match place < block.first {
            true => (0..=place).rev().find(can).unwrap_or(0),
            false => (place..=self.line.last()).find(can).unwrap_or(self.line.last()),
        }
    }

    /// Where another comparison tells most: where the change is as likely before as after, and
    /// where noise rather than the layout of a build is in the way.
    fn most_informative(&self) -> Option<usize> {
        let layout = self.posterior.layout.powi(2);
        let one_more = 1.0 / self.rule.error.powi(2);
        let information = |precision: f64| match precision > 0.0 {
            true => 1.0 / (layout + 1.0 / precision),
            false => 0.0,
        };
        let fresh = information(one_more);
        let gain = |place: usize| {
            let first = self.line.first_same(place);
            let known = self.known.iter().find(|one| one.place == first);
            let known = known.map_or(0.0, |known| known.precision);
            let more = information(known + one_more) - information(known);
            let before = self.posterior.up_to(place);
            if more < NOTHING * fresh { 0.0 } else { before * (1.0 - before) * more }
        };
        let can = |place: &usize| {
            self.line.can_be_measured[*place] && self.line.first_same(*place) == *place
        };
        let places = (1..=self.line.last()).filter(can).map(|place| (place, gain(place)));
        // What is built already wins ties.
        let is_better = |a: &(usize, f64), b: &(usize, f64)| {
            let (most, least) = (a.1.max(b.1), a.1.min(b.1));
            let is_tie = most - least <= 1e-9 * most;
            if is_tie { self.is_known(a.0) && !self.is_known(b.0) } else { a.1 > b.1 }
        };
        let best = places.reduce(|best, one| if is_better(&one, &best) { one } else { best })?;
        (best.1 > 0.0).then_some(best.0)
    }
}

/// About how many comparisons a search among this many commits takes, with the first one of the
/// ends: one for each halving, and more with more noise (simulated, see the tests).
pub fn expected(commits: usize, size_by_error: f64) -> usize {
    let halvings = (commits.max(2) as f64).log2();
    let noise = match size_by_error {
        ratio if ratio >= 6.0 => 2.0,
        ratio if ratio >= 3.0 => 5.0,
        _ => 16.0,
    };
    (halvings + noise).ceil() as usize
}
