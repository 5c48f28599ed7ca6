//! The SQLite that is part of this binary. The client and the DBMS share the calling thread.

use std::path::Path;
use std::time::Duration;

use rusqlite::types::ToSqlOutput;
use rusqlite::{OpenFlags, ToSql, Transaction, TransactionBehavior, ffi};
use self_cell::self_cell;

use crate::error::{Class, Error};
use crate::{Connection, Interrupter, Row, Statement, Type, Value};

/// How long a writer waits for another before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// SQLite's own back-off sleeps up to 100 ms between looks at a lock, which would make one writer
/// starve another; this is about the time of a small transaction.
const LOOK_AGAIN: Duration = Duration::from_micros(100);

pub(crate) struct Sqlite(Owned);

type Statements<'a> = Vec<rusqlite::Statement<'a>>;

self_cell!(
    /// A connection with the statements that borrow from it.
    struct Owned {
        owner: rusqlite::Connection,
        #[covariant]
        dependent: Statements,
    }
);

// SAFETY: the statements borrow from the connection that they are owned with and are never handed
// out, so all of them move to another thread together, and `&mut self` keeps them on one thread at
// a time. SQLite is built in its serialized mode, which allows exactly that.
unsafe impl Send for Sqlite {}

impl Sqlite {
    pub(crate) fn open(path: &Path, pragmas: &[(String, String)]) -> Result<Self, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = rusqlite::Connection::open_with_flags(path, flags).map_err(failure)?;
        connection.busy_handler(Some(wait_for_lock)).map_err(failure)?;
        let mut sqlite = Sqlite(Owned::new(connection, |_| Vec::new()));
        for (name, value) in pragmas {
            // Some pragmas answer with a row and some do not.
            sqlite.query(&format!("pragma {name} = {value}"))?;
        }
        Ok(sqlite)
    }
}

fn wait_for_lock(attempts: i32) -> bool {
    std::thread::sleep(LOOK_AGAIN);
    LOOK_AGAIN * attempts.unsigned_abs() < PATIENCE
}

impl Connection for Sqlite {
    fn run(&mut self, sql: &str) -> Result<u64, Error> {
        step_through(&mut self.0.borrow_owner().prepare(sql).map_err(failure)?, &[])
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let mut statement = self.0.borrow_owner().prepare(sql).map_err(failure)?;
        let columns = statement.column_count();
        let mut rows = statement.raw_query();
        let mut found = Vec::new();
        while let Some(row) = rows.next().map_err(failure)? {
            let fields = (0..columns).map(|column| row.get_ref(column).map(text));
            found.push(fields.collect::<Result<Row, _>>().map_err(failure)?);
        }
        Ok(found)
    }

    fn prepare(&mut self, sql: &str, _parameters: &[Type]) -> Result<Statement, Error> {
        self.0.with_dependent_mut(|connection, statements| {
            statements.push(connection.prepare(sql).map_err(failure)?);
            Ok(Statement(statements.len() - 1))
        })
    }

    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error> {
        self.0
            .with_dependent_mut(|_, statements| step_through(&mut statements[statement.0], values))
    }

    fn transport(&self) -> &'static str {
        "in process"
    }

    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = format!("insert into {table} ({}) values ({marks})", columns.join(", "));
        let transaction =
            Transaction::new_unchecked(self.0.borrow_owner(), TransactionBehavior::Immediate)
                .map_err(failure)?;
        let mut count = 0;
        {
            let mut statement = transaction.prepare(&insert).map_err(failure)?;
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                for (index, field) in line.split(|byte| *byte == b'\t').enumerate() {
                    statement.raw_bind_parameter(index + 1, Value::Text(field)).map_err(failure)?;
                }
                count += statement.raw_execute().map_err(failure)? as u64;
            }
        }
        transaction.commit().map_err(failure)?;
        Ok(count)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Sqlite(self.0.borrow_owner().get_interrupt_handle()))
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(match self {
            Value::Int(value) => ToSqlOutput::from(*value),
            Value::Text(text) => ToSqlOutput::Borrowed(rusqlite::types::ValueRef::Text(text)),
        })
    }
}

