//! What is told to a server that cannot be trusted, or over a wire that others can read.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixListener;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rqps_wire::{Target, mysql, postgres};

use crate::common::{Rqps, Running};

/// What no server is ever to see, or anybody to read.
const PASSWORD: &str = "hush-hush";

/// A server that plays a part for each connection and then tells all that it was told.
struct Fake {
    port: u16,
    heard: Receiver<Vec<u8>>,
}

impl Fake {
    fn play(part: impl Fn(&mut TcpStream) -> std::io::Result<()> + Send + 'static) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (tell, heard) = channel();
        // It ends with the test's process, or when nobody listens any more.
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = Ears { stream: stream.unwrap(), heard: Vec::new() };
                let _ = stream.play(&part);
                if tell.send(stream.heard).is_err() {
                    return;
                }
            }
        });
        Fake { port, heard }
    }

    fn postgres(&self, query: &str) -> Target {
        let port = self.port;
        let url = format!("postgres://ann:{PASSWORD}@127.0.0.1:{port}/db?{query}");
        Target::Postgres(postgres::login(&url).unwrap())
    }

    fn mysql(&self, query: &str) -> Target {
        let port = self.port;
        let url = format!("mysql://ann:{PASSWORD}@127.0.0.1:{port}/db?{query}");
        Target::Mysql(mysql::login(&url).unwrap())
    }

    /// The refusal of a connection, in which the password is neither shown nor sent.
    fn refuses(&self, target: &Target) -> String {
        let error = target.connect().err().expect("a refusal").to_string();
        let heard = self.heard.recv_timeout(Duration::from_secs(60)).unwrap();
        let has_password = heard.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes());
        assert!(!has_password, "the password was sent");
        assert!(!error.contains(PASSWORD), "{error}");
        assert!(!error.contains('\n'), "{error}");
        error
    }
}

/// Remembers what is said after the part was played, to the end of the connection.
struct Ears {
    stream: TcpStream,
    heard: Vec<u8>,
}

impl Ears {
    fn play(
        &mut self,
        part: impl Fn(&mut TcpStream) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        part(&mut self.stream)?;
        self.stream.read_to_end(&mut self.heard).map(drop)
    }
}

/// Reads a message of Postgres that begins with its length, as the first ones do.
fn first_message(stream: &mut TcpStream) -> std::io::Result<()> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let length = u32::from_be_bytes(length) as usize;
    stream.read_exact(&mut vec![0; length - 4])
}

fn authentication(kind: u32, more: &[u8]) -> Vec<u8> {
    let length = 8 + more.len() as u32;
    [b"R", &length.to_be_bytes()[..], &kind.to_be_bytes(), more].concat()
}

/// AuthenticationOk, and ReadyForQuery.
fn welcome() -> Vec<u8> {
    [&authentication(0, b"")[..], b"Z\0\0\0\x05I"].concat()
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

/// A greeting of MySQL, with or without TLS among what the server can do.
fn greeting(plugin: &str, has_tls: bool) -> Vec<u8> {
    // Protocol 4.1, secure connection, plugins, and TLS.
    let low: u16 = 0x8200 | if has_tls { 0x0800 } else { 0 };
    let high: u16 = 0x0008;
    let payload = [
        b"\x0a8.0.33\0\x01\0\0\0",
        &b"abcdefgh\0"[..],
        &low.to_le_bytes(),
        b"\x21\x02\0",
        &high.to_le_bytes(),
        b"\x15\0\0\0\0\0\0\0\0\0\0",
        b"ijklmnopqrst\0",
        plugin.as_bytes(),
        b"\0",
    ];
    packet(0, &payload.concat())
}

fn read_packet(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

#[test]
fn a_password_is_not_sent_in_clear_text_to_whoever_asks_for_it() {
    let fake = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(&authentication(3, b""))
    });
    let error = fake.refuses(&fake.postgres("sslmode=disable"));
    assert!(error.contains("not encrypted. Add sslmode=verify-full"), "{error}");
    let error = fake.refuses(&fake.postgres("sslmode=disable&require_auth=scram-sha-256"));
    assert!(error.contains("asks for password, but require_auth allows only"), "{error}");

    let fake = Fake::play(|stream| stream.write_all(&greeting("mysql_clear_password", false)));
    let error = fake.refuses(&fake.mysql(""));
    assert!(error.contains("mysql_clear_password would show the password"), "{error}");
    assert!(error.contains("ssl-mode=VERIFY_IDENTITY"), "{error}");
    // Nor when it is asked for in place of another plugin.
    let fake = Fake::play(|stream| {
        stream.write_all(&greeting("caching_sha2_password", false))?;
        read_packet(stream)?;
        stream.write_all(&packet(2, b"\xfemysql_clear_password\0"))
    });
    let error = fake.refuses(&fake.mysql(""));
    assert!(error.contains("mysql_clear_password would show the password"), "{error}");
}

