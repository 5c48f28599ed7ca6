//! Full disks: under the data of each DBMS, under a binary log, under the results and under stdout.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running, await_that, entries, processes};

/// Room for far more than a test needs, of which memory is taken for what is used.
pub(super) const ENOUGH: &str = "2g";

/// What a disk that fills up has left: too little for the indexes, and enough for the small files
/// that a server makes before it comes to them.
const LEFT: u64 = 3 << 20;

/// A file system of a size; gone when dropped.
pub(super) struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None, with a note, unless the tests run as root.
    pub(super) fn mount(path: PathBuf, size: &str) -> Option<SmallDisk> {
        fs::create_dir_all(&path).unwrap();
        let options = format!("size={size},mode=755");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&path);
        match mount.output() {
            Ok(output) if output.status.success() => Some(SmallDisk(path)),
            _ => {
                eprintln!("skipped: only root can mount a small file system");
                None
            }
        }
    }

    /// Answers whether it has that size now: it cannot be smaller than what is in it.
    fn resize(&self, size: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-o", &format!("remount,size={size}")]).arg(&self.0);
        mount.output().unwrap().status.success()
    }

    pub(super) fn grow(&self, size: &str) {
        assert!(self.resize(size));
    }

    /// Takes away the room that nobody uses just now, but for a little.
    pub(super) fn squeeze(&self) {
        let disk = rustix::fs::statvfs(&self.0).unwrap();
        let wanted = (disk.f_blocks - disk.f_bfree) * disk.f_frsize + LEFT;
        if wanted < disk.f_blocks * disk.f_frsize {
            // Where more is used by the time that this happens, the next time is soon.
            self.resize(&wanted.to_string());
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// A contender with settings by which it begins small, and its words for a full disk. InnoDB has no
/// word of space for a sort that finds no room, so it sorts elsewhere; and it has no binary log,
/// for which a server would wait for room (see below).
const CONTENDERS: [(&str, &str); 4] = [
    (
        "postgres@17.6?shared_buffers=8MB&max_wal_size=32MB&min_wal_size=32MB",
        "No space left on device",
    ),
    (
        "mysql@8.0.33?innodb_redo_log_capacity=64M&innodb_tmpdir=/tmp&skip_log_bin=1",
        "The table 'pi1' is full (1114, HY000)",
    ),
    (
        "mariadb@11.4.5?innodb_log_file_size=64M&innodb_tmpdir=/tmp&skip_log_bin=1",
        "The table 'pi1' is full (1114, HY000)",
    ),
    ("sqlite", "database or disk is full"),
];

#[test]
fn a_full_disk_under_the_data_ends_the_step_and_room_lets_it_go_on() {
    fill_disks(&["postgres", "sqlite"]);
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn a_full_disk_under_the_data_of_mysql_and_mariadb_ends_the_step() {
    fill_disks(&["mysql", "mariadb"]);
}

fn fill_disks(dbmss: &[&str]) {
    let is_asked = |contender: &str| dbmss.iter().any(|dbms| contender.starts_with(dbms));
    for (contender, words) in CONTENDERS.into_iter().filter(|(contender, _)| is_asked(contender)) {
        let rqps = Rqps::new();
        let Some(disk) = SmallDisk::mount(rqps.home(), ENOUGH) else { return };
        rqps.share_builds(&rqps.home());
        let steps = ["l.i0", "l.x", "l.i1", "l.i2"];
        let arguments = format!("--rows 150K --writes 50K,50 --only {}", steps.join(","));
        let running = rqps.start_ibench(&format!("c={contender} {arguments}"));
        // The rows are in, and the indexes and rows that come next take 10 MB and more each. What a
        // server gives back meanwhile, such as old logs, is taken away as well.
        running.wait_for("c: l.x (2 of 4)");
        await_that("rqps ends", || {
            disk.squeeze();
            !processes::is_alive(running.pid())
        });
        running.finish().expect_code(3).says(&[
            "error: c: l.",
            "a disk is full",
            words,
            "--resume",
        ]);
        rqps.assert_no_server_is_left();
        let failed = RunResult::of(&rqps.out());
        assert_eq!(failed.states()[0], "c l.i0 done", "{contender}");
        assert!(failed.last_state().ends_with(" failed"), "{contender}: {:?}", failed.states());

        disk.grow(ENOUGH);
        rqps.resume().ok();
        let result = RunResult::of(&rqps.out());
        assert_eq!(result.steps(), steps, "{contender}");
        result.assert_completes(&failed);
        rqps.assert_nothing_is_left();
    }
}

/// A server that finds no room for its binary log says so in its own log and looks again every
/// minute. rqps cannot tell it from a slow one, and goes on with it.
#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn mysql_that_waits_for_room_for_its_binary_log_is_waited_for() {
    let rqps = Rqps::new();
    // The rows are several megabytes of log.
    let Some(disk) = SmallDisk::mount(rqps.path("disk"), "1m") else { return };
    let folder = disk.0.join("log");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).unwrap();
    let log_bin = folder.join("binlog");
    let arguments = format!("mysql@8.0.33?log_bin={} --rows 100K --only l.i0", log_bin.display());
    let running = rqps.start_ibench(&arguments);
    let logs = rqps.out().join("logs");
    let tells = |log: &String| {
        let text = fs::read(logs.join(log)).unwrap_or_default();
        String::from_utf8_lossy(&text).contains("Disk is full writing")
    };
    let is_told = || entries(&logs).iter().any(tells);
    await_that("it is told", || is_told() || !processes::is_alive(running.pid()));
    disk.grow("100m");
    running.finish().ok();
    assert!(is_told(), "the disk was not full");
    RunResult::of(&rqps.out()).assert_all_done();
    rqps.assert_nothing_is_left();
}

#[test]
fn a_full_disk_under_the_results_is_told_and_room_lets_it_go_on() {
    let rqps = Rqps::new();
    let Some(disk) = SmallDisk::mount(rqps.out(), "230k") else { return };
    let arguments = "sqlite --rows 2K --writes 500,50 --only l.i0,l.x,l.i1,l.i2";
    let ended = rqps.ibench(arguments).expect_code(3);
    let lines: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("error")).collect();
    assert_eq!(lines.len(), 1, "one error:\n{}", ended.stderr);
    let full = ["No space left on device", "database or disk is full"];
    assert!(full.iter().any(|text| lines[0].contains(text)), "{}", lines[0]);
    let out = rqps.out().display().to_string();
    let told = format!("free on the disk mounted at '{out}'). Make room there");
    assert!(lines[0].contains(&told) && lines[0].contains("--resume"), "{}", lines[0]);
    disk.grow("100m");
    let before = rqps.so_far();
    rqps.resume().ok();
    RunResult::of(&rqps.out()).assert_completes(&before);
    rqps.assert_nothing_is_left();
}

#[test]
fn a_full_disk_under_stdout_is_told() {
    let rqps = Rqps::new();
    rqps.ibench("sqlite --rows 1K --only l.i0").ok();
    let mut command = rqps.command(["report", "--format", "json"]);
    command.arg(rqps.out()).stdout(fs::File::options().write(true).open("/dev/full").unwrap());
    let ended = Running::start(command).finish().expect_code(3);
    ended.says(&["error: ", "No space left on device"]);
}
