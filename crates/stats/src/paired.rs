//! The paired comparison: one log ratio per restart or round, and Student's t over them
//! (docs/slices.md).

use crate::estimate::{Estimate, mean, variance};
use crate::moderated::{Prior, Variance};

/// The mean of `log_ratios`, one of each restart, with the t interval at the level 1 − `alpha`.
/// With a `prior` from the other tests of the class the variance is moderated by it. None for
/// fewer than two.
pub fn t_interval(log_ratios: &[f64], prior: Option<&Prior>, alpha: f64) -> Option<Estimate> {
    let spread = spread(log_ratios, prior)?;
    let error = (spread.value / log_ratios.len() as f64).sqrt();
    Some(Estimate::from_t(mean(log_ratios), error, spread.degrees, alpha))
}

/// The variance of `log_ratios`, moderated if there is a `prior`. None for fewer than two.
pub fn spread(log_ratios: &[f64], prior: Option<&Prior>) -> Option<Variance> {
    let own = Variance::of(log_ratios)?;
    Some(prior.map_or(own, |prior| prior.moderate(own)))
}

/// How much of the noise the runs of a round share: Var(round) / (Var(round) + Var(rest)) of the
/// two-way fit y = version + round, over all tests together. 0 where the rounds share nothing.
///
/// Each test is its rounds, each round the log rates of its versions, in the same order. Above
/// [`PAIR_ABOVE`] drift dominates and the runs of a round are better compared with each other. A
/// round in which a version is missing says nothing, nor do tests with fewer than two whole rounds
/// or two versions; none if all are such.
pub fn share_of_rounds(tests: &[Vec<Vec<f64>>]) -> Option<f64> {
    let (mut between, mut within, mut versions) = (Sum::default(), Sum::default(), Sum::default());
    for rounds in tests {
        let count = rounds.iter().map(Vec::len).max().unwrap_or(0);
        let rounds: Vec<&Vec<f64>> = rounds.iter().filter(|round| round.len() == count).collect();
        if rounds.len() < 2 || count < 2 {
            continue;
        }
        let of_round: Vec<f64> = rounds.iter().map(|round| mean(round)).collect();
        let of_version: Vec<f64> = (0..count)
            .map(|version| mean(&rounds.iter().map(|round| round[version]).collect::<Vec<_>>()))
            .collect();
        let all = mean(&of_round);
        let degrees = (rounds.len() - 1) as f64;
        between.add(variance(&of_round) * count as f64 * degrees, degrees);
        let rest: f64 = rounds
            .iter()
            .zip(&of_round)
            .flat_map(|(round, level)| {
                round.iter().zip(&of_version).map(move |(y, own)| y - level - own + all)
            })
            .map(|residual| residual * residual)
            .sum();
        within.add(rest, degrees * (count - 1) as f64);
        versions.add(count as f64 * degrees, degrees);
    }
    let (between, within, versions) = (between.mean()?, within.mean()?, versions.mean()?);
    let of_rounds = ((between - within) / versions).max(0.0);
    let all = of_rounds + within;
    Some(if all > 0.0 { of_rounds / all } else { 0.0 })
}

/// The share of the noise that rounds must have in common for the paired analysis to be primary.
pub const PAIR_ABOVE: f64 = 0.3;

/// A sum of squares on its degrees of freedom.
#[derive(Default)]
struct Sum {
    total: f64,
    degrees: f64,
}

impl Sum {
    fn add(&mut self, total: f64, degrees: f64) {
        self.total += total;
        self.degrees += degrees;
    }

    fn mean(&self) -> Option<f64> {
        (self.degrees > 0.0).then(|| self.total / self.degrees)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Student 1908, "The probable error of a mean": the additional sleep of ten patients under
    /// the second drug over the first; t = 4.0621 on 9, p = .002833, mean 1.58, interval
    /// 0.700 … 2.460 (the data set `sleep` of R and its paired t test).
    #[test]
    fn students_sleep_data_come_out() {
        let differences = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4];
        let estimate = t_interval(&differences, None, 0.05).unwrap();
        assert!((estimate.value - 1.58).abs() < 1e-12);
        assert!((estimate.p - 0.002833).abs() < 1e-6, "{estimate:?}");
        assert!((estimate.interval.low - 0.7001142).abs() < 1e-6, "{estimate:?}");
        assert!((estimate.interval.high - 2.4598858).abs() < 1e-6, "{estimate:?}");
    }

    #[test]
    fn one_restart_is_no_interval() {
        assert_eq!(t_interval(&[0.1], None, 0.05), None);
    }

    #[test]
    fn rounds_that_move_together_share_the_noise() {
        let noise = [0.1, -0.2, 0.15, -0.1, 0.05, 0.0];
        let together: Vec<Vec<f64>> = (0..6)
            .map(|round| {
                let drift = f64::from(round);
                vec![drift + noise[round as usize], drift + 3.0 - noise[round as usize]]
            })
            .collect();
        let share = share_of_rounds(std::slice::from_ref(&together)).unwrap();
        assert!(share > 0.95, "{share}");

        let opposed: Vec<Vec<f64>> =
            together.iter().zip(noise).map(|(_, noise)| vec![noise, 3.0 - noise]).collect();
        assert_eq!(share_of_rounds(&[opposed]), Some(0.0));
        assert_eq!(share_of_rounds(&[vec![vec![1.0, 2.0]]]), None);
        // Half of the tests do, half do not.
        let still = vec![vec![0.0, 1.0], vec![0.0, 1.0]];
        assert!(share_of_rounds(&[together, still]).unwrap() > 0.9);
    }

    /// Two versions, three rounds, by hand: the round means are 1, 3, 5 (SS 16 on 2, mean square
    /// 8); residuals ±0.5, 0 (SS 1 on 2, mean square 0.5); Var(round) = (8 − 0.5) / 2 = 3.75.
    #[test]
    fn the_share_is_the_one_by_hand() {
        let rounds = vec![vec![0.5, 1.5], vec![3.0, 3.0], vec![5.5, 4.5]];
        let share = share_of_rounds(&[rounds]).unwrap();
        assert!((share - 3.75 / 4.25).abs() < 1e-12, "{share}");
        // A run of the last round was discarded.
        let rounds = vec![vec![0.5, 1.5], vec![3.0, 3.0], vec![5.5, 4.5], vec![9.0]];
        assert_eq!(share_of_rounds(&[rounds]), Some(share));
    }
}
