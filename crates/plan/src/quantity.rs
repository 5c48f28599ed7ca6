//! Counts and durations as people write them: `100K`, `10M`, `5s`, `1h30m`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A number of rows or operations, written with a decimal suffix: `K` = 1,000, `M` = 1,000,000,
/// `G` = 1,000,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Count(pub u64);

/// Bytes of memory, written with a binary suffix: `K` = 1,024, `M` = 1,024², `G` = 1,024³.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Memory(pub u64);

/// A length of time; a bare number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Span(pub Duration);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    #[error("'{0}' is not a count. Write a whole number such as 5000, 100K or 10M")]
    Count(String),
    #[error("'{0}' is not a size of memory. Write a whole number of bytes, or 512M, 2G")]
    Memory(String),
    #[error("'{0}' is not a duration. Write seconds, or 500ms, 30s, 5m, 1h30m")]
    Span(String),
}

const COUNT_UNITS: [(char, u64); 3] = [('K', 1_000), ('M', 1_000_000), ('G', 1_000_000_000)];

impl FromStr for Count {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || QuantityError::Count(text.to_string());
        let unit = text.chars().last().map(|last| last.to_ascii_uppercase());
        let (digits, factor) = match COUNT_UNITS.iter().find(|(name, _)| Some(*name) == unit) {
            Some((_, factor)) => (&text[..text.len() - 1], *factor),
            None => (text, 1),
        };
        // "1.5M" is exact in integers; floating point would not be for every input.
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) || fraction.len() > 9 {
            return Err(error());
        }
        let scale = 10u64.pow(fraction.len() as u32);
        let fraction: u64 = if fraction.is_empty() { 0 } else { fraction.parse().unwrap_or(0) };
        if !(fraction * factor).is_multiple_of(scale) {
            return Err(error());
        }
        let whole: u64 = whole.parse().map_err(|_| error())?;
        let value =
            whole.checked_mul(factor).and_then(|n| n.checked_add(fraction * factor / scale));
        value.map(Count).ok_or_else(error)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, factor) in COUNT_UNITS.iter().rev() {
            if self.0 >= *factor && self.0.is_multiple_of(*factor) {
                return write!(f, "{}{unit}", self.0 / factor);
            }
        }
        write!(f, "{}", self.0)
    }
}

const MEMORY_UNITS: [(char, u64); 3] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30)];

impl FromStr for Memory {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unit = text.chars().last().map(|last| last.to_ascii_uppercase());
        let (digits, factor) = match MEMORY_UNITS.iter().find(|(name, _)| Some(*name) == unit) {
            Some((_, factor)) => (&text[..text.len() - 1], *factor),
            None => (text, 1),
        };
        let number: Option<u64> = digits.parse().ok();
        let bytes = number.and_then(|number| number.checked_mul(factor)).map(Memory);
        bytes.ok_or_else(|| QuantityError::Memory(text.to_string()))
    }
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact =
            |(_, factor): &&(char, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
        match MEMORY_UNITS.iter().rev().find(exact) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Span {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = || QuantityError::Span(text.to_string());
        if let Ok(seconds) = text.parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).map(Span).map_err(|_| error());
        }
        let span: jiff::SignedDuration = text.parse().map_err(|_| error())?;
        Duration::try_from(span).map(Span).map_err(|_| error())
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::SignedDuration::try_from(self.0) {
            Ok(span) => write!(f, "{span:#}"),
            Err(_) => write!(f, "{}s", self.0.as_secs()),
        }
    }
}

macro_rules! text_conversions {
    ($type:ty) => {
        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.to_string()
            }
        }
        impl TryFrom<String> for $type {
            type Error = QuantityError;
            fn try_from(text: String) -> Result<Self, QuantityError> {
                text.parse()
            }
        }
    };
}
text_conversions!(Count);
text_conversions!(Memory);
text_conversions!(Span);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_take_decimal_suffixes() {
        for (text, value) in [
            ("7", 7),
            ("100K", 100_000),
            ("10m", 10_000_000),
            ("1.5M", 1_500_000),
            ("2G", 2_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(Count(value)), "{text}");
        }
        for text in ["", "K", "-1", "1.0005K", "1e3", "10 K", "99999999999G", "1.5"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }

    #[test]
    fn counts_print_the_shortest_exact_form() {
        for text in ["7", "1500", "100K", "1M", "0"] {
            assert_eq!(text.parse::<Count>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn memory_takes_binary_suffixes_and_prints_them() {
        for (text, bytes) in [("7", 7), ("300M", 300 << 20), ("2G", 2 << 30), ("1025", 1025)] {
            assert_eq!(text.parse(), Ok(Memory(bytes)), "{text}");
            assert_eq!(Memory(bytes).to_string(), text);
        }
        for text in ["", "M", "-1", "1.5G", "2GB", "99999999999G"] {
            assert!(text.parse::<Memory>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_take_units_and_bare_seconds() {
        for (text, millis) in [
            ("5", 5_000),
            ("0.5", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("500ms", 500),
            ("1h30m", 5_400_000),
        ] {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(millis))), "{text}");
        }
        for text in ["", "-5", "5 parsecs", "nan", "inf"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
    }

    #[test]
    fn durations_print_what_they_parse() {
        for text in ["0s", "5s", "1m 30s", "500ms"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse(), Ok(span));
        }
    }
}
