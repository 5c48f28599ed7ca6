//! Zipf's distribution by rejection-inversion (Hörmann and Derflinger: Rejection-Inversion to
//! Generate Variates from Monotone Discrete Distributions, 1996).

use rand::RngExt;

use crate::random::Random;

/// sysbench's default.
const EXPONENT: f64 = 0.8;

/// Ranks from 1 to n, of which k has the probability k^-0.8 / (1^-0.8 + 2^-0.8 + … + n^-0.8).
#[derive(Clone, Debug)]
pub(super) struct Zipf {
    ranks: f64,
    /// Ends of the interval that is drawn from: the integral at 1.5 minus the weight of the first
    /// rank, and at half a rank beyond the last.
    low: f64,
    high: f64,
    /// A point at most this far below a rank is accepted without the weight of the rank.
    squeeze: f64,
}

impl Zipf {
    pub(super) fn new(ranks: u64) -> Self {
        let ranks = ranks as f64;
        Zipf {
            ranks,
            low: integral(1.5) - 1.0,
            high: integral(ranks + 0.5),
            squeeze: 2.0 - inverse(integral(2.5) - weight(2.0)),
        }
    }

    pub(super) fn draw(&self, random: &mut Random) -> i64 {
        loop {
            let area = self.high + random.random::<f64>() * (self.low - self.high);
            let point = inverse(area);
            let rank = (point + 0.5).floor().clamp(1.0, self.ranks);
            if rank - point <= self.squeeze || area >= integral(rank + 0.5) - weight(rank) {
                return rank as i64;
            }
        }
    }
}

fn weight(rank: f64) -> f64 {
    rank.powf(-EXPONENT)
}

/// An antiderivative of the weight.
fn integral(rank: f64) -> f64 {
    rank.powf(1.0 - EXPONENT) / (1.0 - EXPONENT)
}

fn inverse(area: f64) -> f64 {
    (area * (1.0 - EXPONENT)).powf(1.0 / (1.0 - EXPONENT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::stream;

    #[test]
    fn frequencies_are_those_of_sysbench() {
        // Ranks; P(1); share of the ten hottest where it is published; share of the hottest 1 %.
        let published = [
            (1_000_000, 0.01337, None, 0.362),
            (10_000_000, 0.00825, Some(0.029), 0.376),
            (50_000_000, 0.00592, Some(0.021), 0.382),
        ];
        const DRAWS: usize = 1_000_000;
        for (ranks, first, ten, percent) in published {
            let zipf = Zipf::new(ranks);
            let mut random = stream(1, &[ranks]);
            let mut below = [0; 3];
            for _ in 0..DRAWS {
                let rank = zipf.draw(&mut random);
                assert!((1..=ranks as i64).contains(&rank));
                for (count, end) in below.iter_mut().zip([1, 10, ranks as i64 / 100]) {
                    *count += usize::from(rank <= end);
                }
            }
            let [one, hottest, hot] = below.map(|count| count as f64 / DRAWS as f64);
            // Four standard errors of a million draws, and half of the last published digit.
            assert!((one - first).abs() < 0.0005, "P(1) of {ranks}: {one}");
            assert!(ten.is_none_or(|ten| (hottest - ten).abs() < 0.0012), "{ranks}: {hottest}");
            assert!((hot - percent).abs() < 0.0025, "1 % of {ranks}: {hot}");
        }
    }

    #[test]
    fn small_tables_have_the_exact_frequencies() {
        let zipf = Zipf::new(5);
        let total: f64 = (1..=5).map(|rank| f64::from(rank).powf(-0.8)).sum();
        let mut counts = [0; 5];
        let mut random = stream(2, &[5]);
        for _ in 0..200_000 {
            counts[zipf.draw(&mut random) as usize - 1] += 1;
        }
        for (rank, count) in (1..).zip(counts) {
            let expected = f64::from(rank).powf(-0.8) / total;
            let found = f64::from(count) / 200_000.0;
            assert!((found - expected).abs() < 0.005, "P({rank}) is {found}, not {expected}");
        }
    }
}
