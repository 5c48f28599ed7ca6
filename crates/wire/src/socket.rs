//! A blocking socket with a receive buffer: what all protocols have in common.

use std::cell::Cell;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::address::Address;
use crate::connect::{self, await_ready, look_up_every};
use crate::error::Error;
use crate::patience::Waits;
use crate::tls::Encrypted;
use crate::tls_parameters::Tls;

/// A longer message is a broken stream, not a row that a benchmark reads.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 20;
/// The longest message during a login: the longest ones are lists of a few names, and errors.
const LONGEST_OF_LOGIN: usize = 64 << 10;

pub(crate) struct Socket {
    stream: Stream,
    buffer: Vec<u8>,
    /// The part of the buffer that has been received and not consumed.
    start: usize,
    end: usize,
    /// Nothing has been received since the last send, so readiness is checked first.
    asked: bool,
    /// Waits are not interrupted to check for cancellation.
    is_handed_over: Cell<bool>,
    /// A longer message is an error.
    longest: usize,
    waits: Waits,
    /// The server was asked for TLS but has none.
    is_refused_tls: bool,
}

enum Stream {
    Unix(OwnedFd),
    Tcp(OwnedFd),
    Tls(Box<Encrypted>),
}

impl Socket {
    /// Connects without TLS, which each protocol requests in its own way. `at` replaces the look-up
    /// of the host's name.
    pub(crate) fn connect(
        address: &Address,
        at: Option<IpAddr>,
        waits: Waits,
    ) -> Result<Self, Error> {
        let stream = match address {
            Address::Unix { path } => Stream::Unix(connect::unix(path, &waits)?),
            Address::Tcp { host, port } | Address::Tls { host, port, .. } => {
                Stream::Tcp(connect::tcp(host, *port, at, &waits)?)
            }
        };
        let (buffer, is_handed_over) = (vec![0; 64 << 10], Cell::new(false));
        Ok(Socket {
            stream,
            buffer,
            start: 0,
            end: 0,
            asked: false,
            is_handed_over,
            longest: LONGEST_OF_LOGIN,
            waits,
            is_refused_tls: false,
        })
    }

    /// Encrypts everything from here on: both ends have agreed to it.
    pub(crate) fn encrypt(self, host: &str, tls: &Tls) -> Result<Self, Error> {
        // Data sent in clear text must not be taken for encrypted data of the server.
        if !self.received().is_empty() {
            return Err(Error::Protocol("data before the encryption had begun".to_string()));
        }
        let stream = match self.stream {
            Stream::Tcp(socket) => {
                Stream::Tls(Box::new(Encrypted::begin(socket, host, tls, &self.waits)?))
            }
            other => other,
        };
        Ok(Socket { stream, ..self })
    }

    /// Continues without the requested TLS, and records that.
    pub(crate) fn do_without_tls(&mut self) {
        self.is_refused_tls = true;
    }

    /// Logging in is over, and its limits with it.
    pub(crate) fn logged_in(&mut self) {
        self.longest = LONGEST_MESSAGE;
        self.waits.logged_in();
    }

    /// An error if the time to log in is over.
    pub(crate) fn in_time(&self) -> Result<(), Error> {
        self.waits.in_time()
    }

    /// An error if the wait is cancelled.
    pub(crate) fn wait_on(&self) -> Result<(), Error> {
        self.waits.wait_on()
    }

    /// Whether a wait was cancelled: the server may still be busy with it.
    pub(crate) fn is_given_up(&self) -> bool {
        self.waits.is_given_up()
    }

    /// Sets what is waited for, for messages. Clients of a benchmark do not.
    pub(crate) fn ask(&mut self, sql: &str) {
        if !self.is_handed_over.get() {
            self.waits.ask(sql);
        }
    }

    /// Nobody in between can read what is sent.
    pub(crate) fn is_private(&self) -> bool {
        matches!(self.stream, Stream::Unix(_) | Stream::Tls(_))
    }

    pub(crate) fn encrypted(&self) -> Option<&Encrypted> {
        match &self.stream {
            Stream::Tls(encrypted) => Some(encrypted),
            _ => None,
        }
    }

