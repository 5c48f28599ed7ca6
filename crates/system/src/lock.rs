//! The lock of a file, held by one process at a time.

use std::fs::File;
use std::io;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Held until dropped; the kernel releases it if the process is killed (flock(2)).
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Gives the file back while another process holds its lock.
    pub fn take(file: File) -> io::Result<Result<Lock, File>> {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Ok(Lock(file))),
            Err(Errno::WOULDBLOCK) => Ok(Err(file)),
            Err(errno) => Err(errno.into()),
        }
    }
}

impl Drop for Lock {
    /// Closing the file would not do: a program that another thread is starting has a copy of it
    /// for a moment, and the lock with it.
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_free_once_dropped_even_if_a_starting_program_has_a_copy_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let open = || File::create(folder.path().join("lock")).unwrap();
        let file = open();
        let copy = file.try_clone().unwrap();
        let held = Lock::take(file).unwrap().unwrap();
        assert!(Lock::take(open()).unwrap().is_err());
        drop(held);
        assert!(Lock::take(open()).unwrap().is_ok());
        drop(copy);
    }
}
