//! A client of a query: it executes the query with one set of values after another.
//!
//! A statement is prepared once. With literals it has a text for each set of them, which is
//! prepared if it has other parameters, and else sent as it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use rqps_dbms::Dialect;
use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter, Statement, Type, Value};

use super::answer::Answer;
use super::csv::Record;
use super::load::literal;
use super::parameter::{QueryParameter, ValueType};
use super::placeholders::Bound;
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

    /// As it is written in SQL.
    pub(super) fn literal(&self, kind: ValueType, dialect: Dialect) -> String {
        match self {
            Encoded::Null => literal(None, kind, dialect.lexis),
            Encoded::Int(value) => value.to_string(),
            Encoded::Text(text) => {
                literal(Some(&String::from_utf8_lossy(text)), kind, dialect.lexis)
            }
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

/// A statement of the query, in one form or in several.
struct QueryStatement {
    forms: Vec<StatementForm>,
    /// The form for each set of values; empty if there is one form for all.
    of_sets: Vec<u32>,
    returns_rows: bool,
}

impl QueryStatement {
    #[inline]
    fn form(&self, set: usize) -> &StatementForm {
        &self.forms[self.of_sets.get(set).map_or(0, |form| *form as usize)]
    }
}

/// How a statement is sent.
enum StatementForm {
    Prepared {
        statement: Statement,
        /// The parameter of each placeholder.
        parameters: Vec<usize>,
    },
    Text(String),
}

pub(super) struct QueryClient {
    connection: Box<dyn Connection>,
    statements: Vec<QueryStatement>,
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
        let one = |statement| prepared(&mut *connection, statement, query, dialect, &sets);
        let statements = query.statements.iter().map(one).collect::<Result<_, _>>()?;
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
        let one = |statement: &QueryStatement| {
            let mut answer = Answer::new(is_across);
            let (prepared, parameters): (_, &[usize]) = match statement.form(set) {
                StatementForm::Prepared { statement, parameters } => (*statement, &parameters[..]),
                // Rows are read from prepared statements alone.
                StatementForm::Text(text) => (self.connection.prepare(text, &[])?, &[][..]),
            };
            let set = &self.sets[set];
            let values: Vec<Value<'_>> = parameters.iter().map(|it| set[*it].value()).collect();
            let count = self.connection.visit(prepared, &values, &mut answer)?;
            if !answer.returns_rows() {
                answer.changed = count;
            }
            Ok(answer)
        };
        self.statements.iter().map(one).collect()
    }

    /// Executes the query with its first set as clients do, and has the rows of each statement
    /// read.
    pub(super) fn execute_and_read(&mut self) -> Result<Vec<Answer>, Error> {
        let Some((begin, end)) = self.around else { return self.answers(0, false) };
        self.connection.run(begin)?;
        let answers = self.answers(0, false)?;
        self.connection.run(end)?;
        Ok(answers)
    }

    /// The connection between two executions.
    pub(super) fn connection(&mut self) -> &mut dyn Connection {
        &mut *self.connection
    }

    fn statement(&mut self, place: usize) -> Result<Effect, Error> {
        let of_query = &self.statements[place];
        let told = |rows| match of_query.returns_rows {
            true => Effect::read(rows),
            false => Effect::write(rows),
        };
        let (statement, parameters) = match of_query.form(self.set) {
            StatementForm::Prepared { statement, parameters } => (statement, parameters),
            StatementForm::Text(text) => return Ok(told(self.connection.run(text)?)),
        };
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
        Ok(told(self.connection.execute(*statement, values)?))
    }
}

/// Prepares a statement in all of its forms.
fn prepared(
    connection: &mut dyn Connection,
    statement: &Bound,
    query: &SqlQuery,
    dialect: Dialect,
    sets: &[Vec<Encoded>],
) -> Result<QueryStatement, Error> {
    let declared = &query.options.parameters;
    let has_literals = statement.parameters.iter().any(|place| declared[*place].is_literal);
    let form = |connection: &mut dyn Connection, text: String, parameters: Vec<usize>| {
        if has_literals && parameters.is_empty() {
            return Ok(StatementForm::Text(text));
        }
        let types: Vec<Type> =
            parameters.iter().map(|place| bound(declared[*place].kind)).collect();
        let statement = connection.prepare(&text, &types)?;
        Ok::<_, Error>(StatementForm::Prepared { statement, parameters })
    };
    let returns_rows = statement.returns_rows;
    if !has_literals {
        let (text, parameters) = statement.prepared(dialect, |_| None);
        let forms = vec![form(connection, text, parameters)?];
        return Ok(QueryStatement { forms, of_sets: Vec::new(), returns_rows });
    }
    let mut known: BTreeMap<String, u32> = BTreeMap::new();
    let (mut forms, mut of_sets) = (Vec::new(), Vec::with_capacity(sets.len()));
    for set in sets {
        let (text, parameters) = statement.prepared(dialect, |place| {
            let QueryParameter { kind, is_literal, .. } = &declared[place];
            is_literal.then(|| set[place].literal(*kind, dialect))
        });
        let number = match known.get(&text) {
            Some(number) => *number,
            None => {
                let number = forms.len() as u32;
                known.insert(text.clone(), number);
                forms.push(form(connection, text, parameters)?);
                number
            }
        };
        of_sets.push(number);
    }
    Ok(QueryStatement { forms, of_sets, returns_rows })
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
pub(super) fn bound(kind: ValueType) -> Type {
    match kind {
        ValueType::Int => Type::Int4,
        ValueType::Bigint => Type::Int8,
        _ => Type::Inferred,
    }
}
