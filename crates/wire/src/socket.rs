//! A blocking socket with a receive buffer: what all protocols have in common.

use std::cell::Cell;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_keepcnt, set_tcp_keepidle,
    set_tcp_keepintvl,
};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::address::Address;
use crate::error::Error;
use crate::patience::{SILENCE, wait_on};
use crate::tls::{Encrypted, Tls};

/// A longer message is a broken stream rather than a row that a benchmark reads.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 20;

pub(crate) struct Socket {
    stream: Stream,
    buffer: Vec<u8>,
    /// The part of the buffer that has been received and not yet taken.
    start: usize,
    end: usize,
    /// Nothing has been received since something was sent, and readiness is to be asked for first.
    asked: bool,
    /// Nothing looks up from waiting.
    is_handed_over: Cell<bool>,
}

enum Stream {
    Unix(OwnedFd),
    Tcp(OwnedFd),
    Tls(Box<Encrypted>),
}

impl Socket {
    /// Connects without TLS, which every protocol asks for in its own way.
    pub(crate) fn connect(address: &Address) -> Result<Self, Error> {
        let failed = |source| Error::Connect { address: address.to_string(), source };
        let stream = match address {
            Address::Unix { path } => {
                Stream::Unix(UnixStream::connect(path).and_then(watchful).map_err(failed)?)
            }
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => {
                let stream = TcpStream::connect((host.as_str(), *port)).map_err(failed)?;
                stream.set_nodelay(true).map_err(failed)?;
                ask_for_signs_of_life(&stream).map_err(failed)?;
                Stream::Tcp(watchful(stream).map_err(failed)?)
            }
        };
        let (buffer, is_handed_over) = (vec![0; 64 << 10], Cell::new(false));
        Ok(Socket { stream, buffer, start: 0, end: 0, asked: false, is_handed_over })
    }

    /// Everything from here on is encrypted: both sides have agreed to it.
    pub(crate) fn encrypt(self, host: &str, tls: &Tls) -> Result<Self, Error> {
        // What somebody sent in clear text must not pass for what the server says after it.
        if !self.received().is_empty() {
            return Err(Error::Protocol("data before the encryption had begun".to_string()));
        }
        let stream = match self.stream {
            Stream::Tcp(socket) => Stream::Tls(Box::new(Encrypted::begin(socket, host, tls)?)),
            other => other,
        };
        Ok(Socket { stream, ..self })
    }

