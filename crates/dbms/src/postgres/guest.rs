//! Postgres as a remote server: a schema of rqps's own in the database of the URL.

use std::sync::Arc;

use rqps_plan::Contender;
use rqps_system::Cancel;
use rqps_wire::{Connection, Error, Login, Row, Target, lift, postgres, query_if_allowed, scalar};

use super::control::{PostgresControl, target};
use super::meter::{CONTROL, UNCOUNTED};
use crate::error::DbmsError;
use crate::guest::{
    Contents, Guest, Holder, Limit, Mark, Missing, PLACE, Variable, is_place, number, text,
    variable,
};
use crate::guest_error::GuestError;
use crate::others::Asks;
use crate::remote::Remote;

/// The beginning of the comment that marks rqps's schema; the run and a time follow.
const MARK: &str = "made by rqps";
/// Between that time and the names of tables that a user's statements create.
const MADE: &str = " with ";

/// The keys of the advisory lock: the first is `rqps` in ASCII.
const LOCK: &str = "1920036979, 1";
/// The lock in `pg_locks`.
const LOCK_ROWS: &str = "l.locktype = 'advisory' and l.classid = 1920036979 and l.objid = 1 \
     and l.objsubid = 2 and l.granted \
     and l.database = (select oid from pg_database where datname = current_database())";

/// The SQLSTATE of an object that others depend on.
const NEEDED_BY_OTHERS: &str = "2BP01";

/// Settings of sessions for control before they know the server: all versions have these. They do
/// not wait for a standby, since their commits are not measured. They have a name of their own,
/// since one of them stays open: sessions are counted when they end, so counters are read when no
/// session called `rqps` is left. Functions and operators of other users are not called.
const AT_ONCE: &str = "set search_path = pg_catalog, pg_temp; set statement_timeout = 0; set lock_timeout = 0; \
     set default_transaction_read_only = off; set synchronous_commit = local; \
     set application_name = 'rqps control'";

/// Further limits of sessions in later versions: the first version, and the setting.
const LIMITS_SINCE: [(i64, &str); 3] = [
    (90_600, "idle_in_transaction_session_timeout"),
    (140_000, "idle_session_timeout"),
    (170_000, "transaction_timeout"),
];

/// Variables that every session sets. Those that only change the cost of a statement (the planner's
/// switches, memory, `synchronous_commit`, the access method, the tablespace) stay as the server
/// has them.
const VARIABLES: [Variable; 17] = [
    // Neither statements nor sessions are cut short.
    variable("statement_timeout", "0"),
    variable("lock_timeout", "0"),
    variable("transaction_timeout", "0"),
    variable("idle_in_transaction_session_timeout", "0"),
    variable("idle_session_timeout", "0"),
    // The workloads write, and expect the conflicts of the default level.
    variable("default_transaction_read_only", "off"),
    variable("default_transaction_isolation", "read committed"),
    variable("default_transaction_deferrable", "off"),
    // How values are read and written: data are made and compared as text.
    variable("DateStyle", "ISO, MDY"),
    variable("IntervalStyle", "postgres"),
    variable("TimeZone", "UTC"),
    variable("bytea_output", "hex"),
    variable("standard_conforming_strings", "on"),
    variable("extra_float_digits", "1"),
    variable("transform_null_equals", "off"),
    // Tables are the published ones.
    variable("default_with_oids", "off"),
    // Rows and messages for the client are part of what is measured.
    variable("client_min_messages", "notice"),
];

/// Volatile functions of Postgres that change nothing.
const HARMLESS: &str =
    "'random', 'random_normal', 'clock_timestamp', 'timeofday', 'gen_random_uuid', 'pg_sleep'";

const READ_ONLY: [Variable; 1] = [variable("default_transaction_read_only", "on")];

struct PostgresGuest {
    login: Login,
    /// rqps's own, in a database of others; empty if sessions see what they would see anyway.
    schema: String,
}

/// A remote server, by its URL.
pub(super) fn login(url: &str, cancel: &Cancel) -> Result<Login, Error> {
    Ok(Login { cancel: cancel.clone(), ..postgres::login(url)? })
}

