//! Servers that say nothing: control work ends once nobody wants its answer any more. Until then it
//! waits, with a word to who waits, and a client of a benchmark waits in any case.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use rqps_wire::{Address, Cancel, Error, Login, Target, Terms, postgres, tell_of_waiting};

/// Longer than it takes until waiting is looked up from.
const LATE: Duration = Duration::from_millis(1_000);

/// AuthenticationOk and ReadyForQuery.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// CommandComplete of an update, and ReadyForQuery.
const UPDATED: &[u8] = b"C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05I";
const NOTHING: &[u8] = b"";

/// ErrorResponse of a statement that a timeout has ended, and ReadyForQuery.
const ENDED: &[u8] = b"E\0\0\0\x18SERROR\0C57014\0Mcut\0\0Z\0\0\0\x05I";

const UPDATE: &str = "update t set n = 1";

fn target(path: PathBuf, cancel: &Cancel) -> Target {
    Target::Postgres(Login {
        address: Address::Unix { path },
        user: "ann".to_string(),
        password: None,
        database: "db".to_string(),
        parameters: Vec::new(),
        setup: Vec::new(),
        terms: Terms::default(),
        cancel: cancel.clone(),
    })
}

/// A server of Postgres that says the one when it is spoken to, and the other late when it is
/// asked.
fn serve(path: PathBuf, welcome: &'static [u8], late: &'static [u8], cancel: &Cancel) -> Target {
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        assert!(stream.read(&mut asked).unwrap() > 0);
        stream.write_all(welcome).unwrap();
        // A client that has had enough is gone.
        if stream.read(&mut asked).is_ok_and(|count| count > 0) {
            std::thread::sleep(LATE);
            let _ = stream.write_all(late);
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    target(path, cancel)
}

#[test]
fn a_word_tells_what_is_waited_for_and_a_limit_ends_a_login() {
    static TOLD: Mutex<Vec<String>> = Mutex::new(Vec::new());
    tell_of_waiting(|line| TOLD.lock().unwrap().push(line.to_string()));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let url = format!("postgres://ann@127.0.0.1:{port}/db?sslmode=disable&connect_timeout=6");
    let late = Target::Postgres(postgres::login(&url).unwrap()).connect().err().unwrap();
    assert!(matches!(late, Error::TooLate { .. }), "{late}");
    let text = late.to_string();
    assert!(text.starts_with(&format!("no login at 127.0.0.1:{port} within 6 s")), "{text}");
    let expected = format!("waiting for 127.0.0.1:{port}, silent for 5 s: the login");
    assert_eq!(*TOLD.lock().unwrap(), [expected]);
}

#[test]
fn silence_ends_only_control_work_that_nobody_wants_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let cancel = Cancel::default();
    let mut wanted = serve(path("wanted"), WELCOME, UPDATED, &Cancel::default()).connect().unwrap();
    let mut control = serve(path("control"), WELCOME, NOTHING, &cancel).connect().unwrap();
    let mut client = serve(path("client"), WELCOME, UPDATED, &cancel).connect().unwrap();
    client.hand_over().unwrap();

    cancel.request();
    assert_eq!(wanted.run(UPDATE).unwrap(), 3, "it is of another wish");
    assert!(matches!(control.run(UPDATE), Err(Error::Interrupted(_))));
    assert!(matches!(control.check(), Err(Error::Interrupted(_))));
    wanted.check().unwrap();
    let login = serve(path("login"), NOTHING, NOTHING, &cancel).connect();
    assert!(matches!(login, Err(Error::Interrupted(_))));
    // Nor does anybody answer on the network, or shake hands.
    for query in ["sslmode=disable", "sslmode=require&sslnegotiation=direct"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("postgres://ann@127.0.0.1:{port}/db?{query}");
        let login = Login { cancel: cancel.clone(), ..postgres::login(&url).unwrap() };
        let silent = Target::Postgres(login).connect();
        assert!(matches!(silent, Err(Error::Interrupted(_))), "{query}");
    }
    assert_eq!(client.run(UPDATE).unwrap(), 3);
}

/// A server of Postgres that lets everybody in, and ends the first so many statements.
fn with_a_timeout(path: PathBuf, ended: usize) -> Target {
    let listener = UnixListener::bind(&path).unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        let answers = [WELCOME].into_iter().chain(std::iter::repeat_n(ENDED, ended));
        for answer in answers.chain(std::iter::repeat(UPDATED)) {
            match stream.read(&mut asked) {
                Ok(1..) => stream.write_all(answer).unwrap(),
                _ => return,
            }
        }
    });
    let Target::Postgres(login) = target(path, &Cancel::default()) else { unreachable!() };
    Target::Postgres(Login { setup: vec!["set statement_timeout = 0".to_string()], ..login })
}

#[test]
fn a_timeout_of_the_role_may_end_the_statement_that_lifts_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut lifted = with_a_timeout(path("lifted"), 3).connect().unwrap();
    assert_eq!(lifted.run(UPDATE).unwrap(), 3);
    let never = with_a_timeout(path("never"), 100).connect().err().unwrap();
    assert_eq!(never.to_string(), "cut (57014)");
}
