//! The variables of a client.

use std::sync::Arc;

use super::script::is_variable;
use crate::expression::{EvaluationError, Expression, Scalar};

/// The value of a variable.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum VariableValue {
    Unset,
    Calculated(Scalar),
    /// Set by `-D`, a row or the shell.
    Given(GivenText),
}

/// A text, and what an expression takes it for; nothing if it has none of the forms.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct GivenText {
    pub(super) text: String,
    scalar: Option<Scalar>,
}

impl VariableValue {
    pub(super) fn given(text: &str) -> VariableValue {
        let scalar = Scalar::from_text(text);
        VariableValue::Given(GivenText { text: text.to_string(), scalar })
    }
}

/// All names that the scripts mention have a place; others are never read. Scripts are linked with
/// the places before they run.
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

    /// The place of a name that a script mentions.
    pub(super) fn place_of_known(&self, name: &str) -> usize {
        self.place(name).unwrap_or_default()
    }

    /// An expression of a script with the places of its variables.
    pub(super) fn linked(&self, expression: &Expression) -> Expression<usize> {
        expression.linked(&|name| self.place_of_known(name))
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
            self.set_at(place, slot);
        }
    }

    pub(super) fn set_at(&mut self, place: usize, slot: VariableValue) {
        self.slots[place] = slot;
    }

    /// Sets a variable to a column of a row; an error if that has no name for a variable.
    pub(super) fn store(&mut self, name: &str, value: &str) -> Result<(), String> {
        if !is_variable(name) {
            return Err(format!(
                "error storing into variable '{name}': a name has letters, digits and '_'. Name \
                 the column with AS"
            ));
        }
        self.set(name, VariableValue::given(value));
        Ok(())
    }

    /// A value as an expression takes it.
    pub(super) fn scalar(&self, place: usize) -> Result<Scalar, EvaluationError> {
        match self.slot(place) {
            VariableValue::Calculated(value) => Ok(*value),
            VariableValue::Given(GivenText { scalar: Some(value), .. }) => Ok(*value),
            VariableValue::Given(GivenText { text, scalar: None }) => {
                Err(EvaluationError(format!(
                    "malformed variable '{}' value: '{text}' is no number, truth value or null",
                    self.name(place)
                )))
            }
            VariableValue::Unset => {
                Err(EvaluationError(format!("undefined variable '{}'", self.name(place))))
            }
        }
    }

    /// A value as text; none if it is not set.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        match self.slot(self.place(name)?) {
            VariableValue::Unset => None,
            VariableValue::Calculated(value) => Some(value.to_string()),
            VariableValue::Given(given) => Some(given.text.clone()),
        }
    }
}