    pub(crate) fn transport(&self) -> &'static str {
        match &self.stream {
            Stream::Unix(_) => "unix socket",
            Stream::Tcp(_) => "tcp",
            Stream::Tls(encrypted) => encrypted.transport(),
        }
    }

    pub(crate) fn duplicate(&self) -> Result<OwnedFd, Error> {
        Ok(match &self.stream {
            Stream::Unix(socket) | Stream::Tcp(socket) => socket.try_clone()?,
            Stream::Tls(encrypted) => encrypted.socket().try_clone()?.into(),
        })
    }

    /// Waits for answers without looking up from now on. Answers what ends that from outside.
    pub(crate) fn hand_over(&self) -> Result<OwnedFd, Error> {
        let socket = self.duplicate()?;
        // It is the socket's, whichever descriptor it is set by.
        set_socket_timeout(&socket, Timeout::Recv, None).map_err(io::Error::from)?;
        self.is_handed_over.set(true);
        Ok(socket)
    }

    /// Sends all, or as much as a server takes that is going: receiving tells of its end.
    #[inline]
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        // Asking for readiness has no end: it is for those who need not look up.
        self.asked = self.is_handed_over.get();
        let socket = match &mut self.stream {
            Stream::Unix(socket) | Stream::Tcp(socket) => &*socket,
            Stream::Tls(encrypted) => {
                return match encrypted.send(bytes) {
                    Err(Error::Closed) => Ok(()),
                    result => result,
                };
            }
        };
        while !bytes.is_empty() {
            match send(socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                // What the server has said before it went is still to be received, and then the end.
                Err(Errno::PIPE | Errno::CONNRESET) => break,
                Err(error) => retry(error)?,
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
    #[inline(always)]
    pub(crate) fn receive(&mut self, size: usize) -> Result<(), Error> {
        if self.end - self.start >= size {
            return Ok(());
        }
        self.receive_more(size)
    }

    #[inline(never)]
    fn receive_more(&mut self, size: usize) -> Result<(), Error> {
        // What there is of a message moves to the front: the room behind it is what the kernel may
        // fill at once.
        if self.start < self.end {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        self.end -= self.start;
        self.start = 0;
        if size > LONGEST_MESSAGE {
            return Err(too_long(size));
        }
        while self.end < size {
            if self.end == self.buffer.len() {
                // With what has come, not with what is told to come: that may be a lie.
                self.buffer.resize(2 * self.end, 0);
            }
            let room = &mut self.buffer[self.end..];
            let received = match &mut self.stream {
                Stream::Unix(socket) => {
                    if std::mem::take(&mut self.asked) {
                        await_input(socket)?;
                    }
                    receive_some(socket, room)?
                }
                Stream::Tcp(socket) => receive_some(socket, room)?,
                Stream::Tls(encrypted) => encrypted.receive(room)?,
            };
            if received == 0 {
                return Err(Error::Closed);
            }
            self.end += received;
        }
        Ok(())
    }

    /// Drops the next `size` bytes, which must have been received.
    #[inline(always)]
    pub(crate) fn skip(&mut self, size: usize) {
        self.start += size;
    }

    /// Drops what has been received but its last `size` bytes.
    #[inline(always)]
    pub(crate) fn keep(&mut self, size: usize) {
        self.start = self.end - size;
    }

    /// Takes the next `size` bytes, which must have been received.
    #[inline(always)]
    pub(crate) fn take(&mut self, size: usize) -> &[u8] {
        let start = self.start;
        self.start += size;
        &self.buffer[start..self.start]
    }
}

/// A socket that looks up now and then while it is waited at.
fn watchful(socket: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let socket = socket.into();
    set_socket_timeout(&socket, Timeout::Recv, Some(SILENCE))?;
    Ok(socket)
}

/// Has the kernel ask a peer on the network whether it is still there when it has been silent, as it is
/// while it builds an index: after a minute and a half without any answer the connection is lost. What
/// lies between drops connections, too, that it takes for forgotten.
fn ask_for_signs_of_life(socket: &TcpStream) -> io::Result<()> {
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, Duration::from_secs(30))?;
    set_tcp_keepintvl(socket, Duration::from_secs(10))?;
    set_tcp_keepcnt(socket, 6)?;
    Ok(())
}

#[cold]
pub(crate) fn too_long(size: usize) -> Error {
    Error::Protocol(format!("a message of {size} bytes"))
}

/// Skips the messages at the begin whose length `length` tells, up to the first that it does not or
/// that is not whole; answers how many, and what is behind them. That is most of what a large answer
/// costs the client.
#[inline(always)]
pub(crate) fn skip_run(
    mut messages: &[u8],
    length: impl Fn(&[u8]) -> Option<usize>,
) -> (u64, &[u8]) {
    let mut count = 0;
    while let Some(behind) = length(messages).and_then(|length| messages.get(length..)) {
        messages = behind;
        count += 1;
    }
    (count, messages)
}

/// Asks the kernel for readiness before receiving what was asked for. On a Unix socket the server's
/// own read of the question otherwise wakes the client a second time, for nothing.
#[inline]
fn await_input(socket: &OwnedFd) -> Result<(), Error> {
    let mut request = [PollFd::new(socket, PollFlags::IN)];
    while let Err(error) = poll(&mut request, None) {
        retry(error)?;
    }
    Ok(())
}

/// Answers how many bytes there were; 0 at the end of the stream.
#[inline]
fn receive_some(socket: &OwnedFd, room: &mut [u8]) -> Result<usize, Error> {
    loop {
        match recv(socket, &mut *room, RecvFlags::empty()) {
            Ok((received, _)) => return Ok(received),
            Err(error) => retry(error)?,
        }
    }
}

/// A signal is not an error, nor is silence while the answer is wanted; anything else is.
#[cold]
fn retry(error: Errno) -> Result<(), Error> {
    match error {
        Errno::INTR => Ok(()),
        Errno::AGAIN => wait_on(),
        // The peer is gone and has left something unread.
        Errno::CONNRESET => Err(Error::Closed),
        _ => Err(Error::Io(error.into())),
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustix::net::sockopt::socket_keepalive;

    use super::*;

    #[test]
    fn a_silent_server_on_the_network_is_asked_for_signs_of_life() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = Address::Tcp { host: "127.0.0.1".to_string(), port };
        let socket = Socket::connect(&address).unwrap().duplicate().unwrap();
        assert!(socket_keepalive(&socket).unwrap());
    }
}
