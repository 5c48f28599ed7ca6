//! Numbers for people.

use std::time::Duration;

/// `1234567.8` as `1.23M`: three digits.
pub(super) fn short(number: f64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "K"), (1.0, "")];
    // Rounding may reach the next larger unit.
    let rounded = |unit: f64| number >= 0.9995 * unit;
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| rounded(*unit)).unwrap_or((1.0, ""));
    format!("{}{name}", three_digits(number / unit))
}

/// `0.0001234` seconds as `123 µs`.
pub(super) fn seconds(number: f64) -> String {
    const UNITS: [(f64, &str); 3] = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let (unit, name) =
        UNITS.into_iter().find(|(unit, _)| number >= 0.9995 * unit).unwrap_or((1e-6, "µs"));
    format!("{} {name}", three_digits(number / unit))
}

fn three_digits(number: f64) -> String {
    match number {
        _ if number >= 99.95 => format!("{number:.0}"),
        _ if number >= 9.995 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// `1:02:03`
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    let (hours, minutes, seconds) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_enough_at_a_glance() {
        let rates = [(0.0, "0.00"), (7.0, "7.00"), (999.7, "1.00K"), (12_345.0, "12.3K")];
        for (number, text) in rates.into_iter().chain([(1_234_567.8, "1.23M")]) {
            assert_eq!(short(number), text);
        }
        for (number, text) in [(0.000_081, "81.0 µs"), (0.0123, "12.3 ms"), (2.0, "2.00 s")] {
            assert_eq!(seconds(number), text);
        }
    }

    #[test]
    fn times_are_read_at_a_glance() {
        for (seconds, text) in [(0, "0:00"), (61, "1:01"), (3_723, "1:02:03")] {
            assert_eq!(clock(Duration::from_secs(seconds)), text);
        }
    }
}
