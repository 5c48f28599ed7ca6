//! A blocking socket and the framing of messages on it.

use std::io;
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;

use bytes::BytesMut;
use postgres_protocol::message::backend::Message;

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
            // SAFETY: the pointer and length are those of a live slice, and the descriptor is open.
            let sent = unsafe {
                let pointer = bytes.as_ptr().cast();
                libc::send(self.socket.as_raw_fd(), pointer, bytes.len(), libc::MSG_NOSIGNAL)
            };
            if sent >= 0 {
                bytes = &bytes[sent as usize..];
            } else {
                retry_if_interrupted()?;
            }
        }
        Ok(())
    }

    /// The type and body of the next message.
    #[inline]
    pub(super) fn next_message(&mut self) -> Result<(u8, &[u8]), Error> {
        let length = loop {
            let received = self.end - self.start;
            if received >= 5 {
                let head = &self.buffer[self.start..self.start + 5];
                let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
                if received > length {
                    break length;
                }
                self.make_room(length + 1)?;
            }
            self.receive()?;
        };
        if length < 4 {
            return Err(too_odd(length));
        }
        let message = self.start..self.start + length + 1;
        self.start = message.end;
        Ok((self.buffer[message.start], &self.buffer[message.start + 5..message.end]))
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
        let free = &mut self.buffer[self.end..];
        loop {
            // SAFETY: the pointer and length are those of a live slice, and the descriptor is open.
            let received = unsafe {
                libc::recv(self.socket.as_raw_fd(), free.as_mut_ptr().cast(), free.len(), 0)
            };
            match received {
                0 => return Err(Error::Closed),
                1.. => {
                    self.end += received as usize;
                    return Ok(());
                }
                _ => retry_if_interrupted()?,
            }
        }
    }

    #[inline]
    fn poll(&self) -> Result<(), Error> {
        let mut request =
            libc::pollfd { fd: self.socket.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        loop {
            // SAFETY: one initialised pollfd, as the count says.
            if unsafe { libc::poll(&mut request, 1, -1) } >= 0 {
                return Ok(());
            }
            retry_if_interrupted()?;
        }
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
fn retry_if_interrupted() -> Result<(), Error> {
    let error = io::Error::last_os_error();
    match error.kind() {
        io::ErrorKind::Interrupted => Ok(()),
        // What a shut-down or dead peer looks like from the sending side.
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => Err(Error::Closed),
        _ => Err(Error::Io(error)),
    }
}

#[cold]
fn too_odd(length: usize) -> Error {
    Error::Protocol(format!("a message of {length} bytes"))
}
