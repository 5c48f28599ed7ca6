//! SQLite inside this process: the client and the DBMS share the calling thread.

mod library;
mod visit;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{self, NonNull};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rqps_system::Cancelled;
use rusqlite::ffi;

use crate::error::{Error, ErrorClass};
use crate::{Connection, Field, Interrupter, Row, RowVisitor, Statement, Type, Value};
use library::Functions;
pub use library::SqliteLibrary;

/// How long a writer waits for another before it gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// SQLite's own back-off sleeps up to 100 ms between attempts to take a lock, so that one writer
/// could starve another; this is about the time of a small transaction.
const LOOK_AGAIN: Duration = Duration::from_micros(100);

/// A connection with its statements.
pub(crate) struct Sqlite {
    functions: &'static Functions,
    database: NonNull<ffi::sqlite3>,
    /// Finalized before the connection is closed.
    statements: Vec<Compiled>,
    /// The same connection for interrupts from other threads; none once it is closed.
    shared: Arc<Mutex<Shared>>,
}

// SAFETY: SQLite is built in its serialized mode, in which connections and statements may be used
// by any thread; `&mut self` keeps them on one at a time.
unsafe impl Send for Sqlite {}

struct Shared(Option<NonNull<ffi::sqlite3>>);

// SAFETY: it is only used to interrupt the connection, which any thread may do while it is open;
// the mutex guarantees that.
unsafe impl Send for Shared {}

/// Interrupts the work of a connection, if it is open.
pub struct SqliteInterrupt {
    functions: &'static Functions,
    shared: Arc<Mutex<Shared>>,
}

impl SqliteInterrupt {
    pub(crate) fn interrupt(&self) {
        let shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(database) = shared.0 {
            // SAFETY: the connection is open, and is not closed while the lock is held.
            unsafe { (self.functions.sqlite3_interrupt)(database.as_ptr()) };
        }
    }
}

/// SQL reaches no file but its database: SQLite runs with rqps's own rights, and statements may
/// be a user's, or come with a folder from elsewhere. ATTACH and VACUUM INTO name a file; a plain
/// VACUUM attaches one without a name. Two pragmas name folders, for all connections of rqps.
unsafe extern "C" fn within(
    _: *mut c_void,
    action: c_int,
    name: *const c_char,
    _: *const c_char,
    _: *const c_char,
    _: *const c_char,
) -> c_int {
    let name = match name.is_null() {
        true => None,
        // SAFETY: SQLite passes null or a text that ends with a zero.
        false => Some(unsafe { CStr::from_ptr(name) }.to_bytes()),
    };
    let is_folder = || {
        let folders: [&[u8]; 2] = [b"temp_store_directory", b"data_store_directory"];
        name.is_some_and(|name| folders.iter().any(|one| name.eq_ignore_ascii_case(one)))
    };
    match action {
        ffi::SQLITE_ATTACH if name != Some(b"") => ffi::SQLITE_DENY,
        ffi::SQLITE_PRAGMA if is_folder() => ffi::SQLITE_DENY,
        _ => ffi::SQLITE_OK,
    }
}

/// A statement that SQLite has compiled.
struct Compiled {
    functions: &'static Functions,
    /// Null for one that holds no SQL, such as a comment.
    statement: *mut ffi::sqlite3_stmt,
    columns: c_int,
}

impl Drop for Compiled {
    fn drop(&mut self) {
        // SAFETY: it was prepared by these functions, and its connection is still open. Null is a
        // no-op. The result is the error of the last step, which was reported.
        unsafe { (self.functions.sqlite3_finalize)(self.statement) };
    }
}

/// The result of a step.
#[derive(PartialEq, Eq)]
enum Step {
    Row,
    Done,
}

