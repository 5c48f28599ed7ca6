//! A blocking socket with a receive buffer: what all protocols have in common.

use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::address::Address;
use crate::error::Error;

/// A longer message is a broken stream rather than a row that a benchmark reads.
const LONGEST_MESSAGE: usize = 256 << 20;

pub(crate) struct Socket {
    socket: OwnedFd,
    /// Ask the kernel for readiness before receiving. On a Unix socket the server's own read
    /// otherwise wakes the client a second time, for nothing.
    poll_first: bool,
    buffer: Vec<u8>,
    /// The part of the buffer that has been received and not yet taken.
    start: usize,
    end: usize,
}

impl Socket {
    pub(crate) fn connect(address: &Address) -> Result<Self, Error> {
        let failed = |source| Error::Connect { address: address.to_string(), source };
        let (socket, poll_first): (OwnedFd, bool) = match address {
            Address::Unix { path } => (UnixStream::connect(path).map_err(failed)?.into(), true),
            Address::Tcp { host, port } => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                (stream.into(), false)
            }
        };
        Ok(Socket { socket, poll_first, buffer: vec![0; 64 << 10], start: 0, end: 0 })
    }

    pub(crate) fn duplicate(&self) -> Result<OwnedFd, Error> {
        Ok(self.socket.try_clone()?)
    }

    #[inline]
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            match send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) => retry_if_interrupted(error)?,
            }
        }
        Ok(())
    }

    /// What has been received and not been taken.
    #[inline(always)]
    pub(crate) fn received(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Receives until there are at least `size` bytes.
    #[inline(never)]
    pub(crate) fn receive(&mut self, size: usize) -> Result<(), Error> {
        while self.end - self.start < size {
            self.make_room(size)?;
            if self.poll_first {
                self.poll()?;
            }
            match recv(&self.socket, &mut self.buffer[self.end..], RecvFlags::empty()) {
                Ok((0, _)) => return Err(Error::Closed),
                Ok((received, _)) => self.end += received,
                Err(error) => retry_if_interrupted(error)?,
            }
        }
        Ok(())
    }

    /// Takes the next `size` bytes, which must have been received.
    #[inline(always)]
    pub(crate) fn take(&mut self, size: usize) -> &[u8] {
        let start = self.start;
        self.start += size;
        &self.buffer[start..self.start]
    }

    #[inline]
    fn poll(&self) -> Result<(), Error> {
        let mut request = [PollFd::new(&self.socket, PollFlags::IN)];
        while let Err(error) = poll(&mut request, None) {
            retry_if_interrupted(error)?;
        }
        Ok(())
    }

    /// Sees to it that `size` bytes fit behind `start`.
    fn make_room(&mut self, size: usize) -> Result<(), Error> {
        if size > LONGEST_MESSAGE {
            return Err(Error::Protocol(format!("a message of {size} bytes")));
        }
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
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
