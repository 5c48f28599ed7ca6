//! rqps beside Debian's sysbench: from one seed, the scripts of its package send the same
//! statements with the same values, in the same order.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rqps_dbms::{Home, Place, Server};
use rqps_system::Cancel;
use rqps_wire::{Address, Login, Target, scalar};

use crate::common::Rqps;
use crate::pgbench::Logged;

/// Where Debian's package has its scripts.
const SCRIPTS: &str = "/usr/share/sysbench";

/// What the others require.
const COMMON: &str = "oltp_common";

/// Options of both programs. Few rows make keys collide, so that deletes find nothing.
const OPTIONS: [&str; 5] =
    ["--threads=1", "--events=15", "--time=0", "--rand-seed=42", "--table-size=50"];

/// All scripts of the package, without what they share.
fn scripts() -> Vec<String> {
    let files = fs::read_dir(SCRIPTS).expect("Debian's sysbench").flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    let names = names.filter_map(|name| name.strip_suffix(".lua").map(str::to_string));
    let mut names: Vec<String> = names.filter(|name| name != COMMON).collect();
    names.sort();
    names
}

/// Runs a program with a script's command on a server, and returns what it printed.
fn run(mut command: Command, words: &[&str], server: &[String]) -> String {
    let output = command.args(words).args(server).args(OPTIONS).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{words:?}: {stdout}{stderr}");
    stdout
}

/// Which of the two programs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    Theirs,
    Ours,
}

impl Program {
    fn command(self, rqps: &Rqps) -> Command {
        match self {
            Program::Theirs => rqps.program("sysbench"),
            Program::Ours => rqps.command(["sysbench"]),
        }
    }
}

/// What a script came to: statements in the server's log, and what was printed.
struct Seen {
    prepared: Vec<String>,
    told: Vec<String>,
    rows: String,
    executed: Vec<String>,
    cleaned: Vec<String>,
    counts: Vec<String>,
}

/// A server whose log has all statements.
trait LoggedServer {
    fn rqps(&self) -> &Rqps;
    fn options(&self) -> Vec<String>;
    fn log(&self) -> &Path;
    fn statements(&self, log: &str) -> Vec<String>;
    /// The number of rows of a table.
    fn rows(&self, table: &str) -> String;

    /// What a command of a script puts into the log, and what it prints.
    fn logged(&self, program: Program, script: &str, command: &str) -> (Vec<String>, String) {
        let begin = fs::read(self.log()).unwrap().len();
        let printed = run(program.command(self.rqps()), &[script, command], &self.options());
        let log = String::from_utf8_lossy(&fs::read(self.log()).unwrap()[begin..]).into_owned();
        (self.statements(&log), printed)
    }

    /// What a script does with its tables, from making them to dropping them.
    fn seen(&self, program: Program, script: &str) -> Seen {
        let (prepared, told) = self.logged(program, script, "prepare");
        // sysbench draws the values of rows anew each time, whatever the seed.
        let prepared = prepared.iter().map(|sql| masked(sql)).collect();
        let rows = self.rows("sbtest1");
        let (executed, report) = self.logged(program, script, "run");
        let (cleaned, _) = self.logged(program, script, "cleanup");
        // The first line has the name of the program.
        let told = told.lines().skip(1).map(str::to_string).collect();
        Seen { prepared, told, rows, executed, cleaned, counts: counts(&report) }
    }

