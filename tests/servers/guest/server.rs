//! Servers of somebody else's: started here, by no rqps, with accounts, and with a list of all that
//! is on them.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rqps_system::Cancel;
use rqps_wire::{Address, Connection, Login, Row, Target, Terms};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::common::result::Finished;
use crate::common::{Rqps, directory};

/// Whom servers run as.
const NOBODY: u32 = 65534;
/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Server {
    is_postgres: bool,
    root: PathBuf,
    child: Child,
    folder: TempDir,
    pub(crate) port: u16,
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Where rqps has a build.
fn build(rqps: &Rqps, contender: &str) -> PathBuf {
    let fetched: Finished = rqps.run(&format!("dbms fetch {contender}")).ok();
    let line = fetched.stdout.lines().next().unwrap();
    PathBuf::from(line.split_once(" in ").unwrap().1)
}

fn program(root: &Path, name: &str, folder: &Path) -> Command {
    let mut command = Command::new(root.join("bin").join(name));
    command.uid(NOBODY).gid(NOBODY).current_dir(folder).stdin(Stdio::null());
    let libraries = ["libs", "usr/lib/x86_64-linux-gnu"].map(|name| root.join(name));
    command.env_clear().env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap());
    let log = fs::OpenOptions::new().create(true).append(true).open(folder.join("log")).unwrap();
    command.stdout(log.try_clone().unwrap()).stderr(log);
    command
}

#[track_caller]
fn succeed(mut command: Command, folder: &Path) {
    let status = command.status().unwrap();
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    assert!(status.success(), "{command:?}: {status}\n{log}");
}

impl Server {
    pub(crate) fn postgres(rqps: &Rqps, version: &str, settings: &[&str]) -> Server {
        let root = build(rqps, &format!("postgres@{version}"));
        let folder = directory();
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let data = folder.path().join("data");
        let mut initdb = program(&root, "initdb", folder.path());
        initdb.arg("-D").arg(&data).args(["-U", "owner", "-A", "trust", "-N", "-E", "UTF8"]);
        succeed(initdb, folder.path());
        let port = free_port();
        let mut server = program(&root, "postgres", folder.path());
        server.arg("-D").arg(&data).args(["-c", "fsync=off", "-c", "listen_addresses=127.0.0.1"]);
        server.arg("-c").arg(format!("port={port}"));
        server.arg("-c").arg(format!("unix_socket_directories={}", folder.path().display()));
        for setting in settings {
            server.args(["-c", setting]);
        }
        let child = server.spawn().unwrap();
        Server { is_postgres: true, root, child, folder, port }.answering()
    }

    pub(crate) fn mysql(rqps: &Rqps, settings: &[&str]) -> Server {
        let root = build(rqps, "mysql@8.0.33");
        let folder = directory();
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let data = folder.path().join("data");
        let mut make = program(&root, "mysqld", folder.path());
        make.args(["--no-defaults", "--initialize-insecure"]);
        make.arg(format!("--datadir={}", data.display()));
        succeed(make, folder.path());
        let server = program(&root, "mysqld", folder.path());
        Self::mysqld(root, server, folder, &["--mysqlx=OFF"], settings)
    }

