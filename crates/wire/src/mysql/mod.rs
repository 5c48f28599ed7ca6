//! MySQL and MariaDB: `mysql_common` for the handshake, and on the hot path a COM_STMT_EXECUTE that
//! is written in place and answers that are skimmed without being decoded.

mod handshake;
mod load;
mod option_file;
mod packet;
mod parameters;
mod visit;

use std::os::fd::OwnedFd;

use mysql_common::constants::CapabilityFlags;

use crate::error::{Error, ErrorClass};
use crate::lift::lift;
use crate::login::Login;
use crate::parameters::Environment;
use crate::socket::Socket;
use crate::{Connection, Interrupter, Row, RowVisitor, Statement, Type, Value};
use handshake::MysqlSession;
use load::Loading;
use packet::{
    length_encoded, next_payload, put_length, receive_packet, send_payload, skip_packets_below,
    split_payload,
};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_PING: u8 = 0x0e;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;
const COM_STMT_CLOSE: u8 = 0x19;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// More results follow this one.
const MORE_RESULTS: u16 = 0x0008;
/// A payload that begins with 0xfe ends a result only if it is shorter than this; otherwise it is a
/// row with a long first field.
const LONGEST_END: usize = 0xff_ffff;

/// Reads `mysql://` and `mariadb://` URLs; what they omit is taken from `~/.my.cnf` and the
/// environment.
pub fn login(url: &str) -> Result<Login, Error> {
    parameters::login(url, &Environment::of_process())
}

pub struct Mysql {
    socket: Socket,
    /// Where its statements are cancelled, and under which number.
    login: Login,
    id: u32,
    /// The number of the next packet in the current exchange.
    sequence: u8,
    /// Results end with an OK packet, and nothing is between columns and rows.
    deprecate_eof: bool,
    /// Reused for every message sent; begins with room for a packet's header.
    out: Vec<u8>,
    /// For payloads of more than one packet.
    long: Vec<u8>,
    statements: Vec<Prepared>,
    /// How rows are loaded; none until it was determined.
    loading: Option<Loading>,
}

#[derive(Default)]
struct Prepared {
    types: Vec<Type>,
    /// The beginning of every execution, after room for a packet's header: command, statement, no
    /// cursor, one iteration, no value is NULL, types as sent before.
    execute_head: Vec<u8>,
    /// The types have been sent; the server keeps them.
    bound: bool,
}

/// The beginning of a result.
enum Head {
    /// It has no rows.
    Done {
        changed: u64,
        status: u16,
    },
    Rows {
        columns: u64,
    },
}

