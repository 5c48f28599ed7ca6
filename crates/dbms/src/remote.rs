//! A remote server: rqps connects, works in a place of its own, and removes it.
//!
//! [`Remote::arrive`] checks before anything is created: whether connections are sessions, whether
//! another rqps is there, what the account may do, what is in the place. Its lock is held while
//! this process uses the server. [`Remote::start`] creates the place. Before anything is dropped,
//! the lock, the place and all its contents are checked again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rqps_plan::Contender;
use rqps_system::Cancel;
use rqps_wire::{Connection, Error, Row, Target, query_if_allowed, scalar};

use crate::control::Control;
use crate::error::DbmsError;
use crate::guest::{
    Contents, Guest, Limit, Mark, Needs, not_set, place_name, refuse_others, text, to_set,
};
use crate::guest_error::GuestError;
use crate::hold::{Hold, LOOK_AGAIN, PATIENCE, lock};
use crate::home::Home;
use crate::in_force::{FirstInForce, InForce};
use crate::left::{Left, first_place};
use crate::meter::EngineMeter;
use crate::others::OthersWatch;
use crate::source::installed::Installed;
use crate::visit::Visited;
use crate::{Dbms, Place, Quiesce, Server};

/// What an earlier rqps left on a server.
pub struct Leftovers {
    name: String,
    /// For messages.
    pub place: String,
    /// When it was made, in words.
    pub since: String,
    /// Tables with their bytes.
    pub tables: Vec<(String, u64)>,
}

pub(crate) struct Remote {
    /// Without the password.
    pub(crate) url: String,
    /// With the first of its places.
    pub(crate) guest: Arc<dyn Guest>,
    pub(crate) control: &'static dyn Control,
    /// What every session sets beside rqps's own settings.
    settings: Vec<(String, String)>,
    /// Is locked before the hold's connection, if both are.
    stay: Mutex<Stay>,
    /// What identifies the server, as it was reached first.
    server: Mutex<Option<String>>,
    in_force: Arc<Mutex<FirstInForce>>,
}

/// Settings of a session that would change whose work is done, and where.
const NOT_CHOSEN: [&str; 4] = ["search_path", "role", "session_authorization", "application_name"];

/// The state of rqps on a server after the checks.
#[derive(Clone, Default)]
struct Stay {
    needs: Needs,
    hold: Option<Arc<Hold>>,
}

impl Remote {
    pub(crate) fn new(
        contender: &Contender,
        guest: Arc<dyn Guest>,
        control: &'static dyn Control,
    ) -> Self {
        let (url, settings) = (contender.spec(), contender.settings.clone());
        let (stay, server, in_force) = (Mutex::default(), Mutex::default(), Arc::default());
        Remote { url, guest, control, settings, stay, server, in_force }
    }

    /// The session that keeps others out; a new one if there is none or it was lost.
    fn hold(&self) -> Result<Arc<Hold>, DbmsError> {
        let mut stay = lock(&self.stay);
        if let Some(hold) = &stay.hold
            && hold.checked().is_ok()
        {
            return Ok(hold.clone());
        }
        stay.hold = None;
        let hold = Hold::take(&self.guest)?;
        stay.hold = Some(hold.clone());
        Ok(hold)
    }

    /// Refuses another server than before: a round on it would be one of another contender.
    fn check_server(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let now = identity_of(&*self.guest, connection)?;
        match lock(&self.server).get_or_insert_with(|| now.clone()) {
            before if *before == now => Ok(()),
            before => Err(GuestError::OtherServer { before: before.clone(), now }.into()),
        }
    }

