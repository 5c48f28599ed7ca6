//! What an honest server says to the calls of [`crate::server::converse`], message by message.

use crate::server::Protocol;

pub(crate) fn honest(protocol: Protocol) -> Vec<Vec<u8>> {
    match protocol {
        Protocol::Postgres => postgres(),
        Protocol::Mysql => mysql(),
    }
}

/// How many of its messages let the client in.
pub(crate) fn login(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Postgres => 4,
        Protocol::Mysql => 2,
    }
}

/// How many of its messages are in clear text even where the rest is behind TLS.
pub(crate) fn in_clear(protocol: Protocol) -> usize {
    match protocol {
        Protocol::Postgres => 0,
        Protocol::Mysql => 1,
    }
}

pub(crate) fn refusal(protocol: Protocol) -> Vec<u8> {
    match protocol {
        Protocol::Postgres => postgres_refusal(),
        Protocol::Mysql => mysql_refusal(),
    }
}

/// A message of Postgres: type, length, body.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag], &length[..], body].concat()
}

fn postgres() -> Vec<Vec<u8>> {
    let ready = || message(b'Z', b"I");
    let row = |text: &[u8]| {
        message(b'D', &[&[0, 1], &(text.len() as u32).to_be_bytes()[..], text].concat())
    };
    let columns =
        || message(b'T', b"\0\x01v\0\0\0\x40\0\0\x02\0\0\x04\x13\xff\xff\xff\xff\xff\xff\0\0");
    vec![
        message(b'R', &[0, 0, 0, 0]),
        message(b'S', b"server_version\x0017.6\0"),
        message(b'K', &[0, 0, 0, 7, 0, 0, 0, 9]),
        ready(),
        // run
        message(b'N', b"SNOTICE\0C00000\0Mso be it\0\0"),
        message(b'C', b"UPDATE 3\0"),
        ready(),
        // query
        columns(),
        row(b"one"),
        row(b""),
        message(b'C', b"SELECT 2\0"),
        ready(),
        // prepare
        message(b'1', b""),
        ready(),
        // execute
        message(b'2', b""),
        row(b"two"),
        message(b'C', b"SELECT 1\0"),
        ready(),
        // load
        message(b'G', &[0, 0, 2, 0, 0, 0, 0]),
        message(b'C', b"COPY 2\0"),
        ready(),
    ]
}

/// What a server of Postgres says instead of anything else.
fn postgres_refusal() -> Vec<u8> {
    message(b'E', b"SERROR\0C42P01\0Mno such table\0Dit never was\0\0")
}

/// A packet of MySQL: length, number, payload.
fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_le_bytes();
    [&length[..3], &[number], payload].concat()
}

fn mysql() -> Vec<Vec<u8>> {
    let ok = |number, rows| packet(number, &[0, rows, 0, 2, 0, 0, 0]);
    let end = |number| packet(number, &[0xfe, 0, 0, 2, 0, 0, 0]);
    let column = |number| {
        let names = b"\x03def\x02db\x01t\x01t\x01v\x01v";
        packet(number, &[&names[..], b"\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0"].concat())
    };
    let mut greeting = b"\x0a8.0.33\0\x07\0\0\0abcdefgh\0".to_vec();
    // The low half of the capabilities, character set, status, the high half, length of the salt.
    greeting.extend_from_slice(b"\xff\xff\x21\x02\0\xff\xc7\x15");
    greeting.extend_from_slice(&[0; 10]);
    greeting.extend_from_slice(b"ijklmnopqrst\0mysql_native_password\0");
    vec![
        packet(0, &greeting),
        ok(2, 0),
        // run
        ok(1, 3),
        // query
        packet(1, &[1]),
        column(2),
        packet(3, b"\x03one"),
        packet(4, b"\xfb"),
        end(5),
        // prepare: a statement with a column and a parameter
        packet(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
        column(2),
        column(3),
        // execute
        packet(1, &[1]),
        column(2),
        packet(3, b"\0\0\x03two"),
        end(4),
        // load: whether files are taken, then the request for one
        packet(1, &[1]),
        column(2),
        packet(3, b"\x011"),
        end(4),
        packet(1, b"\xfbrows"),
        ok(3, 2),
    ]
}

/// What a server of MySQL says instead of anything else.
fn mysql_refusal() -> Vec<u8> {
    packet(1, b"\xff\x7a\x04#42S02no such table")
}
