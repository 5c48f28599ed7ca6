//! MySQL and MariaDB: a build that rqps starts itself, or a remote server.

mod control;
mod create;
pub(crate) mod descriptor;
pub(crate) mod dialect;
mod grants;
mod guest;
mod members;
mod meter;
mod names;
mod options;
mod password;
pub(crate) mod query_plan;
mod quiesce;
mod reported;
mod size;
mod statement_statistics;
mod table_data;
mod variables;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rqps_plan::{Contender, Dbms as Name};
use rqps_system::{Cancel, User};
use rqps_wire::{Address, Login, Terms};
use rustix::process::Signal;

use crate::config::{Settings, Vocabulary, own};
use crate::driver::DbmsDriver;
use crate::error::DbmsError;
use crate::home::Home;
use crate::managed::{Launch, Prepared, Signals, Start};
use crate::process::Runs;
use crate::process_settings::ProcessSettings;
use crate::rights::{can_reach, servers_user};
use crate::source;
use crate::source::installed::Installed;
use crate::source::progress::Tell;
use crate::{Dbms, Place, Server};

use control::{MysqlControl, create_database, target};
use descriptor::{MARIADB, MYSQL};
use guest::{login, remote};
use names::{DATABASE, INNODB, SUPERUSER};
use options::Options;
use password::set_password;

/// The plugin for MySQL's newer protocol, which rqps does not speak.
const X_PLUGIN: &str = "mysqlx";
/// SIGTERM is the orderly shutdown. For an immediate one that leaves recoverable data and no
/// process, the process is killed.
const SIGNALS: Signals = Signals { stop: Signal::TERM, quit: Signal::KILL };
/// Settings that a contender cannot set, because rqps does.
const RESERVED: [&str; 11] = [
    "basedir",
    "bind_address",
    "datadir",
    "default_storage_engine",
    "log_error",
    "pid_file",
    "plugin_dir",
    "port",
    "skip_networking",
    "socket",
    "tmpdir",
];
/// An entry that is in every data directory.
const MARK: &str = "mysql";
const SOCKET: &str = "mysql.sock";

pub(crate) static DRIVER: DbmsDriver = DbmsDriver {
    of: &[&MYSQL, &MARIADB],
    prepare,
    remote: Some(remote),
    target: Some(|url, cancel| Ok(target(login(url, cancel)?))),
};

/// A build with the settings that it will run with.
pub(crate) struct Mysql {
    installed: Installed,
    spec: String,
    /// The options that the server lists.
    options: Options,
    engine: String,
    settings: Settings,
    process: ProcessSettings,
    user: Option<User>,
}

impl Mysql {
    pub(crate) fn prepare(
        home: &Home,
        installed: Installed,
        contender: &Contender,
    ) -> Result<Self, DbmsError> {
        let user = servers_user()?;
        can_reach(user, &[&installed.server()?])?;
        let engine = contender.engine.clone().unwrap_or(INNODB.to_string());
        let options = Options::ask(home, &installed, &engine, user)?;
        let vocabulary = Vocabulary {
            version: &installed.version,
            names: options.names(),
            knows: &|name| options.knows(name),
            reserved: &own(&RESERVED),
        };
        let settings = vocabulary.settings(contender)?;
        let spec = contender.spec();
        let process = ProcessSettings::of(contender)?;
        Ok(Mysql { installed, spec, options, engine, settings, process, user })
    }

    fn dbms(&self) -> Name {
        self.installed.dbms
    }

    /// Writes the settings of this start beside the server's socket, since the user of servers
    /// could also write to the data directory.
    fn configure(&self, place: &Place, start: &Start<'_>) -> Result<PathBuf, DbmsError> {
        let mut text = String::from("[mysqld]\n");
        let (data, socket) = (path_text(&place.data)?, start.folder.socket());
        let mut own = vec![
            ("socket", path_text(&socket.join(SOCKET))?),
            ("datadir", data.clone()),
            // The folder for sorting index builds, which is not shared with others.
            ("tmpdir", data),
            ("pid_file", path_text(&socket.join("mysql.pid"))?),
            ("default_storage_engine", self.engine.clone()),
        ];
        match start.port {
            Some(port) => {
                own.push(("bind_address", "127.0.0.1".to_string()));
                own.push(("port", port.to_string()));
                // Otherwise 127.0.0.1 is resolved to `localhost`, where the superuser has no
                // password.
                own.push(("skip_name_resolve", "ON".to_string()));
            }
            None => own.push(("skip_networking", "ON".to_string())),
        }
        if self.options.knows(X_PLUGIN) {
            // The plugin listens on ports and sockets of its own.
            own.push((X_PLUGIN, "OFF".to_string()));
        }
        let own = own.iter().map(|(name, value)| (*name, value.as_str()));
        let chosen = self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in chosen.chain(own) {
            text += &format!("{name} = {value}\n");
        }
        start.folder.configure("my.cnf", &text)
    }
}

/// A path for an option file, where a line end ends a value and a backslash begins an escape.
fn path_text(path: &Path) -> Result<String, DbmsError> {
    let text = path.to_str().filter(|text| !text.contains('\n'));
    let text = text.map(|text| text.replace('\\', r"\\"));
    text.ok_or_else(|| DbmsError::NotText { path: path.to_path_buf() })
}

impl Dbms for Mysql {
    fn build(&self) -> Option<&Installed> {
        Some(&self.installed)
    }

    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let place = &place.settled(self.dbms().name(), MARK)?;
        can_reach(self.user, &[&place.data])?;
        if !place.data.join(MARK).exists() {
            self.create(place)?;
        }
        place.check_maker(&self.installed)?;
        let prepare = |start: &Start<'_>| {
            let file = self.configure(place, start)?;
            let runs = Runs::of(&self.installed, self.user, &place.data);
            let runs = Runs { detached: place.detached, under: &place.under, ..runs };
            let mut command = self.options.server(runs);
            let mut defaults = OsString::from("--defaults-file=");
            defaults.push(file);
            command.arg(defaults);
            command.args(self.options.common());
            command.envs(place.environment.iter().cloned());
            let socket = start.folder.socket().join(SOCKET);
            let login = |database: &str| {
                target(Login {
                    address: Address::Unix { path: socket.clone() },
                    user: SUPERUSER.to_string(),
                    password: None,
                    database: database.to_string(),
                    parameters: Vec::new(),
                    setup: Vec::new(),
                    terms: Terms::default(),
                    cancel: start.cancel.clone(),
                })
            };
            let scheme = self.dbms();
            let url = format!("{scheme}://{SUPERUSER}@localhost/{DATABASE}");
            let url = format!("{url}?socket={}", socket.display());
            Ok(Prepared { command, first: login(""), target: login(DATABASE), url })
        };
        let launch = Launch {
            what: self.dbms().name(),
            spec: &self.spec,
            home,
            place,
            signals: SIGNALS,
            control: &MysqlControl::Own,
            user: self.user,
            process: &self.process,
            create_database,
            set_password,
        };
        Ok(Box::new(launch.start(&prepare, cancel)?))
    }
}

fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut Tell,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let installed = source::obtain(home, contender.dbms, &contender.build, tell)?;
    Ok(Box::new(Mysql::prepare(home, installed, contender)?))
}
