//! Rows as text, with the types of their columns.

use std::borrow::Cow;

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::Message;

use super::message::next_decoded;
use super::{BIND_TAIL, Postgres, from_fields};
use crate::error::Error;
use crate::{ColumnKind, Field, ResultColumn, RowVisitor, Statement, Value};

/// The end of an execution whose rows are read: results as text, the last of the Bind; Describe of
/// the unnamed portal, Execute without a row limit, Sync.
const TAIL: [u8; BIND_TAIL + 22] =
    [0, 1, 0, 0, b'D', 0, 0, 0, 6, b'P', 0, b'E', 0, 0, 0, 9, 0, 0, 0, 0, 0, b'S', 0, 0, 0, 4];

/// Object identifiers of types, from the catalogue `pg_type`.
const FLOAT4: u32 = 700;
const KINDS: [(u32, ColumnKind); 9] = [
    (16, ColumnKind::Bool),
    (20, ColumnKind::Int),
    (21, ColumnKind::Int),
    (23, ColumnKind::Int),
    (26, ColumnKind::Int),
    (FLOAT4, ColumnKind::Float),
    (701, ColumnKind::Float),
    (1700, ColumnKind::Decimal),
    (1042, ColumnKind::Char),
];

impl Postgres {
    pub(super) fn visited(
        &mut self,
        statement: Statement,
        values: &[Value<'_>],
        visitor: &mut dyn RowVisitor,
    ) -> Result<u64, Error> {
        let broken = |error: std::io::Error| Error::Protocol(error.to_string());
        self.socket.send(self.statements[statement.0].bind(values, &TAIL))?;
        let (mut rows, mut changed, mut error) = (0, 0, None);
        let mut types: Vec<u32> = Vec::new();
        loop {
            let message = match next_decoded(&mut self.socket) {
                Ok(message) => message,
                // The last error before the end says more than the end.
                Err(end) => return Err(error.unwrap_or(end)),
            };
            match message {
                Message::RowDescription(body) => {
                    let described: Vec<(String, u32)> = body
                        .fields()
                        .map(|field| Ok((field.name().to_string(), field.type_oid())))
                        .collect()
                        .map_err(broken)?;
                    types = described.iter().map(|(_, oid)| *oid).collect();
                    let column = |(name, oid)| ResultColumn { name, kind: kind(oid) };
                    visitor.columns(described.into_iter().map(column).collect());
                }
                Message::DataRow(body) => {
                    let buffer = body.buffer();
                    let ranges: Vec<_> = body.ranges().collect().map_err(broken)?;
                    let text = |range: std::ops::Range<usize>| &buffer[range];
                    let fields: Vec<Field<'_>> = ranges
                        .into_iter()
                        .zip(&types)
                        .map(|(range, oid)| range.map_or(Field::Null, |it| field(text(it), *oid)))
                        .collect();
                    visitor.row(&fields);
                    rows += 1;
                }
                Message::CommandComplete(body) => {
                    let tag = body.tag().map_err(broken)?;
                    changed = tag.rsplit(' ').next().and_then(|it| it.parse().ok()).unwrap_or(0);
                }
                Message::ErrorResponse(body) => error = Some(from_fields(&body)?),
                Message::ReadyForQuery(_) => {
                    let count = if rows == 0 { changed } else { rows };
                    return error.map_or(Ok(count), Err);
                }
                _ => {}
            }
        }
    }
}

fn kind(oid: u32) -> ColumnKind {
    KINDS.iter().find(|(known, _)| *known == oid).map_or(ColumnKind::Other, |(_, kind)| *kind)
}

fn field(text: &[u8], oid: u32) -> Field<'_> {
    let words = std::str::from_utf8(text).ok();
    let number = match kind(oid) {
        ColumnKind::Int => words.and_then(|it| it.parse().ok()).map(Field::Int),
        // The number that a value of 32 bits is, and not the one that its digits are.
        ColumnKind::Float if oid == FLOAT4 => {
            words.and_then(|it| it.parse::<f32>().ok()).map(|it| Field::Float(it.into()))
        }
        ColumnKind::Float => words.and_then(|it| it.parse().ok()).map(Field::Float),
        _ => None,
    };
    number.unwrap_or(Field::Text(Cow::Borrowed(text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_by_their_types_and_all_else_stays_text() {
        let text = |text: &'static str| Field::Text(Cow::Borrowed(text.as_bytes()));
        assert_eq!(field(b"-5", 23), Field::Int(-5));
        assert_eq!(field(b"0.1", 701), Field::Float(0.1));
        assert_eq!(field(b"0.1", FLOAT4), Field::Float(f64::from(0.1_f32)));
        assert_eq!(field(b"-Infinity", 701), Field::Float(f64::NEG_INFINITY));
        assert_eq!(field(b"1.50", 1700), text("1.50"));
        assert_eq!(field(b"7", 25), text("7"));
    }
}
