//! The query plans of Postgres as trees, from `EXPLAIN (FORMAT JSON)`.

use rqps_plan::QueryPlan;
use rqps_wire::{Connection, Error};
use serde_json::Value;

use crate::query_plan::{asked_for_text, define_indexes, distinct, index, is_word};

/// Of all tables outside the catalogue that need no schema in front of their names.
const INDEXES: &str = "select t.relname, i.relname, \
     pg_catalog.substring(pg_catalog.pg_get_indexdef(x.indexrelid), ' USING (.*)$') \
     from pg_catalog.pg_index x join pg_catalog.pg_class t on t.oid = x.indrelid \
     join pg_catalog.pg_class i on i.oid = x.indexrelid \
     join pg_catalog.pg_namespace n on n.oid = t.relnamespace \
     where pg_catalog.pg_table_is_visible(i.oid) and n.nspname <> 'pg_catalog'";

pub(crate) fn query_plan(
    connection: &mut dyn Connection,
    statement: &str,
) -> Result<Option<QueryPlan>, Error> {
    let explain = format!("explain (format json, costs off) {statement}");
    let answer = asked_for_text(connection, &explain)?;
    let Some(mut plan) = answer.and_then(|json| reduced(&json)) else { return Ok(None) };
    define_indexes(connection, &mut plan, INDEXES)?;
    Ok(Some(plan))
}

/// The tree of an answer; none if it is not understood.
pub(crate) fn reduced(json: &str) -> Option<QueryPlan> {
    let answer: Value = serde_json::from_str(json).ok()?;
    node(answer.get(0)?.get("Plan")?)
}

/// Conditions and lists of columns by which a node searches, joins or groups.
const KEYS: [&str; 7] =
    ["Index Cond", "TID Cond", "Hash Cond", "Merge Cond", "Group Key", "Cache Key", "Order By"];
/// Conditions that rows are tested by.
const FILTERS: [&str; 3] = ["Filter", "Join Filter", "One-Time Filter"];
/// What a node reads, of which it has one at most.
const READS: [&str; 4] = ["Relation Name", "CTE Name", "Function Name", "Table Function Name"];

fn node(found: &Value) -> Option<QueryPlan> {
    let text = |name: &str| found.get(name).and_then(Value::as_str);
    let columns_of = |names: &[&str]| -> Vec<String> {
        names.iter().flat_map(|name| columns_in(found.get(name))).collect()
    };
    let keys = match found.get("Sort Key") {
        // Their order is the sort's.
        Some(sorted_by) => columns_in(Some(sorted_by)),
        None => distinct(columns_of(&KEYS), &[]),
    };
    let inputs = found.get("Plans").and_then(Value::as_array).into_iter().flatten();
    Some(QueryPlan {
        operator: operator(found)?,
        kind: text("Join Type").or(text("Command")).map(str::to_lowercase),
        table: READS.iter().find_map(|name| text(name)).map(str::to_string),
        index: index(text("Index Name")),
        filters: distinct(columns_of(&FILTERS), &keys),
        keys,
        is_covering: text("Node Type") == Some("Index Only Scan"),
        inputs: inputs.map(node).collect::<Option<_>>()?,
    })
}

/// As in the text form of EXPLAIN, which has some of the other fields in it.
fn operator(found: &Value) -> Option<String> {
    let text = |name: &str| found.get(name).and_then(Value::as_str);
    let kind = text("Node Type")?;
    let words = match (kind, text("Strategy"), text("Operation")) {
        ("ModifyTable", _, Some(operation)) => operation,
        ("Aggregate", Some("Sorted"), _) => "GroupAggregate",
        ("Aggregate", Some("Hashed"), _) => "HashAggregate",
        ("Aggregate", Some("Mixed"), _) => "MixedAggregate",
        ("SetOp", Some("Hashed"), _) => "HashSetOp",
        _ => kind,
    };
    let is_parallel = found.get("Parallel Aware") == Some(&Value::Bool(true));
    let stage = text("Partial Mode").filter(|mode| *mode != "Simple");
    let backward = text("Scan Direction").filter(|direction| *direction == "Backward");
    let parts = [is_parallel.then_some("Parallel"), stage, Some(words), backward];
    Some(parts.into_iter().flatten().collect::<Vec<_>>().join(" "))
}

/// The columns of an expression, or of a list of them.
fn columns_in(found: Option<&Value>) -> Vec<String> {
    match found {
        Some(Value::String(expression)) => columns(expression),
        Some(Value::Array(list)) => list.iter().flat_map(|one| columns_in(Some(one))).collect(),
        _ => Vec::new(),
    }
}

/// What is written in small letters and is no column: `(hashed SubPlan 1)`, `true`.
const WORDS: [&str; 3] = ["hashed", "true", "false"];

/// The columns in an expression as Postgres writes it: keywords in capital letters, a cast as
/// `::type`, a function with its parenthesis, and a name that is not plain in quotes.
fn columns(expression: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = expression;
    // The word before was COLLATE, or a cast has begun, whose type may have several words.
    let (mut collation, mut cast) = (false, false);
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => quoted(rest),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        match first {
            ':' => cast = true,
            ' ' => {}
            '"' => {
                let is_column = !collation && !cast && !after.starts_with(['.', '(']);
                found.extend(is_column.then(|| token[1..length - 1].replace("\"\"", "\"")));
                (collation, cast) = (false, false);
            }
            c if c.is_lowercase() || c == '_' => {
                // `(InitPlan 1).col1` is how releases from 17 on write $0.
                let is_result = expression[..expression.len() - rest.len()].ends_with(").");
                let is_other = is_result || after.starts_with(['.', '(']);
                let is_column = !cast && !is_other && !WORDS.contains(&token);
                found.extend(is_column.then(|| token.to_string()));
            }
            c if c.is_uppercase() => (collation, cast) = (token == "COLLATE", false),
            _ => cast = false,
        }
        rest = after;
    }
    found
}

/// The length of a literal or a quoted name, in which its quote is doubled.
fn quoted(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let mut inside = false;
    let end = text.bytes().enumerate().find(|(at, byte)| {
        inside ^= *byte == quote;
        !inside && text.as_bytes().get(at + 1) != Some(&quote)
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_are_told_from_other_words() {
        for (expression, expected) in [
            ("((id >= 5) AND (id <= 104))", "id id"),
            ("(lower((c)::text) = 'a''b OR k'::text)", "c"),
            ("((ts)::timestamp without time zone > (now() - '1 day'::interval))", "ts"),
            ("(\"Order\" = ANY ('{1,2}'::integer[]))", "Order"),
            ("(public.t.\"a.\"\"b\" IS NOT NULL)", "a.\"b"),
            ("(sbtest1.k = b.id)", "k id"),
            ("((name)::text ~~ 'x'::text COLLATE \"C\")", "name"),
            ("(count(*) > 2)", ""),
            ("(NOT (hashed SubPlan 1))", ""),
            ("(k = $0)", "k"),
            ("(k = (InitPlan 1).col1)", "k"),
            ("k DESC NULLS LAST", "k"),
        ] {
            assert_eq!(columns(expression).join(" "), expected, "{expression}");
        }
    }
}
