//! Whether a read-write step kept its promised write rate (spec §5.2, table 3).

/// The share of the promised rate that must be reached on average over the step.
pub const REQUIRED_SHARE: f64 = 0.95;

/// Rows per second that all clients together promise to insert.
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
    fn what_is_printed_as_enough_is_enough() {
        assert!(is_met(949.6, 1000.0), "it is printed as 950");
        assert!(!is_met(949.4, 1000.0), "it is printed as 949");
    }
}