    /// All scripts, by both programs on tables of the same rows.
    fn compare(&self) {
        let scripts = scripts();
        assert_eq!(scripts.len(), 11, "{scripts:?}");
        for script in &scripts {
            let [theirs, ours] =
                [Program::Theirs, Program::Ours].map(|program| self.seen(program, script));
            let creates = |sql: &String| sql.to_lowercase().contains("create table");
            assert!(theirs.prepared.iter().any(creates), "{script}");
            assert!(!theirs.executed.is_empty(), "{script}");
            assert_eq!(ours.prepared, theirs.prepared, "{script} prepare");
            assert_eq!(ours.told, theirs.told, "{script}: what prepare prints");
            assert_eq!(ours.rows, theirs.rows, "{script}: the rows");
            for (place, pair) in ours.executed.iter().zip(&theirs.executed).enumerate() {
                assert_eq!(pair.0, pair.1, "{script} run, statement {place}");
            }
            assert_eq!(ours.executed.len(), theirs.executed.len(), "{script} run");
            assert_eq!(ours.cleaned, theirs.cleaned, "{script} cleanup");
            assert_eq!(ours.counts, theirs.counts, "{script}: the counts of the report");
        }
    }
}

/// With a 0 for each number.
fn masked(sql: &str) -> String {
    let mut masked = String::new();
    for c in sql.chars() {
        match c.is_ascii_digit() {
            true if masked.ends_with('0') => {}
            true => masked.push('0'),
            false => masked.push(c),
        }
    }
    masked
}

/// The lines of a report that do not depend on time.
fn counts(report: &str) -> Vec<String> {
    let is_count = |line: &&str| {
        ["read:", "write:", "other:", "total:", "total number of events:"]
            .iter()
            .any(|name| line.trim_start().starts_with(name))
    };
    report.lines().filter(is_count).map(str::to_string).collect()
}

impl LoggedServer for Logged {
    fn rqps(&self) -> &Rqps {
        &self.rqps
    }

    fn options(&self) -> Vec<String> {
        let (folder, port) = self.socket();
        vec![
            "--db-driver=pgsql".to_string(),
            format!("--pgsql-host={folder}"),
            format!("--pgsql-port={port}"),
            format!("--pgsql-user={}", self.login.user),
            format!("--pgsql-db={}", self.login.database),
        ]
    }

    fn log(&self) -> &Path {
        &self.log
    }

    /// Without sessions, and without the names of prepared statements.
    fn statements(&self, log: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for line in log.lines() {
            let message = line.split_once('|').map(|(_, message)| message);
            match message {
                None => {
                    if let Some(last) = all.last_mut() {
                        last.push('\n');
                        last.push_str(line.trim_start_matches('\t'));
                    }
                }
                Some(message) => {
                    if let Some(sql) = message.strip_prefix("LOG:  statement: ") {
                        all.push(sql.to_string());
                    } else if let Some(rest) = message.strip_prefix("LOG:  execute ") {
                        all.push(rest.split_once(": ").unwrap().1.to_string());
                    } else if let Some(detail) = message.strip_prefix("DETAIL:  ") {
                        all.push(detail.to_lowercase());
                    }
                }
            }
        }
        all
    }

    fn rows(&self, table: &str) -> String {
        self.scalar(&format!("select count(*) from {table}"))
    }
}

/// A server of MySQL that logs all statements, and ends with the test.
struct LoggedMysql {
    rqps: Rqps,
    server: Box<dyn Server>,
    login: Login,
    log: PathBuf,
    _directory: tempfile::TempDir,
}

impl LoggedMysql {
    fn start() -> LoggedMysql {
        let rqps = Rqps::new();
        let directory = crate::common::directory();
        let home = Home::at(rqps.home()).unwrap();
        let contender = "mysql@8.0.33?general_log=ON&general_log_file=all.log".parse().unwrap();
        let mut patient = |_| Ok(());
        let dbms = rqps_dbms::prepare(&home, &contender, &mut patient, &Cancel::default()).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let place = Place { data: data.clone(), log, ..Place::default() };
        let server = dbms.start(&home, &place, &Cancel::default()).unwrap();
        let Target::Mysql(login) = server.target().clone() else { panic!("not MySQL") };
        let mut connection = server.target().connect().unwrap();
        let file = scalar(&mut *connection, "select concat(@@datadir, @@general_log_file)");
        let log = PathBuf::from(file.unwrap().unwrap());
        LoggedMysql { rqps, server, login, log, _directory: directory }
    }
}

