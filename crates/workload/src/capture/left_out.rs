//! Which statements are not measured, and why.

use rqps_dbms::Lexis;

use super::items::{SqlItem, items};
use super::shape::{StatementShape, first_word};
use crate::sql::{NOT_IN_A_FOLDER, refusal, split};

/// First words of what can be measured.
const MEASURED: [&str; 9] =
    ["select", "with", "values", "table", "insert", "update", "delete", "merge", "replace"];

/// First words of other statements, and what these do.
const OTHERS: [(&[&str], &str); 5] = [
    (
        &["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "xa"],
        "it controls a transaction",
    ),
    (&["set", "reset", "show", "use", "discard"], "it reads or changes settings"),
    (&["copy", "load"], "it copies data"),
    (
        &["create", "alter", "drop", "truncate", "rename", "comment", "grant", "revoke"],
        "it changes the schema",
    ),
    (&["call", "do"], "it calls a procedure, which may commit"),
];

/// Schemas of catalogs.
const CATALOGS: [&str; 5] =
    ["pg_catalog", "information_schema", "performance_schema", "mysql", "sys"];

/// Functions that tell of a session.
const SESSION: [&str; 13] = [
    "database",
    "schema",
    "current_database",
    "current_schema",
    "user",
    "current_user",
    "session_user",
    "version",
    "connection_id",
    "current_setting",
    "set_config",
    "pg_backend_pid",
    "last_insert_id",
];

/// Functions that reach files of the server, other servers or other sessions, or execute a text.
/// Those that begin with one of the second list, too.
const BEYOND: [&str; 11] = [
    "load_file",
    "lo_import",
    "lo_export",
    "database_to_xml",
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "cursor_to_xml",
    "sys_exec",
    "sys_eval",
    "xpath_table",
];
const BEYOND_BEGINS: [&str; 12] = [
    "dblink",
    "pg_read_",
    "pg_ls_",
    "pg_file_",
    "pg_logdir_",
    "pg_current_logfile",
    "pg_cancel_",
    "pg_terminate_",
    "pg_reload_",
    "pg_rotate_",
    "pg_promote",
    "pg_switch_",
];

/// Why a statement is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeftOut {
    pub(super) reason: String,
    /// No more than its first word is shown: what its words are is not known, so that one may be a
    /// password.
    pub(super) is_hidden: bool,
}

/// Why a statement is left out, if it is.
pub(super) fn reason_to_leave_out(shape: &StatementShape, lexis: Lexis) -> Option<LeftOut> {
    let text = shape.filled(|_, _| "0".to_string());
    let left = |reason: String, is_hidden: bool| Some(LeftOut { reason, is_hidden });
    // What is no query anyway is told by its first word.
    let unreadable = |why: &str| {
        let reason = other(&first_word(&text));
        left(reason.unwrap_or_else(|| format!("its text cannot be read: {why}")), true)
    };
    if let Some(why) = shape.unreadable {
        return unreadable(why);
    }
    let Ok(statements) = split(&text, lexis) else {
        return unreadable("it may have been cut");
    };
    for statement in &statements {
        let first = statement.words.first().copied().unwrap_or_default();
        if let Some(reason) = other(first) {
            return left(reason, true);
        }
    }
    if let Some(what) = statements.iter().find_map(|it| refusal(it, lexis)) {
        return left(format!("{what}{NOT_IN_A_FOLDER}"), false);
    }
    if statements.is_empty() {
        return left("it has no statement".to_string(), true);
    }
    let items = items(shape, lexis);
    let reasons: [(bool, &str); 3] = [
        (reads_catalogs(&items, lexis), "it reads catalogs"),
        (reaches_beyond(&items), "it reaches beyond its database"),
        (asks_for_session(&items), "it asks for the state of its session"),
    ];
    let (_, reason) = reasons.into_iter().find(|(is_so, _)| *is_so)?;
    left(reason.to_string(), false)
}