#[test]
fn a_key_of_the_server_is_not_taken_from_the_wire_unasked() {
    // Asks for the whole password, as a server does that has not seen the user for long.
    let whole = |stream: &mut TcpStream| {
        stream.write_all(&greeting("caching_sha2_password", false))?;
        read_packet(stream)?;
        stream.write_all(&packet(2, b"\x01\x04"))
    };
    let fake = Fake::play(whole);
    let error = fake.refuses(&fake.mysql(""));
    for remedy in ["ssl-mode=", "server-public-key-path=FILE", "allow-public-key-retrieval=true"] {
        assert!(error.contains(remedy), "{error}");
    }
    let fake = Fake::play(|stream| stream.write_all(&greeting("sha256_password", false)));
    let error = fake.refuses(&fake.mysql(""));
    assert!(error.contains("server-public-key-path=FILE"), "{error}");
    // With the user's word it is asked for.
    let fake = Fake::play(whole);
    fake.mysql("allow-public-key-retrieval=true&connect-timeout=1").connect().err().unwrap();
    assert_eq!(fake.heard.recv().unwrap(), packet(3, b"\x02"));
}

#[test]
fn a_server_that_does_not_prove_itself_is_left() {
    let scram = |after: Vec<u8>| {
        Fake::play(move |stream| {
            first_message(stream)?;
            stream.write_all(&authentication(10, b"SCRAM-SHA-256\0\0"))?;
            stream.read_exact(&mut [0])?;
            first_message(stream)?;
            stream.write_all(&after)
        })
    };
    let fake = scram(welcome());
    let error = fake.refuses(&fake.postgres("sslmode=disable"));
    assert!(error.contains("without proving that it knows the password"), "{error}");
    let fake = scram(authentication(12, b"v=AAAA"));
    let error = fake.refuses(&fake.postgres("sslmode=disable"));
    assert!(error.contains("SCRAM failed"), "{error}");
    // One that lets everybody in is not the one that is meant.
    let fake = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(&welcome())
    });
    let error = fake.refuses(&fake.postgres("sslmode=disable&require_auth=scram-sha-256"));
    assert!(error.contains("asks for nothing, but require_auth allows only"), "{error}");
    fake.postgres("sslmode=disable").connect().unwrap();
}

#[test]
fn nothing_that_was_said_before_the_encryption_counts_after_it() {
    let fake = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(&[b"S", &welcome()[..]].concat())
    });
    let error = fake.refuses(&fake.postgres("sslmode=require"));
    assert!(error.contains("data before the encryption had begun"), "{error}");
    let fake = Fake::play(|stream| {
        let early = packet(2, b"\0\0\0\x02\0\0\0");
        stream.write_all(&[greeting("caching_sha2_password", true), early].concat())
    });
    let error = fake.refuses(&fake.mysql("ssl-mode=REQUIRED"));
    assert!(error.contains("data before the encryption had begun"), "{error}");
}

