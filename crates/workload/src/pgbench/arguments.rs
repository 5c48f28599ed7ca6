//! What is given beside the scripts: variables, and which of them are needed.

use std::collections::BTreeMap;

use rqps_dbms::Dialect;

use super::error::ScriptError;
use super::script::{Script, is_variable};
use crate::sql::{Part, Tokens};

/// Characters of a literal that an error shows.
const SHOWN: usize = 40;

/// Parameters of a statement at most: what pgbench takes.
const MOST_PARAMETERS: usize = 255;

/// Variables that every client has.
pub(super) const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];

/// Variables by their names, as `-D` gives them.
pub type Defines = BTreeMap<String, String>;

/// Where values come from before a client runs.
#[derive(Clone, Debug, Default)]
pub struct SuppliedVariables {
    pub defines: Defines,
    /// The values are sent as parameters.
    pub is_bound: bool,
    /// A variable without a value is NULL where it is sent as a parameter, as in pgbench.
    pub is_lenient: bool,
}

impl SuppliedVariables {
    /// Reads `name=value`.
    pub fn define(&mut self, text: &str) -> Result<(), String> {
        let wrong = || format!("invalid variable definition '{text}'. Write NAME=VALUE");
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        if !is_variable(name) {
            return Err(format!("{}: a name has letters, digits and '_'", wrong()));
        }
        self.defines.insert(name.to_string(), value.to_string());
        Ok(())
    }

    /// Refuses a script whose statements cannot be sent with what there is.
    pub fn check(&self, script: &Script) -> Result<(), ScriptError> {
        if !self.is_bound {
            return Ok(());
        }
        for (command, query) in script.queries() {
            let error = |what: String| Err(ScriptError::at(script, command, what));
            if query.variables.len() > MOST_PARAMETERS {
                return error(format!(
                    "statement has too many arguments: {}, maximum is {MOST_PARAMETERS}. Use -M \
                     simple",
                    query.variables.len()
                ));
            }
            for (place, name) in &query.variables {
                if let Some(place) = quoted(&query.text, place.start) {
                    return error(format!(
                        "':{name}' in {place} would become a parameter. Write the \
                         colon as chr(58), as in 'HH24' || chr(58) || 'MI', or use -M simple"
                    ));
                }
                if !self.is_lenient && !self.is_known(script, name) {
                    return error(format!(
                        "undefined variable '{name}', which pgbench sends as NULL. Give it a value \
                         with -D {name}=…, or use --pgbench-undefined"
                    ));
                }
            }
        }
        Ok(())
    }

    fn is_known(&self, script: &Script, name: &str) -> bool {
        AUTOMATIC.contains(&name)
            || self.defines.contains_key(name)
            || script.sets(name)
            || script.stores(name)
    }
}

/// What a place of a statement is in, if that is a literal, a name in quotes or a comment.
fn quoted(text: &str, at: usize) -> Option<String> {
    let mut tokens = Tokens::new(text, Dialect::POSTGRES.lexis);
    while let Ok(Some(token)) = tokens.next() {
        let end = token.start + token.text.len();
        let shown = || token.text.chars().take(SHOWN).collect::<String>();
        match token.part {
            _ if end <= at => {}
            _ if token.start == at => return None,
            _ if token.start > at => return Some("a comment".to_string()),
            Part::Literal => return Some(format!("the literal {}", shown())),
            _ => return Some(shown()),
        }
    }
    Some("a comment".to_string())
}
