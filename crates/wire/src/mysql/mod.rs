//! MySQL and MariaDB: `mysql_common` for the handshake, and on the hot path a COM_STMT_EXECUTE that
//! is written in place and answers that are skimmed without being decoded.

mod handshake;
mod load;
mod packet;

use std::ops::ControlFlow;
use std::path::Path;

use mysql_common::constants::CapabilityFlags;

use crate::error::{Class, Error};
use crate::login::{Login, Scheme};
use crate::socket::Socket;
use crate::tls::Check;
use crate::{Connection, Interrupter, Row, Statement, Type, Value};
use load::Loading;
use packet::{length_encoded, put_length, send_payload, skim, whole_payload};

const COM_QUIT: u8 = 0x01;
const COM_QUERY: u8 = 0x03;
const COM_STMT_PREPARE: u8 = 0x16;
const COM_STMT_EXECUTE: u8 = 0x17;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// More results follow this one.
const MORE_RESULTS: u16 = 0x0008;
/// A payload that begins with 0xfe ends a result only if it is shorter than this; otherwise it is a
/// row whose first field is long.
const LONGEST_END: usize = 0xff_ffff;

const SCHEME: Scheme = Scheme {
    port: 3306,
    user: "MYSQL_USER",
    password: "MYSQL_PWD",
    socket: ("socket", |path: &Path, _| path.to_path_buf()),
    tls: (
        "ssl-mode",
        &[
            ("DISABLED", None),
            ("PREFERRED", None),
            ("REQUIRED", Some(Check::Nothing)),
            ("VERIFY_CA", Some(Check::Authority)),
            ("VERIFY_IDENTITY", Some(Check::Host)),
        ],
    ),
    authorities: "ssl-ca",
};

/// Reads `mysql://` and `mariadb://` URLs; `?socket=/path` names a Unix socket.
pub fn login(url: &str) -> Result<Login, Error> {
    Login::from_url(url, &SCHEME)
}

pub struct Mysql {
    socket: Socket,
    /// The number of the next packet in the exchange at hand.
    sequence: u8,
    /// Results end with an OK packet, and nothing stands between columns and rows.
    deprecate_eof: bool,
    /// Reused for every message sent; begins with room for a packet's head.
    out: Vec<u8>,
    /// For payloads of more than one packet.
    long: Vec<u8>,
    statements: Vec<Prepared>,
    /// How rows are loaded; none until the server was asked.
    loading: Option<Loading>,
}

struct Prepared {
    id: u32,
    types: Vec<Type>,
    /// The server has been told the types; it keeps them.
    bound: bool,
}

/// What the results of a command have come to so far.
struct Answer {
    rows: u64,
    expected: Expected,
    error: Option<Error>,
}

/// What the next payload is.
#[derive(Clone, Copy)]
enum Expected {
    Head,
    /// Descriptions of columns, and how many.
    Columns(u64),
    Rows,
}

impl Answer {
    /// Takes in the first payload of a result, the one that ends its rows, or an error.
    #[inline(always)]
    fn head_or_end(&mut self, payload: &[u8], deprecate_eof: bool) -> ControlFlow<()> {
        match self.read(payload, deprecate_eof) {
            Ok(None) => ControlFlow::Continue(()),
            Ok(Some(status)) if status & MORE_RESULTS != 0 => {
                self.expected = Expected::Head;
                ControlFlow::Continue(())
            }
            Ok(Some(_)) => ControlFlow::Break(()),
            Err(error) => {
                self.error = Some(error);
                ControlFlow::Break(())
            }
        }
    }

    /// Answers the status flags at the end of a result.
    #[inline(always)]
    fn read(&mut self, payload: &[u8], deprecate_eof: bool) -> Result<Option<u16>, Error> {
        Ok(match (self.expected, payload) {
            (_, [ERROR, ..]) => return Err(server_error(payload)),
            (Expected::Rows, [END, rest @ ..]) if payload.len() < LONGEST_END => {
                Some(end_status(rest, deprecate_eof)?)
            }
            (Expected::Rows, [_, ..]) => {
                self.rows += 1;
                None
            }
            (Expected::Head, [OK, rest @ ..]) => {
                let (changed, rest) = length_encoded(rest)?;
                self.rows = self.rows.wrapping_add(changed);
                Some(status_flags(length_encoded(rest)?.1)?)
            }
            (Expected::Head, [first, ..]) if *first != LOCAL_INFILE => {
                let (columns, _) = length_encoded(payload)?;
                self.expected = Expected::Columns(descriptions(columns, deprecate_eof));
                None
            }
            _ => return Err(unexpected(payload)),
        })
    }
}