/// Whether it calls a function that reaches beyond its database.
fn reaches_beyond(items: &[SqlItem]) -> bool {
    items.windows(2).filter(|pair| pair[1] == SqlItem::Symbol('(')).any(|pair| {
        let name = pair[0].name().unwrap_or_default().to_ascii_lowercase();
        BEYOND.contains(&name.as_str()) || BEYOND_BEGINS.iter().any(|it| name.starts_with(it))
    })
}

fn other(first: &str) -> Option<String> {
    let is = |word: &&str| first.eq_ignore_ascii_case(word);
    if MEASURED.iter().any(is) {
        return None;
    }
    let found = OTHERS.iter().find(|(words, _)| words.iter().any(is));
    Some(found.map_or("it is a utility statement", |(_, reason)| reason).to_string())
}

/// Whether it names a schema of catalogs, or what only catalogs of Postgres are called.
fn reads_catalogs(items: &[SqlItem], lexis: Lexis) -> bool {
    items.iter().enumerate().any(|(place, item)| {
        let Some(name) = item.name() else { return false };
        let next = items.get(place + 1);
        let is_before = |symbol: char| next == Some(&SqlItem::Symbol(symbol));
        let is_schema = CATALOGS.iter().any(|it| name.eq_ignore_ascii_case(it)) && is_before('.');
        let is_table = name.starts_with("pg_") && !is_before('(') || name.starts_with("pg_stat_");
        is_schema || is_table && lexis.has_dollar_quotes
    })
}

/// Whether it is what clients ask when they connect: settings, or functions and no table.
fn asks_for_session(items: &[SqlItem]) -> bool {
    let is_setting = |pair: &[SqlItem]| pair.iter().all(|item| item == &SqlItem::Symbol('@'));
    let is_function = |item: &SqlItem| SESSION.iter().any(|name| item.is_word(name));
    let has_table = items.iter().any(|item| item.is_word("from"));
    items.windows(2).any(is_setting) || !has_table && items.iter().any(is_function)
}

#[cfg(test)]
mod tests {
    use rqps_dbms::Dialect;

    use super::*;
    use crate::capture::shape::shape;

    #[test]
    fn what_is_no_plain_query_is_left_out_with_a_reason() {
        let cases = [
            ("select 1", None),
            ("(select 1) union (select 2)", None),
            ("select pg_sleep(1)", None),
            ("select mysql from t", None),
            ("update t set a = 1; delete from t", None),
            ("select 1; commit", Some("it controls a transaction")),
            ("SET search_path = 'a'", Some("it reads or changes settings")),
            ("copy t from stdin", Some("it copies data")),
            ("create table t (a int)", Some("it changes the schema")),
            ("vacuum t", Some("it is a utility statement")),
            ("select * from pg_class", Some("it reads catalogs")),
            ("select * from information_schema.tables", Some("it reads catalogs")),
            (
                "select 'a",
                Some(
                    "its text cannot be read: a part of it does not end or is not known. It may \
                     have been cut",
                ),
            ),
            ("select pg_stat_statements_reset()", Some("it reads catalogs")),
            ("select @@version", Some("it asks for the state of its session")),
            ("select version()", Some("it asks for the state of its session")),
            ("select version from releases", None),
            ("-- nothing", Some("it has no statement")),
            ("select lo_export(7, 'a')", Some("it reaches beyond its database")),
            ("select \"pg_read_file\"('a')", Some("it reaches beyond its database")),
            ("select * from dblink_exec('a', 'b')", Some("it reaches beyond its database")),
            ("select load_file from t", None),
        ];
        for (text, expected) in cases {
            let lexis = Dialect::POSTGRES.lexis;
            let left = reason_to_leave_out(&shape(text, lexis).0, lexis);
            assert_eq!(left.as_ref().map(|it| it.reason.as_str()), expected, "{text}");
        }
    }
}