    pub(crate) fn transport(&self) -> &'static str {
        match &self.stream {
            Stream::Unix(_) => "unix socket",
            Stream::Tcp(_) if self.is_refused_tls => "tcp without TLS",
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

    /// From now on waits without checking for cancellation. Returns the handle that ends a wait
    /// from outside.
    pub(crate) fn hand_over(&self) -> Result<OwnedFd, Error> {
        let socket = self.duplicate()?;
        // The option belongs to the socket, whichever descriptor sets it.
        look_up_every(&socket, None)?;
        self.is_handed_over.set(true);
        Ok(socket)
    }

    /// Sends all, or as much as an ending server takes: receiving then reports the end.
    #[inline]
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        // Checking for readiness has no time limit, so only handed-over connections do it.
        self.asked = self.is_handed_over.get();
        let socket = match &mut self.stream {
            Stream::Unix(socket) | Stream::Tcp(socket) => &*socket,
            Stream::Tls(encrypted) => {
                return match encrypted.send(bytes, &self.waits) {
                    Err(Error::Closed) => Ok(()),
                    result => result,
                };
            }
        };
        while !bytes.is_empty() {
            match send(socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                // The server's last messages can still be received, and then the end.
                Err(Errno::PIPE | Errno::CONNRESET) => break,
                Err(error) => retry(error, socket, PollFlags::OUT, &self.waits)?,
            }
        }
        Ok(())
    }

    /// The received bytes that were not consumed.
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
        // A partial message moves to the front, to make the most room for the kernel.
        if self.start < self.end {
            self.buffer.copy_within(self.start..self.end, 0);
        }
        self.end -= self.start;
        self.start = 0;
        if size > self.longest {
            return Err(too_long(size));
        }
        loop {
            if self.end == self.buffer.len() {
                // The buffer grows with the received bytes, not with the announced length, which
                // may be false.
                self.buffer.resize(2 * self.end, 0);
            }
            let room = &mut self.buffer[self.end..];
            let received = match &mut self.stream {
                Stream::Unix(socket) => {
                    if std::mem::take(&mut self.asked) {
                        await_input(socket, &self.waits)?;
                    }
                    receive_some(socket, room, &self.waits)?
                }
                Stream::Tcp(socket) => receive_some(socket, room, &self.waits)?,
                Stream::Tls(encrypted) => encrypted.receive(room, &self.waits)?,
            };
            if received == 0 {
                return Err(Error::Closed);
            }
            self.end += received;
            if self.end >= size {
                return Ok(());
            }
            // The time limit of a login also applies to a server that sends byte by byte.
            self.waits.in_time()?;
        }
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

#[cold]
pub(crate) fn too_long(size: usize) -> Error {
    Error::Protocol(format!("a message of {size} bytes is too long"))
}

/// Skips the leading messages whose length `length` returns, up to the first without one or the
/// first incomplete one; returns their number, and what follows. This is most of the client's cost
/// of a large result.
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

/// Checks for readiness before receiving an answer. Otherwise, on a Unix socket, the server's read
/// of the request wakes the client a second time for nothing.
#[inline]
fn await_input(socket: &OwnedFd, waits: &Waits) -> Result<(), Error> {
    let mut request = [PollFd::new(socket, PollFlags::IN)];
    while let Err(error) = poll(&mut request, None) {
        retry(error, socket, PollFlags::IN, waits)?;
    }
    Ok(())
}

/// Returns the number of bytes; 0 at the end of the stream.
#[inline]
fn receive_some(socket: &OwnedFd, room: &mut [u8], waits: &Waits) -> Result<usize, Error> {
    loop {
        match recv(socket, &mut *room, RecvFlags::empty()) {
            Ok((received, _)) => return Ok(received),
            Err(error) => retry(error, socket, PollFlags::IN, waits)?,
        }
    }
}

/// A signal is not an error, nor is silence before cancellation; anything else is. The length of a
/// silence is counted here, outside the path of immediate answers.
#[cold]
#[inline(never)]
fn retry(error: Errno, socket: &OwnedFd, wanted: PollFlags, waits: &Waits) -> Result<(), Error> {
    match error {
        // An interrupted system call also checks for cancellation.
        Errno::INTR => waits.in_time(),
        Errno::AGAIN => {
            waits.wait_on()?;
            await_ready(socket, wanted, waits)
        }
        // The peer has ended and left something unread.
        Errno::CONNRESET => Err(Error::Closed),
        _ => Err(Error::Io(error.into())),
    }
}
