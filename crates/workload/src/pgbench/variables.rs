//! The variables of a client.

use std::sync::Arc;

use super::script::is_variable;
use crate::expression::{EvaluationError, Scalar};

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableValue {
    Unset,
    Calculated(Scalar),
    /// Set by `-D`, a row or the shell. Its type is found when an expression needs it.
    Given(String),
}

/// All names that the scripts mention have a place; others are never read.
#[derive(Clone, Debug)]
pub(super) struct Variables {
    /// In their order.
    names: Arc<[String]>,
    slots: Vec<VariableValue>,
}

impl Variables {
    pub(super) fn new<'a>(names: impl Iterator<Item = &'a str>) -> Variables {
        let mut names: Vec<String> = names.map(str::to_string).collect();
        names.sort_unstable();
        names.dedup();
        let slots = vec![VariableValue::Unset; names.len()];
        Variables { names: names.into(), slots }
    }

    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.names.binary_search_by(|it| it.as_str().cmp(name)).ok()
    }

    pub(super) fn slot(&self, place: usize) -> &VariableValue {
        &self.slots[place]
    }

    pub(super) fn name(&self, place: usize) -> &str {
        &self.names[place]
    }

    /// Sets a variable, if a script mentions it.
    pub(super) fn set(&mut self, name: &str, slot: VariableValue) {
        if let Some(place) = self.place(name) {
            self.slots[place] = slot;
        }
    }

    /// Sets a variable to a column of a row; an error if that has no name for a variable.
    pub(super) fn store(&mut self, name: &str, value: &str) -> Result<(), String> {
        if !is_variable(name) {
            return Err(format!(
                "error storing into variable '{name}': a name has letters, digits and '_'. Name \
                 the column with AS"
            ));
        }
        self.set(name, VariableValue::Given(value.to_string()));
        Ok(())
    }

    /// A value as an expression takes it.
    pub(super) fn scalar(&self, name: &str) -> Result<Scalar, EvaluationError> {
        match self.place(name).map(|place| self.slot(place)) {
            None | Some(VariableValue::Unset) => {
                Err(EvaluationError(format!("undefined variable '{name}'")))
            }
            Some(VariableValue::Calculated(value)) => Ok(*value),
            Some(VariableValue::Given(text)) => Scalar::from_text(text).ok_or_else(|| {
                EvaluationError(format!(
                    "malformed variable '{name}' value: '{text}' is no number, truth value or null"
                ))
            }),
        }
    }

    /// A value as text; none if it is not set.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.slot(self.place(name)?) {
            VariableValue::Unset => None,
            VariableValue::Calculated(value) => Some(value.to_string()),
            VariableValue::Given(text) => Some(text.clone()),
        }
    }
}
