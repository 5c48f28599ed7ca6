//! The library that delays a server after each message that it receives, and the file that sets the
//! delay.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{
    DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown,
};
use std::path::{Path, PathBuf};

/// Built from `preload/recv.rs`.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/recv.so"));
/// The numbers at the start of the file, in the order of the library: the delay, messages, timed
/// messages, and the time spent after these.
const NUMBERS: usize = 4;
const PAGE_BYTES: u64 = 4096;

/// A server's library. Its files are in a folder that only rqps can write to; the server's user may
/// write to the page, and nowhere else.
pub(crate) struct Spin {
    folder: PathBuf,
    library: PathBuf,
    page: PathBuf,
    file: File,
}

/// The counts of a library since its server was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    pub(crate) messages: u64,
    /// Those after which nothing else took the CPU.
    pub(crate) timed: u64,
    /// Nanoseconds spent after the timed ones.
    pub(crate) spent: u64,
}

impl Counted {
    pub(crate) fn since(self, before: Counted) -> Counted {
        Counted {
            messages: self.messages - before.messages,
            timed: self.timed - before.timed,
            spent: self.spent - before.spent,
        }
    }

    /// Nanoseconds after each message.
    pub(crate) fn each(self) -> f64 {
        self.spent as f64 / self.timed.max(1) as f64
    }
}

impl Spin {
    /// Puts the library beside a data directory, for the owner of that directory.
    pub(crate) fn install(data: &Path) -> io::Result<Spin> {
        let owner = data.symlink_metadata()?;
        let folder = data.with_added_extension("delay");
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            // Files of a killed rqps are removed.
            _ => DirBuilder::new().mode(0o711).create(&folder)?,
        }
        fs::set_permissions(&folder, Permissions::from_mode(0o711))?;
        let (library, page) = (folder.join("recv.so"), folder.join("page"));
        let new = |path: &Path, mode| {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(mode).open(path)?;
            file.set_permissions(Permissions::from_mode(mode))?;
            io::Result::Ok(file)
        };
        new(&library, 0o755)?.write_all(LIBRARY)?;
        let file = new(&page, 0o600)?;
        file.set_len(PAGE_BYTES)?;
        if rustix::process::geteuid().is_root() {
            fchown(&file, Some(owner.uid()), Some(owner.gid()))?;
        }
        Ok(Spin { folder, library, page, file })
    }

    /// The file that sets the delay.
    pub(crate) fn page(&self) -> &Path {
        &self.page
    }

    /// The environment for the start of a server.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        vec![("LD_PRELOAD", self.library.clone().into()), ("RQPS_DELAY", self.page.clone().into())]
    }

    /// Sets the delay after each message from now on.
    pub(crate) fn set(&self, nanos: u64) -> io::Result<()> {
        self.file.write_all_at(&nanos.to_ne_bytes(), 0)
    }

    pub(crate) fn counted(&self) -> io::Result<Counted> {
        let mut bytes = [0; NUMBERS * 8];
        self.file.read_exact_at(&mut bytes, 0)?;
        let number = |at: usize| {
            u64::from_ne_bytes(bytes[at * 8..at * 8 + 8].try_into().expect("eight bytes"))
        };
        Ok(Counted { messages: number(1), timed: number(2), spent: number(3) })
    }
}

