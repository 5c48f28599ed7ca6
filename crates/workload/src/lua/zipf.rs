//! Zipf's distribution as sysbench 1.1 draws it, with the C library's functions, so that the
//! numbers are the same.
//!
//! Source: Hörmann and Derflinger, Rejection-Inversion to Generate Variates from Monotone Discrete
//! Distributions, 1996; extended to all exponents by an integral that has a limit where the
//! exponent is 1.

/// Below this, a quotient is computed from its series.
const NEAR_ZERO: f64 = 1e-8;
const THIRD: f64 = 1.0 / 3.0;

/// Ranks from 1 on, of which k has a probability in proportion to 1 / k^exponent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZipfRanks {
    exponent: f64,
    /// The lower end of the area that is drawn from.
    low: f64,
    /// A point that is at most this far below its rank is accepted at once.
    squeeze: f64,
}

impl ZipfRanks {
    pub(super) fn new(exponent: f64) -> ZipfRanks {
        let zipf = ZipfRanks { exponent, low: 0.0, squeeze: 0.0 };
        let squeeze = 2.0 - zipf.inverse(zipf.integral(2.5) - zipf.weight(2.0));
        ZipfRanks { low: zipf.integral(1.5) - 1.0, squeeze, ..zipf }
    }

    /// A rank of at most `most`; `draw` returns numbers from 0 to below 1.
    pub(super) fn rank(&self, most: u32, mut draw: impl FnMut() -> f64) -> u32 {
        let high = self.integral(f64::from(most) + 0.5);
        loop {
            let area = high + draw() * (self.low - high);
            let point = self.inverse(area);
            let rank = ((point + 0.5) as u32).clamp(1, most.max(1));
            let number = f64::from(rank);
            if number - point <= self.squeeze
                || area >= self.integral(number + 0.5) - self.weight(number)
            {
                return rank;
            }
        }
    }

    fn weight(&self, rank: f64) -> f64 {
        (-self.exponent * rank.ln()).exp()
    }

    /// An antiderivative of the weight.
    fn integral(&self, rank: f64) -> f64 {
        let log = rank.ln();
        growth((1.0 - self.exponent) * log) * log
    }

    fn inverse(&self, area: f64) -> f64 {
        // Rounding may take it below.
        let scaled = (area * (1.0 - self.exponent)).max(-1.0);
        (logarithm(scaled) * area).exp()
    }
}

/// ln(1 + x) / x.
fn logarithm(x: f64) -> f64 {
    match x.abs() > NEAR_ZERO {
        true => x.ln_1p() / x,
        false => 1.0 - x * (0.5 - x * (THIRD - 0.25 * x)),
    }
}

/// (e^x - 1) / x.
fn growth(x: f64) -> f64 {
    match x.abs() > NEAR_ZERO {
        true => x.exp_m1() / x,
        false => 1.0 + x * 0.5 * (1.0 + x * THIRD * (1.0 + 0.25 * x)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: [f64; 8] = [0.05, 0.2, 0.4, 0.6, 0.75, 0.9, 0.97, 0.999];

    /// Computed by another program, from the formulas of sysbench's source.
    #[test]
    fn the_same_draws_give_the_ranks_of_sysbench() {
        for (exponent, most, expected) in [
            (0.0, 1_000, [951, 800, 600, 401, 250, 100, 31, 2]),
            (0.8, 1_000, [820, 430, 155, 43, 13, 2, 1, 1]),
            (0.8, 1_000_000, [785_212, 351_185, 93_342, 15_306, 2_118, 77, 4, 1]),
            (1.0, 1_000_000, [486_508, 56_022, 3_138, 176, 20, 2, 1, 1]),
            (1.5, 1_000, [109, 12, 3, 2, 1, 1, 1, 1]),
        ] {
            let zipf = ZipfRanks::new(exponent);
            assert_eq!(DRAWS.map(|draw| zipf.rank(most, || draw)), expected, "{exponent}");
        }
    }

    #[test]
    fn ranks_are_as_frequent_as_their_weights_say() {
        let zipf = ZipfRanks::new(0.8);
        let most = 10;
        let all: f64 = (1..=most).map(|rank| f64::from(rank).powf(-0.8)).sum();
        let mut state = 7_u64;
        let mut counts = [0; 10];
        for _ in 0..100_000 {
            let rank = zipf.rank(most, || {
                // A linear congruential generator of Knuth's.
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 11) as f64 / (1_u64 << 53) as f64
            });
            counts[rank as usize - 1] += 1;
        }
        for (rank, count) in (1..).zip(counts) {
            let expected = 1e5 * f64::from(rank).powf(-0.8) / all;
            // Five standard deviations.
            let off = f64::from(count) - expected;
            assert!(off.abs() < 5.0 * expected.sqrt(), "{rank}: {count} of {expected}");
        }
    }
}
