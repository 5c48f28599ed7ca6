//! A client: it runs scripts, command by command.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rqps_dbms::Dialect;
use rqps_load::Effect;
use rqps_wire::{Connection, Error, Interrupter, ResultRows, Target, TransactionBlock};

use super::compiled::{CompiledScripts, LinkedCommand};
use super::error::Aborted;
use super::script::{
    Amount, CommandKind, IntoVariables, Pause, Script, ScriptCommand, ScriptQuery, StatementEffect,
};
use super::sent::Sent;
use super::session::{Session, Stopped};
use super::settings::ScriptSettings;
use super::shell;
use super::variables::{VariableValue, Variables};
use crate::expression::{
    Draws, EvaluationError, EvaluationScope, Expression, FunctionScope, Scalar,
};

/// How often a sleep checks for cancellation.
const LOOK: Duration = Duration::from_millis(50);

/// What watches the commands of a client.
pub trait Watcher: Send {
    /// A command of a script ended, by their places.
    fn ended(&mut self, _script: usize, _command: usize) {}

    /// The function `debug` was called with this value, as in `int 7`.
    fn shows(&mut self, _script: usize, _command: usize, _value: &str) {}
}

/// Why a script did not end.
#[derive(Debug)]
pub enum Unended {
    /// The DBMS chose the transaction as a victim, and it was rolled back: it may be tried again.
    Conflict {
        command: usize,
        is_deadlock: bool,
        error: Error,
    },
    Aborted(Aborted),
    /// It was executed, but left its transaction open.
    Incomplete(Aborted),
    /// The connection ended.
    Lost(Error),
}

pub struct Client {
    compiled: Arc<CompiledScripts>,
    state: State,
    /// Which script is next, and when: streams of their own, as those of pgbench's threads.
    choices: Draws,
    delays: Draws,
    /// The stream of the values before the last transaction began.
    before: Draws,
}

/// What changes while a script runs.
struct State {
    session: Session,
    variables: Variables,
    draws: Draws,
    watcher: Option<Box<dyn Watcher>>,
    answers: Vec<ResultRows>,
}

impl ScriptSettings {
    /// Connects the clients of a run. Each has the streams of random numbers that pgbench gives it
    /// with a thread for each client.
    pub fn clients(
        self,
        target: &Target,
        dialect: Dialect,
        clients: u32,
    ) -> Result<Vec<Client>, Error> {
        let (variables, mut streams, draws) = self.beginning(clients);
        let has_id = self.defines.contains_key("client_id");
        let compiled = Arc::new(CompiledScripts::new(self, &variables, dialect));
        let connect = |(id, draws): (i64, Draws)| {
            let mut variables = variables.clone();
            if !has_id {
                variables.set("client_id", VariableValue::Calculated(Scalar::Int(id)));
            }
            Client::connect(&compiled, target, variables, (draws, streams.thread()))
        };
        (0..).zip(draws).map(connect).collect()
    }
}

impl Client {
    /// A client with its streams: of its values, of its choices and of its delays.
    pub(super) fn connect(
        compiled: &Arc<CompiledScripts>,
        target: &Target,
        variables: Variables,
        (draws, [choices, delays]): (Draws, [Draws; 2]),
    ) -> Result<Client, Error> {
        let session = Session::connect(target, compiled)?;
        let before = draws.clone();
        let state = State { session, variables, draws, watcher: None, answers: Vec::new() };
        Ok(Client { compiled: Arc::clone(compiled), state, choices, delays, before })
    }

    pub fn watch(&mut self, watcher: Box<dyn Watcher>) {
        self.state.watcher = Some(watcher);
    }

    /// The script of the next transaction, by weight.
    pub fn choose(&mut self) -> usize {
        let weights = &self.compiled.weights;
        if weights.len() == 1 {
            return 0;
        }
        let all: u64 = weights.iter().sum();
        let mut drawn = self.choices.uniform(0, all as i64 - 1);
        let is_it = |weight: &u64| {
            drawn -= *weight as i64;
            drawn < 0
        };
        weights.iter().position(is_it).unwrap_or_default()
    }

