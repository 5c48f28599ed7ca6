//! A server that is already running: rqps connects, works in a schema of its own, and removes it.

use std::collections::BTreeMap;
use std::path::Path;

use rqps_wire::postgres::Config;
use rqps_wire::{Connection, Target, scalar};

use super::control;
use crate::error::DbmsError;
use crate::home::Home;
use crate::{Dbms, Installed, Place, Quiesce, Server};

const SCHEMA: &str = "rqps";
const MARK: &str = "made by rqps";

pub(crate) struct Remote {
    config: Config,
}

impl Remote {
    pub(crate) fn prepare(url: &str) -> Result<Self, DbmsError> {
        let mut config = Config::from_url(url)?;
        config.parameters.push(("search_path".to_string(), SCHEMA.to_string()));
        Ok(Remote { config })
    }
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
        let target = Target::Postgres(self.config.clone());
        let mut connection = target.connect()?;
        claim_schema(&mut *connection)?;
        let version = control::version(&mut *connection)?;
        Ok(Box::new(Connected { target, version }))
    }
}

/// Creates the schema, or finds the one that an earlier rqps created.
fn claim_schema(connection: &mut dyn Connection) -> Result<(), DbmsError> {
    let sql = format!(
        "select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace \
         where nspname = '{SCHEMA}'"
    );
    match scalar(connection, &sql)?.as_deref() {
        Some(MARK) => Ok(()),
        Some(_) => Err(DbmsError::ForeignSchema),
        None => {
            connection.run(&format!("create schema {SCHEMA}"))?;
            connection.run(&format!("comment on schema {SCHEMA} is '{MARK}'"))?;
            Ok(())
        }
    }
}

struct Connected {
    target: Target,
    version: String,
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

    fn settings(&self) -> Result<BTreeMap<String, String>, DbmsError> {
        control::settings(&self.target)
    }

    fn database_bytes(&self) -> Result<u64, DbmsError> {
        control::database_bytes(&self.target)
    }

    fn quiesce(&self, what: Quiesce, tables: &[String]) -> Result<(), DbmsError> {
        control::quiesce(&self.target, what, tables)
    }

    fn settle(&self) -> Result<(), DbmsError> {
        control::settle(&self.target)
    }

    fn last_words(&mut self) -> Option<String> {
        None
    }

    fn stop(&mut self) -> Result<(), DbmsError> {
        Ok(())
    }

    fn discard(&mut self) -> Result<(), DbmsError> {
        self.target.connect()?.run(&format!("drop schema if exists {SCHEMA} cascade"))?;
        Ok(())
    }
}
