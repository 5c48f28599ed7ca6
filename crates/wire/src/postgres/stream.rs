//! A blocking socket and the framing of messages on it.

use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use super::address::Address;
use crate::error::Error;

/// A longer message is a broken stream rather than a row that a benchmark reads.
const LONGEST_MESSAGE: usize = 256 << 20;

pub(super) struct Stream {
    socket: OwnedFd,
    /// Ask the kernel for readiness before receiving. On a Unix socket the server's own read
    /// otherwise wakes the client a second time, for nothing.
    poll_first: bool,
    buffer: Vec<u8>,
    /// The part of the buffer that has been received and not yet taken.
    start: usize,
    end: usize,
}

impl Stream {
    pub(super) fn connect(address: &Address) -> Result<Self, Error> {
        let failed = |source| Error::Connect { address: address.to_string(), source };
        let (socket, poll_first): (OwnedFd, bool) = match address {
            Address::Unix { .. } => {
                (UnixStream::connect(address.socket_path()).map_err(failed)?.into(), true)
            }
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                (stream.into(), false)
            }
        };
        Ok(Stream { socket, poll_first, buffer: vec![0; 64 << 10], start: 0, end: 0 })
    }

    pub(super) fn duplicate(&self) -> Result<OwnedFd, Error> {
        Ok(self.socket.try_clone()?)
    }

    #[inline]
    pub(super) fn send(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) => retry_if_interrupted(error)?,
            }
        }
        Ok(())
    }

    /// The type and body of the next message.
    #[inline(always)]
    pub(super) fn next_message(&mut self) -> Result<(u8, &[u8]), Error> {
        let length = match self.received_length() {
            Some(length) => length,
            None => self.receive_message()?,
        };
        if length < 4 {
            return Err(too_odd(length));
        }
        let message = &self.buffer[self.start..self.start + length + 1];
        self.start += length + 1;
        Ok((message[0], &message[5..]))
    }

    /// The length that the next message tells, if its head has been received.
    #[inline(always)]
    fn told_length(&self) -> Option<usize> {
        let [_, length @ ..] = self.buffer[self.start..self.end].first_chunk::<5>()?;
        Some(u32::from_be_bytes(*length) as usize)
    }

    /// The same, if the message has been received whole.
    #[inline(always)]
    fn received_length(&self) -> Option<usize> {
        let length = self.told_length()?;
        (self.end - self.start > length).then_some(length)
    }

    /// Receives until the next message is there whole; answers its length.
    #[inline(never)]
    fn receive_message(&mut self) -> Result<usize, Error> {
        loop {
            if let Some(length) = self.told_length() {
                if self.end - self.start > length {
                    return Ok(length);
                }
                self.make_room(length + 1)?;
            }
            self.receive()?;
        }
    }

    /// The next message decoded, for everything off the hot path.
    pub(super) fn next_decoded(&mut self) -> Result<Message, Error> {
        let (tag, body) = self.next_message()?;
        let mut bytes = BytesMut::with_capacity(body.len() + 5);
        bytes.extend_from_slice(&[tag]);
        bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        bytes.extend_from_slice(body);
        let broken = |error: io::Error| Error::Protocol(error.to_string());
        Message::parse(&mut bytes)
            .map_err(broken)?
            .ok_or_else(|| Error::Protocol("a message shorter than it says".to_string()))
    }

    #[inline]
    fn receive(&mut self) -> Result<(), Error> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
        } else if self.end == self.buffer.len() {
            self.make_room(self.end - self.start + 1)?;
        }
        if self.poll_first {
            self.poll()?;
        }
        loop {
            match recv(&self.socket, &mut self.buffer[self.end..], RecvFlags::empty()) {
                Ok((0, _)) => return Err(Error::Closed),
                Ok((received, _)) => {
                    self.end += received;
                    return Ok(());
                }
                Err(error) => retry_if_interrupted(error)?,
            }
        }
    }

    #[inline]
    fn poll(&self) -> Result<(), Error> {
        let mut request = [PollFd::new(&self.socket, PollFlags::IN)];
        while let Err(error) = poll(&mut request, None) {
            retry_if_interrupted(error)?;
        }
        Ok(())
    }

    /// Sees to it that a message of `size` bytes fits behind `start`.
    fn make_room(&mut self, size: usize) -> Result<(), Error> {
        if size > LONGEST_MESSAGE {
            return Err(too_odd(size));
        }
        if self.start + size > self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
            if size > self.buffer.len() {
                self.buffer.resize(size.next_power_of_two(), 0);
            }
        }
        Ok(())
    }
}

/// A signal is not an error; anything else is.
#[cold]
fn retry_if_interrupted(error: Errno) -> Result<(), Error> {
    match error {
        Errno::INTR => Ok(()),
        // What a shut-down or dead peer looks like from the sending side.
        Errno::PIPE | Errno::CONNRESET => Err(Error::Closed),
        _ => Err(Error::Io(error.into())),
    }
}

#[cold]
fn too_odd(length: usize) -> Error {
    Error::Protocol(format!("a message of {length} bytes"))
}
