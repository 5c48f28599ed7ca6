//! The lease of a cell: a file with its holder, which writes to it every half minute. It is made
//! by link(2), which is atomic where locks of files are not, such as over NFS.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rqps_store::{StoreError, alone_in, write_whole};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::error::{FleetError, io};
use crate::holder::{CellHolder, CellLife};

const LEASE: &str = "lease";

/// How often the holder shows that it lives.
const BEAT: Duration = Duration::from_secs(30);

/// A lease of another machine whose file does not change for as long is that of a holder that is
/// gone, if its scheduler says so, too.
const SILENCE: Duration = Duration::from_secs(100);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct LeaseText {
    holder: CellHolder,
    /// Rises with each sign of life. Clocks of two hosts are not compared.
    beat: u64,
}

/// Held until dropped.
#[derive(Debug)]
pub struct CellLease {
    path: PathBuf,
    text: LeaseText,
    ended: Option<Sender<()>>,
    beating: Option<JoinHandle<()>>,
}

impl CellLease {
    /// Takes the lease of a cell. `is_gone` asks the scheduler whether a holder on another machine
    /// has ended.
    pub fn take(
        cell: &Path,
        id: &str,
        is_gone: &dyn Fn(&CellHolder) -> bool,
    ) -> Result<CellLease, FleetError> {
        let path = rqps_system::below(cell, Path::new(LEASE))?;
        let text = LeaseText { holder: CellHolder::current(), beat: 0 };
        let held = |holder: &str| {
            let (id, holder) = (id.to_string(), holder.to_string());
            Err(FleetError::Held { id, holder })
        };
        // A lease that is given up meanwhile is taken at the second attempt.
        for _ in 0..3 {
            match make(&path, &text) {
                Ok(()) => return Ok(CellLease::beating(path, text)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(io("create", &path)(error)),
            }
            match read(&path) {
                Some(found) if !is_over(&path, &found, is_gone) => {
                    return held(&found.holder.told());
                }
                Some(found) => match replace(cell, &path, &found, &text) {
                    Ok(true) => return Ok(CellLease::beating(path, text)),
                    Ok(false) => {}
                    Err(FleetError::Store(StoreError::Busy(_))) => break,
                    Err(error) => return Err(error),
                },
                None if path.exists() => return held("a process whose lease cannot be read"),
                None => {}
            }
        }
        held("another process, just now")
    }

    /// Who holds the lease of a cell; none if nobody does, or if it is known to be gone.
    pub fn holder(cell: &Path) -> Option<CellHolder> {
        let found = read(&cell.join(LEASE))?;
        (found.holder.life() != CellLife::Gone).then_some(found.holder)
    }

    /// Removes the lease of a holder that a person knows to be gone.
    pub fn release(cell: &Path) -> Result<(), FleetError> {
        let path = rqps_system::below(cell, Path::new(LEASE))?;
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(io("remove", &path)(error))
            }
            _ => Ok(()),
        }
    }

    fn beating(path: PathBuf, text: LeaseText) -> CellLease {
        let (ended, end) = channel();
        let (to, mut now) = (path.clone(), text.clone());
        let beating = thread::spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(BEAT) {
                now.beat += 1;
                // On a full disk the next beat may be written.
                let _ = write_whole(&to, |out| out.write_all(&bytes(&now)));
            }
        });
        CellLease { path, text, ended: Some(ended), beating: Some(beating) }
    }
}

