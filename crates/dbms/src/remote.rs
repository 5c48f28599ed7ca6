//! A server that is already running: rqps connects, works in a place of its own, and removes it.

use std::path::{Path, PathBuf};

use rqps_wire::Target;

use crate::control::{Arrange, Control};
use crate::error::DbmsError;
use crate::home::Home;
use crate::in_force::InForce;
use crate::meter::EngineMeter;
use crate::{Dbms, Installed, Place, Quiesce, Server};

#[derive(Clone)]
pub(crate) struct Remote {
    /// As the user named it.
    pub(crate) given: Target,
    /// The benchmark's own place in it.
    pub(crate) target: Target,
    pub(crate) control: &'static dyn Control,
    /// Makes that place, or finds the one that an earlier rqps made.
    pub(crate) claim: Arrange,
    /// Removes it with all that is in it.
    pub(crate) disclaim: Arrange,
}

impl Dbms for Remote {
    fn build(&self) -> Option<&Installed> {
        None
    }

    fn start(
        &self,
        _home: &Home,
        _place: &Place,
        _cancelled: &dyn Fn() -> bool,
    ) -> Result<Box<dyn Server>, DbmsError> {
        (self.claim)(&self.given)?;
        let version = self.control.version(&self.given)?;
        Ok(Box::new(Connected { remote: self.clone(), version }))
    }

    fn disclaim(&self) -> Result<(), DbmsError> {
        // Whose it is is looked at first.
        (self.claim)(&self.given)?;
        (self.disclaim)(&self.given)
    }
}

struct Connected {
    remote: Remote,
    version: String,
}

impl Server for Connected {
    fn target(&self) -> &Target {
        &self.remote.target
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

    fn settings(&self) -> Result<InForce, DbmsError> {
        self.remote.control.settings(&self.remote.target)
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        self.remote.control.database_bytes(&self.remote.target, None)
    }

    fn log_bytes(&self) -> Option<u64> {
        None
    }

    fn meter(&self) -> Result<Option<EngineMeter>, DbmsError> {
        self.remote.control.meter(&self.remote.target).map(Some)
    }

    fn drop_logs(&self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<Option<String>, DbmsError> {
        self.remote.control.quiesce(&self.remote.target, what, tables)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        self.remote.control.settle(&self.remote.target)
    }

    fn last_words(&mut self) -> Option<String> {
        None
    }

    fn stop(&mut self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        (self.remote.disclaim)(&self.remote.given)
    }
}
