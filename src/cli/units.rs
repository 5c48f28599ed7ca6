//! Bytes and times as people write them.

use std::fmt;
use std::time::Duration;

/// `1.50 GiB`
pub(crate) struct Bytes(pub(crate) u64);

/// `3 minutes`, in the largest unit of which it has at least one and a half, since a forecast is
/// not accurate to the second.
pub(crate) struct Roughly(pub(crate) Duration);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["KiB", "MiB", "GiB", "TiB", "PiB"];
        let (mut size, mut unit) = (self.0 as f64, None);
        let mut larger = UNITS.into_iter();
        while size >= 1024.0
            && let Some(next) = larger.next()
        {
            (size, unit) = (size / 1024.0, Some(next));
        }
        match unit {
            None => write!(f, "{} B", self.0),
            Some(unit) => write!(f, "{size:.2} {unit}"),
        }
    }
}

impl fmt::Display for Roughly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(&str, f64); 3] = [("day", 86_400.0), ("hour", 3_600.0), ("minute", 60.0)];
        let seconds = self.0.as_secs_f64().round();
        let unit = UNITS.into_iter().find(|(_, unit)| seconds >= 1.5 * unit);
        let (name, size) = unit.unwrap_or(("second", 1.0));
        let number = (seconds / size).round();
        write!(f, "{number} {name}{}", if number == 1.0 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_they_fill() {
        let said = [0, 1023, 1024, 1_500_000, 3 << 30, u64::MAX].map(|it| Bytes(it).to_string());
        assert_eq!(said, ["0 B", "1023 B", "1.00 KiB", "1.43 MiB", "3.00 GiB", "16384.00 PiB"]);
    }

    #[test]
    fn times_have_a_unit_of_which_they_are_some() {
        let said = [0, 1, 89, 90, 150, 5_399, 5_400, 86_400, 200_000];
        let said = said.map(|seconds| Roughly(Duration::from_secs(seconds)).to_string());
        let expected = [
            "0 seconds",
            "1 second",
            "89 seconds",
            "2 minutes",
            "3 minutes",
            "90 minutes",
            "2 hours",
            "24 hours",
            "2 days",
        ];
        assert_eq!(said, expected);
    }
}