impl Mysql {
    pub fn connect(login: &Login) -> Result<Self, Error> {
        let (socket, capabilities) = handshake::log_in(Socket::connect(&login.address)?, login)?;
        let mut connection = Mysql {
            socket,
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
        Ok(connection)
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

    /// Receives all results of a command and answers the rows returned or changed.
    #[inline]
    fn drain(&mut self) -> Result<u64, Error> {
        let mut answer = Answer { rows: 0, expected: Expected::Head, error: None };
        let deprecate_eof = self.deprecate_eof;
        skim(&mut self.socket, &mut self.sequence, &mut self.long, |payload| {
            match (answer.expected, payload.first()) {
                // A server that gives up says so in place of a description, too.
                (Expected::Columns(left), Some(&first)) if first != ERROR => {
                    answer.expected = match left {
                        0 | 1 => Expected::Rows,
                        left => Expected::Columns(left - 1),
                    };
                }
                (Expected::Rows, Some(&first)) if first < END => answer.rows += 1,
                _ => return answer.head_or_end(payload, deprecate_eof),
            }
            ControlFlow::Continue(())
        })?;
        answer.error.map_or(Ok(answer.rows), Err)
    }

    /// Drops the descriptions of columns or parameters.
    fn skip_columns(&mut self, columns: u64) -> Result<(), Error> {
        for _ in 0..descriptions(columns, self.deprecate_eof) {
            let description = self.payload()?;
            if description.first() == Some(&ERROR) {
                return Err(server_error(description));
            }
        }
        Ok(())
    }

    /// The next payload, whole.
    fn payload(&mut self) -> Result<&[u8], Error> {
        whole_payload(&mut self.socket, &mut self.sequence, &mut self.long)?;
        Ok(&self.long)
    }
}

impl Connection for Mysql {
    fn run(&mut self, sql: &str) -> Result<u64, Error> {
        self.begin(COM_QUERY);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        self.drain()
    }

    fn query(&mut self, sql: &str) -> Result<Vec<Row>, Error> {
        self.begin(COM_QUERY);
        self.out.extend_from_slice(sql.as_bytes());
        self.send()?;
        let mut rows = Vec::new();
        loop {
            let head = self.payload()?;
            let status = match head.first() {
                Some(&OK) => {
                    let (_changed, rest) = length_encoded(&head[1..])?;
                    status_flags(length_encoded(rest)?.1)?
                }
                Some(&ERROR) => return Err(server_error(head)),
                Some(&LOCAL_INFILE) | None => return Err(unexpected(head)),
                Some(_) => {
                    let (columns, _) = length_encoded(head)?;
                    self.skip_columns(columns)?;
                    let deprecate_eof = self.deprecate_eof;
                    loop {
                        let row = self.payload()?;
                        match row.first() {
                            Some(&END) if row.len() < LONGEST_END => {
                                break end_status(&row[1..], deprecate_eof)?;
                            }
                            Some(&ERROR) => return Err(server_error(row)),
                            _ => rows.push(text_row(row, columns)?),
                        }
                    }
                }
            };
            if status & MORE_RESULTS == 0 {
                return Ok(rows);
            }
        }
    }

    fn prepare(&mut self, sql: &str, parameters: &[Type]) -> Result<Statement, Error> {
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
            return Err(Error::Protocol(format!("{wanted} parameters, and {given} are declared")));
        }
        self.statements.push(Prepared { id, types: parameters.to_vec(), bound: false });
        Ok(Statement(self.statements.len() - 1))
    }

    #[inline]
    fn execute(&mut self, statement: Statement, values: &[Value<'_>]) -> Result<u64, Error> {
        self.begin(COM_STMT_EXECUTE);
        let prepared = &mut self.statements[statement.0];
        assert_eq!(values.len(), prepared.types.len(), "as many values as declared parameters");
        let out = &mut self.out;
        out.extend_from_slice(&prepared.id.to_le_bytes());
        // No cursor, and always one iteration.
        out.extend_from_slice(&[0, 1, 0, 0, 0]);
        if !values.is_empty() {
            // No value is NULL.
            out.resize(out.len() + values.len().div_ceil(8), 0);
            out.push(u8::from(!prepared.bound));
            if !prepared.bound {
                for declared in &prepared.types {
                    out.extend_from_slice(&[type_code(*declared), 0]);
                }
                prepared.bound = true;
            }
            for (value, declared) in values.iter().zip(&prepared.types) {
                match (value, declared) {
                    (Value::Int(value), Type::Int4) => {
                        out.extend_from_slice(&(*value as i32).to_le_bytes());
                    }
                    (Value::Int(value), _) => out.extend_from_slice(&value.to_le_bytes()),
                    (Value::Text(text), _) => {
                        put_length(out, text.len() as u64);
                        out.extend_from_slice(text);
                    }
                }
            }
        }
        self.send()?;
        self.drain()
    }

    fn transport(&self) -> &'static str {
        self.socket.transport()
    }

    fn load(&mut self, table: &str, columns: &[&str], lines: &[u8]) -> Result<u64, Error> {
        self.load_lines(table, columns, lines)
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.duplicate()?))
    }
}

impl Drop for Mysql {
    fn drop(&mut self) {
        self.begin(COM_QUIT);
        // A server that is gone does not need the farewell.
        let _ = self.send();
    }
}

/// Packets that describe so many columns or parameters, with the one that ends them where there is one.
fn descriptions(columns: u64, deprecate_eof: bool) -> u64 {
    columns.saturating_add(u64::from(!deprecate_eof && columns > 0))
}

/// Type codes of the protocol: LONG, LONGLONG, VAR_STRING.
fn type_code(parameter: Type) -> u8 {
    match parameter {
        Type::Int4 => 0x03,
        Type::Int8 => 0x08,
        Type::Varchar => 0xfd,
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

/// The status flags of what ends a result, after its first byte: an OK packet has two numbers before
/// them, an EOF packet the number of warnings.
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

/// An ERR packet: code, SQLSTATE behind a `#`, message.
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
    // Deadlock, lock wait timeout, and a record that changed since it was read: the transaction
    // was chosen as a victim.
    let class = if matches!(number, 1213 | 1205 | 1020) { Class::Retry } else { Class::Stop };
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
        assert_eq!(error.class(), Class::Retry);
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
