//! When to stop adding rounds: on precision, never on significance (STATISTICS.md §3.9).
//!
//! Stopping at the first p < .05 finds something in 12 % of comparisons of a build with itself;
//! how narrow an interval is says nothing about where it lies, so stopping on it keeps the level.

use crate::distribution::t_quantile;

/// When enough is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StopRule {
    pub least_rounds: u32,
    pub most_rounds: u32,
    /// The widest half of a 95 % interval to be content with, on the log scale.
    pub half_width: f64,
    /// Seconds for the whole comparison.
    pub budget: Option<f64>,
}

/// How far a comparison has got.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    pub rounds: u32,
    /// The half-width of the 95 % interval; the largest if there are several tests.
    pub half_width: f64,
    /// Seconds since the start.
    pub elapsed: f64,
    /// Seconds that one more round will take.
    pub next_round: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The interval is narrow enough.
    Precise,
    /// The most rounds have been run.
    Rounds,
    /// One more round would not end within the budget.
    Time,
}

impl StopRule {
    /// 6 to 16 rounds, and an interval half as wide on each side as the practical `margin`.
    pub fn for_margin(margin: f64) -> StopRule {
        StopRule { least_rounds: 6, most_rounds: 16, half_width: margin / 2.0, budget: None }
    }

    /// Why to stop now; none to go on. The time budget ends even the least rounds: a limit that
    /// was promised is kept, and too few rounds are then what the verdict says.
    pub fn decide(&self, progress: &Progress) -> Option<Stop> {
        let is_over = |budget: f64| progress.elapsed + progress.next_round > budget;
        if progress.rounds >= self.least_rounds && progress.half_width <= self.half_width {
            Some(Stop::Precise)
        } else if progress.rounds >= self.most_rounds {
            Some(Stop::Rounds)
        } else if self.budget.is_some_and(is_over) {
            Some(Stop::Time)
        } else {
            None
        }
    }

    /// After how many rounds in all the interval is likely to be narrow enough, if the rounds to come
    /// scatter as those before; no more than the most.
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

    const RULE: StopRule =
        StopRule { least_rounds: 6, most_rounds: 16, half_width: 0.01, budget: Some(1000.0) };
    const START: Progress =
        Progress { rounds: 5, half_width: 0.02, elapsed: 500.0, next_round: 100.0 };

    #[test]
    fn precision_stops_but_not_before_the_least_rounds() {
        let precise = Progress { half_width: 0.01, ..START };
        assert_eq!(RULE.decide(&precise), None);
        assert_eq!(RULE.decide(&Progress { rounds: 6, ..precise }), Some(Stop::Precise));
        assert_eq!(RULE.decide(&Progress { rounds: 6, ..START }), None);
    }

    #[test]
    fn rounds_and_time_have_an_end() {
        assert_eq!(RULE.decide(&Progress { rounds: 16, ..START }), Some(Stop::Rounds));
        assert_eq!(RULE.decide(&Progress { elapsed: 900.0, ..START }), None);
        assert_eq!(RULE.decide(&Progress { elapsed: 901.0, ..START }), Some(Stop::Time));
        let endless = StopRule { budget: None, ..RULE };
        assert_eq!(endless.decide(&Progress { elapsed: 1e9, ..START }), None);
    }

    #[test]
    fn an_interval_needs_as_many_rounds_as_make_it_narrow() {
        let rule = StopRule { most_rounds: 20, half_width: 0.005, ..RULE };
        let needed =
            |rounds, half_width| rule.rounds_needed(&Progress { rounds, half_width, ..START });
        assert_eq!(needed(3, 0.001), 6, "no verdict rests on fewer");
        assert_eq!(needed(8, 0.004), 8);
        // Half as wide as after 6 rounds, where t is 2.57: 2.57 / sqrt(6) is twice 2.13 / sqrt(16.5).
        assert_eq!(needed(6, 0.01), 17);
        assert_eq!(needed(6, 0.9), 20, "no more than there may be");
    }

    #[test]
    fn an_interval_without_end_is_not_precise() {
        let unknown = Progress { rounds: 8, half_width: f64::INFINITY, ..START };
        assert_eq!(StopRule::for_margin(0.02).decide(&unknown), None);
        assert_eq!(StopRule::for_margin(0.02).half_width, 0.01);
    }
}
