//! Postgres: a build that rqps starts itself, or a remote server.

mod control;
pub(crate) mod descriptor;
pub(crate) mod dialect;
mod executed_plan;
mod guest;
mod lock_file;
mod meter;
mod names;
mod password;
pub(crate) mod query_plan;
mod reported;
mod statement_statistics;
mod table_data;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rqps_plan::Contender;
use rqps_system::{Cancel, User, program};
use rqps_wire::{Address, Login, Terms};
use rustix::process::Signal;

use crate::config::{Settings, Vocabulary, own};
use crate::driver::DbmsDriver;
use crate::error::DbmsError;
use crate::home::Home;
use crate::managed::{Launch, Prepared, Signals, Start};
use crate::process::{self, Runs};
use crate::process_settings::ProcessSettings;
use crate::rights::{can_reach, servers_user};
use crate::source;
use crate::source::installed::Installed;
use crate::source::progress::Tell;
use crate::{Dbms, Place, Server};

use control::{PostgresControl, create_database, target};
use descriptor::DESCRIPTOR;
use guest::{login, remote};
use names::{DATABASE, SUPERUSER};
use password::set_password;

/// SIGINT is the fast shutdown: connections are closed and a checkpoint is written.
const SIGNALS: Signals = Signals { stop: Signal::INT, quit: Signal::QUIT };
/// Settings that a contender cannot set, because rqps does.
const RESERVED: [&str; 9] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "listen_addresses",
    "log_destination",
    "logging_collector",
    "port",
    "unix_socket_directories",
];
/// An entry that is in every data directory.
const MARK: &str = "PG_VERSION";
/// The port of a server without TCP: it is a part of its socket's name.
const SOCKETS_PORT: u16 = 5432;
/// From this version on passwords are stored for SCRAM.
const SCRAM_SINCE: u32 = 10;
/// How long a program may take to describe itself.
const TELLING: Duration = Duration::from_secs(60);

pub(crate) static DRIVER: DbmsDriver = DbmsDriver {
    of: &[&DESCRIPTOR],
    prepare,
    remote: Some(remote),
    target: Some(|url, cancel| Ok(target(login(url, cancel)?))),
};

/// A build with the settings that it will run with.
pub(crate) struct Postgres {
    installed: Installed,
    spec: String,
    settings: Settings,
    process: ProcessSettings,
    user: Option<User>,
}

impl Postgres {
    pub(crate) fn prepare(
        home: &Home,
        installed: Installed,
        contender: &Contender,
    ) -> Result<Self, DbmsError> {
        let user = servers_user()?;
        let names = setting_names(home, &installed, user)?;
        let server = installed.server()?;
        // A name with a dot belongs to an extension, which the server has not loaded yet.
        let knows = |name: &str| {
            name.contains('.')
                || names.iter().any(|known| known == name)
                || is_unlisted(&server, name)
        };
        let version = &installed.version;
        let reserved = own(&RESERVED);
        let vocabulary = Vocabulary { version, names: &names, knows: &knows, reserved: &reserved };
        let settings = vocabulary.settings(contender)?;
        let spec = contender.spec();
        let process = ProcessSettings::of(contender)?;
        Ok(Postgres { installed, spec, settings, process, user })
    }

    fn create(&self, place: &Place) -> Result<(), DbmsError> {
        let fill = |fresh: &Path| self.initialize(fresh, &place.log);
        place.make_data(&self.installed, self.user, &[], fill)
    }

    fn initialize(&self, data: &Path, log: &Path) -> Result<(), DbmsError> {
        let (initdb, leading) = self.installed.initdb()?;
        let mut command = process::command(&initdb, Runs::of(&self.installed, self.user, data));
        process::log_to(&mut command, log)?;
        command.args(leading);
        command.arg("--pgdata").arg(data).args(["--username", SUPERUSER]);
        command.args(["--auth-local", "trust", "--auth-host", self.method()]);
        // -N is --no-sync, which has another name before version 10.
        command.args(["--encoding", "UTF8", "--locale", "C", "--data-checksums", "-N"]);
        process::run(&mut command, "initdb", log)
    }