    /// Checks whether a run can work here, before anything is created.
    fn check(
        guest: &dyn Guest,
        connection: &mut dyn Connection,
        needs: &Needs,
    ) -> Result<(), DbmsError> {
        if needs.is_read_only {
            let names: Vec<&str> = needs.calls.iter().map(|(name, _)| name.as_str()).collect();
            let found = guest.with_effects(connection, &names)?;
            let calls = needs.calls.iter().filter(|(name, _)| found.contains(name));
            let calls: Vec<String> =
                calls.map(|(name, query)| format!("{name}() in '{query}'")).collect();
            return match calls.is_empty() {
                true => Self::check_limits(guest, connection, needs),
                false => Err(GuestError::Calls { calls: calls.join(", ") }.into()),
            };
        }
        if let Some(why) = guest.read_only(connection)? {
            return Err(GuestError::ReadOnly { why }.into());
        }
        let contents = guest.contents(connection)?;
        if let Some(contents) = &contents {
            refuse_others(guest, contents, needs)?;
        }
        let missing = guest.missing(connection, contents.as_ref())?;
        if !missing.is_empty() {
            let (what, remedies): (Vec<_>, Vec<_>) =
                missing.into_iter().map(|missing| (missing.what, missing.remedy)).unzip();
            return Err(GuestError::Rights {
                user: guest.account(connection)?,
                missing: what.join(", "),
                remedy: remedies.join("; "),
            }
            .into());
        }
        Self::check_limits(guest, connection, needs)?;
        if let Some(limit) = guest.too_long(connection, needs.statement)? {
            return Err(GuestError::Statement { needed: needs.statement, limit }.into());
        }
        Ok(())
    }

    fn check_limits(
        guest: &dyn Guest,
        connection: &mut dyn Connection,
        needs: &Needs,
    ) -> Result<(), DbmsError> {
        // The connections in use include this one, which counts as one for control.
        let needed = needs.connections.saturating_sub(1);
        let deadline = Instant::now() + PATIENCE;
        let limits = loop {
            let mut limits = guest.limits(connection)?;
            limits.retain(|limit| limit.left < needed as i64);
            // Sessions that were just closed are still counted for a moment.
            if limits.is_empty() || Instant::now() > deadline {
                break limits;
            }
            std::thread::sleep(LOOK_AGAIN);
        };
        if !limits.is_empty() {
            let of = |part: fn(&Limit) -> &String| {
                limits.iter().map(part).map(String::as_str).collect::<Vec<_>>().join(" and ")
            };
            return Err(GuestError::Connections {
                needed: needs.connections,
                limits: of(|limit| &limit.text),
                remedies: of(|limit| &limit.remedy),
            }
            .into());
        }
        Ok(())
    }

    /// What clients' sessions begin with: every session sets what its statements rely on, and the
    /// contender's own settings, all of which is tested here.
    fn setup(
        &self,
        guest: &dyn Guest,
        connection: &mut dyn Connection,
        is_read_only: bool,
    ) -> Result<Vec<String>, DbmsError> {
        const REMEDY: &str = "Use an account that may set them, or a server with these values";
        let values = guest.values(connection)?;
        let mut set = to_set(guest.variables(), &values);
        if is_read_only {
            let own = to_set(guest.read_only_sessions(), &values);
            set.retain(|one| own.iter().all(|other| other.name != one.name));
            set.extend(own);
        }
        let statement = guest.set(&set);
        let refused = |names: String| GuestError::Session { names, remedy: REMEDY };
        match connection.run(&statement) {
            Ok(_) => {}
            Err(error) if error.is_disconnect() => return Err(error.into()),
            Err(error) => return Err(refused(error.to_string()).into()),
        }
        let differ = not_set(&set, &guest.values(connection)?);
        if !differ.is_empty() {
            return Err(refused(differ.join(", ")).into());
        }
        let mut setup = vec![statement];
        if !self.settings.is_empty() {
            // In a session that ends with this: control keeps the server's values.
            let session = &mut *guest.connect()?;
            for (name, value) in &self.settings {
                setup.push(session_setting(guest, session, name, value)?);
            }
        }
        Ok(setup)
    }

