//! Which rate is tried next.

use std::collections::BTreeMap;

use rqps_plan::RATE_STEP;

/// Of what a contender does in a closed loop, the smallest and the largest rate that are tried.
const LEAST: f64 = 0.05;
const MOST: f64 = 1.2;

/// A round begins with the answer of the one before, and this many steps around it.
const NEAR: i32 = 4;

/// The rates that are tried, as steps of one grid for all contenders, each larger than the one
/// before by the same factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateGrid {
    pub least: i32,
    pub most: i32,
}

impl RateGrid {
    /// The rates for a contender that does so many operations per second in a closed loop, of which
    /// none is smaller than can be judged.
    pub fn of(closed: f64, judged: f64) -> RateGrid {
        let least = RateGrid::step(LEAST * closed).max(RateGrid::step(judged) + 1);
        RateGrid { least, most: RateGrid::step(MOST * closed) }
    }

    /// Operations per second.
    pub fn rate(step: i32) -> f64 {
        RATE_STEP.powi(step)
    }

    /// The step that is nearest to a rate.
    pub fn step(rate: f64) -> i32 {
        (rate.ln() / RATE_STEP.ln()).round() as i32
    }

    fn has(self, step: i32) -> bool {
        (self.least..=self.most).contains(&step)
    }
}

/// What a round has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LargestRate {
    /// The largest step that keeps the level.
    Largest(i32),
    /// The last of the grid keeps it, too.
    AtLeast(i32),
    /// The first does not.
    None,
}

/// The search of one contender in one round. It bisects between rates that keep the level and rates
/// that do not, and then tries the rates on either side of the answer once more, since a try near
/// the limit may go either way.
#[derive(Clone, Debug)]
pub struct RateSearch {
    grid: RateGrid,
    /// The answer is at `low` or above, and below `high`.
    low: i32,
    high: i32,
    /// What was told of steps, and what is taken for granted beyond the grid.
    known: BTreeMap<i32, bool>,
    edge: BesideAnswer,
}

/// The tries at the edge; none as long as it is not found.
#[derive(Clone, Copy, Debug, Default)]
struct BesideAnswer {
    below: Option<bool>,
    above: Option<bool>,
}

impl RateSearch {
    /// `last` is the answer of the round before.
    pub fn new(grid: RateGrid, last: Option<i32>) -> RateSearch {
        let (floor, ceiling) = (grid.least - 1, grid.most + 1);
        let (low, high) = match last {
            Some(last) => {
                // It may be beyond what can be judged now.
                let last = last.clamp(grid.least, grid.most);
                ((last - NEAR).max(floor), (last + NEAR).min(ceiling))
            }
            None => (floor, ceiling),
        };
        let known = BTreeMap::from([(floor, true), (ceiling, false)]);
        RateSearch { grid, low, high, known, edge: BesideAnswer::default() }
    }

    /// The step to be tried next; none when there is an answer.
    pub fn next(&self) -> Option<i32> {
        self.bisected().or_else(|| {
            let below = self.grid.has(self.low - 1) && self.edge.below.is_none();
            let above = self.grid.has(self.low + 1) && self.edge.above.is_none();
            match (below, above) {
                (_, true) => Some(self.low + 1),
                (true, false) => Some(self.low - 1),
                (false, false) => None,
            }
        })
    }

    /// The next step that narrows down where the answer is.
    fn bisected(&self) -> Option<i32> {
        match self.high - self.low > 1 {
            true => Some(self.low + (self.high - self.low) / 2),
            // The ends around the last answer were not tried.
            false => [self.low, self.high].into_iter().find(|end| !self.known.contains_key(end)),
        }
    }

    /// Whether the level was kept at the step that was asked for.
    pub fn told(&mut self, keeps: bool) {
        let Some(step) = self.next() else { return };
        if self.bisected().is_none() {
            let tried = if step > self.low { &mut self.edge.above } else { &mut self.edge.below };
            *tried = Some(keeps);
            return;
        }
        self.known.insert(step, keeps);
        match (step, keeps) {
            (end, false) if end == self.low => (self.low, self.high) = (self.grid.least - 1, end),
            (end, true) if end == self.high => (self.low, self.high) = (end, self.grid.most + 1),
            (step, true) => self.low = step,
            (step, false) => self.high = step,
        }
    }

    /// The answer, once nothing more is to be tried. It is a step beside the one that was found by
    /// bisection if one of the two tries beside that contradicts it.
    pub fn found(&self) -> Option<LargestRate> {
        if self.next().is_some() {
            return None;
        }
        let above = i32::from(self.edge.above == Some(true));
        let below = i32::from(self.edge.below == Some(false));
        let step = self.low + above - below;
        Some(match step {
            step if step < self.grid.least => LargestRate::None,
            step if step >= self.grid.most => LargestRate::AtLeast(self.grid.most),
            step => LargestRate::Largest(step),
        })
    }
}
