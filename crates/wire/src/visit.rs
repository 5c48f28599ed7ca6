//! The rows of an execution, decoded: for checks that compare answers, not for the hot path.

use std::borrow::Cow;

/// Sees what an execution returns. A statement may return several results one after another.
pub trait RowVisitor {
    /// A result begins that has these columns.
    fn columns(&mut self, columns: Vec<ResultColumn>);

    /// A row of it, with a field for each column.
    fn row(&mut self, fields: &[Field<'_>]);
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultColumn {
    pub name: String,
    pub kind: ColumnKind,
}

/// What a column's values are, where DBMSs write the same value differently. SQLite's columns have
/// no types, but their values have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Int,
    Float,
    Decimal,
    Bool,
    /// Text that a DBMS may pad with blanks.
    Char,
    Other,
}

/// A value of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    Null,
    Int(i64),
    Float(f64),
    /// As the DBMS writes it.
    Text(Cow<'a, [u8]>),
}
