//! RocksDB: a library, which a process of rqps loads. The process is started and watched like a
//! server, and answers on a socket, so that two versions never meet in one process.

mod command;
mod control;
pub(crate) mod descriptor;
mod dialect;
mod host;

use rqps_plan::{Contender, Dbms as Name};
use rqps_system::{Cancel, User};
use rqps_wire::rocksdb::RESERVED;
use rqps_wire::{RocksdbHost, Target};
use rustix::process::Signal;

use crate::config::{Settings, Vocabulary};
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

use control::RocksdbControl;
use descriptor::DESCRIPTOR;

const NAME: &str = "rocksdb";
/// SIGTERM closes the database. What is only in memory is then lost with the write-ahead log's
/// last bytes at most, which an orderly stop writes.
const SIGNALS: Signals = Signals { stop: Signal::TERM, quit: Signal::KILL };
/// An entry that is in every database.
const MARK: &str = "CURRENT";
const SOCKET: &str = "rocksdb.sock";
/// The estimated bytes of an entry in a HyperClock cache: from this version on the cache finds it
/// itself if it is 0.
const FINDS_CHARGE_SINCE: [u32; 2] = [8, 6];
/// … and before, blocks have this size.
const BLOCK: &str = "8192";
const CHARGE: &str = "cache_entry_charge";

pub(crate) static DRIVER: DbmsDriver =
    DbmsDriver { of: &[&DESCRIPTOR], prepare, remote: None, target: None };

/// A build with the settings that it will run with.
pub(crate) struct Rocksdb {
    installed: Installed,
    spec: String,
    settings: Settings,
    process: ProcessSettings,
    user: Option<User>,
}

impl Rocksdb {
    pub(crate) fn prepare(
        home: &Home,
        installed: Installed,
        contender: &Contender,
        tell: &mut Tell,
    ) -> Result<Self, DbmsError> {
        let user = servers_user()?;
        let library = installed.server()?;
        let described = host::options(&library, &Settings::new(), tell)?;
        let names: Vec<String> = described.into_iter().map(|(name, _)| name).collect();
        // The options within an option are not listed one by one.
        let knows = |name: &str| {
            let outer = name.split('.').next().unwrap_or(name);
            names.iter().any(|known| known == name || known == outer)
        };
        let version = &installed.version;
        // They may be within other options, too, where the process refuses them.
        let reserved =
            |name: &str| RESERVED.iter().find(|(known, _)| *known == name).map(|(_, why)| *why);
        let vocabulary = Vocabulary { version, names: &names, knows: &knows, reserved: &reserved };
        let mut settings = match vocabulary.settings(contender) {
            Err(DbmsError::Setting { dbms, version, name, hint }) => {
                let others = having(home, &name, tell)?;
                let hint = if others.is_empty() { hint } else { others };
                return Err(DbmsError::Setting { dbms, version, name, hint });
            }
            settings => settings?,
        };
        if !settings.iter().any(|(name, _)| name == CHARGE) {
            let charge = if finds_charge(version) { "0" } else { BLOCK };
            settings.push((CHARGE.to_string(), charge.to_string()));
        }
        // RocksDB's own words for values that it does not take, before anything is loaded.
        host::options(&library, &settings, tell)?;
        let process = ProcessSettings::of(contender)?;
        Ok(Rocksdb { installed, spec: contender.spec(), settings, process, user })
    }
}

/// Which of the builds in the store have an option; empty if none has.
fn having(home: &Home, name: &str, tell: &mut Tell) -> Result<String, DbmsError> {
    let mut versions = Vec::new();
    for build in source::stored(home, Name::Rocksdb)? {
        let options = host::options(&build.server()?, &Settings::new(), tell);
        // Another build need not run.
        let Ok(options) = options else { continue };
        if options.iter().any(|(known, _)| known == name) {
            versions.push(format!("{NAME} {}", build.version));
        }
    }
    Ok(match versions.is_empty() {
        true => String::new(),
        false => format!("it is in {}. Drop it, or compare such versions", versions.join(", ")),
    })
}

fn finds_charge(version: &str) -> bool {
    let mut numbers = version.split('.').map(|number| number.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)] >= FINDS_CHARGE_SINCE
}

fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut Tell,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let installed = source::obtain(home, contender.dbms, &contender.build, tell)?;
    Ok(Box::new(Rocksdb::prepare(home, installed, contender, tell)?))
}

impl Dbms for Rocksdb {
    fn build(&self) -> Option<&Installed> {
        Some(&self.installed)
    }

    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let place = &place.settled(NAME, MARK)?;
        let library = self.installed.server()?;
        let program = command::program()?;
        can_reach(self.user, &[&library, &program, &place.data])?;
        if !place.data.join(MARK).exists() {
            // It makes its files itself.
            place.make_data(&self.installed, self.user, &[], |_| Ok(()))?;
        }
        place.check_maker(&self.installed)?;
        let prepare = |start: &Start<'_>| {
            let runs = Runs::of(&self.installed, self.user, &place.data);
            let (detached, under) = (place.detached, &place.under[..]);
            // A frozen process heeds no other signal.
            let runs = Runs { detached, under, at_end: SIGNALS.quit, ..runs };
            let mut command = process::command(&program, runs);
            let socket = start.folder.socket().join(SOCKET);
            command.args(command::arguments(&library, &self.settings));
            command.arg("--data").arg(&place.data).arg("--socket").arg(&socket);
            command.envs(place.environment.iter().cloned());
            let url = format!("{NAME}:{}", socket.display());
            let target = Target::Rocksdb(RocksdbHost { socket, cancel: start.cancel.clone() });
            Ok(Prepared { command, first: target.clone(), target, url })
        };
        let launch = Launch {
            what: NAME,
            spec: &self.spec,
            home,
            place,
            signals: SIGNALS,
            control: &RocksdbControl,
            user: self.user,
            process: &self.process,
            create_database: |_| Ok(()),
            // It has no port.
            set_password: |_, _| Ok(()),
        };
        Ok(Box::new(launch.start(&prepare, cancel)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hyper_clock_cache_finds_the_size_of_its_entries_from_8_6_on() {
        for (version, expected) in [
            ("8.5.4", false),
            ("8.6.7", true),
            ("8.11.4", true),
            ("10.4.2", true),
            ("7.10.2", false),
        ] {
            assert_eq!(finds_charge(version), expected, "{version}");
        }
    }
}
