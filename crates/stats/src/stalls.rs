//! Seconds in which almost nothing happened.

use crate::autocorrelation::autocorrelations;
use crate::estimate::median;

/// A second is a stall if it did less than this share of the running median.
const STALLED_BELOW: f64 = 0.5;
/// Seconds of the running median, centred.
const MEDIAN_WINDOW: usize = 61;
/// The autocorrelation that stalls must have at their period, which is about the share of them that
/// another follows after just that time.
const LEAST_CORRELATION: f64 = 0.25;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stalls {
    /// Of the seconds.
    pub share: f64,
    /// Seconds in a row.
    pub longest: usize,
    /// Seconds from one to the next, if they are regular.
    pub period: Option<usize>,
}

/// The stalls of a series of rates per second.
pub fn stalls(rates: &[f64]) -> Stalls {
    let is_stalled = stalled(rates);
    let count = is_stalled.iter().filter(|is_stalled| **is_stalled).count();
    if count == 0 {
        return Stalls::default();
    }
    let longest = is_stalled
        .chunk_by(|left, right| left == right)
        .filter(|stretch| stretch[0])
        .map(<[bool]>::len)
        .max();
    Stalls {
        share: count as f64 / rates.len() as f64,
        longest: longest.unwrap_or(0),
        period: period(&is_stalled),
    }
}

/// Which seconds of a series of rates are stalls.
pub fn stalled(rates: &[f64]) -> Vec<bool> {
    // No median is higher, and most seconds are far from a stall.
    let most = rates.iter().copied().fold(0.0, f64::max);
    let is_stalled = |(at, rate): (usize, &f64)| {
        *rate < STALLED_BELOW * most && *rate < STALLED_BELOW * running_median(rates, at)
    };
    rates.iter().enumerate().map(is_stalled).collect()
}

/// The seconds by which stalls follow background work, which runs in some of the seconds: the lag
/// with the highest cross-correlation, none if none is significant. Negative if stalls come first.
pub fn lag_of_stalls(rates: &[f64], goes_on: &[bool], most: usize) -> Option<i64> {
    let count = rates.len().min(goes_on.len());
    let centred = |series: &[bool]| -> Vec<f64> {
        let values = series[..count].iter().map(|is| f64::from(u8::from(*is)));
        let mean = values.clone().sum::<f64>() / count.max(1) as f64;
        values.map(|value| value - mean).collect()
    };
    let (stalls, cause) = (centred(&stalled(rates)), centred(goes_on));
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let scale = (squares(&stalls) * squares(&cause)).sqrt();
    let correlation = |lag: i64| {
        let at = |second: usize| stalls.get(usize::try_from(second as i64 + lag).ok()?).copied();
        let products = cause.iter().enumerate().filter_map(|(second, one)| Some(one * at(second)?));
        products.sum::<f64>() / scale
    };
    // Three standard errors of a correlation of noise.
    let least = LEAST_CORRELATION.max(3.0 / (count.max(1) as f64).sqrt());
    let most = most as i64;
    let lags = (-most..=most).map(|lag| (lag, correlation(lag)));
    let best = lags.max_by(|left, right| left.1.total_cmp(&right.1))?;
    (scale > 0.0 && best.1 >= least).then_some(best.0)
}

/// The lag of the highest peak of the autocorrelation of stalled seconds, among lags that fit at
/// least three times.
fn period(is_stalled: &[bool]) -> Option<usize> {
    let series: Vec<f64> = is_stalled.iter().map(|stalled| f64::from(u8::from(*stalled))).collect();
    let rho = autocorrelations(&series, series.len() / 3);
    // Three standard errors of an autocorrelation of noise.
    let least = LEAST_CORRELATION.max(3.0 / (series.len() as f64).sqrt());
    let is_peak = |lag: &usize| rho[*lag] > rho[lag - 1] && rho[*lag] >= rho[lag + 1];
    (2..rho.len().saturating_sub(1))
        .filter(|lag| is_peak(lag) && rho[*lag] >= least)
        .max_by(|left, right| rho[*left].total_cmp(&rho[*right]))
}

/// The median of the values around one, fewer at the ends.
fn running_median(values: &[f64], at: usize) -> f64 {
    let reach = MEDIAN_WINDOW / 2;
    let end = (at + reach + 1).min(values.len());
    median(&values[at.saturating_sub(reach)..end])
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    #[test]
    fn a_checkpoint_every_thirty_seconds_is_seen() {
        let rates: Vec<f64> =
            (0..300).map(|second| if second % 30 < 2 { 100.0 } else { 1000.0 }).collect();
        let found = stalls(&rates);
        assert_eq!((found.longest, found.period), (2, Some(30)));
        assert!((found.share - 20.0 / 300.0).abs() < 1e-12);
    }

    #[test]
    fn stalls_at_random_have_no_period() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(12);
        let periodic = (0..100)
            .filter(|_| {
                let rates: Vec<f64> = (0..300)
                    .map(|_| if random.random_bool(0.05) { 100.0 } else { 1000.0 })
                    .collect();
                stalls(&rates).period.is_some()
            })
            .count();
        assert!(periodic <= 5, "{periodic} of 100");
    }

    #[test]
    fn a_lasting_change_of_level_is_no_stall() {
        let rates: Vec<f64> =
            (0..300).map(|second| if second < 150 { 1000.0 } else { 700.0 }).collect();
        assert_eq!(stalls(&rates), Stalls::default());
        assert_eq!(stalls(&[]), Stalls::default());
        let long: Vec<f64> =
            (0..300).map(|second| if (50..60).contains(&second) { 0.0 } else { 10.0 }).collect();
        assert_eq!((stalls(&long).longest, stalls(&long).period), (10, None));
        let once: Vec<f64> = (0..100).map(|second| if second == 50 { 0.0 } else { 10.0 }).collect();
        assert_eq!(stalls(&once), Stalls { share: 0.01, longest: 1, period: None });
    }

    #[test]
    fn stalls_that_follow_something_are_told_from_those_that_do_not() {
        let goes_on: Vec<bool> = (0..200).map(|second| second % 40 == 10).collect();
        let after = |lag: usize| -> Vec<f64> {
            (0..200).map(|s| if s % 40 == 10 + lag { 10.0 } else { 1000.0 }).collect()
        };
        assert_eq!(lag_of_stalls(&after(3), &goes_on, 10), Some(3));
        assert_eq!(lag_of_stalls(&after(20), &goes_on, 10), None, "half a period off");
        assert_eq!(lag_of_stalls(&[1000.0; 200], &goes_on, 10), None, "no stall");
        assert_eq!(lag_of_stalls(&after(3), &[false; 200], 10), None, "nothing went on");
        assert_eq!(lag_of_stalls(&[], &[], 10), None);
    }
}
