//! A remote server on which rqps makes nothing: sessions of clients only read, and see the tables
//! that the server has.

use std::path::Path;
use std::sync::{Arc, Mutex};

use rqps_wire::Target;

use crate::control::Control;
use crate::error::DbmsError;
use crate::guest::Guest;
use crate::guest_error::GuestError;
use crate::hold::{Hold, lock};
use crate::in_force::{FirstInForce, InForce};
use crate::meter::EngineMeter;
use crate::others::OthersWatch;
use crate::{Quiesce, Server};

pub(crate) struct Visited {
    guest: Arc<dyn Guest>,
    control: &'static dyn Control,
    hold: Arc<Hold>,
    in_force: Arc<Mutex<FirstInForce>>,
    target: Target,
    version: String,
}

/// What a visit shares with others of the same server.
type Shared = (Arc<dyn Guest>, &'static dyn Control, Arc<Hold>, Arc<Mutex<FirstInForce>>);

impl Visited {
    /// Sessions of `target` are set up to read only.
    pub(crate) fn new(shared: Shared, target: Target) -> Result<Self, DbmsError> {
        let (guest, control, hold, in_force) = shared;
        let version = control.version(&target)?;
        let visited = Visited { guest, control, hold, in_force, target, version };
        match visited.changed_settings()? {
            Some(changes) => Err(GuestError::OtherSettings { changes }.into()),
            None => Ok(visited),
        }
    }
}

impl Server for Visited {
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

    /// Another run would disturb this one.
    fn still_ours(&self) -> Result<(), DbmsError> {
        self.hold.checked().map(drop)
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

    /// Nothing was written that could have to be vacuumed or flushed.
    fn quiesce(&self, _what: Quiesce, _tables: &[String]) -> Result<Option<String>, DbmsError> {
        Ok(None)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    /// Clients have closed their sessions, and there is nothing else.
    fn stop(&mut self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        Ok(())
    }
}
