//! What rqps does with a DBMS before it is started.

use std::path::Path;
use std::time::Duration;

use rqps_plan::Flags;
use rqps_system::Cancel;

use crate::error::DbmsError;
use crate::guest::Needs;
use crate::home::Home;
use crate::place::Place;
use crate::server::Server;
use crate::source::installed::Installed;

/// A contender that is ready to be started, also several times side by side.
pub trait Dbms: Sync {
    /// The build that will run; none for a DBMS in rqps and for a remote server.
    fn build(&self) -> Option<&Installed>;

    /// How the build was compiled, as far as known.
    fn flags(&self) -> Flags {
        match self.build() {
            Some(build) => build.flags.clone().unwrap_or_default(),
            None => Flags::unknown("rqps does not read the files of a remote server"),
        }
    }

    /// Creates the data directory if there is none, starts the server and waits until it answers.
    /// `cancel` ends this wait, and waits for answers on its connections.
    fn start(
        &self,
        home: &Home,
        place: &Place,
        cancel: &Cancel,
    ) -> Result<Box<dyn Server>, DbmsError>;

    /// Checks whether a run can work on a remote server, and keeps other runs out of it from now
    /// on. Creates nothing. `sets` are those that it will use: see [`Place::set`].
    fn arrive(&self, _needs: &Needs, _sets: &[u32]) -> Result<(), DbmsError> {
        Ok(())
    }

    /// What identifies a remote server, whatever its URL; none if that is unknown.
    fn identity(&self) -> Result<Option<String>, DbmsError> {
        Ok(None)
    }

    /// How long a remote server has been up; none if that is unknown.
    fn uptime(&self) -> Result<Option<Duration>, DbmsError> {
        Ok(None)
    }

    /// The values of these settings in sessions of clients on a remote server.
    fn in_sessions(&self, _names: &[String]) -> Result<Vec<String>, DbmsError> {
        Ok(Vec::new())
    }

    /// Removes the data directory of a killed rqps; on a remote server, the place that it stands
    /// for, if that still exists.
    fn disclaim(&self, data: &Path) -> Result<(), DbmsError> {
        std::fs::remove_dir_all(data).map_err(DbmsError::file("remove", data))
    }
}
