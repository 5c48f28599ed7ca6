//! The framing of messages: a type, a length, a body.

use std::io;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;

use crate::error::Error;
use crate::socket::Socket;

/// A type byte and a length that counts itself.
const HEAD: usize = 5;

/// The type and body of the next message.
#[inline(always)]
pub(super) fn next_message(socket: &mut Socket) -> Result<(u8, &[u8]), Error> {
    let length = match told_length(socket) {
        Some(length) if socket.received().len() > length => length,
        _ => receive_message(socket)?,
    };
    let message = socket.take(length + 1);
    Ok((message[0], &message[HEAD..]))
}

/// The length that the next message tells, if its head has been received.
#[inline(always)]
fn told_length(socket: &Socket) -> Option<usize> {
    let [_, length @ ..] = socket.received().first_chunk::<HEAD>()?;
    // A length that does not even count itself would be no way forward.
    Some((u32::from_be_bytes(*length) as usize).max(HEAD - 1))
}

/// Receives the next message; answers its length.
#[inline(never)]
fn receive_message(socket: &mut Socket) -> Result<usize, Error> {
    socket.receive(HEAD)?;
    let length = told_length(socket).unwrap_or_default();
    socket.receive(length + 1)?;
    Ok(length)
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
