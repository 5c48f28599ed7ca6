//! The lower bound of all clients: the point query in prepared bytes, sent to a bare socket, and
//! its result received. Cost beyond that is the client's own.

use std::ffi::OsString;

use anyhow::{Context, bail, ensure};
use rqps_wire::{Interrupter, Type, Value};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::server::ROWS;
use crate::subject;

/// Makes this program the bare socket. DBMS, socket, user, database, the number of operations and
/// whether to poll follow.
pub(crate) const ARGUMENT: &str = "--be-a-socket";

/// Requests in turn, with keys from the whole table. More requests would not fit in the caches;
/// with fewer, the server would find all rows in the caches, unlike for the other clients.
const CYCLE: u64 = 1024;

/// The point query and its result in the protocol.
pub(crate) struct Exchange {
    /// Around the key: an execution of the statement that a connection prepared first.
    pub(crate) before_key: &'static [u8],
    pub(crate) key: fn(u64) -> [u8; 8],
    pub(crate) after_key: &'static [u8],
    /// The beginning of a result that is not an error.
    pub(crate) begin: &'static [u8],
    /// The beginning of its last message, and the length of that message.
    pub(crate) last: (&'static [u8], usize),
}

impl Exchange {
    fn request(&self, key: u64) -> Vec<u8> {
        [self.before_key, &(self.key)(key)[..], self.after_key].concat()
    }

    /// Whether this is a complete result with its row. Messages between the first and the last are
    /// not checked.
    fn is_whole(&self, answer: &[u8]) -> bool {
        let (last, length) = self.last;
        let start = answer.len().checked_sub(length);
        answer.starts_with(self.begin)
            && start.is_some_and(|start| answer[start..].starts_with(last))
    }

    /// Whether a partial result may become a complete one.
    fn is_part(&self, answer: &[u8]) -> bool {
        answer.iter().zip(self.begin).all(|(byte, expected)| byte == expected)
    }
}

/// Runs the operations. With `poll` it checks for readiness before it receives, like rqps and
/// libpq: one more system call, but the server's read of the request then does not wake the client
/// for nothing. Which of the two costs less depends on the kernel.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [dbms, path, user, database, operations, polls] = arguments else {
        bail!("{ARGUMENT} needs a DBMS, a socket, a user, a database, a number, true or false");
    };
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    let subject = subject::named(&text(dbms)).context("a DBMS")?;
    let (operations, polls): (usize, bool) = (text(operations).parse()?, text(polls).parse()?);

    // rqps's own client logs in and prepares. On MySQL the first execution sends the key's type,
    // and later ones rely on it.
    let mut connection = subject.target_at(path, user, database).connect()?;
    let sql = format!("SELECT c FROM sbtest1 WHERE id={}", subject.dialect.placeholder(1));
    let statement = connection.prepare(&sql, &[Type::Int8])?;
    connection.execute(statement, &[Value::Int(1)])?;
    let (Interrupter::Server(socket, _) | Interrupter::Socket(socket)) = connection.hand_over()?
    else {
        bail!("{} has no socket", subject.contender);
    };

    let exchange = &subject.point_query;
    let keys = (0..CYCLE).map(|n| 1 + n * (ROWS / CYCLE));
    let requests: Vec<Vec<u8>> = keys.map(|key| exchange.request(key)).collect();
    let mut answer = [0_u8; 4096];
    for request in requests.iter().cycle().take(operations) {
        let sent = send(&socket, request, SendFlags::NOSIGNAL)?;
        ensure!(sent == request.len(), "only {sent} bytes of a request were sent");
        if polls {
            poll(&mut [PollFd::new(&socket, PollFlags::IN)], None)?;
        }
        let mut end = 0;
        loop {
            let (received, _) = recv(&socket, &mut answer[end..], RecvFlags::empty())?;
            end += received;
            let so_far = &answer[..end];
            if exchange.is_whole(so_far) {
                break;
            }
            let may_go_on = received > 0 && exchange.is_part(so_far);
            ensure!(may_go_on, "answered '{}'", so_far.escape_ascii());
        }
    }
    Ok(())
}
