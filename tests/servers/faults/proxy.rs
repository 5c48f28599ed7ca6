//! What stands between rqps and a server: it delays, drops and garbles what either of them sends.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::common::result::{Finished, RunResult};
use crate::common::{Rqps, Running, entries, processes};
use rustix::process::Signal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sender {
    Rqps,
    Server,
}

/// A place in what one of them sends over all connections.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Behind so many bytes.
    Byte(u64),
    /// So many bytes ahead of these words, where they come first.
    Ahead(&'static str, usize),
}

#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Each piece of an answer comes so much later.
    Delay(Duration),
    /// The connection ends there, and what is sent with it is lost.
    Drop(Sender, Place),
    /// The byte there is another.
    Garble(Sender, Place),
}

impl Fault {
    /// Whose words it befalls.
    fn sender(self) -> Sender {
        match self {
            Fault::Delay(_) => Sender::Server,
            Fault::Drop(sender, _) | Fault::Garble(sender, _) => sender,
        }
    }

    /// Answers whether the connection goes on.
    fn befalls(self, piece: &mut [u8], sent: &Sent) -> bool {
        match self {
            Fault::Delay(time) => std::thread::sleep(time),
            Fault::Drop(_, place) => return sent.find(place, piece).is_none(),
            Fault::Garble(_, place) => {
                if let Some(at) = sent.find(place, piece) {
                    piece[at] ^= 0x55;
                }
            }
        }
        true
    }
}

/// What has been sent so far, so that a fault comes once.
#[derive(Default)]
struct Sent {
    bytes: AtomicU64,
    has_had_words: AtomicBool,
}

impl Sent {
    /// Where in the next piece a place is.
    fn find(&self, place: Place, piece: &[u8]) -> Option<usize> {
        let before = self.bytes.fetch_add(piece.len() as u64, Ordering::Relaxed);
        match place {
            Place::Byte(at) => {
                let at = at.checked_sub(before)? as usize;
                (at < piece.len()).then_some(at)
            }
            Place::Ahead(words, back) => {
                let words = words.as_bytes();
                let found = piece.windows(words.len()).position(|part| part == words)?;
                let at = found.checked_sub(back)?;
                (!self.has_had_words.swap(true, Ordering::Relaxed)).then_some(at)
            }
        }
    }
}

/// Makes a socket in front of a server's, which lets everything pass but for its fault.
fn stand_between(folder: &Path, server: &Path, fault: Option<Fault>) {
    fs::create_dir_all(folder).unwrap();
    let listener = UnixListener::bind(folder.join(server.file_name().unwrap())).unwrap();
    let (server, sent) = (server.to_path_buf(), Arc::new(Sent::default()));
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let Ok(server) = UnixStream::connect(&server) else { continue };
            let (from_client, to_server) =
                (client.try_clone().unwrap(), server.try_clone().unwrap());
            for (sender, from, to) in
                [(Sender::Rqps, from_client, to_server), (Sender::Server, server, client)]
            {
                let sent = sent.clone();
                let fault = fault.filter(|fault| fault.sender() == sender);
                std::thread::spawn(move || {
                    pass(from, to, |piece| fault.is_none_or(|fault| fault.befalls(piece, &sent)));
                });
            }
        }
    });
}

