//! Executions as a source tells of them, put together by statement.

use std::collections::BTreeMap;

use rand::RngExt;
use rqps_dbms::{Dialect, Lexis};

use super::left_out::reason_to_leave_out;
use super::shape::{StatementShape, shape};
use crate::random::{Random, stream};

/// Sets of values that are kept of a statement, drawn at random from all that were seen.
const MOST_SETS: usize = 1000;
/// … and values in all of these: an INSERT may have thousands.
const MOST_VALUES: usize = 100_000;

/// A value of an execution, as far as the source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KnownValue {
    Value(String),
    Null,
    Unknown,
}

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

    fn add(&mut self, of: &CapturedExecutions, values: Vec<KnownValue>, random: &mut Random) {
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
        if self.sets.len() < most {
            self.sets.push(values);
        } else {
            let place = random.random_range(0..self.seen) as usize;
            if let Some(kept) = self.sets.get_mut(place) {
                *kept = values;
            }
        }
    }
}

/// Collects what a source tells.
pub(super) struct Collector {
    pub(super) dialect: Dialect,
    /// By database, shape and reason.
    statements: BTreeMap<(Option<String>, String, Option<String>), CapturedStatement>,
    random: Random,
}

impl Collector {
    pub(super) fn new(dialect: Dialect) -> Collector {
        Collector { dialect, statements: BTreeMap::new(), random: stream(1, &[]) }
    }

    pub(super) fn lexis(&self) -> Lexis {
        self.dialect.lexis
    }

    pub(super) fn add(&mut self, executions: &CapturedExecutions) {
        let (shape, mut values) = shape(&executions.text, self.lexis());
        for (value, place) in values.iter_mut().zip(&shape.places) {
            if let Some(known) = place.parameter().and_then(|it| executions.parameters.get(it)) {
                *value = known.clone();
            }
        }
        let reason = executions.defect.clone();
        let reason = reason.or_else(|| reason_to_leave_out(&shape, self.lexis()));
        let key = (executions.database.clone(), shape.key(), reason);
        let (database, text, reason) = key.clone();
        let statement = self.statements.entry(key).or_insert_with(|| CapturedStatement {
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
        statement.add(executions, values, &mut self.random);
    }

    pub(super) fn into_statements(self) -> Vec<CapturedStatement> {
        self.statements.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
