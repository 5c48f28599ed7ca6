//! Percentiles of a series of per-second rates, from the top down.

/// Fewer seconds than this have no percentile.
const MINIMUM_SECONDS: usize = 10;

/// The rate that `percent` of the seconds reached: the element at round(percent/100 · n), counted
/// from 1, of the rates sorted in descending order. The 99th is therefore near the *lowest* rate.
/// None for fewer than ten seconds.
pub fn low_tail(rates: &[f64], percent: f64) -> Option<f64> {
    if rates.len() < MINIMUM_SECONDS {
        return None;
    }
    let mut sorted = rates.to_vec();
    sorted.sort_by(|left, right| right.total_cmp(left));
    let rank = (percent / 100.0 * sorted.len() as f64).round() as usize;
    Some(sorted[rank.clamp(1, sorted.len()) - 1])
}

#[cfg(test)]
mod tests {
    use super::low_tail;

    #[test]
    fn the_99th_percentile_is_the_low_end() {
        let rates: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(low_tail(&rates, 50.0), Some(51.0));
        assert_eq!(low_tail(&rates, 99.0), Some(2.0));
    }

    #[test]
    fn the_rank_is_rounded_to_the_nearest() {
        let rates: Vec<f64> = (1..=60).map(f64::from).collect();
        // 0.99 · 60 = 59.4: the 59th from the top.
        assert_eq!(low_tail(&rates, 99.0), Some(2.0));
        let rates: Vec<f64> = (1..=11).map(f64::from).collect();
        // 0.5 · 11 = 5.5: the 6th from the top.
        assert_eq!(low_tail(&rates, 50.0), Some(6.0));
    }

    #[test]
    fn nine_seconds_are_too_few() {
        assert_eq!(low_tail(&[5.0; 9], 50.0), None);
        assert_eq!(low_tail(&[5.0; 10], 50.0), Some(5.0));
    }
}
