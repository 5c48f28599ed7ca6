//! The minimum detectable effect (MDE) of a comparison, and how many rounds it would need.

use crate::distribution::t_quantile;
use crate::hodges_lehmann::mann_whitney_k;

/// The power: the chance to find a true change of the size of the MDE.
pub const POWER: f64 = 0.80;
/// Two-sided.
pub const ALPHA: f64 = 0.05;

/// How the values of the rounds are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Contrast {
    /// One log ratio per restart; the SD is that of these.
    Paired,
    /// Runs against runs, with one or two of the baseline in each round; the SD is that of one run.
    TwoSample { base_per_round: u32 },
}

impl Contrast {
    /// The standard error of the effect after `rounds`, for values with this `sd`.
    pub fn standard_error(self, sd: f64, rounds: u32) -> f64 {
        let per_round = match self {
            Contrast::Paired => 1.0,
            Contrast::TwoSample { base_per_round } => 1.0 + 1.0 / f64::from(base_per_round),
        };
        sd * (per_round / f64::from(rounds)).sqrt()
    }

    /// The degrees of freedom of the SD after `rounds`.
    pub fn degrees(self, rounds: u32) -> f64 {
        let rounds = f64::from(rounds);
        match self {
            Contrast::Paired => rounds - 1.0,
            Contrast::TwoSample { base_per_round } => rounds * f64::from(1 + base_per_round) - 2.0,
        }
    }

    /// The fewest rounds that can find a change at the two-sided `alpha`, however large it is: runs
    /// are judged by their ranks, which have a limited number of orders.
    pub fn fewest_rounds(self, alpha: f64) -> u32 {
        let Contrast::TwoSample { base_per_round } = self else { return 2 };
        let tells = |rounds: &u32| {
            let base = (base_per_round * rounds) as usize;
            mann_whitney_k(base, *rounds as usize, alpha) > 0
        };
        (2..RANKS_LIMIT).find(tells).unwrap_or(RANKS_LIMIT)
    }
}

/// The MDE: an effect of this size is found with a chance of [`POWER`] at the two-sided `alpha`,
/// given the standard error of the estimate and its degrees of freedom. In the unit of the error:
/// for log ratios .01 is 1 %. Infinite without a degree of freedom.
pub fn detectable(standard_error: f64, degrees: f64, alpha: f64) -> f64 {
    if degrees.is_nan() || degrees <= 0.0 {
        return f64::INFINITY;
    }
    (t_quantile(1.0 - alpha / 2.0, degrees) + t_quantile(POWER, degrees)) * standard_error
}

/// No comparison has more rounds than this.
const ROUNDS_LIMIT: u32 = 100_000;
/// Ranks of this many rounds can find a change at any level of a report.
const RANKS_LIMIT: u32 = 30;

/// The smallest number of rounds whose detectable effect is at most `effect`. `prior_degrees` are
/// the degrees of freedom that a moderated SD has beyond its own; 0 for a plain one.
///
/// The usual formula ((1.96 + 0.84) · sd / effect)² is this with normal quantiles, and promises
/// too much for the few rounds that are typical. None beyond 100,000 rounds.
pub fn rounds_needed(
    design: Contrast,
    sd: f64,
    effect: f64,
    prior_degrees: f64,
    alpha: f64,
) -> Option<u32> {
    let is_enough = |rounds: u32| {
        let degrees = design.degrees(rounds) + prior_degrees;
        detectable(design.standard_error(sd, rounds), degrees, alpha) <= effect
    };
    // The detectable effect falls with the rounds, so the boundary is found by halving.
    let (mut low, mut high) = (design.fewest_rounds(alpha), ROUNDS_LIMIT);
    if !is_enough(high) {
        return None;
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if is_enough(middle) { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNS: Contrast = Contrast::TwoSample { base_per_round: 1 };

    #[test]
    fn the_table_of_detectable_effects_is_the_published_one() {
        for (rounds, published) in
            [(3, 3.04), (5, 2.02), (8, 1.51), (10, 1.33), (15, 1.06), (20, 0.91)]
        {
            let effect = detectable(RUNS.standard_error(1.0, rounds), RUNS.degrees(rounds), ALPHA);
            assert!((effect - published).abs() < 0.006, "{rounds}: {effect}");
        }
    }

    #[test]
    fn three_tenths_of_a_percent_and_eight_restarts_show_half_a_percent_or_less() {
        // "About 0.5 %" was expected of an SD of 0.3 % between the medians of two restarts; a
        // ratio of restarts has no second sample, so it is somewhat less.
        let design = Contrast::Paired;
        let effect = detectable(design.standard_error(0.3, 8), design.degrees(8), ALPHA);
        assert!((0.3..0.5).contains(&effect), "{effect}");
        // Printed tables: 2.365 and 0.896 on 7 degrees of freedom.
        assert!((effect - (2.365 + 0.896) * 0.3 / 8.0_f64.sqrt()).abs() < 1e-4, "{effect}");
    }

    #[test]
    fn a_second_base_in_each_round_helps() {
        let control = Contrast::TwoSample { base_per_round: 2 };
        let ratio = control.standard_error(1.0, 8) / RUNS.standard_error(1.0, 8);
        assert!((ratio - 0.75_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn the_rounds_needed_are_just_enough() {
        for design in [Contrast::Paired, RUNS] {
            for effect in [0.2, 0.5, 1.0, 3.0] {
                let rounds = rounds_needed(design, 1.0, effect, 0.0, ALPHA).unwrap();
                let at = |rounds| {
                    detectable(design.standard_error(1.0, rounds), design.degrees(rounds), ALPHA)
                };
                assert!(at(rounds) <= effect, "{design:?} {effect}");
                let fewest = design.fewest_rounds(ALPHA);
                assert!(rounds == fewest || at(rounds - 1) > effect, "{design:?} {effect}");
                // Never fewer than the normal formula, and not many more.
                let factor = if design == RUNS { 2.0 } else { 1.0 };
                let normal = (factor * (2.8016 / effect).powi(2)).ceil() as u32;
                assert!((normal..=normal + 3).contains(&rounds), "{design:?} {effect}: {rounds}");
            }
        }
        assert_eq!(rounds_needed(RUNS, 1.0, 0.0, 0.0, ALPHA), None);
        assert_eq!(rounds_needed(Contrast::Paired, 0.0, 0.01, 0.0, ALPHA), Some(2));
    }

    /// Of three runs against three there are 20 orders, so that the least two-sided p is 0.1.
    #[test]
    fn ranks_need_as_many_rounds_as_have_orders_enough() {
        assert_eq!(RUNS.fewest_rounds(ALPHA), 4);
        assert_eq!(rounds_needed(RUNS, 0.0, 0.01, 0.0, ALPHA), Some(4));
        let control = Contrast::TwoSample { base_per_round: 2 };
        assert_eq!(control.fewest_rounds(ALPHA), 3, "2 of 84 orders");
        assert_eq!(control.fewest_rounds(ALPHA / 7.0), 4, "2 of 495");
        assert!(RUNS.fewest_rounds(1e-4) < RANKS_LIMIT);
    }

    #[test]
    fn a_moderated_sd_needs_fewer_rounds() {
        let plain = rounds_needed(Contrast::Paired, 1.0, 2.0, 0.0, ALPHA);
        let moderated = rounds_needed(Contrast::Paired, 1.0, 2.0, 20.0, ALPHA);
        assert!(moderated < plain, "{moderated:?} {plain:?}");
        assert_eq!(detectable(1.0, 0.0, ALPHA), f64::INFINITY);
    }
}
