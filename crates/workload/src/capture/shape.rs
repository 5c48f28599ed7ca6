//! A statement as it was written, with its values taken out: what is left tells which executions
//! are of the same statement.

use rqps_dbms::{Backslash, Lexis};

use crate::sql::{Part, Placeholder, SqlToken, Tokens};

use super::executions::KnownValue;

/// A statement with places for values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StatementShape {
    /// The text between the places, one more than there are places. It has no comments.
    pub(super) pieces: Vec<String>,
    pub(super) places: Vec<ValuePlace>,
    /// What follows the last whole token cannot be read, for this reason.
    pub(super) unreadable: Option<String>,
}

/// Where a value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
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
        let mut filled = String::new();
        for (number, piece) in self.pieces.iter().enumerate() {
            filled += piece;
            if let Some(place) = self.places.get(number) {
                filled += &text(number, place);
            }
        }
        filled
    }

    /// Tells it from other statements: in one line, without any value.
    pub(super) fn key(&self) -> String {
        let text = self.filled(|_, place| match place {
            ValuePlace::Constant { is_text: true } => "'…'".to_string(),
            ValuePlace::Constant { is_text: false } => "…".to_string(),
            ValuePlace::Parameter(number) => format!("${}", number + 1),
        });
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// The shape of a statement, and the values of its places as far as the text has them.
pub(super) fn shape(text: &str, lexis: Lexis) -> (StatementShape, Vec<KnownValue>) {
    let mut tokens = Tokens::new(text, lexis);
    let mut shape = StatementShape { pieces: vec![String::new()], ..StatementShape::default() };
    let (mut values, mut next) = (Vec::new(), 0);
    let mut before = TokensBefore::default();
    loop {
        let token = match tokens.next() {
            Ok(Some(token)) => token,
            Ok(None) => break,
            Err(error) => {
                shape.unreadable = Some(error.what);
                break;
            }
        };
        let gap = &text[before.end..token.start];
        let blank = blank(gap);
        add(&mut shape, &blank);
        let place = match &token.part {
            Part::Placeholder(Placeholder::Numbered(number)) => {
                Some((ValuePlace::Parameter(*number as usize - 1), KnownValue::Unknown))
            }
            Part::Placeholder(Placeholder::Next) => {
                next += 1;
                Some((ValuePlace::Parameter(next - 1), KnownValue::Unknown))
            }
            // A folder would take it for a parameter of its own.
            Part::Placeholder(Placeholder::Named(name)) => {
                shape.unreadable = Some(format!("':{name}' would be a parameter"));
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
            }
            None => add(&mut shape, token.text),
        }
        before.note(&token);
    }
    // A semicolon at the end is no part of it.
    if let Some(last) = shape.pieces.last_mut() {
        let length = last.trim_end_matches(|c: char| c == ';' || c.is_whitespace()).len();
        last.truncate(length);
    }
    (shape, values)
}

fn add(shape: &mut StatementShape, text: &str) {
    if let Some(piece) = shape.pieces.last_mut() {
        piece.push_str(text);
    }
}

/// What stands between two tokens, without its comments but for hints. They may hold values.
fn blank(gap: &str) -> String {
    match gap.find("/*+") {
        _ if gap.is_empty() => String::new(),
        Some(start) => {
            let hint = &gap[start..];
            let hint = &hint[..hint.find("*/").map_or(hint.len(), |end| end + 2)];
            format!(" {hint} ")
        }
        None if gap.trim().is_empty() => gap.to_string(),
        None if gap.contains('\n') => "\n".to_string(),
        None => " ".to_string(),
    }
}

/// What is known of the tokens before the next one.
#[derive(Default)]
struct TokensBefore {
    end: usize,
    /// The last token is a word, or a point.
    is_word: bool,
    is_point: bool,
    /// The last token begins or divides a subscript: `a[1:2]`.
    is_subscript: bool,
    /// The last token is a number that goes on, as `1e` does in `1e-5`.
    is_exponent: bool,
    /// Within a list behind ORDER BY or GROUP BY, where a number is the place of a column.
    is_ordinal: bool,
}

/// Words that may stand in such a list.
const IN_ORDER: [&str; 6] = ["by", "asc", "desc", "nulls", "first", "last"];

impl TokensBefore {
    fn note(&mut self, token: &SqlToken<'_>) {
        self.end = token.start + token.text.len();
        self.is_word = token.part == Part::Word;
        self.is_point = token.part == Part::Symbol('.');
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
        let cases: [(&str, &str, &[&str]); 11] = [
            (
                "select * from t where a = 5 and b='it''s';",
                "select * from t where a = … and b='…'",
                &["5", "it's"],
            ),
            ("select /* id 7 */ a -- 8\nfrom t", "select a from t", &[]),
            ("select /*+ IndexScan(t) */ 1.5", "select /*+ IndexScan(t) */ …", &["1.5"]),
            (
                "select a from t order by 2, 1 desc limit 3",
                "select a from t order by 2, 1 desc limit …",
                &["3"],
            ),
            ("select x'1f', 1e-5, .5, t1.c2", "select x'1f', 1e-5, .5, t1.c2", &[]),
            ("select -3, a-4", "select -…, a-…", &["3", "4"]),
            ("select $1, $2::int", "select $1, $2::int", &[]),
            ("select e'a\\n', $$b$$", "select e'a\\n', $$b$$", &[]),
            ("select \"a\" from t", "select \"a\" from t", &[]),
            ("select a[1:2], b[ 3 : 4 ]", "select a[1:2], b[ 3 : 4 ]", &[]),
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
    }

    #[test]
    fn a_text_that_is_cut_is_known_by_its_end() {
        let (shape, _) = shape("select 'a' from t where b = 'c", Dialect::POSTGRES.lexis);
        assert!(shape.unreadable.unwrap().contains("does not end"));
        assert_eq!(shape.pieces, ["select ", " from t where b ="], "no value is shown");
    }
}
