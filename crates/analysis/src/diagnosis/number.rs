//! The numbers that a finding rests on; its statement has the same in words.

use super::evidence::ValueRange;

/// A number with its 95 % interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Number {
    /// The test that it belongs to; none for a number of all tests of the finding.
    pub test: Option<String>,
    /// In the words of the statement; a counter or a function by its own name.
    pub what: String,
    /// `ratio` is the contender's value over the baseline's, per operation; `us` is microseconds
    /// per operation, contender minus baseline; any other unit is that of the measurement.
    pub unit: &'static str,
    pub value: f64,
    /// From low to high; none with too few rounds, and for numbers without an interval.
    pub interval: Option<(f64, f64)>,
}

impl Number {
    /// From the logarithm of contender over baseline.
    pub(super) fn ratio(what: &str, log: &ValueRange) -> Number {
        let interval = log.ends().map(|(low, high)| (low.exp(), high.exp()));
        Number { interval, ..Number::plain(what, "ratio", log.value.exp()) }
    }

    /// Contender minus baseline.
    pub(super) fn micros(what: &str, change: &ValueRange) -> Number {
        Number { interval: change.ends(), ..Number::plain(what, "us", change.value) }
    }

    /// The same number of a test.
    pub(super) fn of(self, test: &str) -> Number {
        Number { test: Some(test.to_string()), ..self }
    }

    /// Without an interval.
    pub(super) fn plain(what: &str, unit: &'static str, value: f64) -> Number {
        Number { test: None, what: what.to_string(), unit, value, interval: None }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cost, Decided, Evidence, Part, explain, explain_suite};
    use super::*;

    /// An operation takes 10 us longer, 8 of them user CPU.
    fn longer(test: &str) -> Evidence {
        let cost = |value: f64| {
            let change = ValueRange::new(value, value - 1.0, value + 1.0);
            Cost { base: 50.0, contender: 50.0 + value, change }
        };
        Evidence {
            test: test.to_string(),
            verdict: Decided::Regression,
            time: cost(10.0),
            parts: [(Part::ServerUser, cost(8.0))].into(),
            ..Evidence::new(rqps_plan::Class::Point)
        }
    }

    #[test]
    fn a_finding_has_the_numbers_of_its_statement() {
        let findings = explain(&longer("scan"));
        let statement = &findings[0].statement;
        assert!(statement.contains("+8.0 us (95 % interval +7.0 to +9.0)"), "{statement}");
        let number = Number {
            test: Some("scan".to_string()),
            what: "user CPU".to_string(),
            unit: "us",
            value: 8.0,
            interval: Some((7.0, 9.0)),
        };
        assert_eq!(findings[0].numbers, [number]);
    }

    #[test]
    fn a_finding_about_several_tests_has_the_numbers_of_each() {
        let tests = ["point-query", "hot-points", "random-points"];
        let findings = explain_suite(&tests.map(longer));
        let of: Vec<_> = findings[0].numbers.iter().map(|one| one.test.as_deref()).collect();
        assert_eq!(of, tests.map(Some));
    }

    #[test]
    fn without_rounds_enough_there_is_a_number_and_no_interval() {
        let log = ValueRange::new(2.0_f64.ln(), f64::NEG_INFINITY, f64::INFINITY);
        let number = Number::ratio("reads", &log);
        assert_eq!((number.unit, number.interval), ("ratio", None));
        assert!((number.value - 2.0).abs() < 1e-9);
    }
}
