//! The words of a verdict and the rules that choose them.

use std::fmt;

use crate::estimate::{Estimate, Interval};

/// The verdict on one test. Sizes are on the log scale and not negative: 0.01 is 1 %.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// Slower by the margin or more.
    Regression { at_least: f64 },
    /// An execution was ended after so many times the time that it takes the baseline.
    Overdue { times: f64 },
    /// Slower, by less than the margin.
    SmallRegression { at_least: f64 },
    /// Faster by the margin or more.
    Improvement { at_least: f64 },
    /// Faster, by less than the margin.
    SmallImprovement { at_least: f64 },
    /// As fast within the margin. `detectable` is the MDE.
    NoChange { detectable: f64 },
    /// None of the others. `detectable` is the MDE, infinite with too few rounds. `rounds` would
    /// probably be enough; none if no number is known to be.
    Inconclusive { detectable: f64, rounds: Option<u32> },
    /// A guard, a failure or the A/A control rules the measurement out.
    Invalid { why: String },
    /// The client held operations back, so that the rate is the user's and only times are judged.
    Capped { rate: f64 },
    /// As fast, but an operation costs more of `cost`, by `at_least`.
    EfficiencyRegression { cost: String, at_least: f64 },
}

impl Label {
    /// Whether the ratio of the rates says something about contender and baseline.
    pub fn has_ratio(&self) -> bool {
        !matches!(self, Label::Invalid { .. } | Label::Overdue { .. } | Label::Capped { .. })
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Regression { .. } => f.write_str("regression"),
            Label::Overdue { times } => {
                write!(f, "regression (more than {} times slower)", times.floor())
            }
            Label::SmallRegression { .. } => f.write_str("small regression"),
            Label::Improvement { .. } => f.write_str("improvement"),
            Label::SmallImprovement { .. } => f.write_str("small improvement"),
            Label::NoChange { detectable } => {
                write!(f, "no change (MDE {:.1} %)", 100.0 * detectable.exp_m1())
            }
            Label::Inconclusive { detectable, .. } if !detectable.is_finite() => {
                f.write_str("inconclusive (too few rounds)")
            }
            Label::Inconclusive { detectable, rounds } => {
                write!(f, "inconclusive (MDE {:.1} %", 100.0 * detectable.exp_m1())?;
                match rounds {
                    Some(rounds) => write!(f, "; about {rounds} rounds needed)"),
                    None => f.write_str(")"),
                }
            }
            Label::Invalid { why } => write!(f, "invalid ({why})"),
            Label::Capped { rate } => write!(f, "capped (at most {rate} operations per second)"),
            Label::EfficiencyRegression { cost, .. } => write!(f, "efficiency regression ({cost})"),
        }
    }
}

/// The kind of a test, on which its margin depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    CachedRead,
    CachedWrite,
    IoBound,
}

impl Kind {
    /// The margin on the log scale, the smallest change that matters: smaller ones are called
    /// small.
    pub const fn margin(self) -> f64 {
        match self {
            Kind::CachedRead => 0.02,
            Kind::CachedWrite => 0.03,
            Kind::IoBound => 0.05,
        }
    }
}

/// The input of the label of one test. Logs of ratios of rates: below 0 is slower.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// With its interval adjusted for the family.
    pub estimate: Estimate,
    /// The 90 % interval of the test by itself.
    pub interval_90: Interval,
    pub margin: f64,
    pub detectable: f64,
    pub rounds_needed: Option<u32>,
    /// False if the second method of analysis contradicts the first.
    pub is_agreed: bool,
    /// The cost that rose most, if any did significantly, and by how much at least.
    pub risen_cost: Option<(String, f64)>,
}

impl Evidence {
    /// The first rule that holds. The validity of the measurement is checked before.
    pub fn label(self) -> Label {
        let Evidence { estimate, interval_90, margin, .. } = self;
        let Interval { low, high } = estimate.interval;
        let (detectable, rounds) = (self.detectable, self.rounds_needed);
        if !self.is_agreed {
            // The number of rounds needed is computed by the first method alone.
            Label::Inconclusive { detectable, rounds: None }
        } else if high < 0.0 {
            match estimate.value <= -margin {
                true => Label::Regression { at_least: -high },
                false => Label::SmallRegression { at_least: -high },
            }
        } else if low > 0.0 {
            match estimate.value >= margin {
                true => Label::Improvement { at_least: low },
                false => Label::SmallImprovement { at_least: low },
            }
        } else if interval_90.low > -margin && interval_90.high < margin {
            match self.risen_cost {
                Some((cost, at_least)) => Label::EfficiencyRegression { cost, at_least },
                None => Label::NoChange { detectable: self.detectable },
            }
        } else {
            Label::Inconclusive { detectable, rounds }
        }
    }
}