    /// The authentication method for passwords.
    fn method(&self) -> &'static str {
        let major = self.installed.version.split(|c: char| !c.is_ascii_digit()).next();
        let major = major.and_then(|major| major.parse().ok());
        if major.is_none_or(|major: u32| major >= SCRAM_SINCE) { "scram-sha-256" } else { "md5" }
    }

    /// Writes the settings of this start, and the access rules, beside the server's socket, since
    /// the user of servers could also write to the data directory. Settings there are overridden.
    fn configure(&self, place: &Place, start: &Start<'_>) -> Result<PathBuf, DbmsError> {
        // The socket's folder decides who can reach it.
        let mut rules = "local all all trust\n".to_string();
        if start.port.is_some() {
            for loopback in ["127.0.0.1/32", "::1/128"] {
                rules += &format!("host all all {loopback} {}\n", self.method());
            }
        }
        let rules = start.folder.configure("pg_hba.conf", &rules)?;
        let addresses = if start.port.is_some() { "127.0.0.1" } else { "" };
        let own = [
            ("data_directory", path_text(&place.data)?),
            ("hba_file", path_text(&rules)?),
            ("listen_addresses", addresses.to_string()),
            ("port", start.port.unwrap_or(SOCKETS_PORT).to_string()),
            // A list with commas.
            ("unix_socket_directories", in_list(&path_text(start.folder.socket())?)),
            ("log_destination", "stderr".to_string()),
            ("logging_collector", "off".to_string()),
        ];
        let line = |name: &str, value: &str| format!("{name} = {}\n", quoted(value));
        let made = quoted(&path_text(&place.data.join("postgresql.conf"))?);
        let mut text = format!("include_if_exists {made}\n");
        text.extend(self.settings.iter().map(|(name, value)| line(name, value)));
        text.extend(own.iter().map(|(name, value)| line(name, value)));
        start.folder.configure("postgresql.conf", &text)
    }

    /// Writes the settings of one start; returns its command, and how to reach the server.
    fn prepare_start(&self, place: &Place, start: &Start<'_>) -> Result<Prepared, DbmsError> {
        let settings = self.configure(place, start)?;
        let (program, leading) = self.installed.command(&self.installed.server()?);
        let data = &place.data;
        let runs = Runs::of(&self.installed, self.user, data);
        let runs = Runs { detached: place.detached, under: &place.under, ..runs };
        let mut command = process::command(&program, runs);
        let mut config = OsString::from("config_file=");
        config.push(settings);
        command.args(leading).arg("-D").arg(data).arg("-c").arg(config);
        command.envs(place.environment.iter().cloned());
        let (socket, port) = (start.folder.socket(), start.port.unwrap_or(SOCKETS_PORT));
        let login = |database: &str| {
            target(Login {
                address: Address::Unix { path: socket.join(format!(".s.PGSQL.{port}")) },
                user: SUPERUSER.to_string(),
                password: None,
                database: database.to_string(),
                parameters: Vec::new(),
                setup: Vec::new(),
                terms: Terms::default(),
                cancel: start.cancel.clone(),
            })
        };
        let url = format!("postgres://{SUPERUSER}@localhost:{port}/{DATABASE}");
        let url = format!("{url}?host={}", socket.display());
        Ok(Prepared { command, first: login("postgres"), target: login(DATABASE), url })
    }

    fn launch<'a>(&'a self, home: &'a Home, place: &'a Place) -> Launch<'a> {
        Launch {
            what: "postgres",
            spec: &self.spec,
            home,
            place,
            signals: SIGNALS,
            control: &PostgresControl,
            user: self.user,
            process: &self.process,
            create_database,
            set_password,
        }
    }
}

