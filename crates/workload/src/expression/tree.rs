//! An expression as a tree.

use super::function::Function;
use super::scalar::Scalar;

/// An expression that has been parsed. Its variables have names, or what finds them faster.
#[derive(Clone, Debug)]
pub(crate) enum Expression<V = String> {
    Constant(Scalar),
    Variable(V),
    /// Of a function or operator; all arguments are evaluated, in this order.
    Call(&'static Function, Vec<Expression<V>>),
    And(Box<[Expression<V>; 2]>),
    Or(Box<[Expression<V>; 2]>),
    /// Conditions with their results, and the result where none is true.
    Case(Vec<(Expression<V>, Expression<V>)>, Box<Expression<V>>),
}

impl Expression {
    /// The names of the variables, in the order of the text.
    pub(crate) fn variables(&self) -> Vec<&str> {
        match self {
            Expression::Constant(_) => Vec::new(),
            Expression::Variable(name) => vec![name],
            Expression::Call(_, arguments) => {
                arguments.iter().flat_map(Expression::variables).collect()
            }
            Expression::And(sides) | Expression::Or(sides) => {
                sides.iter().flat_map(Expression::variables).collect()
            }
            Expression::Case(branches, otherwise) => {
                let pairs = branches.iter().flat_map(|(condition, result)| [condition, result]);
                let all = pairs.chain([otherwise.as_ref()]);
                all.flat_map(Expression::variables).collect()
            }
        }
    }

    /// The same expression with what `find` says of each name.
    pub(crate) fn linked<V>(&self, find: &dyn Fn(&str) -> V) -> Expression<V> {
        let both = |sides: &[Expression; 2]| Box::new(sides.each_ref().map(|it| it.linked(find)));
        match self {
            Expression::Constant(value) => Expression::Constant(*value),
            Expression::Variable(name) => Expression::Variable(find(name)),
            Expression::Call(function, arguments) => {
                Expression::Call(function, arguments.iter().map(|it| it.linked(find)).collect())
            }
            Expression::And(sides) => Expression::And(both(sides)),
            Expression::Or(sides) => Expression::Or(both(sides)),
            Expression::Case(branches, otherwise) => {
                let pair = |(condition, result): &(Expression, Expression)| {
                    (condition.linked(find), result.linked(find))
                };
                let branches = branches.iter().map(pair).collect();
                Expression::Case(branches, Box::new(otherwise.linked(find)))
            }
        }
    }
}
