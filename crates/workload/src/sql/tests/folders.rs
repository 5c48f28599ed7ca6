//! Folders as users write them, right and wrong.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rqps_dbms::Dialect;
use rqps_plan::{Class, Dbms};
use tempfile::TempDir;

use crate::TimeLimit;
use crate::sql::csv::Record;
use crate::sql::faults::{FolderError, FolderFaults};
use crate::sql::folder::{FolderScope, SqlFolder, read};
use crate::sql::loaded::LoadedFile;
use crate::sql::query::{Enclosing, Releases};
use crate::sql::script::SqlScript;
use crate::sql::sets::{ParameterSets, draw};

/// A folder with these files.
pub(in crate::sql) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

pub(in crate::sql) fn read_for(path: &Path, dbms: &str) -> Result<SqlFolder, FolderFaults> {
    let dialect = match dbms {
        "postgres" => Dialect::POSTGRES,
        "sqlite" => Dialect::SQLITE,
        _ => Dialect::INNODB,
    };
    read(path, (dbms.parse().unwrap(), dialect), FolderScope::Everything)
}

pub(in crate::sql) fn statements(script: &SqlScript) -> Vec<String> {
    let mut all = Vec::new();
    script
        .each::<FolderError>(Dialect::POSTGRES.lexis, &mut |statement, _| {
            all.push(statement.text.to_string());
            Ok(())
        })
        .unwrap();
    all
}

const SHOP: &[(&str, &str)] = &[
    ("workload.toml", "name = \"shop\"\n[query.orders_of]\nweight = 20\n"),
    ("schema.sql", "create table orders (id int primary key, customer int, day date);"),
    (
        "schema.mysql.sql",
        "create table orders (id int primary key, customer int, day date) engine=innodb;",
    ),
    ("indexes.sql", "create index by_customer on orders (customer);"),
    ("load/02_orders.csv", "id,customer,day\n1,7,2026-01-02\n2,8,\n"),
    ("load/01-first.sql", "insert into orders values (0, 0, null);"),
    ("params/customers.csv", "id,name\n7,Ann\n8,\n9,\"\"\n"),
    (
        "queries/orders_of.sql",
        "-- rqps: weight = 5, class = point\n\
         -- rqps: param customer int from customers.csv#id\n\
         -- rqps: param name text from customers.csv#name\n\
         -- Of one customer.\n\
         select id from orders where customer = :customer and :name <> 'a:b'",
    ),
    (
        "queries/orders_of.postgres.sql",
        "-- rqps: param customer bigint = random(1, 9)\nselect id from orders where customer = :customer",
    ),
    (
        "queries/pay.sql",
        "-- rqps: transaction = rollback, only = postgres>=15, mysql, weight = 0.5\n\
         -- rqps: param id int from \"select id, customer from orders\"\n\
         -- rqps: param customer int from \"select id, customer from orders\"\n\
         -- rqps: param twice int = :id * 2\n\
         update orders set customer = :customer where id = :id;\n\
         update orders set day = null where id = :twice",
    ),
    ("README.md", "About this folder."),
];

