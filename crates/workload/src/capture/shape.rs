//! A statement as it was written, with its values taken out: what is left tells which executions
//! are of the same statement.

use rqps_dbms::{Backslash, Lexis};

use crate::sql::{Part, Placeholder, SqlToken, Tokens};

use super::known_value::KnownValue;

/// A statement with places for values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatementShape {
    /// The text between the places, one more than there are places. It has no comments.
    pub(super) pieces: Vec<String>,
    pub(super) places: Vec<ValuePlace>,
    /// The same pieces to be shown: literals and numbers that are no places, and hints, are hidden.
    shown: Vec<String>,
    /// Its hints, by which plans differ.
    pub(super) hints: String,
    /// What follows the last whole token cannot be read, for this reason. It quotes nothing.
    pub(super) unreadable: Option<&'static str>,
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValuePlace {
    /// It was written into the statement, as text in quotes or as a number.
    Constant { is_text: bool },
    /// `$1`, `?`: by its number, counted from 0.
    Parameter(usize),
}

impl ValuePlace {
    /// The number of its parameter.
    pub(super) fn parameter(&self) -> Option<usize> {
        match self {
            ValuePlace::Parameter(number) => Some(*number),
            ValuePlace::Constant { .. } => None,
        }
    }
}

impl StatementShape {
    /// With a text for each place.
    pub(super) fn filled(&self, mut text: impl FnMut(usize, &ValuePlace) -> String) -> String {
        self.joined(&self.pieces, &mut text)
    }

    fn joined(
        &self,
        pieces: &[String],
        text: &mut dyn FnMut(usize, &ValuePlace) -> String,
    ) -> String {
        let mut joined = String::new();
        for (number, piece) in pieces.iter().enumerate() {
            joined += piece;
            if let Some(place) = self.places.get(number) {
                joined += &text(number, place);
            }
        }
        joined
    }