impl Dbms for Postgres {
    fn build(&self) -> Option<&Installed> {
        Some(&self.installed)
    }

    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let place = &place.settled("postgres", MARK)?;
        can_reach(self.user, &[&self.installed.server()?, &place.data])?;
        if !place.data.join(MARK).exists() {
            self.create(place)?;
        }
        place.check_maker(&self.installed)?;
        lock_file::release_from_zombie(&place.data)?;
        let prepare = |start: &Start<'_>| self.prepare_start(place, start);
        Ok(Box::new(self.launch(home, place).start(&prepare, cancel)?))
    }
}

/// A value for postgresql.conf.
fn quoted(value: &str) -> String {
    let escaped = value.replace('\\', r"\\").replace('\'', "''").replace('\n', r"\n");
    format!("'{escaped}'")
}

/// A path for a configuration file.
fn path_text(path: &Path) -> Result<String, DbmsError> {
    let text = path.to_str().map(str::to_string);
    text.ok_or_else(|| DbmsError::NotText { path: path.to_path_buf() })
}

/// A name in a list.
fn in_list(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// All settings that the build knows, from the build itself.
fn setting_names(
    home: &Home,
    installed: &Installed,
    user: Option<User>,
) -> Result<Vec<String>, DbmsError> {
    let start = |reason: String| DbmsError::Start { what: "postgres", reason };
    let (server, folder) = (installed.server()?, home.empty()?);
    can_reach(user, &[&server])?;
    let (program, leading) = installed.command(&server);
    let mut command = process::command(&program, Runs::of(installed, user, &folder));
    command.args(leading).arg("--describe-config");
    let said = program::run(&mut command, TELLING, &mut || Ok(()));
    let said = said.map_err(|error| start(error.to_string()))?;
    if !said.status.success() {
        return Err(start(said.stderr.lines().last().unwrap_or("no output").to_string()));
    }
    let names = said.stdout.lines().filter_map(|line| line.split('\t').next());
    Ok(names.map(str::to_lowercase).collect())
}

/// Whether a setting is one for developers, such as `debug_io_direct`, which the build does not
/// list: like all names of settings, it is a string in the program.
fn is_unlisted(server: &Path, name: &str) -> bool {
    let string = format!("\0{name}\0");
    let program = fs::read(server).unwrap_or_default();
    memchr::memmem::find(&program, string.as_bytes()).is_some()
}

fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut Tell,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let installed = source::obtain(home, contender.dbms, &contender.build, tell)?;
    Ok(Box::new(Postgres::prepare(home, installed, contender)?))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::net::TcpListener;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    use rqps_plan::Dbms as Name;
    use rqps_wire::scalar;
    use rustix::fs::{CWD, Mode, mkfifoat};
    use rustix::process::{Pid, kill_process};

    use super::*;
    use crate::source;

    #[test]
    fn values_are_text_whatever_is_in_them() {
        assert_eq!(quoted(r"it's a \ "), r"'it''s a \\ '");
        assert_eq!(quoted("a\nport = 1"), r"'a\nport = 1'");
    }

    fn store() -> Home {
        let store = std::env::var_os("RQPS_TEST_HOME").unwrap_or("/var/tmp/rqps-tests".into());
        Home::at(store).unwrap()
    }

    /// A real build: fetched once per machine.
    fn prepared(contender: &str) -> Result<Postgres, DbmsError> {
        let contender: Contender = contender.parse().unwrap();
        let mut patient = |_| Ok(());
        let build = &contender.build;
        let installed = source::obtain(&store(), Name::Postgres, build, &mut patient).unwrap();
        Postgres::prepare(&store(), installed, &contender)
    }

    #[test]
    #[cfg_attr(not(feature = "servers"), ignore = "starts a server")]
    fn settings_for_developers_are_known_although_the_build_does_not_list_them() {
        let postgres = prepared("postgres@17.6?debug_io_direct=data&trace_sort=on").unwrap();
        let direct = ("debug_io_direct".to_string(), "data".to_string());
        assert!(postgres.settings.contains(&direct), "{:?}", postgres.settings);
        let error = prepared("postgres@17.6?debug_io_direkt=data").err().unwrap().to_string();
        assert!(error.starts_with("postgres 17.6 has no setting 'debug_io_direkt'"), "{error}");
    }

    /// A server that its user can reach.
    fn with_postgres(test: impl FnOnce(&Postgres, &Home, &Place)) {
        let (store, postgres) = (store(), prepared("postgres@17.6").unwrap());
        let directory = tempfile::tempdir_in(store.root()).unwrap();
        fs::set_permissions(directory.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let home = Home::at(directory.path().join("home")).unwrap();
        let (data, log) = (directory.path().join("data"), directory.path().join("log"));
        let password = Some("secret".to_string());
        let place = Place { data, log, password, ..Place::default() };
        postgres.create(&place).unwrap();
        test(&postgres, &home, &place);
    }

    #[test]
    #[cfg_attr(not(feature = "servers"), ignore = "starts a server")]
    fn a_server_that_ends_before_it_writes_a_line_is_told_by_its_status() {
        with_postgres(|postgres, home, place| {
            let killed = |start: &Start<'_>| {
                let mut prepared = postgres.prepare_start(place, start)?;
                prepared.command = std::process::Command::new("/bin/sh");
                prepared.command.args(["-c", "kill -9 $$"]);
                Ok(prepared)
            };
            let launch = postgres.launch(home, place);
            let error = launch.start(&killed, &Cancel::default()).err().unwrap().to_string();
            let told = "postgres did not start: it ended with signal: 9";
            assert!(
                error.starts_with(told) && error.ends_with("wrote nothing to its log"),
                "{error}"
            );
        });
    }

    #[test]
    #[cfg_attr(not(feature = "servers"), ignore = "starts a server")]
    fn a_port_that_was_taken_meanwhile_is_exchanged_for_another() {
        let taken = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let taken = (taken.local_addr().unwrap().port(), taken);
        with_postgres(|postgres, home, place| {
            let attempts = Cell::new(0);
            let first_is_taken = |start: &Start<'_>| {
                attempts.set(attempts.get() + 1);
                let port = if attempts.get() == 1 { Some(taken.0) } else { start.port };
                postgres.prepare_start(place, &Start { port, ..*start })
            };
            let mut server =
                postgres.launch(home, place).start(&first_is_taken, &Cancel::default()).unwrap();
            // Other tests may take the free port.
            assert!(attempts.get() >= 2);
            server.stop().unwrap();

            let all_are_taken = |start: &Start<'_>| {
                postgres.prepare_start(place, &Start { port: Some(taken.0), ..*start })
            };
            let launch = postgres.launch(home, place);
            let error = launch.start(&all_are_taken, &Cancel::default()).err().unwrap().to_string();
            assert!(error.contains("Address already in use"), "{error}");
            assert_eq!(fs::read_dir(home.run().unwrap()).unwrap().count(), 0, "nothing is left");
        });
    }

    #[test]
    #[cfg_attr(not(feature = "servers"), ignore = "starts a server")]
    fn a_server_that_recovers_is_stopped_at_once_and_its_data_can_be_used() {
        with_postgres(|postgres, home, place| {
            let mut server = postgres.start(home, place, &Cancel::default()).unwrap();
            // Recovery reads this file first, and reading from a pipe without a writer never ends.
            let label = place.data.join("backup_label");
            mkfifoat(CWD, &label, Mode::from(0o644)).unwrap();
            let mut connection = server.target().connect().unwrap();
            let backend = scalar(&mut *connection, "select pg_backend_pid()").unwrap();
            let backend = Pid::from_raw(backend.unwrap().parse().unwrap()).unwrap();
            kill_process(backend, Signal::KILL).unwrap();
            while !fs::read_to_string(&place.log).unwrap().contains("reinitializing") {
                std::thread::sleep(Duration::from_millis(10));
            }
            let begun = Instant::now();
            server.stop().unwrap();
            assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
            fs::remove_file(&label).unwrap();
            postgres.start(home, place, &Cancel::default()).unwrap().stop().unwrap();
        });
    }
}