pub(crate) fn remote(
    contender: &Contender,
    url: &str,
    cancel: &Cancel,
) -> Result<Remote, DbmsError> {
    let guest = Arc::new(PostgresGuest { login: login(url, cancel)?, schema: PLACE.to_string() });
    Ok(Remote::new(contender, guest, &PostgresControl))
}

/// A quoted name in SQL.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

const BACKEND: &str = "select pg_catalog.pg_backend_pid()";

impl PostgresGuest {
    /// A connection without any change to its session.
    fn plain(&self) -> Result<Box<dyn Connection>, DbmsError> {
        Ok(target(self.login.clone()).connect()?)
    }

    /// The backend of a transaction of its own.
    fn backend(connection: &mut dyn Connection) -> Result<String, Error> {
        Self::begin(connection)?;
        let backend = scalar(connection, BACKEND)?.unwrap_or_default();
        connection.run("commit")?;
        Ok(backend)
    }

    /// Begins a transaction that no timeout ends and that changes nothing in its session, which in
    /// a pool would be shared with others.
    fn begin(connection: &mut dyn Connection) -> Result<(), Error> {
        // A timeout that ends it leaves a failed transaction behind.
        lift(connection, "rollback; begin; set local statement_timeout = 0")
    }

    /// The evidence that two connections are not two sessions.
    fn not_sessions(
        first: &mut dyn Connection,
        second: &mut dyn Connection,
    ) -> Result<Option<&'static str>, Error> {
        let before = Self::backend(first)?;
        Self::begin(second)?;
        let of_second = scalar(second, BACKEND)?.unwrap_or_default();
        if of_second == before {
            return Ok(Some("two open connections have the same backend"));
        }
        let mut seen = vec![before, Self::backend(first)?];
        second.run("commit")?;
        // A pool that takes turns has given away the backend of the first one by now.
        for _ in 0..3 {
            seen.push(Self::backend(first)?);
        }
        seen.dedup();
        Ok((seen.len() > 1).then_some("the backend of a connection changes"))
    }

    /// The comment on rqps's schema, if there is such a schema, and its owner, if that is another
    /// role and no superuser. That this role is a member of the owner is not enough: before 16 a
    /// role could grant itself to any other.
    fn schema_of_ours(
        &self,
        connection: &mut dyn Connection,
    ) -> Result<Option<(String, Option<String>)>, DbmsError> {
        let sql = format!(
            "select obj_description(n.oid, 'pg_namespace'), \
             case when r.rolname = current_user or r.rolsuper then null \
              else coalesce(r.rolname, '?') end \
             from pg_namespace n left join pg_roles r on r.oid = n.nspowner \
             where n.nspname = '{}'",
            self.schema
        );
        let found = connection.query(&sql)?.into_iter().next();
        Ok(found.map(|row| {
            let mut fields = row.into_iter();
            (fields.next().flatten().unwrap_or_default(), fields.next().flatten())
        }))
    }

    /// The non-null values in the first column of all rows.
    fn column(connection: &mut dyn Connection, sql: &str) -> Result<Vec<String>, DbmsError> {
        let rows = connection.query(sql)?;
        Ok(rows.into_iter().filter_map(|row| row.into_iter().next().flatten()).collect())
    }
}

impl Guest for PostgresGuest {
    fn place(&self) -> String {
        let PostgresGuest { login: Login { database, address, .. }, schema } = self;
        format!("schema '{schema}' of database '{database}' on {address}")
    }

    fn name(&self) -> &str {
        &self.schema
    }

    fn at(&self, name: &str) -> Arc<dyn Guest> {
        Arc::new(PostgresGuest { login: self.login.clone(), schema: name.to_string() })
    }

    fn visitor(&self) -> Arc<dyn Guest> {
        self.at("")
    }

    fn places(&self, connection: &mut dyn Connection) -> Result<Vec<String>, DbmsError> {
        let sql = format!("select nspname from pg_namespace where nspname ~ '^{PLACE}' order by 1");
        let names = Self::column(connection, &sql)?;
        Ok(names.into_iter().filter(|name| is_place(name)).collect())
    }