    /// Tells it from other statements: in one line, without any value. Values that stay in the text
    /// are hidden in brackets.
    pub(super) fn key(&self) -> String {
        let text = self.joined(&self.shown, &mut |_, place| match place {
            ValuePlace::Constant { is_text: true } => "'…'".to_string(),
            ValuePlace::Constant { is_text: false } => "…".to_string(),
            ValuePlace::Parameter(number) => format!("${}", number + 1),
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn add(&mut self, text: &str, shown: &str) {
        for (pieces, text) in [(&mut self.pieces, text), (&mut self.shown, shown)] {
            if let Some(piece) = pieces.last_mut() {
                piece.push_str(text);
            }
        }
    }
}

/// The first word of a statement that is not shown otherwise: what follows may be a secret.
pub(super) fn first_word(text: &str) -> String {
    let text = text.trim_start_matches(|c: char| !c.is_alphanumeric());
    let word = text.split(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    // No statement begins with another one.
    let is_plain = word.bytes().all(|c| c.is_ascii_alphabetic());
    if is_plain { word.to_string() } else { String::new() }
}

/// The shape of a statement, and the values of its places as far as the text has them.
pub(super) fn shape(text: &str, lexis: Lexis) -> (StatementShape, Vec<KnownValue>) {
    let mut tokens = Tokens::new(text, lexis);
    let empty = || vec![String::new()];
    let mut shape = StatementShape { pieces: empty(), shown: empty(), ..StatementShape::default() };
    if has_two_readings(text, lexis) {
        shape.unreadable = Some(BACKSLASH);
        return (shape, Vec::new());
    }
    let (mut values, mut next) = (Vec::new(), 0);
    let mut before = TokensBefore::default();
    loop {
        let token = match tokens.next() {
            Ok(Some(token)) => token,
            Ok(None) => break,
            Err(_) => {
                shape.unreadable = Some(NO_TOKEN);
                break;
            }
        };
        let gap = &text[before.end..token.start];
        match hint(gap) {
            Some(hint) => {
                shape.hints += hint;
                shape.add(&format!(" {hint} "), " /*+ … */ ");
            }
            None => shape.add(blank(gap), blank(gap)),
        }
        let place = match &token.part {
            Part::Placeholder(Placeholder::Numbered(number)) => {
                Some((ValuePlace::Parameter(*number as usize - 1), KnownValue::Unknown))
            }
            Part::Placeholder(Placeholder::Next) => {
                next += 1;
                Some((ValuePlace::Parameter(next - 1), KnownValue::Unknown))
            }
            // A folder would take it for a parameter of its own.
            Part::Placeholder(Placeholder::Named(_)) => {
                shape.unreadable = Some(NAMED);
                break;
            }
            Part::Symbol('\\') => {
                shape.unreadable = Some(BACKSLASH);
                break;
            }
            Part::Word | Part::Number if before.is_literal && gap.is_empty() => {
                shape.unreadable = Some(BACKSLASH);
                break;
            }
            _ => before.constant(&token, gap.is_empty(), lexis).map(|constant| {
                let is_text = token.part == Part::Literal;
                (ValuePlace::Constant { is_text }, KnownValue::Value(constant))
            }),
        };
        match place {
            Some((place, value)) => {
                shape.places.push(place);
                values.push(value);
                shape.pieces.push(String::new());
                shape.shown.push(String::new());
            }
            None => shape.add(token.text, before.shown(&token, lexis)),
        }
        before.note(&token);
    }
    // A semicolon at the end is no part of it.
    for last in [shape.pieces.last_mut(), shape.shown.last_mut()].into_iter().flatten() {
        let length = last.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).len();
        last.truncate(length);
    }
    (shape, values)
}

/// Why a text cannot be read.
const NO_TOKEN: &str = "a part of it does not end or is not known. It may have been cut";
const NAMED: &str = "it has parameters with names, which a folder would take for its own";
const BACKSLASH: &str = "a backslash may end a text in quotes or not, by a setting of its session";

/// Whether a text in quotes ends elsewhere if backslashes escape nothing (NO_BACKSLASH_ESCAPES),
/// and both may have been meant.
fn has_two_readings(text: &str, lexis: Lexis) -> bool {
    let may_end =
        lexis.backslash == Backslash::InLiterals && (text.contains("\\'") || text.contains("\\\""));
    let plain = Lexis { backslash: Backslash::Nowhere, ..lexis };
    let readings = may_end.then(|| [lexis, plain].map(|lexis| reading(text, lexis)));
    matches!(readings, Some([Some(one), Some(other)]) if one != other)
}

/// The ends of texts in quotes, if this may have been meant: outside of them no backslash stands,
/// and no word follows one without a blank.
fn reading(text: &str, lexis: Lexis) -> Option<Vec<usize>> {
    let mut tokens = Tokens::new(text, lexis);
    let mut ends = Vec::new();
    while let Some(token) = tokens.next().ok()? {
        let is_glued =
            ends.last() == Some(&token.start) && matches!(token.part, Part::Word | Part::Number);
        if is_glued || token.part == Part::Symbol('\\') {
            return None;
        }
        if token.part == Part::Literal {
            ends.push(token.start + token.text.len());
        }
    }
    Some(ends)
}

/// The hint that stands between two tokens.
fn hint(gap: &str) -> Option<&str> {
    let hint = gap.trim_start();
    let hint = hint.strip_prefix("/*+").and_then(|it| hint.get(..it.find("*/")? + 5))?;
    // One with a comment within would not end there.
    (!hint[3..].contains("/*")).then_some(hint)
}

/// What stands between two tokens, without its comments: they may hold values.
fn blank(gap: &str) -> &str {
    match gap {
        gap if gap.trim().is_empty() => gap,
        gap if gap.contains('\n') => "\n",
        _ => " ",
    }
}

/// What is known of the tokens before the next one.
#[derive(Default)]
struct TokensBefore {
    end: usize,
    /// The last token is a word, or a point.
    is_word: bool,
    is_point: bool,
    is_literal: bool,
    /// The last token begins or divides a subscript: `a[1:2]`.
    is_subscript: bool,
    /// The last token is a number that goes on, as `1e` does in `1e-5`.
    is_exponent: bool,
    /// Within a list behind ORDER BY or GROUP BY, where a number is the place of a column.
    is_ordinal: bool,
}

/// What is shown of a value that stays in the text.
const HIDDEN: &str = "[…]";

/// Whether a token in quotes is a name: `"a"`.
pub(super) fn is_name(text: &str, lexis: Lexis) -> bool {
    text.starts_with('"') && lexis.backslash != Backslash::InLiterals
}

/// Words that may stand in such a list.
const IN_ORDER: [&str; 6] = ["by", "asc", "desc", "nulls", "first", "last"];

impl TokensBefore {
    fn note(&mut self, token: &SqlToken<'_>) {
        self.end = token.start + token.text.len();
        self.is_word = token.part == Part::Word;
        self.is_point = token.part == Part::Symbol('.');
        self.is_literal = token.part == Part::Literal;
        self.is_subscript = matches!(token.part, Part::Symbol('[' | ':'));
        let is_sign = matches!(token.part, Part::Symbol('-' | '+'));
        self.is_exponent = match token.part {
            Part::Number => token.text.ends_with(['e', 'E']),
            _ => self.is_exponent && is_sign,
        };
        self.is_ordinal = match token.part {
            Part::Word if token.text.eq_ignore_ascii_case("by") => true,
            Part::Word => {
                self.is_ordinal && IN_ORDER.iter().any(|it| token.text.eq_ignore_ascii_case(it))
            }
            Part::Symbol(',') | Part::Number => self.is_ordinal,
            _ => false,
        };
    }

    /// A token that stays in the text, as it is shown.
    fn shown<'t>(&self, token: &SqlToken<'t>, lexis: Lexis) -> &'t str {
        // The place of a column in a list, of which there are fewer than 10,000.
        let is_column = self.is_ordinal && token.text.len() <= 4;
        let is_digits = token.text.bytes().all(|c| c.is_ascii_digit());
        match token.part {
            Part::Number if !(is_column && is_digits) => HIDDEN,
            Part::Literal if !is_name(token.text, lexis) => HIDDEN,
            _ => token.text,
        }
    }

    /// The value of a token that is a constant which can be taken out.
    fn constant(&self, token: &SqlToken<'_>, is_adjacent: bool, lexis: Lexis) -> Option<String> {
        match token.part {
            Part::Number => {
                let is_part = is_adjacent && (self.is_point || self.is_exponent);
                let is_plain = token.text.bytes().all(|c| c.is_ascii_digit() || c == b'.');
                let is_place = self.is_ordinal || self.is_subscript;
                (is_plain && !is_part && !is_place).then(|| token.text.to_string())
            }
            // `x'1f'` and `_utf8mb4'a'` are more than their quotes.
            Part::Literal if !(is_adjacent && self.is_word) => unquoted(token.text, lexis),
            _ => None,
        }
    }
}

/// The value of a literal in plain quotes; none if it has another form.
fn unquoted(text: &str, lexis: Lexis) -> Option<String> {
    let has_backslashes = lexis.backslash == Backslash::InLiterals;
    let quote = match text.chars().next()? {
        '\'' => '\'',
        // Elsewhere it is a name.
        '"' if has_backslashes => '"',
        _ => return None,
    };
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut value = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if has_backslashes => match chars.next()? {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                'r' => value.push('\r'),
                '0' => value.push('\0'),
                'b' => value.push('\u{8}'),
                'Z' => value.push('\u{1a}'),
                kept @ ('%' | '_') => value.extend(['\\', kept]),
                other => value.push(other),
            },
            c if c == quote => {
                chars.next();
                value.push(c);
            }
            c => value.push(c),
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use rqps_dbms::Dialect;

    use super::*;

    fn shaped(text: &str, dialect: Dialect) -> (String, Vec<String>) {
        let (shape, values) = shape(text, dialect.lexis);
        assert_eq!(shape.unreadable, None, "{text}");
        let constants = values.into_iter().filter_map(|value| match value {
            KnownValue::Value(value) => Some(value),
            _ => None,
        });
        (shape.key(), constants.collect())
    }

    #[test]
    fn values_are_taken_out_and_all_else_stays() {
        let cases: [(&str, &str, &[&str]); 12] = [
            (
                "select * from t where a = 5 and b='it''s';",
                "select * from t where a = … and b='…'",
                &["5", "it's"],
            ),
            ("select /* id 7 */ a -- 8\nfrom t", "select a from t", &[]),
            ("select /*+ IndexScan(t) */ 1.5", "select /*+ … */ …", &["1.5"]),
            (
                "select a from t order by 2, 1 desc limit 3",
                "select a from t order by 2, 1 desc limit …",
                &["3"],
            ),
            (
                "select x'1f', 1e-5, .5, t1.c2, 4111111111111111e0",
                "select x[…], […]-[…], .[…], t1.c2, […]",
                &[],
            ),
            ("select -3, a-4", "select -…, a-…", &["3", "4"]),
            ("select $1, $2::int", "select $1, $2::int", &[]),
            ("select e'a\\n', $$b$$, $c$d$c$", "select […], […], […]", &[]),
            ("select a from t where b like'c'", "select a from t where b like[…]", &[]),
            ("select \"a\" from t", "select \"a\" from t", &[]),
            ("select a[1:2], b[ 3 : 4 ]", "select a[[…]:[…]], b[ […] : […] ]", &[]),
            ("select interval '1 day'", "select interval '…'", &["1 day"]),
        ];
        for (text, key, constants) in cases {
            let (found, values) = shaped(text, Dialect::POSTGRES);
            assert_eq!(
                (found.as_str(), values.iter().map(String::as_str).collect::<Vec<_>>()),
                (key, constants.to_vec()),
                "{text}"
            );
        }
    }

    #[test]
    fn literals_of_mysql_have_double_quotes_and_backslashes() {
        let (key, values) =
            shaped(r#"select "a""b", 'c\'d\\', 'e\nf', ? from `t`"#, Dialect::INNODB);
        assert_eq!(key, "select '…', '…', '…', $1 from `t`");
        assert_eq!(values, ["a\"b", "c'd\\", "e\nf"]);
        let (key, values) = shaped("select _utf8mb4'a', N'b', x'73'", Dialect::INNODB);
        assert_eq!((key.as_str(), values.len()), ("select _utf8mb4[…], N[…], x[…]", 0));
    }

    #[test]
    fn a_text_of_a_session_without_backslashes_shows_nothing() {
        let unreadable = |text: &str| shape(text, Dialect::INNODB.lexis).0.unreadable;
        for text in [
            r"select * from t where a = 'c:\' and b = ' secret ' and c = 'd:\' and d = ' e'",
            r"select * from t where a = 'c:\', b = 'secret\', c = 'd'",
            r"select * from t where a = '\' or b = ' \' or c = 'secret'",
        ] {
            let (shape, _) = shape(text, Dialect::INNODB.lexis);
            let is_hidden = shape.unreadable.is_some() || !shape.key().contains("secret");
            assert!(is_hidden, "{text}: {}", shape.key());
        }
        assert_eq!(unreadable(r"select 'it\'s', 'that\'s'"), None);
        assert_eq!(unreadable(r"select 'a\\', 'b\\'"), None);
    }

    #[test]
    fn a_hint_that_does_not_end_is_none() {
        let text = "select 1 -- /*+ a\nfrom t /* b /*+ c */ */ where d = 2";
        let (shape, _) = shape(text, Dialect::POSTGRES.lexis);
        assert_eq!(shape.pieces.concat(), "select \nfrom t where d = ");
    }

    #[test]
    fn a_text_that_is_cut_is_known_by_its_end() {
        let (shape, _) = shape("select 'a' from t where b = 'c", Dialect::POSTGRES.lexis);
        assert!(shape.unreadable.unwrap().contains("does not end"));
        assert_eq!(shape.pieces, ["select ", " from t where b ="], "no value is shown");
    }
}
