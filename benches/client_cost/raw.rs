//! The lower bound of all clients: the point query in prepared bytes, sent to a bare socket, and
//! its result received. Cost beyond that is the client's own.

use std::ffi::OsString;

use anyhow::{Context, bail, ensure};
use rqps_wire::{Interrupter, Type, Value};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::clients::BE_A_SOCKET;
use crate::sbtest::ROWS;
use crate::subject;

/// Requests in turn, with keys from the whole table. More requests would not fit in the caches;
/// with fewer, the server would find all rows in the caches, unlike for the other clients.
const CYCLE: u64 = 1024;

/// Runs the operations. With `poll` it checks for readiness before it receives, like rqps and
/// libpq: one more system call, but the server's read of the request then does not wake the client
/// for nothing. Which of the two costs less depends on the kernel.
pub(crate) fn run(arguments: &[OsString]) -> anyhow::Result<()> {
    let [dbms, path, user, database, operations, polls] = arguments else {
        bail!("{BE_A_SOCKET} needs a DBMS, a socket, a user, a database, a number, true or false");
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
