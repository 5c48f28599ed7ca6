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

pub(crate) use evaluate::{EvaluationError, EvaluationScope};
pub(crate) use random::{Draws, Streams};
pub(crate) use scalar::Scalar;

use functions::Function;

/// An expression that has been parsed.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Constant(Scalar),
    Variable(String),
    /// Of a function or operator; all arguments are evaluated, in this order.
    Call(&'static Function, Vec<Expression>),
    And(Box<[Expression; 2]>),
    Or(Box<[Expression; 2]>),
    /// Conditions with their results, and the result where none is true.
    Case(Vec<(Expression, Expression)>, Box<Expression>),
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
}
