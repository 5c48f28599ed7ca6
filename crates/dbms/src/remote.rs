//! A remote server: rqps connects, works in a place of its own, and removes it.
//!
//! [`Remote::arrive`] checks before anything is created: whether connections are sessions, whether
//! another rqps is there, what the account may do, what is in the place. Its lock is held while
//! this process uses the server. [`Remote::start`] creates the place. Before anything is dropped,
//! the lock, the place and all its contents are checked again.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rqps_system::Cancel;
use rqps_wire::{Connection, Target, scalar};
use serde::{Deserialize, Serialize};

use crate::control::Control;
use crate::error::DbmsError;
use crate::guest::{Contents, Guest, GuestError, Limit, Mark, Needs, not_set, text, to_set};
use crate::home::Home;
use crate::in_force::InForce;
use crate::meter::EngineMeter;
use crate::{Dbms, Installed, Place, Quiesce, Server};

/// How long a closed session may take to end.
const PATIENCE: Duration = Duration::from_secs(2);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// The file with the place of the data, in a run's folder in place of a data directory.
const LEFT: &str = "guest.json";

/// A record on this machine of rqps's data on a remote server, kept as long as these exist.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    /// Of the server, without the password.
    pub url: String,
    /// For messages.
    pub place: String,
    /// Identifies the data as this run's.
    token: String,
}

impl Left {
    /// The record in a folder of a contender, if its data are on a remote server.
    pub fn read(data: &Path) -> Option<Left> {
        serde_json::from_str(&fs::read_to_string(data.join(LEFT)).ok()?).ok()
    }

    fn write(&self, data: &Path) -> Result<(), DbmsError> {
        fs::create_dir_all(data).map_err(DbmsError::file("create", data))?;
        let (path, text) = (data.join(LEFT), serde_json::to_string(self).unwrap_or_default());
        fs::write(&path, text).map_err(DbmsError::file("write", &path))
    }
}

/// What an earlier rqps left on a server.
pub struct Leftovers {
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
    pub(crate) guest: Arc<dyn Guest>,
    pub(crate) control: &'static dyn Control,
    stay: Mutex<Stay>,
}

/// The state of rqps on a server after the checks.
#[derive(Clone, Default)]
struct Stay {
    needs: Needs,
    hold: Option<Arc<Hold>>,
}

/// A session that keeps other runs out while it lasts.
struct Hold {
    guest: Arc<dyn Guest>,
    identity: String,
    connection: Mutex<Box<dyn Connection>>,
}

/// The holds of this process: two contenders may be on one server.
static HOLDS: Mutex<Vec<Weak<Hold>>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hold {
    fn take(guest: &Arc<dyn Guest>) -> Result<Arc<Hold>, DbmsError> {
        let mut connection = guest.connect()?;
        let identity = text(&mut *connection, guest.identity())?;
        let deadline = Instant::now() + PATIENCE;
        while !guest.lock(&mut *connection)? {
            match Hold::shared(&**guest, &mut *connection) {
                Err(DbmsError::Guest(GuestError::Taken { .. })) if Instant::now() < deadline => {
                    std::thread::sleep(LOOK_AGAIN);
                }
                shared => return shared,
            }
        }
        let (guest, connection) = (guest.clone(), Mutex::new(connection));
        let hold = Arc::new(Hold { guest, identity, connection });
        let mut holds = lock(&HOLDS);
        holds.retain(|hold| hold.strong_count() > 0);
        holds.push(Arc::downgrade(&hold));
        Ok(hold)
    }

    /// This process's hold, if it has the lock.
    fn shared(guest: &dyn Guest, connection: &mut dyn Connection) -> Result<Arc<Hold>, DbmsError> {
        let holder = guest.holder(connection)?;
        let holds = lock(&HOLDS);
        let mut holds = holds.iter().filter_map(Weak::upgrade);
        let is_own = |hold: &Arc<Hold>| {
            holder.as_ref().is_some_and(|holder| holder.identity == hold.identity)
        };
        match holds.find(is_own) {
            Some(hold) => Ok(hold),
            None => {
                let holder = holder
                    .map_or("the server does not show which session".to_string(), |it| it.text);
                Err(GuestError::Taken { place: guest.place(), holder }.into())
            }
        }
    }

    /// The connection, if it still holds the lock.
    fn checked(&self) -> Result<MutexGuard<'_, Box<dyn Connection>>, DbmsError> {
        let mut connection = lock(&self.connection);
        let lost = |why: String| GuestError::Lost { place: self.guest.place(), why };
        match self.guest.holds(&mut **connection) {
            Ok(true) => Ok(connection),
            Ok(false) => Err(lost("it no longer has the lock".to_string()).into()),
            Err(DbmsError::Wire(rqps_wire::Error::Interrupted(wish))) => Err(wish.into()),
            Err(error) => Err(lost(error.to_string()).into()),
        }
    }
}

