//! Servers that rqps starts: who can reach them, what they are given, and where root writes.

use std::fs::{self, OpenOptions, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rqps_system::User;

use crate::common::result::Finished;
use crate::common::{Rqps, Running, entries, processes};

/// Somebody else on this machine.
const STRANGER: u32 = 65533;
/// Who servers run as.
const NOBODY: User = User { uid: 65534, gid: 65534 };

const BUILDS: [&str; 3] = ["postgres@17.6", "mysql@8.0.33", "mariadb@11.4.5"];

/// Types SQL at a URL as a user, with a home of that user's own.
fn shell_as(rqps: &Rqps, uid: u32, url: &str, sql: &str) -> Finished {
    let home = rqps.path(&format!("home-of-{uid}"));
    fs::create_dir_all(&home).unwrap();
    chown(&home, Some(uid), Some(uid)).unwrap();
    let mut command = rqps.command(["dbms", "shell", url]);
    command.env("RQPS_HOME", &home).current_dir("/").uid(uid).gid(uid);
    let file = home.join("statements");
    fs::write(&file, sql).unwrap();
    command.stdin(fs::File::open(&file).unwrap());
    Running::start(command).finish()
}

fn url_of(started: &Finished) -> String {
    started.stdout.trim().to_string()
}

/// The sockets that processes listen on over TCP, by inode (proc_net(5): 0A is LISTEN).
fn ports(of: &[i32]) -> Vec<String> {
    let listening: Vec<(String, String)> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .flat_map(|table| {
            fs::read_to_string(table)
                .unwrap_or_default()
                .lines()
                .map(str::to_string)
                .collect::<Vec<_>>()
        })
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            (fields.get(3) == Some(&"0A")).then(|| (fields[9].to_string(), fields[1].to_string()))
        })
        .collect();
    let files = of
        .iter()
        .flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten());
    let sockets = files.filter_map(|file| fs::read_link(file.path()).ok());
    let sockets: Vec<String> = sockets.map(|link| link.display().to_string()).collect();
    let is_theirs = |inode: &str| sockets.contains(&format!("socket:[{inode}]"));
    listening
        .into_iter()
        .filter(|(inode, _)| is_theirs(inode))
        .map(|(_, address)| address)
        .collect()
}

/// A file of root's that nobody else may read or write, and whether it still is what it was.
struct Victim(PathBuf);

impl Victim {
    fn new(rqps: &Rqps) -> Victim {
        let path = rqps.path("victim");
        fs::write(&path, "precious").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        Victim(path)
    }

    fn assert_untouched(&self) {
        let found = fs::metadata(&self.0).unwrap();
        assert_eq!(fs::read_to_string(&self.0).unwrap(), "precious");
        assert_eq!((found.uid(), found.gid(), found.mode() & 0o777), (0, 0, 0o600));
    }
}

#[test]
fn another_user_reaches_no_socket_and_there_is_no_port() {
    for build in BUILDS {
        let rqps = Rqps::new();
        let url = url_of(&rqps.run(&format!("dbms start {build}")).ok());
        let ended = shell_as(&rqps, STRANGER, &url, "select 1 + 1\n");
        assert!(ended.status.code() != Some(0) && !ended.stdout.contains('2'), "{}", ended.stdout);
        ended.says(&["Permission denied"]);
        assert_eq!(ports(&processes::below(&rqps.home())), [""; 0], "{build}");
        rqps.run("dbms stop --all").ok();
    }
}

