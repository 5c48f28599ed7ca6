//! A server that says what it was told to say, whatever it is asked, and then nothing more. The
//! fuzz targets (`fuzz/`) use it, too.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use rqps_wire::{Address, Cancel, Connection, Error, Login, Statement, Target, Terms, Type, Value};

/// Between pieces: long enough for the client to have read the one before, mostly.
const PAUSE: Duration = Duration::from_micros(100);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Postgres,
    Mysql,
}

/// What each call of a client came to, in the order of the calls; those that need what an earlier
/// call did not get are missing.
pub(crate) type Answers = Vec<(&'static str, Result<u64, Error>)>;

/// Has a client log in and make every kind of call, with a server that says these bytes.
pub(crate) fn converse(protocol: Protocol, says: &[u8]) -> Answers {
    converse_in_pieces(protocol, says, usize::MAX)
}

/// The same with a server that pauses after every so many bytes.
pub(crate) fn converse_in_pieces(protocol: Protocol, says: &[u8], size: usize) -> Answers {
    let folder = tempfile::tempdir().expect("a folder for the socket");
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).expect("a socket");
    let server = serve(listener, says.to_vec(), size);
    let answers = ask(protocol, Address::Unix { path });
    server.join().expect("the server has no reason to panic");
    answers
}

fn serve(listener: UnixListener, says: Vec<u8>, size: usize) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let (stream, _) = listener.accept().expect("the client connects");
        // A client that has had enough closes the connection, which ends both.
        let heard = stream.try_clone().map(listen);
        for (index, piece) in says.chunks(size).enumerate() {
            if index > 0 {
                std::thread::sleep(PAUSE);
            }
            let _ = (&stream).write_all(piece);
        }
        let _ = stream.shutdown(Shutdown::Write);
        if let Ok(heard) = heard {
            heard.join().expect("it only reads");
        }
    })
}

fn listen(mut stream: UnixStream) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut dropped = [0; 4096];
        while stream.read(&mut dropped).is_ok_and(|count| count > 0) {}
    })
}

/// Logs in to a server and makes every kind of call.
pub(crate) fn ask(protocol: Protocol, address: Address) -> Answers {
    let login = Login {
        address,
        user: "ann".to_string(),
        password: Some("secret".to_string()),
        database: "db".to_string(),
        parameters: Vec::new(),
        setup: Vec::new(),
        terms: Terms::default(),
        cancel: Cancel::default(),
    };
    let target = match protocol {
        Protocol::Postgres => Target::Postgres(login),
        Protocol::Mysql => Target::Mysql(login),
    };
    let mut connection = match target.connect() {
        Ok(connection) => connection,
        Err(error) => return vec![("connect", Err(error))],
    };
    let mut answers: Answers = vec![("connect", Ok(0))];
    answers.push(("run", connection.run("update t set n = 1")));
    let rows = connection.query("select v from t").map(|rows| rows.len() as u64);
    answers.push(("query", rows));
    let prepared = connection.prepare("select v from t where id = ?", &[Type::Int8]);
    match prepared {
        Ok(statement) => answers.push(("execute", execute(&mut *connection, statement))),
        Err(error) => answers.push(("prepare", Err(error))),
    }
    answers.push(("load", connection.load("t", &["id", "v"], b"1\tx\n2\ty\n")));
    answers
}

fn execute(connection: &mut dyn Connection, statement: Statement) -> Result<u64, Error> {
    connection.execute(statement, &[Value::Int(7)])
}