impl LoggedServer for LoggedMysql {
    fn rqps(&self) -> &Rqps {
        &self.rqps
    }

    fn options(&self) -> Vec<String> {
        let Address::Unix { path } = &self.login.address else { panic!("no socket") };
        vec![
            "--db-driver=mysql".to_string(),
            format!("--mysql-socket={}", path.display()),
            format!("--mysql-user={}", self.login.user),
            format!("--mysql-db={}", self.login.database),
        ]
    }

    fn log(&self) -> &Path {
        &self.log
    }

    /// What was prepared, executed and queried. What a client says when it connects is its own.
    fn statements(&self, log: &str) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        let mut is_taken = false;
        for line in log.lines() {
            let fields: Vec<&str> = line.splitn(3, '\t').collect();
            let kind = match fields[..] {
                [time, kind, _] if time.ends_with('Z') => kind.split_whitespace().nth(1),
                _ => None,
            };
            match kind {
                Some(kind @ ("Query" | "Prepare" | "Execute")) => {
                    is_taken = !fields[2].to_lowercase().starts_with("set ");
                    if is_taken {
                        all.push(format!("{kind} {}", fields[2]));
                    }
                }
                Some(_) => is_taken = false,
                None => {
                    if let (true, Some(last)) = (is_taken, all.last_mut()) {
                        last.push('\n');
                        last.push_str(line);
                    }
                }
            }
        }
        all
    }

    fn rows(&self, table: &str) -> String {
        let mut connection = self.server.target().connect().unwrap();
        let count = scalar(&mut *connection, &format!("select count(*) from {table}"));
        count.unwrap().unwrap_or_default()
    }
}

#[test]
fn scripts_send_postgres_what_sysbench_sends() {
    Logged::start().compare();
}

#[test]
fn scripts_send_mysql_what_sysbench_sends() {
    LoggedMysql::start().compare();
}

#[test]
fn values_are_written_into_texts_as_sysbench_writes_them() {
    let server = Logged::start();
    let options = ["--db-ps-mode=disable".to_string()];
    let run = |program: Program, command: &str| {
        let begin = fs::read(server.log()).unwrap().len();
        let all: Vec<String> = server.options().into_iter().chain(options.clone()).collect();
        run(program.command(server.rqps()), &["oltp_read_write", command], &all);
        let log = fs::read(server.log()).unwrap();
        server.statements(&String::from_utf8_lossy(&log[begin..]))
    };
    let [theirs, ours] = [Program::Theirs, Program::Ours].map(|program| {
        run(program, "prepare");
        let executed = run(program, "run");
        run(program, "cleanup");
        executed
    });
    assert!(theirs.iter().any(|sql| sql.starts_with("UPDATE sbtest1 SET c='")), "{theirs:?}");
    assert_eq!(ours, theirs);
}

/// Its report, for what reads sysbench's.
#[test]
fn the_report_has_the_lines_of_sysbenchs() {
    let server = Logged::start();
    let lines = |program: Program| {
        run(program.command(server.rqps()), &["oltp_read_only", "prepare"], &server.options());
        let mut options = server.options();
        options.extend(["--histogram".to_string(), "--report-interval=1".to_string()]);
        let report = run(program.command(server.rqps()), &["oltp_read_only", "run"], &options);
        run(program.command(server.rqps()), &["oltp_read_only", "cleanup"], &server.options());
        // Numbers differ, and how many rows the histogram has.
        let shape = |line: &str| -> String {
            let digits = |c: char| if c.is_ascii_digit() { '0' } else { c };
            let mut shape: String = line.chars().map(digits).collect();
            while shape.contains("00") {
                shape = shape.replace("00", "0");
            }
            shape.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let all: Vec<String> = report.lines().skip(1).map(shape).collect();
        all.into_iter().filter(|line| !line.contains('|')).collect::<Vec<_>>()
    };
    assert_eq!(lines(Program::Ours), lines(Program::Theirs));
}
