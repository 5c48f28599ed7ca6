//! The operators as functions, with their precedences.

use super::error::EvaluationError;
use super::function::{Evaluated, Function, FunctionScope};
use super::scalar::Scalar;

/// Precedences from low to high.
pub(super) mod level {
    pub(crate) const OR: u8 = 1;
    pub(crate) const AND: u8 = 2;
    pub(crate) const NOT: u8 = 3;
    pub(crate) const IS: u8 = 4;
    pub(crate) const COMPARISON: u8 = 5;
    pub(crate) const BITS: u8 = 6;
    pub(crate) const SUM: u8 = 7;
    pub(crate) const PRODUCT: u8 = 8;
    pub(crate) const SIGN: u8 = 9;
}

/// An operator between two operands.
pub(super) struct Binary {
    pub(super) symbol: &'static str,
    pub(super) level: u8,
    /// The right operand is evaluated first, and is the first argument: that matters where both
    /// draw random numbers.
    pub(super) is_swapped: bool,
    pub(super) function: Function,
}

const fn binary(
    symbol: &'static str,
    level: u8,
    evaluate: fn(&mut dyn FunctionScope, &[Scalar]) -> Evaluated,
) -> Binary {
    let function = Function { evaluate, ..Function::new(symbol, 2..=2) };
    Binary { symbol, level, is_swapped: false, function }
}

pub(super) static BINARY: [Binary; 17] = [
    binary("<=", level::COMPARISON, |_, sides| compared(sides, |l, r| l <= r, |l, r| l <= r)),
    binary("<>", level::COMPARISON, |_, sides| compared(sides, |l, r| l != r, |l, r| l != r)),
    binary("!=", level::COMPARISON, |_, sides| compared(sides, |l, r| l != r, |l, r| l != r)),
    binary("<", level::COMPARISON, |_, sides| compared(sides, |l, r| l < r, |l, r| l < r)),
    Binary {
        is_swapped: true,
        ..binary(">=", level::COMPARISON, |_, sides| compared(sides, |l, r| l <= r, |l, r| l <= r))
    },
    Binary {
        is_swapped: true,
        ..binary(">", level::COMPARISON, |_, sides| compared(sides, |l, r| l < r, |l, r| l < r))
    },
    binary("=", level::COMPARISON, |_, sides| compared(sides, |l, r| l == r, |l, r| l == r)),
    binary("|", level::BITS, |_, sides| ints(sides, |l, r| Ok(l | r))),
    binary("#", level::BITS, |_, sides| ints(sides, |l, r| Ok(l ^ r))),
    binary("&", level::BITS, |_, sides| ints(sides, |l, r| Ok(l & r))),
    binary("<<", level::BITS, |_, sides| ints(sides, |l, r| Ok(l << distance(r)?))),
    binary(">>", level::BITS, |_, sides| ints(sides, |l, r| Ok(l >> distance(r)?))),
    binary("+", level::SUM, |_, sides| computed(sides, "add", i64::checked_add, |l, r| l + r)),
    binary("-", level::SUM, |_, sides| computed(sides, "sub", i64::checked_sub, |l, r| l - r)),
    binary("*", level::PRODUCT, |_, sides| computed(sides, "mul", i64::checked_mul, |l, r| l * r)),
    binary("/", level::PRODUCT, |_, sides| match sides {
        [_, Scalar::Int(0)] if !has_double(sides) => Err(division_by_zero()),
        _ => computed(sides, "div", i64::checked_div, |l, r| l / r),
    }),
    binary("%", level::PRODUCT, |_, sides| remainder(sides)),
];

pub(super) static NOT: Function = Function {
    evaluate: |_, values| values[0].boolean().map(|value| Scalar::Boolean(!value)),
    ..Function::new("NOT", 1..=1)
};

/// Whether the first is the second, a truth value or NULL.
pub(super) static IS: Function = Function {
    takes_null: true,
    evaluate: |_, values| Ok(Scalar::Boolean(values[0] == values[1])),
    ..Function::new("IS", 2..=2)
};

/// A binary operator by its symbol.
pub(super) fn find(symbol: &str) -> Option<&'static Binary> {
    BINARY.iter().find(|operator| operator.symbol == symbol)
}

fn has_double(sides: &[Scalar]) -> bool {
    sides.iter().any(|side| matches!(side, Scalar::Double(_)))
}

fn division_by_zero() -> EvaluationError {
    EvaluationError("division by zero".to_string())
}

/// The remainder of integers, also for the function `mod`; doubles are rounded.
pub(super) fn remainder(sides: &[Scalar]) -> Evaluated {
    // The remainder of a division by -1 is 0, also where the quotient overflows.
    let divided =
        |l: i64, r: i64| if r == 0 { Err(division_by_zero()) } else { Ok(l.wrapping_rem(r)) };
    ints(sides, divided)
}

/// Of doubles if one side is a double.
fn compared(
    sides: &[Scalar],
    ints: fn(&i64, &i64) -> bool,
    doubles: fn(&f64, &f64) -> bool,
) -> Evaluated {
    let result = match has_double(sides) {
        true => doubles(&sides[0].double()?, &sides[1].double()?),
        false => ints(&sides[0].int()?, &sides[1].int()?),
    };
    Ok(Scalar::Boolean(result))
}

fn computed(
    sides: &[Scalar],
    name: &str,
    ints: fn(i64, i64) -> Option<i64>,
    doubles: fn(f64, f64) -> f64,
) -> Evaluated {
    if has_double(sides) {
        return Ok(Scalar::Double(doubles(sides[0].double()?, sides[1].double()?)));
    }
    let result = ints(sides[0].int()?, sides[1].int()?);
    result.map(Scalar::Int).ok_or_else(|| EvaluationError(format!("bigint {name} out of range")))
}

fn ints(sides: &[Scalar], compute: impl Fn(i64, i64) -> Result<i64, EvaluationError>) -> Evaluated {
    compute(sides[0].int()?, sides[1].int()?).map(Scalar::Int)
}

/// Bits to shift by. pgbench leaves others to the compiler.
fn distance(bits: i64) -> Result<u32, EvaluationError> {
    let distance = u32::try_from(bits).ok().filter(|distance| *distance < i64::BITS);
    distance.ok_or_else(|| EvaluationError(format!("cannot shift by {bits} bits, only by 0 to 63")))
}
