//! The machine's clock is stepped by an hour in the middle of a run, in both directions: what was
//! measured does not notice.
//!
//! Nobody may set the clock of the machine that tests run on, so rqps and its server are given
//! another: a library that is preloaded and adds to the time of day what a file says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running};

const LIBRARY: &str = r#"
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

#[repr(C)]
pub struct Time { seconds: c_long, part: c_long }

unsafe extern "C" {
    fn syscall(number: c_long, ...) -> c_long;
    fn getenv(name: *const c_char) -> *const c_char;
    fn access(path: *const c_char, mode: c_int) -> c_int;
}

const REALTIME: c_int = 0;
const REALTIME_COARSE: c_int = 5;

/// Seconds that are added once the file is there.
fn step() -> c_long {
    unsafe {
        let (file, step) = (getenv(c"CLOCK_STEP_AT".as_ptr()), getenv(c"CLOCK_STEP".as_ptr()));
        if file.is_null() || step.is_null() || access(file, 0) != 0 {
            return 0;
        }
        CStr::from_ptr(step).to_str().ok().and_then(|step| step.parse().ok()).unwrap_or(0)
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut Time) -> c_int {
    let result = unsafe { syscall(CLOCK_GETTIME, clock as c_long, time) } as c_int;
    if result == 0 && (clock == REALTIME || clock == REALTIME_COARSE) {
        unsafe { (*time).seconds += step() };
    }
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn gettimeofday(time: *mut Time, _zone: *mut c_void) -> c_int {
    let result = unsafe { clock_gettime(REALTIME, time) };
    unsafe { (*time).part /= 1000 };
    result
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn time(to: *mut c_long) -> c_long {
    let mut now = Time { seconds: 0, part: 0 };
    unsafe { clock_gettime(REALTIME, &mut now) };
    if !to.is_null() {
        unsafe { *to = now.seconds };
    }
    now.seconds
}
"#;

/// The library, built for this machine.
fn library(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("clock.rs"), folder.join("clock.so"));
    // Every architecture has its own number for it.
    let call = format!("const CLOCK_GETTIME: c_long = {};", libc::SYS_clock_gettime);
    fs::write(&source, format!("{LIBRARY}{call}\n")).unwrap();
    let mut compiler = Command::new("rustc");
    compiler.args(["--crate-type", "cdylib", "--edition", "2024", "-C", "panic=abort"]);
    compiler.args(["-C", "opt-level=2", "-o"]).arg(&library).arg(&source);
    assert!(compiler.status().unwrap().success());
    library
}

#[test]
fn a_step_of_the_clock_changes_nothing_that_was_measured() {
    for (contender, hours) in [("sqlite", 1), ("sqlite", -1), ("p=postgres@17.6", -1)] {
        let rqps = Rqps::new();
        let (library, now) = (library(&rqps.path("work")), rqps.path("now"));
        let mut command = rqps.command(["ibench", contender, "--rows", "1K", "--writes", "500,50"]);
        command.args(["--rates", "100", "--query-secs", "3", "--pause", "0"]);
        command.args(["--only", "l.i0,l.x,l.i1,l.i2,qr100", "--out"]).arg(rqps.out());
        command.env("LD_PRELOAD", &library).env("CLOCK_STEP_AT", &now);
        command.env("CLOCK_STEP", (hours * 3600).to_string());
        let begun = std::time::Instant::now();
        let running = Running::start(command);
        running.wait_for("qr100 (5 of 5)");
        std::thread::sleep(std::time::Duration::from_secs(1));
        fs::write(&now, "").unwrap();
        running.finish().ok();
        let most = begun.elapsed().as_secs_f64();

        let result = RunResult::of(&rqps.out());
        result.assert_all_done();
        let step = result.step("qr100");
        let seconds = step["seconds"].as_f64().unwrap();
        assert!((3.0..most).contains(&seconds), "{contender}, {hours} h: {seconds} s");
        let work = &step["work"]["insert"];
        assert_eq!(work["rows"], 300, "{contender}, {hours} h: {work}");
        let lag = work["max_lag_ns"].as_f64().unwrap() / 1e9;
        assert!(lag < most, "{contender}, {hours} h: {lag} s late");
        // The clock did step, or this shows nothing.
        let started = result.step("l.i0")["started"].as_str().unwrap().to_string();
        let seen = clock_says(&library, &now, hours);
        let apart = seen.duration_since(started.parse::<jiff::Timestamp>().unwrap());
        assert!(apart.as_hours().abs() <= 1 && apart.as_mins().abs() >= 50, "{apart:?}");
        rqps.assert_nothing_is_left();
    }
}

/// The time of day for who has the library.
fn clock_says(library: &Path, now: &Path, hours: i32) -> jiff::Timestamp {
    let mut date = Command::new("date");
    date.args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).env("LD_PRELOAD", library);
    date.env("CLOCK_STEP_AT", now).env("CLOCK_STEP", (hours * 3600).to_string());
    String::from_utf8(date.output().unwrap().stdout).unwrap().trim().parse().unwrap()
}
