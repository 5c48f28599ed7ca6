//! Numbers with units, as short as their precision allows.

/// Three significant digits or two, all digits of the whole part, and at most four decimals.
pub(crate) fn significant(value: f64) -> String {
    let decimals = match value.abs() {
        0.0 => 0,
        value if value < 0.009_95 => 4,
        value if value < 0.099_5 => 3,
        value if value < 9.995 => 2,
        value if value < 99.95 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

/// A rate per second by other names: `2760 tpm, 1200 NOPM`.
pub(crate) fn by_names(names: &[(&str, f64)], per_second: f64) -> String {
    let named = |(name, factor): &(&str, f64)| format!("{:.0} {name}", per_second * factor);
    names.iter().map(named).collect::<Vec<_>>().join(", ")
}

/// A time with its unit: `12.3us`, `1.23ms`, `4.56s`.
pub(crate) fn duration(nanoseconds: u64) -> String {
    let value = nanoseconds as f64;
    let (value, unit) = match value {
        ns if ns < 999_500.0 => (ns / 1e3, "us"),
        ns if ns < 999_500_000.0 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    format!("{}{unit}", significant(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_few_significant_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.0042, "0.0042"),
            (0.0421, "0.042"),
            (0.8312, "0.83"),
            (9.996, "10.0"),
            (32.15, "32.1"),
            (1234.5, "1234"),
        ] {
            assert_eq!(significant(value), text);
        }
    }

    #[test]
    fn a_rate_has_the_names_that_others_give_it() {
        let names = [("tpm", 60.0), ("NOPM", 60.0 * 10.0 / 23.0)];
        assert_eq!(by_names(&names, 46.0), "2760 tpm, 1200 NOPM");
    }

    #[test]
    fn times_have_the_unit_that_reads_best() {
        for (nanoseconds, text) in [
            (0, "0us"),
            (12_345, "12.3us"),
            (999_499, "999us"),
            (999_500, "1.00ms"),
            (264_000_000, "264ms"),
            (999_600_000, "1.00s"),
            (46_000_000_000, "46.0s"),
        ] {
            assert_eq!(duration(nanoseconds), text);
        }
    }
}
