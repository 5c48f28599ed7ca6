//! `rqps pgbench` on Postgres: PostgreSQL's own cases, and beside pgbench itself.

mod beside;
mod cases;
mod compared;
mod errors;
mod others;

pub(crate) use beside::pgbench;

use std::fs;
use std::path::PathBuf;

use rqps_dbms::{Home, Place, Server};
use rqps_system::Cancel;
use rqps_wire::{Address, Connection, Login, Target, scalar};
use tempfile::TempDir;

use crate::common::result::Finished;
use crate::common::{Rqps, Running};

/// A server that ends with the test, which logs all statements.
pub(crate) struct Logged {
    pub(crate) rqps: Rqps,
    server: Box<dyn Server>,
    pub(crate) login: Login,
    pub(crate) log: PathBuf,
    _directory: TempDir,
}

impl Logged {
    pub(crate) fn start() -> Logged {
        let rqps = Rqps::new();
        let directory = crate::common::directory();
        let home = Home::at(rqps.home()).unwrap();
        let contender =
            "postgres@17.6?log_statement=all&log_line_prefix=%c|&deadlock_timeout=100ms";
        let contender = contender.parse().unwrap();
        let mut patient = |_| Ok(());
        let dbms = rqps_dbms::prepare(&home, &contender, &mut patient, &Cancel::default()).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let place = Place { data, log: log.clone(), ..Place::default() };
        let server = dbms.start(&home, &place, &Cancel::default()).unwrap();
        let Target::Postgres(login) = server.target().clone() else { panic!("not Postgres") };
        Logged { rqps, server, login, log, _directory: directory }
    }

    fn connect(&self) -> Box<dyn Connection> {
        self.server.target().connect().unwrap()
    }

    pub(crate) fn run(&self, sql: &str) {
        self.connect().run(sql).unwrap();
    }

    pub(crate) fn scalar(&self, sql: &str) -> String {
        scalar(&mut *self.connect(), sql).unwrap().unwrap_or_default()
    }

    /// The folder and the port of its socket.
    pub(crate) fn socket(&self) -> (String, String) {
        let Address::Unix { path } = &self.login.address else { panic!("no socket") };
        let port = path.extension().unwrap().to_str().unwrap().to_string();
        (path.parent().unwrap().display().to_string(), port)
    }

    fn url(&self, database: &str) -> String {
        let (folder, port) = self.socket();
        let user = &self.login.user;
        format!("postgres://{user}@/{database}?host={folder}&port={port}")
    }

    /// Runs `rqps pgbench` with these words on a database, and with scripts as files, each with a
    /// weight if one follows its name.
    fn pgbench_on(&self, database: &str, words: &str, scripts: &[(&str, &str)]) -> Finished {
        let mut all = vec!["pgbench".to_string()];
        all.extend(words.split_whitespace().map(str::to_string));
        for (name, text) in scripts {
            let file = name.split('@').next().unwrap();
            let path = self.rqps.path(file);
            fs::write(&path, text).unwrap();
            all.push("-f".to_string());
            all.push(path.display().to_string() + &name[file.len()..]);
        }
        all.push(self.url(database));
        Running::start(self.rqps.command(all)).finish()
    }

    fn pgbench(&self, words: &str, scripts: &[(&str, &str)]) -> Finished {
        self.pgbench_on(&self.login.database.clone(), words, scripts)
    }
}
