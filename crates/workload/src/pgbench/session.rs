//! How a client's statements are sent: as pgbench sends them to Postgres, and by what there is to
//! others.

use std::fmt::Write;
use std::ops::Range;

use rqps_plan::QueryMode;
use rqps_wire::{
    Connection, Error, Interrupter, ResultRows, Scripted, Statement, Target, TextValues, Texted,
    TransactionBlock, Type, Value,
};

use super::compiled::CompiledScripts;
use super::script::ScriptQuery;
use super::sent::Sent;
use super::variables::{VariableValue, Variables};
use crate::expression::Scalar;

/// Bytes of a pipeline at most: so many fit into the buffers between client and server, so that
/// neither waits for the other to read.
const LONGEST_PIPELINE: usize = 64 << 10;

/// A connection of a client.
pub(super) struct Session {
    connection: Box<dyn Connection>,
    mode: QueryMode,
    /// A variable without a value is NULL.
    is_lenient: bool,
    /// Which queries are prepared; without Postgres's messages, as what.
    parsed: Vec<bool>,
    prepared: Vec<Option<Statement>>,
    pub(super) is_in_pipeline: bool,
    values: TextValues,
    text: String,
}

impl Session {
    pub(super) fn connect(target: &Target, compiled: &CompiledScripts) -> Result<Session, Error> {
        let CompiledScripts { queries, mode, is_lenient, .. } = *compiled;
        Ok(Session {
            connection: target.connect()?,
            mode,
            is_lenient,
            parsed: vec![false; queries],
            prepared: vec![None; queries],
            is_in_pipeline: false,
            values: TextValues::default(),
            text: String::new(),
        })
    }

    pub(super) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }

    pub(super) fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }

    /// Sends a query; in a pipeline it is only queued. The results are kept if wanted. Returns the
    /// number of rows returned or changed.
    pub(super) fn execute(
        &mut self,
        sent: &Sent,
        variables: &Variables,
        keep: Option<&mut Vec<ResultRows>>,
    ) -> Result<u64, Stopped> {
        if self.mode == QueryMode::Simple {
            self.text.clear();
            filled(&mut self.text, &sent.text, sent.variables.iter().cloned(), variables);
            return match self.connection.scripted() {
                Some(scripted) => Ok(scripted.ask(&self.text, keep)?),
                None => Ok(self.connection.run(&self.text)?),
            };
        }
        let Some(scripted) = self.connection.scripted() else {
            return self.execute_elsewhere(sent, variables);
        };
        bind(&mut self.values, sent, variables, self.is_lenient)?;
        let statement = match self.mode {
            QueryMode::Prepared => {
                if !self.parsed[sent.number] {
                    parse(scripted, &mut self.parsed, sent)?;
                }
                Texted::Prepared(&sent.name)
            }
            _ => Texted::Unnamed(&sent.text),
        };
        scripted.queue(statement, &self.values);
        match self.is_in_pipeline {
            false => Ok(scripted.finish(keep)?),
            true if scripted.queued() > LONGEST_PIPELINE => Err(Stopped::Client(format!(
                "the pipeline exceeds {} KiB. End it earlier with \\endpipeline",
                LONGEST_PIPELINE >> 10
            ))),
            true => Ok(0),
        }
    }

    /// Prepares a query now, where it would be prepared within a pipeline.
    pub(super) fn prepare(&mut self, sent: &Sent) -> Result<(), Error> {
        match self.connection.scripted() {
            Some(scripted) if self.mode == QueryMode::Prepared && !self.parsed[sent.number] => {
                parse(scripted, &mut self.parsed, sent)
            }
            _ => Ok(()),
        }
    }

    /// Ends an implicit transaction within the pipeline.
    pub(super) fn sync(&mut self) {
        if let Some(scripted) = self.connection.scripted() {
            scripted.sync();
        }
    }

    /// Ends the pipeline and receives all results.
    pub(super) fn end_pipeline(&mut self) -> Result<u64, Error> {
        self.is_in_pipeline = false;
        self.connection.scripted().map_or(Ok(0), |scripted| scripted.finish(None))
    }

    /// Whether a transaction is open; none where the server does not tell.
    pub(super) fn block(&mut self) -> Option<TransactionBlock> {
        self.connection.scripted().map(|scripted| scripted.block())
    }

    /// Leaves a failed transaction, and a pipeline that has not been sent.
    pub(super) fn roll_back(&mut self) -> Result<(), Error> {
        if self.is_in_pipeline {
            // What was queued is executed, as pgbench does, before the transaction is left.
            let _ = self.end_pipeline();
        }
        match self.connection.scripted() {
            Some(scripted) if scripted.block() == TransactionBlock::None => Ok(()),
            Some(scripted) => scripted.ask("ROLLBACK", None).map(drop),
            // There may be no transaction, which is no error of the script.
            None => match self.connection.run("ROLLBACK") {
                Err(error) if error.is_disconnect() => Err(error),
                _ => Ok(()),
            },
        }
    }

    fn execute_elsewhere(&mut self, sent: &Sent, variables: &Variables) -> Result<u64, Stopped> {
        if sent.is_neutral {
            return Ok(self.connection.run(&sent.text)?);
        }
        let statement = match self.prepared[sent.number] {
            Some(statement) => statement,
            None => {
                let types = vec![Type::Inferred; sent.variables.len()];
                let statement = self.connection.prepare(&sent.text, &types)?;
                *self.prepared[sent.number].insert(statement)
            }
        };
        let mut texts: Vec<Option<String>> = Vec::with_capacity(sent.variables.len());
        for (_, place) in &sent.variables {
            texts.push(match variables.slot(*place) {
                VariableValue::Calculated(Scalar::Null) => None,
                VariableValue::Unset if self.is_lenient => None,
                VariableValue::Unset => return Err(undefined(variables, *place)),
                VariableValue::Calculated(value) => Some(value.to_string()),
                VariableValue::Given(given) => Some(given.text.clone()),
            });
        }
        let bound = texts.iter().map(|text| match text {
            None => Value::Null,
            Some(text) => Value::Text(text.as_bytes()),
        });
        let values: Vec<Value<'_>> = bound.collect();
        Ok(self.connection.execute(statement, &values)?)
    }
}

