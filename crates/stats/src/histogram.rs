//! The posts' response-time histogram: ten buckets, printed as percentages.

pub const BUCKETS: usize = 10;

/// Upper bounds of all buckets but the last, inclusive, in nanoseconds.
pub const BOUNDS: [u64; BUCKETS - 1] = [
    256_000,
    1_000_000,
    4_000_000,
    16_000_000,
    64_000_000,
    256_000_000,
    1_000_000_000,
    4_000_000_000,
    16_000_000_000,
];

/// Column heads: "at most this long", the last "longer than that".
pub const NAMES: [&str; BUCKETS] =
    ["256us", "1ms", "4ms", "16ms", "64ms", "256ms", "1s", "4s", "16s", "gt"];

/// The greatest shade of a cell: 100% of the responses.
pub const DARKEST: u8 = 20;

/// The bucket that holds a response of `nanoseconds`.
pub fn bucket(nanoseconds: u64) -> usize {
    BOUNDS.iter().position(|&bound| nanoseconds <= bound).unwrap_or(BUCKETS - 1)
}

/// The percentage of all responses in each bucket; all zero if there were none.
pub fn percentages(counts: &[u64; BUCKETS]) -> [f64; BUCKETS] {
    let total: u64 = counts.iter().sum();
    counts.map(|count| if total == 0 { 0.0 } else { 100.0 * count as f64 / total as f64 })
}

/// A percentage with three decimals; the word `nonzero` for what would print as 0.000 but is not;
/// nothing for exactly zero.
pub fn print(percentage: f64) -> String {
    if percentage == 0.0 {
        return String::new();
    }
    match format!("{percentage:.3}") {
        rounded if rounded == "0.000" => "nonzero".to_string(),
        rounded => rounded,
    }
}

/// How dark a cell is: one of 21 steps, one for every 5%.
pub fn shade(percentage: f64) -> u8 {
    (percentage / 5.0).round().clamp(0.0, f64::from(DARKEST)) as u8
}

/// The percentiles shown beside the buckets.
pub const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p95", 95.0), ("p99", 99.0), ("p99.9", 99.9)];

/// Whether `count` responses are enough to state a percentile: ten must lie beyond it.
pub fn is_enough(count: u64, percentile: f64) -> bool {
    // In thousandths of a percent, where the published percentiles are exact.
    let beyond = ((100.0 - percentile) * 1000.0).round() as u64;
    count.saturating_mul(beyond) >= 10 * 100_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_inclusive() {
        assert_eq!(bucket(0), 0);
        assert_eq!(bucket(256_000), 0);
        assert_eq!(bucket(256_001), 1);
        assert_eq!(bucket(16_000_000_000), 8);
        assert_eq!(bucket(16_000_000_001), 9);
        assert_eq!(bucket(u64::MAX), 9);
    }

    #[test]
    fn a_few_of_very_many_print_as_nonzero() {
        let mut counts = [0; BUCKETS];
        counts[0] = 10_000_000;
        counts[5] = 3;
        let printed = percentages(&counts).map(print);
        assert_eq!(printed[0], "100.000");
        assert_eq!(printed[5], "nonzero");
        assert_eq!(printed[1], "");
    }

    #[test]
    fn no_responses_are_no_percentages() {
        assert_eq!(percentages(&[0; BUCKETS]).map(print).concat(), "");
    }

    #[test]
    fn there_are_21_shades() {
        assert_eq!(shade(0.0), 0);
        assert_eq!(shade(2.4), 0);
        assert_eq!(shade(2.5), 1);
        assert_eq!(shade(98.361), 20);
        assert_eq!(shade(100.0), DARKEST);
    }

    #[test]
    fn ten_responses_must_lie_beyond_a_percentile() {
        for (percentile, least) in [(50.0, 20), (95.0, 200), (99.0, 1000), (99.9, 10_000)] {
            assert!(is_enough(least, percentile), "{percentile}");
            assert!(!is_enough(least - 1, percentile), "{percentile}");
        }
    }
}