/// An A/A control that differs from the baseline with a p-value below this has moved. If its
/// interval at this level lies beyond the margin, its test has no verdict but a clear one.
pub const CONTROL_ALPHA: f64 = 0.01;
/// An A/A control that differs with a p-value below this is a hit; a few are to be expected.
pub const CONTROL_HIT_ALPHA: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn evidence(low: f64, value: f64, high: f64) -> Evidence {
        let interval = Interval { low, high };
        Evidence {
            estimate: Estimate { value, interval, p: 0.5 },
            interval_90: interval,
            margin: Kind::CachedRead.margin(),
            detectable: 0.011,
            rounds_needed: Some(14),
            is_agreed: true,
            risen_cost: None,
        }
    }

    #[test]
    fn every_label_has_its_words() {
        let mut costlier = evidence(-0.005, 0.0, 0.005);
        costlier.risen_cost = Some(("server CPU".to_string(), 0.03));
        let mut disagreed = evidence(-0.04, -0.03, -0.02);
        disagreed.is_agreed = false;
        let mut endless = evidence(-0.5, 0.0, 0.5);
        endless.rounds_needed = None;
        for (evidence, words) in [
            (evidence(-0.04, -0.03, -0.02), "regression"),
            (evidence(-0.03, -0.02, -0.01), "regression"),
            (evidence(-0.03, -0.019, -0.001), "small regression"),
            (evidence(0.01, 0.02, 0.03), "improvement"),
            (evidence(0.001, 0.01, 0.019), "small improvement"),
            (evidence(-0.005, 0.0, 0.005), "no change (MDE 1.1 %)"),
            (evidence(-0.021, 0.0, 0.005), "inconclusive (MDE 1.1 %; about 14 rounds needed)"),
            (evidence(-0.005, 0.0, 0.02), "inconclusive (MDE 1.1 %; about 14 rounds needed)"),
            (evidence(-0.05, -0.02, 0.0), "inconclusive (MDE 1.1 %; about 14 rounds needed)"),
            (disagreed, "inconclusive (MDE 1.1 %)"),
            (endless, "inconclusive (MDE 1.1 %)"),
            (costlier, "efficiency regression (server CPU)"),
        ] {
            assert_eq!(evidence.clone().label().to_string(), words, "{evidence:?}");
        }
        let invalid = Label::Invalid { why: "CPU of other processes 23 %".to_string() };
        assert_eq!(invalid.to_string(), "invalid (CPU of other processes 23 %)");
        let capped = Label::Capped { rate: 100.0 };
        assert_eq!(capped.to_string(), "capped (at most 100 operations per second)");
        let overdue = Label::Overdue { times: 50.7 };
        assert_eq!(overdue.to_string(), "regression (more than 50 times slower)");
    }

    #[test]
    fn a_change_is_at_least_the_near_end_of_its_interval() {
        let slower = evidence(-0.04, -0.03, -0.02).label();
        assert_eq!(slower, Label::Regression { at_least: 0.02 });
        let faster = evidence(0.01, 0.015, 0.03).label();
        assert_eq!(faster, Label::SmallImprovement { at_least: 0.01 });
    }

    #[test]
    fn what_got_slower_is_not_excused_by_its_cost() {
        let mut both = evidence(-0.04, -0.03, -0.02);
        both.risen_cost = Some(("server CPU".to_string(), 0.03));
        assert_eq!(both.label(), Label::Regression { at_least: 0.02 });
    }

    #[test]
    fn margins_are_the_published_ones() {
        let margins = [Kind::CachedRead, Kind::CachedWrite, Kind::IoBound].map(Kind::margin);
        assert_eq!(margins, [0.02, 0.03, 0.05]);
    }
}
