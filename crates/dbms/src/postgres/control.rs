//! Control work that is the same for every Postgres server, whoever started it.

use std::path::{Path, PathBuf};

use rqps_wire::{Target, query_if_allowed, scalar};

use super::meter::meter;
use super::{DATABASE, SCHEMA};
use crate::Quiesce;
use crate::control::Control;
use crate::error::DbmsError;
use crate::in_force::InForce;
use crate::meter::EngineMeter;

/// Settings that say where a server is rather than how it works.
const PLACES: [&str; 8] = [
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "port",
    "unix_socket_directories",
    "listen_addresses",
];

/// The comment by which rqps knows its schema.
const MARK: &str = "made by rqps";

const COMPILED: &str = "select 'pg_config.' || name, setting from pg_config \
     where name in ('CC', 'CFLAGS', 'CONFIGURE', 'CPPFLAGS', 'LDFLAGS', 'LIBS')";

/// From this version on VACUUM can be told not to skip indexes.
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
        // What initdb writes into the config to the same effect as nothing is a default, too.
        let sql = "select name, setting, coalesce(unit, ''), source in ('default', 'override') \
                   or setting is not distinct from boot_val from pg_settings order by name";
        let mut in_force = InForce::default();
        for row in connection.query(sql)? {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let mut field = || fields.next().unwrap_or_default();
            let (name, setting, unit, is_default) = (field(), field(), field(), field());
            if PLACES.contains(&name.as_str()) {
                continue;
            }
            if is_default == "t" {
                in_force.defaults.insert(name.clone());
            }
            let value = if unit.is_empty() { setting } else { format!("{setting} x {unit}") };
            in_force.values.insert(name, value);
        }
        // How it was compiled can be a difference, too. Only superusers are told, and since 9.6.
        let compiled = query_if_allowed(&mut *connection, COMPILED)?.unwrap_or_default();
        in_force.values.extend(compiled.into_iter().filter_map(|row| {
            let mut fields = row.into_iter();
            Some((fields.next()??, fields.next()??))
        }));
        Ok(in_force)
    }

    fn database_bytes(&self, target: &Target, _data: Option<&Path>) -> Result<u64, DbmsError> {
        let mut connection = target.connect()?;
        // Indexes and TOAST are in a relation's total; a partitioned table has none of its own.
        let sql = "select coalesce(sum(pg_total_relation_size(c.oid)), 0) from pg_class c \
                   join pg_namespace n on n.oid = c.relnamespace \
                   where n.nspname = current_schema() and c.relkind = 'r'";
        let size = scalar(&mut *connection, sql)?;
        Ok(size.and_then(|bytes| bytes.parse().ok()).unwrap_or(0))
    }

    fn database_path(&self, target: &Target, data: &Path) -> Result<PathBuf, DbmsError> {
        let sql = "select oid from pg_database where datname = current_database()";
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
        if what == Quiesce::Full {
            connection.run("checkpoint")?;
        }
        Ok(None)
    }

    /// Commits something after everything else and waits until it is on the disk.
    fn settle(&self, target: &Target) -> Result<(), DbmsError> {
        let mut connection = target.connect()?;
        connection.run("set synchronous_commit = on")?;
        connection.run("select pg_logical_emit_message(true, 'rqps', 'settle')")?;
        Ok(())
    }
}

/// Makes the benchmark's database in a server of rqps's own.
pub(super) fn create_database(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let sql = format!("select 1 from pg_database where datname = '{DATABASE}'");
    if scalar(&mut *connection, &sql)?.is_none() {
        connection.run(&format!("create database {DATABASE}"))?;
    }
    Ok(())
}

/// Creates the schema in somebody else's database, or finds the one that an earlier rqps created.
/// What the benchmark will need later and may not do is found now.
pub(super) fn claim_schema(target: &Target) -> Result<(), DbmsError> {
    let mut connection = target.connect()?;
    let sql = "select current_user from pg_roles where rolname = current_user and not rolsuper \
               and not exists (select 1 from pg_roles r where r.rolname = 'pg_checkpoint' \
               and pg_has_role(current_user, r.oid, 'usage'))";
    if let Some(role) = scalar(&mut *connection, sql)? {
        return Err(DbmsError::MayNotCheckpoint(role));
    }
    let sql = format!(
        "select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace \
         where nspname = '{SCHEMA}'"
    );
    match scalar(&mut *connection, &sql)?.as_deref() {
        Some(MARK) => Ok(()),
        Some(_) => Err(DbmsError::ForeignPlace),
        None => {
            // In one message, which is one transaction: a schema without the mark would be nobody's.
            let sql = format!("create schema {SCHEMA}; comment on schema {SCHEMA} is '{MARK}'");
            connection.run(&sql)?;
            Ok(())
        }
    }
}

pub(super) fn drop_schema(target: &Target) -> Result<(), DbmsError> {
    target.connect()?.run(&format!("drop schema if exists {SCHEMA} cascade"))?;
    Ok(())
}