impl Sqlite {
    pub(crate) fn open(
        library: SqliteLibrary,
        path: &Path,
        pragmas: &[(String, String)],
    ) -> Result<Self, Error> {
        let functions = library.0;
        let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
            let message = format!("'{}' is not a valid file name", path.display());
            return Err(Error::Server {
                code: "path".to_string(),
                message,
                class: ErrorClass::Stop,
            });
        };
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE;
        let mut database = ptr::null_mut();
        // SAFETY: the name ends with a zero, and the answer has a place.
        let code = unsafe {
            (functions.sqlite3_open_v2)(name.as_ptr(), &mut database, flags, ptr::null())
        };
        let Some(database) = NonNull::new(database) else {
            let message = "SQLite is out of memory for a connection".to_string();
            return Err(Error::Server { code: code.to_string(), message, class: ErrorClass::Stop });
        };
        let shared = Arc::new(Mutex::new(Shared(Some(database))));
        let mut sqlite = Sqlite { functions, database, statements: Vec::new(), shared };
        // From here on, dropping `sqlite` closes the database.
        sqlite.check(code)?;
        // SAFETY: the connection is open, and the handlers need no data.
        let codes = unsafe {
            let database = database.as_ptr();
            [
                (functions.sqlite3_extended_result_codes)(database, 1),
                (functions.sqlite3_busy_handler)(database, Some(wait_for_lock), ptr::null_mut()),
                (functions.sqlite3_set_authorizer)(database, Some(within), ptr::null_mut()),
            ]
        };
        codes.into_iter().try_for_each(|code| sqlite.check(code))?;
        for (name, value) in pragmas {
            // Some pragmas answer with a row and some do not.
            let pragma = format!("pragma {name} = {value}");
            sqlite.query(&pragma).map_err(|error| match error {
                Error::Server { code, message, class } => {
                    Error::Server { code, message: format!("{message}, in {pragma}"), class }
                }
                other => other,
            })?;
        }
        Ok(sqlite)
    }

    fn check(&self, code: c_int) -> Result<(), Error> {
        match code {
            ffi::SQLITE_OK => Ok(()),
            _ => Err(self.failure()),
        }
    }

    /// The last error.
    #[cold]
    fn failure(&self) -> Error {
        let database = self.database.as_ptr();
        // SAFETY: the connection is open, and the text is copied before it is used again.
        let (code, message) = unsafe {
            let code = (self.functions.sqlite3_extended_errcode)(database);
            (code, CStr::from_ptr((self.functions.sqlite3_errmsg)(database)).to_string_lossy())
        };
        // The last byte of the extended code is the primary code.
        match code & 0xff {
            ffi::SQLITE_INTERRUPT => Error::Interrupted(Cancelled),
            primary => Error::Server {
                code: code.to_string(),
                message: message.into_owned(),
                class: match primary {
                    ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED => ErrorClass::Retry,
                    _ => ErrorClass::Stop,
                },
            },
        }
    }

    fn compile(&self, sql: &str) -> Result<Compiled, Error> {
        let functions = self.functions;
        let Ok(length) = c_int::try_from(sql.len()) else {
            let message = format!("a statement of {} bytes is too long", sql.len());
            return Err(Error::Server {
                code: "length".to_string(),
                message,
                class: ErrorClass::Stop,
            });
        };
        let mut statement = ptr::null_mut();
        // SAFETY: the connection is open, the length of the text is right, and the rest after the
        // first statement is not requested.
        let code = unsafe {
            let (database, text) = (self.database.as_ptr(), sql.as_ptr().cast());
            (functions.sqlite3_prepare_v2)(database, text, length, &mut statement, ptr::null_mut())
        };
        self.check(code)?;
        // SAFETY: of a statement that was just prepared, or of null, which has none.
        let columns = unsafe { (functions.sqlite3_column_count)(statement) };
        Ok(Compiled { functions, statement, columns })
    }

    #[inline]
    fn bind(&self, prepared: &Compiled, index: usize, value: Value<'_>) -> Result<(), Error> {
        let (functions, statement) = (self.functions, prepared.statement);
        let index = index as c_int;
        let code = match value {
            // SAFETY: the statement is this connection's; SQLite checks whether it has such a
            // parameter.
            Value::Int(value) => unsafe { (functions.sqlite3_bind_int64)(statement, index, value) },
            // SAFETY: as above.
            Value::Null => unsafe { (functions.sqlite3_bind_null)(statement, index) },
            Value::Text(text) => {
                let length = text.len() as c_int;
                // SAFETY: as above; the length of the text is right, and it is copied.
                unsafe {
                    let (text, copied) = (text.as_ptr().cast(), ffi::SQLITE_TRANSIENT());
                    (functions.sqlite3_bind_text)(statement, index, text, length, copied)
                }
            }
        };
        self.check(code)
    }

    #[inline]
    fn step(&self, prepared: &Compiled) -> Result<Step, Error> {
        // SAFETY: the statement is this connection's.
        match unsafe { (self.functions.sqlite3_step)(prepared.statement) } {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            _ => {
                let failure = self.failure();
                self.reset(prepared);
                Err(failure)
            }
        }
    }

    /// Resets it. The result is the error of the last step, which was reported.
    #[inline]
    fn reset(&self, prepared: &Compiled) {
        // SAFETY: the statement is this connection's.
        unsafe { (self.functions.sqlite3_reset)(prepared.statement) };
    }

    /// Steps a statement to its end; returns the number of rows returned, or else changed.
    fn step_through(&self, prepared: &Compiled, values: &[Value<'_>]) -> Result<u64, Error> {
        if prepared.statement.is_null() {
            return Ok(0);
        }
        for (index, value) in values.iter().enumerate() {
            self.bind(prepared, index + 1, *value)?;
        }
        let mut count = 0;
        while self.step(prepared)? == Step::Row {
            count += 1;
        }
        self.reset(prepared);
        Ok(match prepared.columns {
            // SAFETY: the connection is open.
            0 => (unsafe { (self.functions.sqlite3_changes)(self.database.as_ptr()) }) as u64,
            _ => count,
        })
    }

    /// A field of the current row of a statement, as text.
    fn field(&self, prepared: &Compiled, column: c_int) -> Option<String> {
        match self.value(prepared, column) {
            Field::Null => None,
            Field::Int(value) => Some(value.to_string()),
            Field::Float(value) => Some(value.to_string()),
            Field::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        }
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        self.statements.clear();
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.0 = None;
        // SAFETY: it is open, has no statements any more, and is not used after this.
        unsafe { (self.functions.sqlite3_close)(self.database.as_ptr()) };
    }
}