impl Drop for CellLease {
    fn drop(&mut self) {
        drop(self.ended.take());
        if let Some(beating) = self.beating.take() {
            // A panic there has nothing to tell here.
            let _ = beating.join();
        }
        if read(&self.path).is_some_and(|found| found.holder == self.text.holder) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn bytes(text: &LeaseText) -> Vec<u8> {
    serde_json::to_vec(text).expect("a lease is plain data")
}

fn make(path: &Path, text: &LeaseText) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut fresh = NamedTempFile::new_in(folder)?;
    fresh.write_all(&bytes(text))?;
    fresh.as_file().sync_all()?;
    fs::hard_link(fresh.path(), path)
}

/// None if there is none. What cannot be read is nobody's.
fn read(path: &Path) -> Option<LeaseText> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn is_over(path: &Path, found: &LeaseText, is_gone: &dyn Fn(&CellHolder) -> bool) -> bool {
    match found.holder.life() {
        CellLife::Alive => false,
        CellLife::Gone => true,
        CellLife::Unknown => is_gone(&found.holder) && is_silent(path, found, SILENCE),
    }
}

/// Whether a lease does not change for a time, by the clock of this process.
fn is_silent(path: &Path, found: &LeaseText, time: Duration) -> bool {
    let steps = 20;
    (0..steps).all(|_| {
        thread::sleep(time / steps);
        read(path).as_ref() == Some(found)
    })
}

/// Puts a lease in the place of one that is over. Whether it was still there: of several processes
/// that find it over, one replaces it.
fn replace(
    cell: &Path,
    path: &Path,
    over: &LeaseText,
    text: &LeaseText,
) -> Result<bool, FleetError> {
    let _alone = alone_in(cell)?;
    if read(path).as_ref() != Some(over) {
        return Ok(false);
    }
    write_whole(path, |out| out.write_all(&bytes(text)))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    const NOBODY: &dyn Fn(&CellHolder) -> bool = &|_| false;

    fn put(folder: &Path, holder: CellHolder) {
        fs::write(folder.join(LEASE), bytes(&LeaseText { holder, beat: 3 })).unwrap();
    }

    fn gone() -> CellHolder {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        child.wait().unwrap();
        CellHolder { pid, ..CellHolder::current() }
    }

    fn elsewhere() -> CellHolder {
        let mut holder = CellHolder::current();
        holder.machine.boot = "0".repeat(16);
        holder.machine.host = "0".repeat(16);
        holder.host = "far".to_string();
        holder
    }

    #[test]
    fn a_cell_has_one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let first = CellLease::take(folder.path(), "abc", NOBODY).unwrap();
        let error = CellLease::take(folder.path(), "abc", NOBODY).unwrap_err();
        assert!(error.is_busy());
        let told = error.to_string();
        assert!(told.contains(&format!("process {}", std::process::id())), "{told}");
        assert!(CellLease::holder(folder.path()).is_some());
        drop(first);
        assert!(CellLease::holder(folder.path()).is_none());
        drop(CellLease::take(folder.path(), "abc", NOBODY).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }

    #[test]
    fn of_many_at_once_one_gets_the_lease_also_of_a_holder_that_died() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), gone());
        let barrier = Barrier::new(8);
        let taken: Vec<CellLease> = thread::scope(|scope| {
            let takers: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        CellLease::take(folder.path(), "abc", NOBODY).ok()
                    })
                })
                .collect();
            takers.into_iter().filter_map(|taker| taker.join().unwrap()).collect()
        });
        assert_eq!(taken.len(), 1);
    }

    #[test]
    fn a_holder_on_another_machine_counts_until_its_scheduler_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), elsewhere());
        let error = CellLease::take(folder.path(), "abc", NOBODY).unwrap_err().to_string();
        assert!(error.contains("far"), "{error}");
        CellLease::release(folder.path()).unwrap();
        drop(CellLease::take(folder.path(), "abc", NOBODY).unwrap());
    }

    #[test]
    fn a_heartbeat_is_seen_by_the_clock_of_the_reader() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LEASE);
        // Its clock is years ahead, which means nothing.
        let since = "2099-01-01T00:00:00Z".to_string();
        let mut text = LeaseText { holder: CellHolder { since, ..elsewhere() }, beat: 1 };
        fs::write(&path, bytes(&text)).unwrap();
        assert!(is_silent(&path, &text, Duration::from_millis(50)));
        let seen = text.clone();
        text.beat += 1;
        fs::write(&path, bytes(&text)).unwrap();
        assert!(!is_silent(&path, &seen, Duration::from_millis(50)));
    }

    #[test]
    fn a_lease_that_cannot_be_read_is_told() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LEASE), "not json").unwrap();
        let error = CellLease::take(folder.path(), "abc", NOBODY).unwrap_err();
        assert!(error.is_busy(), "it may be of a newer rqps");
    }
}
