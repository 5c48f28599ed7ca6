//! Executions as a source tells of them, put together by statement.

use std::collections::BTreeMap;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rand::RngExt;
use rqps_dbms::{Dialect, Lexis};

use super::known_value::KnownValue;
use super::left_out::{LeftOut, reason_to_leave_out};
use super::shape::{StatementShape, ValuePlace, first_word, shape};
use crate::random::{Random, stream};

/// Sets of values that are kept of a statement, drawn at random from all that were seen.
const MOST_SETS: usize = 1000;
/// … and values in all of these: an INSERT may have thousands.
const MOST_VALUES: usize = 100_000;
/// Bytes of a statement that is read, and its places.
pub(super) const MOST_TEXT: usize = 1 << 20;
const MOST_PLACES: usize = 10_000;
/// Bytes of the texts and values of all statements: a log may be larger than the memory.
const MOST_KEPT: usize = 256 << 20;

/// One execution, or several of one statement.
#[derive(Clone, Debug)]
pub(super) struct CapturedExecutions {
    pub(super) database: Option<String>,
    pub(super) text: String,
    /// The values of its placeholders, where the source has them.
    pub(super) parameters: Vec<KnownValue>,
    /// The values in its text were bound to placeholders.
    pub(super) is_bound: bool,
    pub(super) calls: u64,
    pub(super) seconds: f64,
    /// Rows returned or changed, where the source counts them.
    pub(super) rows: Option<u64>,
    /// Why the text cannot be executed, if the source says so.
    pub(super) defect: Option<String>,
}

impl CapturedExecutions {
    /// One, of which nothing but the text is known.
    pub(super) fn one(text: String) -> CapturedExecutions {
        CapturedExecutions {
            database: None,
            text,
            parameters: Vec::new(),
            is_bound: false,
            calls: 1,
            seconds: 0.0,
            rows: None,
            defect: None,
        }
    }
}

/// A statement with all of its executions.
#[derive(Clone, Debug)]
pub(super) struct CapturedStatement {
    pub(super) database: Option<String>,
    pub(super) key: String,
    pub(super) shape: StatementShape,
    /// Why it is left out, if it is.
    pub(super) reason: Option<String>,
    pub(super) is_bound: bool,
    pub(super) calls: u64,
    pub(super) seconds: f64,
    pub(super) rows: Option<u64>,
    /// Values for its places, some of those that were seen.
    pub(super) sets: Vec<Vec<KnownValue>>,
    seen: u64,
}

impl CapturedStatement {
    /// Rows that an execution returns or changes on average, at least one.
    pub(super) fn mean_rows(&self) -> u64 {
        let mean = self.rows.unwrap_or_default() as f64 / self.calls.max(1) as f64;
        (mean.round() as u64).max(1)
    }

    /// `room` is what may still be kept, in bytes.
    fn add(
        &mut self,
        of: &CapturedExecutions,
        values: Vec<KnownValue>,
        random: &mut Random,
        room: &mut usize,
    ) {
        self.calls += of.calls;
        self.seconds += of.seconds;
        self.rows = self.rows.into_iter().chain(of.rows).reduce(|one, other| one + other);
        if self.reason.is_some() {
            return;
        }
        self.seen += 1;
        let most = (MOST_VALUES / values.len().max(1)).clamp(1, MOST_SETS);
        // Each of those seen is kept with the same probability (Vitter: Random Sampling with a
        // Reservoir, 1985, Algorithm R).
        let place = match self.sets.len() < most {
            true => self.sets.len(),
            false => random.random_range(0..self.seen) as usize,
        };
        let kept = self.sets.get(place).map_or(0, |kept| bytes(kept));
        let new = bytes(&values);
        if place >= most || *room + kept < new {
            return;
        }
        *room = *room + kept - new;
        match self.sets.get_mut(place) {
            Some(kept) => *kept = values,
            None => self.sets.push(values),
        }
    }
}

