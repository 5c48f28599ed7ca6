//! MySQL and MariaDB as remote servers: a database of rqps's own.

use std::sync::Arc;

use rqps_plan::Contender;
use rqps_system::Cancel;
use rqps_wire::{Connection, Error, Login, Row, Target, lift, mysql, query_if_allowed, scalar};

use super::control::{MysqlControl, target};
use super::grants;
use super::variables::variable as global;
use crate::error::DbmsError;
use crate::guest::{
    Contents, Guest, Holder, Limit, Mark, Missing, PLACE, Variable, is_place, number, text,
    variable,
};
use crate::guest_error::GuestError;
use crate::others::Asks;
use crate::remote::Remote;

/// The table that marks rqps's database.
const MARK: &str = "made_by_rqps";
/// The name of the lock that keeps other runs out.
const LOCK: &str = "rqps";

/// Limits that could cut short rqps's first statements. Each server knows some of them.
const LIMITS: [&str; 4] = [
    "max_execution_time = 0",
    "max_statement_time = 0",
    "sql_big_selects = 1",
    "sql_select_limit = 18446744073709551615",
];
/// The number of the error that a server does not know a variable.
const UNKNOWN_VARIABLE: &str = "1193";
/// The errors that a table is referenced by others: before 8.0, and since.
const NEEDED_BY_OTHERS: [&str; 3] = ["1217", "1451", "3730"];

/// The longest packet of a load, with room for its overhead; no workload sends less.
const LOAD: u64 = 61 << 10;

/// Variables that every session sets. Those that only change the cost of a statement (the
/// optimizer's switches, memory, binary logs, caches) stay as the server has them.
const VARIABLES: [Variable; 32] = [
    // Each statement outside a transaction is one of its own, at the default level, and may write.
    variable("autocommit", "ON"),
    variable("completion_type", "NO_CHAIN"),
    variable("transaction_isolation", "REPEATABLE-READ"),
    variable("transaction_read_only", "OFF"),
    variable("tx_isolation", "REPEATABLE-READ"),
    variable("tx_read_only", "OFF"),
    // Values that do not fit are errors, and nothing else is.
    variable("sql_mode", "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"),
    // Statements are neither cut short nor rejected for what they read, and no session is ended.
    variable("max_execution_time", "0"),
    variable("max_statement_time", "0"),
    variable("sql_big_selects", "ON"),
    variable("sql_safe_updates", "OFF"),
    variable("sql_select_limit", "18446744073709551615"),
    variable("wait_timeout", "31536000"),
    variable("net_read_timeout", "600"),
    variable("net_write_timeout", "600"),
    variable("idle_transaction_timeout", "0"),
    variable("idle_readonly_transaction_timeout", "0"),
    variable("idle_write_transaction_timeout", "0"),
    // A transaction that waits this long for another is retried, which is counted.
    variable("innodb_lock_wait_timeout", "50"),
    variable("lock_wait_timeout", "86400"),
    // How values are read and written: data are made and compared as text.
    variable("character_set_client", "utf8mb4"),
    variable("character_set_connection", "utf8mb4"),
    variable("character_set_results", "utf8mb4"),
    variable("time_zone", "+00:00"),
    variable("sql_auto_is_null", "OFF"),
    variable("sql_quote_show_create", "ON"),
    // Rows are checked on insert.
    variable("foreign_key_checks", "ON"),
    variable("unique_checks", "ON"),
    variable("check_constraint_checks", "ON"),
    variable("rocksdb_bulk_load", "OFF"),
    // Keys are consecutive.
    variable("auto_increment_increment", "1"),
    variable("auto_increment_offset", "1"),
];

const READ_ONLY: [Variable; 2] =
    [variable("transaction_read_only", "ON"), variable("tx_read_only", "ON")];

struct MysqlGuest {
    /// Without a database: rqps needs only its own.
    login: Login,
    /// The URL's, which is for visitors.
    named: String,
    /// rqps's own; that of the URL for a visitor.
    database: String,
}

/// A remote server, by its URL.
pub(super) fn login(url: &str, cancel: &Cancel) -> Result<Login, Error> {
    Ok(Login { cancel: cancel.clone(), ..mysql::login(url)? })
}

pub(crate) fn remote(
    contender: &Contender,
    url: &str,
    cancel: &Cancel,
) -> Result<Remote, DbmsError> {
    let mut login = login(url, cancel)?;
    let named = std::mem::take(&mut login.database);
    let guest = Arc::new(MysqlGuest { login, named, database: PLACE.to_string() });
    Ok(Remote::new(contender, guest, &MysqlControl::Guest))
}

