//! How much one run knows: seconds that resemble their neighbours are fewer observations than
//! they seem (STATISTICS.md §3.6, §3.4). For statements about one run only, never for a verdict.

use crate::estimate::{mean, variance};

/// The autocorrelations of `series` at the lags 0, 1, …, `lags`; empty where nothing varies.
pub fn autocorrelations(series: &[f64], lags: usize) -> Vec<f64> {
    let center = mean(series);
    let product = |lag: usize| -> f64 {
        series.iter().zip(&series[lag..]).map(|(x, y)| (x - center) * (y - center)).sum()
    };
    if series.is_empty() || product(0) == 0.0 {
        return Vec::new();
    }
    (0..=lags.min(series.len() - 1)).map(|lag| product(lag) / product(0)).collect()
}

/// The integrated autocorrelation time 1 + 2 Σ ρ in samples, by Geyer's initial positive sequence
/// (Practical Markov chain Monte Carlo, 1992): pairs of neighbouring lags are added up to the
/// first pair whose sum is not positive. 1 for a series without variation.
pub fn tau(series: &[f64]) -> f64 {
    let rho = autocorrelations(series, series.len());
    if rho.is_empty() {
        return 1.0;
    }
    let pairs = rho.chunks_exact(2).map(|pair| pair[0] + pair[1]);
    let sum: f64 = pairs.take_while(|pair| *pair > 0.0).sum();
    // No series of n samples can be worth more than n² of them.
    (2.0 * sum - 1.0).max(1.0 / series.len() as f64)
}

/// The mean of one run and what is known about it from within the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WithinRun {
    pub mean: f64,
    /// The SD of the samples.
    pub sd: f64,
    /// In samples.
    pub tau: f64,
    pub samples: usize,
}

/// Fewer independent stretches than this are too few to speak about the run.
pub const FEW_STRETCHES: f64 = 10.0;

impl WithinRun {
    /// None for fewer than two samples.
    pub fn of(series: &[f64]) -> Option<WithinRun> {
        (series.len() > 1).then(|| WithinRun {
            mean: mean(series),
            sd: variance(series).sqrt(),
            tau: tau(series),
            samples: series.len(),
        })
    }

    /// How many independent samples the run is worth.
    pub fn effective_samples(&self) -> f64 {
        self.samples as f64 / self.tau
    }

    /// The standard error of the mean.
    pub fn standard_error(&self) -> f64 {
        self.sd * (self.tau / self.samples as f64).sqrt()
    }
}

/// The noise of a run's mean, split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// s_b²: what differs from run to run, however long they are.
    pub between: f64,
    /// The mean of the runs' squared standard errors: what longer runs would make smaller.
    pub within: f64,
}

impl Noise {
    /// Var(run means) = s_b² + mean(SE²). None for fewer than two runs.
    pub fn of(runs: &[WithinRun]) -> Option<Noise> {
        if runs.len() < 2 {
            return None;
        }
        let means: Vec<f64> = runs.iter().map(|run| run.mean).collect();
        let squares: Vec<f64> = runs.iter().map(|run| run.standard_error().powi(2)).collect();
        let within = mean(&squares);
        Some(Noise { between: (variance(&means) - within).max(0.0), within })
    }

    /// Above a half more rounds help, below it longer runs. NaN without any noise.
    pub fn share_between(&self) -> f64 {
        self.between / (self.between + self.within)
    }
}

/// The length of a run, in seconds, that gets the most out of the machine's time: sqrt(`cost` · tau
/// · s_w² / s_b²), with the `cost` in seconds of a start without its measurement, and `tau` in
/// seconds (Kalibera and Jones 2013). Infinite where runs do not differ.
pub fn best_length(cost: f64, tau: f64, sd_within: f64, sd_between: f64) -> f64 {
    (cost * tau).sqrt() * sd_within / sd_between
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::simulation::{autoregressive, normals};

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
    fn the_standard_error_of_a_run_covers_its_true_mean() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
        let hits = (0..400)
            .filter(|_| {
                let run = WithinRun::of(&autoregressive(&mut random, 0.8, 600)).unwrap();
                run.mean.abs() <= 1.96 * run.standard_error()
            })
            .count();
        assert!((360..=392).contains(&hits), "{hits} of 400");
    }

    #[test]
    fn noise_between_runs_is_told_from_noise_within() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let levels = normals(&mut random, 200);
        let runs: Vec<WithinRun> = levels
            .iter()
            .map(|level| {
                let seconds: Vec<f64> =
                    normals(&mut random, 100).iter().map(|x| 2.0 * level + 10.0 * x).collect();
                WithinRun::of(&seconds).unwrap()
            })
            .collect();
        let noise = Noise::of(&runs).unwrap();
        // 2² between, 10² / 100 within.
        assert!((3.0..5.0).contains(&noise.between), "{noise:?}");
        assert!((0.8..1.2).contains(&noise.within), "{noise:?}");
        assert!((0.7..0.9).contains(&noise.share_between()));
        assert_eq!(Noise::of(&runs[..1]), None);
        // Means closer to each other than the noise within explains.
        assert_eq!(Noise::of(&[runs[0]; 3]).unwrap().between, 0.0);
    }

    #[test]
    fn the_table_of_run_lengths_is_the_published_one() {
        // STATISTICS.md §3.4: s_w, tau, s_b; T* at 20, 60 and 300 s per start.
        for (within, tau, between, lengths) in [
            (0.7, 12.0, 0.6, [18.0, 31.0, 70.0]),
            (0.6, 3.0, 0.6, [8.0, 13.0, 30.0]),
            (11.0, 77.0, 1.8, [240.0, 415.0, 929.0]),
            (14.0, 37.0, 1.8, [212.0, 366.0, 819.0]),
            (9.0, 170.0, 1.8, [292.0, 505.0, 1129.0]),
        ] {
            for (cost, published) in [20.0, 60.0, 300.0].into_iter().zip(lengths) {
                let length = best_length(cost, tau, within, between);
                assert!((length / published - 1.0).abs() < 0.04, "{length} {published}");
            }
        }
    }
}
