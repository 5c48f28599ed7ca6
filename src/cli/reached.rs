//! The one contender of a run: a build with a server and data of its own, or a server by its URL.

use std::fs;
use std::path::PathBuf;

use anyhow::bail;
use rqps_dbms::Server;
use rqps_plan::{Build, Contender};
use rqps_wire::{Target, scalar};
use rqps_workload::Dialect;

use crate::cli::dbms::temporary;
use crate::cli::progress::Fetching;
use crate::cli::session::Setup;

pub(crate) struct Reached {
    name: String,
    dialect: Dialect,
    target: Target,
    /// With the log; none where the server is somebody else's.
    own: Option<(Box<dyn Server>, PathBuf)>,
}

impl Reached {
    pub(crate) fn new(setup: &Setup, contender: &Contender) -> anyhow::Result<Self> {
        let (name, dialect) = (contender.name(), Dialect::from(contender));
        if let Build::Server { url } = &contender.build {
            let target = rqps_dbms::target(contender.dbms, url, &setup.cancel)?;
            let Some(target) = target else { bail!("'{name}' has no servers. Name a build") };
            return Ok(Reached { name, dialect, target, own: None });
        }
        rqps_dbms::reap(&setup.home)?;
        let mut fetching = Fetching::new();
        let mut tell = |event| fetching.tell(event, &setup.cancel);
        let dbms = rqps_dbms::prepare(&setup.home, contender, &mut tell, &setup.cancel)?;
        fetching.finish();
        let place = temporary(&setup.home)?;
        let server = dbms.start(&setup.home, &place, &setup.cancel).inspect_err(|_| {
            // Its log is in the error.
            let _ = fs::remove_dir_all(&place.data);
            let _ = fs::remove_file(&place.log);
        })?;
        let target = server.target().clone();
        Ok(Reached { name, dialect, target, own: Some((server, place.log)) })
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Its data directory is new and empty.
    pub(crate) fn is_fresh(&self) -> bool {
        self.own.is_some()
    }

    /// As the server reports it, behind the contender's name.
    pub(crate) fn version(&self) -> anyhow::Result<String> {
        let version = match &self.own {
            Some((server, _)) => server.version().to_string(),
            None => scalar(&mut *self.target.connect()?, self.dialect.version)?.unwrap_or_default(),
        };
        Ok(format!("{}, {version}", self.name))
    }

    /// Stops a server of rqps's own and removes its files.
    pub(crate) fn discard(self) -> anyhow::Result<()> {
        let Some((mut server, log)) = self.own else { return Ok(()) };
        server.discard()?;
        // SQLite writes no log.
        let _ = fs::remove_file(&log);
        Ok(())
    }
}
