//! Which of a line of commits changed the speed: a posterior over the commits, from comparisons
//! that have noise, each of one commit with the first.
//!
//! Of commit i of the line, the mean log ratio to the first commit is
//! `a + d · [i ≥ c] + u + e`: one change of size d at commit c, the layout `a` of the first commit,
//! which all comparisons share, the layout `u` of this build, which no repetition lowers, and noise
//! `e` with a known error. Everything but c is integrated out in closed form, so an uncertain size
//! or layout makes the posterior wide rather than wrong.

mod choice;
#[cfg(test)]
mod tests;

pub use choice::{Decision, SearchRule, decide, expected};

/// The SD of the size of a change before anything is measured: wide.
const SIZE: f64 = 0.05;
/// The SDs of layouts before anything is measured, with their weights. A copy of one binary whose
/// functions lie differently is within these (docs/instructions.md).
const LAYOUTS: [(f64, f64); 4] = [(0.001, 0.25), (0.003, 0.4), (0.006, 0.25), (0.015, 0.1)];

/// The commits of a search. Place 0 is the first commit, with which all others are compared, and
/// the last place is the last commit.
#[derive(Clone, Debug, PartialEq)]
pub struct CommitLine {
    /// By commit, from place 1 on: the weight of "it is the one that changed".
    prior: Vec<f64>,
    /// By place.
    can_be_measured: Vec<bool>,
    /// By place: the first place with the same binary.
    same: Vec<usize>,
}

impl CommitLine {
    /// A line with these weights of its commits after the first.
    pub fn new(prior: Vec<f64>) -> CommitLine {
        let places = prior.len() + 1;
        CommitLine { prior, can_be_measured: vec![true; places], same: (0..places).collect() }
    }

    /// The last place.
    pub fn last(&self) -> usize {
        self.prior.len()
    }

    /// A commit that does not build, or whose build does not run.
    pub fn exclude(&mut self, place: usize) {
        self.can_be_measured[place] = false;
    }

    /// Two places have the same binary. No commit after the first of them, up to the second, is
    /// the change, and what is measured of one is measured of the other.
    pub fn unite(&mut self, one: usize, other: usize) {
        let (from, to) = (one.min(other), one.max(other));
        self.prior[from..to].fill(0.0);
        let (kept, replaced) =
            (self.same[from].min(self.same[to]), [self.same[from], self.same[to]]);
        let joined = self.same.iter_mut().filter(|first| replaced.contains(first));
        joined.for_each(|first| *first = kept);
    }

    /// The first place with the binary of this one.
    pub fn first_same(&self, place: usize) -> usize {
        self.same[place]
    }

    /// Whether nothing can be the change, since first and last have the same binary.
    pub fn is_empty(&self) -> bool {
        self.prior.iter().all(|weight| *weight == 0.0)
    }
}

/// What one comparison of a commit found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Observation {
    pub place: usize,
    /// The log ratio to the first commit.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
}

/// What is assumed of layouts: SDs with weights.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutModel {
    layouts: Vec<(f64, f64)>,
}

impl Default for LayoutModel {
    fn default() -> LayoutModel {
        LayoutModel { layouts: LAYOUTS.to_vec() }
    }
}

impl LayoutModel {
    /// The SD of layouts that is expected before anything is measured.
    pub fn expected_sd(&self) -> f64 {
        self.layouts.iter().map(|(sd, weight)| sd * weight).sum()
    }

    /// With one known SD of layouts.
    pub fn with_layout(sd: f64) -> LayoutModel {
        LayoutModel { layouts: vec![(sd, 1.0)] }
    }
}

/// All comparisons of one binary together.
#[derive(Clone, Copy, Debug)]
struct Combined {
    place: usize,
    value: f64,
    /// The inverse of the variance by noise.
    precision: f64,
}

/// The posterior of a search.
#[derive(Clone, Debug, PartialEq)]
pub struct Posterior {
    /// By commit, from place 1 on.
    pub commits: Vec<f64>,
    /// The SD of layouts that is expected now.
    pub layout: f64,
}

/// Commits that no measurement tells apart, since none between them can be measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommitBlock {
    /// The places of its first and last commit.
    pub first: usize,
    pub last: usize,
    pub probability: f64,
}

/// The comparisons of each binary together; those that say nothing, of the first commit's own
/// binary, are left out.
fn measured(line: &CommitLine, observations: &[Observation]) -> Vec<Combined> {
    let mut all: Vec<Combined> = Vec::new();
    for one in observations {
        let place = line.first_same(one.place);
        let precision = 1.0 / (one.error * one.error).max(f64::MIN_POSITIVE);
        match all.iter_mut().find(|known| known.place == place) {
            _ if place == 0 => {}
            Some(known) => {
                let sum = known.precision + precision;
                known.value = (known.value * known.precision + one.value * precision) / sum;
                known.precision = sum;
            }
            None => all.push(Combined { place, value: one.value, precision }),
        }
    }
    all
}