/// What a set takes in memory, about.
fn bytes(values: &[KnownValue]) -> usize {
    let of = |value: &KnownValue| match value {
        KnownValue::Value(text) => text.len(),
        KnownValue::Null | KnownValue::Unknown => 0,
    };
    values.iter().map(|value| size_of::<KnownValue>() + of(value)).sum()
}

/// What makes executions those of one statement.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StatementKey {
    database: Option<String>,
    text: String,
    reason: Option<String>,
    /// Two texts may be shown alike.
    places: Vec<ValuePlace>,
    hints: String,
}

/// A statement that was read.
struct ReadStatement {
    shape: StatementShape,
    values: Vec<KnownValue>,
    text: String,
    reason: Option<String>,
}

impl ReadStatement {
    fn read(text: &str, lexis: Lexis) -> ReadStatement {
        if text.len() > MOST_TEXT {
            return ReadStatement::hidden(text, "it is longer than 1 MiB".to_string());
        }
        let (shape, values) = shape(text, lexis);
        if shape.places.len() > MOST_PLACES {
            return ReadStatement::hidden(text, format!("it has more than {MOST_PLACES} values"));
        }
        match reason_to_leave_out(&shape, lexis) {
            Some(LeftOut { reason, is_hidden: true }) => ReadStatement::hidden(text, reason),
            left => {
                let (text, reason) = (shape.key(), left.map(|left| left.reason));
                ReadStatement { shape, values, text, reason }
            }
        }
    }

    /// Nothing but its first word is kept.
    fn hidden(text: &str, reason: String) -> ReadStatement {
        let (shape, values) = Default::default();
        ReadStatement { shape, values, text: first_word(text), reason: Some(reason) }
    }
}

/// Collects what a source tells.
pub(super) struct Collector {
    pub(super) dialect: Dialect,
    statements: BTreeMap<StatementKey, CapturedStatement>,
    random: Random,
    /// What may still be kept, in bytes.
    room: usize,
    /// Seconds since 1970 of the first and the last execution, where they are told.
    times: Option<(i64, i64)>,
}

impl Collector {
    pub(super) fn new(dialect: Dialect) -> Collector {
        let (statements, times) = (BTreeMap::new(), None);
        Collector { dialect, statements, random: stream(1, &[]), room: MOST_KEPT, times }
    }

    /// Notes when an execution was, in seconds since 1970.
    pub(super) fn note_time(&mut self, at: i64) {
        let (first, last) = self.times.unwrap_or((at, at));
        self.times = Some((first.min(at), last.max(at)));
    }

    /// The same by a date and a time of day, in whichever zone all of them are:
    /// `2026-11-26 12:00:00.123 CET`.
    pub(super) fn note_civil_time(&mut self, text: &str) {
        let time = text.get(.."2026-11-26 12:00:00".len()).and_then(|it| it.parse().ok());
        let time = time.and_then(|time: DateTime| time.to_zoned(TimeZone::UTC).ok());
        if let Some(time) = time {
            self.note_time(time.timestamp().as_second());
        }
    }

    /// How many days the executions are of.
    pub(super) fn days(&self) -> Option<f64> {
        self.times.map(|(first, last)| (last - first) as f64 / 86_400.0)
    }

    pub(super) fn lexis(&self) -> Lexis {
        self.dialect.lexis
    }

