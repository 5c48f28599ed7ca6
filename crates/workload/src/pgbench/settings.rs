//! What the clients of a run share: scripts, how they are sent, and the variables that are given.

use std::collections::BTreeMap;

use rqps_dbms::Dialect;
use rqps_plan::QueryMode;

use super::error::ScriptError;
use super::script::{Script, is_variable};
use super::variables::{VariableValue, Variables};
use crate::expression::{Draws, Scalar, Streams};
use crate::sql::{Part, Tokens};

/// Characters of a literal that an error shows.
const SHOWN: usize = 40;

/// Parameters of a statement at most: what pgbench takes.
const MOST_PARAMETERS: usize = 255;

/// Variables that every client has.
const AUTOMATIC: [&str; 4] = ["client_id", "default_seed", "random_seed", "scale"];

/// Variables by their names, as `-D` gives them.
pub type Defines = BTreeMap<String, String>;

/// Adds a variable that is written as `name=value`.
pub fn define(defines: &mut Defines, text: &str) -> Result<(), String> {
    let wrong = || format!("invalid variable definition '{text}'. Write NAME=VALUE");
    let (name, value) = text.split_once('=').ok_or_else(wrong)?;
    if !is_variable(name) {
        return Err(format!("{}: a name has letters, digits and '_'", wrong()));
    }
    defines.insert(name.to_string(), value.to_string());
    Ok(())
}

/// What all clients of a run share.
#[derive(Clone, Debug)]
pub struct ScriptSettings {
    /// Scripts with their weights.
    pub scripts: Vec<(Script, u64)>,
    pub mode: QueryMode,
    pub defines: Defines,
    /// A variable without a value is NULL where it is sent as a parameter, as in pgbench.
    pub is_lenient: bool,
    pub scale: u32,
    pub seed: u64,
}

impl ScriptSettings {
    /// Refuses scripts that cannot be run as they are.
    pub fn check(&self) -> Result<(), ScriptError> {
        for (script, _) in &self.scripts {
            match (self.mode, script.pipeline()) {
                (QueryMode::Simple, Some(command)) => {
                    let what =
                        "a pipeline cannot be used with -M simple. Use -M extended or -M prepared";
                    return Err(ScriptError::at(script, command, what));
                }
                (QueryMode::Simple, None) => {}
                _ => self.check_parameters(script)?,
            }
        }
        Ok(())
    }

    /// Refuses a script whose statements cannot be sent with what there is.
    fn check_parameters(&self, script: &Script) -> Result<(), ScriptError> {
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

    /// The variables of every client, and the streams after those of the clients.
    pub(super) fn beginning(&self, clients: u32) -> (Variables, Streams, Vec<Draws>) {
        let names = self.scripts.iter().flat_map(|(script, _)| script.names());
        let mut variables = Variables::new(names);
        let mut streams = Streams::new(self.seed);
        let draws = (0..clients).map(|_| streams.client()).collect();
        for (name, text) in &self.defines {
            variables.set(name, VariableValue::given(text));
        }
        // pgbench draws the seed of hashes only if it needs one.
        let is_given = |name: &str| self.defines.contains_key(name);
        let drawn = (!is_given("default_seed")).then(|| streams.default_seed());
        let automatic = [
            ("default_seed", drawn.unwrap_or_default()),
            ("scale", i64::from(self.scale)),
            ("random_seed", self.seed as i64),
        ];
        for (name, value) in automatic.into_iter().filter(|(name, _)| !is_given(name)) {
            variables.set(name, VariableValue::Calculated(Scalar::Int(value)));
        }
        (variables, streams, draws)
    }

    /// Statements of a transaction, on average by weight; all branches of a script count.
    pub(super) fn statements(&self) -> f64 {
        let all: u64 = self.scripts.iter().map(|(_, weight)| weight).sum();
        let of_all =
            |(script, weight): &(Script, u64)| script.queries().count() as f64 * *weight as f64;
        self.scripts.iter().map(of_all).sum::<f64>() / all.max(1) as f64
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
