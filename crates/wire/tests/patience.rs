//! Servers that say nothing: control work ends once nobody wants its answer any more. Until then it waits,
//! and a client of a benchmark waits in any case.

use std::io::{Read, Write};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::time::Duration;

use rqps_wire::{Address, Error, Login, Target, want_answers};

/// Longer than it takes until waiting is looked up from.
const LATE: Duration = Duration::from_millis(2_500);

/// AuthenticationOk and ReadyForQuery.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
/// CommandComplete of an update, and ReadyForQuery.
const UPDATED: &[u8] = b"C\0\0\0\x0dUPDATE 3\0Z\0\0\0\x05I";
const NOTHING: &[u8] = b"";

const UPDATE: &str = "update t set n = 1";

fn target(path: PathBuf) -> Target {
    Target::Postgres(Login {
        address: Address::Unix { path },
        user: "ann".to_string(),
        password: None,
        database: "db".to_string(),
        parameters: Vec::new(),
        setup: Vec::new(),
    })
}

/// A server of Postgres that says the one when it is spoken to, and the other late when it is asked.
fn serve(path: PathBuf, welcome: &'static [u8], late: &'static [u8]) -> Target {
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
    target(path)
}

#[test]
fn silence_ends_only_control_work_that_nobody_wants_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut wanted = serve(path("wanted"), WELCOME, UPDATED).connect().unwrap();
    let mut control = serve(path("control"), WELCOME, NOTHING).connect().unwrap();
    let mut client = serve(path("client"), WELCOME, UPDATED).connect().unwrap();
    client.hand_over().unwrap();

    assert_eq!(wanted.run(UPDATE).unwrap(), 3);
    want_answers(false);
    assert!(matches!(control.run(UPDATE), Err(Error::Interrupted)));
    let login = serve(path("login"), NOTHING, NOTHING).connect();
    assert!(matches!(login, Err(Error::Interrupted)));
    assert_eq!(client.run(UPDATE).unwrap(), 3);
}
