//! MySQL and MariaDB: a build that rqps starts itself, or a server that is running elsewhere.

mod control;
mod create;
mod grants;
mod guest;
mod meter;
mod options;
mod quiesce;
mod reported;
mod size;

use std::fs;
use std::path::{Path, PathBuf};

use rqps_plan::{Contender, Dbms as Name};
use rqps_wire::{Address, Login, Target};
use rustix::process::Signal;

use crate::config::{Settings, Vocabulary};
use crate::error::DbmsError;
use crate::home::Home;
use crate::managed::{Launch, Prepared, Signals};
use crate::source::Installed;
use crate::user::{ServerUser, hand_over};
use crate::{Dbms, Place, Server};

use control::{MysqlControl, create_database};
pub(crate) use guest::remote;
use options::Options;

/// The account that a new data directory has, without a password.
const SUPERUSER: &str = "root";
/// The benchmark's database, named as the original names it.
const DATABASE: &str = "ib";
const INNODB: &str = "innodb";
/// MyRocks, which is a plugin in MariaDB.
pub(crate) const ROCKSDB: &str = "rocksdb";
/// SIGTERM is the orderly shutdown. There is no other that leaves the data recoverable and nothing
/// behind than to end the process.
const SIGNALS: Signals = Signals { stop: Signal::TERM, quit: Signal::KILL };
/// What a contender cannot set, because rqps does.
const RESERVED: [&str; 10] = [
    "basedir",
    "bind_address",
    "datadir",
    "default_storage_engine",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "socket",
    "tmpdir",
];

/// A build with the settings that it will run with.
pub(crate) struct Mysql {
    installed: Installed,
    spec: String,
    /// What the server says that it takes.
    options: Options,
    engine: String,
    settings: Settings,
    user: Option<ServerUser>,
}

impl Mysql {
    pub(crate) fn prepare(installed: Installed, contender: &Contender) -> Result<Self, DbmsError> {
        let user = ServerUser::find()?;
        let engine = contender.engine.clone().unwrap_or(INNODB.to_string());
        let options = Options::ask(&installed, &engine, user)?;
        let vocabulary = Vocabulary {
            version: &installed.version,
            names: options.names(),
            knows: &|name| options.knows(name),
            reserved: &RESERVED,
        };
        let settings = vocabulary.settings(contender)?;
        let spec = contender.spec();
        Ok(Mysql { installed, spec, options, engine, settings, user })
    }

    fn dbms(&self) -> Name {
        self.installed.dbms
    }

    /// Writes the settings of this start into the data directory.
    fn configure(&self, place: &Place, socket: &Path, port: u16) -> Result<PathBuf, DbmsError> {
        let mut text = String::from("[mysqld]\n");
        let own = [
            ("bind_address", "127.0.0.1".to_string()),
            ("port", port.to_string()),
            ("socket", socket.join("mysql.sock").display().to_string()),
            ("datadir", place.data.display().to_string()),
            // Where the indexes that are built are sorted; in no place that is shared with others.
            ("tmpdir", place.data.display().to_string()),
            ("pid_file", socket.join("mysql.pid").display().to_string()),
            ("default_storage_engine", self.engine.clone()),
        ];
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let chosen = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in chosen.chain(own) {
            text += &format!("{name} = {value}\n");
        }
        let path = place.data.join("rqps.cnf");
        fs::write(&path, text).map_err(DbmsError::file("write", &path))?;
        hand_over(&path, self.user)?;
        Ok(path)
    }
}

impl Dbms for Mysql {
    fn build(&self) -> Option<&Installed> {
        Some(&self.installed)
    }

    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Box<dyn Server>, DbmsError> {
        if !place.data.join("mysql").exists() {
            self.create(place)?;
        }
        place.check_maker(&self.installed)?;
        let prepare = |socket: &Path, port: u16| {
            hand_over(socket, self.user)?;
            let file = self.configure(place, socket, port)?;
            let (data, log) = (&place.data, &place.log);
            let mut command = self.options.server(self.user, data, log, place.detached)?;
            command.arg(format!("--defaults-file={}", file.display()));
            command.args(self.options.common());
            command.envs(place.environment.iter().cloned());
            let login = |database: &str| {
                Target::Mysql(Login {
                    address: Address::Unix { path: socket.join("mysql.sock") },
                    user: SUPERUSER.to_string(),
                    password: None,
                    database: database.to_string(),
                    parameters: Vec::new(),
                    setup: Vec::new(),
                })
            };
            let scheme = self.dbms();
            let url = format!("{scheme}://{SUPERUSER}@localhost:{port}/{DATABASE}");
            let url = format!("{url}?socket={}", socket.join("mysql.sock").display());
            Ok(Prepared { command, first: login(""), target: login(DATABASE), url })
        };
        let launch = Launch {
            what: self.dbms().name(),
            spec: &self.spec,
            home,
            place,
            signals: SIGNALS,
            control: &MysqlControl::Own,
            create_database,
        };
        Ok(Box::new(launch.start(&prepare, cancelled)?))
    }
}