    /// Removes the contents of a place, or nothing at all.
    fn clear(
        guest: &dyn Guest,
        connection: &mut dyn Connection,
        contents: &Contents,
        needs: &Needs,
    ) -> Result<(), DbmsError> {
        refuse_others(guest, contents, needs)?;
        guest.end_sessions(connection)?;
        let tables: Vec<String> = contents.tables.iter().map(|(name, _)| name.clone()).collect();
        match tables.is_empty() {
            true => Ok(()),
            false => guest.drop_tables(connection, &tables),
        }
    }

    /// Removes the place with a run's data.
    fn leave(&self, data: &Path) -> Result<(), DbmsError> {
        let (hold, needs) = (self.hold()?, lock(&self.stay).needs.clone());
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        let guest = self.guest.at(&Left::read(data).map_or_else(first_place, |left| left.name));
        let contents = guest.contents(connection)?;
        // Data of a later run are not this run's.
        if let Some(contents) = contents.filter(|contents| is_of(contents, data)) {
            Self::clear(&*guest, connection, &contents, &needs)?;
            guest.remove(connection)?;
        }
        match fs::remove_dir_all(data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DbmsError::file("remove", data)(error))
            }
            _ => Ok(()),
        }
    }

    /// The leftovers of an earlier rqps here, by place.
    pub(crate) fn leftovers(&self, needs: Needs) -> Result<Vec<Leftovers>, DbmsError> {
        self.refuse_detour()?;
        lock(&self.stay).needs = needs.clone();
        let hold = self.hold()?;
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        let mut left = Vec::new();
        for name in self.guest.places(connection)? {
            let guest = self.guest.at(&name);
            let Some(contents) = guest.contents(connection)? else { continue };
            let Some(mark) = contents.mark.clone() else { continue };
            refuse_others(&*guest, &contents, &needs)?;
            let (place, tables) = (guest.place(), contents.tables);
            left.push(Leftovers { name, place, since: mark.since, tables });
        }
        Ok(left)
    }

    /// Removes what [`Remote::leftovers`] lists.
    pub(crate) fn clean(&self, left: &Leftovers) -> Result<(), DbmsError> {
        let (hold, needs) = (self.hold()?, lock(&self.stay).needs.clone());
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        let guest = self.guest.at(&left.name);
        let Some(contents) = guest.contents(connection)? else { return Ok(()) };
        Self::clear(&*guest, connection, &contents, &needs)?;
        guest.remove(connection)
    }

    /// The number in the last column of a query's first row, over a connection of its own.
    fn last_number(&self, sql: &str) -> Result<Option<f64>, DbmsError> {
        let rows = self.guest.connect()?.query(sql)?;
        let last = rows.into_iter().next().and_then(|mut row| row.pop()?);
        Ok(last.and_then(|number| number.parse().ok()))
    }

    fn refuse_detour(&self) -> Result<(), DbmsError> {
        match self.guest.detour()? {
            Some(how) => Err(GuestError::Pooler { how }.into()),
            None => Ok(()),
        }
    }
}

