//! pgbench's tables: branches, ten tellers and 100,000 accounts each, and an empty history.

use std::fmt::Write;

use rqps_wire::{Connection, Error};

/// Rows for a scale of 1.
const TELLERS: u64 = 10;
const ACCOUNTS: u64 = 100_000;

/// Rows that are sent at a time.
const BATCH: u64 = 20_000;

/// From this scale on there are more accounts than an int has numbers.
const LARGE: u32 = 20_000;

/// The comment of tables that rqps made: others are not dropped on a server of somebody else.
const MARK: &str = "made by rqps pgbench";

pub(super) const TABLES: [&str; 4] =
    ["pgbench_accounts", "pgbench_branches", "pgbench_history", "pgbench_tellers"];

/// The steps of an initialization by their letters, in pgbench's own order if none is asked for.
pub const STEPS: &str = "dtgvp";

/// All letters.
pub const ALL_STEPS: &str = "dtgGvpf";

/// How the tables are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialization {
    pub scale: u32,
    /// Letters of [`ALL_STEPS`].
    pub steps: String,
    pub fillfactor: u8,
    pub is_unlogged: bool,
}

impl Initialization {
    pub fn new(scale: u32) -> Initialization {
        let steps = STEPS.to_string();
        Initialization { scale, steps, fillfactor: 100, is_unlogged: false }
    }

    /// Takes the steps; `tell` hears what begins.
    pub fn fill(
        &self,
        connection: &mut dyn Connection,
        tell: &mut dyn FnMut(&str),
    ) -> Result<(), Error> {
        // What only Postgres has is left out elsewhere, and its keys are made with the tables.
        let is_postgres = connection.scripted().is_some();
        for step in self.steps.chars() {
            let (what, statements) = match step {
                'd' => ("dropping old tables", dropped()),
                't' => ("creating tables", self.created(is_postgres)),
                'g' => {
                    tell("generating data");
                    self.load(connection)?;
                    continue;
                }
                'G' => ("generating data (server-side)", self.generated()),
                'v' if is_postgres => ("vacuuming", each("vacuum analyze ")),
                'v' => continue,
                'p' if is_postgres => ("creating primary keys", keys()),
                'p' => continue,
                'f' => ("creating foreign keys", foreign_keys()),
                other => {
                    let message = format!("unrecognized initialization step '{other}'");
                    return Err(Error::Protocol(message));
                }
            };
            tell(what);
            for sql in statements {
                connection.run(&sql)?;
            }
        }
        Ok(())
    }

    fn created(&self, is_postgres: bool) -> Vec<String> {
        let account = if self.scale >= LARGE { "bigint" } else { "int" };
        let filled = |sql: String| match is_postgres {
            true => format!("{sql} with (fillfactor={})", self.fillfactor),
            false => sql,
        };
        let key = if is_postgres { "" } else { " primary key" };
        let create = if self.is_unlogged { "create unlogged table" } else { "create table" };
        let mut statements = vec![
            format!(
                "{create} pgbench_history(tid int,bid int,aid {account},delta int,\
                 mtime timestamp,filler char(22))"
            ),
            filled(format!(
                "{create} pgbench_tellers(tid int not null{key},bid int,tbalance int,\
                 filler char(84))"
            )),
            filled(format!(
                "{create} pgbench_accounts(aid {account} not null{key},bid int,abalance int,\
                 filler char(84))"
            )),
            filled(format!(
                "{create} pgbench_branches(bid int not null{key},bbalance int,filler char(88))"
            )),
        ];
        if is_postgres {
            let mark = |table| format!("comment on table {table} is '{MARK}'");
            statements.extend(TABLES.map(mark));
            // As one transaction: a table without its mark would count as somebody else's.
            return vec![statements.join("; ")];
        }
        statements
    }

    /// Sends all rows.
    fn load(&self, connection: &mut dyn Connection) -> Result<(), Error> {
        let scale = u64::from(self.scale);
        let branches = |row: u64, lines: &mut String| writeln!(lines, "{row}\t0");
        rows(connection, "pgbench_branches", &["bid", "bbalance"], scale, branches)?;
        let tellers =
            |row: u64, lines: &mut String| writeln!(lines, "{row}\t{}\t0", (row - 1) / TELLERS + 1);
        let columns = ["tid", "bid", "tbalance"];
        rows(connection, "pgbench_tellers", &columns, scale * TELLERS, tellers)?;
        // The filler is empty, and so full of blanks.
        let accounts = |row: u64, lines: &mut String| {
            writeln!(lines, "{row}\t{}\t0\t", (row - 1) / ACCOUNTS + 1)
        };
        let columns = ["aid", "bid", "abalance", "filler"];
        rows(connection, "pgbench_accounts", &columns, scale * ACCOUNTS, accounts)
    }

