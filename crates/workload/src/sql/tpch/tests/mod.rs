//! The queries on SQLite: what they find, and the answers that are published.

mod published;

use std::sync::Arc;

use rqps_dbms::Dialect;
use rqps_plan::Dbms;
use rqps_wire::{SqliteLibrary, Target};

use super::*;
use crate::sql::client::{QueryClient, encoded};
use crate::sql::folder::{SqlFolder, read_made};
use crate::sql::load::fill;
use crate::sql::sets::draw;
use crate::task::WorkloadError;

const SETS: usize = 5;

fn folder(dbms: Dbms, dialect: Dialect) -> SqlFolder {
    read_made(made("0.01".parse().unwrap()), (dbms, dialect)).unwrap()
}

#[test]
fn every_dbms_has_all_queries() {
    for (dbms, dialect) in [
        (Dbms::Postgres, Dialect::POSTGRES),
        (Dbms::Mysql, Dialect::INNODB),
        (Dbms::Mariadb, Dialect::INNODB),
        (Dbms::Sqlite, Dialect::SQLITE),
    ] {
        let folder = folder(dbms, dialect);
        let ids: Vec<&str> = folder.queries.iter().map(|query| query.id.as_str()).collect();
        let expected: Vec<String> = (1..=22).map(|number| format!("q{number:02}")).collect();
        assert_eq!(ids, expected, "{dbms}");
        assert!(folder.queries.iter().all(|query| !query.class.writes()), "{dbms}");
        assert_eq!(folder.left_out, [""; 0]);
    }
}

/// Each returns as many rows as its file says, and finds some with one of its sets. Only large
/// orders are too rare for a hundredth of the scale.
#[test]
fn queries_find_rows_with_their_values() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("db");
    let target = Target::Sqlite { library: SqliteLibrary::bundled(), path, pragmas: Vec::new() };
    let mut folder = folder(Dbms::Sqlite, Dialect::SQLITE);
    let scale = "0.01".parse().unwrap();
    folder.rows = Some(MadeRows { scale, load: tables::load_with_few_texts });
    let mut connection = target.connect().unwrap();
    fill(&mut *connection, &folder, Dialect::SQLITE, &mut Err).unwrap();
    connection.run("analyze").unwrap();
    for query in &folder.queries {
        let select = &mut |sql: &str| connection.query(sql).map_err(WorkloadError::from);
        let drawn = draw(query, &folder.columns, 1, SETS, select).unwrap();
        let sets = Arc::new(encoded(query, &drawn.sets));
        let own = target.connect().unwrap();
        let mut client = QueryClient::new(own, query, Dialect::SQLITE, sets, 0).unwrap();
        let mut found = 0;
        for set in 0..SETS {
            let rows = client.answers(set, false).unwrap()[0].count;
            let is_expected = query.options.rows.is_none_or(|expected| expected.includes(rows));
            assert!(is_expected, "{}: {rows} rows", query.id);
            found += rows;
        }
        assert!(found > 0 || query.id == "q18", "{} finds nothing", query.id);
    }
}