#[test]
fn a_folder_is_read_for_each_dbms() {
    let shop = folder(SHOP);
    let postgres = read_for(shop.path(), "postgres").unwrap();
    assert_eq!(postgres.name, "shop");
    assert_eq!(postgres.schema.unwrap().file, "schema.sql");
    assert_eq!(
        statements(&postgres.indexes.unwrap()),
        ["create index by_customer on orders (customer)"]
    );
    let [first, orders] = &postgres.loads[..] else { panic!("{:?}", postgres.loads) };
    assert!(matches!(first, LoadedFile::Sql(script) if script.file == "load/01-first.sql"));
    assert!(
        matches!(orders, LoadedFile::Rows(it) if it.table == "orders" && it.rows().unwrap().count() == 2)
    );

    let [orders_of, pay] = &postgres.queries[..] else { panic!("{:?}", postgres.queries) };
    assert_eq!((orders_of.id.as_str(), orders_of.class), ("orders_of", Class::Range));
    assert_eq!(orders_of.file, "queries/orders_of.postgres.sql");
    assert_eq!(orders_of.options.weight, 20.0, "workload.toml wins");
    assert_eq!(
        orders_of.statements[0].prepared(Dialect::POSTGRES, |_| None).0,
        "select id from orders where customer = $1"
    );
    assert_eq!((pay.class, pay.options.transaction), (Class::ReadWrite, Enclosing::Rollback));
    assert_eq!(pay.options.weight, 0.5);
    assert_eq!(pay.statements[0].parameters, [1, 0]);
    assert_eq!(pay.statements[1].parameters, [2]);
    assert!(pay.options.is_for(dbms("postgres"), Some(&[16, 10])));
    assert!(!pay.options.is_for(dbms("postgres"), Some(&[14, 2])));

    let mariadb = read_for(shop.path(), "mariadb").unwrap();
    assert_eq!(mariadb.schema.unwrap().file, "schema.mysql.sql");
    assert_eq!(mariadb.left_out, ["pay"]);
    let [orders_of] = &mariadb.queries[..] else { panic!("{:?}", mariadb.queries) };
    assert_eq!(orders_of.class, Class::Point);
    let text = "select id from orders where customer = ? and ? <> 'a:b'";
    assert_eq!(orders_of.statements[0].prepared(Dialect::INNODB, |_| None).0, text);
}

fn dbms(name: &str) -> Dbms {
    name.parse().unwrap()
}