    /// Microseconds to the next transaction, at this mean.
    pub fn delay(&mut self, mean: f64) -> i64 {
        self.delays.delay(mean)
    }

    /// Connects anew.
    pub fn reconnect(&mut self, target: &Target) -> Result<(), Error> {
        self.state.session = Session::connect(target, &self.compiled)?;
        Ok(())
    }

    pub fn interrupter(&self) -> Result<Interrupter, Error> {
        self.state.session.interrupter()
    }

    pub fn connection(&mut self) -> &mut dyn Connection {
        self.state.session.connection()
    }

    /// What follows is the first try of a transaction.
    pub fn begin(&mut self) {
        self.before = self.state.draws.clone();
    }

    /// What follows is another try of the same transaction, with the same random numbers.
    pub fn begin_again(&mut self) {
        self.state.draws = self.before.clone();
    }

    /// Runs a script, by its place.
    pub fn run(&mut self, script: usize) -> Result<Effect, Unended> {
        self.state.run(&self.compiled, script)
    }
}

/// What ends a script early: its command, and why.
type Ended = (usize, Why);

enum Why {
    Server(Error),
    Client(String),
}

impl From<Stopped> for Why {
    fn from(stopped: Stopped) -> Why {
        match stopped {
            Stopped::Server(error) => Why::Server(error),
            Stopped::Client(what) => Why::Client(what),
        }
    }
}

impl From<Error> for Why {
    fn from(error: Error) -> Why {
        Why::Server(error)
    }
}

impl From<EvaluationError> for Why {
    fn from(error: EvaluationError) -> Why {
        Why::Client(error.to_string())
    }
}

impl State {
    fn run(&mut self, compiled: &CompiledScripts, place: usize) -> Result<Effect, Unended> {
        let (script, linked) = &compiled.scripts[place];
        match self.commands(place, script, linked) {
            Ok(effect) => match (self.session.is_in_pipeline, self.session.block()) {
                (true, _) => Err(Unended::Aborted(aborted(
                    script,
                    None,
                    "end of script reached with pipeline open",
                ))),
                (false, Some(TransactionBlock::Begun | TransactionBlock::Failed)) => {
                    Err(Unended::Incomplete(aborted(
                        script,
                        None,
                        "end of script reached without completing the last transaction",
                    )))
                }
                _ => Ok(effect),
            },
            Err((_, Why::Server(error))) if error.is_disconnect() => Err(Unended::Lost(error)),
            Err((command, Why::Server(error))) => match conflict(&error) {
                Some(is_deadlock) => {
                    self.session.roll_back().map_err(Unended::Lost)?;
                    Err(Unended::Conflict { command, is_deadlock, error })
                }
                None => {
                    let what = error.to_string();
                    Err(Unended::Aborted(aborted(script, Some(command), &what)))
                }
            },
            Err((command, Why::Client(what))) => {
                Err(Unended::Aborted(aborted(script, Some(command), &what)))
            }
        }
    }

    fn commands(
        &mut self,
        place: usize,
        script: &Script,
        linked: &[LinkedCommand],
    ) -> Result<Effect, Ended> {
        let mut effect = Effect::default();
        let mut next = 0;
        while let Some(command) = script.commands.get(next) {
            let at = (place, next);
            let followed = match (&command.kind, &linked[next]) {
                (CommandKind::Sql(query), LinkedCommand::Query(sent)) => {
                    self.query(query, sent, &mut effect).map(|()| next + 1)
                }
                (_, LinkedCommand::Set(variable, value)) => {
                    self.set(at, *variable, value).map(|()| next + 1)
                }
                (CommandKind::If(..), _) => self.branch(at, script, linked),
                // What was taken before this ends here.
                (CommandKind::Elif(_, _, end), _) | (CommandKind::Else(end), _) => Ok(*end),
                (CommandKind::StartPipeline, _) => {
                    let (commands, linked) = (&script.commands[next..], &linked[next..]);
                    self.start_pipeline(commands, linked).map(|()| next + 1)
                }
                (kind, _) => self.simple(kind, &mut effect).map(|()| next + 1),
            };
            let following = followed.map_err(|why| (next, why))?;
            if let Some(watcher) = &mut self.watcher {
                watcher.ended(place, next);
            }
            next = following;
        }
        Ok(effect)
    }