impl Mysql {
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let MysqlSession { socket, capabilities, id } = handshake::log_in(login)?;
        let mut connection = Mysql {
            socket,
            login: login.clone(),
            id,
            sequence: 0,
            deprecate_eof: capabilities.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF),
            out: Vec::with_capacity(8 << 10),
            long: Vec::new(),
            statements: Vec::new(),
            loading: None,
        };
        for (name, value) in &login.parameters {
            connection.run(&format!("set session {name} = {value}"))?;
        }
        for sql in &login.setup {
            lift(&mut connection, sql)?;
        }
        Ok(connection)
    }

    /// The handle that ends what this socket waits for.
    fn handle(&self, socket: OwnedFd) -> Interrupter {
        let (login, id) = (self.login.clone(), self.id);
        Interrupter::Server(socket, Box::new(move || kill_query(&login, id)))
    }

    /// Begins a message with its command.
    #[inline]
    fn begin(&mut self, command: u8) {
        self.out.clear();
        self.out.extend_from_slice(&[0, 0, 0, 0, command]);
    }

    #[inline]
    fn send(&mut self) -> Result<(), Error> {
        self.sequence = 0;
        send_payload(&mut self.socket, &mut self.sequence, &mut self.out)
    }

    /// Writes the message of an execution.
    #[inline(always)]
    fn write_execution(&mut self, statement: Statement, values: &[Value<'_>]) {
        let prepared = &mut self.statements[statement.0];
        assert_eq!(values.len(), prepared.types.len(), "as many values as declared parameters");
        let out = &mut self.out;
        out.clear();
        out.extend_from_slice(&prepared.execute_head);
        if !prepared.bound {
            bind(out, &prepared.types);
            prepared.bound = true;
        }
        for (index, (value, declared)) in values.iter().zip(&prepared.types).enumerate() {
            match (value, declared) {
                (Value::Int(value), Type::Int4) => {
                    out.extend_from_slice(&(*value as i32).to_le_bytes());
                }
                (Value::Int(value), _) => out.extend_from_slice(&value.to_le_bytes()),
                (Value::Text(text), _) => {
                    put_length(out, text.len() as u64);
                    out.extend_from_slice(text);
                }
                (Value::Null, _) => out[NULLS + index / 8] |= 1 << (index % 8),
            }
        }
    }

    /// Receives all results of a command and returns the number of rows returned or changed.
    /// Nothing is decoded.
    #[inline]
    fn drain(&mut self) -> Result<u64, Error> {
        receive_packet(&mut self.socket)?;
        match usual_answer(self.socket.received(), self.deprecate_eof) {
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
        loop {
            let status = match self.head()? {
                Head::Done { changed, status } => {
                    rows = changed.wrapping_add(rows);
                    status
                }
                Head::Rows { .. } => loop {
                    let (count, behind) = skip_packets_below(self.socket.received(), END);
                    rows += count;
                    self.socket.keep(behind.len());
                    let deprecate_eof = self.deprecate_eof;
                    match end_of_rows(self.payload()?, deprecate_eof)? {
                        Some(status) => break status,
                        None => rows += 1,
                    }
                },
            };
            if status & MORE_RESULTS == 0 {
                return Ok(rows);
            }
        }
    }

    /// The beginning of a result. The descriptions of its columns follow.
    fn head(&mut self) -> Result<Head, Error> {
        let head = self.payload()?;
        match head {
            [OK, rest @ ..] => {
                let (changed, rest) = length_encoded(rest)?;
                Ok(Head::Done { changed, status: status_flags(length_encoded(rest)?.1)? })
            }
            [ERROR, ..] => Err(server_error(head)),
            [] | [LOCAL_INFILE, ..] => Err(unexpected(head)),
            _ => {
                let (columns, _) = length_encoded(head)?;
                self.skip_columns(columns)?;
                Ok(Head::Rows { columns })
            }
        }
    }

    /// Drops the descriptions of columns or parameters.
    fn skip_columns(&mut self, columns: u64) -> Result<(), Error> {
        for _ in 0..descriptions(columns, self.deprecate_eof) {
            // A server that gives up may send an error in place of a description.
            let description = self.payload()?;
            if description.first() == Some(&ERROR) {
                return Err(server_error(description));
            }
        }
        Ok(())
    }

    /// The next complete payload.
    fn payload(&mut self) -> Result<&[u8], Error> {
        next_payload(&mut self.socket, &mut self.sequence, &mut self.long)
    }
}

impl Connection for Mysql {
    fn run(&mut self, sql: &str) -> Result<u64, Error> {
        self.socket.ask(sql);
        self.begin(COM_QUERY);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        self.drain()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.socket.ask(sql);
        self.begin(COM_QUERY);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        let mut rows = Vec::new();
        loop {
            let status = match self.head()? {
                Head::Done { status, .. } => status,
                Head::Rows { columns } => loop {
                    let deprecate_eof = self.deprecate_eof;
                    let row = self.payload()?;
                    match end_of_rows(row, deprecate_eof)? {
                        Some(status) => break status,
                        None => rows.push(text_row(row, columns)?),
                    }
                },
            };
            if status & MORE_RESULTS == 0 {
                return Ok(rows);
            }
        }
    }

    fn prepare(&mut self, sql: &str, parameters: &[Type]) -> Result<Statement, Error> {
        self.socket.ask(sql);
        self.begin(COM_STMT_PREPARE);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        let head = self.payload()?;
        let (id, columns, wanted) = match *head {
            [ERROR, ..] => return Err(server_error(head)),
            [OK, a, b, c, d, columns_low, columns_high, wanted_low, wanted_high, ..] => (
                u32::from_le_bytes([a, b, c, d]),
                u16::from_le_bytes([columns_low, columns_high]),
                u16::from_le_bytes([wanted_low, wanted_high]),
            ),
            _ => return Err(unexpected(head)),
        };
        self.skip_columns(u64::from(wanted))?;
        self.skip_columns(u64::from(columns))?;
        if usize::from(wanted) != parameters.len() {
            let given = parameters.len();
            return Err(Error::Protocol(format!("{wanted} parameters, but {given} are declared")));
        }
        let mut execute_head = vec![0, 0, 0, 0, COM_STMT_EXECUTE];
        execute_head.extend_from_slice(&id.to_le_bytes());
        execute_head.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !parameters.is_empty() {
            execute_head.resize(execute_head.len() + parameters.len().div_ceil(8) + 1, 0);
        }
        let types = parameters.to_vec();
        self.statements.push(Prepared { types, execute_head, bound: parameters.is_empty() });
        Ok(Statement(self.statements.len() - 1))
    }

    fn close(&mut self, statement: Statement) -> Result<(), Error> {
        let closed = std::mem::take(&mut self.statements[statement.0]);
        // Its number follows the command that executes it. The server does not answer.
        let Some(id) = closed.execute_head.get(5..9) else { return Ok(()) };
        self.begin(COM_STMT_CLOSE);
        self.out.extend_from_slice(id);
        self.send()
    }

    #[inline]
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error> {
        self.write_execution(statement, values);
        self.send()?;
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

    fn ping(&mut self) -> Result<(), Error> {
        self.begin(COM_PING);
        self.send()?;
        self.drain().map(drop)
    }

    fn transport(&self) -> &'static str {
        self.socket.transport()
    }

    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        self.load_lines(table, columns, lines)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(self.handle(self.socket.duplicate()?))
    }

    fn hand_over(&self) -> Result<Interrupter, Error> {
        Ok(self.handle(self.socket.hand_over()?))
    }

    fn check(&self) -> Result<(), Error> {
        self.socket.wait_on()
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        if self.socket.is_given_up() {
            // A server that cannot be asked is ending, or is not reached.
            let _ = kill_query(&self.login, self.id);
        }
        self.begin(COM_QUIT);
        // A server that has ended does not need the quit message.
        let _ = self.send();
    }
}

