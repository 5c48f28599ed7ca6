//! Rows that the client sends while it reads them.

use std::io::{self, Read};

use postgres_protocol::message::frontend;

use super::message::{HEAD, next_message};
use super::{Postgres, server_error, unexpected};
use crate::error::Error;

/// Bytes of rows in one message.
const CHUNK: usize = 64 << 10;

impl Postgres {
    /// Executes a COPY with the rows that a reader has.
    pub(super) fn copied(&mut self, sql: &str, rows: &mut dyn Read) -> Result<u64, Error> {
        self.socket.ask(sql);
        frontend::query(sql, &mut self.out)?;
        self.send()?;
        self.await_its_turn()?;
        // A server that rejects a row continues to read and discards what follows it.
        loop {
            match self.append_rows(rows) {
                Ok(0) => break,
                Ok(_) => self.send()?,
                Err(unread) => return Err(self.refuse(&unread)),
            }
        }
        self.out.clear();
        frontend::copy_done(&mut self.out);
        self.send()?;
        self.drain()
    }

    /// Makes a message of the next rows, and returns how many bytes of them it has.
    fn append_rows(&mut self, rows: &mut dyn Read) -> io::Result<usize> {
        self.out.clear();
        self.out.extend_from_slice(b"d");
        self.out.resize(HEAD + CHUNK, 0);
        let mut end = HEAD;
        while end < self.out.len() {
            match rows.read(&mut self.out[end..]) {
                Ok(0) => break,
                Ok(read) => end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.truncate(end);
        // The type does not count.
        self.out[1..HEAD].copy_from_slice(&(end as u32 - 1).to_be_bytes());
        Ok(end - HEAD)
    }

    /// Ends a COPY whose rows cannot be read, so that none of them is added.
    fn refuse(&mut self, unread: &io::Error) -> Error {
        self.out.clear();
        let said = format!("cannot read rows: {unread}");
        let refused = frontend::copy_fail(&said, &mut self.out).map_err(Error::from);
        match refused.and_then(|()| self.send()).and_then(|()| self.drain()) {
            Err(lost) if lost.is_disconnect() => lost,
            // The server says the same.
            _ => Error::Client(said),
        }
    }

    /// Waits until the server takes rows.
    fn await_its_turn(&mut self) -> Result<(), Error> {
        let mut error = None;
        loop {
            let (tag, body) = match next_message(&mut self.socket) {
                Ok(message) => message,
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match tag {
                b'G' => return Ok(()),
                b'E' => error = Some(server_error(body)),
                b'Z' => return Err(error.unwrap_or_else(|| unexpected(tag))),
                b'N' | b'S' => {}
                other => return Err(unexpected(other)),
            }
        }
    }
}
