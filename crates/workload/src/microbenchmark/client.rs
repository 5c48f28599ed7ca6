//! A client of a test: draws the values of an event, sends its statements, counts what they did.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Class, Connection, Error, Interrupter, Statement, Value};

use super::dice::{Dice, Drawn, text_length};
use super::ledger::{Change, Ledger};
use super::schema::table_name;
use super::statement::{Does, Draw, Template};
use super::suite::Test;
use crate::dialect::Dialect;

/// Most values that a statement with texts among them has.
const MOST_WITH_TEXT: usize = 16;

/// Two clients that delete and insert the same row: the second finds it gone and then there.
const UNIQUE_VIOLATION: &str = "23505";

pub(super) struct Client {
    connection: Box<dyn Connection>,
    dice: Dice,
    size: usize,
    steps: Vec<Step>,
    /// The table of each part of the event, counted from 1.
    tables: Vec<u32>,
    /// All values of the event but its texts, which are put in their places on the way.
    values: Vec<Value<'static>>,
    text: Vec<u8>,
    transaction: Option<Framing>,
    is_in_transaction: bool,
    /// Values must be drawn again: those at hand met an error.
    is_stale: bool,
    /// Of the operation so far, with what was sent before an error.
    effect: Effect,
    /// Of the attempt so far.
    changes: Vec<(u32, Change)>,
    ledger: Arc<Ledger>,
}

/// One statement of an event.
struct Step {
    part: usize,
    does: Does,
    draws: Vec<Placed>,
    /// Its place among all values of the event.
    values: Range<usize>,
    /// Its texts: which value, and the place among all text of the event.
    texts: Vec<(usize, Range<usize>)>,
    /// Which of its values is a new k.
    k: Option<usize>,
    form: Form,
}

/// A draw, and where it goes among all values and all text of the event.
struct Placed {
    draw: Draw,
    values: Range<usize>,
    text: Range<usize>,
}

enum Form {
    /// By table.
    Prepared(Vec<Statement>),
    /// What stands around the values, by table; and the statement that was made of it.
    Text { pieces: Vec<Vec<String>>, sql: String },
}

/// What a transaction begins and ends with.
enum Framing {
    Prepared { begin: Statement, commit: Statement },
    Text,
}

impl Client {
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        dialect: Dialect,
        test: &'static Test,
        tables: u32,
        dice: Dice,
        ledger: Arc<Ledger>,
    ) -> Result<Self, Error> {
        let transaction = match test.event.transaction {
            true => Some(framing(&mut *connection, dialect, test)?),
            false => None,
        };
        let mut steps: Vec<Step> = Vec::new();
        // Statements that an event sends more than once are prepared once.
        let mut prepared: HashMap<&'static str, Vec<Statement>> = HashMap::new();
        let (mut values, mut text) = (0, 0);
        for (index, part) in test.event.parts.iter().enumerate() {
            for template in std::iter::repeat_n(part.statements, part.times).flatten() {
                let form = if template.as_text {
                    let pieces = (1..=tables).map(|table| pieces(template, dialect, test, table));
                    Form::Text { pieces: pieces.collect(), sql: String::new() }
                } else {
                    if !prepared.contains_key(template.text) {
                        let connection = &mut *connection;
                        let all = prepare(connection, dialect, test.size, template, tables)?;
                        prepared.insert(template.text, all);
                    }
                    Form::Prepared(prepared[template.text].clone())
                };
                let step = step(index, template, test.size, form, (values, text));
                if let Some(last) = step.draws.last() {
                    (values, text) = (last.values.end, last.text.end);
                }
                steps.push(step);
            }
        }
        Ok(Client {
            connection,
            dice,
            size: test.size,
            steps,
            tables: vec![1; test.event.parts.len()],
            values: vec![Value::Int(0); values],
            text: vec![0; text],
            transaction,
            is_in_transaction: false,
            is_stale: false,
            effect: Effect::default(),
            changes: Vec::new(),
            ledger,
        })
    }

    /// Draws the tables and values of an event.
    fn draw(&mut self) {
        let Client { dice, tables, steps, values, text, size, .. } = self;
        let mut drawn_tables = 0;
        for step in steps {
            if drawn_tables <= step.part {
                tables[step.part] = dice.table();
                drawn_tables = step.part + 1;
            }
            for Placed { draw, values: numbers, text: place } in &step.draws {
                let (numbers, text) = (&mut values[numbers.clone()], &mut text[place.clone()]);
                dice.draw(*draw, *size, Drawn { numbers, text });
            }
            if let Form::Text { pieces, sql } = &mut step.form {
                let pieces = &pieces[tables[step.part] as usize - 1];
                write_sql(sql, pieces, &values[step.values.clone()], &step.texts, text);
            }
        }
    }

    /// Sends the event once; what it changes is noted, but not for good.
    fn attempt(&mut self) -> Result<(), Error> {
        self.changes.clear();
        if self.transaction.is_some() {
            self.frame(true)?;
            self.is_in_transaction = true;
        }
        for step in 0..self.steps.len() {
            self.send(step)?;
        }
        if self.transaction.is_some() {
            self.frame(false)?;
            self.is_in_transaction = false;
        }
        Ok(())
    }

    fn frame(&mut self, begin: bool) -> Result<(), Error> {
        match &self.transaction {
            Some(Framing::Prepared { begin: first, commit }) => {
                let statement = if begin { *first } else { *commit };
                self.connection.execute(statement, &[])?;
            }
            _ => drop(self.connection.run(if begin { "BEGIN" } else { "COMMIT" })?),
        }
        self.effect += Effect::other();
        Ok(())
    }

    fn send(&mut self, step: usize) -> Result<(), Error> {
        let step = &self.steps[step];
        let table = self.tables[step.part];
        let values = &self.values[step.values.clone()];
        let rows = match &step.form {
            Form::Text { sql, .. } => self.connection.run(sql)?,
            Form::Prepared(statements) => {
                let statement = statements[table as usize - 1];
                if step.texts.is_empty() {
                    self.connection.execute(statement, values)?
                } else {
                    let mut mixed = [Value::Int(0); MOST_WITH_TEXT];
                    mixed[..values.len()].copy_from_slice(values);
                    for (index, place) in &step.texts {
                        mixed[*index] = Value::Text(&self.text[place.clone()]);
                    }
                    self.connection.execute(statement, &mixed[..values.len()])?
                }
            }
        };
        let signed = rows as i64;
        let change = match step.does {
            Does::Read => {
                self.effect += Effect::read(rows);
                return Ok(());
            }
            Does::Set => Change::default(),
            Does::AddToK => Change { k: signed, ..Change::default() },
            Does::Delete => Change { deleted: signed, ..Change::default() },
            Does::Insert => {
                let k = match step.k.map(|index| values[index]) {
                    Some(Value::Int(k)) => k,
                    _ => 0,
                };
                Change { inserted: signed, k: signed * k, ..Change::default() }
            }
        };
        self.effect += Effect::write(rows);
        if change != Change::default() {
            self.changes.push((table, change));
        }
        Ok(())
    }

    /// After an error: what the DBMS asks to be begun again is undone, and will be other work, as
    /// sysbench has it.
    #[cold]
    fn recover(&mut self, mut error: Error) -> Result<Effect, Error> {
        if let Error::Server { code, class, .. } = &mut error
            && code == UNIQUE_VIOLATION
            && self.is_in_transaction
        {
            *class = Class::Retry;
        }
        if error.class() == Class::Retry {
            self.is_stale = true;
            if std::mem::take(&mut self.is_in_transaction) {
                self.connection.run("ROLLBACK")?;
            }
        }
        Err(error)
    }
}