/// A session in the server's list.
struct Session {
    id: String,
    user: String,
    host: String,
    database: String,
    command: String,
}

impl MysqlGuest {
    /// Sessions that the account may see: its own, and all with the PROCESS right.
    fn sessions(connection: &mut dyn Connection) -> Result<Vec<Session>, DbmsError> {
        let session = |row: Row| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let mut field = || fields.next().unwrap_or_default();
            let (id, user, host, database, command) = (field(), field(), field(), field(), field());
            Session { id, user, host, database, command }
        };
        Ok(connection.query("show processlist")?.into_iter().map(session).collect())
    }

    fn own_id(connection: &mut dyn Connection) -> Result<String, DbmsError> {
        text(connection, "select connection_id()")
    }

    /// The database's mark: the run, the time, whether the database existed before, and the tables
    /// that a user's statements create, which marks of older releases do not have.
    fn marks(&self, connection: &mut dyn Connection) -> Result<Option<[String; 4]>, DbmsError> {
        let database = &self.database;
        let sql = format!(
            "select count(*) from information_schema.tables where table_schema = '{database}' \
             and table_name = '{MARK}' and table_type = 'BASE TABLE'"
        );
        if text(connection, &sql)? == "0" {
            return Ok(None);
        }
        let sql = format!("select * from {database}.{MARK}");
        let rows = query_if_allowed(connection, &sql)?.unwrap_or_default();
        let mut fields = rows.into_iter().next().unwrap_or_default().into_iter().flatten();
        Ok(Some(std::array::from_fn(|_| fields.next().unwrap_or_default())))
    }

    fn write_mark(
        &self,
        connection: &mut dyn Connection,
        token: &str,
        was_there: bool,
        made: &[String],
    ) -> Result<(), DbmsError> {
        let database = &self.database;
        let since = "select date_format(utc_timestamp(), '%Y-%m-%d %H:%i:%s UTC')";
        let since = text(connection, since)?;
        let mark = format!("{database}.{MARK}");
        connection.run(&format!("drop table if exists {mark}"))?;
        connection.run(&format!(
            "create table {mark} (token varchar(64) not null primary key, \
             since varchar(40) not null, was_there integer not null, made text not null)"
        ))?;
        let was_there = u8::from(was_there);
        // In digits, whatever the server takes a backslash for.
        let made: String = Mark::names(made).bytes().map(|byte| format!("{byte:02x}")).collect();
        connection.run(&format!(
            "insert into {mark} values ('{token}', '{since}', {was_there}, x'{made}')"
        ))?;
        Ok(())
    }

    /// Removes the database that was just created but could not be marked, unless another run or
    /// user has begun to use it since.
    fn remove_unmarked(&self) -> Result<(), DbmsError> {
        let database = &self.database;
        let connection = &mut *self.connect()?;
        if self.lock(connection)?
            && let Some(Contents { mark: None, tables, others, .. }) = self.contents(connection)?
            && tables.is_empty()
            && others.is_empty()
        {
            connection.run(&format!("drop database {database}"))?;
        }
        Ok(())
    }

    fn exists(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError> {
        let database = &self.database;
        let sql = format!(
            "select count(*) from information_schema.schemata where schema_name = '{database}'"
        );
        Ok(text(connection, &sql)? != "0")
    }
}

impl Guest for MysqlGuest {
    fn place(&self) -> String {
        let database = &self.database;
        format!("database '{database}' on {}", self.login.address)
    }

    fn name(&self) -> &str {
        &self.database
    }

    fn at(&self, name: &str) -> Arc<dyn Guest> {
        let (login, named) = (self.login.clone(), self.named.clone());
        Arc::new(MysqlGuest { login, named, database: name.to_string() })
    }

    fn visitor(&self) -> Arc<dyn Guest> {
        self.at(&self.named)
    }

    fn places(&self, connection: &mut dyn Connection) -> Result<Vec<String>, DbmsError> {
        let sql = format!(
            "select schema_name from information_schema.schemata where schema_name like '{PLACE}%' \
             order by 1"
        );
        let rows = connection.query(&sql)?;
        Ok(rows.into_iter().flatten().flatten().filter(|name| is_place(name)).collect())
    }

