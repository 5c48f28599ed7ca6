//! The texts that servers count statements by, as texts that can be executed.

use rqps_dbms::{Body, Dialect, Lexis};

use super::executions::CapturedExecutions;
use super::shape::shape;
use crate::sql::{Part, Tokens};

/// What Postgres has in place of a text that a user may not see.
const HIDDEN: &str = "<insufficient privilege>";
/// The end of a text that was cut.
const CUT: &str = "...";
/// What is left of a list of constants, and what MySQL and Postgres 18 add.
const LIST: &str = "(...)";
/// The beginning of the names of units.
const UNIT: &str = "SQL_TSI_";

/// Executions of a counted statement: its example if that is whole, else the text that it is
/// counted by.
pub(super) fn counted(
    dialect: Dialect,
    one: CapturedExecutions,
    text: String,
    example: Option<String>,
) -> CapturedExecutions {
    if text == HIDDEN {
        let defect = "its text is hidden. Capture it as a member of pg_read_all_stats";
        return CapturedExecutions { text, defect: Some(defect.to_string()), ..one };
    }
    let is_whole = |example: &String| {
        let lexis = dialect.lexis;
        // Only servers of MySQL mark an example that was cut.
        let is_same = || lexis.body == Body::Delimiter || has_shape_of(example, &text, lexis);
        !example.is_empty() && !example.ends_with(CUT) && is_same()
    };
    if let Some(example) = example.filter(is_whole) {
        return CapturedExecutions { text: example, ..one };
    }
    // Postgres's texts are the statements as they were sent, but for their constants.
    if dialect.lexis.body != Body::Delimiter {
        return CapturedExecutions { text, ..one };
    }
    if text.ends_with(CUT) {
        let defect = "its text is cut: raise max_digest_length";
        return CapturedExecutions { text, defect: Some(defect.to_string()), ..one };
    }
    match executable(&text, dialect.lexis) {
        Ok(text) => CapturedExecutions { text, ..one },
        Err(defect) => CapturedExecutions { text, defect: Some(defect), ..one },
    }
}

/// Whether two texts differ in nothing but values and blanks.
fn has_shape_of(example: &str, text: &str, lexis: Lexis) -> bool {
    let (one, other) = (shape(example, lexis).0, shape(text, lexis).0);
    let words = |piece: &String| piece.split_whitespace().map(str::to_string).collect::<Vec<_>>();
    one.unreadable.is_none()
        && other.unreadable.is_none()
        && one.pieces.iter().map(words).eq(other.pieces.iter().map(words))
}

/// The text of a digest as a statement: MySQL puts blanks between all tokens and leaves of lists
/// nothing but dots.
fn executable(text: &str, lexis: Lexis) -> Result<String, String> {
    let columns = inserted_columns(text);
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(LIST) {
        whole += before;
        let word = before.split_whitespace().next_back().unwrap_or_default();
        whole += &match (word, columns) {
            ("IN", _) => "( ? )".to_string(),
            ("VALUES" | "VALUE", Some(columns)) => {
                format!("( {} )", vec!["?"; columns].join(" , "))
            }
            _ => return Err("its text has lost the values of a list".to_string()),
        };
        rest = after;
    }
    whole += rest;
    // A function's name and its parenthesis belong together.
    let mut tokens = Tokens::new(&whole, lexis);
    let (mut joined, mut end, mut is_word) = (String::new(), 0, false);
    while let Some(token) = tokens.next().map_err(|error| error.what)? {
        let is_call = is_word && token.part == Part::Symbol('(');
        joined += if is_call { "" } else { &whole[end..token.start] };
        // MariaDB has another name of `DAY` and other units there, even where it is a column.
        let unit = token.text.strip_prefix(UNIT).filter(|_| token.part == Part::Word);
        joined += unit.unwrap_or(token.text);
        is_word = token.part == Part::Word;
        end = token.start + token.text.len();
    }
    Ok(joined)
}

/// How many columns `INSERT INTO t ( a , b ) VALUES` names.
fn inserted_columns(text: &str) -> Option<usize> {
    let (head, _) = text.split_once(" VALUES ").or_else(|| text.split_once(" VALUE "))?;
    let (_, list) = head.rsplit_once('(')?;
    Some(list.matches(',').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_can_be_executed_where_nothing_of_it_is_lost() {
        for (text, expected) in [
            (
                "SELECT COUNT ( * ) FROM `t` WHERE `a` IN (...)",
                Ok("SELECT COUNT( * ) FROM `t` WHERE `a` IN( ? )"),
            ),
            (
                "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
                Ok("INSERT INTO `t` ( `a` , `b` ) VALUES( ? , ? ) "),
            ),
            ("SELECT ? FROM `t` WHERE SQL_TSI_DAY > ?", Ok("SELECT ? FROM `t` WHERE DAY > ?")),
            ("INSERT INTO `t` VALUES (...)", Err("its text has lost the values of a list")),
            ("SELECT ROUND (...)", Err("its text has lost the values of a list")),
        ] {
            let found = executable(text, Dialect::INNODB.lexis);
            let found = found.as_deref().map_err(String::as_str);
            assert_eq!(found.map(str::trim), expected.map(str::trim), "{text}");
        }
    }

    #[test]
    fn a_whole_example_is_better_than_a_digest_and_a_cut_text_is_never_executed() {
        let of = |text: &str, example: Option<&str>| {
            let one = CapturedExecutions::one(String::new());
            let found =
                counted(Dialect::INNODB, one, text.to_string(), example.map(str::to_string));
            (found.text, found.defect.is_some())
        };
        assert_eq!(of("SELECT ?", Some("select 5")), ("select 5".to_string(), false));
        assert_eq!(of("SELECT ?", Some("select 5, ...")), ("SELECT ?".to_string(), false));
        assert_eq!(
            of("SELECT ? , ...", Some("select 5, ...")),
            ("SELECT ? , ...".to_string(), true)
        );
    }

    #[test]
    fn an_example_of_postgres_is_taken_if_it_differs_in_nothing_but_values() {
        let of = |example: &str| {
            let text = "select a from t where day > interval $1 and b in ($2, $3)".to_string();
            let one = CapturedExecutions::one(String::new());
            counted(Dialect::POSTGRES, one, text.clone(), Some(example.to_string())).text != text
        };
        assert!(of("select a from t  where day > interval '1 day' and b in (1, 2);"));
        assert!(of("select a from t where day > interval '1 day' and b in ($1, $2)"), "bound");
        assert!(!of("select a from t where day > interval '1 day' and b in (1, 2"), "cut");
        assert!(!of("select a from t where day > interval '1 day'"), "cut at a good place");
        assert!(!of("set x = 1; select a from t where day > interval '1 day' and b in (1, 2)"));
    }
}
