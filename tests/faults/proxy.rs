//! What stands between rqps and a server: it delays, drops and garbles.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, processes};
use rustix::process::Signal;

/// What becomes of the bytes that a server sends.
#[derive(Clone, Copy, Debug)]
enum Fault {
    None,
    /// Each piece of an answer comes so much later.
    Delay(Duration),
    /// The connection ends after so many bytes.
    Drop(u64),
    /// The byte after so many is another.
    Garble(u64),
}

/// A socket in front of another, which lets everything pass but for its fault.
struct Proxy {
    folder: PathBuf,
}

impl Proxy {
    fn start(folder: PathBuf, server: PathBuf, fault: Fault) -> Proxy {
        fs::create_dir_all(&folder).unwrap();
        let name = server.file_name().unwrap().to_owned();
        let listener = UnixListener::bind(folder.join(name)).unwrap();
        // Over all connections, so that a fault comes once.
        let sent = Arc::new(AtomicU64::new(0));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = UnixStream::connect(&server) else { continue };
                let (from_client, to_server) =
                    (client.try_clone().unwrap(), server.try_clone().unwrap());
                let sent = sent.clone();
                std::thread::spawn(move || pass(from_client, to_server, |_| true));
                std::thread::spawn(move || {
                    pass(server, client, |bytes| fault.befalls(bytes, &sent));
                });
            }
        });
        Proxy { folder }
    }
}

impl Fault {
    /// Answers whether the connection goes on.
    fn befalls(self, bytes: &mut [u8], sent: &AtomicU64) -> bool {
        let before = sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let here = |at: u64| (before..before + bytes.len() as u64).contains(&at);
        match self {
            Fault::None => {}
            Fault::Delay(time) => std::thread::sleep(time),
            Fault::Drop(at) => return !here(at),
            Fault::Garble(at) if here(at) => bytes[(at - before) as usize] ^= 0x55,
            Fault::Garble(_) => {}
        }
        true
    }
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
    socket: PathBuf,
    url: String,
}

impl Server {
    fn start() -> Server {
        let rqps = Rqps::new();
        let url = rqps.run("dbms start postgres@17.6").ok().stdout.trim().to_string();
        let (url, folder) = url.split_once("?host=").unwrap();
        let port = url.split([':', '/']).find(|part| part.parse::<u16>().is_ok()).unwrap();
        let socket = Path::new(folder).join(format!(".s.PGSQL.{port}"));
        Server { socket, url: url.to_string(), rqps }
    }

    fn behind(&self, name: &str, fault: Fault) -> String {
        let proxy = Proxy::start(self.rqps.path(name), self.socket.clone(), fault);
        format!("{}?host={}", self.url, proxy.folder.display())
    }

    fn run(&self, name: &str, url: &str) -> Running {
        let out = self.rqps.path(&format!("{name}.out"));
        let mut command = self.rqps.command(["ibench", url, "--out"]);
        command.arg(out).args(ARGUMENTS.split_whitespace());
        Running::start(command)
    }

    /// Goes on when the fault is over: the same socket leads to the server without it.
    fn resume(&self, name: &str) -> RunResult {
        let socket = self.rqps.path(name).join(self.socket.file_name().unwrap());
        fs::remove_file(&socket).unwrap();
        Proxy::start(self.rqps.path(name), self.socket.clone(), Fault::None);
        let out = self.rqps.path(&format!("{name}.out"));
        let mut command = self.rqps.command(["ibench", "--resume", "--out"]);
        command.arg(&out);
        Running::start(command).finish().ok();
        RunResult::of(&out)
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
    let server = Server::start();
    let url = server.behind("late", Fault::Delay(Duration::from_millis(2)));
    server.run("late", &url).finish().ok();
    let result = RunResult::of(&server.rqps.path("late.out"));
    assert_eq!(result.steps(), STEPS);
    result.assert_all_done();
    let service = &result.step("qr100")["work"]["query"]["service"]["percentiles_ns"]["p50"];
    assert!(service.as_f64().unwrap() >= 2e6, "a query takes as long as its answer: {service}");
}

#[test]
fn a_connection_that_is_dropped_is_told_and_the_rest_can_be_done() {
    let server = Server::start();
    // In the login, in the load, and later; how far each is depends on the server's answers. All are in
    // steps of so many rows, which send as much on any machine.
    for at in [10, 3_000, 20_000, 60_000, 100_000] {
        let name = format!("drop-{at}");
        let url = server.behind(&name, Fault::Drop(at));
        let ended = server.run(&name, &url).finish().expect_code(3);
        let told = ["closed the connection", "connection lost"];
        assert!(told.iter().any(|text| ended.stderr.contains(text)), "{at}: {}", ended.stderr);
        let result = server.resume(&name);
        assert_eq!(result.steps(), STEPS, "{at}");
        result.assert_all_done();
    }
}

#[test]
fn bytes_that_are_garbled_are_told_or_do_not_matter() {
    let server = Server::start();
    for at in (0..12).map(|index| 40 + index * index * 1_331) {
        let name = format!("garble-{at}");
        let url = server.behind(&name, Fault::Garble(at));
        let running = server.run(&name, &url);
        let pid = running.pid();
        // A garbled length may have both sides wait for the other: then the user ends it, and again if
        // that is not enough.
        let (over, is_over) = mpsc::channel::<()>();
        let user = std::thread::spawn(move || {
            while is_over.recv_timeout(Duration::from_secs(8)) == Err(RecvTimeoutError::Timeout) {
                processes::signal(pid, Signal::INT);
            }
        });
        let ended = running.finish();
        let _ = over.send(());
        user.join().unwrap();
        let code = ended.status.code();
        assert!([Some(0), Some(3), Some(130)].contains(&code), "{at}: {code:?}\n{}", ended.stderr);
        assert!(code != Some(3) || ended.stderr.contains("error: "), "{at}: {}", ended.stderr);
        assert!(!ended.stderr.contains("panicked"), "{at}: {}", ended.stderr);
        if code != Some(0) {
            let result = server.resume(&name);
            assert_eq!(result.steps(), STEPS, "{at}");
            result.assert_all_done();
        }
    }
}
