//! The number of digits that an interval supports.

use std::ops::RangeInclusive;

use crate::estimate::Interval;

/// Decimals of a value that is known to ± `reach`, within `bounds`: they leave two digits of
/// `reach` if these are at most 35, else one (Particle Data Group, Review of Particle Physics,
/// 5.3). So the ends of an interval differ in print, and little of what is printed is chance.
pub fn decimals(reach: f64, bounds: RangeInclusive<usize>) -> usize {
    let decimals = (3.55 / reach).log10().ceil();
    // In this order a value that is not a number gets the fewest.
    decimals.max(*bounds.start() as f64).min(*bounds.end() as f64) as usize
}

/// The digits of a ratio that is known with an interval, and of the change in percent that it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// Of the ratio, two to four.
    decimals: usize,
}

impl Digits {
    /// By the interval of its log.
    pub fn of(log: Interval) -> Digits {
        Digits { decimals: decimals(log.exp().half_width(), 2..=4) }
    }

    /// `0.974`, from its log; "-" if it is not finite.
    pub fn ratio(self, log: f64) -> String {
        self.part(log.exp())
    }

    /// The ratio itself, or a part of it such as half of its interval.
    pub fn part(self, value: f64) -> String {
        let Digits { decimals } = self;
        match value.is_finite() {
            true => format!("{value:.decimals$}"),
            false => "-".to_string(),
        }
    }

    /// `-2.6 %`, from the log; "-" if it is not finite.
    pub fn percent(self, log: f64) -> String {
        let (percent, decimals) = (100.0 * log.exp_m1(), self.decimals - 2);
        if !percent.is_finite() {
            return "-".to_string();
        }
        let text = format!("{percent:+.decimals$} %");
        // A value that rounds to zero has no sign.
        match text.contains(|c: char| ('1'..='9').contains(&c)) {
            true => text,
            false => text.trim_start_matches(['+', '-']).to_string(),
        }
    }

    /// `2.6 %`, from the log of a size without a sign.
    pub fn size(self, log: f64) -> String {
        self.percent(log.abs()).trim_start_matches('+').to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_keeps_two_digits_if_they_are_small_and_one_otherwise() {
        let of = |reach| decimals(reach, 0..=9);
        assert_eq!([0.0012, 0.0035, 0.0036, 0.012, 0.045].map(of), [4, 4, 3, 3, 2]);
        assert_eq!([0.12, 0.8, 2.4, 11.0, 990.0].map(of), [2, 1, 1, 0, 0]);
    }

    #[test]
    fn there_are_never_fewer_or_more_digits_than_asked_for() {
        assert_eq!([0.0, 1e-9, 1e9].map(|reach| decimals(reach, 2..=4)), [4, 4, 2]);
        assert_eq!([f64::INFINITY, f64::NAN].map(|reach| decimals(reach, 2..=4)), [2, 2]);
    }

    #[test]
    fn a_ratio_and_its_change_have_the_digits_of_their_interval() {
        for (reach, ratio, percent) in [
            (0.0002, "0.9768", "-2.32 %"),
            (0.002, "0.9768", "-2.32 %"),
            (0.012, "0.977", "-2.3 %"),
            (0.1, "0.98", "-2 %"),
            (f64::INFINITY, "0.98", "-2 %"),
        ] {
            let log = 0.9768_f64.ln();
            let digits = Digits::of(Interval::around(log, reach));
            assert_eq!((digits.ratio(log), digits.percent(log)), (ratio.into(), percent.into()));
        }
        let digits = Digits::of(Interval::EVERYTHING);
        assert_eq!(
            (digits.ratio(f64::NAN), digits.percent(f64::INFINITY)),
            ("-".into(), "-".into())
        );
        assert_eq!((digits.size(-0.0513), digits.percent(-0.0049)), ("5 %".into(), "0 %".into()));
    }
}