unsafe extern "C" fn wait_for_lock(_: *mut c_void, attempts: c_int) -> c_int {
    std::thread::sleep(LOOK_AGAIN);
    c_int::from(LOOK_AGAIN * attempts.unsigned_abs() < PATIENCE)
}

impl Connection for Sqlite {
    fn run(&mut self, sql: &str) -> Result<u64, Error> {
        self.step_through(&self.compile(sql)?, &[])
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        let prepared = self.compile(sql)?;
        let mut found = Vec::new();
        while !prepared.statement.is_null() && self.step(&prepared)? == Step::Row {
            found.push((0..prepared.columns).map(|at| self.field(&prepared, at)).collect());
        }
        Ok(found)
    }

    fn prepare(&mut self, sql: &str, _parameters: &[Type]) -> Result<Statement, Error> {
        let prepared = self.compile(sql)?;
        self.statements.push(prepared);
        Ok(Statement(self.statements.len() - 1))
    }

    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error> {
        self.step_through(&self.statements[statement.0], values)
    }

    fn visit(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        self.visited(&self.statements[statement.0], values, visitor)
    }

    fn transport(&self) -> &'static str {
        "in process"
    }

    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        let marks = vec!["?"; columns.len()].join(", ");
        let insert = format!("insert into {table} ({}) values ({marks})", columns.join(", "));
        self.run("begin immediate")?;
        let inserted = self.compile(&insert).and_then(|prepared| {
            let mut count = 0;
            for line in lines.split_inclusive(|byte| *byte == b'\n') {
                let line = line.strip_suffix(b"\n").unwrap_or(line);
                for (index, field) in line.split(|byte| *byte == b'\t').enumerate() {
                    self.bind(&prepared, index + 1, Value::Text(field))?;
                }
                count += self.step_through(&prepared, &[])?;
            }
            Ok(count)
        });
        let ended = inserted.and_then(|count| self.run("commit").map(|_| count));
        if ended.is_err() {
            // SQLite may have ended the transaction already.
            let _ = self.run("rollback");
        }
        ended
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        let (functions, shared) = (self.functions, self.shared.clone());
        Ok(Interrupter::Sqlite(SqliteInterrupt { functions, shared }))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn database() -> (tempfile::TempDir, Sqlite) {
        let directory = tempfile::tempdir().unwrap();
        let mut sqlite =
            Sqlite::open(SqliteLibrary::bundled(), &directory.path().join("db"), &[]).unwrap();
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
        let of_null = sqlite.prepare("select v from t where ? is null", &[Type::Inferred]).unwrap();
        assert_eq!(sqlite.execute(of_null, &[Value::Text(b"")]).unwrap(), 0);
        assert_eq!(sqlite.execute(of_null, &[Value::Null]).unwrap(), 2);
    }

    #[test]
    fn statements_reach_no_other_file() {
        let (directory, mut sqlite) = database();
        let other = directory.path().join("other");
        for sql in [
            "attach 'F' as o",
            "vacuum into 'F'",
            "vacuum main into 'F'",
            "attach 'F'||'' as o",
            "pragma temp_store_directory = 'F'",
            "pragma Temp_Store_Directory = ''",
            "pragma data_store_directory = 'F'",
        ] {
            let error = sqlite.run(&sql.replace('F', &other.display().to_string())).unwrap_err();
            // SQLITE_AUTH
            assert!(error.to_string().ends_with("(23)"), "{sql}: {error}");
        }
        assert!(!other.exists());
        sqlite.run("vacuum").unwrap();
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
        assert_eq!(sqlite.run("select * from nowhere").unwrap_err().class(), ErrorClass::Stop);
        let interrupter = sqlite.interrupter().unwrap();
        let endless = "with recursive c(x) as (select 1 union all select x + 1 from c) \
                       select count(*) from c";
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            // Repeatedly, since an interrupt before the start has no effect.
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    std::thread::sleep(Duration::from_millis(10));
                    interrupter.interrupt();
                }
            });
            assert!(matches!(sqlite.run(endless), Err(Error::Interrupted(_))));
            is_over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_second_writer_waits_for_the_first() {
        let (directory, mut first) = database();
        let mut second =
            Sqlite::open(SqliteLibrary::bundled(), &directory.path().join("db"), &[]).unwrap();
        first.run("begin immediate").unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || second.run("insert into t (v) values ('late')"));
            std::thread::sleep(Duration::from_millis(30));
            first.run("commit").unwrap();
            assert_eq!(waiting.join().unwrap().unwrap(), 1);
        });
    }
}
