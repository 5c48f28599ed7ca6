//! Connecting with a time limit: a host that drops packets is not waited for longer than requested,
//! and cancellation ends the wait.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_keepcnt, set_tcp_keepidle,
    set_tcp_keepintvl, socket_error,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};

use crate::error::Error;
use crate::patience::{SILENCE, Waits};

pub(crate) fn unix(path: &Path, waits: &Waits) -> Result<OwnedFd, Error> {
    let failed = |source| Error::Connect { address: waits.address().to_string(), source };
    watchful(UnixStream::connect(path).map_err(failed)?).map_err(failed)
}

/// Tries each address of the host in turn; `at` replaces the look-up of the host's name.
pub(crate) fn tcp(
    host: &str,
    port: u16,
    at: Option<IpAddr>,
    waits: &Waits,
) -> Result<OwnedFd, Error> {
    let failed = |source| Error::Connect { address: waits.address().to_string(), source };
    let addresses: Vec<SocketAddr> = match at {
        Some(at) => vec![(at, port).into()],
        None => (host, port).to_socket_addrs().map_err(failed)?.collect(),
    };
    let mut last = failed(io::Error::other("the host has no address"));
    for address in addresses {
        match one_address(address, waits) {
            Ok(stream) => {
                stream.set_nodelay(true).map_err(failed)?;
                ask_for_signs_of_life(&stream).map_err(failed)?;
                return watchful(stream).map_err(failed);
            }
            Err(error @ Error::Connect { .. }) => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

fn one_address(address: SocketAddr, waits: &Waits) -> Result<TcpStream, Error> {
    let failed = |error: Errno| Error::Connect {
        address: waits.address().to_string(),
        source: error.into(),
    };
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None).map_err(failed)?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => await_ready(&socket, PollFlags::OUT, waits)?,
        Err(error) => return Err(failed(error)),
    }
    socket_error(&socket).and_then(|result| result).map_err(failed)?;
    let stream = TcpStream::from(socket);
    let source = |source| Error::Connect { address: waits.address().to_string(), source };
    stream.set_nonblocking(false).map_err(source)?;
    Ok(stream)
}

/// Waits until a socket can be read from, or written to, unless cancelled.
pub(crate) fn await_ready(socket: &OwnedFd, wanted: PollFlags, waits: &Waits) -> Result<(), Error> {
    let mut silences = 0;
    loop {
        let mut request = [PollFd::new(socket, wanted)];
        match poll(&mut request, Some(&timespec(SILENCE))) {
            Ok(0) => waits.after_silence(&mut silences)?,
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::Io(error.into())),
        }
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec { tv_sec: duration.as_secs() as i64, tv_nsec: i64::from(duration.subsec_nanos()) }
}

/// Makes a socket return from waiting now and then, to check for cancellation.
fn watchful(socket: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let socket = socket.into();
    look_up_every(&socket, Some(SILENCE))?;
    Ok(socket)
}

/// Makes receiving and sending end without success after this time; never if there is none.
pub(crate) fn look_up_every(socket: &OwnedFd, time: Option<Duration>) -> io::Result<()> {
    set_socket_timeout(socket, Timeout::Recv, time)?;
    set_socket_timeout(socket, Timeout::Send, time)?;
    Ok(())
}

/// Makes the kernel probe a silent peer on the network, such as a server that builds an index:
/// after a minute and a half without any answer the connection is lost. Devices in between also
/// drop connections that have been idle.
fn ask_for_signs_of_life(socket: &TcpStream) -> io::Result<()> {
    set_socket_keepalive(socket, true)?;
    set_tcp_keepidle(socket, Duration::from_secs(30))?;
    set_tcp_keepintvl(socket, Duration::from_secs(10))?;
    set_tcp_keepcnt(socket, 6)?;
    Ok(())
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
        let waits = Waits::to_log_in(format!("127.0.0.1:{port}"), None, Default::default());
        let socket = tcp("127.0.0.1", port, None, &waits).unwrap();
        assert!(socket_keepalive(&socket).unwrap());
    }
}
