//! From scripts to what clients run: queries with numbers, variables with places.

use rqps_dbms::Dialect;
use rqps_plan::QueryMode;

use super::script::{CommandKind, Script, ScriptCommand};
use super::sent::Sent;
use super::settings::ScriptSettings;
use super::variables::Variables;
use crate::expression::Expression;

/// What a command needs to be run, with the places of its variables.
#[derive(Debug)]
pub(super) enum LinkedCommand {
    Query(Sent),
    /// The variable that gets a value.
    Set(usize, Expression<usize>),
    Condition(Expression<usize>),
    /// What it has as it is.
    Other,
}

/// Scripts that are ready to be run.
#[derive(Debug)]
pub(super) struct CompiledScripts {
    /// With what each command needs.
    pub(super) scripts: Vec<(Script, Vec<LinkedCommand>)>,
    pub(super) weights: Vec<u64>,
    pub(super) queries: usize,
    pub(super) mode: QueryMode,
    pub(super) is_lenient: bool,
}

impl CompiledScripts {
    pub(super) fn new(
        settings: ScriptSettings,
        variables: &Variables,
        dialect: Dialect,
    ) -> CompiledScripts {
        let ScriptSettings { scripts, mode, is_lenient, .. } = settings;
        let mut queries = 0;
        let mut linked = |command: &ScriptCommand| match &command.kind {
            CommandKind::Sql(query) => {
                let sent = Sent::new(query, queries, mode, variables, dialect);
                queries += 1;
                LinkedCommand::Query(sent)
            }
            CommandKind::Set(name, value) => {
                LinkedCommand::Set(variables.place_of_known(name), variables.linked(&value.0))
            }
            CommandKind::If(condition, _) | CommandKind::Elif(condition, ..) => {
                LinkedCommand::Condition(variables.linked(&condition.0))
            }
            _ => LinkedCommand::Other,
        };
        let mut compiled = Vec::new();
        let mut weights = Vec::new();
        for (script, weight) in scripts {
            let commands = script.commands.iter().map(&mut linked).collect();
            compiled.push((script, commands));
            weights.push(weight);
        }
        CompiledScripts { scripts: compiled, weights, queries, mode, is_lenient }
    }
}
