//! The framing of messages: a type, a length, a body.

use std::io;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;

use crate::error::Error;
use crate::socket::{Socket, skip_run};

/// A type byte and a length that counts itself.
pub(super) const HEAD: usize = 5;

/// The type and body of the next message.
pub(super) fn next_message(socket: &mut Socket) -> Result<(u8, &[u8]), Error> {
    let received = socket.received();
    let length = match told_length(received) {
        Some(length) if length <= received.len() => length,
        _ => receive_message(socket)?,
    };
    let message = socket.take(length);
    Ok((message[0], &message[HEAD..]))
}

/// Receives the next message and returns its length.
fn receive_message(socket: &mut Socket) -> Result<usize, Error> {
    socket.receive(HEAD)?;
    let length = told_length(socket.received()).unwrap_or(HEAD);
    socket.receive(length)?;
    Ok(length)
}

/// Bytes of the message that begins here, if its header has been received.
#[inline(always)]
fn told_length(received: &[u8]) -> Option<usize> {
    let [_, length @ ..] = received.first_chunk::<HEAD>()?;
    // The length does not include the type. A length smaller than itself would allow no progress.
    Some((u32::from_be_bytes(*length) as usize + 1).max(HEAD))
}

/// Skips the leading rows; returns their number, and what follows them.
#[inline(always)]
pub(super) fn skip_rows(messages: &[u8]) -> (u64, &[u8]) {
    skip_run(messages, |messages| match messages {
        [b'D', ..] => told_length(messages),
        _ => None,
    })
}

/// The type and body of a message that has been received completely, and what follows it.
#[inline(always)]
pub(super) fn split_message(received: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (message, rest) = received.split_at_checked(told_length(received)?)?;
    Some((message[0], &message[HEAD..], rest))
}

/// The next message decoded, for everything off the hot path.
pub(super) fn next_decoded(socket: &mut Socket) -> Result<Message, Error> {
    let (tag, body) = next_message(socket)?;
    decode(tag, body)
}

pub(super) fn decode(tag: u8, body: &[u8]) -> Result<Message, Error> {
    let mut bytes = BytesMut::with_capacity(body.len() + HEAD);
    bytes.extend_from_slice(&[tag]);
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    let broken = |error: io::Error| Error::Protocol(error.to_string());
    Message::parse(&mut bytes)
        .map_err(broken)?
        .ok_or_else(|| Error::Protocol("a message shorter than it says".to_string()))
}
