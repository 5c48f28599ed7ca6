//! A client of a test: draws the values of an event, sends its statements, counts their effects.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use rqps_dbms::Transactions;
use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, ErrorClass, Interrupter, Statement, Value};

use super::dice::{Dice, Placed, text_length};
use super::ledger::{Change, Ledger};
use super::schema::table_name;
use super::statement::{Does, Draw, Template};
use super::suite::Test;
use crate::Dialect;

/// The most values of a statement with texts among them.
const MOST_WITH_TEXT: usize = 16;

/// Two clients delete and insert the same row: the second finds it deleted, and then inserted.
const UNIQUE_VIOLATION: &str = "23505";

pub(super) struct Client {
    connection: Box<dyn Connection>,
    dice: Dice,
    size: usize,
    /// All draws of the event, in order.
    draws: Vec<Placed>,
    steps: Vec<Step>,
    /// The table of each part of the event, counted from 1.
    tables: Vec<u32>,
    /// Tables are drawn as well.
    varies_tables: bool,
    /// All values of the event without its texts, which are inserted when they are sent.
    values: Vec<Value<'static>>,
    text: Vec<u8>,
    /// Some statements are sent as text with their values in it.
    has_texts: bool,
    transaction: Option<Framing>,
    is_in_transaction: bool,
    /// Values must be drawn again: those at hand met an error.
    is_stale: bool,
    /// The part of the operation that was sent before an error.
    before_error: Effect,
    /// Of the attempt so far.
    changes: Vec<(u32, Change)>,
    ledger: Arc<Ledger>,
}

/// One statement of an event.
struct Step {
    part: usize,
    does: Does,
    /// Its place among all values of the event.
    values: Range<usize>,
    /// Its texts: which value, and the place among all text of the event.
    texts: Vec<(usize, Range<usize>)>,
    /// Which of its values is a new k.
    k: Option<usize>,
    form: Form,
}

enum Form {
    /// By table.
    Prepared(Vec<Statement>),
    /// The text around the values, by table; and the complete statement.
    Text { pieces: Vec<Vec<String>>, sql: String },
}

/// The begin and the end of a transaction.
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
        let (mut steps, mut draws): (Vec<Step>, Vec<Placed>) = (Vec::new(), Vec::new());
        // Repeated statements of an event are prepared once.
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
                let step = step(index, template, test.size, form, (values, text), &mut draws);
                values = step.values.end;
                text = draws.last().map_or(text, |last| last.text.end);
                steps.push(step);
            }
        }
        let has_texts = steps.iter().any(|step| matches!(step.form, Form::Text { .. }));
        Ok(Client {
            connection,
            size: test.size,
            draws,
            steps,
            tables: vec![dice.only_table().unwrap_or(1); test.event.parts.len()],
            varies_tables: dice.only_table().is_none(),
            dice,
            values: vec![Value::Int(0); values],
            text: vec![0; text],
            has_texts,
            transaction,
            is_in_transaction: false,
            is_stale: false,
            before_error: Effect::default(),
            changes: Vec::new(),
            ledger,
        })
    }

    /// Draws the tables and values of an event.
    #[inline]
    fn draw(&mut self) {
        let Client { dice, draws, values, text, size, .. } = self;
        if self.varies_tables {
            self.tables.fill_with(|| dice.table());
        }
        for placed in draws {
            dice.draw(placed, *size, values, text);
        }
        if self.has_texts {
            self.write_texts();
        }
    }

    #[inline(never)]
    fn write_texts(&mut self) {
        for step in &mut self.steps {
            if let Form::Text { pieces, sql } = &mut step.form {
                let pieces = &pieces[self.tables[step.part] as usize - 1];
                write_sql(sql, pieces, &self.values[step.values.clone()], &step.texts, &self.text);
            }
        }
    }

    /// Sends the event once; its changes are noted, but not yet entered in the ledger.
    #[inline]
    fn attempt(&mut self, effect: &mut Effect) -> Result<(), Error> {
        self.changes.clear();
        if self.transaction.is_some() {
            self.frame(true, effect)?;
            self.is_in_transaction = true;
        }
        let Client { connection, steps, tables, values, text, changes, .. } = self;
        for step in steps {
            let table = tables[step.part];
            let values = &values[step.values.clone()];
            let rows = send(&mut **connection, step, table, values, text)?;
            *effect += step.does.effect(rows);
            if step.does.is_booked() {
                changes.push((table, step.change(rows as i64, values)));
            }
        }
        if self.transaction.is_some() {
            self.frame(false, effect)?;
            self.is_in_transaction = false;
        }
        Ok(())
    }

    #[inline(never)]
    fn frame(&mut self, begin: bool, effect: &mut Effect) -> Result<(), Error> {
        match &self.transaction {
            Some(Framing::Prepared { begin: first, commit }) => {
                let statement = if begin { *first } else { *commit };
                self.connection.execute(statement, &[])?;
            }
            _ => drop(self.connection.run(if begin { "BEGIN" } else { "COMMIT" })?),
        }
        *effect += Effect::other();
        Ok(())
    }

    /// After an error: if the DBMS asks for a retry, the transaction is rolled back, and the next
    /// attempt has new values, as in sysbench.
    #[cold]
    fn recover(&mut self, mut error: Error) -> Result<Effect, Error> {
        if let Error::Server { code, class, .. } = &mut error
            && code == UNIQUE_VIOLATION
            && self.is_in_transaction
        {
            *class = ErrorClass::Retry;
        }
        if error.class() == ErrorClass::Retry {
            self.is_stale = true;
            if std::mem::take(&mut self.is_in_transaction) {
                self.connection.run("ROLLBACK")?;
            }
        }
        Err(error)
    }
}