/// Files in place of, or beside, one good query; and the message.
const WRONG: &[(&[(&str, &str)], &str)] = &[
    (&[("queries/q.sql", "-- nothing")], "queries/q.sql: it has no statement"),
    (
        &[("queries/q.sql", "select 'a")],
        "queries/q.sql:1: the literal that begins here does not end: ' is missing",
    ),
    (
        &[("queries/q.sql", "\n\nselect /* a")],
        "queries/q.sql:3: the comment that begins here does not end: */ is missing",
    ),
    (&[("queries/q.txt", "")], "queries/q.txt: it is not a file .sql"),
    (
        &[("queries/a b.sql", "select 1")],
        "queries/a b.sql: 'a b' is no id. Use 1 to 64 letters, digits, '_', '.' and '-'",
    ),
    (
        &[("queries/Q1.sql", "select 1"), ("queries/q1.sql", "select 1")],
        "queries/q1.sql: its id 'q1' is that of queries/Q1.sql",
    ),
    (
        &[("queries/q.sql", "-- rqps: weigth = 2\nselect 1")],
        "queries/q.sql:1: unknown key 'weigth': did you mean 'weight'? (there are: id, weight, class, transaction, timeout, rows, order, float, only, except, param)",
    ),
    (
        &[("queries/q.sql", "-- rqps: weight = -1\nselect 1")],
        "queries/q.sql:1: weight = -1: it must be a number that is not negative",
    ),
    (
        &[("queries/q.sql", "-- rqps: timeout = 0\nselect 1")],
        "queries/q.sql:1: timeout = 0: nothing ends within no time",
    ),
    (
        &[("queries/q.sql", "-- rqps: weight\nselect 1")],
        "queries/q.sql:1: 'weight' is not 'key = value'",
    ),
    (
        &[("queries/q.sql", "-- rqps: class = pont\nselect 1")],
        "queries/q.sql:1: class = pont: unknown class: did you mean 'point'?",
    ),
    (
        &[("queries/q.sql", "-- rqps: only = postgers\nselect 1")],
        "queries/q.sql:1: only = postgers: unknown DBMS 'postgers': did you mean 'postgres'?",
    ),
    (
        &[("queries/q.sql", "-- rqps: only = postgres>=x\nselect 1")],
        "queries/q.sql:1: only = postgres>=x: 'postgres>=x' has no version, as in 15 or 8.0",
    ),
    (
        &[("queries/q.sql", "select 1\n-- rqps: weight = 2")],
        "queries/q.sql:2: '-- rqps:' must stand before the statement",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id intt = 1\nselect :id")],
        "queries/q.sql:1: unknown type 'intt': did you mean 'int'?",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int\nselect :id")],
        "queries/q.sql:1: 'param' is not complete. Write param NAME TYPE SOURCE",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int about 5\nselect :id")],
        "queries/q.sql:1: 'about 5' is no source. Write param NAME TYPE SOURCE",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int = radom(1, 2)\nselect :id")],
        "queries/q.sql:1: column 25: unexpected function name 'radom': did you mean 'random'?",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int = random(1, :most)\nselect :id")],
        "queries/q.sql:1: ':most' is no parameter before this: there are: default_seed",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int const x\nselect :id")],
        "queries/q.sql:1: 'x' is no value of type int",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int from \"select 1\nselect :id")],
        "queries/q.sql:1: the SELECT does not end: \" is missing",
    ),
    (
        &[(
            "queries/q.sql",
            "-- rqps: param id int const 1\n-- rqps: param id int const 2\nselect :id",
        )],
        "queries/q.sql:2: the parameter 'id' is declared twice",
    ),
    (
        &[("queries/q.sql", "-- rqps: param id int const 1\nselect 1")],
        "queries/q.sql:1: the parameter 'id' is not used",
    ),
    (
        &[("queries/q.sql", "select\n :id")],
        "queries/q.sql:2: ':id' has no source: add a line '-- rqps: param NAME TYPE SOURCE'",
    ),
    (
        &[
            ("queries/q.sql", "-- rqps: param id int from custom.csv#id\nselect :id"),
            ("params/customs.csv", "id\n1\n"),
        ],
        "queries/q.sql:1: params/ has no file 'custom.csv': did you mean 'customs.csv'?",
    ),
    (
        &[
            ("queries/q.sql", "-- rqps: param id int from a.csv#ids\nselect :id"),
            ("params/a.csv", "id\n1\n"),
        ],
        "queries/q.sql:1: params/a.csv has no column 'ids': did you mean 'id'?",
    ),
    (
        &[
            ("queries/q.sql", "-- rqps: param id int from a.csv#id\nselect :id"),
            ("params/a.csv", "id\n1\nx\n"),
        ],
        "params/a.csv:3: 'x' is no value of type int",
    ),
    (
        &[
            ("queries/q.sql", "-- rqps: param id int from a.csv#id\nselect :id"),
            ("params/a.csv", "id\n"),
        ],
        "params/a.csv: it has no rows",
    ),
    (&[("params/a.csv", "id,x\n1\n")], "params/a.csv:2: 1 fields, but the first line has 2 names"),
    (&[("params/a.txt", "id")], "params/a.txt: it is not a file .csv"),
    (
        &[("load/a.xlsx", "")],
        "load/a.xlsx: it is not loaded. Write .sql or .csv, which may be compressed (.gz, .zst), .parquet or .dump",
    ),
    (
        &[("load/a.sql", "insert into t values (:a)")],
        "load/a.sql:1: ':a' is a placeholder, which only queries have",
    ),
    (
        &[("load/a.sql", "COPY t FROM stdin;\n1\n")],
        "load/a.sql:1: the data of the COPY that begins here do not end. End them with a line \\.",
    ),
    (
        &[("load/a.sql", "\\i other.sql")],
        "load/a.sql:1: '\\i' is a command of psql, not SQL. Remove it",
    ),
    (
        &[("load/a.sql", "copy t from '/etc/passwd'")],
        "load/a.sql:1: COPY reads or writes a file, which a folder may not. Put the data into load/",
    ),
    (
        &[("load/a.sql", "select 1;\ncopy t from program 'id'")],
        "load/a.sql:2: COPY PROGRAM runs a program, which a folder may not. Put the data into load/",
    ),
    (
        &[("queries/q.sql", "select 1 into outfile '/tmp/x'")],
        "queries/q.sql:1: INTO OUTFILE writes a file, which a folder may not. Put the data into load/",
    ),
    (&[("schmea.sql", "")], "schmea.sql: nothing reads this file: did you mean 'schema.sql'?"),
    (
        &[("schema.postgers.sql", "")],
        "schema.postgers.sql: nothing reads this file: did you mean 'schema.postgres.sql'?",
    ),
    (
        &[("workload.toml", "nam = \"x\"")],
        "workload.toml:1: unknown key 'nam': did you mean 'name'?",
    ),
    (
        &[("workload.toml", "\nencoding = \"latin2\"")],
        "workload.toml:2: encoding = \"latin2\": did you mean 'latin1'?",
    ),
    (&[("workload.toml", "name = 5")], "workload.toml:1: name must be a text in quotes"),
    (&[("workload.toml", "\nname = ")], "workload.toml:2: "),
    (
        &[("workload.toml", "[query.good]\nwieght = 2")],
        "workload.toml:2: unknown key 'wieght': did you mean 'weight'?",
    ),
    (
        &[("workload.toml", "[query.goood]\nweight = 2")],
        "workload.toml: [query.goood]: did you mean 'good'?",
    ),
    (
        &[("workload.toml", "[query.good]\nweight = 0")],
        "queries: all weights are 0. Then nothing is measured",
    ),
];