impl Drop for Spin {
    fn drop(&mut self) {
        // What stays is removed with the run's data.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    use rqps_dbms::{Home, Place, prepare};
    use rqps_load::Cancel;
    use rqps_observe::{Metric, Observer};

    use super::*;

    /// Receives as a server does: too early, looking only, in two parts, and at the end. In a
    /// process of its own it is what the test below starts.
    #[test]
    fn a_receiver_gets_what_was_sent() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let mut there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut here, _) = listener.accept().unwrap();
        let mut bytes = [0; 4];
        here.set_nonblocking(true).unwrap();
        assert_eq!(here.read(&mut bytes).unwrap_err().kind(), ErrorKind::WouldBlock);
        here.set_nonblocking(false).unwrap();
        there.write_all(b"four").unwrap();
        assert_eq!(here.peek(&mut bytes).unwrap(), 4);
        here.read_exact(&mut bytes[..2]).unwrap();
        here.read_exact(&mut bytes[2..]).unwrap();
        assert_eq!(&bytes, b"four");
        drop(there);
        assert_eq!(here.read(&mut bytes).unwrap(), 0);
    }

    #[test]
    fn messages_are_counted_and_received_as_without_the_library() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        let spin = Spin::install(&data).unwrap();
        for nanos in [0, 300_000] {
            spin.set(nanos).unwrap();
            let before = spin.counted().unwrap();
            let mut receiver = Command::new(std::env::current_exe().unwrap());
            receiver.args(["--exact", "selftest::spin::tests::a_receiver_gets_what_was_sent"]);
            let ended = receiver.envs(spin.environment()).output().unwrap();
            assert!(ended.status.success(), "{ended:?}");
            let seen = spin.counted().unwrap().since(before);
            assert_eq!(seen.messages, 2, "peeks, failures and empty reads are no messages");
            assert!(seen.timed <= 2 && seen.spent >= nanos * seen.timed, "{seen:?}");
        }
    }

    #[test]
    fn nothing_is_written_where_the_servers_user_could_have_left_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        fs::create_dir(&data).unwrap();
        for name in ["recv.so", "page", "rqps.recv.so", "rqps.delay"] {
            std::os::unix::fs::symlink("/nowhere", data.join(name)).unwrap();
        }
        if rustix::process::geteuid().is_root() {
            std::os::unix::fs::chown(&data, Some(65534), Some(65534)).unwrap();
        }
        let spin = Spin::install(&data).unwrap();
        assert!(!spin.page().starts_with(&data) && !spin.library.starts_with(&data));
        let (page, of) = (fs::metadata(spin.page()).unwrap(), fs::metadata(&data).unwrap());
        assert_eq!((page.uid(), page.mode() & 0o777), (of.uid(), 0o600));
        assert_eq!(fs::metadata(&spin.library).unwrap().mode() & 0o022, 0, "it cannot be changed");
        let beside = spin.folder.clone();
        drop(spin);
        assert!(!beside.exists());
    }

    /// A real server: fetched once per machine, and started where its user can reach it.
    #[test]
    #[cfg_attr(not(feature = "servers"), ignore = "starts a server")]
    fn a_server_spends_what_it_is_told_to_and_it_is_cpu_time() {
        const QUERIES: u64 = 300;
        const NANOS: u64 = 1_000_000;
        let store = std::env::var_os("RQPS_TEST_HOME").unwrap_or("/var/tmp/rqps-tests".into());
        let store = Home::at(store).unwrap();
        let contender = "postgres@17.6".parse().unwrap();
        let dbms = prepare(&store, &contender, &mut |_| Ok(()), &Cancel::default()).unwrap();
        let directory = tempfile::tempdir_in(store.root()).unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o755)).unwrap();
        let home = Home::at(directory.path().join("home")).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let mut place = Place { data, log, ..Place::default() };
        // The data directory is the server's own once it has been there.
        dbms.start(&home, &place, &Cancel::default()).unwrap().stop().unwrap();
        let spin = Spin::install(&place.data).unwrap();
        place.environment = spin.environment();
        let server = dbms.start(&home, &place, &Cancel::default()).unwrap();
        let mut connection = server.target().connect().unwrap();
        let mut cpu = |nanos: u64| {
            spin.set(nanos).unwrap();
            let root = server.process().unwrap();
            let mut observer = Observer::new(Some(root), None, None);
            let (before, counted) = (observer.read(), spin.counted().unwrap());
            for _ in 0..QUERIES {
                connection.query("select 1").unwrap();
            }
            let cost = observer.read().since(&before);
            let micros = cost.sum(&[Metric::ServerCpuUser, Metric::ServerCpuSystem]).unwrap();
            (micros, spin.counted().unwrap().since(counted))
        };
        let (_, as_it_is) = cpu(0);
        assert!(as_it_is.messages >= QUERIES && as_it_is.each() < 1e5, "{as_it_is:?}");
        let (micros, slowed) = cpu(NANOS);
        assert!(slowed.messages >= QUERIES, "{slowed:?}");
        assert!(slowed.spent >= slowed.timed * NANOS, "{slowed:?}");
        // After a timed message nothing took the CPU away. The kernel counts in ticks, on a busy
        // machine too few; a server that slept would have next to none.
        assert!(micros as f64 >= 0.5 * slowed.spent as f64 / 1e3, "{micros} us: {slowed:?}");
    }
}
