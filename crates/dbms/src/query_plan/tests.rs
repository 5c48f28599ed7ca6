//! What real servers answered to EXPLAIN, reduced: the same plan of two releases is the same tree.
//! Each answer's file in `tests/query_plans` names the command that it comes from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rqps_wire::Row;

use super::*;

fn answers() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/query_plans")
}

/// The trees of a release, by statement.
fn trees(release: &str) -> BTreeMap<String, Option<QueryPlan>> {
    let text = fs::read_to_string(answers().join(format!("{release}.txt"))).unwrap();
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for line in text.lines().skip(1) {
        match line.strip_prefix('\t') {
            Some(answer) => found.last_mut().unwrap().1.push(answer),
            None => found.push((line.to_string(), Vec::new())),
        }
    }
    let reduced = |lines: &[&str]| match release.split('-').next().unwrap() {
        "postgres" => crate::postgres::query_plan::reduced(lines[0]),
        "sqlite" => {
            let row = |line: &&str| line.split('\t').map(|field| Some(field.into())).collect();
            let rows: Vec<Row> = lines.iter().map(row).collect();
            crate::sqlite::query_plan::reduced(&rows)
        }
        _ => crate::mysql::query_plan::reduced(lines[0]),
    };
    found.into_iter().map(|(statement, lines)| (statement, reduced(&lines))).collect()
}

/// `Index Scan on sbtest1 using k_1 by k, filter c <- Sort`, with several inputs in brackets.
fn shown(node: &QueryPlan) -> String {
    let mut text = node.operator.clone();
    let mut add = |before: &str, what: &str| {
        if !what.is_empty() {
            text += &format!("{before}{what}");
        }
    };
    add(" ", &node.kind.as_ref().map(|kind| format!("({kind})")).unwrap_or_default());
    add(" on ", node.table.as_deref().unwrap_or_default());
    add(" using ", node.index.as_ref().map(|index| index.name.as_str()).unwrap_or_default());
    add(" by ", &node.keys.join(", "));
    add(" filter ", &node.filters.join(", "));
    add("", if node.is_covering { " covering" } else { "" });
    let inputs: Vec<String> = node.inputs.iter().map(shown).collect();
    match inputs.as_slice() {
        [] => text,
        [input] => format!("{text} <- {input}"),
        inputs => format!("{text} [{}]", inputs.join("; ")),
    }
}

/// The statements with other plans in the second release, and both plans.
fn changed(one: &str, other: &str) -> Vec<[String; 3]> {
    let (old, new) = (trees(one), trees(other));
    assert_eq!(old.keys().collect::<Vec<_>>(), new.keys().collect::<Vec<_>>());
    let pairs = old.into_iter().zip(new.into_values()).filter(|((_, old), new)| old != new);
    let show = |tree: Option<QueryPlan>| shown(&tree.unwrap());
    pairs.map(|((statement, old), new)| [statement, show(old), show(new)]).collect()
}

fn assert_changed(one: &str, other: &str, expected: &[[&str; 3]]) {
    let found = changed(one, other);
    let found: Vec<[&str; 3]> = found.iter().map(|all| [&*all[0], &*all[1], &*all[2]]).collect();
    assert_eq!(found, expected, "{one} and {other}");
}

#[test]
fn every_answer_is_understood_but_the_other_version_of_mysql() {
    let mut releases = 0;
    for entry in fs::read_dir(answers()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let Some(release) = name.strip_suffix(".txt") else { continue };
        let is_known = !release.ends_with("version-2");
        for (statement, tree) in trees(release) {
            assert_eq!(tree.is_some(), is_known, "{release}: {statement}");
        }
        releases += 1;
    }
    assert!(releases >= 16, "{releases}");
}

#[test]
fn no_plan_changed_where_only_the_words_did() {
    for [one, other] in [
        ["mysql-8.0.33", "mysql-9.7.4"],
        ["mariadb-10.1.23", "mariadb-10.2.11"],
        ["mariadb-10.2.11", "mariadb-10.11.18"],
        ["mariadb-10.11.18", "mariadb-11.4.5"],
        ["mariadb-11.4.5", "mariadb-11.8.9"],
        ["postgres-17.6", "postgres-18.0"],
    ] {
        let answers = |of: &str| fs::read_to_string(answers().join(format!("{of}.txt"))).unwrap();
        assert_ne!(answers(one), answers(other), "the answers are in other words");
        assert_changed(one, other, &[]);
    }
}

