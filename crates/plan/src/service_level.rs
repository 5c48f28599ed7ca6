//! A promise about response times, such as `p99=5ms`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::quantity::Span;

/// Rates that are tried are each this much larger than the one before.
pub const RATE_STEP: f64 = 1.03;

/// So many percent of the operations end within the limit, from when they were due.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ServiceLevel {
    pub percentile: f64,
    pub limit: Span,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{0}' is not a service level: {1}. Write a percentile and a time, as in p99=5ms")]
pub struct ServiceLevelError(String, &'static str);

impl FromStr for ServiceLevel {
    type Err = ServiceLevelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = |why| ServiceLevelError(text.to_string(), why);
        let (percentile, limit) = text.split_once(['=', '<']).ok_or(wrong("it has no ="))?;
        let percentile = percentile.strip_prefix('p').ok_or(wrong("it does not begin with p"))?;
        let percentile: f64 =
            percentile.parse().map_err(|_| wrong("the percentile is no number"))?;
        // Not a number is in no range.
        if !(50.0..=99.99).contains(&percentile) {
            return Err(wrong("the percentile must be between 50 and 99.99"));
        }
        let limit: Span = limit.parse().map_err(|_| wrong("the limit is no time"))?;
        if limit.0 < Duration::from_micros(100) {
            return Err(wrong("the limit is shorter than a tenth of a millisecond"));
        }
        Ok(ServiceLevel { percentile, limit })
    }
}

impl TryFrom<String> for ServiceLevel {
    type Error = ServiceLevelError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<ServiceLevel> for String {
    fn from(level: ServiceLevel) -> String {
        level.to_string()
    }
}

impl fmt::Display for ServiceLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}={}", self.percentile, self.limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_level_is_read_as_it_is_written() {
        for text in ["p99=5ms", "p99.9=20ms", "p50=1s"] {
            let level: ServiceLevel = text.parse().unwrap();
            assert_eq!(level.to_string(), text);
        }
        let level: ServiceLevel = "p99<5ms".parse().unwrap();
        assert_eq!((level.percentile, level.limit.0), (99.0, Duration::from_millis(5)));
    }

    #[test]
    fn nonsense_is_refused_with_what_is_wrong_with_it() {
        for (text, why) in [
            ("5ms", "no ="),
            ("99=5ms", "does not begin with p"),
            ("pmax=5ms", "no number"),
            ("p100=5ms", "between 50 and 99.99"),
            ("p0=5ms", "between 50 and 99.99"),
            ("pnan=5ms", "between 50 and 99.99"),
            ("p99=fast", "no time"),
            ("p99=0s", "shorter than a tenth"),
        ] {
            let error = text.parse::<ServiceLevel>().unwrap_err().to_string();
            assert!(error.contains(why) && error.contains("p99=5ms"), "{text}: {error}");
        }
    }
}