impl Work for Client {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.effect = Effect::default();
        self.is_stale = false;
        self.draw();
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        if self.is_stale {
            self.is_stale = false;
            self.draw();
        }
        if let Err(error) = self.attempt() {
            return self.recover(error);
        }
        for (table, change) in &self.changes {
            self.ledger.add(*table, *change);
        }
        Ok(self.effect)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.interrupter()
    }
}

/// A step whose values and texts begin at these places.
fn step(
    part: usize,
    template: &'static Template,
    size: usize,
    form: Form,
    (first, mut text): (usize, usize),
) -> Step {
    let (mut draws, mut texts, mut k) = (Vec::new(), Vec::new(), None);
    let mut value = first;
    for &draw in template.draws {
        let (values, place) = (value..value + draw.values(size), text..text + text_length(draw));
        (value, text) = (values.end, place.end);
        let index = values.start - first;
        if !place.is_empty() {
            texts.push((index, place.clone()));
        }
        if draw == Draw::K {
            k = Some(index);
        }
        draws.push(Placed { draw, values, text: place });
    }
    assert!(texts.is_empty() || value - first <= MOST_WITH_TEXT, "{}", template.text);
    Step { part, does: template.does, draws, values: first..value, texts, k, form }
}

/// Prepares a statement for every table.
pub(super) fn prepare(
    connection: &mut dyn Connection,
    dialect: Dialect,
    size: usize,
    template: &Template,
    tables: u32,
) -> Result<Vec<Statement>, Error> {
    let one = |table| {
        let (sql, types) = template.prepared_form(dialect, size, &table_name(table));
        connection.prepare(&sql, &types)
    };
    (1..=tables).map(one).collect()
}

fn pieces(template: &Template, dialect: Dialect, test: &Test, table: u32) -> Vec<String> {
    let text = template.for_table(dialect, test.size, &table_name(table));
    text.split('?').map(str::to_string).collect()
}

fn framing(
    connection: &mut dyn Connection,
    dialect: Dialect,
    test: &Test,
) -> Result<Framing, Error> {
    let begin = match dialect {
        Dialect::Innodb | Dialect::Myrocks => return Ok(Framing::Text),
        Dialect::Postgres => "BEGIN",
        // A transaction that reads first cannot write any more once another has written.
        Dialect::Sqlite if test.writes() => "BEGIN IMMEDIATE",
        Dialect::Sqlite => "BEGIN",
    };
    let begin = connection.prepare(begin, &[])?;
    Ok(Framing::Prepared { begin, commit: connection.prepare("COMMIT", &[])? })
}

/// Puts a statement together from what stands around its values.
fn write_sql(
    sql: &mut String,
    pieces: &[String],
    values: &[Value<'_>],
    texts: &[(usize, Range<usize>)],
    text: &[u8],
) {
    sql.clear();
    let mut digits = itoa::Buffer::new();
    let mut texts = texts.iter().peekable();
    for (index, piece) in pieces.iter().enumerate() {
        sql.push_str(piece);
        match (texts.next_if(|(place, _)| *place == index), values.get(index)) {
            (Some((_, place)), _) => {
                sql.push_str(str::from_utf8(&text[place.clone()]).unwrap_or_default());
            }
            (None, Some(Value::Int(number))) => sql.push_str(digits.format(*number)),
            _ => {}
        }
    }
}
