//! Whether a read-write step kept its promised write rate.

/// The share of the promised rate that must be reached on average over the step.
pub const REQUIRED_SHARE: f64 = 0.95;

/// The target of all clients: rows inserted per second.
pub fn target(clients: u32, rate: u32) -> f64 {
    f64::from(clients) * f64::from(rate)
}

/// The lowest average rate, in whole rows per second, that keeps a promise of `target` rows per
/// second.
pub fn threshold(target: f64) -> f64 {
    (REQUIRED_SHARE * target).round()
}

/// Whether `achieved` rows per second keep the promise. The comparison is of whole rows per
/// second, as they are printed.
pub fn is_met(achieved: f64, target: f64) -> bool {
    achieved.round() >= threshold(target)
}

/// Whether each second has fewer rows than promised. Rows come in commits: those of the last ones
/// (`commits` rows, of all clients) are not missing if the second before or after has them instead.
pub fn short(rows: &[f64], commits: f64, target: f64) -> Vec<bool> {
    let surplus = |index: Option<usize>| {
        let rows = index.and_then(|index| rows.get(index));
        rows.map_or(0.0, |rows| (rows - target).max(0.0))
    };
    let is_short = |(index, rows): (usize, &f64)| {
        let moved = surplus(index.checked_sub(1)) + surplus(index.checked_add(1));
        !is_met(rows + moved.min(commits), target)
    };
    rows.iter().enumerate().map(is_short).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ninety_five_percent_of_clients_times_rate_is_enough() {
        assert_eq!(target(20, 100), 2000.0);
        assert_eq!(threshold(2000.0), 1900.0);
        assert!(is_met(1900.0, 2000.0));
        assert!(!is_met(1899.0, 2000.0));
    }

    #[test]
    fn a_commit_that_ended_a_moment_too_late_is_not_missing() {
        let of = |rows: &[f64]| short(rows, 50.0, 100.0);
        assert_eq!(of(&[100.0, 50.0, 150.0, 100.0]), [false; 4]);
        assert_eq!(of(&[150.0, 50.0, 100.0]), [false; 3], "or too early");
        assert_eq!(of(&[100.0, 0.0, 200.0, 100.0]), [false, true, false, false], "a stall");
        assert_eq!(of(&[90.0, 90.0, 90.0]), [true; 3], "no other second has them");
    }

    #[test]
    fn what_is_printed_as_enough_is_enough() {
        assert!(is_met(949.6, 1000.0), "it is printed as 950");
        assert!(!is_met(949.4, 1000.0), "it is printed as 949");
    }
}
