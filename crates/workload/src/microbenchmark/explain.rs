//! How a DBMS carries out the statements of a test: the shape of their plans, so that two of them can
//! be told apart, without what differs from one execution to the next.

use rqps_wire::{Connection, Error};

use super::statement::{Does, Draw, Template};
use super::suite::Test;
use crate::dialect::Dialect;

/// The plan of each statement that finds rows, a line each; none if the DBMS tells none. `middle` is a
/// key from the middle of the table.
pub(super) fn plans(
    connection: &mut dyn Connection,
    dialect: Dialect,
    test: &Test,
    table: &str,
    middle: i64,
) -> Result<Option<String>, Error> {
    let mut seen: Vec<&str> = Vec::new();
    let mut shapes: Vec<String> = Vec::new();
    for template in test.event.templates().filter(|template| template.does != Does::Insert) {
        if seen.contains(&template.text) {
            continue;
        }
        seen.push(template.text);
        let explain = match dialect {
            Dialect::Postgres => "explain (costs off)",
            Dialect::Sqlite => "explain query plan",
            Dialect::Innodb | Dialect::Myrocks => "explain",
        };
        let sql = format!("{explain} {}", filled_in(template, dialect, test.size, table, middle));
        match connection.query(&sql) {
            Ok(rows) => shapes.push(shape(dialect, rows)),
            Err(error) if error.is_disconnect() => return Err(error),
            // Old releases explain only what reads.
            Err(_) => {}
        }
    }
    Ok((!shapes.is_empty()).then(|| shapes.join("\n")))
}

/// The statement with values that are always the same.
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

/// What tells one plan from another: nodes, indexes and the order of joins.
fn shape(dialect: Dialect, rows: Vec<Vec<Option<String>>>) -> String {
    let lines: Vec<String> = rows
        .into_iter()
        .filter_map(|row| match dialect {
            Dialect::Postgres => node(row.into_iter().flatten().next()?),
            Dialect::Sqlite => row.into_iter().flatten().next_back(),
            Dialect::Innodb | Dialect::Myrocks => access(&row),
        })
        .collect();
    lines.join(" <- ")
}

/// `Index Scan using sbtest1_pkey on sbtest1` of a line of Postgres's plan; none of a line that
/// says more of the node above it.
fn node(line: String) -> Option<String> {
    let text = line.trim_start();
    let text = text.strip_prefix("->").unwrap_or(text).trim();
    (!text.contains(':')).then(|| text.to_string())
}

/// What the notes of MySQL's plan say that is a matter of the plan.
const NOTES: [&str; 3] = ["Using index", "Using temporary", "Using filesort"];

/// `sbtest1 range by PRIMARY` of a row of MySQL's plan, whose columns have become more over the years:
/// 10, and 12 from 5.7 on, where `partitions` and `filtered` were added.
fn access(row: &[Option<String>]) -> Option<String> {
    let column = |at: usize| row.get(at).cloned().flatten().unwrap_or_default();
    let (table, kind, key, extra) = match row.len() {
        10 => (2, 3, 5, 9),
        12 => (2, 4, 6, 11),
        // A tree, with costs.
        1 => return column(0).lines().next().map(|line| line.trim().to_string()),
        _ => return None,
    };
    let mut text = format!("{} {}", column(table), column(kind));
    if !column(key).is_empty() {
        text += &format!(" by {}", column(key));
    }
    let extra = column(extra);
    let notes = NOTES.iter().filter(|note| extra.split("; ").any(|found| found == **note));
    notes.for_each(|note| text += &format!(", {}", note.to_lowercase()));
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<Option<String>>> {
        rows.iter().map(|row| row.iter().map(|field| Some(field.to_string())).collect()).collect()
    }

    #[test]
    fn a_plan_is_its_nodes_and_indexes() {
        let postgres = rows(&[
            &["Aggregate"],
            &["  ->  Index Scan using sbtest1_pkey on sbtest1"],
            &["        Index Cond: ((id >= 5) AND (id <= 104))"],
        ]);
        let expected = "Aggregate <- Index Scan using sbtest1_pkey on sbtest1";
        assert_eq!(shape(Dialect::Postgres, postgres), expected);
        let sqlite = rows(&[&["3", "0", "62", "SEARCH sbtest1 USING INTEGER PRIMARY KEY"]]);
        assert_eq!(shape(Dialect::Sqlite, sqlite), "SEARCH sbtest1 USING INTEGER PRIMARY KEY");
        let old = &["1", "SIMPLE", "sbtest1", "range", "PRIMARY", "PRIMARY", "4", "", "9", ""];
        let new = &[
            "1",
            "SIMPLE",
            "sbtest1",
            "",
            "range",
            "PRIMARY",
            "PRIMARY",
            "4",
            "",
            "9",
            "100.00",
            "Using where; Using index",
        ];
        assert_eq!(shape(Dialect::Innodb, rows(&[old])), "sbtest1 range by PRIMARY");
        assert_eq!(shape(Dialect::Innodb, rows(&[new])), "sbtest1 range by PRIMARY, using index");
    }
}
