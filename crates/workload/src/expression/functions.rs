//! The functions by name.

use std::f64::consts::PI;
use std::ops::RangeInclusive;

use super::error::EvaluationError;
use super::function::{Evaluated, Function, FunctionScope};
use super::operators::remainder;
use super::random::{fnv1a, murmur2, permuted};
use super::scalar::Scalar;

const fn function(
    name: &'static str,
    arguments: RangeInclusive<usize>,
    evaluate: fn(&mut dyn FunctionScope, &[Scalar]) -> Evaluated,
) -> Function {
    Function { evaluate, ..Function::new(name, arguments) }
}

const fn seeded(
    name: &'static str,
    arguments: RangeInclusive<usize>,
    evaluate: fn(&mut dyn FunctionScope, &[Scalar]) -> Evaluated,
) -> Function {
    Function { is_seeded: true, ..function(name, arguments, evaluate) }
}

/// Parameters of the distributions.
const LEAST_GAUSSIAN: f64 = 2.0;
const ZIPFIAN: RangeInclusive<f64> = 1.001..=1000.0;

static FUNCTIONS: [Function; 21] = [
    function("abs", 1..=1, |_, values| match values[0] {
        Scalar::Double(value) => Ok(Scalar::Double(value.abs())),
        value => match value.int()?.checked_abs() {
            Some(value) => Ok(Scalar::Int(value)),
            None => Err(EvaluationError("bigint abs out of range".to_string())),
        },
    }),
    function("least", 1..=usize::MAX, |_, values| extreme(values, i64::min, f64::min)),
    function("greatest", 1..=usize::MAX, |_, values| extreme(values, i64::max, f64::max)),
    Function {
        takes_null: true,
        ..function("debug", 1..=1, |scope, values| {
            scope.debug(values[0]);
            Ok(values[0])
        })
    },
    function("pi", 0..=0, |_, _| Ok(Scalar::Double(PI))),
    function("sqrt", 1..=1, |_, values| double(values, f64::sqrt)),
    function("ln", 1..=1, |_, values| double(values, f64::ln)),
    function("exp", 1..=1, |_, values| double(values, f64::exp)),
    function("int", 1..=1, |_, values| values[0].int().map(Scalar::Int)),
    function("double", 1..=1, |_, values| double(values, |value| value)),
    function("mod", 2..=2, |_, values| remainder(values)),
    function("pow", 2..=2, |_, values| power(values)),
    function("power", 2..=2, |_, values| power(values)),
    function("random", 2..=2, |scope, values| {
        let (low, high) = range(values)?;
        Ok(Scalar::Int(scope.draws().uniform(low, high)))
    }),
    function("random_gaussian", 3..=3, |scope, values| {
        let ((low, high), parameter) = (range(values)?, values[2].double()?);
        match parameter >= LEAST_GAUSSIAN {
            true => Ok(Scalar::Int(scope.draws().gaussian(low, high, parameter))),
            false => Err(EvaluationError(format!(
                "gaussian parameter must be at least {LEAST_GAUSSIAN:.6} (not {parameter:.6})"
            ))),
        }
    }),
    function("random_exponential", 3..=3, |scope, values| {
        let ((low, high), parameter) = (range(values)?, values[2].double()?);
        match parameter > 0.0 {
            true => Ok(Scalar::Int(scope.draws().exponential(low, high, parameter))),
            false => Err(EvaluationError(format!(
                "exponential parameter must be greater than zero (not {parameter:.6})"
            ))),
        }
    }),
    function("random_zipfian", 3..=3, |scope, values| {
        let ((low, high), parameter) = (range(values)?, values[2].double()?);
        match ZIPFIAN.contains(&parameter) {
            true => Ok(Scalar::Int(scope.draws().zipfian(low, high, parameter))),
            false => Err(EvaluationError(format!(
                "zipfian parameter must be in range [{:.3}, {}] (not {parameter:.6})",
                ZIPFIAN.start(),
                ZIPFIAN.end()
            ))),
        }
    }),
    seeded("hash", 1..=2, |_, values| hash(values, murmur2)),
    seeded("hash_murmur2", 1..=2, |_, values| hash(values, murmur2)),
    seeded("hash_fnv1a", 1..=2, |_, values| hash(values, fnv1a)),
    seeded("permute", 2..=3, |_, values| {
        let (value, size, seed) = (values[0].int()?, values[1].int()?, values[2].int()?);
        match size > 0 {
            true => Ok(Scalar::Int(permuted(value, size, seed))),
            false => {
                Err(EvaluationError("permute size parameter must be greater than zero".to_string()))
            }
        }
    }),
];

/// A function by its name, in any case.
pub(super) fn find(name: &str) -> Option<&'static Function> {
    FUNCTIONS.iter().find(|function| function.name.eq_ignore_ascii_case(name))
}

pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|function| function.name)
}

fn double(values: &[Scalar], compute: fn(f64) -> f64) -> Evaluated {
    values[0].double().map(|value| Scalar::Double(compute(value)))
}

fn power(values: &[Scalar]) -> Evaluated {
    Ok(Scalar::Double(values[0].double()?.powf(values[1].double()?)))
}

fn hash(values: &[Scalar], compute: fn(i64, i64) -> i64) -> Evaluated {
    Ok(Scalar::Int(compute(values[0].int()?, values[1].int()?)))
}

/// A double if one of the values is.
fn extreme(
    values: &[Scalar],
    ints: fn(i64, i64) -> i64,
    doubles: fn(f64, f64) -> f64,
) -> Evaluated {
    if values.iter().any(|value| matches!(value, Scalar::Double(_))) {
        let first = values[0].double()?;
        let result =
            values[1..].iter().try_fold(first, |it, value| Ok(doubles(it, value.double()?)));
        return result.map(Scalar::Double);
    }
    let first = values[0].int()?;
    let result = values[1..].iter().try_fold(first, |it, value| Ok(ints(it, value.int()?)));
    result.map(Scalar::Int)
}

/// The first two arguments as the ends of a range that can be drawn from.
fn range(values: &[Scalar]) -> Result<(i64, i64), EvaluationError> {
    let (low, high) = (values[0].int()?, values[1].int()?);
    if low > high {
        return Err(EvaluationError("empty range given to random".to_string()));
    }
    match high.checked_sub(low).and_then(|span| span.checked_add(1)) {
        Some(_) => Ok((low, high)),
        None => Err(EvaluationError("random range is too large".to_string())),
    }
}
