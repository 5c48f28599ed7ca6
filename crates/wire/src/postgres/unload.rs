//! Rows of a query by COPY.

use std::io::Write;

use postgres_protocol::message::frontend;

use super::message::next_message;
use super::{Postgres, server_error, trailing_number, unexpected};
use crate::error::Error;
use crate::unload::unwritten;

impl Postgres {
    pub(super) fn unload_rows(&mut self, query: &str, to: &mut dyn Write) -> Result<u64, Error> {
        let sql = format!("copy ({query}) to stdout (format csv, null '\\N', force_quote *)");
        self.socket.ask(&sql);
        frontend::query(&sql, &mut self.out)?;
        self.send()?;
        let (mut rows, mut error) = (0, None);
        loop {
            let (tag, body) = match next_message(&mut self.socket) {
                Ok(message) => message,
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match tag {
                // The connection is of no use any more, because the server goes on to send.
                b'd' => to.write_all(body).map_err(|error| unwritten(&error))?,
                b'C' => rows = trailing_number(body),
                b'E' => error = Some(server_error(body)),
                b'Z' => return error.map_or(Ok(rows), Err),
                b'H' | b'c' | b'N' | b'S' => {}
                other => return Err(unexpected(other)),
            }
        }
    }
}