    /// A copy of a server has the same identifier, and was started at another time.
    fn server(&self) -> &'static str {
        "select (select system_identifier::text from pg_control_system()) || ' port ' || \
         current_setting('port')"
    }

    fn uptime(&self) -> &'static str {
        "select extract(epoch from clock_timestamp() - pg_postmaster_start_time())"
    }

    /// Every role sees the transactions of all databases, and of sessions of others the name and
    /// the snapshot, which is there while a statement is executed, but not their state.
    fn others(&self) -> Asks {
        Asks {
            setup: Some(CONTROL),
            here: Some("select pg_catalog.current_database()"),
            executed: "select datname, xact_commit + xact_rollback \
                 from pg_catalog.pg_stat_database where datname is not null",
            uncounted: Some(UNCOUNTED),
            at_work: "select pg_catalog.count(*) from pg_catalog.pg_stat_activity a \
                 where a.pid <> pg_catalog.pg_backend_pid() \
                 and a.datname is not null and a.usename is not null \
                 and not (a.usename = current_user and a.application_name like 'rqps%') \
                 and coalesce(pg_catalog.to_jsonb(a)->>'backend_type', '') <> 'walsender' \
                 and (a.state = 'active' or a.state is null and a.backend_xmin is not null)",
            may_see: None,
        }
    }

    fn session_setting(&self, name: &str, value: &str) -> [String; 2] {
        let (quoted, value) = (literal(name), literal(value));
        [format!("set {name} = {value}"), format!("select current_setting({quoted})")]
    }

    fn connect(&self) -> Result<Box<dyn Connection>, DbmsError> {
        let setup = vec![AT_ONCE.to_string()];
        let login = Login { setup, ..self.login.clone() };
        let mut connection = target(login).connect()?;
        let version = number(Some(&text(&mut *connection, "show server_version_num")?));
        for (_, name) in LIMITS_SINCE.iter().filter(|(since, _)| version >= *since) {
            connection.run(&format!("set {name} = 0"))?;
        }
        Ok(connection)
    }

    /// With a pool that gives each transaction any free connection, two clients have the same
    /// backend, or one client has several; a pool that does so for each statement allows no
    /// transactions.
    fn detour(&self) -> Result<Option<String>, DbmsError> {
        let (mut first, mut second) = (self.plain()?, self.plain()?);
        match Self::not_sessions(&mut *first, &mut *second) {
            Ok(how) => Ok(how.map(str::to_string)),
            // A server accepts `begin` from every role, so only a pool rejects it.
            Err(Error::Server { message, .. }) if message.contains("transaction") => {
                Ok(Some(format!("it does not allow transactions ({message})")))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn identity(&self) -> &'static str {
        "select pg_backend_pid() || ' since ' || pg_postmaster_start_time()"
    }

    fn lock(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError> {
        Ok(text(connection, &format!("select pg_try_advisory_lock({LOCK})"))? == "t")
    }

    fn holds(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError> {
        let sql = format!(
            "select count(*) from pg_locks l where {LOCK_ROWS} and l.pid = pg_backend_pid()"
        );
        Ok(text(connection, &sql)? != "0")
    }

    fn holder(&self, connection: &mut dyn Connection) -> Result<Option<Holder>, DbmsError> {
        let sql = format!(
            "select l.pid || ' since ' || pg_postmaster_start_time(), l.pid, \
             coalesce(a.usename, '?'), coalesce(nullif(a.application_name, ''), '?'), \
             case when a.backend_start is null then 'a place that this role is not shown' \
              else coalesce(host(a.client_addr), 'a Unix socket') end, \
             coalesce(to_char(a.backend_start at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', '?') \
             from pg_locks l left join pg_stat_activity a on a.pid = l.pid where {LOCK_ROWS}"
        );
        let rows = connection.query(&sql)?;
        Ok(rows.into_iter().next().map(|row| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let mut field = || fields.next().unwrap_or_default();
            let (identity, pid, user, name, from, since) =
                (field(), field(), field(), field(), field(), field());
            let text =
                format!("process {pid} ({name}) of '{user}' from {from}, connected since {since}");
            Holder { identity, text }
        }))
    }

    fn read_only(&self, connection: &mut dyn Connection) -> Result<Option<String>, DbmsError> {
        let is_standby = text(connection, "select pg_is_in_recovery()")? == "t";
        Ok(is_standby.then(|| "it is a standby, or is recovering".to_string()))
    }

    /// Those that are volatile (CREATE FUNCTION), of any schema.
    fn with_effects(
        &self,
        connection: &mut dyn Connection,
        functions: &[&str],
    ) -> Result<Vec<String>, DbmsError> {
        let asked: Vec<String> = functions.iter().map(|name| literal(name)).collect();
        let sql = format!(
            "select distinct proname from pg_catalog.pg_proc where provolatile = 'v' \
             and proname = any (array[{}]::text[]) \
             and not (pronamespace = 'pg_catalog'::regnamespace and proname in ({HARMLESS}))",
            asked.join(", ")
        );
        Self::column(connection, &sql)
    }

    fn account(&self, connection: &mut dyn Connection) -> Result<String, DbmsError> {
        text(connection, "select current_user")
    }

    fn missing(
        &self,
        connection: &mut dyn Connection,
        contents: Option<&Contents>,
    ) -> Result<Vec<Missing>, DbmsError> {
        let schema = &self.schema;
        let role = quoted(&text(connection, "select current_user")?);
        let database = quoted(&text(connection, "select current_database()")?);
        let mut missing = Vec::new();
        if contents.is_none() {
            let sql = "select has_database_privilege(current_database(), 'create')";
            if text(connection, sql)? != "t" {
                missing.push(Missing {
                    what: format!("CREATE on database {database}"),
                    remedy: format!("grant create on database {database} to {role}"),
                });
            }
        } else {
            let sql = format!(
                "select rolname from pg_namespace n join pg_roles r on r.oid = n.nspowner \
                 where nspname = '{schema}' and not pg_has_role(r.oid, 'usage')"
            );
            for owner in Self::column(connection, &sql)? {
                missing.push(Missing {
                    what: format!("ownership of schema {schema}, whose owner is '{owner}'"),
                    remedy: format!("log in as '{owner}', or drop the schema"),
                });
            }
        }
        let sql = "select spcname from pg_tablespace where spcname = \
                   current_setting('default_tablespace') and not \
                   has_tablespace_privilege(oid, 'create')";
        for space in Self::column(connection, sql)? {
            missing.push(Missing {
                what: format!("CREATE on tablespace '{space}', the default_tablespace"),
                remedy: format!("grant create on tablespace {} to {role}", quoted(&space)),
            });
        }
        Ok(missing)
    }

    fn limits(&self, connection: &mut dyn Connection) -> Result<Vec<Limit>, DbmsError> {
        // Before 10 only clients are listed. Superusers may use reserved connections.
        let sql = "select current_setting('max_connections')::int - case when r.rolsuper then 0 \
             else coalesce((select sum(setting::int) from pg_settings where name in \
             ('superuser_reserved_connections', 'reserved_connections')), 0) end, \
             (select count(*) from pg_stat_activity a where to_jsonb(a)->>'backend_type' is null \
              or to_jsonb(a)->>'backend_type' = 'client backend'), \
             case when r.rolsuper then -1 else d.datconnlimit end, \
             (select count(*) from pg_stat_activity where datname = current_database()), \
             case when r.rolsuper then -1 else r.rolconnlimit end, \
             (select count(*) from pg_stat_activity where usename = current_user), \
             current_database(), current_user \
             from pg_database d, pg_roles r \
             where d.datname = current_database() and r.rolname = current_user";
        let rows = connection.query(sql)?;
        let Some(row) = rows.into_iter().next() else { return Ok(Vec::new()) };
        let count = |place: usize| number(row.get(place).and_then(Option::as_ref));
        let name =
            |place: usize| quoted(row.get(place).cloned().flatten().as_deref().unwrap_or(""));
        let (database, role) = (name(6), name(7));
        let limit = |place: usize, what: &str, remedy: String| {
            let (most, used) = (count(place), count(place + 1));
            let text = format!("{what} allows {most} and {used} are in use");
            (most >= 0).then(|| Limit { left: most - used, text, remedy })
        };
        let limits = [
            limit(
                0,
                "the server (max_connections without those reserved)",
                "raise the limit with alter system set max_connections and a restart".to_string(),
            ),
            limit(
                2,
                &format!("database {database}"),
                format!("raise the limit with alter database {database} connection limit"),
            ),
            limit(
                4,
                &format!("role {role}"),
                format!("raise the limit with alter role {role} connection limit"),
            ),
        ];
        Ok(limits.into_iter().flatten().collect())
    }

    /// A message can have a gigabyte.
    fn too_long(&self, _: &mut dyn Connection, _bytes: u64) -> Result<Option<String>, DbmsError> {
        Ok(None)
    }

    fn values(&self, connection: &mut dyn Connection) -> Result<Vec<Row>, DbmsError> {
        let names: Vec<String> = VARIABLES.iter().map(|it| literal(it.name)).collect();
        Ok(connection.query(&format!(
            "select name, current_setting(name) from pg_settings where name in ({})",
            names.join(", ")
        ))?)
    }

    fn variables(&self) -> &'static [Variable] {
        &VARIABLES
    }

    fn set(&self, variables: &[&Variable]) -> String {
        let set =
            |variable: &&Variable| format!("; set {} = {}", variable.name, literal(variable.value));
        let others: String = variables.iter().map(set).collect();
        match self.schema.is_empty() {
            true => others.trim_start_matches("; ").to_string(),
            // The schema of all names without one.
            false => format!("set search_path = {}{others}", quoted(&self.schema)),
        }
    }

    fn read_only_sessions(&self) -> &'static [Variable] {
        &READ_ONLY
    }

    fn target(&self, setup: Vec<String>) -> Target {
        target(Login { setup, ..self.login.clone() })
    }

    fn contents(&self, connection: &mut dyn Connection) -> Result<Option<Contents>, DbmsError> {
        let schema = &self.schema;
        let Some((comment, owner)) = self.schema_of_ours(connection)? else { return Ok(None) };
        let mark = comment.strip_prefix(MARK).map(|rest| {
            let (token, since) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
            let (since, made) = since.split_once(MADE).unwrap_or((since, ""));
            let since = since.trim_start_matches("since ").to_string();
            Mark { token: token.to_string(), since, made: Mark::made(made) }
        });
        // All objects in a schema depend on it. Dropping a table drops the sequence of its column.
        // It would also drop triggers and rules that others added to rqps's tables, and views and
        // keys, also elsewhere, would prevent it.
        let sql = format!(
            "with place as (select oid from pg_namespace where nspname = '{schema}'), \
             things as (select d.classid, d.objid from pg_depend d, place \
              where d.refclassid = 'pg_namespace'::regclass and d.refobjid = place.oid \
              union select 'pg_trigger'::regclass, t.oid from pg_trigger t \
              join pg_class c on c.oid = t.tgrelid join place on place.oid = c.relnamespace \
              where not t.tgisinternal \
              union select 'pg_rewrite'::regclass, w.oid from pg_rewrite w \
              join pg_class c on c.oid = w.ev_class join place on place.oid = c.relnamespace \
              where w.rulename <> '_RETURN' \
              union select 'pg_class'::regclass, w.ev_class from pg_depend d \
              join pg_class c on d.refclassid = 'pg_class'::regclass and c.oid = d.refobjid \
              join place on place.oid = c.relnamespace \
              join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid \
              where w.ev_class <> c.oid \
              union select 'pg_constraint'::regclass, k.oid from pg_constraint k \
              join pg_class c on c.oid = k.confrelid join place on place.oid = c.relnamespace \
              join pg_class o on o.oid = k.conrelid and o.relnamespace <> place.oid) \
             select coalesce(c.relkind::text, ''), c.relname, \
             (select i.type || ' ' || i.identity \
              from pg_identify_object(things.classid, things.objid, 0) i), \
             case when c.relkind in ('r', 'p') then pg_total_relation_size(c.oid) end \
             from things left join pg_class c \
             on things.classid = 'pg_class'::regclass and c.oid = things.objid \
             where not coalesce(c.relkind = 'S' and exists (select from pg_depend o \
              where o.classid = 'pg_class'::regclass and o.objid = c.oid \
              and o.refclassid = 'pg_class'::regclass and o.deptype in ('a', 'i')), false) \
             order by 2, 3"
        );
        let (mut tables, mut others) = (Vec::new(), Vec::new());
        for row in connection.query(&sql)? {
            let mut fields = row.into_iter();
            let mut field = || fields.next().flatten();
            let (kind, name, described, bytes) = (field(), field(), field(), field());
            match (kind.as_deref(), name) {
                (Some("r" | "p"), Some(name)) => {
                    tables.push((name, number(bytes.as_ref()).max(0) as u64));
                }
                _ => others.push(described.unwrap_or_default()),
            }
        }
        Ok(Some(Contents { mark, owner, tables, others }))
    }

    fn end_sessions(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let schema = &self.schema;
        // A session that is creating a table, which is not visible yet, has locked the schema.
        let sql = format!(
            "select pg_terminate_backend(a.pid) from pg_stat_activity a \
             where a.datname = current_database() and a.usename = current_user \
             and a.application_name like 'rqps%' and a.pid <> pg_backend_pid() and exists (\
              select from pg_namespace n join pg_locks l on l.pid = a.pid \
              left join pg_class c on c.oid = l.relation where n.nspname = '{schema}' \
              and (c.relnamespace = n.oid \
               or l.classid = 'pg_namespace'::regclass and l.objid = n.oid))"
        );
        connection.query(&sql)?;
        Ok(())
    }

    fn drop_tables(
        &self,
        connection: &mut dyn Connection,
        tables: &[String],
    ) -> Result<(), DbmsError> {
        let schema = &self.schema;
        let named = |table: &String| format!("{schema}.{}", quoted(table));
        let names: Vec<String> = tables.iter().map(named).collect();
        match connection.run(&format!("drop table if exists {}", names.join(", "))) {
            // Views and keys elsewhere that depend on them.
            Err(Error::Server { code, message, .. }) if code == NEEDED_BY_OTHERS => {
                Err(GuestError::Others { place: self.place(), names: message }.into())
            }
            result => result.map(drop).map_err(DbmsError::from),
        }
    }

    fn mark(
        &self,
        connection: &mut dyn Connection,
        token: &str,
        made: &[String],
    ) -> Result<(), DbmsError> {
        let schema = &self.schema;
        let since = "select to_char(now() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')";
        let since = text(connection, since)?;
        let made = match Mark::names(made) {
            none if none.is_empty() => none,
            names => format!("{MADE}{names}"),
        };
        let comment = literal(&format!("{MARK} {token} since {since} UTC{made}"));
        let create = match self.schema_of_ours(connection)? {
            // It may have been made since it was looked for.
            Some((_, Some(owner))) => {
                return Err(GuestError::Owned { place: self.place(), owner }.into());
            }
            // The role may have lost the right to create schemas.
            Some((_, None)) => String::new(),
            None => format!("create schema {schema}; "),
        };
        // In one message, which is one transaction: a schema without the mark would have no owner.
        connection.run(&format!("{create}comment on schema {schema} is {comment}"))?;
        Ok(())
    }

    fn remove(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let schema = &self.schema;
        // Not its contents: objects that appeared since the check belong to others.
        connection.run(&format!("drop schema if exists {schema}"))?;
        Ok(())
    }

    fn whereabouts(&self) -> (&'static str, &str) {
        ("select current_schema()", &self.schema)
    }

    /// Commits a message after everything else and waits until it is durable.
    fn settle(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let sql = "select pg_logical_emit_message(true, 'rqps', 'settle')";
        query_if_allowed(connection, sql)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_whatever_is_in_them() {
        assert_eq!(quoted(r#"my "odd" Db"#), r#""my ""odd"" Db""#);
        assert_eq!(literal("it's"), "'it''s'");
    }
}
