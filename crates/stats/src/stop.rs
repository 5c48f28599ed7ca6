//! When to stop adding rounds: on precision, never on significance.
//!
//! Stopping at the first p < .05 finds a difference in 12 % of comparisons of a build with itself.
//! The width of an interval says nothing about where it lies, so stopping on it keeps the level.

use crate::distribution::t_quantile;

/// When a test has enough rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    pub least_rounds: u32,
    pub most_rounds: u32,
    /// The largest acceptable half-width of a 95 % interval, on the log scale.
    pub half_width: f64,
}

/// How far a comparison has got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub rounds: u32,
    /// The half-width of the 95 % interval.
    pub half_width: f64,
}

impl StopRule {
    /// The interval is precise enough, after enough rounds.
    pub fn is_precise(&self, progress: &Progress) -> bool {
        progress.rounds >= self.least_rounds && progress.half_width <= self.half_width
    }

    /// The total number of rounds after which the interval is likely to be precise enough, if
    /// future rounds scatter like those before; at most the maximum.
    pub fn rounds_needed(&self, progress: &Progress) -> u32 {
        // The half width of a mean's interval: Student's t by the square root of the rounds.
        let narrowness = |rounds: u32| {
            t_quantile(0.975, f64::from(rounds.max(2) - 1)) / f64::from(rounds).sqrt()
        };
        let spread = progress.half_width / narrowness(progress.rounds);
        let is_enough = |rounds: &u32| spread * narrowness(*rounds) <= self.half_width;
        let fewest = self.least_rounds.max(progress.rounds);
        (fewest..=self.most_rounds).find(is_enough).unwrap_or(self.most_rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: StopRule = StopRule { least_rounds: 6, most_rounds: 20, half_width: 0.005 };

    #[test]
    fn precision_stops_but_not_before_the_least_rounds() {
        let is_precise = |rounds, half_width| RULE.is_precise(&Progress { rounds, half_width });
        assert!(!is_precise(5, 0.005) && is_precise(6, 0.005));
        assert!(!is_precise(6, 0.0051) && !is_precise(20, f64::INFINITY));
    }

    #[test]
    fn an_interval_needs_as_many_rounds_as_make_it_narrow() {
        let needed = |rounds, half_width| RULE.rounds_needed(&Progress { rounds, half_width });
        assert_eq!(needed(3, 0.001), 6, "no verdict rests on fewer");
        assert_eq!(needed(8, 0.004), 8);
        // Half as wide as after 6 rounds, where t is 2.57: 2.57 / sqrt(6) is twice 2.13 /
        // sqrt(16.5).
        assert_eq!(needed(6, 0.01), 17);
        assert_eq!(needed(6, 0.9), 20, "no more than there may be");
    }
}
