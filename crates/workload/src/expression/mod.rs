//! pgbench's expressions, as its `\set` and `\if` have them: the values of parameters of SQL
//! workloads are written in the same language.
//!
//! Types, precedences, functions and streams of random numbers are those of pgbench 15 and later
//! (PostgreSQL documentation, pgbench, "Built-In Functions"), so that a seed gives the numbers that
//! pgbench draws.

mod evaluate;
mod functions;
mod operators;
mod parser;
mod random;
mod scalar;
mod tokens;

#[cfg(test)]
mod tests;

pub(crate) use evaluate::{EvaluationError, EvaluationScope, FunctionScope};
pub(crate) use random::{Draws, Streams};
pub(crate) use scalar::Scalar;

use functions::Function;

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

/// Where a text stands in a file; both are counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Why a text is no expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {}, column {}: {what}", at.line, at.column)]
pub(crate) struct ExpressionError {
    pub(crate) at: Position,
    /// What stands there, and what was expected.
    pub(crate) what: String,
}

impl Expression {
    /// Parses a text that stands at a place of a file. It may go over several lines if each but the
    /// last ends with a backslash.
    pub(crate) fn parse(text: &str, at: Position) -> Result<Expression, ExpressionError> {
        parser::parse(text, at)
    }

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