/// Read by a person in both forms: other joins, sorts, indexes and filters.
#[test]
fn plans_that_changed_are_told() {
    const UNION: &str = "SELECT id FROM sbtest1 WHERE id=1 UNION SELECT k FROM sbtest2 WHERE id<5";
    const LEFT_JOIN: &str =
        "SELECT a.id FROM sbtest1 a LEFT JOIN sbtest2 b ON a.c = b.c WHERE a.id < 100";
    const LIST: &str = "5000, 5001, 5002, 5003, 5004, 5005, 5006, 5007, 5008, 5009";
    assert_changed(
        "mysql-5.6.14",
        "mysql-8.0.33",
        &[
            [
                LEFT_JOIN,
                "Nested Loop [Index Range Scan on a using PRIMARY by id; \
                 Table Scan (block nested loop) on b filter c]",
                "Nested Loop [Index Range Scan on a using PRIMARY by id; \
                 Table Scan (hash join) on b filter c]",
            ],
            [
                "SELECT n FROM (SELECT k, count(*) n FROM sbtest1 GROUP BY k) d WHERE n > 2",
                "Table Scan on d filter n <- Materialize <- \
                 Index Scan on sbtest1 using k_1 by k covering",
                "Table Scan on d <- Materialize <- Index Scan on sbtest1 using k_1 by k covering",
            ],
            [
                &format!("UPDATE sbtest1 set c='x' WHERE id IN ({LIST})"),
                "Update on sbtest1 <- Temporary Table (update) <- \
                 Index Range Scan on sbtest1 using PRIMARY by id",
                "Update on sbtest1 <- Index Range Scan on sbtest1 using PRIMARY by id",
            ],
        ],
    );
    assert_changed(
        "postgres-9.6.24",
        "postgres-12.22",
        &[[
            &format!("SELECT k FROM sbtest1 WHERE k IN ({LIST})"),
            "Index Only Scan on sbtest1 using k_1 by k covering",
            "Bitmap Heap Scan on sbtest1 <- Bitmap Index Scan using k_1 by k",
        ]],
    );
    assert_changed(
        "postgres-12.22",
        "postgres-16.10",
        &[[
            "SELECT k, id FROM sbtest1 WHERE k >= 19000 ORDER BY k, id LIMIT 10",
            "Limit <- Sort by k, id <- Bitmap Heap Scan on sbtest1 <- \
             Bitmap Index Scan using k_1 by k",
            "Limit <- Incremental Sort by k, id <- Index Scan on sbtest1 using k_1 by k",
        ]],
    );
    // 17 knows that k is never null, and sorts a union.
    assert_changed(
        "postgres-16.10",
        "postgres-17.6",
        &[
            [
                UNION,
                "HashAggregate by id <- Append [Index Only Scan on sbtest1 using sbtest1_pkey by \
                 id covering; Index Scan on sbtest2 using sbtest2_pkey by id]",
                "Unique <- Sort by id <- Append [Index Only Scan on sbtest1 using sbtest1_pkey by \
                 id covering; Index Scan on sbtest2 using sbtest2_pkey by id]",
            ],
            [
                "SELECT id, (SELECT max(b.k) FROM sbtest2 b WHERE b.id < a.id) FROM sbtest1 a \
                 WHERE a.id < 5",
                "Index Only Scan on sbtest1 using sbtest1_pkey by id covering <- Result <- Limit \
                 <- Index Scan Backward on sbtest2 using k_2 by k filter id",
                "Index Only Scan on sbtest1 using sbtest1_pkey by id covering <- Result <- Limit \
                 <- Index Scan Backward on sbtest2 using k_2 filter id",
            ],
        ],
    );
    assert_changed(
        "sqlite-3.40.1",
        "sqlite-3.54.1",
        &[
            [
                LEFT_JOIN,
                "Query [Index Search on a using INTEGER PRIMARY KEY by rowid; \
                 Index Search (automatic, left) on b by c covering]",
                "Query [Index Search on a using INTEGER PRIMARY KEY by rowid; \
                 BLOOM FILTER ON b (c=?); Index Search (automatic, left) on b by c covering]",
            ],
            [
                UNION,
                "COMPOUND QUERY [LEFT-MOST SUBQUERY <- \
                 Index Search on sbtest1 using INTEGER PRIMARY KEY by rowid; UNION USING TEMP \
                 B-TREE <- Index Search on sbtest2 using INTEGER PRIMARY KEY by rowid]",
                "MERGE (UNION) [LEFT <- \
                 Index Search on sbtest1 using INTEGER PRIMARY KEY by rowid; \
                 RIGHT <- Index Scan on sbtest2 using k_2 covering]",
            ],
        ],
    );
}