#[test]
fn nothing_listens_on_a_port_while_builds_are_compared() {
    let rqps = Rqps::with_own_locks();
    let words = "--workload micro:point-query --rows 2K --secs 0.2 --rounds 3 --no-guards \
                 --instructions=none";
    let mut running = rqps.start("compare", &format!("postgres@17.6 mysql@8.0.33 {words}"));
    let mut looks = 0;
    while !running.has_ended() {
        let servers = processes::below(&rqps.home());
        looks += usize::from(!servers.is_empty());
        assert_eq!(ports(&servers), [""; 0]);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(looks > 10, "servers were seen {looks} times");
    drop(running.finish());
}

#[test]
fn over_tcp_a_password_is_asked_for_that_is_shown_once() {
    for build in BUILDS {
        let rqps = Rqps::new();
        let started = rqps.run(&format!("dbms start --tcp {build}")).ok();
        let url = url_of(&started);
        let password = url.split(['@', ':']).nth(2).unwrap().to_string();
        let ended = shell_as(&rqps, STRANGER, &url, "select 40 + 2\n").ok();
        assert!(ended.stdout.contains("42"), "{build}: {}", ended.stdout);
        for wrong in [url.replace(&password, "wrong"), url.replace(&format!(":{password}"), "")] {
            let ended = shell_as(&rqps, STRANGER, &wrong, "select 40 + 2\n");
            assert!(!ended.stdout.contains("42") && ended.status.code() != Some(0), "{build}");
        }
        let superuser = if build.starts_with("postgres") { "rqps" } else { "root" };
        let without = url.replace(&format!("rqps:{password}"), superuser);
        let ended = shell_as(&rqps, STRANGER, &without, "select 40 + 2\n");
        assert!(!ended.stdout.contains("42"), "{build}: the superuser has none, and stays out");

        // It is in no file of rqps's.
        assert!(!started.stderr.contains(&password));
        for folder in ["run", "logs"] {
            let mut grep = Command::new("grep");
            let found =
                grep.args(["-r", &password]).arg(rqps.home().join(folder)).output().unwrap();
            assert!(found.stdout.is_empty(), "{}", String::from_utf8_lossy(&found.stdout));
        }
        rqps.run("dbms stop --all").ok();
    }
}

#[test]
fn root_writes_and_reads_through_no_link_that_the_servers_user_left() {
    for build in BUILDS {
        let rqps = Rqps::new();
        let victim = Victim::new(&rqps);
        rqps.run(&format!("dbms start {build}")).ok();
        rqps.run("dbms stop --all").ok();
        let data = rqps.home().join("data").join(build.replace('@', "_"));
        let names = [
            "rqps.conf",
            "rqps.cnf",
            "postmaster.pid",
            "rqps.maker",
            "rqps.recv.so",
            "rqps.delay",
            "postgresql.auto.conf.tmp",
            "my.cnf",
        ];
        let planted = NOBODY.act(|| {
            for name in names {
                let _ = fs::remove_file(data.join(name));
                symlink(&victim.0, data.join(name)).unwrap();
            }
        });
        planted.unwrap();
        // It may refuse to start on such data, but not touch what is root's.
        drop(rqps.run(&format!("dbms start {build}")));
        rqps.run("dbms stop --all").ok();
        victim.assert_untouched();
        for name in names {
            let link = data.join(name);
            assert!(
                !link.exists()
                    || link.is_symlink()
                    || fs::metadata(&link).unwrap().uid() == NOBODY.uid
            );
        }
    }
}

#[test]
fn the_servers_user_cannot_change_the_settings_of_a_start() {
    let rqps = Rqps::new();
    for build in BUILDS {
        rqps.run(&format!("dbms start {build}")).ok();
    }
    let run = rqps.home().join("run");
    let folders = entries(&run);
    assert_eq!(folders.len(), BUILDS.len());
    for folder in folders.iter().map(|name| run.join(name)) {
        let tried = NOBODY.act(|| {
            assert!(fs::write(folder.join("new.conf"), "").is_err());
            for file in ["postgresql.conf", "pg_hba.conf", "my.cnf", "lease.json"] {
                let path = folder.join(file);
                assert!(OpenOptions::new().append(true).open(&path).is_err(), "{}", path.display());
                assert!(fs::remove_file(&path).is_err());
            }
        });
        tried.unwrap();
    }
    rqps.run("dbms stop --all").ok();
}

#[test]
fn servers_are_given_nothing_of_the_environment_that_they_do_not_need() {
    for build in BUILDS {
        let rqps = Rqps::new();
        let mut command = rqps.command(["dbms", "start", build]);
        for name in ["DEPLOY_TOKEN", "PGPASSWORD", "PGOPTIONS", "MYSQL_PWD", "LD_PRELOAD_NOT"] {
            command.env(name, "hush");
        }
        Running::start(command).finish().ok();
        for pid in processes::below(&rqps.home()) {
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            assert!(!environment.contains("hush"), "{build}: {environment}");
        }
        rqps.run("dbms stop --all").ok();
    }
}

#[test]
fn data_are_made_only_where_nothing_is_and_a_mounted_disk_will_do() {
    let rqps = Rqps::new();
    let build = "postgres@17.6";
    let path = |name: &str| rqps.path(name).display().to_string();
    // What the user has beside it under a name that rqps could have chosen.
    fs::create_dir(rqps.path("x.new")).unwrap();
    fs::write(rqps.path("x.new/thesis"), "").unwrap();
    fs::write(rqps.path("x.log"), "theirs").unwrap();
    rqps.run(&format!("dbms start {build} --data {}", path("x"))).ok();
    rqps.run("dbms stop --all").ok();
    assert!(rqps.path("x.new/thesis").exists() && rqps.path("x/PG_VERSION").exists());
    assert_eq!(fs::read_to_string(rqps.path("x.log")).unwrap(), "theirs");

    fs::create_dir(rqps.path("full")).unwrap();
    fs::write(rqps.path("full/thesis"), "").unwrap();
    let refused = rqps.run(&format!("dbms start {build} --data {}", path("full")));
    refused.refuses(2, &["is not empty and contains no postgres data"]);
    assert_eq!(entries(&rqps.path("full")), ["thesis"]);

    symlink(rqps.path("x"), rqps.path("link")).unwrap();
    rqps.run(&format!("dbms start {build} --data {}", path("link"))).ok();
    rqps.run("dbms stop --all").ok();

    let disk = rqps.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted =
        Command::new("mount").args(["-t", "tmpfs", "-o", "mode=755", "tmpfs"]).arg(&disk).status();
    if !mounted.unwrap().success() {
        eprintln!("skipped in part: this machine lets nobody mount a disk");
        return;
    }
    let start = format!("dbms start {build} --data {}", disk.display());
    let first = rqps.run(&start);
    let again = rqps.run(&start);
    drop(rqps.run("dbms stop --all"));
    let third = rqps.run(&start);
    drop(rqps.run("dbms stop --all"));
    let found = entries(&disk);
    assert!(Command::new("umount").arg("-l").arg(&disk).status().unwrap().success());
    first.ok();
    again.refuses(2, &["already running"]);
    third.ok();
    assert_eq!(found, ["data"], "the disk itself stays the user's");
}

#[test]
fn a_closed_umask_does_no_harm_and_a_closed_folder_is_named() {
    let rqps = Rqps::new();
    let under = |script: &str, words: &[&str]| {
        let mut command = rqps.program("sh");
        command.args(["-c", &format!("{script}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_rqps")]);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(command).finish()
    };
    let out = rqps.out().display().to_string();
    let tiny = ["ibench", "postgres@17.6", "--rows", "1K", "--only", "l.i0", "--out", &out];
    under("umask 077", &tiny).ok();

    let closed = rqps.path("closed");
    fs::create_dir(&closed).unwrap();
    rqps.share_builds(&closed);
    fs::set_permissions(&closed, Permissions::from_mode(0o700)).unwrap();
    let script = format!("export RQPS_HOME='{}'", closed.display());
    let ended = under(&script, &["dbms", "start", "postgres@17.6"]);
    ended.refuses(
        2,
        &["user 'nobody', which runs the servers, cannot enter", "closed'", "chmod o+x"],
    );

    let ended = under("ulimit -n 16", &["dbms", "start", "mysql@8.0.33"]);
    assert!(ended.status.code() != Some(0));
    ended.says(&["'ulimit -n'"]);
    rqps.assert_no_server_is_left();
}

#[test]
fn root_without_a_right_that_it_needs_is_told_which() {
    let rqps = Rqps::new();
    for (right, name) in [("kill", "CAP_KILL"), ("chown", "CAP_CHOWN"), ("setuid", "CAP_SETUID")] {
        let mut command = rqps.program("setpriv");
        command.arg(format!("--bounding-set=-{right}")).arg(format!("--inh-caps=-{right}"));
        command.args([env!("CARGO_BIN_EXE_rqps"), "dbms", "start", "postgres@17.6"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::start(command).finish().refuses(2, &["rqps runs as root without", name]);
    }
    assert_eq!(entries(&rqps.home().join("data")), [""; 0]);
}

#[test]
fn a_server_of_another_container_with_the_same_store_is_left_alone() {
    let rqps = Rqps::new();
    let mut inside = rqps.program("unshare");
    inside.args(["--pid", "--fork", "--kill-child", "--mount-proc", env!("CARGO_BIN_EXE_rqps")]);
    inside.args(["micro", "postgres@17.6", "--rows", "2K", "--secs", "5"]);
    inside.args(["--tests", "point-query", "--out"]).arg(rqps.out());
    inside.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let inside = Running::start(inside);
    inside.wait_for("point-query");
    // Each of these clears away servers whose rqps is gone.
    for _ in 0..5 {
        rqps.run("dbms stop --all").ok();
    }
    assert_eq!(entries(&rqps.home().join("run")).len(), 1);
    inside.finish().ok();
    rqps.assert_no_server_is_left();
}

#[test]
fn a_store_that_another_user_can_change_is_refused() {
    let rqps = Rqps::new();
    let theirs = rqps.path("theirs-to-change");
    fs::create_dir(&theirs).unwrap();
    chown(&theirs, Some(STRANGER), Some(STRANGER)).unwrap();
    let mut command = rqps.command(["dbms", "start", "postgres@17.6"]);
    command.env("RQPS_HOME", theirs.join("rqps"));
    Running::start(command).finish().refuses(2, &["not a safe place", "belongs to user 65533"]);
    assert_eq!(entries(&theirs), [""; 0]);
}

#[test]
fn a_link_in_place_of_a_servers_log_is_not_followed() {
    let rqps = Rqps::new();
    let victim = Victim::new(&rqps);
    fs::create_dir_all(rqps.home().join("logs")).unwrap();
    symlink(&victim.0, rqps.home().join("logs/postgres_17.6.log")).unwrap();
    let ended = rqps.run("dbms start postgres@17.6");
    assert!(ended.status.code() != Some(0));
    victim.assert_untouched();
    rqps.assert_no_server_is_left();
}