/// Why a query was not executed.
#[derive(Debug)]
pub(super) enum Stopped {
    Server(Error),
    Client(String),
}

impl From<Error> for Stopped {
    fn from(error: Error) -> Stopped {
        Stopped::Server(error)
    }
}

fn parse(scripted: &mut dyn Scripted, parsed: &mut [bool], sent: &Sent) -> Result<(), Error> {
    scripted.parse(&sent.name, &sent.text)?;
    parsed[sent.number] = true;
    Ok(())
}

/// The text of a query with the values of its variables. What has none stays as it stands.
pub(super) fn fill(query: &ScriptQuery, variables: &Variables) -> String {
    let mut text = String::new();
    let places = query.variables.iter().map(|(range, name)| (range.clone(), variables.place(name)));
    let known = places.filter_map(|(range, place)| Some((range, place?)));
    filled(&mut text, &query.text, known, variables);
    text
}

fn filled(
    text: &mut String,
    written: &str,
    places: impl Iterator<Item = (Range<usize>, usize)>,
    variables: &Variables,
) {
    let mut from = 0;
    for (range, place) in places {
        text.push_str(&written[from..range.start]);
        match variables.slot(place) {
            VariableValue::Unset => text.push_str(&written[range.clone()]),
            VariableValue::Given(given) => text.push_str(&given.text),
            VariableValue::Calculated(value) => {
                // Memory takes all characters.
                let _ = write!(text, "{value}");
            }
        }
        from = range.end;
    }
    text.push_str(&written[from..]);
}

fn bind(
    values: &mut TextValues,
    sent: &Sent,
    variables: &Variables,
    is_lenient: bool,
) -> Result<(), Stopped> {
    values.clear();
    for (_, place) in &sent.variables {
        match variables.slot(*place) {
            VariableValue::Calculated(Scalar::Null) => values.add_null(),
            VariableValue::Calculated(Scalar::Int(value)) => values.add(|bytes| {
                bytes.extend_from_slice(itoa::Buffer::new().format(*value).as_bytes());
            }),
            VariableValue::Calculated(value) => {
                values.add(|bytes| bytes.extend_from_slice(value.to_string().as_bytes()));
            }
            VariableValue::Given(given) => {
                values.add(|bytes| bytes.extend_from_slice(given.text.as_bytes()));
            }
            VariableValue::Unset if is_lenient => values.add_null(),
            VariableValue::Unset => return Err(undefined(variables, *place)),
        }
    }
    Ok(())
}

fn undefined(variables: &Variables, place: usize) -> Stopped {
    Stopped::Client(format!("undefined variable '{}'", variables.name(place)))
}
