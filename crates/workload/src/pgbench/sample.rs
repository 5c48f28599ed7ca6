//! Statements of a script with values, for EXPLAIN: nothing is executed.

use rqps_dbms::Dialect;

use super::client::Evaluation;
use super::script::{CommandKind, Script};
use super::session::fill;
use super::variables::{VariableValue, Variables};
use crate::expression::Draws;
use crate::sql::split;

/// The single statements of a script, each as it stands there and with values. One whose values
/// come from a server's rows is left out.
pub(super) fn samples(
    script: &Script,
    mut variables: Variables,
    mut draws: Draws,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (place, command) in script.commands.iter().enumerate() {
        match &command.kind {
            CommandKind::Set(name, value) => {
                let watcher = &mut None;
                let (at, draws) = ((0, place), &mut draws);
                let mut scope = Evaluation { at, variables: &variables, draws, watcher };
                if let Ok(value) = variables.linked(&value.0).evaluate(&mut scope) {
                    variables.set(name, VariableValue::Calculated(value));
                }
            }
            CommandKind::Sql(query) => {
                let is_set = |(_, name): &(_, String)| variables.text(name).is_some();
                let is_one =
                    split(&query.text, Dialect::POSTGRES.lexis).is_ok_and(|it| it.len() == 1);
                if is_one && query.variables.iter().all(is_set) {
                    let text = query.text.trim_end().trim_end_matches(';').to_string();
                    let filled = fill(query, &variables);
                    found.push((text, filled.trim_end().trim_end_matches(';').to_string()));
                }
            }
            _ => {}
        }
    }
    found
}
