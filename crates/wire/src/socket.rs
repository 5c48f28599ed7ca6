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
use crate::tls::{Encrypted, Tls};

/// A longer message is a broken stream rather than a row that a benchmark reads.
pub(crate) const LONGEST_MESSAGE: usize = 256 << 20;
/// Nothing that is said during a login is longer: the longest are lists of a few names, and errors.
const LONGEST_OF_LOGIN: usize = 64 << 10;

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
    /// A longer message is refused.
    longest: usize,
    waits: Waits,
    /// The server was asked for TLS, and has none.
    is_refused_tls: bool,
}

enum Stream {
    Unix(OwnedFd),
    Tcp(OwnedFd),
    Tls(Box<Encrypted>),
}

impl Socket {
    /// Connects without TLS, which every protocol asks for in its own way. `at` is asked in place
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

    /// Everything from here on is encrypted: both sides have agreed to it.
    pub(crate) fn encrypt(self, host: &str, tls: &Tls) -> Result<Self, Error> {
        // What somebody sent in clear text must not pass for what the server says after it.
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

    /// Goes on without the TLS that was asked for, and has it told.
    pub(crate) fn do_without_tls(&mut self) {
        self.is_refused_tls = true;
    }

    /// Logging in is over, and its limits with it.
    pub(crate) fn logged_in(&mut self) {
        self.longest = LONGEST_MESSAGE;
        self.waits.logged_in();
    }

    /// Whether there is time left to log in.
    pub(crate) fn in_time(&self) -> Result<(), Error> {
        self.waits.in_time()
    }

    /// Whether the answer is wanted still.
    pub(crate) fn wait_on(&self) -> Result<(), Error> {
        self.waits.wait_on()
    }

    /// Says what is waited for from now on. Clients of a benchmark do not.
    pub(crate) fn ask(&mut self, sql: &str) {
        if !self.is_handed_over.get() {
            self.waits.ask(sql);
        }
    }

    /// Nobody on the way can read what is sent.
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

    /// Waits for answers without looking up from now on. Answers what ends that from outside.
    pub(crate) fn hand_over(&self) -> Result<OwnedFd, Error> {
        let socket = self.duplicate()?;
        // It is the socket's, whichever descriptor it is set by.
        look_up_every(&socket, None)?;
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
                return match encrypted.send(bytes, &self.waits) {
                    Err(Error::Closed) => Ok(()),
                    result => result,
                };
            }
        };
        while !bytes.is_empty() {
            match send(socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                // What the server has said before it went is still to be received, and then the
                // end.
                Err(Errno::PIPE | Errno::CONNRESET) => break,
                Err(error) => retry(error, socket, PollFlags::OUT, &self.waits)?,
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
        if size > self.longest {
            return Err(too_long(size));
        }
        loop {
            if self.end == self.buffer.len() {
                // With what has come, not with what is told to come: that may be a lie.
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
            // A login may not be drawn out byte by byte either.
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
    Error::Protocol(format!("a message of {size} bytes"))
}

/// Skips the messages at the begin whose length `length` tells, up to the first that it does not or
/// that is not whole; answers how many, and what is behind them. That is most of what a large
/// answer costs the client.
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
fn await_input(socket: &OwnedFd, waits: &Waits) -> Result<(), Error> {
    let mut request = [PollFd::new(socket, PollFlags::IN)];
    while let Err(error) = poll(&mut request, None) {
        retry(error, socket, PollFlags::IN, waits)?;
    }
    Ok(())
}

/// Answers how many bytes there were; 0 at the end of the stream.
#[inline]
fn receive_some(socket: &OwnedFd, room: &mut [u8], waits: &Waits) -> Result<usize, Error> {
    loop {
        match recv(socket, &mut *room, RecvFlags::empty()) {
            Ok((received, _)) => return Ok(received),
            Err(error) => retry(error, socket, PollFlags::IN, waits)?,
        }
    }
}

/// A signal is not an error, nor is silence while the answer is wanted; anything else is. How long
/// a silence lasts is counted here, out of the way of answers that come at once.
#[cold]
#[inline(never)]
fn retry(error: Errno, socket: &OwnedFd, wanted: PollFlags, waits: &Waits) -> Result<(), Error> {
    match error {
        // An interrupted system call is a look up, too.
        Errno::INTR => waits.in_time(),
        Errno::AGAIN => {
            waits.wait_on()?;
            await_ready(socket, wanted, waits)
        }
        // The peer is gone and has left something unread.
        Errno::CONNRESET => Err(Error::Closed),
        _ => Err(Error::Io(error.into())),
    }
}
