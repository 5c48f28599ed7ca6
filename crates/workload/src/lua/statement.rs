//! What is known of a statement by its text alone.

use rqps_dbms::Dialect;
use rqps_load::Effect;

/// First words of statements that return rows.
const RETURNING: [&str; 10] = [
    "select", "show", "explain", "values", "table", "with", "desc", "describe", "pragma", "fetch",
];

/// First words of statements about the session or the transaction.
const NEUTRAL: [&str; 15] = [
    "begin", "start", "commit", "rollback", "end", "abort", "savepoint", "release", "set", "use",
    "reset", "discard", "deallocate", "close", "declare",
];

/// Words that a statement which returns rows has only if it may write or lock rows.
const WRITING: [&str; 9] =
    ["update", "share", "into", "insert", "delete", "merge", "nextval", "setval", "replace"];

/// What a statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Does {
    ReturnRows,
    Nothing,
    Write,
}

impl Does {
    /// By the first word.
    pub(super) fn of_text(sql: &str) -> Does {
        let first = sql.trim_start_matches(|c: char| c.is_whitespace() || c == '(');
        let end = first.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(first.len());
        let is = |word: &&str| first[..end].eq_ignore_ascii_case(word);
        match () {
            () if RETURNING.iter().any(|word| is(&word)) => Does::ReturnRows,
            () if NEUTRAL.iter().any(|word| is(&word)) => Does::Nothing,
            () => Does::Write,
        }
    }

    /// As sysbench counts it.
    pub(super) fn effect(self, rows: u64) -> Effect {
        match self {
            Does::ReturnRows => Effect::read(rows),
            Does::Nothing => Effect::other(),
            Does::Write => Effect::write(rows),
        }
    }
}

/// Whether a statement may change rows, or lock them.
pub(super) fn may_write(sql: &str) -> bool {
    let lower = sql.to_ascii_lowercase();
    let mut words = lower.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    match Does::of_text(sql) {
        Does::Nothing => false,
        Does::Write => true,
        Does::ReturnRows => words.any(|word| WRITING.contains(&word)),
    }
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
            ("SELECT c FROM sbtest1 WHERE id=?", Does::ReturnRows, false),
            ("\n  (select 1)", Does::ReturnRows, false),
            ("select 1 for update", Does::ReturnRows, true),
            ("with d as (delete from t returning 1) select * from d", Does::ReturnRows, true),
            ("select updated_at from t", Does::ReturnRows, false),
            ("BEGIN", Does::Nothing, false),
            ("set autocommit=0", Does::Nothing, false),
            ("UPDATE t SET k=k+1", Does::Write, true),
            ("vacuum", Does::Write, true),
            ("", Does::Write, true),
        ] {
            assert_eq!((Does::of_text(sql), may_write(sql)), (does, writes), "{sql}");
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