fn pass(mut from: UnixStream, mut to: UnixStream, mut befalls: impl FnMut(&mut [u8]) -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !befalls(&mut bytes[..count]) || to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// A server that stays up, and how it is reached through another socket.
struct Server {
    rqps: Rqps,
    url: String,
    socket: PathBuf,
}

impl Server {
    fn start(contender: &str) -> Server {
        let rqps = Rqps::new();
        let started = rqps.run(&format!("dbms start {contender}")).ok();
        let url = started.stdout.trim().to_string();
        let place = PathBuf::from(url.rsplit_once('=').unwrap().1);
        // Postgres has the folder of its socket there, in which a lock lies beside it.
        let is_socket = |name: &String| !name.ends_with(".lock");
        let socket = match place.is_dir() {
            true => place.join(entries(&place).into_iter().find(is_socket).unwrap()),
            false => place,
        };
        let server = Server { rqps, url, socket };
        let theirs = ["create schema theirs", "create table theirs.t (v int)"];
        server.asked(&[&theirs[..], &["insert into theirs.t values (5), (7)"]].concat());
        server
    }

    /// What the server answers to somebody else.
    fn asked(&self, statements: &[&str]) -> String {
        let mut shell = self.rqps.command(["dbms", "shell", &self.url]);
        shell.stdin(Stdio::piped());
        let mut shell = Running::start(shell);
        shell.type_in(&statements.iter().map(|sql| format!("{sql};\n")).collect::<String>());
        shell.finish().ok().stdout
    }

    /// The server's URL, but for the folder of its socket.
    fn behind(&self, name: &str, fault: Fault) -> String {
        stand_between(&self.rqps.path(name), &self.socket, Some(fault));
        self.url_behind(name)
    }

    fn url_behind(&self, name: &str) -> String {
        let (own, other) = (self.socket.parent().unwrap(), self.rqps.path(name));
        self.url.replace(&*own.to_string_lossy(), &other.to_string_lossy())
    }

    fn out(&self, name: &str) -> PathBuf {
        self.rqps.path(&format!("{name}.out"))
    }

    fn run(&self, name: &str, url: &str) -> Running {
        let mut command = self.rqps.command(["ibench", url, "--out"]);
        command.arg(self.out(name)).args(ARGUMENTS.split_whitespace());
        Running::start(command)
    }

    /// The rest can be done when the fault is over: the same socket leads to the server without it.
    fn resumes(&self, name: &str) {
        let folder = self.rqps.path(name);
        fs::remove_file(folder.join(self.socket.file_name().unwrap())).unwrap();
        stand_between(&folder, &self.socket, None);
        // Who was not let in, or could not look round, has no run yet, or no result.
        let has = |file: &str| self.out(name).join(file).exists();
        let before = has("result.json").then(|| RunResult::of(&self.out(name)));
        match has("results.sqlite") {
            true => {
                let mut command = self.rqps.command(["ibench", "--resume", "--out"]);
                command.arg(self.out(name));
                Running::start(command).finish().ok();
            }
            false => drop(self.run(name, &self.url_behind(name)).finish().ok()),
        }
        let result = RunResult::of(&self.out(name));
        assert_eq!(result.steps(), STEPS, "{name}");
        result.assert_all_done();
        before.iter().for_each(|before| result.assert_completes(before));
        self.assert_only_theirs_is_in_it(name);
    }

    /// What rqps has made in a server that is not its own is gone, and nothing else.
    fn assert_only_theirs_is_in_it(&self, name: &str) {
        let answer = self.asked(&[
            "select concat('left: ', count(*)) from information_schema.schemata \
             where schema_name = 'rqps'",
            "select concat('theirs: ', count(*), ' of ', sum(v)) from theirs.t",
        ]);
        assert!(answer.contains("left: 0"), "{name}: {answer}");
        assert!(answer.contains("theirs: 2 of 12"), "{name}: {answer}");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.rqps.run("dbms stop --all");
    }
}

const ARGUMENTS: &str = "--rows 1K --writes 500,50 --rates 100 --query-secs 1 --pause 0 --only \
                         l.i0,l.x,l.i1,l.i2,qr100";
const STEPS: [&str; 5] = ["l.i0", "l.x", "l.i1", "l.i2", "qr100"];

#[test]
fn answers_that_come_late_are_waited_for() {
    for contender in ["postgres@17.6", "mysql@8.0.33"] {
        let server = Server::start(contender);
        let url = server.behind("late", Fault::Delay(Duration::from_millis(2)));
        server.run("late", &url).finish().ok();
        let result = RunResult::of(&server.out("late"));
        assert_eq!(result.steps(), STEPS);
        result.assert_all_done();
        let service = &result.step("qr100")["work"]["query"]["service"]["percentiles_ns"]["p50"];
        assert!(service.as_f64().unwrap() >= 2e6, "a query takes as long as its answer: {service}");
    }
}

/// Where connections are dropped.
struct Drops {
    contender: &'static str,
    /// After so many bytes of the server: in the login, in the load, and later; how far each is
    /// depends on its answers. All are in steps of so many rows, which send as much on any machine.
    answered: &'static [u64],
    /// When rqps says this: in the login, while it makes its place in the server, in the load, the
    /// check after it, the indexes, the deletes, and when it removes its place.
    said: [&'static str; 7],
}

const DROPS_OF_POSTGRES: Drops = Drops {
    contender: "postgres@17.6",
    answered: &[10, 20_000, 100_000],
    said: [
        "user",
        "comment on schema",
        "insert into pi1",
        "sum(length(data))",
        "create index pi1_pdc",
        "transactionid >= 1 order by",
        "drop schema",
    ],
};

const DROPS_OF_MYSQL: Drops = Drops {
    contender: "mysql@8.0.33",
    answered: &[10, 60_000, 150_000],
    said: [
        "root",
        "create table rqps.",
        "insert into pi1",
        "sum(length(data))",
        "add index pi1_pdc",
        "transactionid >= 1 order by",
        "drop database",
    ],
};

#[test]
fn a_connection_that_is_dropped_is_told_and_the_rest_can_be_done() {
    DROPS_OF_POSTGRES.are_told();
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn a_dropped_connection_of_mysql_is_told_and_the_rest_can_be_done() {
    DROPS_OF_MYSQL.are_told();
}

impl Drops {
    fn are_told(&self) {
        let Drops { contender, answered, said } = *self;
        let server = Server::start(contender);
        let answered = answered.iter().map(|&at| (Sender::Server, Place::Byte(at)));
        let said = said.iter().map(|&words| (Sender::Rqps, Place::Ahead(words, 0)));
        for (number, (sender, place)) in answered.chain(said).enumerate() {
            let name = format!("drop-{number}");
            let url = server.behind(&name, Fault::Drop(sender, place));
            let ended = server.run(&name, &url).finish().expect_code(3);
            let told = ["closed the connection", "connection lost"];
            let is_told = told.iter().any(|text| ended.stderr.contains(text));
            assert!(is_told, "{contender}, {sender:?}, {place:?}: {}", ended.stderr);
            server.resumes(&name);
        }
    }
}

/// Which bytes are garbled.
struct Garbles {
    contender: &'static str,
    /// So many of the server, in squares of so many bytes.
    answered: (u64, u64),
    /// Of what rqps says: of the login the length; of a message with rows its kind, its text, the
    /// largest byte of its length (then the server waits for megabytes), and its number in MySQL.
    said: [(&'static str, usize); 4],
}

const GARBLES_OF_POSTGRES: Garbles = Garbles {
    contender: "postgres@17.6",
    answered: (6, 5_324),
    said: [("user", 5), ("insert into pi1", 5), ("insert into pi1", 0), ("insert into pi1", 3)],
};

const GARBLES_OF_MYSQL: Garbles = Garbles {
    contender: "mysql@8.0.33",
    answered: (4, 12_007),
    said: [("root", 36), ("insert into pi1", 1), ("insert into pi1", 3), ("insert into pi1", 2)],
};

/// How long the user waits for a run of a few seconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// A garbled length may have both sides wait for the other: then the user ends it, and again if
/// that is not enough.
fn ended_by_itself_or_its_user(running: Running) -> Finished {
    let pid = running.pid();
    let (over, is_over) = mpsc::channel::<()>();
    let user = std::thread::spawn(move || {
        while is_over.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            processes::signal(pid, Signal::INT);
        }
    });
    let ended = running.finish();
    drop(over);
    user.join().unwrap();
    ended
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn bytes_that_are_garbled_are_told_or_do_not_matter() {
    GARBLES_OF_POSTGRES.are_told_or_do_not_matter();
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn garbled_bytes_of_mysql_are_told_or_do_not_matter() {
    GARBLES_OF_MYSQL.are_told_or_do_not_matter();
}

impl Garbles {
    fn are_told_or_do_not_matter(&self) {
        let Garbles { contender, answered: (count, apart), said } = *self;
        let server = Server::start(contender);
        let answered = (0..count).map(|index| Place::Byte(40 + index * index * apart));
        let answered = answered.map(|place| (Sender::Server, place));
        let said = said.iter().map(|&(words, ahead)| (Sender::Rqps, Place::Ahead(words, ahead)));
        for (number, (sender, place)) in answered.chain(said).enumerate() {
            let name = format!("garble-{number}");
            let url = server.behind(&name, Fault::Garble(sender, place));
            let ended = ended_by_itself_or_its_user(server.run(&name, &url));
            let (code, said) = (ended.status.code(), &ended.stderr);
            let case = format!("{contender}, {sender:?}, {place:?}: {code:?}\n{said}");
            assert!([Some(0), Some(3), Some(130)].contains(&code), "{case}");
            assert!(code != Some(3) || said.contains("error: "), "{case}");
            assert!(!said.contains("panicked"), "{case}");
            if code != Some(0) {
                server.resumes(&name);
            }
        }
    }
}