#[test]
fn encryption_that_was_asked_for_is_not_talked_away() {
    let fake = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(b"N")
    });
    for mode in ["require", "require&channel_binding=require"] {
        let error = fake.refuses(&fake.postgres(&format!("sslmode={mode}")));
        assert!(error.contains("the server has it switched off"), "{error}");
    }
    let fake = Fake::play(|stream| stream.write_all(&greeting("caching_sha2_password", false)));
    let error = fake.refuses(&fake.mysql("ssl-mode=REQUIRED"));
    assert!(error.contains("the server has it switched off"), "{error}");
    // What is not TLS is no handshake, and with `require` nothing is said after it.
    let fake = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(b"S")?;
        stream.read_exact(&mut [0; 64])?;
        stream.write_all(&welcome())
    });
    let error = fake.refuses(&fake.postgres("sslmode=require"));
    assert!(error.starts_with("no TLS with 127.0.0.1: "), "{error}");
    assert!(!error.contains("InvalidContentType"), "{error}");
}

#[test]
fn a_login_has_an_end_and_no_message_of_it_is_long() {
    // A gigabyte is announced; the first megabyte comes.
    let giant = |head: Vec<u8>| {
        Fake::play(move |stream| {
            stream.write_all(&head)?;
            stream.write_all(&vec![0; 1 << 20])
        })
    };
    let fake = giant([b"R", &(1u32 << 30).to_be_bytes()[..]].concat());
    let error = fake.postgres("sslmode=disable").connect().err().unwrap().to_string();
    assert!(error.contains("a message of 1073741825 bytes"), "{error}");
    let fake = giant(b"\xff\xff\xff\x00".to_vec());
    let error = fake.mysql("").connect().err().unwrap().to_string();
    assert!(error.contains("a message of 16777219 bytes"), "{error}");
    // A byte now and then, or one notice after the other, is no login either.
    let drip = Fake::play(|stream| {
        stream.write_all(b"\x64\0\0\0")?;
        loop {
            stream.write_all(b"\xff")?;
            thread::sleep(Duration::from_millis(20));
        }
    });
    let notices = Fake::play(|stream| {
        first_message(stream)?;
        stream.write_all(&authentication(0, b""))?;
        loop {
            stream.write_all(b"N\0\0\0\x05\0")?;
        }
    });
    for target in [
        drip.mysql("connect-timeout=1"),
        drip.postgres("sslmode=disable&connect_timeout=1"),
        notices.postgres("sslmode=disable&connect_timeout=1"),
    ] {
        let error = target.connect().err().unwrap().to_string();
        assert!(
            error.starts_with("no login at 127.0.0.1:") && error.contains("within 1 s"),
            "{error}"
        );
    }
}

#[test]
fn a_password_on_the_command_line_is_not_to_be_seen_by_others() {
    let rqps = Rqps::new();
    // A server that says nothing, so that there is time to look.
    let silent = UnixListener::bind(rqps.path(".s.PGSQL.5432")).unwrap();
    let folder = rqps.path("");
    let url = format!(
        "postgres://ann:{PASSWORD}@/db?host={}&password={PASSWORD}&connect_timeout=600",
        folder.display()
    );
    let running = Running::start(rqps.command(["dbms", "shell", &url]));
    let (_connection, _) = silent.accept().unwrap();
    let shown = std::fs::read(format!("/proc/{}/cmdline", running.pid())).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    assert!(!shown.contains(PASSWORD), "{shown}");
    assert!(shown.contains("postgres://ann:*********@/db") && shown.contains("password=*********"));
    assert!(shown.ends_with("&connect_timeout=600\0"), "{shown}");
    drop((_connection, silent));
    let finished = running.finish();
    let told = format!("{}{}", finished.stdout, finished.stderr);
    assert!(!told.contains(PASSWORD), "{told}");
}

#[test]
fn an_unreadable_url_shows_nothing_of_its_password() {
    let rqps = Rqps::new();
    for url in [
        format!("postgres://ann:12/{PASSWORD}@host/db"),
        format!("postgres://ann:{PASSWORD}?x@host/db"),
        format!("mysql://ann:{PASSWORD}#x@host/db"),
        format!("postgres://ann@host/db?pasword={PASSWORD}"),
    ] {
        let finished = rqps.run(&format!("dbms shell {url}")).expect_code(2);
        assert!(!finished.stderr.contains(PASSWORD), "{}", finished.stderr);
    }
}
