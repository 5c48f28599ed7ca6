//! Times of kernel operations that a client and its server need for each statement. Machines with
//! the same processor and kernel by name can differ severalfold in them, and so can comparisons of
//! short statements.

use std::hint::black_box;
use std::time::{Duration, Instant};

use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Calls in a row, so that reading the clock does not matter …
const IN_A_ROW: u32 = 1_000;
/// … and repetitions, of which the fastest was disturbed least.
const TIMES: u32 = 11;
/// Bytes of a message: about those of a point query.
const MESSAGE: usize = 64;

/// Times of the calling thread when undisturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelCost {
    /// A system call that does nothing: `getppid`.
    pub system_call: Duration,
    /// 64 bytes sent through a Unix socket and received by the same thread, so that no thread is
    /// woken: two system calls with their work.
    pub message: Duration,
}

impl KernelCost {
    /// Measures both in about ten milliseconds. None where a process may have no socket.
    pub fn measure() -> Option<KernelCost> {
        let (here, there) = rustix::net::socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .ok()?;
        let mut bytes = [0; MESSAGE];
        let mut message = || {
            let sent = rustix::net::send(&here, &bytes, SendFlags::empty());
            let received = rustix::net::recv(&there, &mut bytes, RecvFlags::empty());
            sent.is_ok_and(|count| count == MESSAGE)
                && received.is_ok_and(|(count, _)| count == MESSAGE)
        };
        if !message() {
            return None;
        }
        let system_call = fastest(|| black_box(rustix::process::getppid()).is_some());
        Some(KernelCost { system_call, message: fastest(message) })
    }
}

/// The time of one call, when undisturbed.
pub(crate) fn fastest<T>(mut call: impl FnMut() -> T) -> Duration {
    let in_a_row = |_| {
        let begun = Instant::now();
        for _ in 0..IN_A_ROW {
            black_box(call());
        }
        begun.elapsed() / IN_A_ROW
    };
    (0..TIMES).map(in_a_row).min().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_costs_more_than_a_call_that_does_nothing() {
        let cost = KernelCost::measure().unwrap();
        assert!(Duration::ZERO < cost.system_call && cost.system_call < cost.message, "{cost:?}");
    }
}
