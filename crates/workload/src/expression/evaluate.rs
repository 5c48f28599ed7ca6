//! From an expression to its value.

use super::random::Draws;
use super::{Expression, Scalar};

/// Arguments that a function takes at most.
const MOST_ARGUMENTS: usize = 16;

/// What an expression is evaluated in.
pub(crate) trait EvaluationScope {
    /// The value of a variable; an error if there is none, or its text is none.
    fn variable(&self, name: &str) -> Result<Scalar, EvaluationError>;

    /// The stream that random functions draw from.
    fn draws(&mut self) -> &mut Draws;

    /// The function `debug` was called with this value.
    fn debug(&mut self, value: Scalar);
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EvaluationError(pub(crate) String);

impl Expression {
    pub(crate) fn evaluate(
        &self,
        scope: &mut dyn EvaluationScope,
    ) -> Result<Scalar, EvaluationError> {
        match self {
            Expression::Constant(value) => Ok(*value),
            Expression::Variable(name) => scope.variable(name),
            Expression::Call(function, arguments) => {
                let mut values = [Scalar::Null; MOST_ARGUMENTS];
                let Some(values) = values.get_mut(..arguments.len()) else {
                    return Err(EvaluationError(format!(
                        "too many function arguments, maximum is {MOST_ARGUMENTS}"
                    )));
                };
                for (value, argument) in values.iter_mut().zip(arguments) {
                    *value = argument.evaluate(scope)?;
                }
                match !function.takes_null && values.contains(&Scalar::Null) {
                    true => Ok(Scalar::Null),
                    false => (function.evaluate)(scope, values),
                }
            }
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

/// The second side is not evaluated if the first is NULL or decides alone.
fn lazy(
    [left, right]: &[Expression; 2],
    decides: bool,
    scope: &mut dyn EvaluationScope,
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
