//! From the text of an expression to its words and symbols.

use super::error::{ExpressionError, Position};
use super::scalar::Scalar;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A number.
    Number(Scalar),
    /// 9223372036854775808, which is only a number behind a minus.
    BelowLeast,
    Variable(String),
    /// A keyword or the name of a function.
    Word(String),
    Symbol(&'static str),
    End,
}

/// Longer ones before their prefixes.
const SYMBOLS: [&str; 20] = [
    "<<", ">>", "<=", ">=", "<>", "!=", "<", ">", "=", "|", "#", "&", "+", "-", "*", "/", "%", "~",
    "(", ")",
];
const COMMA: &str = ",";

/// All tokens with their places, the last of which is the end.
pub(super) fn tokens(
    text: &str,
    start: Position,
) -> Result<Vec<(Token, Position)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    let mut at = start;
    loop {
        skip_space(&mut rest, &mut at);
        if rest.is_empty() || rest.starts_with(['\n', '\r']) {
            tokens.push((Token::End, at));
            return match rest.trim_start().is_empty() {
                true => Ok(tokens),
                false => Err(ExpressionError {
                    at,
                    what: "the expression ends with the line. End the line with a backslash to \
                           continue it"
                        .to_string(),
                }),
            };
        }
        let (token, length) = first(rest).map_err(|what| ExpressionError { at, what })?;
        tokens.push((token, at));
        at.column += rest[..length].chars().count() as u32;
        rest = &rest[length..];
    }
}

/// Blanks, and ends of lines behind a backslash.
fn skip_space(rest: &mut &str, at: &mut Position) {
    loop {
        if let Some(after) = rest.strip_prefix([' ', '\t', '\x0b', '\x0c']) {
            at.column += 1;
            *rest = after;
        } else if let Some(after) =
            rest.strip_prefix("\\\n").or_else(|| rest.strip_prefix("\\\r\n"))
        {
            *at = Position { line: at.line + 1, column: 1 };
            *rest = after;
        } else {
            return;
        }
    }
}

/// The first token of a text that begins with one, and its bytes.
fn first(text: &str) -> Result<(Token, usize), String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let name_length = |text: &str| text.find(|c| !is_name(c)).unwrap_or(text.len());
    let next = text.chars().nth(1);
    match text.chars().next().unwrap_or_default() {
        ':' if next.is_some_and(is_name) => {
            let length = name_length(&text[1..]);
            Ok((Token::Variable(text[1..=length].to_string()), 1 + length))
        }
        c if c.is_ascii_digit() || c == '.' && next.is_some_and(|c| c.is_ascii_digit()) => {
            number(text)
        }
        c if c.is_ascii_alphabetic() || c == '_' => {
            let length = name_length(text);
            Ok((Token::Word(text[..length].to_string()), length))
        }
        c => {
            let mut symbols = SYMBOLS.into_iter().chain([COMMA]);
            let found = symbols.find(|symbol| text.starts_with(symbol));
            let symbol =
                found.ok_or_else(|| format!("unexpected character '{}'", c.escape_debug()))?;
            Ok((Token::Symbol(symbol), symbol.len()))
        }
    }
}

/// An integer, or a double if it has a point or an exponent.
fn number(text: &str) -> Result<(Token, usize), String> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let whole = digits(text);
    let mut length = whole;
    if text[length..].starts_with('.') {
        length += 1 + digits(&text[length + 1..]);
    }
    if let Some(exponent) = text[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let power = digits(&exponent[sign..]);
        if power > 0 {
            length += 1 + sign + power;
        }
    }
    let written = &text[..length];
    let token = match (length == whole, written) {
        (true, "9223372036854775808") => Token::BelowLeast,
        (true, _) => {
            let value = written.parse().map_err(|_| format!("'{written}' exceeds 64 bits"))?;
            Token::Number(Scalar::Int(value))
        }
        (false, _) => {
            let value: f64 = written.parse().map_err(|_| format!("'{written}' is no number"))?;
            match value.is_finite() {
                true => Token::Number(Scalar::Double(value)),
                false => return Err(format!("'{written}' exceeds the range of double")),
            }
        }
    };
    Ok((token, length))
}
