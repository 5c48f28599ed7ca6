//! Control work of Postgres, for own and remote servers. Names of the catalogue have their schema:
//! a session may have the `search_path` of somebody else's server, on which other users may have
//! functions and tables of the same names.

use std::path::{Path, PathBuf};

use rqps_wire::{Connection, Error, Login, Target, query_if_allowed, scalar};

use super::meter::meter;
use super::names::DATABASE;
use super::reported::is_reported;
use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

const COMPILED: &str = "select 'pg_config.' || name, setting from pg_catalog.pg_config \
     where name in ('CC', 'CFLAGS', 'CONFIGURE', 'CPPFLAGS', 'LDFLAGS', 'LIBS')";

/// The SQLSTATE of a missing right.
const NOT_ALLOWED: &str = "42501";
/// Why a server is not quiesced.
const NO_CHECKPOINT: &str = "the role may not write a checkpoint, so dirty pages of earlier writes are \
     written during the tests. From Postgres 15 on, grant pg_checkpoint allows it";

/// From this version on VACUUM has an option not to skip indexes.
const INDEX_CLEANUP_SINCE: u32 = 120_000;

/// Control work of Postgres.
pub(super) struct PostgresControl;

impl Control for PostgresControl {
    fn version(&self, target: &Target) -> Result<String, DbmsError> {
        let mut connection = target.connect()?;
        let version = scalar(&mut *connection, "show server_version")?.unwrap_or_default();
        Ok(version.split_whitespace().next().unwrap_or_default().to_string())
    }

    fn settings(&self, target: &Target) -> Result<InForce, DbmsError> {
        let mut connection = target.connect()?;
        // A value that initdb writes into the config but that equals the default is a default, too.
        let sql = "select name, setting, coalesce(unit, ''), source in ('default', 'override') \
                   or setting is not distinct from boot_val, vartype from pg_catalog.pg_settings order by name";
        let mut in_force = InForce::default();
        for row in connection.query(sql)? {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let mut field = || fields.next().unwrap_or_default();
            let (name, setting, unit, is_default) = (field(), field(), field(), field());
            if !is_reported(&name, &field()) {
                continue;
            }
            if is_default == "t" {
                in_force.defaults.insert(name.clone());
            }
            let value = if unit.is_empty() { setting } else { format!("{setting} x {unit}") };
            in_force.values.insert(name, value);
        }
        // How it was compiled can be a difference, too. Only superusers can read it, since 9.6.
        let compiled = query_if_allowed(&mut *connection, COMPILED)?.unwrap_or_default();
        in_force.values.extend(compiled.into_iter().filter_map(|row| {
            let mut fields = row.into_iter();
            Some((fields.next()??, fields.next()??))
        }));
        Ok(in_force)
    }

    fn database_bytes(&self, target: &Target, _data: Option<&Path>) -> Result<u64, DbmsError> {
        let mut connection = target.connect()?;
        // A relation's total includes indexes and TOAST; a partitioned table has no files of its
        // own.
        let sql = "select coalesce(pg_catalog.sum(pg_catalog.pg_total_relation_size(c.oid)), 0) \
                   from pg_catalog.pg_class c \
                   join pg_catalog.pg_namespace n on n.oid = c.relnamespace \
                   where n.nspname = pg_catalog.current_schema() and c.relkind = 'r'";
        let size = scalar(&mut *connection, sql)?;
        Ok(size.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    fn database_path(&self, target: &Target, data: &Path) -> Result<PathBuf, DbmsError> {
        let sql = "select oid from pg_catalog.pg_database \
                   where datname = pg_catalog.current_database()";
        let oid = scalar(&mut *target.connect()?, sql)?.unwrap_or_default();
        Ok(data.join("base").join(oid))
    }

    fn logs(&self) -> &'static [&'static str] {
        &["pg_wal", "pg_xlog"]
    }

    fn meter(&self, target: &Target) -> Result<EngineMeter, DbmsError> {
        meter(target)
    }

    /// The server recycles its own.
    fn drop_logs(&self, _target: &Target) -> Result<(), DbmsError> {
        Ok(())
    }

    /// Vacuums all tables at once, a connection each, as the original does.
    fn quiesce(
        &self,
        target: &Target,
        what: Quiesce,
        tables: &[String],
    ) -> Result<Option<String>, DbmsError> {
        let mut connection = target.connect()?;
        let number = scalar(&mut *connection, "show server_version_num")?;
        let number: u32 = number.and_then(|number| number.parse().ok()).unwrap_or(0);
        let options = match what {
            Quiesce::Vacuum => "",
            Quiesce::Full if number >= INDEX_CLEANUP_SINCE => "(analyze, index_cleanup on) ",
            Quiesce::Full => "(analyze) ",
        };
        // The pages of a transaction whose commit is not on disk yet cannot be marked all-visible,
        // and index-only scans would read them from the table.
        commit_durably(&mut *connection, "local")?;
        std::thread::scope(|scope| {
            let vacuum = |table: &String| {
                let sql = format!("vacuum {options}{table}");
                scope.spawn(move || target.connect()?.run(&sql))
            };
            let vacuums: Vec<_> = tables.iter().map(vacuum).collect();
            vacuums.into_iter().try_for_each(|vacuum| {
                vacuum.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)).map(|_| ())
            })
        })?;
        if what != Quiesce::Full {
            return Ok(None);
        }
        match connection.run("checkpoint") {
            Ok(_) => Ok(None),
            Err(Error::Server { code, .. }) if code == NOT_ALLOWED => {
                Ok(Some(NO_CHECKPOINT.to_string()))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn settle(&self, target: &Target) -> Result<(), DbmsError> {
        Ok(commit_durably(&mut *target.connect()?, "on")?)
    }
}

/// Commits a message after everything else and waits until it is durable: here (`local`), or where
/// the server is configured to wait for (`on`).
fn commit_durably(connection: &mut dyn Connection, level: &str) -> Result<(), Error> {
    connection.run(&format!("set synchronous_commit = {level}"))?;
    connection.run("select pg_catalog.pg_logical_emit_message(true, 'rqps', 'settle')")?;
    Ok(())
}

/// Creates the benchmark's database in a server of rqps's own.
pub(super) fn create_database(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let sql = format!("select 1 from pg_catalog.pg_database where datname = '{DATABASE}'");
    if scalar(&mut *connection, &sql)?.is_none() {
        connection.run(&format!("create database {DATABASE}"))?;
    }
    Ok(())
}

/// The target of a login.
pub(super) fn target(login: Login) -> Target {
    Target::Postgres(login)
}
