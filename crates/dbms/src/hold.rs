//! The lock that keeps other runs out of a remote server, as long as a session lasts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use rqps_wire::Connection;

use crate::error::DbmsError;
use crate::guest::{Guest, text};
use crate::guest_error::GuestError;

/// How long a closed session may take to end.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A session that keeps other runs out while it lasts.
pub(crate) struct Hold {
    guest: Arc<dyn Guest>,
    identity: String,
    connection: Mutex<Box<dyn Connection>>,
}

/// The holds of this process: two contenders may be on one server.
static HOLDS: Mutex<Vec<Weak<Hold>>> = Mutex::new(Vec::new());

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Hold {
    /// Takes the lock, or shares that of another contender of this process.
    pub(crate) fn take(guest: &Arc<dyn Guest>) -> Result<Arc<Hold>, DbmsError> {
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
    pub(crate) fn checked(&self) -> Result<MutexGuard<'_, Box<dyn Connection>>, DbmsError> {
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
