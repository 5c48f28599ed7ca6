//! From an expression to its value.

use super::error::EvaluationError;
use super::function::{Function, FunctionScope};
use super::scalar::Scalar;
use super::tree::Expression;

/// Arguments that a function takes at most.
const MOST_ARGUMENTS: usize = 16;
/// Arguments that nearly all calls do with: room for more costs time.
const USUAL_ARGUMENTS: usize = 3;

/// What an expression is evaluated in.
pub(crate) trait EvaluationScope<V>: FunctionScope {
    /// The value of a variable; an error if there is none, or its text is none.
    fn variable(&self, variable: &V) -> Result<Scalar, EvaluationError>;
}

impl<V> Expression<V> {
    pub(crate) fn evaluate<S: EvaluationScope<V>>(
        &self,
        scope: &mut S,
    ) -> Result<Scalar, EvaluationError> {
        match self {
            Expression::Constant(value) => Ok(*value),
            Expression::Variable(variable) => scope.variable(variable),
            Expression::Call(function, arguments) => match arguments.len() {
                count if count <= USUAL_ARGUMENTS => {
                    called::<USUAL_ARGUMENTS, _, _>(function, arguments, scope)
                }
                count if count <= MOST_ARGUMENTS => {
                    called::<MOST_ARGUMENTS, _, _>(function, arguments, scope)
                }
                _ => Err(EvaluationError(format!(
                    "too many function arguments, maximum is {MOST_ARGUMENTS}"
                ))),
            },
            Expression::And(sides) => lazy(sides, false, scope),
            Expression::Or(sides) => lazy(sides, true, scope),
            Expression::Case(branches, otherwise) => {
                for (condition, result) in branches {
                    if condition.evaluate(scope)?.is_true() {
                        return result.evaluate(scope);
                    }
                }
                otherwise.evaluate(scope)
            }
        }
    }
}

/// The result of a call of `N` arguments at most.
#[inline]
fn called<const N: usize, V, S: EvaluationScope<V>>(
    function: &Function,
    arguments: &[Expression<V>],
    scope: &mut S,
) -> Result<Scalar, EvaluationError> {
    let mut values = [Scalar::Null; N];
    let mut has_null = false;
    for (value, argument) in values.iter_mut().zip(arguments) {
        *value = argument.evaluate(scope)?;
        has_null |= matches!(value, Scalar::Null);
    }
    match has_null && !function.takes_null {
        true => Ok(Scalar::Null),
        false => (function.evaluate)(scope, &values[..arguments.len()]),
    }
}

/// The second side is not evaluated if the first is NULL or decides alone.
fn lazy<V, S: EvaluationScope<V>>(
    [left, right]: &[Expression<V>; 2],
    decides: bool,
    scope: &mut S,
) -> Result<Scalar, EvaluationError> {
    match left.evaluate(scope)? {
        Scalar::Null => Ok(Scalar::Null),
        left if left.boolean()? == decides => Ok(Scalar::Boolean(decides)),
        _ => match right.evaluate(scope)? {
            Scalar::Null => Ok(Scalar::Null),
            right => right.boolean().map(Scalar::Boolean),
        },
    }
}
