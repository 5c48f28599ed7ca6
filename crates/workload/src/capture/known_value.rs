//! A value of an execution, as far as the source has it.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KnownValue {
    Value(String),
    Null,
    Unknown,
}
