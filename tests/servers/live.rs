//! The live view, on a terminal of the tests' own: what a person would see of it, and what is left
//! on the screen when it is gone.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use crate::common::{Rqps, await_that, processes};
use avt::Vt;
use rustix::process::Signal;

const SUITE: &str = "sqlite mmap=sqlite?mmap_size=64M --rows 10K --secs 3 --tests point-query,scan";

/// A cell that is running, and the bar of how far it is.
const RUNNING: &str = "▸ ";
const MEASURED: &str = " %  ";

/// rqps at a terminal, which is both its stdout and its stderr and has its Ctrl-C.
struct Terminal {
    child: Child,
    ours: File,
    /// Bytes of a letter that has not come whole.
    rest: Vec<u8>,
    vt: Vt,
    /// All that was written to it.
    raw: String,
}

fn size(columns: usize, rows: usize) -> libc::winsize {
    let (ws_col, ws_row) = (columns as u16, rows as u16);
    libc::winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 }
}

impl Terminal {
    fn start(mut command: Command, columns: usize, rows: usize) -> Terminal {
        let (mut ours, mut theirs) = (-1, -1);
        let size = size(columns, rows);
        // SAFETY: the descriptors are written to live integers; no name and no settings are asked
        // for.
        let opened = unsafe {
            libc::openpty(&mut ours, &mut theirs, std::ptr::null_mut(), std::ptr::null(), &size)
        };
        assert_eq!(opened, 0, "a terminal can be had");
        // SAFETY: both are open and nobody else's.
        let (ours, theirs) = unsafe { (File::from_raw_fd(ours), OwnedFd::from_raw_fd(theirs)) };
        let end = || Stdio::from(theirs.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        let terminal = theirs.as_raw_fd();
        // SAFETY: both calls are safe between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::setsid();
                match libc::ioctl(terminal, libc::TIOCSCTTY, 0) {
                    0 => Ok(()),
                    _ => Err(std::io::Error::last_os_error()),
                }
            });
        }
        let child = command.spawn().unwrap();
        // It holds the other end as well.
        drop(command);
        drop(theirs);
        let vt = Vt::builder().size(columns, rows).build();
        Terminal { child, ours, rest: Vec::new(), vt, raw: String::new() }
    }

    /// Reads what has come; false at the end.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        // A terminal that everybody has left is an error to its reader.
        let Ok(count @ 1..) = self.ours.read(&mut bytes) else { return false };
        self.rest.extend_from_slice(&bytes[..count]);
        let whole = match std::str::from_utf8(&self.rest) {
            Ok(_) => self.rest.len(),
            Err(error) => error.valid_up_to(),
        };
        let text = String::from_utf8(self.rest.drain(..whole).collect()).unwrap();
        self.vt.feed_str(&text);
        self.raw += &text;
        true
    }

    /// What is on the screen, and above it if it was scrolled.
    fn text(&self) -> String {
        let lines = self.vt.text();
        lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
    }

    /// Goes on until the text has all of this, or to the end.
    fn wait_for(&mut self, what: &[&str]) -> String {
        while !what.iter().all(|what| self.text().contains(what)) {
            assert!(self.read(), "it ended, and there was no {what:?}:\n{}", self.raw);
        }
        self.text()
    }

    /// The text at the end, when the cursor is to be seen and at the beginning of a line.
    fn finish(mut self) -> (Option<i32>, String) {
        while self.read() {}
        let status = self.child.wait().unwrap();
        let cursor = self.vt.cursor();
        assert!(cursor.visible && cursor.col == 0, "{}", self.text());
        (status.code(), self.text())
    }

    /// Types Ctrl-C, and goes on to the end.
    fn interrupt(mut self) -> (Option<i32>, String) {
        self.ours.write_all(b"\x03").unwrap();
        self.finish()
    }

    /// Between two of its drawings, so that each is drawn and seen with the same size.
    fn resize(&mut self, columns: usize, rows: usize) {
        let pid = self.child.id() as i32;
        processes::signal(pid, Signal::STOP);
        await_that("it has stopped", || processes::is_stopped(pid));
        while self.has_more() {
            assert!(self.read());
        }
        let size = size(columns, rows);
        self.vt.resize(columns, rows);
        // SAFETY: a terminal and a live size.
        let changed = unsafe { libc::ioctl(self.ours.as_raw_fd(), libc::TIOCSWINSZ, &size) };
        assert_eq!(changed, 0);
        processes::signal(pid, Signal::CONT);
    }

    fn has_more(&self) -> bool {
        let mut asked =
            libc::pollfd { fd: self.ours.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live entry, and no wait.
        unsafe { libc::poll(&mut asked, 1, 0) == 1 }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Only a test that fails leaves it running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A verb that measures into `out`, with a terminal's environment.
fn command(rqps: &Rqps, verb: &str, arguments: &str) -> Command {
    let out = rqps.out().display().to_string();
    let words = [verb, "--out", &out].into_iter().chain(arguments.split_whitespace());
    let mut command = rqps.command(words);
    command.env("TERM", "xterm-256color").env_remove("CI").env_remove("CLICOLOR");
    command
}

/// Nothing of the view is left.
fn assert_is_plain(text: &str) {
    for mark in ["▸", "·", "━", ", elapsed "] {
        assert!(!text.contains(mark), "'{mark}' is left:\n{text}");
    }
}

#[test]
#[ignore = "nightly: a comparison is shown in the same way"]
fn a_terminal_shows_the_matrix_and_keeps_the_summary_alone() {
    let rqps = Rqps::new();
    let mut terminal = Terminal::start(command(&rqps, "micro", SUITE), 100, 40);
    // The first cell of three is done, one is running, and others are left.
    let text = terminal.wait_for(&["point-query", RUNNING, MEASURED, "·", "ETA ", "/s, "]);
    let line = |start: &str| {
        let mut lines = text.lines().map(str::trim_start);
        lines.find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{text}")).to_string()
    };
    assert!(line("sqlite").contains("mmap") || line("mmap").contains("sqlite"), "{text}");
    assert!(line("load").ends_with(['K', 'M', '·']), "{text}");
    assert!(text.contains(" done, 1 running, ") && text.contains(", elapsed "), "{text}");
    let (status, text) = terminal.finish();
    assert_eq!(status, Some(0), "{text}");
    assert_is_plain(&text);
    assert!(text.starts_with("estimate: about "), "{text}");
    assert!(text.contains("results go to ") && text.contains("wrote "), "{text}");
    assert!(!text.contains("starting"), "what the view had is not told again:\n{text}");
}

#[test]
fn ctrl_c_leaves_a_clean_terminal() {
    let rqps = Rqps::new();
    let mut terminal = Terminal::start(command(&rqps, "micro", SUITE), 80, 24);
    terminal.wait_for(&[RUNNING, MEASURED]);
    let (status, text) = terminal.interrupt();
    assert_eq!(status, Some(130), "{text}");
    assert_is_plain(&text);
    assert!(text.contains("to resume: rqps micro --resume"), "{text}");
    rqps.assert_no_server_is_left();
}

#[test]
fn a_small_terminal_shows_what_is_running() {
    let rqps = Rqps::new();
    let tests = "--rows 10K --secs 0.3 --tests point,range";
    let of = "sqlite b=sqlite c=sqlite d=sqlite?mmap_size=64M";
    let arguments = format!("{of} {tests}");
    let mut terminal = Terminal::start(command(&rqps, "micro", &arguments), 40, 12);
    let text = terminal.wait_for(&["▸", " above, ", " more", "ETA ", ", elapsed "]);
    let view: Vec<&str> = text.lines().skip_while(|line| !line.contains(" more")).collect();
    assert!(view.len() < 12 && view.iter().all(|line| line.chars().count() < 40), "{text}");
    assert_eq!(terminal.interrupt().0, Some(130));
}

#[test]
fn nothing_is_left_behind_when_a_terminal_becomes_narrower() {
    let rqps = Rqps::new();
    let mut terminal = Terminal::start(command(&rqps, "micro", SUITE), 200, 40);
    terminal.wait_for(&[RUNNING, MEASURED]);
    terminal.resize(45, 40);
    let before = terminal.raw.matches(", elapsed ").count();
    while terminal.raw.matches(", elapsed ").count() < before + 2 {
        assert!(terminal.read());
    }
    // Not while it is half drawn.
    terminal.resize(45, 40);
    let text = terminal.text();
    assert_eq!(
        text.matches("point-query ").count(),
        1 + text.matches("point-query (").count(),
        "{text}"
    );
    let (status, text) = terminal.interrupt();
    assert_eq!(status, Some(130), "{text}");
    assert_is_plain(&text);
}

#[test]
fn a_comparison_shows_its_intervals() {
    let rqps = Rqps::with_own_locks();
    let arguments = "sqlite mmap=sqlite?mmap_size=64M --rows 10K --secs 0.3 --rounds 6 --no-guards \
                     --workload micro:point-query,range-covered-pk";
    let mut terminal = Terminal::start(command(&rqps, "compare", arguments), 100, 30);
    let text = terminal.wait_for(&["▸ ", " of at most 6", " ± ", "/s, ", "control "]);
    let row = text.lines().find(|line| line.contains("point-query ") && line.contains(" ± "));
    assert!(row.is_some_and(|row| row.trim_end().ends_with('%')), "{text}");
    let (status, text) = terminal.finish();
    assert!(status.is_some_and(|code| code < 2), "{text}");
    assert_is_plain(&text);
}

#[test]
fn there_are_plain_lines_where_nobody_would_see_a_view() {
    for (name, value) in [("TERM", "dumb"), ("CI", "true")] {
        let rqps = Rqps::new();
        let quick = SUITE.replace("--secs 3", "--secs 0.2");
        let mut command = command(&rqps, "micro", &quick);
        command.env(name, value);
        let terminal = Terminal::start(command, 80, 24);
        let (status, text) = terminal.finish();
        assert_eq!(status, Some(0), "{text}");
        let lines = ["sqlite: starting", "sqlite: scan", "ETA ", "sqlite: done"];
        assert!(lines.iter().all(|line| text.contains(line)), "{name}={value}:\n{text}");
        assert_is_plain(&text);
    }
}

#[test]
fn no_color_is_respected() {
    // Select Graphic Rendition: the end of a sequence that sets colours and the like.
    let is_coloured = |raw: &str| {
        raw.split('\x1b').skip(1).any(|part| {
            let end = part.find(|one: char| one.is_ascii_alphabetic());
            end.is_some_and(|end| part[end..].starts_with('m'))
        })
    };
    for (no_color, expected) in [(None, true), (Some("1"), false)] {
        let rqps = Rqps::new();
        let mut command = command(&rqps, "micro", SUITE);
        no_color.map(|value| command.env("NO_COLOR", value));
        let mut terminal = Terminal::start(command, 80, 24);
        terminal.wait_for(&[RUNNING, MEASURED]);
        assert_eq!(is_coloured(&terminal.raw), expected, "{:?}", terminal.raw);
        terminal.interrupt();
    }
}

/// The thread that draws, against the threads that measure: CPU time of both as the kernel counts
/// it.
#[test]
#[ignore = "nightly: needs the machine for itself, for a while"]
fn the_view_takes_hardly_any_cpu() {
    let rqps = Rqps::alone();
    let mut terminal = Terminal::start(command(&rqps, "micro", SUITE), 200, 60);
    terminal.wait_for(&["mmap: point-query (", RUNNING, MEASURED]);
    let tasks = fs::read_dir(format!("/proc/{}/task", terminal.child.id())).unwrap();
    let costs: Vec<(String, u64)> = tasks
        .flatten()
        .filter_map(|task| {
            let name = fs::read_to_string(task.path().join("comm")).ok()?;
            let cost = fs::read_to_string(task.path().join("schedstat")).ok()?;
            Some((name.trim().to_string(), cost.split(' ').next()?.parse().ok()?))
        })
        .collect();
    let view = costs.iter().find(|(name, _)| name == "live-view").expect("the view has a thread").1;
    let stat = fs::read_to_string(format!("/proc/{}/stat", terminal.child.id())).unwrap();
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap().split(' ').collect();
    // utime and stime, in hundredths of a second; those of threads that have ended are in them.
    let all: u64 = fields[11..13].iter().map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    let all = all * 10_000_000;
    assert!(view < all / 50, "{view} of {all} ns");
    println!("the view has taken {view} of {all} ns");
    terminal.interrupt();
}
