//! The query plans of SQLite as trees, from `EXPLAIN QUERY PLAN`.

use rqps_plan::QueryPlan;
use rqps_wire::{Connection, Error, Row, query_if_allowed};

use crate::query_plan::{define_indexes, index};

/// The index of a constraint has no statement, so its columns stand for it.
const INDEXES: &str = "select tbl_name, name, coalesce(substr(sql, instr(sql, '(')), \
     (select '(' || group_concat(column, ', ') || ')' \
     from (select i.name as column from pragma_index_info(m.name) i order by i.seqno))) \
     from sqlite_master m where type = 'index'";

pub(crate) fn query_plan(
    connection: &mut dyn Connection,
    statement: &str,
) -> Result<Option<QueryPlan>, Error> {
    let rows = query_if_allowed(connection, &format!("explain query plan {statement}"))?;
    let Some(mut plan) = rows.and_then(|rows| reduced(&rows)) else { return Ok(None) };
    define_indexes(connection, &mut plan, INDEXES)?;
    Ok(Some(plan))
}

/// A row: its number, that of the row above it, and what it says.
type Line<'a> = (u64, u64, &'a str);

/// The tree of an answer; none if it is not understood, as before 3.24, whose rows are no tree:
/// there the first number is that of a SELECT, from 0.
pub(crate) fn reduced(rows: &[Row]) -> Option<QueryPlan> {
    let lines = rows.iter().map(|row| match row.as_slice() {
        [Some(own), Some(above), _, Some(text)] => {
            Some((own.parse().ok().filter(|own| *own > 0)?, above.parse().ok()?, text.as_str()))
        }
        _ => None,
    });
    let lines: Vec<Line<'_>> = lines.collect::<Option<_>>()?;
    let mut nodes = below(&lines, 0);
    match nodes.len() {
        0 => None,
        1 => nodes.pop(),
        _ => Some(QueryPlan { inputs: nodes, ..QueryPlan::new("Query") }),
    }
}

/// The nodes below a row. A row has a larger number than the one above it.
fn below(lines: &[Line<'_>], above: u64) -> Vec<QueryPlan> {
    let own = lines.iter().filter(|(own, of, _)| *of == above && own > of);
    own.map(|(own, _, text)| QueryPlan { inputs: below(lines, *own), ..node(text) }).collect()
}

fn node(text: &str) -> QueryPlan {
    if let Some(sorted) = text.strip_prefix("USE TEMP B-TREE FOR ") {
        let partly = ["RIGHT PART OF ", "LAST TERM OF ", "LAST "];
        let rest = partly.iter().find_map(|words| sorted.strip_prefix(words));
        let whole = rest.map(|rest| rest.rsplit(" OF ").next().unwrap_or(rest));
        let kind = match whole {
            Some(whole) => format!("last terms of {}", whole.to_lowercase()),
            None => sorted.to_lowercase(),
        };
        return QueryPlan { kind: Some(kind), ..QueryPlan::new("Sort") };
    }
    let verb = ["SCAN ", "SEARCH "].iter().find(|verb| text.starts_with(**verb));
    let Some(verb) = verb else {
        return QueryPlan::new(unnumbered(text));
    };
    let (what, is_left) = match text[verb.len()..].strip_suffix(" LEFT-JOIN") {
        Some(what) => (what, true),
        None => (&text[verb.len()..], false),
    };
    let (table, using) = what.split_once(" USING ").unwrap_or((what, ""));
    // Before 3.36 it says TABLE, too.
    let table = table.strip_prefix("TABLE ").unwrap_or(table);
    let table = table.split(" AS ").next().unwrap_or(table);
    let (using, condition) = match using.split_once(" (") {
        Some((using, condition)) => (using, condition.trim_end_matches(')')),
        None => (using, ""),
    };
    let (how, name) = match using.split_once("INDEX") {
        Some((how, name)) => (how, name.trim()),
        None => ("", using),
    };
    let name = Some(name).filter(|name| !name.is_empty());
    let kinds = [(how.contains("AUTOMATIC"), "automatic"), (is_left, "left")];
    let kinds: Vec<&str> = kinds.iter().filter(|(is, _)| *is).map(|(_, kind)| *kind).collect();
    let operator = match (*verb, using) {
        ("SEARCH ", _) => "Index Search",
        (_, "") => "Table Scan",
        _ => "Index Scan",
    };
    let keys = condition.split(" AND ").map(column).filter(|column| !column.is_empty());
    QueryPlan {
        kind: (!kinds.is_empty()).then(|| kinds.join(", ")),
        table: Some(unnumbered(table)),
        index: index(name),
        keys: keys.map(str::to_string).collect(),
        is_covering: how.contains("COVERING"),
        ..QueryPlan::new(operator)
    }
}

/// The column in `k>?`
fn column(term: &str) -> &str {
    let end = term.find(['=', '<', '>', ' ']).unwrap_or(term.len());
    &term[..end]
}

/// `LIST SUBQUERY 1` without the number, which counts the parts of the statement; in later releases
/// a table may be `(subquery-1)`.
fn unnumbered(text: &str) -> String {
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    let words: Vec<&str> = text.split(' ').filter(|word| !is_number(word)).collect();
    let text = words.join(" ");
    match text.strip_prefix("(subquery-").and_then(|rest| rest.strip_suffix(')')) {
        Some(_) => "SUBQUERY".to_string(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(own: u64, above: u64, text: &str) -> Row {
        [&own.to_string(), &above.to_string(), "0", text]
            .map(|field| Some(field.to_string()))
            .into()
    }

    #[test]
    fn releases_have_other_words_for_the_same() {
        for (old, new) in [
            ("SCAN TABLE t", "SCAN t"),
            ("SEARCH TABLE t AS a USING INDEX i (k=?)", "SEARCH t USING INDEX i (k=?)"),
            (
                "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
                "USE TEMP B-TREE FOR LAST TERM OF ORDER BY",
            ),
            (
                "USE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
                "USE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY",
            ),
            ("LIST SUBQUERY 1", "LIST SUBQUERY 2"),
            ("SCAN SUBQUERY 1", "SCAN (subquery-1)"),
        ] {
            assert_eq!(node(old), node(new));
        }
        for (one, other) in [
            ("SCAN t", "SCAN t USING COVERING INDEX i"),
            ("SCAN t USING INDEX i", "SCAN t USING COVERING INDEX i"),
            ("SEARCH t USING INDEX i (k=?)", "SEARCH t USING INDEX i (k=? AND c>?)"),
            ("SEARCH t USING INDEX i (k=?)", "SEARCH t USING AUTOMATIC COVERING INDEX (k=?)"),
            ("SEARCH t USING INDEX i (k=?)", "SEARCH t USING INDEX i (k=?) LEFT-JOIN"),
            ("USE TEMP B-TREE FOR ORDER BY", "USE TEMP B-TREE FOR LAST TERM OF ORDER BY"),
        ] {
            assert_ne!(node(one), node(other));
        }
    }

    #[test]
    fn the_rows_of_releases_before_3_24_are_no_tree() {
        assert_eq!(reduced(&[row(0, 0, "SCAN TABLE t")]), None);
        assert_eq!(reduced(&[]), None);
        assert!(reduced(&[row(2, 0, "SCAN t")]).is_some());
    }
}
