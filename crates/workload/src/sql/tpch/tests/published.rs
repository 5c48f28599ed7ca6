//! The answers that the standard prints for the scale factor 1, as the crate tpchgen has them.

use rqps_dbms::Dialect;
use rqps_plan::Dbms;
use rqps_wire::{SqliteLibrary, Target};
use tpchgen::q_and_a::QueryAndAnswer;

use crate::sql::folder::read_made;
use crate::sql::load::{fill, literal};
use crate::sql::query::SqlQuery;
use crate::sql::tpch::made;

/// The values of these answers (clauses 2.4.1.4 to 2.4.22.4), for the parameters in their order.
const VALUES: [&[&str]; 22] = [
    &["1998-09-02"],
    &["15", "%BRASS", "EUROPE"],
    &["BUILDING", "1995-03-15"],
    &["1993-07-01", "1993-10-01"],
    &["ASIA", "1994-01-01", "1995-01-01"],
    &["1994-01-01", "1995-01-01", "0.05", "0.07", "24"],
    &["FRANCE", "GERMANY"],
    &["BRAZIL", "AMERICA", "ECONOMY ANODIZED STEEL"],
    &["%green%"],
    &["1993-10-01", "1994-01-01"],
    &["GERMANY", "0.0001"],
    &["MAIL", "SHIP", "1994-01-01", "1995-01-01"],
    &["%special%requests%"],
    &["1995-09-01", "1995-10-01"],
    &["1996-01-01", "1996-04-01"],
    &["Brand#45", "MEDIUM POLISHED%", "49", "14", "23", "45", "19", "3", "36", "9"],
    &["Brand#23", "MED BOX"],
    &["300"],
    &["1", "10", "20", "Brand#12", "Brand#23", "Brand#34"],
    &["forest%", "CANADA", "1994-01-01", "1995-01-01"],
    &["SAUDI ARABIA"],
    &["13", "31", "23", "29", "30", "18", "17"],
];

/// Numbers are printed with two digits behind the point.
const ROUNDED: f64 = 0.005_1;

/// This one was rounded on the way, to 348406.02. Other engines publish 348406.054, as found here.
const ROUNDED_MORE: (&str, f64) = ("q17", 0.04);

/// The crate's copy of this answer has part keys without their last two digits: 1297 for 129760.
const KEYS_ARE_CUT: &str = "q11";

fn with_values(query: &SqlQuery, values: &[&str]) -> String {
    let parameters = &query.options.parameters;
    assert_eq!(parameters.len(), values.len(), "{}", query.id);
    let value =
        |place: usize| literal(Some(values[place]), parameters[place].kind, Dialect::SQLITE.lexis);
    query.statements[0].filled(value)
}

fn is_alike(printed: &str, found: &str, rounded: f64) -> bool {
    let (printed, found) = (printed.trim(), found.trim());
    let numbers = printed.parse::<f64>().ok().zip(found.parse::<f64>().ok());
    printed == found || numbers.is_some_and(|(printed, found)| (printed - found).abs() <= rounded)
}

#[test]
#[ignore = "takes minutes and 2 GB of disk: see .ci/nightly"]
fn answers_are_those_that_the_standard_prints() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("db");
    let pragmas = vec![("synchronous".to_string(), "off".to_string())];
    let target = Target::Sqlite { library: SqliteLibrary::bundled(), path, pragmas };
    let folder = read_made(made("1".parse().unwrap()), (Dbms::Sqlite, Dialect::SQLITE)).unwrap();
    let mut connection = target.connect().unwrap();
    fill(&mut *connection, &folder, Dialect::SQLITE, &mut Err).unwrap();
    connection.run("analyze").unwrap();
    let mut differing = Vec::new();
    for (query, values) in folder.queries.iter().zip(VALUES) {
        let number = query.id[1..].parse().unwrap();
        let published = QueryAndAnswer::new(number, 1.0).unwrap();
        let lines = published.answer().lines().filter(|line| !line.trim().is_empty()).skip(1);
        let printed: Vec<Vec<&str>> = lines.map(|line| line.split('|').collect()).collect();
        let found = connection.query(&with_values(query, values)).unwrap();
        assert_eq!(found.len(), printed.len(), "rows of {}", query.id);
        let rounded = if query.id == ROUNDED_MORE.0 { ROUNDED_MORE.1 } else { ROUNDED };
        let differ = |(printed, found): (&Vec<&str>, &Vec<Option<String>>)| {
            let mut found: Vec<&str> =
                found.iter().map(|field| field.as_deref().unwrap_or_default()).collect();
            if query.id == KEYS_ARE_CUT {
                found[0] = &found[0][..found[0].len() - 2];
            }
            let all = printed.iter().zip(&found).all(|(one, other)| is_alike(one, other, rounded));
            let is_same = all && printed.len() == found.len();
            (!is_same).then(|| format!("{}: {found:?}, not {printed:?}", query.id))
        };
        differing.extend(printed.iter().zip(&found).find_map(differ));
    }
    assert!(differing.is_empty(), "{differing:#?}");
}