    fn server(&self) -> &'static str {
        "show global variables where variable_name in ('hostname', 'port', 'datadir', 'server_uuid', \
         'server_uid')"
    }

    fn uptime(&self) -> &'static str {
        "show global status like 'Uptime'"
    }

    /// Executions of prepared statements are among the questions, their preparation is not. Clients
    /// of rqps are those of this account in a database of rqps, or in that of this session.
    fn others(&self) -> Asks {
        Asks {
            setup: None,
            here: None,
            executed: "show global status like 'Questions'",
            uncounted: None,
            at_work: "select count(*) from information_schema.processlist \
                 where id <> connection_id() and command in ('Query', 'Execute', 'Fetch') \
                 and not (user = substring_index(user(), '@', 1) \
                 and (db <=> database() or coalesce(db, '') regexp '^rqps(_[0-9]+)?$'))",
            // Needs PROCESS, without which sessions of others are not listed.
            may_see: Some("select name from information_schema.innodb_metrics limit 1"),
        }
    }

    /// A number has no quotes, since those of other types are not taken as one.
    fn session_setting(&self, name: &str, value: &str) -> [String; 2] {
        let is_number = value.bytes().all(|it| it.is_ascii_digit() || it == b'.' || it == b'-');
        let value = match is_number && value.parse::<f64>().is_ok() {
            true => value.to_string(),
            false => format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''")),
        };
        [format!("set session {name} = {value}"), format!("select @@session.{name}")]
    }

    fn connect(&self) -> Result<Box<dyn Connection>, DbmsError> {
        let mut connection = target(self.login.clone()).connect()?;
        for limit in LIMITS {
            match lift(&mut *connection, &format!("set session {limit}")) {
                Err(Error::Server { code, .. }) if code.starts_with(UNKNOWN_VARIABLE) => {}
                result => result?,
            }
        }
        Ok(connection)
    }

    /// With a proxy that shares connections, the id of one client's connection changes.
    fn detour(&self) -> Result<Option<String>, DbmsError> {
        let mut first = target(self.login.clone()).connect()?;
        let mut second = target(self.login.clone()).connect()?;
        let before = Self::own_id(&mut *first)?;
        let of_second = Self::own_id(&mut *second)?;
        let again = Self::own_id(&mut *first)?;
        Ok(match (of_second == before, again == before) {
            (true, _) => Some("two open connections have the same id".to_string()),
            (_, false) => Some("the id of a connection changes".to_string()),
            _ => None,
        })
    }

    fn identity(&self) -> &'static str {
        "select concat(connection_id(), ' ', @@hostname, ' ', @@port, ' ', @@datadir)"
    }

    fn lock(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError> {
        Ok(text(connection, &format!("select get_lock('{LOCK}', 0)"))? == "1")
    }

    fn holds(&self, connection: &mut dyn Connection) -> Result<bool, DbmsError> {
        let sql = format!("select is_used_lock('{LOCK}') = connection_id()");
        Ok(text(connection, &sql)? == "1")
    }

    fn holder(&self, connection: &mut dyn Connection) -> Result<Option<Holder>, DbmsError> {
        let sql = format!(
            "select concat(is_used_lock('{LOCK}'), ' ', @@hostname, ' ', @@port, ' ', @@datadir)"
        );
        let Some(identity) = scalar(connection, &sql)? else { return Ok(None) };
        let id = identity.split(' ').next().unwrap_or_default().to_string();
        let sessions = Self::sessions(connection)?;
        let of = sessions.into_iter().find(|session| session.id == id);
        let of = of.map(|it| format!(" of '{}' from {}", it.user, it.host)).unwrap_or_default();
        let since = match self.marks(connection)? {
            Some([_, since, ..]) if !since.is_empty() => format!(", at work since {since}"),
            _ => String::new(),
        };
        Ok(Some(Holder { identity, text: format!("connection {id}{of}{since}") }))
    }

    fn read_only(&self, connection: &mut dyn Connection) -> Result<Option<String>, DbmsError> {
        let read_only = global(connection, "read_only")?;
        let is_off = read_only.as_deref().is_none_or(|value| matches!(value, "OFF" | "0"));
        Ok((!is_off).then(|| "read_only is ON, as it is on replicas".to_string()))
    }

    /// Stored functions cannot write in sessions that only read.
    fn with_effects(
        &self,
        _connection: &mut dyn Connection,
        _functions: &[&str],
    ) -> Result<Vec<String>, DbmsError> {
        Ok(Vec::new())
    }

    fn account(&self, connection: &mut dyn Connection) -> Result<String, DbmsError> {
        text(connection, "select current_user()")
    }

    fn missing(
        &self,
        connection: &mut dyn Connection,
        _contents: Option<&Contents>,
    ) -> Result<Vec<Missing>, DbmsError> {
        let database = &self.database;
        let roles = query_if_allowed(connection, "select current_role()")?.unwrap_or_default();
        let role = roles.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        // MySQL lists the rights of roles only if they are named; MariaDB always does.
        let using = role.filter(|role| role.contains('`')).map(|role| format!(" using {role}"));
        let sql = format!("show grants for current_user(){}", using.unwrap_or_default());
        let rows = connection.query(&sql)?;
        let grants: Vec<String> = rows.into_iter().flatten().flatten().collect();
        let names = grants::missing(&grants, database);
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let account = text(connection, "select current_user()")?;
        let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
        let quoted = |name: &str| format!("'{}'", name.replace('\'', "''"));
        // One statement for all sets of tables, where there are several.
        let scope = match database == PLACE {
            true => format!("{PLACE}.*"),
            false => format!("`{PLACE}%`.*"),
        };
        Ok(vec![Missing {
            what: format!("{} on {database}.*", names.join(", ")),
            remedy: format!("grant all on {scope} to {}@{}", quoted(user), quoted(host)),
        }])
    }

    fn limits(&self, connection: &mut dyn Connection) -> Result<Vec<Limit>, DbmsError> {
        let status = connection.query("show global status like 'Threads_connected'")?;
        let in_use = number(status.first().and_then(|row| row.get(1)?.as_ref()));
        let account = text(connection, "select current_user()")?;
        let user = account.rsplit_once('@').map_or(account.as_str(), |(user, _)| user);
        let sessions = Self::sessions(connection)?;
        let own = sessions.iter().filter(|session| session.user == user).count() as i64;
        let limit = |most: i64, used: i64, name: &str, remedy: String| Limit {
            left: most - used,
            text: format!("{name} is {most} and {used} are in use"),
            remedy,
        };
        let most = text(connection, "select @@global.max_connections")?;
        let remedy = "raise the limit with set global max_connections".to_string();
        let mut limits = vec![limit(number(Some(&most)), in_use, "max_connections", remedy)];
        let most = text(connection, "select @@session.max_user_connections")?;
        if let most @ 1.. = number(Some(&most)) {
            let remedy = "raise the limit with alter user … with max_user_connections".to_string();
            limits.push(limit(most, own, "max_user_connections of this account", remedy));
        }
        Ok(limits)
    }

    fn too_long(
        &self,
        connection: &mut dyn Connection,
        bytes: u64,
    ) -> Result<Option<String>, DbmsError> {
        let needed = bytes.max(LOAD);
        let most = text(connection, "select @@session.max_allowed_packet")?;
        let most = number(Some(&most)) as u64;
        Ok((most < needed).then(|| {
            format!(
                "max_allowed_packet of the server is {most}. Set it to {needed} or more (set global \
                 max_allowed_packet = …)"
            )
        }))
    }

    fn values(&self, connection: &mut dyn Connection) -> Result<Vec<Row>, DbmsError> {
        Ok(connection.query("show session variables")?)
    }

    fn variables(&self) -> &'static [Variable] {
        &VARIABLES
    }

    fn read_only_sessions(&self) -> &'static [Variable] {
        &READ_ONLY
    }

    fn set(&self, variables: &[&Variable]) -> String {
        let value = |value: &str| match value.bytes().all(|byte| byte.is_ascii_digit()) {
            true => value.to_string(),
            false => format!("'{value}'"),
        };
        let set = |variable: &&Variable| format!("{} = {}", variable.name, value(variable.value));
        let all: Vec<String> = variables.iter().map(set).collect();
        format!("set session {}", all.join(", session "))
    }

    fn target(&self, setup: Vec<String>) -> Target {
        let database = self.database.clone();
        target(Login { database, setup, ..self.login.clone() })
    }

    fn contents(&self, connection: &mut dyn Connection) -> Result<Option<Contents>, DbmsError> {
        let database = &self.database;
        if !self.exists(connection)? {
            return Ok(None);
        }
        let mark = self.marks(connection)?.map(|[token, since, _, made]| Mark {
            token,
            since,
            made: Mark::made(&made),
        });
        let sql = format!(
            "select 'BASE TABLE', table_name, coalesce(data_length, 0) + coalesce(index_length, 0) \
             from information_schema.tables where table_schema = '{database}' \
             and table_type = 'BASE TABLE' and table_name <> '{MARK}' \
             union all select lower(table_type), table_name, 0 from information_schema.tables \
             where table_schema = '{database}' and table_type <> 'BASE TABLE' \
             union all select lower(routine_type), routine_name, 0 from information_schema.routines \
             where routine_schema = '{database}' \
             union all select 'event', event_name, 0 from information_schema.events \
             where event_schema = '{database}' \
             union all select 'trigger', trigger_name, 0 from information_schema.triggers \
             where trigger_schema = '{database}'"
        );
        let (mut tables, mut others) = (Vec::new(), Vec::new());
        for row in connection.query(&sql)? {
            let bytes = number(row.get(2).and_then(Option::as_ref)).max(0) as u64;
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            let (kind, name) =
                (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
            match kind.as_str() {
                "BASE TABLE" => tables.push((name, bytes)),
                kind => others.push(format!("{kind} {name}")),
            }
        }
        // Databases have no owner.
        Ok(Some(Contents { mark, owner: None, tables, others }))
    }

    fn end_sessions(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let own = Self::own_id(connection)?;
        let account = text(connection, "select current_user()")?;
        let user = account.rsplit_once('@').map_or(account.as_str(), |(user, _)| user);
        for session in Self::sessions(connection)? {
            let is_at_work = session.command != "Sleep" && session.database == self.database;
            if is_at_work && session.user == user && session.id != own {
                // The session may have ended meanwhile.
                query_if_allowed(connection, &format!("kill {}", session.id))?;
            }
        }
        Ok(())
    }

    fn drop_tables(
        &self,
        connection: &mut dyn Connection,
        tables: &[String],
    ) -> Result<(), DbmsError> {
        let database = &self.database;
        let named = |table: &String| format!("{database}.`{}`", table.replace('`', "``"));
        let names: Vec<String> = tables.iter().map(named).collect();
        let drop_all = format!("drop table if exists {}", names.join(", "));
        let mut needed = String::new();
        // Older servers drop all but the tables that the others refer to.
        for _ in &names {
            match connection.run(&drop_all) {
                Err(Error::Server { code, message, .. })
                    if NEEDED_BY_OTHERS.iter().any(|number| code.starts_with(number)) =>
                {
                    needed = message;
                }
                result => return result.map(drop).map_err(DbmsError::from),
            }
        }
        // Foreign keys of tables in other databases.
        Err(GuestError::Others { place: self.place(), names: needed }.into())
    }

    fn mark(
        &self,
        connection: &mut dyn Connection,
        token: &str,
        made: &[String],
    ) -> Result<(), DbmsError> {
        let database = &self.database;
        let was_there = match self.marks(connection)? {
            Some([_, _, was_there, _]) => was_there == "1",
            None => self.exists(connection)?,
        };
        let is_made = !self.exists(connection)?;
        if is_made {
            connection.run(&format!("create database {database}"))?;
        }
        let marked = self.write_mark(connection, token, was_there, made);
        if marked.is_err() && is_made {
            // MySQL cannot create and mark it at once, and an unmarked one has no known owner.
            // Where it cannot be removed either, the next run treats it as one that existed before.
            let _ = self.remove_unmarked();
        }
        marked
    }

    fn remove(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        let database = &self.database;
        // A database that existed before is left as it was found: empty.
        if let Some([_, _, was_there, _]) = self.marks(connection)?
            && was_there == "1"
        {
            connection.run(&format!("drop table {database}.{MARK}"))?;
            return Ok(());
        }
        // Dropping it removes all its contents, so it must contain nothing else.
        let Some(Contents { mark: Some(_), tables, others, .. }) = self.contents(connection)?
        else {
            return Ok(());
        };
        let tables = tables.into_iter().map(|(name, _)| format!("table {name}"));
        let names: Vec<String> = tables.chain(others).collect();
        if !names.is_empty() {
            let (place, names) = (self.place(), names.join(", "));
            return Err(GuestError::Others { place, names }.into());
        }
        connection.run(&format!("drop database {database}"))?;
        Ok(())
    }

    fn whereabouts(&self) -> (&'static str, &str) {
        ("select database()", &self.database)
    }

    fn settle(&self, connection: &mut dyn Connection) -> Result<(), DbmsError> {
        query_if_allowed(connection, "flush engine logs")?;
        Ok(())
    }
}