/// Steps a statement to its end; answers the rows returned, or else those changed.
fn step_through(
    statement: &mut rusqlite::Statement<'_>,
    values: &[Value<'_>],
) -> Result<u64, Error> {
    for (index, value) in values.iter().enumerate() {
        statement.raw_bind_parameter(index + 1, value).map_err(failure)?;
    }
    if statement.column_count() == 0 {
        return statement.raw_execute().map(|changed| changed as u64).map_err(failure);
    }
    let mut rows = statement.raw_query();
    let mut count = 0;
    while rows.next().map_err(failure)?.is_some() {
        count += 1;
    }
    Ok(count)
}

fn text(value: rusqlite::types::ValueRef<'_>) -> Option<String> {
    use rusqlite::types::ValueRef::{Blob, Integer, Null, Real, Text};
    match value {
        Null => None,
        Integer(value) => Some(value.to_string()),
        Real(value) => Some(value.to_string()),
        Text(bytes) | Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

#[cold]
fn failure(error: rusqlite::Error) -> Error {
    match &error {
        rusqlite::Error::SqliteFailure(code, _) if code.extended_code == ffi::SQLITE_INTERRUPT => {
            Error::Interrupted
        }
        rusqlite::Error::SqliteFailure(code, message) => {
            let busy =
                matches!(code.code, ffi::ErrorCode::DatabaseBusy | ffi::ErrorCode::DatabaseLocked);
            Error::Server {
                code: code.extended_code.to_string(),
                message: message.clone().unwrap_or_else(|| code.to_string()),
                class: if busy { Class::Retry } else { Class::Stop },
            }
        }
        other => Error::Server {
            code: "rusqlite".to_string(),
            message: other.to_string(),
            class: Class::Stop,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn database() -> (tempfile::TempDir, Sqlite) {
        let directory = tempfile::tempdir().unwrap();
        let mut sqlite = Sqlite::open(&directory.path().join("db"), &[]).unwrap();
        sqlite.run("create table t (id integer primary key, v text)").unwrap();
        (directory, sqlite)
    }

    #[test]
    fn rows_changed_and_rows_returned_are_counted() {
        let (_directory, mut sqlite) = database();
        assert_eq!(sqlite.run("insert into t (v) values ('a'), ('b'), ('c')").unwrap(), 3);
        let select = sqlite.prepare("select v from t where id >= ?", &[Type::Int8]).unwrap();
        assert_eq!(sqlite.execute(select, &[Value::Int(2)]).unwrap(), 2);
        assert_eq!(sqlite.execute(select, &[Value::Int(9)]).unwrap(), 0);
        let delete = sqlite.prepare("delete from t where v = ?", &[Type::Varchar]).unwrap();
        assert_eq!(sqlite.execute(delete, &[Value::Text(b"b")]).unwrap(), 1);
    }

    #[test]
    fn lines_are_loaded_whole_or_not_at_all() {
        let (_directory, mut sqlite) = database();
        assert_eq!(sqlite.load("t", &["id", "v"], b"7\tseven\n9\t\n").unwrap(), 2);
        let rows = sqlite.query("select id, typeof(id), v from t order by id").unwrap();
        let text = |text: &str| Some(text.to_string());
        assert_eq!(rows[0], [text("7"), text("integer"), text("seven")]);
        assert_eq!(rows[1], [text("9"), text("integer"), text("")]);
        assert!(sqlite.load("t", &["id", "v"], b"1\tone\n7\tagain\n").is_err());
        assert_eq!(sqlite.query("select * from t").unwrap().len(), 2);
    }

    #[test]
    fn control_queries_decode_text_and_null() {
        let (_directory, mut sqlite) = database();
        let rows = sqlite.query("select 1, 'x', null").unwrap();
        assert_eq!(rows, [vec![Some("1".to_string()), Some("x".to_string()), None]]);
    }

    #[test]
    fn a_refused_statement_stops_and_an_interrupted_one_says_so() {
        let (_directory, mut sqlite) = database();
        assert_eq!(sqlite.run("select * from nowhere").unwrap_err().class(), Class::Stop);
        let interrupter = sqlite.interrupter().unwrap();
        let endless = "with recursive c(x) as (select 1 union all select x + 1 from c) \
                       select count(*) from c";
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Again and again: nothing is interrupted by a word that comes before it begins.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                    interrupter.interrupt();
                }
            });
            assert!(matches!(sqlite.run(endless), Err(Error::Interrupted)));
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_second_writer_waits_for_the_first() {
        let (directory, mut first) = database();
        let mut second = Sqlite::open(&directory.path().join("db"), &[]).unwrap();
        first.run("begin immediate").unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || second.run("insert into t (v) values ('late')"));
            std::thread::sleep(Duration::from_millis(30));
            first.run("commit").unwrap();
            assert_eq!(waiting.join().unwrap().unwrap(), 1);
        });
    }
}