/// The statement for a setting of the contender, which the server has accepted.
fn session_setting(
    guest: &dyn Guest,
    session: &mut dyn Connection,
    name: &str,
    value: &str,
) -> Result<String, DbmsError> {
    let is_name = |own: &str| own.eq_ignore_ascii_case(name);
    let is_own = guest.variables().iter().any(|variable| is_name(variable.name));
    if is_own || NOT_CHOSEN.into_iter().any(is_name) {
        return Err(GuestError::OwnSetting { name: name.to_string() }.into());
    }
    let [statement, _] = guest.session_setting(name, value);
    match session.run(&statement) {
        Ok(_) => Ok(statement),
        Err(Error::Server { message: why, .. }) => {
            let (name, value) = (name.to_string(), value.to_string());
            Err(GuestError::Setting { name, value, why }.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// What identifies the server, on whatever way it is reached.
fn identity_of(guest: &dyn Guest, connection: &mut dyn Connection) -> Result<String, DbmsError> {
    let rows = query_if_allowed(connection, guest.server())?.unwrap_or_default();
    let row = |row: Row| row.into_iter().flatten().collect::<Vec<String>>().join(" ");
    Ok(rows.into_iter().map(row).collect::<Vec<_>>().join(", "))
}

/// Whether the data in a place are those of a folder's record.
fn is_of(contents: &Contents, data: &Path) -> bool {
    let left = Left::read(data);
    matches!((&contents.mark, left), (Some(Mark { token, .. }), Some(left)) if *token == left.token)
}

/// A unique token for a run.
fn fresh_token() -> String {
    use std::hash::{BuildHasher, RandomState};
    format!("{:016x}", RandomState::new().hash_one(std::process::id()))
}

impl Dbms for Remote {
    fn build(&self) -> Option<&Installed> {
        None
    }

    fn arrive(&self, needs: &Needs, sets: &[u32]) -> Result<(), DbmsError> {
        self.refuse_detour()?;
        lock(&self.stay).needs = needs.clone();
        let hold = self.hold()?;
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        self.check_server(connection)?;
        for set in sets {
            let guest = match needs.is_read_only {
                true => self.guest.visitor(),
                false => self.guest.at(&place_name(*set)),
            };
            self.setup(&*guest, connection, needs.is_read_only)?;
            Self::check(&*guest, connection, needs)?;
        }
        Ok(())
    }

    fn identity(&self) -> Result<Option<String>, DbmsError> {
        let hold = self.hold()?;
        let identity = identity_of(&*self.guest, &mut **hold.checked()?)?;
        Ok(Some(identity).filter(|identity| !identity.is_empty()))
    }

    fn uptime(&self) -> Result<Option<Duration>, DbmsError> {
        let seconds = self.last_number(self.guest.uptime())?;
        Ok(seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()))
    }

    fn in_sessions(&self, names: &[String]) -> Result<Vec<String>, DbmsError> {
        let hold = self.hold()?;
        let is_read_only = lock(&self.stay).needs.is_read_only;
        let setup = self.setup(&*self.guest, &mut **hold.checked()?, is_read_only)?;
        // Elsewhere, since the place of clients may not exist yet.
        let session = &mut *self.guest.connect()?;
        for statement in setup {
            session.run(&statement)?;
        }
        let mut value = |name: &String| {
            let [_, sql] = self.guest.session_setting(name, "");
            text(session, &sql)
        };
        names.iter().map(&mut value).collect()
    }

    fn start(
        &self,
        _home: &Home,
        place: &Place,
        _cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let hold = self.hold()?;
        let needs = lock(&self.stay).needs.clone();
        let guest = self.guest.at(&place_name(place.set));
        let mut guard = hold.checked()?;
        let connection = &mut **guard;
        self.check_server(connection)?;
        if needs.is_read_only {
            let guest = self.guest.visitor();
            let target = guest.target(self.setup(&*guest, connection, true)?);
            drop(guard);
            let of = (guest, self.control, hold, self.in_force.clone());
            return Ok(Box::new(Visited::new(of, target)?));
        }
        let contents = guest.contents(connection)?;
        if place.data.exists() {
            let gone = |why: &str| GuestError::Gone { place: guest.place(), why: why.to_string() };
            match &contents {
                None => return Err(gone("they were removed").into()),
                Some(contents) if !is_of(contents, &place.data) => {
                    return Err(gone("another run has used it since").into());
                }
                // Those of a run that ended, and not those of other arms on the same tables.
                Some(_) if !place.is_shared => guest.end_sessions(connection)?,
                Some(_) => {}
            }
        } else {
            if let Some(contents) = &contents {
                Self::clear(&*guest, connection, contents, &needs)?;
            }
            let (token, name) = (fresh_token(), guest.name().to_string());
            let left = Left { url: self.url.clone(), place: guest.place(), name, token };
            left.write(&place.data)?;
            if let Err(error) = guest.mark(connection, &left.token, &needs.made) {
                // The next rqps on this server finds and names any remains.
                let _ = fs::remove_dir_all(&place.data);
                return Err(error);
            }
        }
        let target = guest.target(self.setup(&*guest, connection, false)?);
        let version = self.control.version(&target)?;
        drop(guard);
        let server = Connected {
            guest,
            control: self.control,
            hold,
            needs,
            url: self.url.clone(),
            data: place.data.clone(),
            is_shared: place.is_shared,
            target,
            version,
            has_said: AtomicBool::new(false),
            in_force: self.in_force.clone(),
        };
        server.still_ours()?;
        if let Some(changes) = server.changed_settings()? {
            return Err(GuestError::OtherSettings { changes }.into());
        }
        Ok(Box::new(server))
    }

    fn disclaim(&self, data: &Path) -> Result<(), DbmsError> {
        self.leave(data)
    }
}

struct Connected {
    guest: Arc<dyn Guest>,
    control: &'static dyn Control,
    hold: Arc<Hold>,
    needs: Needs,
    url: String,
    data: PathBuf,
    /// Other sessions of rqps are at work on these tables.
    is_shared: bool,
    target: Target,
    version: String,
    /// The reason why it cannot be quiesced is reported once.
    has_said: AtomicBool,
    in_force: Arc<Mutex<FirstInForce>>,
}

impl Server for Connected {
    fn target(&self) -> &Target {
        &self.target
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn process(&self) -> Option<u32> {
        None
    }

    fn data(&self) -> Option<&Path> {
        None
    }

    fn left(&self) -> Option<Left> {
        Left::read(&self.data)
    }

    fn still_ours(&self) -> Result<(), DbmsError> {
        drop(self.hold.checked()?);
        let (sql, expected) = self.guest.whereabouts();
        let found = scalar(&mut *self.target.connect()?, sql)?;
        match found.as_deref() == Some(expected) {
            true => {
                let contents = self.guest.contents(&mut **self.hold.checked()?)?;
                let refused = |it| refuse_others(&*self.guest, &it, &self.needs);
                Ok(contents.map_or(Ok(()), refused)?)
            }
            false => {
                let found =
                    found.map_or("no schema or database".to_string(), |found| format!("'{found}'"));
                Err(GuestError::Elsewhere { place: self.guest.place(), found }.into())
            }
        }
    }

    fn settings(&self) -> Result<InForce, DbmsError> {
        self.control.settings(&self.target)
    }

    fn changed_settings(&self) -> Result<Option<String>, DbmsError> {
        let now = self.settings()?;
        Ok(lock(&self.in_force).changes(self.guest.name(), now))
    }

    fn watch_others(&self) -> Result<Option<OthersWatch>, DbmsError> {
        OthersWatch::new(self.target.connect()?, self.guest.others()).map(Some)
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        self.control.database_bytes(&self.target, None)
    }

    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError> {
        self.control.meter(&self.target).map(Some)
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError> {
        let left = self.control.quiesce(&self.target, what, tables)?;
        Ok(left.filter(|_| !self.has_said.swap(true, Ordering::Relaxed)))
    }

    fn settle(&self) -> Result<(), DbmsError> {
        self.guest.settle(&mut **self.hold.checked()?)
    }

    /// The data stay; statements of interrupted clients are ended.
    fn stop(&mut self) -> Result<(), DbmsError> {
        if self.is_shared {
            return Ok(());
        }
        match self.hold.checked() {
            Ok(mut connection) => self.guest.end_sessions(&mut **connection),
            // A server that has ended has no sessions, and nothing is to be dropped.
            Err(_) => Ok(()),
        }
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        self.still_ours()?;
        let stay = Mutex::new(Stay { needs: self.needs.clone(), hold: Some(self.hold.clone()) });
        let (url, guest, control) = (self.url.clone(), self.guest.clone(), self.control);
        let (settings, server, in_force) = (Vec::new(), Mutex::default(), Arc::default());
        Remote { url, guest, control, settings, stay, server, in_force }.leave(&self.data)
    }
}
