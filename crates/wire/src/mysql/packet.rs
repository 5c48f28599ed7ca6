//! The framing of packets: three bytes of length, a sequence number, a payload. A payload of 16 MiB
//! or more is sent in several packets.

use crate::error::Error;
use crate::socket::{LONGEST_MESSAGE, Socket, skip_run, too_long};

pub(super) const HEAD: usize = 4;
/// A packet of this length is followed by more of the same payload.
const FULL: usize = 0xff_ffff;

/// The next payload. One of several packets is assembled in `long`.
pub(super) fn next_payload<'a>(
    socket: &'a mut Socket,
    sequence: &mut u8,
    long: &'a mut Vec<u8>,
) -> Result<&'a [u8], Error> {
    let received = socket.received();
    let length = match told_length(received) {
        Some(length) if length <= received.len() => length,
        _ => receive_packet(socket)?,
    };
    if length >= HEAD + FULL {
        whole_payload(socket, sequence, long)?;
        return Ok(long);
    }
    let packet = socket.take(length);
    *sequence = packet[3].wrapping_add(1);
    Ok(&packet[HEAD..])
}

/// Receives the next packet and returns its length.
#[inline(always)]
pub(super) fn receive_packet(socket: &mut Socket) -> Result<usize, Error> {
    socket.receive(HEAD)?;
    let length = told_length(socket.received()).unwrap_or(HEAD);
    socket.receive(length)?;
    Ok(length)
}

/// Skips the leading packets whose payloads begin with less than `end`; returns their number, and
/// what follows them.
#[inline(always)]
pub(super) fn skip_packets_below(packets: &[u8], end: u8) -> (u64, &[u8]) {
    skip_run(packets, |packets| match packets {
        [_, _, _, _, first, ..] if *first < end => {
            // An empty payload has no first byte.
            told_length(packets).filter(|length| (HEAD + 1..HEAD + FULL).contains(length))
        }
        _ => None,
    })
}

/// A payload that has been received completely, and what follows it. None if it is part of a longer
/// one.
#[inline(always)]
pub(super) fn split_payload(received: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = told_length(received).filter(|length| *length < HEAD + FULL)?;
    let (packet, rest) = received.split_at_checked(length)?;
    Some((&packet[HEAD..], rest))
}

/// Bytes of the packet that begins here, if its header has been received.
#[inline(always)]
fn told_length(received: &[u8]) -> Option<usize> {
    let head = u32::from_le_bytes(*received.first_chunk::<HEAD>()?);
    // The fourth byte is the number.
    Some(HEAD + (head & 0xff_ffff) as usize)
}

/// Assembles the next payload from any number of packets.
pub(super) fn whole_payload(
    socket: &mut Socket,
    sequence: &mut u8,
    payload: &mut Vec<u8>,
) -> Result<(), Error> {
    payload.clear();
    loop {
        socket.receive(HEAD)?;
        let length = told_length(socket.received()).unwrap_or(HEAD);
        socket.receive(length)?;
        let packet = socket.take(length);
        *sequence = packet[3].wrapping_add(1);
        payload.extend_from_slice(&packet[HEAD..]);
        if payload.len() > LONGEST_MESSAGE {
            return Err(too_long(payload.len()));
        }
        if length < HEAD + FULL {
            return Ok(());
        }
    }
}

/// Sends a payload that was written after room for a header, in as many packets as it needs.
/// `sequence` is the number of the first packet, and becomes that of the next one.
#[inline]
pub(super) fn send_payload(
    socket: &mut Socket,
    sequence: &mut u8,
    message: &mut [u8],
) -> Result<(), Error> {
    let length = message.len() - HEAD;
    if length < FULL {
        write_head(message, length, *sequence);
        *sequence = sequence.wrapping_add(1);
        return socket.send(message);
    }
    for payload in message[HEAD..].chunks(FULL) {
        let mut head = [0; HEAD];
        write_head(&mut head, payload.len(), *sequence);
        *sequence = sequence.wrapping_add(1);
        socket.send(&head)?;
        socket.send(payload)?;
    }
    if length.is_multiple_of(FULL) {
        let mut head = [0; HEAD];
        write_head(&mut head, 0, *sequence);
        *sequence = sequence.wrapping_add(1);
        socket.send(&head)?;
    }
    Ok(())
}

fn write_head(head: &mut [u8], length: usize, sequence: u8) {
    head[..3].copy_from_slice(&(length as u32).to_le_bytes()[..3]);
    head[3] = sequence;
}

/// Reads a length-encoded integer; returns it and what follows.
#[inline(always)]
pub(super) fn length_encoded(bytes: &[u8]) -> Result<(u64, &[u8]), Error> {
    match bytes {
        [small @ 0..=0xfa, rest @ ..] => Ok((u64::from(*small), rest)),
        _ => long_number(bytes),
    }
}

/// The same for a number of more than one byte.
#[inline(never)]
fn long_number(bytes: &[u8]) -> Result<(u64, &[u8]), Error> {
    let short = || Error::Protocol("a packet that ends within a number".to_string());
    let (&first, rest) = bytes.split_first().ok_or_else(short)?;
    let width = match first {
        0xfc => 2,
        0xfd => 3,
        0xfe => 8,
        _ => return Err(Error::Protocol(format!("a number that begins with {first:#x}"))),
    };
    let (number, rest) = rest.split_at_checked(width).ok_or_else(short)?;
    let mut value = [0; 8];
    value[..width].copy_from_slice(number);
    Ok((u64::from_le_bytes(value), rest))
}

/// Appends a length-encoded integer.
pub(super) fn put_length(out: &mut Vec<u8>, value: u64) {
    let bytes = value.to_le_bytes();
    match value {
        0..=0xfa => out.push(bytes[0]),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&bytes[..2]);
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&bytes[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_survive_their_encoding() {
        for value in [0, 250, 251, 65_535, 65_536, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut bytes = Vec::new();
            put_length(&mut bytes, value);
            bytes.push(7);
            assert_eq!(length_encoded(&bytes).unwrap(), (value, &[7][..]));
            assert!(length_encoded(&bytes[..bytes.len() - 1]).is_ok());
        }
        assert!(length_encoded(&[]).is_err());
        assert!(length_encoded(&[0xfc, 1]).is_err());
        assert!(length_encoded(&[0xff]).is_err());
    }
}
