//! The query plans of MySQL and MariaDB as trees, from `EXPLAIN FORMAT=JSON`.

use rqps_plan::QueryPlan;
use rqps_wire::{Connection, Error, query_if_allowed};

use super::members::Json;
use crate::query_plan::{asked_for_text, define_indexes, distinct, index, is_word};

/// Of all tables of the database, but for indexes on expressions.
const INDEXES: &str = "select table_name, index_name, \
     concat(case when index_type in ('FULLTEXT', 'SPATIAL') then concat(index_type, ' ') else '' \
     end, '(', group_concat(concat(column_name, coalesce(concat('(', sub_part, ')'), ''), \
     if(collation = 'D', ' desc', '')) order by seq_in_index separator ', '), ')') \
     from information_schema.statistics where table_schema = database() \
     group by table_name, index_name, index_type having count(column_name) = count(*)";

pub(crate) fn query_plan(
    connection: &mut dyn Connection,
    statement: &str,
) -> Result<Option<QueryPlan>, Error> {
    // MySQL from 8.3 on has two versions of the format; earlier releases have the first.
    query_if_allowed(connection, "set session explain_json_format_version = 1")?;
    let answer = asked_for_text(connection, &format!("explain format=json {statement}"))?;
    let Some(mut plan) = answer.and_then(|json| reduced(&json)) else { return Ok(None) };
    define_indexes(connection, &mut plan, INDEXES)?;
    Ok(Some(plan))
}

/// The tree of an answer; none if it is not understood.
pub(crate) fn reduced(json: &str) -> Option<QueryPlan> {
    let answer: Json = serde_json::from_str(json).ok()?;
    let mut nodes = nodes(answer.get("query_block")?);
    match nodes.len() {
        0 => None,
        1 => nodes.pop(),
        _ => Some(QueryPlan { inputs: nodes, ..QueryPlan::new("Query") }),
    }
}

/// Members that read a table of a join each: MariaDB 10.2 has no list around them, 10.11 has one.
const JOINED: [&str; 3] = ["table", "block-nl-join", "read_sorted_file"];

/// The nodes in an object or a list. Names that are not known here become nodes where they have
/// nodes in them, so that another form of the same plan is never mistaken for the same plan.
fn nodes(json: &Json) -> Vec<QueryPlan> {
    match json {
        Json::List(list) => list.iter().flat_map(nodes).collect(),
        Json::Object(members) => {
            let message = json.get("message").and_then(Json::text).map(QueryPlan::new);
            let (joined, others): (Vec<_>, Vec<_>) =
                members.iter().partition(|(name, _)| JOINED.contains(&name.as_str()));
            let nodes_of = |members: Vec<&(String, Json)>| -> Vec<QueryPlan> {
                members.into_iter().flat_map(|(name, value)| named(name, value)).collect()
            };
            let mut tables = nodes_of(joined);
            if tables.len() > 1 {
                tables = vec![QueryPlan { inputs: tables, ..QueryPlan::new("Nested Loop") }];
            }
            message.into_iter().chain(tables).chain(nodes_of(others)).collect()
        }
        _ => Vec::new(),
    }
}

/// The nodes of a member of an object.
fn named(name: &str, value: &Json) -> Vec<QueryPlan> {
    if name == "table" {
        return vec![table(value)];
    }
    let mut inputs = nodes(value);
    if inputs.is_empty() {
        return inputs;
    }
    let operator = match name {
        "query_block" | "query_specifications" | "read_sorted_file" => return inputs,
        "nested_loop" if inputs.len() == 1 => return inputs,
        "ordering_operation" => return sorted(value, "order by", inputs),
        "grouping_operation" => return sorted(value, "group by", inputs),
        "duplicates_removal" => return sorted(value, "distinct", inputs),
        "windowing" => return sorted(value, "window", inputs),
        "block-nl-join" => return inputs.into_iter().map(|one| buffered(value, one)).collect(),
        "nested_loop" => "Nested Loop",
        // Its columns are not read: MariaDB 10.1 and MySQL do not say them.
        "filesort" => "Sort",
        "temporary_table" => "Temporary Table",
        "union_result" => {
            inputs = sorted(value, "union", inputs);
            "Union"
        }
        "materialized_from_subquery" | "materialized" => "Materialize",
        // The name until MariaDB 11.4, and the one since.
        "expression_cache" | "subquery_cache" => "Subquery Cache",
        // They are named after the place where the statement has them.
        _ if name.ends_with("subqueries") => "Subquery",
        _ => &name.replace(['_', '-'], " "),
    };
    vec![QueryPlan { inputs, ..QueryPlan::new(operator) }]
}

