//! A client of a query: it executes the query with one set of values after another.

use std::sync::Arc;

use rqps_dbms::Dialect;
use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter, Statement, Type, Value};

use super::answer::Answer;
use super::csv::Record;
use super::parameter::ValueType;
use super::query::{Enclosing, SqlQuery};

/// Parameters of a statement for which an operation allocates nothing.
const FEW: usize = 16;

/// A value as it is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Encoded {
    Null,
    Int(i64),
    Text(Box<[u8]>),
}

impl Encoded {
    fn value(&self) -> Value<'_> {
        match self {
            Encoded::Null => Value::Null,
            Encoded::Int(value) => Value::Int(*value),
            Encoded::Text(text) => Value::Text(text),
        }
    }
}

/// The sets of a query's values as they are bound.
pub(super) fn encoded(query: &SqlQuery, sets: &[Record]) -> Vec<Vec<Encoded>> {
    let kinds: Vec<ValueType> = query.options.parameters.iter().map(|it| it.kind).collect();
    let one = |(value, kind): (&Option<String>, &ValueType)| match (value, kind) {
        (None, _) => Encoded::Null,
        (Some(text), ValueType::Int | ValueType::Bigint) => {
            text.parse().map_or(Encoded::Null, Encoded::Int)
        }
        (Some(text), _) => Encoded::Text(text.as_bytes().into()),
    };
    sets.iter().map(|set| set.iter().zip(&kinds).map(one).collect()).collect()
}

/// A statement of the query, prepared.
struct PreparedQuery {
    statement: Statement,
    /// The parameter of each placeholder.
    parameters: Vec<usize>,
    returns_rows: bool,
}

pub(super) struct QueryClient {
    connection: Box<dyn Connection>,
    statements: Vec<PreparedQuery>,
    /// What begins and ends an execution, if anything does.
    around: Option<(&'static str, &'static str)>,
    sets: Arc<Vec<Vec<Encoded>>>,
    /// The places of the sets of the first operation, of the next one, and of this one.
    first: usize,
    next: usize,
    set: usize,
}

impl QueryClient {
    /// Prepares the query. The client begins with the set at a place of its own.
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        query: &SqlQuery,
        dialect: Dialect,
        sets: Arc<Vec<Vec<Encoded>>>,
        first: usize,
    ) -> Result<QueryClient, Error> {
        let kinds: Vec<Type> = query.options.parameters.iter().map(|it| bound(it.kind)).collect();
        let mut statements = Vec::new();
        for statement in &query.statements {
            let (text, parameters) = statement.prepared(dialect);
            let types: Vec<Type> = parameters.iter().map(|place| kinds[*place]).collect();
            let returns_rows = statement.returns_rows;
            let statement = connection.prepare(&text, &types)?;
            statements.push(PreparedQuery { statement, parameters, returns_rows });
        }
        let begin = dialect.begin(query.class.writes());
        let around = match query.options.transaction {
            Enclosing::AsWritten => None,
            Enclosing::Each => Some((begin, "COMMIT")),
            Enclosing::Rollback => Some((begin, "ROLLBACK")),
        };
        Ok(QueryClient { connection, statements, around, sets, first, next: first, set: first })
    }

    /// Executes the statements with the set at a place, without what begins and ends an execution,
    /// and has the rows of each read.
    pub(super) fn answers(&mut self, set: usize, is_across: bool) -> Result<Vec<Answer>, Error> {
        let set = &self.sets[set];
        let one = |prepared: &PreparedQuery| {
            let values = prepared.parameters.iter().map(|parameter| set[*parameter].value());
            let values: Vec<Value<'_>> = values.collect();
            let mut answer = Answer::new(is_across);
            let count = self.connection.visit(prepared.statement, &values, &mut answer)?;
            if !answer.returns_rows() {
                answer.changed = count;
            }
            Ok(answer)
        };
        self.statements.iter().map(one).collect()
    }

    /// The connection between two executions.
    pub(super) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }

    fn statement(&mut self, place: usize) -> Result<Effect, Error> {
        let PreparedQuery { statement, parameters, returns_rows } = &self.statements[place];
        let set = &self.sets[self.set];
        let mut few = [Value::Null; FEW];
        let many: Vec<Value<'_>>;
        let values = match few.get_mut(..parameters.len()) {
            Some(few) => {
                for (value, parameter) in few.iter_mut().zip(parameters) {
                    *value = set[*parameter].value();
                }
                &*few
            }
            None => {
                many = parameters.iter().map(|parameter| set[*parameter].value()).collect();
                &many
            }
        };
        let rows = self.connection.execute(*statement, values)?;
        Ok(if *returns_rows { Effect::read(rows) } else { Effect::write(rows) })
    }
}

impl Work for QueryClient {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.set = self.next;
        self.next = (self.next + 1) % self.sets.len();
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let mut effect = Effect::default();
        if let Some((begin, _)) = self.around {
            self.connection.run(begin)?;
            effect += Effect::other();
        }
        for place in 0..self.statements.len() {
            effect += self.statement(place)?;
        }
        if let Some((_, end)) = self.around {
            self.connection.run(end)?;
            effect += Effect::other();
        }
        Ok(effect)
    }

    fn seek(&mut self, operation: u64) {
        self.next = ((self.first as u64 + operation) % self.sets.len() as u64) as usize;
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

/// Types that only the server knows are inferred from what a parameter is compared with.
fn bound(kind: ValueType) -> Type {
    match kind {
        ValueType::Int => Type::Int4,
        ValueType::Bigint => Type::Int8,
        _ => Type::Inferred,
    }
}