impl Step {
    /// The change of its statement, which affected `rows` rows.
    fn change(&self, rows: i64, values: &[Value<'_>]) -> Change {
        match self.does {
            Does::Read | Does::Set => Change::default(),
            Does::AddToK => Change { k: rows, ..Change::default() },
            Does::Delete => Change { deleted: rows, ..Change::default() },
            Does::Insert => {
                let k = match self.k.map(|index| values[index]) {
                    Some(Value::Int(k)) => k,
                    _ => 0,
                };
                Change { inserted: rows, k: rows * k, ..Change::default() }
            }
        }
    }
}

impl Does {
    /// The effect of a statement with `rows` rows.
    #[inline]
    fn effect(self, rows: u64) -> Effect {
        match self {
            Does::Read => Effect::read(rows),
            _ => Effect::write(rows),
        }
    }

    /// Whether it changes what the ledger counts.
    #[inline]
    fn is_booked(self) -> bool {
        !matches!(self, Does::Read | Does::Set)
    }
}

/// Sends a step's statement; answers the rows returned or changed.
#[inline]
fn send(
    connection: &mut dyn Connection,
    step: &Step,
    table: u32,
    values: &[Value<'_>],
    text: &[u8],
) -> Result<u64, Error> {
    match &step.form {
        Form::Text { sql, .. } => connection.run(sql),
        Form::Prepared(statements) => {
            let statement = statements[table as usize - 1];
            match step.texts.is_empty() {
                true => connection.execute(statement, values),
                false => send_mixed(connection, step, statement, values, text),
            }
        }
    }
}

/// Sends a statement with texts among its values.
#[inline(never)]
fn send_mixed(
    connection: &mut dyn Connection,
    step: &Step,
    statement: Statement,
    values: &[Value<'_>],
    text: &[u8],
) -> Result<u64, Error> {
    let mut mixed = [Value::Int(0); MOST_WITH_TEXT];
    mixed[..values.len()].copy_from_slice(values);
    for (index, place) in &step.texts {
        mixed[*index] = Value::Text(&text[place.clone()]);
    }
    connection.execute(statement, &mixed[..values.len()])
}

impl Work for Client {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.before_error = Effect::default();
        self.is_stale = false;
        self.draw();
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        if self.is_stale {
            self.is_stale = false;
            self.draw();
        }
        let mut effect = self.before_error;
        if let Err(error) = self.attempt(&mut effect) {
            self.before_error = effect;
            return self.recover(error);
        }
        for (table, change) in &self.changes {
            self.ledger.add(*table, *change);
        }
        Ok(effect)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

/// A step whose values and texts begin at these places; its draws are added to the event's.
fn step(
    part: usize,
    template: &'static Template,
    size: usize,
    form: Form,
    (first, mut text): (usize, usize),
    draws: &mut Vec<Placed>,
) -> Step {
    let (mut texts, mut k) = (Vec::new(), None);
    let mut value = first;
    for &draw in template.draws {
        let place = text..text + text_length(draw);
        let index = value - first;
        if !place.is_empty() {
            texts.push((index, place.clone()));
        }
        if draw == Draw::K {
            k = Some(index);
        }
        text = place.end;
        draws.push(Placed { draw, value, text: place });
        value += draw.values(size);
    }
    assert!(texts.is_empty() || value - first <= MOST_WITH_TEXT, "{}", template.text);
    Step { part, does: template.does, values: first..value, texts, k, form }
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
    let Transactions::Prepared { read, write } = dialect.transactions else {
        return Ok(Framing::Text);
    };
    let begin = if test.writes() { write } else { read };
    let begin = connection.prepare(begin, &[])?;
    Ok(Framing::Prepared { begin, commit: connection.prepare("COMMIT", &[])? })
}

/// Assembles a statement from its values and the text around them.
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