impl Remote {
    pub(crate) fn new(url: String, guest: Arc<dyn Guest>, control: &'static dyn Control) -> Self {
        Remote { url, guest, control, stay: Mutex::default() }
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

    /// Checks whether a run can work here, before anything is created.
    fn check(&self, connection: &mut dyn Connection, needs: &Needs) -> Result<(), DbmsError> {
        let guest = &*self.guest;
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
        if let Some(limit) = guest.too_long(connection, needs.statement)? {
            return Err(GuestError::Statement { needed: needs.statement, limit }.into());
        }
        Ok(())
    }

    /// The target of clients: every session sets what its statements rely on, which is tested here.
    fn target(&self, connection: &mut dyn Connection) -> Result<Target, DbmsError> {
        const REMEDY: &str = "Use an account that may set them, or a server with these values";
        let guest = &*self.guest;
        let set = to_set(guest.variables(), &guest.values(connection)?);
        let statement = guest.set(&set);
        let refused = |names: String| GuestError::Session { names, remedy: REMEDY };
        match connection.run(&statement) {
            Ok(_) => {}
            Err(error) if error.is_disconnect() => return Err(error.into()),
            Err(error) => return Err(refused(error.to_string()).into()),
        }
        let differ = not_set(&set, &guest.values(connection)?);
        match differ.is_empty() {
            true => Ok(guest.target(vec![statement])),
            false => Err(refused(differ.join(", ")).into()),
        }
    }

    /// Removes the contents of the place, or nothing at all.
    fn clear(
        &self,
        connection: &mut dyn Connection,
        contents: &Contents,
        needs: &Needs,
    ) -> Result<(), DbmsError> {
        refuse_others(&*self.guest, contents, needs)?;
        self.guest.end_sessions(connection)?;
        let tables: Vec<String> = contents.tables.iter().map(|(name, _)| name.clone()).collect();
        match tables.is_empty() {
            true => Ok(()),
            false => self.guest.drop_tables(connection, &tables),
        }
    }

    /// Removes the place with a run's data.
    fn leave(&self, data: &Path) -> Result<(), DbmsError> {
        let hold = self.hold()?;
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        let contents = self.guest.contents(connection)?;
        // Data of a later run are not this run's.
        if let Some(contents) = contents.filter(|contents| is_of(contents, data)) {
            self.clear(connection, &contents, &lock(&self.stay).needs)?;
            self.guest.remove(connection)?;
        }
        match fs::remove_dir_all(data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(DbmsError::file("remove", data)(error))
            }
            _ => Ok(()),
        }
    }

    /// The leftovers of an earlier rqps here; none if there are none.
    pub(crate) fn leftovers(&self, needs: Needs) -> Result<Option<Leftovers>, DbmsError> {
        self.refuse_detour()?;
        lock(&self.stay).needs = needs;
        let hold = self.hold()?;
        let contents = self.guest.contents(&mut **hold.checked()?)?;
        let marked = contents.and_then(|contents| Some((contents.mark.clone()?, contents)));
        let Some((mark, contents)) = marked else { return Ok(None) };
        refuse_others(&*self.guest, &contents, &needs)?;
        let (place, tables) = (self.guest.place(), contents.tables);
        Ok(Some(Leftovers { place, since: mark.since, tables }))
    }

    /// Removes what [`Remote::leftovers`] lists.
    pub(crate) fn clean(&self) -> Result<(), DbmsError> {
        let hold = self.hold()?;
        let mut connection = hold.checked()?;
        let connection = &mut **connection;
        let Some(contents) = self.guest.contents(connection)? else { return Ok(()) };
        self.clear(connection, &contents, &lock(&self.stay).needs)?;
        self.guest.remove(connection)
    }

    fn refuse_detour(&self) -> Result<(), DbmsError> {
        match self.guest.detour()? {
            Some(how) => Err(GuestError::Pooler { how }.into()),
            None => Ok(()),
        }
    }
}

