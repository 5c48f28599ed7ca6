//! The statements of a test, and their query plans.

use rqps_wire::{Connection, Error};

use super::statement::{Does, Draw, Template};
use super::suite::Test;
use crate::Dialect;
use crate::explain::{self, Explained};

/// The statements of an event, with query plans if they find rows. `middle` is a key from the
/// middle of the table.
pub(super) fn explained(
    connection: &mut dyn Connection,
    dialect: Dialect,
    test: &Test,
    table: &str,
    middle: i64,
) -> Result<Vec<Explained>, Error> {
    let mut found: Vec<Explained> = Vec::new();
    for template in test.event.templates() {
        let text = template.shown(dialect, test.size, table);
        if let Some(known) = found.iter_mut().find(|known| known.text == text) {
            known.times += 1;
            continue;
        }
        let sql = filled_in(template, dialect, test.size, table, middle);
        found.push(match template.does {
            Does::Insert => Explained::plain(text),
            _ => explain::explained(connection, dialect, text, &sql)?,
        });
    }
    if test.event.transaction {
        found.insert(0, Explained::plain("BEGIN"));
        found.push(Explained::plain("COMMIT"));
    }
    Ok(found)
}

/// The statement with constant values.
fn filled_in(
    template: &Template,
    dialect: Dialect,
    size: usize,
    table: &str,
    middle: i64,
) -> String {
    let values = template.draws.iter().flat_map(|draw| -> Vec<String> {
        let numbers = (0..draw.values(size) as i64).map(|at| (middle + at).to_string());
        match draw {
            Draw::C | Draw::Pad => vec!["'x'".to_string()],
            Draw::Range => vec![middle.to_string(), (middle + size as i64 - 1).to_string()],
            _ => numbers.collect(),
        }
    });
    let text = template.for_table(dialect, size, table);
    let mut pieces = text.split('?');
    let mut sql = pieces.next().unwrap_or_default().to_string();
    for (value, piece) in values.zip(pieces) {
        sql.push_str(&value);
        sql.push_str(piece);
    }
    sql
}