/// A table that MariaDB joins through a buffer.
fn buffered(join: &Json, table: QueryPlan) -> QueryPlan {
    QueryPlan {
        kind: join.get("join_type").and_then(Json::text).map(str::to_lowercase),
        filters: with_columns(table.filters, join, &table.keys),
        ..table
    }
}

/// The operation of MySQL that sorts or collects what is below it, or neither where an index gives
/// it the order.
fn sorted(of: &Json, kind: &str, inputs: Vec<QueryPlan>) -> Vec<QueryPlan> {
    let mut nodes = inputs;
    for (flag, operator) in
        [("using_temporary_table", "Temporary Table"), ("using_filesort", "Sort")]
    {
        if of.has(flag) {
            let kind = Some(kind.to_string());
            nodes = vec![QueryPlan { kind, inputs: nodes, ..QueryPlan::new(operator) }];
        }
    }
    nodes
}

/// The rows themselves, in the order of their key: it has every column. MariaDB 10.11 says so where
/// it needs no other column, and 11.4 does not.
const CLUSTERED: &str = "PRIMARY";

/// Ways to read a table that are not in its access type. Whether an index is read backwards is left
/// out: old releases do it without saying so.
const KINDS: [(&str, &str); 10] = [
    ("using_index_for_group_by", "loose index scan"),
    ("using_index_for_skip_scan", "skip scan"),
    ("using_MRR", "multi-range read"),
    ("mrr_type", "multi-range read"),
    ("range_checked_for_each_record", "range checked for each record"),
    ("first_match", "first match"),
    ("loosescan", "loose scan"),
    ("not_exists", "not exists"),
    ("distinct", "distinct"),
    ("index_condition", "index condition"),
];
/// What is done to the rows that are found.
const CHANGES: [(&str, &str); 4] =
    [("delete", "Delete"), ("update", "Update"), ("insert", "Insert"), ("replace", "Replace")];

fn table(found: &Json) -> QueryPlan {
    let text = |name: &str| found.get(name).and_then(Json::text);
    let name = text("table_name").map(unnumbered);
    let keys = used_keys(found);
    let conditions = with_columns(Vec::new(), found, &keys);
    let buffer = text("using_join_buffer").map(str::to_lowercase);
    let kinds = KINDS.iter().filter(|(flag, _)| found.has(flag));
    let kinds: Vec<String> = kinds.map(|(_, words)| words.to_string()).chain(buffer).collect();
    let operator = match text("access_type") {
        Some("ALL") => "Table Scan",
        Some("index") => "Index Scan",
        Some("range") => "Index Range Scan",
        Some("ref") => "Index Lookup",
        Some("eq_ref") => "Unique Index Lookup",
        Some("const" | "system") => "Constant Row",
        Some("index_merge") => "Index Merge",
        Some("fulltext") => "Full-Text Search",
        Some(other) => other,
        None => text("message").unwrap_or("Table"),
    };
    let inner = ["materialized_from_subquery", "materialized", "rowid_filter", "index_merge"];
    let inputs = inner.iter().flat_map(|name| found.get(name).map(|value| (name, value)));
    let inputs = inputs.flat_map(|(name, value)| match *name {
        "rowid_filter" | "index_merge" => ranges(name, value),
        _ => named(name, value),
    });
    let attached = found.members().filter(|(name, _)| name.ends_with("subqueries"));
    let attached = attached.flat_map(|(name, value)| named(name, value));
    let scan = QueryPlan {
        operator: operator.to_string(),
        kind: (!kinds.is_empty()).then(|| kinds.join(", ")),
        table: name.clone(),
        index: index(text("key").map(unnumbered).as_deref()),
        filters: conditions,
        keys,
        is_covering: found.has("using_index") && text("key") != Some(CLUSTERED),
        inputs: inputs.chain(attached).collect(),
    };
    match CHANGES.iter().find(|(flag, _)| found.has(flag)) {
        Some((_, change)) => {
            let temporary = sorted(found, "update", vec![scan]);
            QueryPlan { table: name, inputs: temporary, ..QueryPlan::new(*change) }
        }
        None => scan,
    }
}

