//! Blocking connections for the hot path: one thread, one connection, no async runtime, no
//! allocation per operation. Rows are received whole and not decoded, except by
//! [`Connection::query`], which is for control work, and by [`Connection::visit`].
//!
//! The purpose of these clients is a known user-space cost per prepared point query; see
//! `benches/`.

mod address;
mod certificate;
mod connect;
mod error;
mod lift;
mod login;
pub mod mysql;
mod parameters;
mod patience;
mod pem;
pub mod postgres;
pub mod rocksdb;
mod rows;
mod scripted;
mod socket;
mod sqlite;
mod tls;
mod tls_parameters;
mod unload;
mod url;
mod visit;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;

pub use address::Address;
pub use error::{Error, ErrorClass};
pub use lift::lift;
pub use login::{ChannelBinding, Login, ServerKey, Terms};
pub use patience::tell_of_waiting;
pub use rocksdb::RocksdbHost;
pub use rows::FetchedRows;
pub use rqps_system::{Cancel, Cancelled};
pub use scripted::{ResultRows, Scripted, TextValues, Texted, TransactionBlock};
pub use sqlite::{SqliteInterrupt, SqliteLibrary};
pub use tls_parameters::{Authorities, Check, Identity, Need, Tls, Version};
use unload::unload_visited;
pub use visit::{ColumnKind, Field, ResultColumn, RowVisitor};

/// The target of a connection; cloned for every connection that a workload opens.
#[derive(Clone, Debug)]
pub enum Target {
    Postgres(Login),
    /// MySQL or MariaDB.
    Mysql(Login),
    /// A database file, and the pragmas that every connection sets.
    Sqlite {
        library: SqliteLibrary,
        path: PathBuf,
        pragmas: Vec<(String, String)>,
    },
    /// A process of rqps's own with a database.
    Rocksdb(RocksdbHost),
}

impl Target {
    pub fn connect(&self) -> Result<Box<dyn Connection>, Error> {
        match self {
            Target::Postgres(login) => Ok(Box::new(postgres::Postgres::connect(login)?)),
            Target::Mysql(login) => Ok(Box::new(mysql::Mysql::connect(login)?)),
            Target::Sqlite { library, path, pragmas } => {
                Ok(Box::new(sqlite::Sqlite::open(*library, path, pragmas)?))
            }
            Target::Rocksdb(host) => Ok(Box::new(rocksdb::RocksdbConnection::connect(host)?)),
        }
    }
}

/// The type a statement's parameter is declared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    Int4,
    Int8,
    Varchar,
    /// The server finds the type; values are text, as it writes them.
    Inferred,
}

/// A parameter's value; integers are sent in the width that the statement declared.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Int(i64),
    Text(&'a [u8]),
    Null,
}

/// A statement that this connection has prepared; valid only there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Statement(usize);

/// A row of text for control work; SQL NULL is `None`.
pub type Row = Vec<Option<String>>;

pub trait Connection: Send {
    /// Sends one statement as text and receives its whole result. Returns the number of rows
    /// returned or changed.
    fn run(&mut self, sql: &str) -> Result<u64, Error>;

    /// Sends one statement as text and decodes its rows. For control work, not for the hot path.
    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error>;

    /// Prepares a statement with placeholders in the DBMS's own notation.
    fn prepare(&mut self, sql: &str, parameters: &[Type]) -> Result<Statement, Error>;

    /// Gives a prepared statement up, in the server, too. It must not be executed any more.
    fn close(&mut self, _statement: Statement) -> Result<(), Error> {
        Ok(())
    }

    /// Executes a prepared statement and receives its whole result. Returns the number of rows
    /// returned or changed.
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error>;

    /// The same, with its rows decoded for a visitor, which costs allocations for each of them.
    fn visit(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error>;

    /// The same, with its rows for a client that needs their values.
    fn fetch(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        rows: &mut FetchedRows,
    ) -> Result<u64, Error> {
        rows.clear();
        self.visit(statement, values, rows)
    }

    /// An empty exchange with the server, to measure the way there; nothing if there is none.
    fn ping(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// How the client reached the DBMS, for results.
    fn transport(&self) -> &'static str;

    /// Adds rows to a table by the fastest means that the DBMS has. Each row is a line of text,
    /// ended by a line feed, with its fields between tabs; no field holds a tab, a line feed, a
    /// backslash or a quote. The names go into SQL as they are. Returns the number of added rows.
    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error>;

    /// Executes a `COPY … FROM STDIN` with the rows that a reader has, as the statement wants them.
    /// They are not held in memory. Returns the number of added rows.
    fn copy_in(&mut self, _sql: &str, _rows: &mut dyn Read) -> Result<u64, Error> {
        Err(Error::Client("only Postgres copies rows from its client".to_string()))
    }

    /// Writes the rows of a query as lines of comma-separated values: NULL is `\N`, and everything
    /// else is in quotes. Returns the number of rows. After an error the connection is of no use.
    fn unload(&mut self, query: &str, to: &mut dyn Write) -> Result<u64, Error> {
        unload_visited(self, query, to)
    }

    /// A handle with which another thread can end a call that blocks.
    fn interrupter(&self) -> Result<Interrupter, Error>;

    /// The same for a client of a benchmark: the holder of the handle ensures that nothing blocks
    /// for ever. From now on the connection waits without checking for cancellation, which costs
    /// time.
    fn hand_over(&self) -> Result<Interrupter, Error> {
        self.interrupter()
    }

    /// The same session for scripts, where the protocol has what they need.
    fn scripted(&mut self) -> Option<&mut dyn Scripted> {
        None
    }

    /// An error if cancelled: for loops that poll a server until it has done something.
    fn check(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// The single value of a query that has one.
pub fn scalar(connection: &mut dyn Connection, sql: &str) -> Result<Option<String>, Error> {
    Ok(connection.query(sql)?.into_iter().next().and_then(|row| row.into_iter().next().flatten()))
}

/// The result of a query that a server may deny or not know: none then. A lost connection is still
/// an error.
pub fn query_if_allowed(
    connection: &mut dyn Connection,
    sql: &str,
) -> Result<Option<Vec<Row>>, Error> {
    match connection.query(sql) {
        Err(Error::Server { class: ErrorClass::Stop, .. }) => Ok(None),
        answer => answer.map(Some),
    }
}

/// Ends a call that blocks, from another thread.
pub enum Interrupter {
    /// The socket of a server, and how the server is asked to end what it executes for it.
    Server(OwnedFd, StatementCancel),
    /// A socket alone.
    Socket(OwnedFd),
    Sqlite(SqliteInterrupt),
}

/// Asks a server over another connection.
pub type StatementCancel = Box<dyn Fn() -> Result<(), Error> + Send + Sync>;

impl Interrupter {
    /// Ends the statement alone. A server does not notice that its client has gone before it sends
    /// rows, and goes on until then, so this comes before [`Interrupter::interrupt`].
    pub fn cancel_statement(&self) {
        match self {
            Interrupter::Server(_, cancel) => {
                // The connection is closed soon if this does not help.
                let _ = cancel();
            }
            Interrupter::Socket(_) => {}
            Interrupter::Sqlite(handle) => handle.interrupt(),
        }
    }

    /// Ends the call; the connection is unusable afterwards.
    pub fn interrupt(&self) {
        match self {
            // A socket that is already closed needs nothing.
            Interrupter::Server(socket, _) | Interrupter::Socket(socket) => {
                let _ = rustix::net::shutdown(socket, rustix::net::Shutdown::Both);
            }
            Interrupter::Sqlite(handle) => handle.interrupt(),
        }
    }
}
