//! A statement as names, symbols and places for values: as much of its grammar as it takes to see
//! which column a value is compared with.

use rqps_dbms::Lexis;

use super::shape::{StatementShape, is_name};
use crate::sql::{Part, Tokens};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SqlItem {
    Word(String),
    /// A name in quotes, as it is written.
    Quoted(String),
    Symbol(char),
    /// By its number, counted from 0.
    Place(usize),
    /// A number or literal that is no place.
    Other,
}

impl SqlItem {
    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self, SqlItem::Word(it) if it.eq_ignore_ascii_case(word))
    }

    /// The name that it may be, without quotes.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            SqlItem::Word(name) => Some(name),
            SqlItem::Quoted(name) => Some(name.trim_matches(['"', '`'])),
            _ => None,
        }
    }

    /// The same, as the statement has it.
    pub(super) fn written(&self) -> Option<&str> {
        match self {
            SqlItem::Word(name) | SqlItem::Quoted(name) => Some(name),
            _ => None,
        }
    }
}

pub(super) fn items(shape: &StatementShape, lexis: Lexis) -> Vec<SqlItem> {
    let mut items = Vec::new();
    for (number, piece) in shape.pieces.iter().enumerate() {
        let mut tokens = Tokens::new(piece, lexis);
        // It was read before, as a part of the whole.
        while let Ok(Some(token)) = tokens.next() {
            let text = token.text.to_string();
            items.push(match token.part {
                Part::Word => SqlItem::Word(text),
                Part::Name => SqlItem::Quoted(text),
                Part::Literal if is_name(&text, lexis) => SqlItem::Quoted(text),
                Part::Symbol(symbol) => SqlItem::Symbol(symbol),
                Part::Delimiter => SqlItem::Symbol(';'),
                Part::Literal | Part::Number | Part::Placeholder(_) | Part::Mark => SqlItem::Other,
            });
        }
        if number < shape.places.len() {
            items.push(SqlItem::Place(number));
        }
    }
    items
}