/// Rejects a place that is not rqps's, and one that contains objects of others.
fn refuse_others(guest: &dyn Guest, contents: &Contents, needs: &Needs) -> Result<(), GuestError> {
    /// The most names in the error.
    const MOST: usize = 12;
    let place = guest.place();
    if let Some(owner) = contents.owner.clone() {
        return Err(GuestError::Owned { place, owner });
    }
    let foreign = contents.tables.iter().filter(|(name, _)| !(needs.is_table)(name));
    let foreign = foreign.map(|(name, _)| format!("table {name}"));
    let mut names: Vec<String> = foreign.chain(contents.others.iter().cloned()).collect();
    // MySQL cannot create and mark a database at once, so an empty one without a mark is accepted.
    if contents.mark.is_none() && !(names.is_empty() && contents.tables.is_empty()) {
        return Err(GuestError::Foreign { place });
    }
    if names.is_empty() {
        return Ok(());
    }
    let more = names.len().saturating_sub(MOST);
    names.truncate(MOST);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Err(GuestError::Others { place, names: names.join(", ") + &more })
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

    fn arrive(&self, needs: &Needs) -> Result<(), DbmsError> {
        self.refuse_detour()?;
        lock(&self.stay).needs = *needs;
        let hold = self.hold()?;
        let mut connection = hold.checked()?;
        self.target(&mut **connection)?;
        self.check(&mut **connection, needs)
    }

    fn start(
        &self,
        _home: &Home,
        place: &Place,
        _cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError> {
        let hold = self.hold()?;
        let needs = lock(&self.stay).needs;
        let mut guard = hold.checked()?;
        let connection = &mut **guard;
        let target = self.target(connection)?;
        let contents = self.guest.contents(connection)?;
        if place.data.exists() {
            let gone =
                |why: &str| GuestError::Gone { place: self.guest.place(), why: why.to_string() };
            match &contents {
                None => return Err(gone("they were removed").into()),
                Some(contents) if !is_of(contents, &place.data) => {
                    return Err(gone("another run has used it since").into());
                }
                Some(_) => self.guest.end_sessions(connection)?,
            }
        } else {
            if let Some(contents) = &contents {
                self.clear(connection, contents, &needs)?;
            }
            let token = fresh_token();
            let left = Left { url: self.url.clone(), place: self.guest.place(), token };
            left.write(&place.data)?;
            if let Err(error) = self.guest.mark(connection, &left.token) {
                // The next rqps on this server finds and names any remains.
                let _ = fs::remove_dir_all(&place.data);
                return Err(error);
            }
        }
        let version = self.control.version(&target)?;
        drop(guard);
        let server = Connected {
            guest: self.guest.clone(),
            control: self.control,
            hold,
            needs,
            url: self.url.clone(),
            data: place.data.clone(),
            target,
            version,
            has_said: AtomicBool::new(false),
        };
        server.still_ours()?;
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
    target: Target,
    version: String,
    /// The reason why it cannot be quiesced is reported once.
    has_said: AtomicBool,
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

    fn database_path(&self) -> Result<Option<PathBuf>, DbmsError> {
        Ok(None)
    }

    fn left(&self) -> Option<Left> {
        Left::read(&self.data)
    }

    fn still_ours(&self) -> Result<(), DbmsError> {
        drop(self.hold.checked()?);
        let (sql, expected) = self.guest.whereabouts();
        let found = scalar(&mut *self.target.connect()?, sql)?;
        match found.as_deref() == Some(expected) {
            true => Ok(()),
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

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        self.control.database_bytes(&self.target, None)
    }

    fn log_bytes(&self) -> Option<u64> {
        None
    }

    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError> {
        self.control.meter(&self.target).map(Some)
    }

    fn drop_logs(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError> {
        let left = self.control.quiesce(&self.target, what, tables)?;
        Ok(left.filter(|_| !self.has_said.swap(true, Ordering::Relaxed)))
    }

    fn settle(&self) -> Result<(), DbmsError> {
        self.guest.settle(&mut **self.hold.checked()?)
    }

    fn last_words(&mut self) -> Option<String> {
        None
    }

    /// The data stay; statements of interrupted clients are ended.
    fn stop(&mut self) -> Result<(), DbmsError> {
        match self.hold.checked() {
            Ok(mut connection) => self.guest.end_sessions(&mut **connection),
            // A server that has ended has no sessions, and nothing is to be dropped.
            Err(_) => Ok(()),
        }
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        self.still_ours()?;
        let stay = Stay { needs: self.needs, hold: Some(self.hold.clone()) };
        let (url, guest, control) = (self.url.clone(), self.guest.clone(), self.control);
        Remote { url, guest, control, stay: Mutex::new(stay) }.leave(&self.data)
    }
}
