//! What can be called in an expression.

use std::ops::RangeInclusive;

use super::error::EvaluationError;
use super::random::Draws;
use super::scalar::Scalar;

pub(super) type Evaluated = Result<Scalar, EvaluationError>;

/// A function or an operator.
#[derive(Debug)]
pub(crate) struct Function {
    pub(super) name: &'static str,
    /// How many arguments it takes.
    pub(super) arguments: RangeInclusive<usize>,
    /// Its last argument is the variable `default_seed` if it is left out.
    pub(super) is_seeded: bool,
    /// It is called with NULL, too; of the others the result is NULL then.
    pub(super) takes_null: bool,
    pub(super) evaluate: fn(&mut dyn FunctionScope, &[Scalar]) -> Evaluated,
}

impl Function {
    pub(super) const fn new(name: &'static str, arguments: RangeInclusive<usize>) -> Function {
        Function {
            name,
            arguments,
            is_seeded: false,
            takes_null: false,
            evaluate: |_, values| Ok(values[0]),
        }
    }
}

/// What functions work with.
pub(crate) trait FunctionScope {
    /// The stream that random functions draw from.
    fn draws(&mut self) -> &mut Draws;

    /// The function `debug` was called with this value.
    fn debug(&mut self, value: Scalar);
}
