//! pgbench's expressions, as its `\set` and `\if` have them: the values of parameters of SQL
//! workloads are written in the same language.
//!
//! Types, precedences, functions and streams of random numbers are those of pgbench 15 and later
//! (PostgreSQL documentation, pgbench, "Built-In Functions"), so that a seed gives the numbers that
//! pgbench draws.

mod error;
mod evaluate;
mod function;
mod functions;
mod operators;
mod parser;
mod random;
mod scalar;
mod tokens;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use error::{EvaluationError, ExpressionError, Position};
pub(crate) use evaluate::EvaluationScope;
pub(crate) use function::FunctionScope;
pub(crate) use random::{Draws, Streams};
pub(crate) use scalar::Scalar;
pub(crate) use tree::Expression;