    pub(crate) fn mariadb(rqps: &Rqps, settings: &[&str]) -> Server {
        const SCRIPTS: [&str; 3] = ["system_tables", "performance_tables", "system_tables_data"];
        let root = build(rqps, "mariadb@11.4.5");
        let folder = directory();
        let data = folder.path().join("data");
        fs::create_dir_all(data.join("mysql")).unwrap();
        let mut sql = "use mysql;\n".to_string();
        for script in SCRIPTS {
            let path = root.join(format!("share/mariadb_{script}.sql"));
            sql += &fs::read_to_string(path).unwrap();
        }
        fs::write(folder.path().join("sql"), sql).unwrap();
        for path in [folder.path().to_path_buf(), data.clone(), data.join("mysql")] {
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let share = format!("--lc-messages-dir={}", root.join("share").display());
        let base = format!("--basedir={}", root.display());
        let mut make = program(&root, "mariadbd", folder.path());
        make.args(["--no-defaults", "--bootstrap", &share, &base]);
        make.arg(format!("--datadir={}", data.display()));
        make.stdin(fs::File::open(folder.path().join("sql")).unwrap());
        succeed(make, folder.path());
        let server = program(&root, "mariadbd", folder.path());
        Self::mysqld(root, server, folder, &[&share, &base], settings)
    }

    fn mysqld(
        root: PathBuf,
        mut server: Command,
        folder: TempDir,
        own: &[&str],
        settings: &[&str],
    ) -> Server {
        let port = free_port();
        server.arg("--no-defaults").args(own);
        server.arg(format!("--datadir={}", folder.path().join("data").display()));
        server.arg(format!("--socket={}", folder.path().join("my.sock").display()));
        server.arg(format!("--pid-file={}", folder.path().join("pid").display()));
        server.args([&format!("--port={port}"), "--bind-address=127.0.0.1", "--skip-log-bin"]);
        server.args(["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M"]);
        server.args(settings.iter().map(|setting| format!("--{setting}")));
        let child = server.spawn().unwrap();
        Server { is_postgres: false, root, child, folder, port }.answering()
    }

    fn answering(mut self) -> Server {
        let deadline = Instant::now() + PATIENCE;
        while let Err(error) = self.target("").connect() {
            let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let has_ended = self.child.try_wait().unwrap().is_some();
            assert!(!has_ended && Instant::now() < deadline, "{error}\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
        self
    }

    /// As the owner of the server.
    fn target(&self, database: &str) -> Target {
        let login = |path: PathBuf, user: &str, database: &str| Login {
            address: Address::Unix { path },
            user: user.to_string(),
            password: None,
            database: database.to_string(),
            parameters: Vec::new(),
            setup: Vec::new(),
            terms: Terms::default(),
            cancel: Cancel::default(),
        };
        let folder = self.folder.path();
        match self.is_postgres {
            true => {
                let database = if database.is_empty() { "postgres" } else { database };
                let path = folder.join(format!(".s.PGSQL.{}", self.port));
                Target::Postgres(login(path, "owner", database))
            }
            false => Target::Mysql(login(folder.join("my.sock"), "root", database)),
        }
    }

    pub(crate) fn connect(&self, database: &str) -> Box<dyn Connection> {
        let mut connection = self.target(database).connect().unwrap();
        if !self.is_postgres {
            // Tests set servers so that nothing works by itself.
            for set in [
                "max_execution_time = 0",
                "max_statement_time = 0",
                "autocommit = 1",
                "transaction_read_only = 0",
                "tx_read_only = 0",
            ] {
                let _ = connection.run(&format!("set session {set}"));
            }
            let _ = connection.run("set session sql_select_limit = 1000000");
        }
        connection
    }

    /// What the owner of the server types, a statement each.
    #[track_caller]
    pub(crate) fn sql(&self, database: &str, statements: &[&str]) -> Vec<Row> {
        let mut connection = self.connect(database);
        let mut rows = Vec::new();
        for statement in statements {
            rows =
                connection.query(statement).unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        rows
    }

    /// The URL of an account, which is percent-encoded by the caller if need be.
    pub(crate) fn url(&self, account: &str, database: &str) -> String {
        self.url_at(self.port, account, database)
    }

    pub(crate) fn url_at(&self, port: u16, account: &str, database: &str) -> String {
        let scheme = if self.is_postgres { "postgres" } else { "mysql" };
        let encrypted = if self.is_postgres { "?sslmode=disable" } else { "?ssl-mode=DISABLED" };
        format!("{scheme}://{account}@127.0.0.1:{port}/{database}{encrypted}")
    }

    /// What the owner of a Postgres types to restart it.
    pub(crate) fn restart_command(&self) -> String {
        let (root, data) = (self.root.display(), self.folder().join("data"));
        format!(
            "cd {data} && LD_LIBRARY_PATH={root}/libs:{root}/usr/lib/x86_64-linux-gnu setpriv \
             --reuid={NOBODY} --regid={NOBODY} --clear-groups {root}/bin/pg_ctl restart -w -m fast \
             -D {data} -l {data}/../restarted.log",
            data = data.display()
        )
    }

    /// The server's first process, which may have been started by somebody else since.
    fn process(&self) -> Option<Pid> {
        let file = fs::read_to_string(self.folder.path().join("data/postmaster.pid")).ok()?;
        Pid::from_raw(file.lines().next()?.trim().parse().ok()?)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Everything that exists on the server, by name, locks included. Those of a connection that
    /// has been closed go when the server notices.
    pub(crate) fn everything(&self) -> BTreeSet<String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        loop {
            let all = self.everything_now();
            if !all.iter().any(|name| name.contains(": lock ")) || Instant::now() > deadline {
                return all;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn everything_now(&self) -> BTreeSet<String> {
        let names = |database: &str, sql: &str| {
            let rows = self.sql(database, &[sql]);
            rows.into_iter()
                .map(|row| {
                    format!(
                        "{database}: {}",
                        row.into_iter().flatten().collect::<Vec<_>>().join(" ")
                    )
                })
                .collect::<Vec<_>>()
        };
        let mut all = BTreeSet::new();
        if !self.is_postgres {
            for sql in [
                "select 'database', schema_name from information_schema.schemata",
                "select 'table', table_schema, table_name from information_schema.tables where table_schema not in ('performance_schema', 'sys', 'information_schema', 'mysql')",
                "select 'routine', routine_schema, routine_name from information_schema.routines where routine_schema <> 'sys'",
                "select 'event', event_schema, event_name from information_schema.events",
                "select 'trigger', trigger_schema, trigger_name from information_schema.triggers where trigger_schema <> 'sys'",
                "select 'account', user, host from mysql.user",
                "select 'lock', is_used_lock('rqps') from dual where is_used_lock('rqps') is not null",
            ] {
                all.extend(names("", sql));
            }
            return all;
        }
        for database in names(
            "",
            "select datname from pg_database where datallowconn and datname <> 'template1'",
        ) {
            let database = database.split_once(": ").unwrap().1;
            for sql in [
                "select 'schema', nspname, coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace where nspname !~ '^pg_(toast_)?temp'",
                "select 'class', relnamespace::regnamespace::text, relname, relkind::text from pg_class where relnamespace::regnamespace::text not in ('pg_catalog', 'information_schema', 'pg_toast')",
                "select 'function', pronamespace::regnamespace::text, proname from pg_proc where pronamespace::regnamespace::text not in ('pg_catalog', 'information_schema')",
                "select 'trigger', tgname from pg_trigger where not tgisinternal",
                "select 'event trigger', evtname from pg_event_trigger",
                "select 'role', rolname from pg_roles",
                "select 'database', datname from pg_database",
                "select 'lock', classid, objid from pg_locks where locktype = 'advisory'",
            ] {
                all.extend(names(database, sql));
            }
        }
        all
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            eprintln!("end of the server's log:");
            lines[lines.len().saturating_sub(80)..].iter().for_each(|line| eprintln!("{line}"));
        }
        // Postgres's other processes end with the first only if that is asked to end.
        let signal = if self.is_postgres { Signal::QUIT } else { Signal::KILL };
        let process = self.process().unwrap_or(Pid::from_child(&self.child));
        let _ = kill_process(process, signal);
        let _ = self.child.wait();
    }
}

/// PgBouncer before a server of Postgres.
pub(crate) struct Pooler {
    child: Child,
    pub(crate) port: u16,
}

impl Pooler {
    pub(crate) fn before(server: &Server, settings: &str) -> Pooler {
        let (port, folder) = (free_port(), server.folder());
        let users = folder.join("users.txt");
        fs::write(&users, "\"guest\" \"\"\n").unwrap();
        let file = folder.join(format!("pgbouncer-{port}.ini"));
        let text = format!(
            "[databases]\n* = host=127.0.0.1 port={}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = trust\nauth_file = {}\nunix_socket_dir =\n{settings}\n",
            server.port,
            users.display()
        );
        fs::write(&file, text).unwrap();
        let mut command = Command::new("/usr/sbin/pgbouncer");
        command.arg(&file).uid(NOBODY).gid(NOBODY).current_dir(folder).stdin(Stdio::null());
        let log = fs::File::create(folder.join("pgbouncer.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let pooler = Pooler { child: command.spawn().unwrap(), port };
        let deadline = Instant::now() + PATIENCE;
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "pgbouncer does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
