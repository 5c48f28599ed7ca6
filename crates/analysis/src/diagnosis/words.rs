//! Numbers as they are printed in statements.

use super::evidence::{Change, ValueRange};
use rqps_stats::Interval;
use rqps_stats::digits::{Digits, decimals};

/// The logarithm of a ratio as a change in percent, `-2.9 %`, or from twofold on as a factor.
pub(super) fn change(log: f64) -> String {
    match log.exp() {
        factor if is_factor(factor) => format!("a factor of {factor:.2}"),
        ratio => format!("{:+.1} %", 100.0 * (ratio - 1.0)),
    }
}

/// With its interval.
pub(super) fn interval(of: &Change) -> String {
    let ValueRange { value, low, high } = of.log;
    let digits = Digits::of(Interval { low, high });
    let (word, number): (_, fn(Digits, f64) -> String) = match is_factor(value.exp()) {
        true => ("a factor of ", Digits::ratio),
        false => ("", Digits::percent),
    };
    let [value, low, high] = [value, low, high].map(|log| number(digits, log));
    format!("{word}{value} (95 % interval {low} to {high})")
}

fn is_factor(ratio: f64) -> bool {
    !(0.5..2.0).contains(&ratio)
}

/// Microseconds with their sign.
pub(super) fn micros(micros: f64) -> String {
    match micros.abs() {
        size if size >= 100.0 => format!("{micros:+.0} us"),
        size if size >= 0.095 => format!("{micros:+.1} us"),
        _ => format!("{micros:+.3} us"),
    }
}

/// Microseconds with their interval.
pub(super) fn micros_interval(estimate: &ValueRange) -> String {
    let ValueRange { value, low, high } = *estimate;
    let decimals = decimals((high - low) / 2.0, 0..=4);
    format!("{value:+.decimals$} us (95 % interval {low:+.decimals$} to {high:+.decimals$})")
}

/// A part of a change, of which there is no more than all. Parts whose costs are measured apart
/// from the rate can add up to more.
pub(super) fn share(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 99.5 => "all".to_string(),
        percent => format!("{percent:.0} %"),
    }
}

/// `+1,240`.
pub fn signed(count: f64) -> String {
    let sign = if count < 0.0 { "-" } else { "+" };
    format!("{sign}{}", grouped(count.abs()))
}

/// `1234567.8` as `1,234,568`; not for negative numbers.
pub fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::signed;

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0.4, -7.0, 999.6, 1240.0, -1234567.0].map(signed),
            ["+0", "-7", "+1,000", "+1,240", "-1,234,567"]
        );
    }
}