/// Asks a server to end the statement of the connection with this number.
fn kill_query(login: &Login, id: u32) -> Result<(), Error> {
    Mysql::connect(&login.to_cancel())?.run(&format!("KILL QUERY {id}")).map(drop)
}

/// A result that has been received completely, a single one with rows: the number of rows and its
/// length. None if it is anything else.
#[inline(always)]
fn usual_answer(received: &[u8], deprecate_eof: bool) -> Option<(u64, usize)> {
    let ([columns @ 1..LOCAL_INFILE], mut rest) = split_payload(received)? else { return None };
    for _ in 0..descriptions(u64::from(*columns), deprecate_eof) {
        let ([first, ..], behind) = split_payload(rest)? else { return None };
        if *first == ERROR {
            return None;
        }
        rest = behind;
    }
    let (rows, rest) = skip_packets_below(rest, END);
    let ([END, end @ ..], rest) = split_payload(rest)? else { return None };
    let status = match (end, deprecate_eof) {
        // No changed rows and no last id.
        ([0, 0, low, high, ..], true) | ([_, _, low, high], false) => {
            u16::from_le_bytes([*low, *high])
        }
        _ => return None,
    };
    (status & MORE_RESULTS == 0).then_some((rows, received.len() - rest.len()))
}

/// Sends the types to the server with this execution.
#[cold]
fn bind(out: &mut Vec<u8>, types: &[Type]) {
    if let Some(flag) = out.last_mut() {
        *flag = 1;
    }
    out.extend(types.iter().flat_map(|declared| [type_code(*declared), 0]));
}

/// The number of packets that describe columns or parameters, with the one that ends them where
/// there is one.
fn descriptions(columns: u64, deprecate_eof: bool) -> u64 {
    columns.saturating_add(u64::from(!deprecate_eof && columns > 0))
}

/// Where the bits of NULL begin in COM_STMT_EXECUTE: behind the header of the packet, the command,
/// the statement, the flags and the iterations.
const NULLS: usize = 4 + 1 + 4 + 1 + 4;

/// Type codes of the protocol: LONG, LONGLONG, VAR_STRING.
fn type_code(parameter: Type) -> u8 {
    match parameter {
        Type::Int4 => 0x03,
        Type::Int8 => 0x08,
        Type::Varchar | Type::Inferred => 0xfd,
    }
}