/// The posterior after these comparisons.
pub fn posterior(
    line: &CommitLine,
    observations: &[Observation],
    model: &LayoutModel,
) -> Posterior {
    let measured = measured(line, observations);
    // By layout, then by commit: logs of what is proportional to the joint posterior.
    let logs: Vec<Vec<f64>> = model
        .layouts
        .iter()
        .map(|&(layout, weight)| {
            let of_change = |place: usize| log_likelihood(&measured, place, layout);
            let prior = |place: usize| (line.prior[place - 1] * weight).ln();
            (1..=line.last()).map(|place| prior(place) + of_change(place)).collect()
        })
        .collect();
    let most = logs.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
    if most == f64::NEG_INFINITY {
        return Posterior { commits: vec![0.0; line.last()], layout: model.expected_sd() };
    }
    let weights: Vec<Vec<f64>> =
        logs.iter().map(|logs| logs.iter().map(|log| (log - most).exp()).collect()).collect();
    let total: f64 = weights.iter().flatten().sum();
    let commit = |index: usize| weights.iter().map(|of| of[index]).sum::<f64>() / total;
    let of_layout = |index: usize| weights[index].iter().sum::<f64>() / total;
    let layouts = model.layouts.iter().enumerate();
    Posterior {
        commits: (0..line.last()).map(commit).collect(),
        layout: layouts.map(|(index, (sd, _))| sd * of_layout(index)).sum(),
    }
}

/// The log likelihood of a change at a place, up to a constant. Layout of the first commit and size
/// of the change are normal and integrated out.
fn log_likelihood(measured: &[Combined], change: usize, layout: f64) -> f64 {
    // Zero would make the layout of the first commit a constant, which is its limit.
    let shared = 1.0 / (layout * layout).max(1e-14);
    let mut log = 0.0;
    let (mut weight, mut sum, mut weight_after, mut sum_after) = (0.0, 0.0, 0.0, 0.0);
    for one in measured {
        let of_one = 1.0 / (layout * layout + 1.0 / one.precision);
        log += 0.5 * (of_one.ln() - of_one * one.value * one.value);
        weight += of_one;
        sum += of_one * one.value;
        if one.place >= change {
            weight_after += of_one;
            sum_after += of_one * one.value;
        }
    }
    let (first, second) = (shared + weight, 1.0 / (SIZE * SIZE) + weight_after);
    let determinant = first * second - weight_after * weight_after;
    let explained =
        sum * sum * second - 2.0 * sum * sum_after * weight_after + sum_after * sum_after * first;
    log + 0.5 * (explained / determinant - determinant.ln() + shared.ln())
}

impl Posterior {
    /// The most likely commit, with those that nothing can tell from it.
    pub fn best(&self, line: &CommitLine) -> Option<CommitBlock> {
        let blocks = self.blocks(line).into_iter();
        blocks.max_by(|a, b| a.probability.total_cmp(&b.probability))
    }

    /// All commits that may be the change, in blocks.
    pub fn blocks(&self, line: &CommitLine) -> Vec<CommitBlock> {
        let mut blocks: Vec<CommitBlock> = Vec::new();
        let mut is_open = false;
        for place in 1..=line.last() {
            let probability = self.commits[place - 1];
            if line.prior[place - 1] > 0.0 {
                match blocks.last_mut().filter(|_| is_open) {
                    Some(block) => {
                        block.last = place;
                        block.probability += probability;
                    }
                    None => blocks.push(CommitBlock { first: place, last: place, probability }),
                }
                is_open = true;
            }
            if line.can_be_measured[place] {
                is_open = false;
            }
        }
        blocks
    }

    /// The fewest commits that have this probability together, by place; none where nothing is
    /// likely.
    pub fn credible(&self, probability: f64) -> Vec<usize> {
        let mut places: Vec<usize> = (1..=self.commits.len()).collect();
        places.sort_by(|a, b| self.commits[b - 1].total_cmp(&self.commits[a - 1]));
        let mut sum = 0.0;
        let is_needed = |place: &usize| {
            let (before, own) = (sum, self.commits[*place - 1]);
            sum += own;
            before < probability && own > 0.0
        };
        let mut set: Vec<usize> = places.into_iter().take_while(is_needed).collect();
        set.sort_unstable();
        set
    }

    /// The probability that the change is at a place or before.
    fn up_to(&self, place: usize) -> f64 {
        self.commits[..place].iter().sum()
    }
}