    /// The command behind the first condition that is true, from an `\if` on.
    fn branch(
        &mut self,
        (place, first): (usize, usize),
        script: &Script,
        linked: &[LinkedCommand],
    ) -> Result<usize, Why> {
        let mut at = first;
        loop {
            match (&script.commands[at].kind, &linked[at]) {
                (
                    CommandKind::If(_, next) | CommandKind::Elif(_, next, _),
                    LinkedCommand::Condition(condition),
                ) => {
                    if self.evaluate((place, at), condition)?.is_true() {
                        return Ok(at + 1);
                    }
                    at = *next;
                }
                _ => return Ok(at + 1),
            }
        }
    }

    fn set(
        &mut self,
        at: (usize, usize),
        variable: usize,
        value: &Expression<usize>,
    ) -> Result<(), Why> {
        let value = self.evaluate(at, value)?;
        self.variables.set_at(variable, VariableValue::Calculated(value));
        Ok(())
    }

    fn query(&mut self, query: &ScriptQuery, sent: &Sent, effect: &mut Effect) -> Result<(), Why> {
        if query.store == IntoVariables::Nothing {
            let rows = self.session.execute(sent, &self.variables, None)?;
            *effect += effect_of(query.does, rows);
            return Ok(());
        }
        if self.session.is_in_pipeline {
            let name = if let IntoVariables::Gset(_) = query.store { "gset" } else { "aset" };
            return Err(Why::Client(format!("\\{name} is not allowed in pipeline mode")));
        }
        self.answers.clear();
        let rows = self.session.execute(sent, &self.variables, Some(&mut self.answers))?;
        *effect += effect_of(query.does, rows);
        let answers = std::mem::take(&mut self.answers);
        let stored = self.store(&query.store, &answers);
        self.answers = answers;
        stored.map_err(Why::Client)
    }

    /// Rows become variables; NULL is empty text.
    fn store(&mut self, store: &IntoVariables, answers: &[ResultRows]) -> Result<(), String> {
        let (prefix, from) = match store {
            IntoVariables::Nothing => return Ok(()),
            IntoVariables::Aset(prefix) => (prefix, answers),
            IntoVariables::Gset(prefix) => {
                let last = answers.last().map_or(0, |answer| answer.rows.len());
                if last != 1 {
                    return Err(format!("expected one row, got {last}"));
                }
                (prefix, &answers[answers.len() - 1..])
            }
        };
        for answer in from {
            let Some(row) = answer.rows.last() else { continue };
            for (column, value) in answer.columns.iter().zip(row) {
                let value = value.as_deref().unwrap_or_default();
                match prefix.is_empty() {
                    true => self.variables.store(column, value)?,
                    false => self.variables.store(&format!("{prefix}{column}"), value)?,
                }
            }
        }
        Ok(())
    }

    /// A command that is followed by the next one.
    fn simple(&mut self, kind: &CommandKind, effect: &mut Effect) -> Result<(), Why> {
        match kind {
            CommandKind::Sleep(pause) => self.sleep(pause)?,
            CommandKind::Shell(words) => {
                shell::run(words, &self.variables).map_err(Why::Client)?;
            }
            CommandKind::Setshell(name, words) => {
                let text = shell::read(words, &self.variables).map_err(Why::Client)?;
                self.variables.set(name, VariableValue::given(&text));
            }
            CommandKind::SyncPipeline | CommandKind::EndPipeline
                if !self.session.is_in_pipeline =>
            {
                return Err(Why::Client("not in pipeline mode".to_string()));
            }
            CommandKind::SyncPipeline => self.session.sync(),
            CommandKind::EndPipeline => {
                // Their statements were counted when they were queued.
                effect.rows += self.session.end_pipeline()?;
            }
            _ => {}
        }
        Ok(())
    }

