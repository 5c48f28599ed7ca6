//! PostgreSQL, protocol 3.0: `postgres-protocol` for messages off the hot path, and on it a Bind
//! that is written in place and answers that are skimmed without being decoded.

mod copy;
mod files;
mod message;
mod parameters;
mod scripted;
mod startup;
mod unload;
mod visit;

use std::io::{Read, Write};
use std::os::fd::OwnedFd;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::{DataRowBody, ErrorFields, ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

use crate::error::{Error, ErrorClass};
use crate::lift::lift;
use crate::login::Login;
use crate::parameters::Environment;
use crate::socket::Socket;
use crate::{Connection, Interrupter, Row, RowVisitor, Scripted, Statement, Type, Value, scalar};
use message::{HEAD, decode, next_decoded, next_message, skip_rows, split_message};
use scripted::Pipeline;
use startup::CancelKey;

/// Reads a `postgres://` URL; what it omits is taken from the sources that libpq uses.
pub fn login(url: &str) -> Result<Login, Error> {
    parameters::login(url, &Environment::of_process())
}

pub struct Postgres {
    socket: Socket,
    /// Where and how its statements are cancelled.
    login: Login,
    key: CancelKey,
    /// Reused for every message that is sent off the hot path.
    out: BytesMut,
    statements: Vec<Prepared>,
    pipeline: Pipeline,
}

#[derive(Default)]
struct Prepared {
    types: Vec<Type>,
    /// Its last execution as sent. The next one overwrites the bytes after the header.
    execution: Vec<u8>,
    /// The length of the beginning of every Bind of this statement: type, room for the length,
    /// unnamed portal, statement name, all parameters binary.
    head: usize,
}

impl Prepared {
    /// The bytes of an execution that ends with these, of which the first belong to the Bind.
    #[inline(always)]
    fn bind(&mut self, values: &[Value<'_>], tail: &[u8]) -> &[u8] {
        let Prepared { types, execution: out, head } = self;
        assert_eq!(values.len(), types.len(), "as many values as declared parameters");
        out.truncate(*head);
        for (value, declared) in values.iter().zip(types.iter()) {
            match (value, declared) {
                (Value::Int(value), Type::Int4) => {
                    let mut field = [0, 0, 0, 4, 0, 0, 0, 0];
                    field[4..].copy_from_slice(&(*value as i32).to_be_bytes());
                    out.extend_from_slice(&field);
                }
                (Value::Int(value), _) => {
                    let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
                    field[4..].copy_from_slice(&value.to_be_bytes());
                    out.extend_from_slice(&field);
                }
                (Value::Text(text), _) => {
                    out.extend_from_slice(&(text.len() as u32).to_be_bytes());
                    out.extend_from_slice(text);
                }
                (Value::Null, _) => out.extend_from_slice(&(-1_i32).to_be_bytes()),
            }
        }
        // The type does not count.
        let length = (out.len() + BIND_TAIL - 1) as u32;
        out[1..5].copy_from_slice(&length.to_be_bytes());
        out.extend_from_slice(tail);
        out
    }
}

/// The end of every execution: results binary, the last of the Bind; Execute without a row limit,
/// Sync.
const TAIL: [u8; BIND_TAIL + 15] = [0, 1, 0, 1, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];
/// How much of it belongs to the Bind.
const BIND_TAIL: usize = 4;

impl Postgres {
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let (socket, key) = startup::log_in(login)?;
        let (out, statements) = (BytesMut::with_capacity(8 << 10), Vec::new());
        let (login_again, pipeline) = (login.clone(), Pipeline::default());
        let mut connection =
            Postgres { socket, login: login_again, key, out, statements, pipeline };
        for sql in &login.setup {
            lift(&mut connection, sql)?;
        }
        if login.terms.is_writable {
            connection.check_that_it_writes(login)?;
        }
        Ok(connection)
    }

    /// The handle that ends what this socket waits for.
    fn handle(&self, socket: OwnedFd) -> Interrupter {
        let (login, key) = (self.login.clone(), self.key);
        Interrupter::Server(socket, Box::new(move || startup::cancel(&login, key)))
    }

    fn check_that_it_writes(&mut self, login: &Login) -> Result<(), Error> {
        match scalar(self, "show transaction_read_only")?.as_deref() {
            Some("off") => Ok(()),
            _ => Err(Error::Login {
                user: login.user.clone(),
                reason: format!(
                    "{} is read-only (a standby, or default_transaction_read_only), but \
                     target_session_attrs asks for writes. Use the primary server",
                    login.address
                ),
            }),
        }
    }

    fn send(&mut self) -> Result<(), Error> {
        let result = self.socket.send(&self.out);
        self.out.clear();
        result
    }

    /// Receives up to ReadyForQuery and returns the number of rows returned or changed. Nothing is
    /// decoded: rows are counted by their message type.
    #[inline]
    fn drain(&mut self) -> Result<u64, Error> {
        self.socket.receive(HEAD)?;
        match usual_answer(self.socket.received()) {
            Some((rows, length)) => {
                self.socket.skip(length);
                Ok(rows)
            }
            None => self.drain_any(),
        }
    }

    /// The same for a result of any kind, received or not.
    fn drain_any(&mut self) -> Result<u64, Error> {
        let mut rows = 0;
        let mut error = None;
        loop {
            let (count, behind) = skip_rows(self.socket.received());
            rows += count;
            self.socket.keep(behind.len());
            let (tag, body) = match next_message(&mut self.socket) {
                Ok(message) => message,
                // The last error before the end says more than the end.
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match tag {
                b'D' => rows += 1,
                // A command without returned rows reports how many it changed.
                b'C' if rows == 0 => rows = trailing_number(body),
                // Completions, notices and parameter changes have nothing to count.
                b'1' | b'2' | b'3' | b'C' | b'N' | b'S' | b'T' | b'n' | b'I' | b'A' | b't' => {}
                b'Z' => return error.map_or(Ok(rows), Err),
                b'E' => error = Some(server_error(body)),
                other => return Err(unexpected(other)),
            }
        }
    }
}

/// The result of an execution that has been received completely: the number of rows returned or
/// changed, and its length. None if it contains anything else.
#[inline(always)]
fn usual_answer(received: &[u8]) -> Option<(u64, usize)> {
    let (b'2', _, rest) = split_message(received)? else { return None };
    let (mut rows, rest) = skip_rows(rest);
    let (b'C', tag, rest) = split_message(rest)? else { return None };
    if rows == 0 {
        rows = trailing_number(tag);
    }
    let (b'Z', _, rest) = split_message(rest)? else { return None };
    Some((rows, received.len() - rest.len()))
}

impl Connection for Postgres {
    fn run(&mut self, sql: &str) -> Result<u64, Error> {
        self.socket.ask(sql);
        frontend::query(sql, &mut self.out)?;
        self.send()?;
        self.drain()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.socket.ask(sql);
        frontend::query(sql, &mut self.out)?;
        self.send()?;
        let mut rows = Vec::new();
        let mut error = None;
        loop {
            let message = match next_decoded(&mut self.socket) {
                Ok(message) => message,
                // The last error before the end says more than the end.
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match message {
                Message::DataRow(body) => rows.push(text_row(&body)?),
                Message::ErrorResponse(body) => error = Some(from_fields(&body)?),
                Message::ReadyForQuery(_) => return error.map_or(Ok(rows), Err),
                _ => {}
            }
        }
    }

    fn prepare(&mut self, sql: &str, parameters: &[Type]) -> Result<Statement, Error> {
        self.socket.ask(sql);
        let name = format!("s{}", self.statements.len());
        let oids = parameters.iter().map(|parameter| oid(*parameter));
        frontend::parse(&name, sql, oids, &mut self.out)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.drain()?;

        let mut execution = vec![b'B', 0, 0, 0, 0, 0];
        execution.extend_from_slice(name.as_bytes());
        execution.push(0);
        execution.extend_from_slice(&formats(parameters));
        execution.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
        let head = execution.len();
        self.statements.push(Prepared { types: parameters.to_vec(), execution, head });
        Ok(Statement(self.statements.len() - 1))
    }

    fn close(&mut self, statement: Statement) -> Result<(), Error> {
        self.statements[statement.0] = Prepared::default();
        frontend::close(b'S', &format!("s{}", statement.0), &mut self.out)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.drain().map(drop)
    }

    #[inline]
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error> {
        let out = self.statements[statement.0].bind(values, &TAIL);
        self.socket.send(out)?;
        self.drain()
    }

    fn visit(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        self.visited(statement, values, visitor)
    }

    /// A Sync alone, which begins no transaction.
    fn ping(&mut self) -> Result<(), Error> {
        frontend::sync(&mut self.out);
        self.send()?;
        self.drain().map(drop)
    }

    fn transport(&self) -> &'static str {
        self.socket.transport()
    }

    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        let sql = format!("copy {table} ({}) from stdin", columns.join(", "));
        self.copied(&sql, &mut &*lines)
    }

    fn copy_in(&mut self, sql: &str, rows: &mut dyn Read) -> Result<u64, Error> {
        self.copied(sql, rows)
    }

    fn unload(&mut self, query: &str, to: &mut dyn Write) -> Result<u64, Error> {
        self.unload_rows(query, to)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(self.handle(self.socket.duplicate()?))
    }

    fn hand_over(&self) -> Result<Interrupter, Error> {
        Ok(self.handle(self.socket.hand_over()?))
    }

    fn scripted(&mut self) -> Option<&mut dyn Scripted> {
        Some(self)
    }

    fn check(&self) -> Result<(), Error> {
        self.socket.wait_on()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if self.socket.is_given_up() {
            // A server that cannot be asked is ending, or is not reached.
            let _ = startup::cancel(&self.login, self.key);
        }
        frontend::terminate(&mut self.out);
        // A server that has ended does not need the Terminate message.
        let _ = self.send();
    }
}

/// Format codes of the parameters: one for all where all are binary, which is 1, else one for each.
fn formats(parameters: &[Type]) -> Vec<u8> {
    if !parameters.contains(&Type::Inferred) {
        return vec![0, 1, 0, 1];
    }
    let mut formats = (parameters.len() as u16).to_be_bytes().to_vec();
    for parameter in parameters {
        formats.extend_from_slice(&[0, u8::from(*parameter != Type::Inferred)]);
    }
    formats
}

/// Object identifiers of the types, from the catalogue `pg_type`.
fn oid(parameter: Type) -> u32 {
    match parameter {
        Type::Int4 => 23,
        Type::Int8 => 20,
        Type::Varchar => 1043,
        Type::Inferred => 0,
    }
}

/// The count at the end of a command tag such as `INSERT 0 50`; 0 where there is none.
fn trailing_number(tag: &[u8]) -> u64 {
    let mut value: u64 = 0;
    let mut factor: u64 = 1;
    for byte in tag.iter().rev().skip(1) {
        if !byte.is_ascii_digit() {
            break;
        }
        // A server can send any number of digits.
        value = value.wrapping_add(u64::from(byte - b'0').wrapping_mul(factor));
        factor = factor.wrapping_mul(10);
    }
    value
}

fn data_row(body: &[u8]) -> Result<DataRowBody, Error> {
    match decode(b'D', body)? {
        Message::DataRow(row) => Ok(row),
        _ => Err(Error::Protocol("a row that cannot be read".to_string())),
    }
}

fn text_row(body: &DataRowBody) -> Result<Row, Error> {
    let buffer = body.buffer();
    let fields = body
        .ranges()
        .map(|range| Ok(range.map(|range| String::from_utf8_lossy(&buffer[range]).into_owned())));
    fields.collect().map_err(|error| Error::Protocol(error.to_string()))
}

/// An ErrorResponse in the hot path, from its body only.
#[cold]
fn server_error(body: &[u8]) -> Error {
    let read = decode(b'E', body).and_then(|message| match message {
        Message::ErrorResponse(body) => from_fields(&body),
        _ => Err(Error::Protocol("an error message that cannot be read".to_string())),
    });
    read.unwrap_or_else(|broken| broken)
}

fn from_fields(body: &ErrorResponseBody) -> Result<Error, Error> {
    let mut code = String::new();
    let mut message = String::new();
    let mut detail = String::new();
    let mut fields: ErrorFields<'_> = body.fields();
    let broken = |error: std::io::Error| Error::Protocol(error.to_string());
    while let Some(field) = fields.next().map_err(broken)? {
        let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'C' => code = value,
            b'M' => message = value,
            b'D' => detail = format!(": {value}"),
            _ => {}
        }
    }
    let class = match code.as_str() {
        // Serialization failure and deadlock: the server asks to retry the transaction.
        "40001" | "40P01" => ErrorClass::Retry,
        // Ended by an administrator, by the crash of another process, or after long idleness; and
        // not ready for connections.
        "57P01" | "57P02" | "57P03" | "57P05" => ErrorClass::Gone,
        _ => ErrorClass::Stop,
    };
    Ok(Error::Server { code, message: message + &detail, class })
}

#[cold]
fn unexpected(tag: u8) -> Error {
    Error::Protocol(format!("message type '{}' was not expected", tag.escape_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_tags_tell_how_many_rows_changed() {
        for (tag, rows) in [
            ("INSERT 0 50", 50),
            ("DELETE 5", 5),
            ("CREATE TABLE", 0),
            ("SELECT 1000", 1000),
            ("", 0),
            // More digits than a number has; what they come to is of no use.
            ("SELECT 00000000000000000000000007", 7),
        ] {
            let mut bytes = tag.as_bytes().to_vec();
            bytes.push(0);
            assert_eq!(trailing_number(&bytes), rows, "{tag}");
        }
    }
}
