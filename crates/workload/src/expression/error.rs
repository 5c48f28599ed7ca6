//! What can be wrong with an expression: its text, or its values.

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

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EvaluationError(pub(crate) String);
