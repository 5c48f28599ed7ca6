//! The information in one run: seconds that resemble their neighbours are fewer observations than
//! they seem. For statements about one run only, never for a verdict.

use crate::estimate::mean;

/// The autocorrelations of `series` at the lags 0, 1, …, `lags`; empty where nothing varies.
pub fn autocorrelations(series: &[f64], lags: usize) -> Vec<f64> {
    match autocorrelation(series) {
        Some(rho) => (0..=lags.min(series.len() - 1)).map(rho).collect(),
        None => Vec::new(),
    }
}

/// The autocorrelation by lag; none where nothing varies.
fn autocorrelation(series: &[f64]) -> Option<impl Fn(usize) -> f64> {
    let center = mean(series);
    let centred: Vec<f64> = series.iter().map(|x| x - center).collect();
    let product =
        move |lag: usize| -> f64 { centred.iter().zip(&centred[lag..]).map(|(x, y)| x * y).sum() };
    let square = product(0);
    (square != 0.0).then_some(move |lag: usize| product(lag) / square)
}

/// The integrated autocorrelation time 1 + 2 Σ ρ in samples, by Geyer's initial positive sequence
/// (Practical Markov chain Monte Carlo, 1992): pairs of neighbouring lags are added up to the
/// first pair whose sum is not positive. 1 for a series without variation.
pub fn tau(series: &[f64]) -> f64 {
    let Some(rho) = autocorrelation(series) else { return 1.0 };
    // Most pairs are never asked for.
    let pairs = (0..series.len() / 2).map(|pair| rho(2 * pair) + rho(2 * pair + 1));
    let sum: f64 = pairs.take_while(|pair| *pair > 0.0).sum();
    // No series of n samples can be worth more than n² of them.
    (2.0 * sum - 1.0).max(1.0 / series.len() as f64)
}

/// Fewer independent stretches than this are too few to speak about the run.
pub const FEW_STRETCHES: f64 = 10.0;

/// How many independent samples a run is worth.
pub fn independent_stretches(series: &[f64]) -> f64 {
    series.len() as f64 / tau(series)
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::simulation::autoregressive;

    #[test]
    fn tau_of_an_autoregressive_series_is_the_known_one() {
        for (rho, tolerance) in [(-0.3, 0.15), (0.0, 0.1), (0.5, 0.15), (0.9, 0.25)] {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
            let known = (1.0 + rho) / (1.0 - rho);
            let estimates: Vec<f64> =
                (0..10).map(|_| tau(&autoregressive(&mut random, rho, 2_000))).collect();
            let ratio = mean(&estimates) / known;
            assert!((ratio - 1.0).abs() < tolerance, "{rho}: {ratio}");
        }
    }

    #[test]
    fn autocorrelations_are_those_by_hand() {
        // Deviations −1.5 −.5 .5 1.5, squares 5; lag 1: .75 − .25 + .75 = 1.25.
        assert_eq!(autocorrelations(&[1.0, 2.0, 3.0, 4.0], 1), [1.0, 0.25]);
        assert_eq!(autocorrelations(&[2.0, 2.0, 2.0], 2), []);
        assert_eq!(tau(&[2.0; 5]), 1.0);
    }

    #[test]
    fn a_series_that_remembers_is_worth_fewer_samples() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let free = independent_stretches(&autoregressive(&mut random, 0.0, 600));
        let bound = independent_stretches(&autoregressive(&mut random, 0.9, 600));
        // 600 and 600 / 19.
        assert!((400.0..900.0).contains(&free), "{free}");
        assert!((12.0..80.0).contains(&bound), "{bound}");
        assert_eq!(independent_stretches(&[]), 0.0);
    }
}
