//! Scripts of pgbench on Postgres: the messages are those that libpq sends for pgbench, so that a
//! server does the same work for both.

use postgres_protocol::message::frontend;

use super::message::{HEAD, next_message, skip_rows, split_message};
use super::{Postgres, server_error, text_row, trailing_number, unexpected};
use crate::error::Error;
use crate::scripted::{ResultRows, Scripted, TextValues, Texted, TransactionBlock};
use crate::socket::Socket;

/// How many ends of implicit transactions are on their way, and what the last one told.
#[derive(Debug, Default)]
pub(super) struct Pipeline {
    syncs: u32,
    /// They are messages of their own, not those of a text of statements.
    is_extended: bool,
    /// The status in the last ReadyForQuery.
    status: u8,
}

/// Describe of the unnamed portal, and its Execute without a row limit.
const DESCRIBE_AND_EXECUTE: [u8; 17] = [b'D', 0, 0, 0, 6, b'P', 0, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0];

const SYNC: [u8; 5] = [b'S', 0, 0, 0, 4];

impl Scripted for Postgres {
    fn ask(&mut self, sql: &str, keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error> {
        self.socket.ask(sql);
        frontend::query(sql, &mut self.out)?;
        self.pipeline.syncs += 1;
        self.pipeline.is_extended = false;
        self.exchange(keep)
    }

    fn parse(&mut self, name: &str, sql: &str) -> Result<(), Error> {
        self.socket.ask(sql);
        frontend::parse(name, sql, [], &mut self.out)?;
        self.finish(None).map(drop)
    }

    fn queue(&mut self, statement: Texted<'_>, values: &TextValues) {
        let name = match statement {
            Texted::Prepared(name) => name,
            Texted::Unnamed(sql) => {
                // The text has no zero byte: scripts with one are refused.
                let length = (sql.len() + 8) as u32;
                self.out.extend_from_slice(b"P");
                self.out.extend_from_slice(&length.to_be_bytes());
                self.out.extend_from_slice(b"\0");
                self.out.extend_from_slice(sql.as_bytes());
                self.out.extend_from_slice(b"\0\0\0");
                ""
            }
        };
        // The length counts itself, two names that end with zeros, no formats of parameters, their
        // number, and text as the one format of results.
        let length = (4 + 1 + name.len() + 1 + 2 + 2 + values.bytes.len() + 4) as u32;
        self.out.extend_from_slice(b"B");
        self.out.extend_from_slice(&length.to_be_bytes());
        self.out.extend_from_slice(b"\0");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\0\0\0");
        self.out.extend_from_slice(&values.count.to_be_bytes());
        self.out.extend_from_slice(&values.bytes);
        self.out.extend_from_slice(&[0, 1, 0, 0]);
        self.out.extend_from_slice(&DESCRIBE_AND_EXECUTE);
    }

    fn sync(&mut self) {
        self.out.extend_from_slice(&SYNC);
        self.pipeline.syncs += 1;
        self.pipeline.is_extended = true;
    }

    fn finish(&mut self, keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error> {
        self.sync();
        self.exchange(keep)
    }

    fn queued(&self) -> usize {
        self.out.len()
    }

    fn block(&self) -> TransactionBlock {
        match self.pipeline.status {
            b'T' => TransactionBlock::Begun,
            b'E' => TransactionBlock::Failed,
            _ => TransactionBlock::None,
        }
    }
}

impl Postgres {
    /// Sends what is queued and receives up to the last end. The first error is the cause of later
    /// ones.
    fn exchange(&mut self, keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error> {
        self.send()?;
        if keep.is_none() && self.pipeline.syncs == 1 {
            self.socket.receive(HEAD)?;
            if let Some(answer) = usual_answer(self.socket.received()) {
                self.socket.skip(answer.length);
                self.pipeline.syncs = 0;
                self.pipeline.status = answer.status;
                return Ok(answer.rows);
            }
        }
        self.exchange_any(keep)
    }

    /// Receives answers of any kind.
    fn exchange_any(&mut self, mut keep: Option<&mut Vec<ResultRows>>) -> Result<u64, Error> {
        let (mut rows, mut error) = (0, None);
        let mut is_described = false;
        while self.pipeline.syncs > 0 {
            if keep.is_none() {
                rows += skip(&mut self.socket);
            }
            let (tag, body) = match next_message(&mut self.socket) {
                Ok(message) => message,
                // The error before the end says more than the end.
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match tag {
                b'D' => {
                    rows += 1;
                    if let Some(answer) = keep.as_mut().and_then(|answers| answers.last_mut()) {
                        answer.rows.push(text_row(&super::data_row(body)?)?);
                    }
                }
                b'T' => {
                    is_described = true;
                    if let Some(answers) = &mut keep {
                        answers.push(ResultRows { columns: columns(body), rows: Vec::new() });
                    }
                }
                b'C' | b'I' => {
                    if !is_described {
                        rows += trailing_number(body);
                        keep.iter_mut().for_each(|answers| answers.push(ResultRows::default()));
                    }
                    is_described = false;
                }
                b'1' | b'2' | b'3' | b'N' | b'S' | b'n' | b'A' | b't' => {}
                b'Z' => {
                    self.pipeline.status = body.first().copied().unwrap_or_default();
                    self.pipeline.syncs -= 1;
                    is_described = false;
                }
                b'E' => {
                    let told = server_error(body);
                    error.get_or_insert(told);
                }
                // A server that waits for data of a COPY is told that there are none. Meanwhile it
                // has ignored the end that was on its way.
                b'G' => {
                    frontend::copy_fail("a script has no data for COPY", &mut self.out)?;
                    if self.pipeline.is_extended {
                        frontend::sync(&mut self.out);
                    }
                    self.send()?;
                }
                b'H' | b'd' | b'c' => {}
                other => return Err(unexpected(other)),
            }
        }
        error.map_or(Ok(rows), Err)
    }
}

struct UsualAnswer {
    /// How many were returned or changed.
    rows: u64,
    /// Of the transaction.
    status: u8,
    length: usize,
}

/// The answer to one statement, if it has been received completely. None if there is anything else
/// in it.
#[inline]
fn usual_answer(received: &[u8]) -> Option<UsualAnswer> {
    let (mut is_described, mut rest) = (false, received);
    while let Some((tag @ (b'1' | b'2' | b'n' | b'T'), _, behind)) = split_message(rest) {
        is_described |= tag == b'T';
        rest = behind;
    }
    let (returned, rest) = skip_rows(rest);
    let (b'C', tag, rest) = split_message(rest)? else { return None };
    let (b'Z', &[status, ..], rest) = split_message(rest)? else { return None };
    let rows = if is_described { returned } else { trailing_number(tag) };
    Some(UsualAnswer { rows, status, length: received.len() - rest.len() })
}

/// Skips rows that were received; returns their number.
fn skip(socket: &mut Socket) -> u64 {
    let (count, behind) = skip_rows(socket.received());
    let length = behind.len();
    socket.keep(length);
    count
}

/// The names in a RowDescription: each ends with a zero, and 18 bytes follow it.
fn columns(body: &[u8]) -> Vec<String> {
    const FACTS: usize = 18;
    let mut rest = body.get(2..).unwrap_or_default();
    let mut names = Vec::new();
    while let Some(end) = rest.iter().position(|byte| *byte == 0) {
        names.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = rest.get(end + 1 + FACTS..).unwrap_or_default();
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_columns_are_read_without_what_describes_them() {
        let mut body = vec![0, 2];
        for name in ["id", "?column?"] {
            body.extend_from_slice(name.as_bytes());
            body.extend_from_slice(&[0; 19]);
        }
        assert_eq!(columns(&body), ["id", "?column?"]);
        assert_eq!(columns(&[0, 0]), [""; 0]);
        assert_eq!(columns(b"\0\x02id\0"), ["id"], "what is cut short is no panic");
    }

    #[test]
    fn the_usual_answer_is_read_at_once_and_no_other() {
        let message = |tag: u8, body: &[u8]| {
            let length = (body.len() as u32 + 4).to_be_bytes();
            [&[tag][..], &length, body].concat()
        };
        let (bound, row) = (message(b'2', b""), message(b'D', &[0, 1, 0, 0, 0, 1, b'7']));
        let described = message(b'T', &[0, 0]);
        let end = message(b'Z', b"T");
        let read = |messages: &[&[u8]]| {
            let received = messages.concat();
            let answer = usual_answer(&received)?;
            assert_eq!(answer.length, received.len());
            Some((answer.rows, answer.status))
        };
        let selected = message(b'C', b"SELECT 2\0");
        let two = [&bound[..], &described, &row, &row, &selected, &end];
        assert_eq!(read(&two), Some((2, b'T')));
        assert_eq!(read(&two[..5]), None, "the end has not been received");
        let updated = message(b'C', b"UPDATE 5\0");
        assert_eq!(read(&[&message(b'n', b""), &updated, &end]), Some((5, b'T')));
        let error = message(b'E', b"\0");
        assert_eq!(read(&[&bound, &error, &end]), None);
        assert_eq!(read(&[&described, &row, &selected, &described, &selected, &end]), None);
        let notice = message(b'N', b"\0");
        assert_eq!(read(&[&notice, &updated, &end]), None, "what is rare is read one by one");
    }

    #[test]
    fn values_are_sent_with_their_lengths() {
        let mut values = TextValues::default();
        values.add(|bytes| bytes.extend_from_slice(b"-7"));
        values.add_null();
        values.add(|_| {});
        assert_eq!(values.bytes, b"\0\0\0\x02-7\xff\xff\xff\xff\0\0\0\0");
        assert_eq!(values.count, 3);
    }
}