/// The status flags after the rows, unless this payload is a row.
fn end_of_rows(payload: &[u8], deprecate_eof: bool) -> Result<Option<u16>, Error> {
    match payload {
        [END, rest @ ..] if payload.len() < LONGEST_END => {
            end_status(rest, deprecate_eof).map(Some)
        }
        [ERROR, ..] => Err(server_error(payload)),
        [] => Err(unexpected(payload)),
        _ => Ok(None),
    }
}

/// The status flags that an OK packet has after its two numbers.
#[inline]
fn status_flags(bytes: &[u8]) -> Result<u16, Error> {
    match bytes {
        [low, high, ..] => Ok(u16::from_le_bytes([*low, *high])),
        _ => Err(unexpected(bytes)),
    }
}

/// The status flags at the end of a result, after its first byte: an OK packet has two numbers
/// before them, an EOF packet the number of warnings.
#[inline]
fn end_status(bytes: &[u8], deprecate_eof: bool) -> Result<u16, Error> {
    if deprecate_eof {
        let (_changed, rest) = length_encoded(bytes)?;
        let (_last_id, rest) = length_encoded(rest)?;
        status_flags(rest)
    } else {
        status_flags(bytes.get(2..).unwrap_or_default())
    }
}

fn text_row(mut bytes: &[u8], columns: u64) -> Result<Row, Error> {
    let mut row = Row::new();
    for _ in 0..columns {
        if let Some((0xfb, rest)) = bytes.split_first() {
            row.push(None);
            bytes = rest;
            continue;
        }
        let (length, rest) = length_encoded(bytes)?;
        let short = || Error::Protocol("a row that ends within a field".to_string());
        let (field, rest) = rest.split_at_checked(length as usize).ok_or_else(short)?;
        row.push(Some(String::from_utf8_lossy(field).into_owned()));
        bytes = rest;
    }
    Ok(row)
}

/// An ERR packet: code, SQLSTATE after a `#`, message.
#[cold]
fn server_error(payload: &[u8]) -> Error {
    let [_, low, high, rest @ ..] = payload else {
        return unexpected(payload);
    };
    let number = u16::from_le_bytes([*low, *high]);
    let (state, message) = match rest {
        [b'#', state @ ..] if state.len() >= 5 => state.split_at(5),
        _ => (&b"HY000"[..], rest),
    };
    let class = match number {
        // Deadlock, lock wait timeout, and a record that changed since it was read: the transaction
        // was chosen as a victim.
        1213 | 1205 | 1020 => ErrorClass::Retry,
        // The server is ending, or has ended the session: killed (the numbers of MariaDB and
        // MySQL), or idle.
        1053 | 1927 | 3169 | 4031 => ErrorClass::Gone,
        _ => ErrorClass::Stop,
    };
    Error::Server {
        code: format!("{number}, {}", String::from_utf8_lossy(state)),
        message: String::from_utf8_lossy(message).into_owned(),
        class,
    }
}

#[cold]
fn unexpected(payload: &[u8]) -> Error {
    let (length, first) = (payload.len(), payload.first().copied().unwrap_or_default());
    Error::Protocol(format!("a packet of {length} bytes that begins with {first:#04x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_number_state_and_class() {
        let deadlock = b"\xff\xbd\x04#40001Deadlock found";
        let error = server_error(deadlock);
        assert_eq!(error.to_string(), "Deadlock found (1213, 40001)");
        assert_eq!(error.class(), ErrorClass::Retry);
        assert_eq!(server_error(b"\xff\x1d\x04#08S01Server shutdown").class(), ErrorClass::Gone);
        let too_many = b"\xff\x10\x04Too many connections";
        assert_eq!(server_error(too_many).to_string(), "Too many connections (1040, HY000)");
        assert!(matches!(server_error(b"\xff"), Error::Protocol(_)));
    }

    #[test]
    fn rows_of_text_have_fields_and_nulls() {
        let row = text_row(b"\x01x\xfb\x00", 3).unwrap();
        assert_eq!(row, [Some("x".to_string()), None, Some(String::new())]);
        assert!(text_row(b"\x05x", 1).is_err());
    }
}