    /// All queries of the pipeline are prepared before it begins.
    fn start_pipeline(
        &mut self,
        commands: &[ScriptCommand],
        linked: &[LinkedCommand],
    ) -> Result<(), Why> {
        if self.session.is_in_pipeline {
            return Err(Why::Client("already in pipeline mode".to_string()));
        }
        for (command, linked) in commands.iter().zip(linked) {
            if let CommandKind::EndPipeline = command.kind {
                break;
            }
            if let LinkedCommand::Query(sent) = linked {
                self.session.prepare(sent)?;
            }
        }
        self.session.is_in_pipeline = true;
        Ok(())
    }

    fn evaluate(&mut self, at: (usize, usize), value: &Expression<usize>) -> Result<Scalar, Why> {
        let State { variables, draws, watcher, .. } = self;
        let mut scope = Evaluation { at, variables, draws, watcher };
        Ok(value.evaluate(&mut scope)?)
    }

    fn sleep(&mut self, pause: &Pause) -> Result<(), Why> {
        let amount = match &pause.amount {
            Amount::Number(number) => *number,
            Amount::Variable(name) => {
                let Some(text) = self.variables.text(name) else {
                    return Err(Why::Client(format!("sleep: undefined variable '{name}'")));
                };
                leading_number(&text).ok_or_else(|| {
                    Why::Client(format!("sleep: variable '{name}' is no number: '{text}'"))
                })?
            }
        };
        let micros = u64::try_from(amount).unwrap_or_default().saturating_mul(pause.micros);
        let end = Instant::now() + Duration::from_micros(micros).min(Duration::from_hours(24));
        loop {
            self.session.connection().check()?;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

/// Of a value such as `1.0` the 1, as C's atoi has it.
fn leading_number(text: &str) -> Option<i64> {
    let sign = usize::from(text.starts_with(['+', '-']));
    let end = text[sign..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |it| sign + it);
    text[..end].parse().ok()
}

fn effect_of(does: StatementEffect, rows: u64) -> Effect {
    match does {
        StatementEffect::Reads => Effect::read(rows),
        StatementEffect::Neither => Effect::other(),
        StatementEffect::MayWrite => Effect::write(rows),
    }
}

/// Whether the DBMS asks to try again, and whether because of a deadlock.
fn conflict(error: &Error) -> Option<bool> {
    // SQLSTATE 40P01 is Postgres's, and 1213 is the number of MySQL's.
    match error {
        Error::Server { code, class: rqps_wire::ErrorClass::Retry, .. } => {
            Some(code.contains("40P01") || code.contains("1213"))
        }
        _ => None,
    }
}

fn aborted(script: &Script, command: Option<usize>, what: &str) -> Aborted {
    let command = command.and_then(|place| script.commands.get(place));
    Aborted {
        script: script.title.clone(),
        command: command.map(|command| (command.line, command.first_line.clone())),
        what: what.to_string(),
    }
}

/// What an expression of a command is evaluated in.
pub(super) struct Evaluation<'a> {
    pub(super) at: (usize, usize),
    pub(super) variables: &'a Variables,
    pub(super) draws: &'a mut Draws,
    pub(super) watcher: &'a mut Option<Box<dyn Watcher>>,
}

impl EvaluationScope<usize> for Evaluation<'_> {
    fn variable(&self, place: &usize) -> Result<Scalar, EvaluationError> {
        self.variables.scalar(*place)
    }
}

impl FunctionScope for Evaluation<'_> {
    fn draws(&mut self) -> &mut Draws {
        self.draws
    }

    fn debug(&mut self, value: Scalar) {
        let Some(watcher) = self.watcher else { return };
        let (script, command) = self.at;
        watcher.shows(
            script,
            command,
            &match value {
                Scalar::Null => "null".to_string(),
                value => format!("{} {value}", value.type_name()),
            },
        );
    }
}