#[test]
fn what_is_wrong_in_a_folder_is_said_with_file_and_line() {
    for (files, expected) in WRONG {
        let mut all = vec![("queries/good.sql", "select 1")];
        all.extend_from_slice(files);
        let folder = folder(&all);
        let error = read_for(folder.path(), "postgres").map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{files:?}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[test]
fn a_folder_without_queries_is_refused() {
    let empty = folder(&[]);
    let error = read_for(empty.path(), "sqlite").unwrap_err().to_string();
    assert!(error.ends_with("has no queries/ID.sql"), "{error}");
    let error = read_for(&empty.path().join("none"), "sqlite").unwrap_err().to_string();
    assert!(error.ends_with("/none' is not a folder, nor a file .toml"), "{error}");
    let file = folder(&[("a.sql", "")]);
    assert!(read_for(&file.path().join("a.sql"), "sqlite").is_err());
}

#[test]
fn nothing_outside_of_a_folder_is_read() {
    let other = folder(&[("secret.sql", "select 1")]);
    for link in ["queries/q.sql", "schema.sql", "workload.toml", "load", "params"] {
        let linked = folder(&[("queries/good.sql", "select 1")]);
        std::os::unix::fs::symlink(other.path().join("secret.sql"), linked.path().join(link))
            .unwrap();
        let error = read_for(linked.path(), "sqlite").unwrap_err().to_string();
        assert!(error.contains("is a symbolic link"), "{link}: {error}");
    }
}

#[test]
fn a_text_that_is_not_utf_8_is_read_where_its_encoding_is_said() {
    let shop = folder(&[]);
    fs::create_dir(shop.path().join("queries")).unwrap();
    fs::write(shop.path().join("queries/q.sql"), b"select 'caf\xe9'").unwrap();
    let error = read_for(shop.path(), "sqlite").unwrap_err().to_string();
    assert_eq!(
        error,
        "queries/q.sql: byte 12 is not UTF-8. Convert the file, or set encoding = \"latin1\" in \
         workload.toml"
    );
    fs::write(shop.path().join("workload.toml"), "encoding = \"latin1\"").unwrap();
    let read = read_for(shop.path(), "sqlite").unwrap();
    assert_eq!(
        read.queries[0].statements[0].prepared(Dialect::SQLITE, |_| None).0,
        "select 'café'"
    );
}

/// The sets of a query of a folder, where a SELECT returns these rows.
fn sets(
    folder: &SqlFolder,
    id: &str,
    seed: u64,
    rows: &[Record],
) -> Result<ParameterSets, FolderError> {
    let query = folder.queries.iter().find(|query| query.id == id).unwrap();
    draw(query, &folder.columns, seed, 100, &mut |_| Ok(rows.to_vec()))
}

fn record(fields: &[&str]) -> Record {
    fields.iter().map(|field| Some(field.to_string())).collect()
}

#[test]
fn sets_depend_on_the_seed_and_on_nothing_else() {
    let shop = folder(SHOP);
    let read = read_for(shop.path(), "postgres").unwrap();
    let mut rows: Vec<Record> = (1..=50).map(|id| record(&[&id.to_string(), "7"])).collect();
    let first = sets(&read, "pay", 1, &rows).unwrap();
    rows.reverse();
    assert_eq!(first, sets(&read, "pay", 1, &rows).unwrap(), "the order of rows does not matter");
    assert_ne!(first, sets(&read, "pay", 2, &rows).unwrap());
    assert_eq!(first.sets.len(), 100);

    // Another query in the folder changes nothing.
    fs::write(shop.path().join("queries/also.sql"), "select 1").unwrap();
    let more = read_for(shop.path(), "postgres").unwrap();
    assert_eq!(first, sets(&more, "pay", 1, &rows).unwrap());
    assert_eq!(sets(&more, "also", 1, &rows).unwrap().sets, [Record::new()]);
}

#[test]
fn the_columns_of_a_row_stay_together() {
    let shop = folder(SHOP);
    let read = read_for(shop.path(), "postgres").unwrap();
    let rows: Vec<Record> =
        (1..=50).map(|id| record(&[&id.to_string(), &(100 - id).to_string()])).collect();
    let drawn = sets(&read, "pay", 1, &rows).unwrap();
    assert!(drawn.remark.is_none());
    for set in drawn.sets {
        let [Some(id), Some(customer), Some(twice)] = &set[..] else { panic!("{set:?}") };
        let number = |text: &str| text.parse::<i32>().unwrap();
        assert_eq!(number(id) + number(customer), 100);
        assert_eq!(number(twice), 2 * number(id));
    }
    let sqlite = read_for(shop.path(), "sqlite").unwrap();
    let of_file = sets(&sqlite, "orders_of", 1, &[]).unwrap();
    let known = [("7", Some("Ann")), ("8", None), ("9", Some(""))];
    for set in &of_file.sets {
        let [Some(id), name] = &set[..] else { panic!("{set:?}") };
        assert!(known.contains(&(id, name.as_deref())), "{set:?}");
    }
    assert!(
        known.iter().all(|(id, _)| of_file.sets.iter().any(|set| set[0].as_deref() == Some(id)))
    );
}

#[test]
fn values_that_no_statement_can_take_are_refused() {
    let shop = folder(SHOP);
    let read = read_for(shop.path(), "postgres").unwrap();
    for (rows, expected) in [
        (vec![], "queries/pay.sql:2: parameter 'id': its SELECT returned no row"),
        (
            vec![record(&["1"])],
            "queries/pay.sql:3: parameter 'customer': its SELECT has 1 columns, but more \
             parameters take their values from it",
        ),
        (
            vec![record(&["1", "x"])],
            "queries/pay.sql:3: parameter 'customer': 'x' is no value of type int",
        ),
        (
            vec![record(&["2000000000", "1"])],
            "queries/pay.sql:4: parameter 'twice': '4000000000' is no value of type int",
        ),
    ] {
        let error = sets(&read, "pay", 1, &rows).unwrap_err().to_string();
        assert_eq!(error, expected);
    }
}

#[test]
fn few_sets_that_differ_are_told() {
    let few = folder(&[
        ("queries/q.sql", "-- rqps: param id int from a.csv#id\nselect :id"),
        ("params/a.csv", "id\n1\n2\n3\n4\n5\n6\n7\n8\n9\n"),
    ]);
    let read = read_for(few.path(), "sqlite").unwrap();
    let query = &read.queries[0];
    let drawn = |count| {
        draw::<FolderError>(query, &read.columns, 1, count, &mut |_| Ok(vec![])).unwrap().remark
    };
    let remark = drawn(3).unwrap();
    assert!(remark.ends_with("different sets of values, although its rows have 9"), "{remark}");
    assert_eq!(drawn(1000), None, "all nine rows are used");
}

#[test]
fn releases_are_compared_by_their_numbers() {
    let query = |only: &str| {
        let text = format!("-- rqps: only = {only}\nselect 1");
        let folder = folder(&[("queries/q.sql", &text), ("queries/good.sql", "select 1")]);
        let read = read_for(folder.path(), "postgres").unwrap();
        read.queries.into_iter().find(|query| query.id == "q").unwrap()
    };
    for (only, version, is_for) in [
        ("postgres", &[9, 6][..], true),
        ("postgres>=15", &[15, 3], true),
        ("postgres>=15", &[14, 9], false),
        ("postgres>15", &[15, 3], false),
        ("postgres>15", &[16], true),
        ("postgres<=15", &[15, 3], true),
        ("postgres<15.4", &[15, 3], true),
        ("postgres=16", &[16, 10], true),
        ("mysql, postgres>=17", &[16, 10], false),
    ] {
        let query = query(only);
        assert_eq!(query.options.is_for(dbms("postgres"), Some(version)), is_for, "{only}");
        assert!(!query.options.is_for(dbms("sqlite"), None));
    }
    let releases: Vec<Releases> = query("postgres").options.only;
    assert_eq!(releases.len(), 1);
}

#[test]
fn all_faults_of_a_folder_are_told_at_once() {
    let folder = folder(&[
        ("schema.sql", "create table t (id int);\ncreate table u ('"),
        ("load/1.txt", ""),
        ("params/p.csv", "id\n1,2\n"),
        ("queries/a.sql", "-- rqps: wieght = 2\n-- rqps: param id it const 1\nselect :id"),
        ("queries/b.sql", "select :x"),
        ("queries/c.postgers.sql", "select 1"),
        ("queries/d.sql", "-- rqps: param id int from p.csv#id\nselect :id"),
        ("schema.postgres", ""),
        ("workload.toml", "nmae = 'shop'"),
    ]);
    let told = read_for(folder.path(), "sqlite").unwrap_err().to_string();
    let lines: Vec<&str> = told.lines().collect();
    let mut expected = [
        "workload.toml:1: unknown key 'nmae'",
        "schema.postgres: nothing reads this file: did you mean 'schema.postgres.sql'?",
        "schema.sql:2: the literal",
        "load/1.txt: it is not loaded",
        "params/p.csv:2: 2 fields",
        "queries/c.postgers.sql: 'postgers' is no DBMS: did you mean 'postgres'?",
        "queries/a.sql:1: unknown key 'wieght'",
        "queries/a.sql:2: unknown type 'it'",
        "queries/b.sql:1: ':x' has no source",
    ]
    .to_vec();
    assert_eq!(lines[0], format!("{} faults:", expected.len()), "{told}");
    expected.retain(|begin| !lines.iter().any(|line| line.trim_start().starts_with(begin)));
    assert!(expected.is_empty(), "{expected:?} are missing of\n{told}");
}

#[test]
fn a_file_is_read_as_the_folder_that_it_stands_for() {
    let text = "name = \"shop\"\n\
                schema = \"create table t (id int);\"\n\
                load = '''\ninsert into t values (1);\n'''\n\
                [[query]]\nid = \"one\"\nweight = 2\ntimeout = \"3s\"\n\
                param = [\"id int = random(1, 9)\"]\n\
                sql = '''\nselect id\nfrom t where id = :id\n'''\n\
                [[query]]\nid = \"all\"\nsql = \"select * from t\"\n";
    let folder = folder(&[("shop.toml", text)]);
    let file = folder.path().join("shop.toml");
    let read = read_for(&file, "sqlite").unwrap();
    assert_eq!(read.name, "shop");
    let ids: Vec<&str> = read.queries.iter().map(|query| query.id.as_str()).collect();
    assert_eq!(ids, ["all", "one"]);
    let one = &read.queries[1];
    assert_eq!((one.options.weight, one.options.parameters.len()), (2.0, 1));
    assert_eq!(one.options.timeout, TimeLimit::After(Duration::from_secs(3)));
    // As in the file: the statement begins in line 12, and the load in line 4.
    assert_eq!((one.file.as_str(), one.statements[0].line), ("shop.toml", 12));
    let LoadedFile::Sql(load) = &read.loads[0] else { panic!("{:?}", read.loads) };
    load.each::<FolderError>(Dialect::SQLITE.lexis, &mut |statement, _| {
        assert_eq!((statement.line, statement.text), (4, "insert into t values (1)"));
        Ok(())
    })
    .unwrap();
    for (wrong, expected) in [
        ("[[query]]\nid = \"a\"\nsql = '''\nselect :x'''", "shop.toml:4: ':x' has no source"),
        ("[[query]]\nsql = \"select 1\"", "shop.toml:1: the query that begins here has no id"),
        ("shema = \"\"", "shop.toml:1: unknown key 'shema': did you mean 'schema'?"),
    ] {
        fs::write(&file, wrong).unwrap();
        let told = read_for(&file, "sqlite").unwrap_err().to_string();
        assert!(told.starts_with(expected), "{told}");
    }
}
