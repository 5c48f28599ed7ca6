//! How a DBMS executes a statement: its query plan as text for people, and as a tree by which two
//! plans can be compared.

use rqps_plan::QueryPlan;
use rqps_wire::{Connection, Error};

use crate::Dialect;

/// As text, null where a field has none.
type Rows = Vec<Vec<Option<String>>>;

/// A statement that a client sends, and its query plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// With `?` for values; of a long list only the first.
    pub text: String,
    /// How often an operation sends it.
    pub times: u32,
    /// Nodes and indexes of the query plan, the outermost first; none if the DBMS shows none, or
    /// there is nothing to plan.
    pub plan: Option<String>,
    /// The query plan as a tree; none if it is not known, or there is nothing to plan.
    pub tree: Option<QueryPlan>,
    /// Several processes of the server work on it.
    pub is_parallel: bool,
    /// Microseconds of planning, as the DBMS reports them; none if it does not.
    pub planning: Option<f64>,
}

impl Explained {
    /// A statement that is sent once and has no query plan.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Explained {
            text: text.into(),
            times: 1,
            plan: None,
            tree: None,
            is_parallel: false,
            planning: None,
        }
    }
}

/// How often a statement is planned to time that: at the first time, a session also reads the
/// catalogue of the table.
const PLANNED: usize = 3;

/// The query plan of a statement that an operation sends once: `text`, with its values filled in as
/// `sql`.
pub(crate) fn explained(
    connection: &mut dyn Connection,
    dialect: Dialect,
    text: String,
    sql: &str,
) -> Result<Explained, Error> {
    for explain in dialect.explain {
        if let Some((rows, planning)) = asked(connection, &format!("{explain} {sql}"))? {
            let plan = Some(shape(dialect, rows)).filter(|shape| !shape.is_empty());
            let tree = (dialect.query_plan)(connection, sql)?;
            let nodes = tree.iter().flat_map(QueryPlan::nodes);
            let is_parallel =
                nodes.into_iter().any(|node| dialect.parallel.contains(&node.operator.as_str()));
            return Ok(Explained { plan, tree, is_parallel, planning, ..Explained::plain(text) });
        }
    }
    Ok(Explained::plain(text))
}

/// The answer to one form of EXPLAIN, with the shortest planning time if it has one; none if the
/// DBMS does not know that form.
fn asked(
    connection: &mut dyn Connection,
    statement: &str,
) -> Result<Option<(Rows, Option<f64>)>, Error> {
    let mut answer = None;
    let mut least = f64::INFINITY;
    for _ in 0..PLANNED {
        let rows = match connection.query(statement) {
            Err(error) if !error.is_disconnect() => return Ok(None),
            rows => rows?,
        };
        let Some(micros) = rows.iter().flatten().flatten().find_map(|line| planning(line)) else {
            return Ok(Some((rows, None)));
        };
        least = least.min(micros);
        answer = Some((rows, Some(least)));
    }
    Ok(answer)
}

/// Microseconds in `Planning Time: 0.041 ms`, as Postgres writes it; before 12 with a small `t`.
fn planning(line: &str) -> Option<f64> {
    let (what, time) = line.split_once(": ")?;
    let millis = time.strip_suffix(" ms").filter(|_| what.eq_ignore_ascii_case("planning time"))?;
    millis.parse::<f64>().ok().map(|millis| 1e3 * millis)
}

/// The shape of a query plan: nodes, indexes and the order of joins.
fn shape(dialect: Dialect, rows: Rows) -> String {
    let nodes: Vec<String> = rows.into_iter().filter_map(dialect.plan_node).collect();
    nodes.join(" <- ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Rows {
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
        assert_eq!(shape(Dialect::POSTGRES, postgres), expected);
        let sqlite = rows(&[&["3", "0", "62", "SEARCH sbtest1 USING INTEGER PRIMARY KEY"]]);
        assert_eq!(shape(Dialect::SQLITE, sqlite), "SEARCH sbtest1 USING INTEGER PRIMARY KEY");
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
        assert_eq!(shape(Dialect::INNODB, rows(&[old])), "sbtest1 range by PRIMARY");
        assert_eq!(shape(Dialect::INNODB, rows(&[new])), "sbtest1 range by PRIMARY, using index");
    }

    #[test]
    fn what_planning_took_is_read_from_a_line_of_its_own() {
        for line in ["Planning Time: 1.243 ms", "Planning time: 1.243 ms"] {
            assert_eq!(planning(line), Some(1243.0));
        }
        for line in
            ["Execution Time: 1.243 ms", "Planning:", "  Buffers: shared hit=3", "Delete on pi1"]
        {
            assert_eq!(planning(line), None);
        }
    }
}
