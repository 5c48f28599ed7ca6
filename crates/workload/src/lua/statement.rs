//! What is known of a statement by its text alone.

use rqps_dbms::Dialect;
use rqps_load::Effect;

/// First words of statements that return rows.
const RETURNING: [&str; 10] =
    ["select", "show", "explain", "values", "table", "with", "desc", "describe", "pragma", "fetch"];

/// First words of statements about the session or the transaction.
const NEUTRAL: [&str; 15] = [
    "begin",
    "start",
    "commit",
    "rollback",
    "end",
    "abort",
    "savepoint",
    "release",
    "set",
    "use",
    "reset",
    "discard",
    "deallocate",
    "close",
    "declare",
];

/// Words that a statement which returns rows has only if it may write or lock rows.
const WRITING: [&str; 9] =
    ["update", "share", "into", "insert", "delete", "merge", "nextval", "setval", "replace"];

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SqlEffect {
    ReturnRows,
    Nothing,
    Write,
}

impl SqlEffect {
    /// By the first word.
    pub(super) fn of_text(sql: &str) -> SqlEffect {
        let first = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let end = first.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(first.len());
        let is = |word: &&str| first[..end].eq_ignore_ascii_case(word);
        match () {
            () if RETURNING.iter().any(&is) => SqlEffect::ReturnRows,
            () if NEUTRAL.iter().any(is) => SqlEffect::Nothing,
            () => SqlEffect::Write,
        }
    }

    /// As sysbench counts it.
    pub(super) fn effect(self, rows: u64) -> Effect {
        match self {
            SqlEffect::ReturnRows => Effect::read(rows),
            SqlEffect::Nothing => Effect::other(),
            SqlEffect::Write => Effect::write(rows),
        }
    }
}

/// Whether a text may change rows, or lock them. It may be several statements.
pub(super) fn may_write(sql: &str) -> bool {
    let mut parts = sql.split(';').filter(|part| !part.trim().is_empty()).peekable();
    let is_empty = parts.peek().is_none();
    let writes = |part: &str| {
        let mut words = part.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        SqlEffect::of_text(part) == SqlEffect::Write
            || words.any(|word| WRITING.iter().any(|one| word.eq_ignore_ascii_case(one)))
    };
    is_empty || parts.any(writes)
}

/// A text between its `?`, which stand for values; those in quotes do not.
pub(super) fn pieces(sql: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut quote = None;
    for c in sql.chars() {
        match (c, quote) {
            ('?', None) => {
                pieces.push(String::new());
                continue;
            }
            ('\'' | '"' | '`', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
    }
    pieces
}

/// With a text in place of each value, by its number from 1.
pub(super) fn filled(pieces: &[String], mut value: impl FnMut(usize) -> String) -> String {
    let mut text = String::new();
    for (place, piece) in pieces.iter().enumerate() {
        if place > 0 {
            text += &value(place);
        }
        text += piece;
    }
    text
}

/// A text as a literal.
pub(super) fn literal(text: &str, dialect: Dialect) -> String {
    let doubled = text.replace('\'', "''");
    match dialect == Dialect::POSTGRES || dialect == Dialect::SQLITE {
        true => format!("'{doubled}'"),
        false => format!("'{}'", doubled.replace('\\', "\\\\")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_known_by_its_words() {
        for (sql, does, writes) in [
            ("SELECT c FROM sbtest1 WHERE id=?", SqlEffect::ReturnRows, false),
            ("\n  (select 1)", SqlEffect::ReturnRows, false),
            ("select 1 for update", SqlEffect::ReturnRows, true),
            ("with d as (delete from t returning 1) select * from d", SqlEffect::ReturnRows, true),
            ("select updated_at from t", SqlEffect::ReturnRows, false),
            ("BEGIN", SqlEffect::Nothing, false),
            ("set autocommit=0", SqlEffect::Nothing, false),
            ("UPDATE t SET k=k+1", SqlEffect::Write, true),
            ("vacuum", SqlEffect::Write, true),
            ("begin; delete from t; commit;", SqlEffect::Nothing, true),
            ("select 1; truncate t", SqlEffect::ReturnRows, true),
            ("With x As (select 1) Insert into t table x", SqlEffect::ReturnRows, true),
            ("select 1;\n", SqlEffect::ReturnRows, false),
            ("", SqlEffect::Write, true),
        ] {
            assert_eq!((SqlEffect::of_text(sql), may_write(sql)), (does, writes), "{sql}");
        }
    }

    #[test]
    fn question_marks_are_values_except_in_quotes() {
        let pieces = pieces("select '?' , a from \"t?\" where b = ? and c in (?,?)");
        assert_eq!(pieces.len(), 4);
        let text = filled(&pieces, |number| format!("${number}"));
        assert_eq!(text, "select '?' , a from \"t?\" where b = $1 and c in ($2,$3)");
    }
}
