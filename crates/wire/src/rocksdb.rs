//! RocksDB, which another process of rqps has loaded: the client of that process. A request is a
//! line of text, and an answer rows of text, so that what holds for connections holds for it, too.
//! It has no SQL: operations are requested by the thousand, and performed there.

use std::path::PathBuf;

use rqps_system::Cancel;

use crate::address::Address;
use crate::error::{Error, ErrorClass};
use crate::patience::Waits;
use crate::socket::{LONGEST_MESSAGE, Socket};
use crate::{Connection, Interrupter, Row, RowVisitor, Statement, Type, Value};

/// The bytes before a message: its length, with the lowest byte first.
pub const HEAD: usize = 4;
/// The first byte of an answer with rows.
const ROWS: u8 = b'=';
/// … and of one with an error.
const REFUSED: u8 = b'!';
/// The code of RocksDB's errors, which have words and no numbers.
const CODE: &str = "rocksdb";

const DIRECTORY: &str = "all files of a database are in the directory that rqps makes for it";
const MAKING: &str = "rqps itself decides when a database is made";
/// Options that nobody sets, also within other options, and why.
pub const RESERVED: [(&str, &str); 8] = [
    ("wal_dir", DIRECTORY),
    ("db_log_dir", DIRECTORY),
    ("db_paths", DIRECTORY),
    ("cf_paths", DIRECTORY),
    ("env", "a database is measured on the file system of its directory"),
    ("create_if_missing", MAKING),
    ("error_if_exists", MAKING),
    ("disable_auto_compactions", "the wait for the end of compaction would not end"),
];

/// The socket of a process with a database.
#[derive(Clone, Debug)]
pub struct RocksdbHost {
    pub socket: PathBuf,
    /// Ends waits for its answers.
    pub cancel: Cancel,
}

/// A message with its length.
pub fn framed(text: &str) -> Vec<u8> {
    let mut message = (text.len() as u32).to_le_bytes().to_vec();
    message.extend_from_slice(text.as_bytes());
    message
}

/// An answer: rows with tabs between fields, or why there are none.
pub fn answered(answer: &Result<Vec<String>, String>) -> Vec<u8> {
    let (kind, text) = match answer {
        Ok(rows) => (ROWS, rows.join("\n")),
        Err(why) => (REFUSED, why.clone()),
    };
    framed(&format!("{}{text}", char::from(kind)))
}

/// The length of a message by its head; none if it is longer than any that rqps sends.
pub fn length(head: [u8; HEAD]) -> Option<usize> {
    usize::try_from(u32::from_le_bytes(head)).ok().filter(|length| *length <= LONGEST_MESSAGE)
}

pub(crate) struct RocksdbConnection {
    socket: Socket,
}

impl RocksdbConnection {
    pub(crate) fn connect(host: &RocksdbHost) -> Result<Self, Error> {
        let address = Address::Unix { path: host.socket.clone() };
        let waits = Waits::to_log_in(address.to_string(), None, host.cancel.clone());
        let mut socket = Socket::connect(&address, None, waits)?;
        socket.logged_in();
        Ok(RocksdbConnection { socket })
    }

    fn ask(&mut self, request: &str) -> Result<Vec<Row>, Error> {
        self.socket.ask(request);
        self.socket.send(&framed(request))?;
        self.socket.receive(HEAD)?;
        let head = self.socket.take(HEAD).try_into().expect("as many bytes as were asked for");
        let length = length(head).ok_or_else(|| violated("a message is too long"))?;
        self.socket.receive(length)?;
        let answer = String::from_utf8_lossy(self.socket.take(length));
        rows(&answer)
    }
}

fn rows(answer: &str) -> Result<Vec<Row>, Error> {
    let row = |line: &str| line.split('\t').map(|field| Some(field.to_string())).collect();
    match answer.as_bytes().first() {
        Some(&ROWS) => Ok(answer[1..].lines().map(row).collect()),
        Some(&REFUSED) => {
            let (code, message) = (CODE.to_string(), answer[1..].to_string());
            Err(Error::Server { code, message, class: ErrorClass::Stop })
        }
        _ => Err(violated("an answer is neither rows nor an error")),
    }
}

fn violated(why: &str) -> Error {
    Error::Protocol(why.to_string())
}

/// For statements, of which RocksDB has none.
fn no_sql<T>() -> Result<T, Error> {
    Err(Error::Client("RocksDB has no SQL".to_string()))
}

impl Connection for RocksdbConnection {
    fn run(&mut self, request: &str) -> Result<u64, Error> {
        Ok(self.ask(request)?.len() as u64)
    }

    fn query(&mut self, request: &str) -> Result<Vec<Row>, Error> {
        self.ask(request)
    }

    fn prepare(&mut self, _sql: &str, _parameters: &[Type]) -> Result<Statement, Error> {
        no_sql()
    }

    fn execute(&mut self, _statement: Statement, _values: &[Value<'_>]) -> Result<u64, Error> {
        no_sql()
    }

    fn visit(
        &mut self,
        _statement: Statement,
        _values: &[Value<'_>],
        _visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        no_sql()
    }

    fn transport(&self) -> &'static str {
        "operations run in the process of the database"
    }

    fn load(&mut self, _table: &str, _columns: &[&str], _lines: &[u8]) -> Result<u64, Error> {
        no_sql()
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.duplicate()?))
    }

    fn hand_over(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.hand_over()?))
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::net::UnixListener;

    use super::*;

    /// What a process that answers this is understood to say.
    fn asked(answer: Vec<u8>) -> Result<Vec<Row>, Error> {
        let folder = tempfile::tempdir().unwrap();
        let host = RocksdbHost { socket: folder.path().join("s"), cancel: Cancel::default() };
        let listener = UnixListener::bind(&host.socket).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut head = [0; HEAD];
                stream.read_exact(&mut head).unwrap();
                let mut request = vec![0; length(head).unwrap()];
                stream.read_exact(&mut request).unwrap();
                assert_eq!(request, b"property rocksdb.stats");
                stream.write_all(&answer).unwrap();
            });
            RocksdbConnection::connect(&host).unwrap().query("property rocksdb.stats")
        })
    }

    #[test]
    fn an_answer_is_rows_of_fields_or_the_librarys_own_words() {
        let field = |text: &str| Some(text.to_string());
        let rows = asked(answered(&Ok(vec!["a\t1".to_string(), "b\t".to_string()]))).unwrap();
        assert_eq!(rows, [vec![field("a"), field("1")], vec![field("b"), field("")]]);
        assert!(asked(answered(&Ok(Vec::new()))).unwrap().is_empty());
        let error = asked(answered(&Err("Corruption: block checksum mismatch".to_string())));
        let error = error.unwrap_err();
        assert_eq!(error.to_string(), "Corruption: block checksum mismatch (rocksdb)");
        assert_eq!(error.class(), ErrorClass::Stop);
    }

    #[test]
    fn what_is_no_answer_is_refused_and_an_end_is_an_end() {
        let error = asked(framed("?")).unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{error}");
        let error = asked(u32::MAX.to_le_bytes().to_vec()).unwrap_err();
        assert!(matches!(error, Error::Protocol(_)), "{error}");
        assert!(asked(vec![9, 0]).unwrap_err().is_disconnect());
    }
}