    pub(super) fn add(&mut self, executions: &CapturedExecutions) {
        let read = ReadStatement::read(&executions.text, self.lexis());
        let ReadStatement { mut shape, mut values, mut text, mut reason } = read;
        for (value, place) in values.iter_mut().zip(&shape.places) {
            if let Some(known) = place.parameter().and_then(|it| executions.parameters.get(it)) {
                *value = known.clone();
            }
        }
        reason = executions.defect.clone().or(reason);
        // Of what is left out, the text that is shown is all.
        if reason.is_some() {
            shape = StatementShape::default();
        }
        let key = |text: String, reason: Option<String>, shape: &StatementShape| StatementKey {
            database: executions.database.clone(),
            text,
            reason,
            places: shape.places.clone(),
            hints: shape.hints.clone(),
        };
        let mut known = key(text.clone(), reason.clone(), &shape);
        if !self.statements.contains_key(&known) {
            // Key and shape have the text several times.
            let size = 4 * text.len() + executions.text.len() + 64 * shape.places.len() + 512;
            match self.room.checked_sub(size) {
                Some(room) => self.room = room,
                None => {
                    text = first_word(&executions.text);
                    reason = Some(format!(
                        "there are more statements and values than {} MiB hold",
                        MOST_KEPT >> 20
                    ));
                    shape = StatementShape::default();
                    known = key(text.clone(), reason.clone(), &shape);
                }
            }
        }
        let database = executions.database.clone();
        let statement = self.statements.entry(known).or_insert_with(|| CapturedStatement {
            database,
            key: text,
            shape,
            reason,
            is_bound: executions.is_bound,
            calls: 0,
            seconds: 0.0,
            rows: None,
            sets: Vec::new(),
            seen: 0,
        });
        statement.add(executions, values, &mut self.random, &mut self.room);
    }

    pub(super) fn into_statements(self) -> Vec<CapturedStatement> {
        self.statements.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_has_bounds() {
        let mut collector = Collector::new(Dialect::POSTGRES);
        let add = |collector: &mut Collector, text: String| {
            collector.add(&CapturedExecutions::one(text));
        };
        add(&mut collector, format!("select '{}'", "a".repeat(MOST_TEXT)));
        add(&mut collector, format!("select 1{}", ", 2".repeat(MOST_PLACES)));
        add(&mut collector, "alter role app password 'secret'".to_string());
        add(&mut collector, "select a from t where b = 'c'".to_string());
        collector.room = 2;
        // Neither a statement nor a set of values has room.
        add(&mut collector, "select other from t".to_string());
        add(&mut collector, "select a from t where b = 'd'".to_string());
        let found = collector.into_statements();
        let found: Vec<_> =
            found.iter().map(|it| (it.key.as_str(), it.reason.as_deref(), it.calls)).collect();
        assert_eq!(
            found,
            [
                ("alter", Some("it changes the schema"), 1),
                ("select", Some("it has more than 10000 values"), 1),
                ("select", Some("it is longer than 1 MiB"), 1),
                ("select", Some("there are more statements and values than 256 MiB hold"), 1),
                ("select a from t where b = '…'", None, 2),
            ]
        );
    }

    #[test]
    fn executions_of_one_statement_are_put_together_with_their_values() {
        let mut collector = Collector::new(Dialect::POSTGRES);
        for id in 0..3000 {
            let seconds = 0.5;
            let text = format!("select * from t where id = {id}");
            collector.add(&CapturedExecutions { seconds, ..CapturedExecutions::one(text) });
        }
        collector.add(&CapturedExecutions::one("select * from t where id = 'a'".to_string()));
        let parameters = vec![KnownValue::Value("7".to_string())];
        let text = "select * from t where id = $1".to_string();
        collector.add(&CapturedExecutions { parameters, ..CapturedExecutions::one(text) });
        let found = collector.into_statements();
        let calls: Vec<(&str, u64)> =
            found.iter().map(|one| (one.key.as_str(), one.calls)).collect();
        assert_eq!(
            calls,
            [
                ("select * from t where id = $1", 1),
                ("select * from t where id = '…'", 1),
                ("select * from t where id = …", 3000)
            ],
            "a parameter, a text and a number are not the same"
        );
        assert_eq!(found[0].sets, [[KnownValue::Value("7".to_string())]]);
        assert_eq!((found[2].seconds, found[2].sets.len()), (1500.0, MOST_SETS));
        let late = |set: &&Vec<KnownValue>| matches!(&set[0], KnownValue::Value(id) if id.len() == 4 && id.as_str() >= "2000");
        let late = found[2].sets.iter().filter(late).count();
        assert!((200..470).contains(&late), "a third of the sets is of the last third: {late}");
    }
}
