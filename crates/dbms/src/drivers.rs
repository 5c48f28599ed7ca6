//! The drivers of all DBMSs: one in the folder of each, and a line here.

use rqps_plan::{Build, Contender, Dbms as Name};
use rqps_system::Cancel;
use rqps_wire::Target;

use crate::dbms::Dbms;
use crate::driver::DbmsDriver;
use crate::error::DbmsError;
use crate::guest::Needs;
use crate::home::Home;
use crate::remote::{Leftovers, Remote};
use crate::source::progress::Tell;

static ALL: &[&DbmsDriver] = &[
    &crate::sqlite::DRIVER,
    &crate::postgres::DRIVER,
    &crate::mysql::DRIVER,
    &crate::rocksdb::DRIVER,
];

fn driver(dbms: Name) -> &'static DbmsDriver {
    let is_of = |driver: &&&DbmsDriver| driver.of.iter().any(|descriptor| descriptor.dbms == dbms);
    ALL.iter().find(is_of).expect("each DBMS has a driver")
}

/// Finds or fetches the contender's build and checks its config and settings.
pub fn prepare(
    home: &Home,
    contender: &Contender,
    tell: &mut Tell,
    cancel: &Cancel,
) -> Result<Box<dyn Dbms>, DbmsError> {
    let driver = driver(contender.dbms);
    match (&contender.build, driver.remote) {
        (Build::Server { url }, Some(remote)) => Ok(Box::new(remote(contender, url, cancel)?)),
        _ => (driver.prepare)(home, contender, tell),
    }
}

/// The target of a URL for any client of its DBMS; none if the DBMS has no servers.
pub fn target(dbms: Name, url: &str, cancel: &Cancel) -> Result<Option<Target>, DbmsError> {
    let target = driver(dbms).target;
    Ok(target.map(|target| target(url, cancel)).transpose()?)
}

/// What rqps has left on a remote server, and a handle that removes it.
pub struct Guesthouse(Remote);

impl Guesthouse {
    /// By the contender's URL; none for a contender without one.
    pub fn at(contender: &Contender, cancel: &Cancel) -> Result<Option<Self>, DbmsError> {
        let Build::Server { url } = &contender.build else { return Ok(None) };
        let remote = driver(contender.dbms).remote;
        Ok(remote.map(|remote| remote(contender, url, cancel)).transpose()?.map(Guesthouse))
    }

    /// Lists it, and keeps runs out from now on; an error if there is anything that rqps did not
    /// create.
    pub fn leftovers(&self, needs: Needs) -> Result<Vec<Leftovers>, DbmsError> {
        self.0.leftovers(needs)
    }

    /// Removes what [`Guesthouse::leftovers`] listed.
    pub fn clean(&self, left: &Leftovers) -> Result<(), DbmsError> {
        self.0.clean(left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_dbms_has_a_driver() {
        for dbms in Name::ALL {
            assert!(driver(dbms).of.iter().any(|descriptor| descriptor.dbms == dbms), "{dbms}");
        }
    }
}