    fn generated(&self) -> Vec<String> {
        let scale = u64::from(self.scale);
        vec![
            format!(
                "insert into pgbench_branches(bid,bbalance) select bid, 0 \
                 from generate_series(1, {scale}) as bid"
            ),
            format!(
                "insert into pgbench_tellers(tid,bid,tbalance) \
                 select tid, (tid - 1) / {TELLERS} + 1, 0 from generate_series(1, {}) as tid",
                scale * TELLERS
            ),
            format!(
                "insert into pgbench_accounts(aid,bid,abalance,filler) \
                 select aid, (aid - 1) / {ACCOUNTS} + 1, 0, '' from generate_series(1, {}) as aid",
                scale * ACCOUNTS
            ),
        ]
    }
}

/// Sends rows, a batch at a time.
fn rows(
    connection: &mut dyn Connection,
    table: &str,
    columns: &[&str],
    count: u64,
    write: impl Fn(u64, &mut String) -> std::fmt::Result,
) -> Result<(), Error> {
    let mut lines = String::new();
    for first in (1..=count).step_by(BATCH as usize) {
        lines.clear();
        for row in first..(first + BATCH).min(count + 1) {
            // Memory takes all characters.
            let _ = write(row, &mut lines);
        }
        connection.load(table, columns, lines.as_bytes())?;
    }
    Ok(())
}

fn each(statement: &str) -> Vec<String> {
    TABLES.map(|table| format!("{statement}{table}")).into()
}

/// A table before those that it may have foreign keys to.
fn dropped() -> Vec<String> {
    ["history", "tellers", "accounts", "branches"]
        .map(|table| format!("drop table if exists pgbench_{table}"))
        .into()
}

fn keys() -> Vec<String> {
    [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")]
        .map(|(table, key)| format!("alter table pgbench_{table} add primary key ({key})"))
        .into()
}

fn foreign_keys() -> Vec<String> {
    [
        ("tellers", "bid", "branches"),
        ("accounts", "bid", "branches"),
        ("history", "bid", "branches"),
        ("history", "tid", "tellers"),
        ("history", "aid", "accounts"),
    ]
    .map(|(table, column, other)| {
        format!(
            "alter table pgbench_{table} add constraint pgbench_{table}_{column}_fkey \
             foreign key ({column}) references pgbench_{other}"
        )
    })
    .into()
}

/// Whether these are the names of pgbench's tables.
pub(crate) fn is_table(name: &str) -> bool {
    TABLES.contains(&name)
}

/// A table of pgbench's in a database of somebody else that rqps is not known to have made. Only
/// Postgres's tables are marked; and the mark of a table that is another role's proves nothing.
pub fn table_of_others(connection: &mut dyn Connection) -> Result<Option<String>, Error> {
    let names = TABLES.map(|table| format!("'{table}'")).join(", ");
    let sql = match connection.scripted().is_some() {
        true => format!(
            "select relname from pg_catalog.pg_class where relname in ({names}) \
             and pg_catalog.pg_table_is_visible(oid) \
             and (pg_catalog.obj_description(oid, 'pg_class') is distinct from '{MARK}' \
             or relowner not in (select r.oid from pg_catalog.pg_roles r \
             where r.rolname = current_user or r.rolsuper)) order by 1"
        ),
        false => format!(
            "select table_name from information_schema.tables \
             where table_schema = database() and table_name in ({names}) order by 1"
        ),
    };
    rqps_wire::scalar(connection, &sql)
}

/// The scale of the tables that are there; an error of the DBMS where there are none.
pub fn scale(connection: &mut dyn Connection) -> Result<Option<u32>, Error> {
    let count = rqps_wire::scalar(connection, "select count(*) from pgbench_branches")?;
    Ok(count.and_then(|count| count.parse().ok()))
}

/// What pgbench does before it runs a script, unless told not to.
pub const BEFORE_RUN: [&str; 3] =
    ["vacuum pgbench_branches", "vacuum pgbench_tellers", "truncate pgbench_history"];
