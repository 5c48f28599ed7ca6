//! The scale factor of a workload derived from TPC-H: at 1, its tables are about 1 GB of text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A scale factor between the smallest and the largest that make sense on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct ScaleFactor(f64);

impl ScaleFactor {
    /// Below it, most queries find no row.
    const LEAST: f64 = 0.01;
    const MOST: f64 = 100.0;
    /// Bytes of the tables as text at the scale factor 1.
    const BYTES: f64 = 1.1e9;

    pub fn value(self) -> f64 {
        self.0
    }

    /// The size of its tables as text, about.
    pub fn bytes(self) -> u64 {
        (self.0 * Self::BYTES) as u64
    }
}

impl TryFrom<f64> for ScaleFactor {
    type Error = String;

    fn try_from(value: f64) -> Result<Self, String> {
        match (Self::LEAST..=Self::MOST).contains(&value) {
            true => Ok(ScaleFactor(value)),
            false => {
                let (least, most) = (Self::LEAST, Self::MOST);
                Err(format!("a scale factor must be between {least} and {most}"))
            }
        }
    }
}

impl From<ScaleFactor> for f64 {
    fn from(scale: ScaleFactor) -> f64 {
        scale.0
    }
}

impl FromStr for ScaleFactor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: f64 = text.parse().map_err(|_| {
            format!("'{text}' is not a scale factor. Write a number, as in tpch:0.1")
        })?;
        number.try_into()
    }
}

impl fmt::Display for ScaleFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_factor_is_a_number_of_some_size() {
        let read = |text: &str| text.parse::<ScaleFactor>();
        assert_eq!(read("0.10").map(|scale| scale.to_string()), Ok("0.1".to_string()));
        assert_eq!(read("10").map(|scale| scale.bytes()), Ok(11_000_000_000));
        assert!(read("big").unwrap_err().starts_with("'big' is not a scale factor. Write"));
        for text in ["0", "0.001", "101", "-1", "nan", "inf"] {
            let error = read(text).unwrap_err();
            assert_eq!(error, "a scale factor must be between 0.01 and 100", "{text}");
        }
    }
}
