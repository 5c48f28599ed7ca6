//! Fleets on real schedulers, started by the tests on this machine.

mod slurm;
mod ssh;

use std::net::TcpListener;
use std::process::Command;

/// A port that nothing uses now.
fn port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Whether these programs are here; if not, prints that the test is skipped.
fn has(programs: &[&str]) -> bool {
    let is_missing = |program: &&&str| {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
        !found.is_ok_and(|found| found.status.success())
    };
    let missing: Vec<_> = programs.iter().filter(is_missing).collect();
    if !missing.is_empty() || !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it needs root, and {programs:?}; missing: {missing:?}");
        return false;
    }
    true
}
