//! Quantiles and tails of the distributions that the estimators need, from `statrs`, and the
//! trigamma function, which it lacks.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Degrees of freedom beyond which Student's t is the normal distribution to nine digits.
const MANY: f64 = 1e9;

/// The quantile of Student's t with `degrees` of freedom (infinite: normal) at `probability`.
/// NaN where there are no degrees of freedom. By bisection: the inverse that `statrs` has does not
/// end for some degrees that are no whole number.
pub(crate) fn t_quantile(probability: f64, degrees: f64) -> f64 {
    if degrees >= MANY {
        return Normal::standard().inverse_cdf(probability);
    }
    let Ok(t) = StudentsT::new(0.0, 1.0, degrees) else { return f64::NAN };
    if probability < 0.5 {
        return -t_quantile(1.0 - probability, degrees);
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while t.cdf(high) < probability {
        (low, high) = (high, 2.0 * high);
    }
    while high - low > 1e-14 * high {
        let middle = (low + high) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        match t.cdf(middle) < probability {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// The probability of a value at least as far from zero as `t`, on either side.
pub(crate) fn t_two_sided(t: f64, degrees: f64) -> f64 {
    if t.is_nan() {
        return f64::NAN;
    }
    let below = if degrees >= MANY {
        Normal::standard().cdf(-t.abs())
    } else {
        StudentsT::new(0.0, 1.0, degrees).map_or(f64::NAN, |student| student.cdf(-t.abs()))
    };
    2.0 * below
}

/// The derivative of the digamma function, for x > 0: recurrence up to 12, then the asymptotic
/// series (Abramowitz and Stegun 6.4.6 and 6.4.12).
pub(crate) fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 1.0 / 6.0 - square * (1.0 / 30.0 - square * (1.0 / 42.0 - square / 30.0));
    sum + 1.0 / x + square / 2.0 + square / x * series
}

/// The x > 0 whose trigamma is `value`, by Newton's method on its reciprocal, which is nearly a
/// line (Smyth 2004, appendix).
pub(crate) fn trigamma_inverse(value: f64) -> f64 {
    const STEPS: usize = 50;
    let mut x = 0.5 + 1.0 / value;
    for _ in 0..STEPS {
        let at = trigamma(x);
        let step = at * (1.0 - at / value) / tetragamma(x);
        x += step;
        if -step / x < 1e-12 {
            break;
        }
    }
    x
}

/// The derivative of trigamma, as [`trigamma`] is computed (Abramowitz and Stegun 6.4.13).
fn tetragamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 12.0 {
        sum -= 2.0 / (x * x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = 0.5 - square * (1.0 / 6.0 - square * (1.0 / 6.0 - square * 0.3));
    sum - square - square / x - square * square * series
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn quantiles_of_t_are_those_of_the_printed_tables() {
        // Any printed table of Student's t, two-sided 5 %.
        for (degrees, printed) in [(1.0, 12.706), (4.0, 2.776), (7.0, 2.365), (30.0, 2.042)] {
            assert!((t_quantile(0.975, degrees) - printed).abs() < 5e-4, "{degrees}");
            assert!((t_two_sided(printed, degrees) - 0.05).abs() < 5e-5, "{degrees}");
        }
        assert!((t_quantile(0.975, f64::INFINITY) - 1.959_964).abs() < 1e-6);
        assert!((t_two_sided(1.959_964, f64::INFINITY) - 0.05).abs() < 1e-6);
        assert!(t_quantile(0.975, 0.0).is_nan());
    }

    #[test]
    fn trigamma_has_its_known_values() {
        for (x, value) in [
            (1.0, PI * PI / 6.0),
            (0.5, PI * PI / 2.0),
            (2.0, PI * PI / 6.0 - 1.0),
            (0.25, PI * PI + 8.0 * 0.915_965_594_177_219),
        ] {
            assert!((trigamma(x) - value).abs() < 1e-11, "{x}");
        }
    }

    #[test]
    fn the_inverse_of_trigamma_undoes_it() {
        for x in [0.05, 0.5, 1.0, 3.5, 20.0, 500.0] {
            assert!((trigamma_inverse(trigamma(x)) / x - 1.0).abs() < 1e-9, "{x}");
        }
    }
}