/// Ranges of several indexes, which MariaDB shows as a tree of their own.
fn ranges(name: &str, value: &Json) -> Vec<QueryPlan> {
    match value {
        Json::List(list) => list.iter().flat_map(|one| ranges(name, one)).collect(),
        Json::Object(_) if value.get("key").is_some() => {
            let key = value.get("key").and_then(Json::text);
            let (index, keys) = (index(key), used_keys(value));
            vec![QueryPlan { index, keys, ..QueryPlan::new("Index Range Scan") }]
        }
        Json::Object(members) => {
            let inner = |(name, value): &(String, Json)| {
                let inputs = ranges(name, value);
                let operator = name.replace('_', " ");
                match (operator.as_str(), inputs.len()) {
                    (_, 0) => Vec::new(),
                    ("range", _) => inputs,
                    _ => vec![QueryPlan { inputs, ..QueryPlan::new(operator) }],
                }
            };
            let inputs: Vec<_> = members.iter().flat_map(inner).collect();
            match name {
                "rowid_filter" => vec![QueryPlan { inputs, ..QueryPlan::new("Row Id Filter") }],
                _ => inputs,
            }
        }
        _ => Vec::new(),
    }
}

fn used_keys(found: &Json) -> Vec<String> {
    let parts = found.get("used_key_parts").into_iter().flat_map(Json::items);
    parts.filter_map(Json::text).map(str::to_string).collect()
}

/// `filters` with the columns of the conditions of an object, without its keys.
fn with_columns(mut filters: Vec<String>, found: &Json, keys: &[String]) -> Vec<String> {
    for name in ["attached_condition", "index_condition"] {
        filters.extend(found.get(name).and_then(Json::text).map(columns).unwrap_or_default());
    }
    distinct(filters, keys)
}

/// `<derived2>` without the number, which counts the parts of the statement.
fn unnumbered(name: &str) -> String {
    match name.starts_with('<') {
        true => name.chars().filter(|c| !c.is_ascii_digit()).collect(),
        false => name.to_string(),
    }
}

/// The columns in an expression: MySQL writes all names in back quotes, and MariaDB those that need
/// them. A column stands behind its table's name.
fn columns(expression: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = expression;
    let mut is_qualified = false;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' | '`' => quoted(rest),
            c if is_word(c) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let is_name = first == '`' || first.is_alphabetic() || first == '_';
        if is_name && is_qualified && !after.starts_with('.') {
            found.push(token.trim_matches('`').replace("``", "`"));
        }
        is_qualified = first == '.' || is_name && after.starts_with('.');
        rest = after;
    }
    found
}

/// The length of a literal or a quoted name. A backslash escapes in literals, and a quote that is
/// doubled is one of the text.
fn quoted(text: &str) -> usize {
    let quote = text.as_bytes()[0];
    let (mut inside, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quote != b'`' => escaped = true,
            _ if byte == quote => {
                inside = !inside;
                if !inside && text.as_bytes().get(at + 1) != Some(&quote) {
                    return at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::columns;

    #[test]
    fn columns_stand_behind_their_tables() {
        for (expression, expected) in [
            ("(`ib`.`sbtest1`.`id` in (5000,5001))", "id"),
            ("sbtest1.`id` < 10 or sbtest1.k = 1.5", "id k"),
            ("a.`x``y` = 'b.c' or a.z = 'it\\'s b.c'", "x`y z"),
            ("trigcond(b.c = a.c)", "c c"),
            ("count(0)", ""),
            ("<cache>(now()) > `t`.`ts`", "ts"),
        ] {
            assert_eq!(columns(expression).join(" "), expected, "{expression}");
        }
    }
}
