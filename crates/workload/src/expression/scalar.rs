//! The values of expressions.

use std::fmt;

use super::error::EvaluationError;

/// A value. It is called a scalar because `Value` is what a statement is executed with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Boolean(bool),
    Int(i64),
    Double(f64),
}

/// Significant digits of a double as text: every text of so many digits is that of one double.
const DIGITS: usize = f64::DIGITS as usize;

/// Words for truth values: a text may be a prefix of the first two, or the whole of the others.
const TRUE: ([&str; 2], &[&str]) = (["true", "yes"], &["on"]);
const FALSE: ([&str; 2], &[&str]) = (["false", "no"], &["off", "of"]);

impl Scalar {
    /// The value of a variable that was set to a text, by `-D` or from a row; none if the text has
    /// none of the forms.
    pub(crate) fn from_text(text: &str) -> Option<Scalar> {
        let begins = |word: &&str| word.get(..text.len()).is_some_and(|it| is_word(it, text));
        let is = |(prefixes, whole): ([&str; 2], &[&str])| {
            !text.is_empty()
                && (prefixes.iter().any(begins) || whole.iter().any(|word| is_word(word, text)))
        };
        let number = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
        let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
        match () {
            () if is_word("null", text) => Some(Scalar::Null),
            () if is(TRUE) => Some(Scalar::Boolean(true)),
            () if is(FALSE) => Some(Scalar::Boolean(false)),
            () if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                number.parse().ok().map(Scalar::Int)
            }
            () => number.parse().ok().map(Scalar::Double),
        }
    }

    /// The name of its type in messages.
    pub(crate) fn type_name(self) -> &'static str {
        match self {
            Scalar::Null => "null",
            Scalar::Boolean(_) => "boolean",
            Scalar::Int(_) => "int",
            Scalar::Double(_) => "double",
        }
    }

    /// As a condition: numbers other than zero are true, and NULL is not.
    pub(crate) fn is_true(self) -> bool {
        match self {
            Scalar::Null => false,
            Scalar::Boolean(value) => value,
            Scalar::Int(value) => value != 0,
            Scalar::Double(value) => value != 0.0,
        }
    }

    pub(super) fn boolean(self) -> Result<bool, EvaluationError> {
        match self {
            Scalar::Boolean(value) => Ok(value),
            other => Err(other.is_no("boolean")),
        }
    }

    /// An integer; a double is rounded, halves to the even one.
    pub(crate) fn int(self) -> Result<i64, EvaluationError> {
        // The limits of 64 bits are powers of two, which a double represents exactly.
        const LIMIT: f64 = -(i64::MIN as f64);
        match self {
            Scalar::Int(value) => Ok(value),
            Scalar::Double(value) => match value.round_ties_even() {
                rounded if (-LIMIT..LIMIT).contains(&rounded) => Ok(rounded as i64),
                rounded => Err(EvaluationError(format!("double to int overflow for {rounded:.6}"))),
            },
            other => Err(other.is_no("int")),
        }
    }

    pub(super) fn double(self) -> Result<f64, EvaluationError> {
        match self {
            Scalar::Double(value) => Ok(value),
            Scalar::Int(value) => Ok(value as f64),
            other => Err(other.is_no("double")),
        }
    }

    fn is_no(self, wanted: &str) -> EvaluationError {
        EvaluationError(format!("cannot coerce {} to {wanted}", self.type_name()))
    }
}

fn is_word(word: &str, text: &str) -> bool {
    word.eq_ignore_ascii_case(text)
}

/// As a statement gets it, and as a variable keeps it.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Null => f.write_str("NULL"),
            Scalar::Boolean(value) => write!(f, "{value}"),
            Scalar::Int(value) => write!(f, "{value}"),
            Scalar::Double(value) => f.write_str(&shortened(*value)),
        }
    }
}

/// The form `%g` of C with [`DIGITS`]: trailing zeros are left out, and very large and small
/// numbers have exponents.
fn shortened(value: f64) -> String {
    if !value.is_finite() {
        // The words of PostgreSQL's own printf.
        return value.to_string().replace("inf", "Infinity");
    }
    let scientific = format!("{value:.*e}", DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let without_zeros = |number: &str| match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => number.to_string(),
    };
    match exponent {
        -4..15 => {
            let decimals = (DIGITS as i32 - 1 - exponent).max(0) as usize;
            without_zeros(&format!("{value:.decimals$}"))
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_value_that_pgbench_gives_it() {
        for (text, value) in [
            ("null", Some(Scalar::Null)),
            ("NULL", Some(Scalar::Null)),
            ("nul", None),
            ("t", Some(Scalar::Boolean(true))),
            ("Tr", Some(Scalar::Boolean(true))),
            ("yes", Some(Scalar::Boolean(true))),
            ("on", Some(Scalar::Boolean(true))),
            ("o", None),
            ("n", Some(Scalar::Boolean(false))),
            ("of", Some(Scalar::Boolean(false))),
            ("FALSE", Some(Scalar::Boolean(false))),
            ("trueish", None),
            ("", None),
            ("0", Some(Scalar::Int(0))),
            ("+3", Some(Scalar::Int(3))),
            ("  -9223372036854775808", Some(Scalar::Int(i64::MIN))),
            ("9223372036854775808", None),
            ("1 ", None),
            ("-10.1", Some(Scalar::Double(-10.1))),
            ("1e3", Some(Scalar::Double(1000.0))),
            ("bla", None),
            ("-", None),
        ] {
            assert_eq!(Scalar::from_text(text), value, "'{text}'");
        }
    }

    #[test]
    fn a_double_is_written_with_fifteen_digits_at_most() {
        for (value, text) in [
            (15.0, "15"),
            (-0.125, "-0.125"),
            (-0.00032, "-0.00032"),
            (0.00001, "1e-05"),
            (1e30, "1e+30"),
            (8.507059173023462e37, "8.50705917302346e+37"),
            (0.1 + 0.2, "0.3"),
            (123_456_789_012_345.0, "123456789012345"),
            (1_234_567_890_123_456.0, "1.23456789012346e+15"),
            (999_999_999_999_999.9, "1e+15"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
            (0.0, "0"),
        ] {
            assert_eq!(Scalar::Double(value).to_string(), text);
        }
    }
}
