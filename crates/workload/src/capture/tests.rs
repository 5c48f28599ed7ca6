//! Logs and statistics as servers write them, and what becomes of them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rqps_plan::Dbms;
use tempfile::TempDir;

use super::*;
use crate::check_files;

const ALL: CaptureOptions<'_> = CaptureOptions { format: None, database: None, share: 1.0 };

/// A file with this text, captured into a folder beside it.
fn captured(name: &str, text: &str, options: CaptureOptions<'_>) -> Result<TempDir, CaptureError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    capture_file(&file, options)?.write(&folder.path().join("shop"), name, None)?;
    Ok(folder)
}

/// The files below a folder with their texts; ids without their hashes.
fn files(folder: &Path, below: &str) -> Vec<(String, String)> {
    let path = folder.join("shop").join(below);
    let read = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let (id, _) = name.rsplit_once('_').unwrap();
        (id.to_string(), fs::read_to_string(&path).unwrap().replace(&name, id))
    };
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(read).collect();
    files.sort();
    files
}

fn page(folder: &TempDir) -> String {
    fs::read_to_string(folder.path().join("shop/capture.md")).unwrap()
}

/// The first column that is a share, of all rows, in hundredths of a percent.
fn sum_of_shares(page: &str) -> u32 {
    let cells = page.lines().filter(|line| line.starts_with("| ")).filter_map(|line| {
        let share = line.split('|').find_map(|cell| cell.trim().strip_suffix(" %"))?;
        share.replace('.', "").parse::<u32>().ok()
    });
    cells.sum()
}

/// A line of a csvlog of Postgres 16.
fn line(session: &str, message: &str, detail: &str, context: &str) -> String {
    let quoted = |text: &str| match text {
        "" => String::new(),
        text => format!("\"{}\"", text.replace('"', "\"\"")),
    };
    format!(
        "2026-11-26 12:00:00.123 UTC,\"app\",\"shop\",77,\"[local]\",{session},1,\"SELECT\",\
         2026-11-26 11:00:00 UTC,3/4,0,LOG,00000,{},{},,,,{},,,,\"app\",\"client backend\",,0\n",
        quoted(message),
        quoted(detail),
        quoted(context)
    )
}

#[test]
fn a_csvlog_has_statements_with_their_parameters_and_times() {
    let log: String = [
        line("a.1", "connection received: host=[local]", "", ""),
        line("a.1", "duration: 0.100 ms  parse <unnamed>: select * from t where id = $1", "", ""),
        line(
            "a.1",
            "duration: 0.200 ms  bind <unnamed>: select * from t where id = $1",
            "Parameters: $1 = '71'",
            "",
        ),
        line(
            "a.1",
            "duration: 4.000 ms  execute <unnamed>: select * from t where id = $1",
            "Parameters: $1 = '71'",
            "",
        ),
        line(
            "a.1",
            "duration: 2.000 ms  execute s1: select * from t where id = $1",
            "parameters: $1 = 'it''s, $2 = 1'",
            "",
        ),
        line(
            "a.1",
            "duration: 2.000 ms  execute s1: select * from t where id = $1",
            "Parameters: $1 = 'abc...'",
            "",
        ),
        // With log_statement and log_duration, in two sessions at once.
        line("a.1", "statement: update t\n  set n = 'x' where id = 5", "", ""),
        line("b.2", "statement: SET search_path = 'secret'", "", ""),
        line("a.1", "duration: 1.000 ms", "", ""),
        line("b.2", "duration: 1.000 ms", "", ""),
        line(
            "b.2",
            "duration: 9.000 ms  statement: select 1",
            "",
            "SQL function \"f\" statement 1",
        ),
    ]
    .concat();
    let folder = captured("x.csv", &log, ALL).unwrap();
    assert_eq!(
        files(folder.path(), "queries"),
        [
            (
                "select_t".to_string(),
                "-- rqps: weight = 3\n-- rqps: param p1 text from select_t.csv#p1\n\
                 select * from t where id = :p1\n"
                    .to_string()
            ),
            (
                "update_t".to_string(),
                "-- rqps: weight = 1\n-- rqps: transaction = rollback\n\
                 -- rqps: param c1 text literal from update_t.csv#c1\n\
                 -- rqps: param c2 int literal from update_t.csv#c2\n\
                 update t\n  set n = :c1 where id = :c2\n"
                    .to_string()
            ),
        ]
    );
    let params = files(folder.path(), "params");
    assert_eq!(params[0].1, "p1\n\"71\"\n\"it's, $2 = 1\"\n", "a value that is cut is not used");
    assert_eq!(params[1].1, "c1,c2\n\"x\",\"5\"\n");
    let page = page(&folder);
    assert!(page.contains("Measured: 90.00 % of the captured time, 2 statements"), "{page}");
    assert!(page.contains("| 10.00 % | 1 | it reads or changes settings |"), "{page}");
    assert!(page.contains("logged: 2 sets"), "{page}");
    assert!(page.contains("1 statements within functions are not counted"), "{page}");
    assert!(!page.contains("secret") && !page.contains("71"), "no values: {page}");
    assert_eq!(sum_of_shares(&page), 10_000);
    let mode = folder.path().join("shop").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700, "the folder has values");
    check_files(&folder.path().join("shop"), dbms("postgres"), Dialect::POSTGRES).unwrap();
}

fn dbms(name: &str) -> Dbms {
    name.parse().unwrap()
}

#[test]
fn an_execution_that_auto_explain_logs_too_counts_once() {
    let plan = |text: &str| {
        let json = serde_json::json!({
            "Query Text": text, "Query Parameters": "$1 = '7', $2 = NULL", "Plan": {}
        });
        format!("duration: 3.000 ms  plan:\n{json}")
    };
    let text = "select * from t where a = $1 and b = $2";
    let log: String = [
        line("a.1", &plan(text), "", ""),
        line(
            "a.1",
            &format!("duration: 3.100 ms  execute <unnamed>: {text}"),
            "Parameters: $1 = '7', $2 = NULL",
            "",
        ),
        line("a.1", &plan(text), "", ""),
        line("a.1", "duration: 3.000 ms  plan:\nQuery Text: select 1\nResult", "", ""),
    ]
    .concat();
    let folder = captured("x.csv", &log, ALL).unwrap();
    let queries = files(folder.path(), "queries");
    assert!(queries[0].1.starts_with("-- rqps: weight = 2\n"), "{queries:?}");
    assert_eq!(files(folder.path(), "params")[0].1, "p1,p2\n\"7\",\\N\n\"7\",\\N\n");
    assert!(page(&folder).contains("1 lines of auto_explain are not JSON"));
}

const SLOW: &str = "\
/usr/sbin/mysqld, Version: 8.0.33 (MySQL Community Server - GPL). started with:
Tcp port: 3306  Unix socket: /tmp/mysql.sock
Time                 Id Command    Argument
# Time: 2026-11-26T12:00:00.123456Z
# User@Host: app[app] @ localhost []  Id:     8
# Query_time: 0.003000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use shop;
SET timestamp=1700000000;
SELECT *
# of one customer
FROM orders WHERE customer = 7;
# Time: 2026-11-26T12:00:01.123456Z
# User@Host: app[app] @ localhost []  Id:     8
# Query_time: 0.001000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1700000000;
insert into orders values (1, 'it\\'s');
# Time: 2026-11-26T12:00:02.123456Z
# User@Host: app[app] @ localhost []  Id:     9
# Query_time: 0.000500  Lock_time: 0.000001 Rows_sent: 0  Rows_examined: 0
SET timestamp=1700000000;
# administrator command: Quit;
# User@Host: app[app] @ localhost []
# Thread_id: 9  Schema: shop  QC_hit: No
# Query_time: 0.004000  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
SET timestamp=1700000000;
SELECT * FROM orders WHERE customer = 8;
";

#[test]
fn a_slow_log_has_statements_with_their_values_and_times() {
    let folder = captured("slow.log", SLOW, ALL).unwrap();
    let queries = files(folder.path(), "queries");
    let names: Vec<&str> = queries.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["insert_orders", "select_orders"], "a comment makes no other statement");
    assert!(queries[0].1.contains("transaction = rollback"), "{queries:?}");
    assert!(files(folder.path(), "params")[0].1.contains("\"1\",\"it's\""));
    let page = page(&folder);
    assert!(page.contains("| 87.50 % | 2 | 3.500 ms | logged: 2 sets |"), "{page}");
    assert_eq!(sum_of_shares(&page), 10_000);
    check_files(&folder.path().join("shop"), dbms("mysql"), Dialect::INNODB).unwrap();
    // Under gzip, too.
    let packed = tempfile::tempdir().unwrap();
    let path = packed.path().join("slow.log.gz");
    let file = fs::File::create(&path).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
    io::Write::write_all(&mut encoder, SLOW.as_bytes()).unwrap();
    encoder.finish().unwrap();
    assert!(capture_file(&path, ALL).is_ok());
}

#[test]
fn a_logged_execution_stands_for_those_that_were_not_sampled() {
    let entry = |limit: &str, id: u32| {
        format!(
            "# User@Host: app[app] @ localhost []  Id:     8\n# Schema: shop  Last_errno: 0  \
             Killed: 0\n# Query_time: 0.004000  Lock_time: 0.000001 Rows_sent: 1  \
             Rows_examined: 1\n{limit}SET timestamp=1700000000;\n\
             select id from orders where customer = {id};\n"
        )
    };
    let sampled = "# Log_slow_rate_type: query  Log_slow_rate_limit: 10\n";
    let log = entry(sampled, 7) + &entry(sampled, 8) + &entry("", 9);
    let folder = captured("slow.log", &log, ALL).unwrap();
    let [(_, text)] = &files(folder.path(), "queries")[..] else { panic!("one statement") };
    assert!(text.starts_with("-- rqps: weight = 21\n"), "{text}");
    assert!(page(&folder).contains("one of 10 executions was logged"), "{}", page(&folder));
}

#[test]
fn a_report_of_pt_query_digest_has_examples_with_their_counts() {
    let new = r#"{"classes":[{"checksum":"A","fingerprint":"select id from orders where customer = ?",
        "query_count":30,"example":{"query":"select id from orders where customer = 7"},
        "ts_min":"2026-11-20 12:00:00","ts_max":"2026-11-26 12:00:00",
        "metrics":{"Query_time":{"sum":"0.120000"},"Rows_sent":{"sum":"60"},"db":{"value":"shop"}}}],
        "global":{}}"#;
    let old = r#"[{"class":{"checksum":"A","fingerprint":"select id from orders where customer = ?",
        "cnt":30,"sample":"select id from orders where customer = 7"},
        "attributes":{"Query_time":{"sum":"0.120000"},"db":{"value":"shop"}}}]"#;
    for (text, knows_days) in [(new, true), (old, false)] {
        let folder = captured("digest.json", text, ALL).unwrap();
        let [(_, query)] = &files(folder.path(), "queries")[..] else { panic!("one statement") };
        assert!(query.starts_with("-- rqps: weight = 30\n"), "{query}");
        assert!(query.contains("where customer = :"), "{query}");
        let toml = fs::read_to_string(folder.path().join("shop/workload.toml"));
        assert_eq!(toml.is_ok_and(|it| it.contains("days = 6.0000")), knows_days);
    }
    let anonymous = r#"{"classes":[{"fingerprint":"select ?","query_count":1}]}"#;
    let error = captured("digest.json", anonymous, ALL).unwrap_err().to_string();
    assert!(error.contains("--output json-anon leaves out. Use --output json"), "{error}");
}

#[test]
fn a_folder_knows_of_how_many_days_its_calls_are() {
    let entry = |at: u32| {
        format!(
            "# User@Host: app[app] @ localhost []  Id:     8\n# Query_time: 0.004000  Lock_time: \
             0.000001 Rows_sent: 1  Rows_examined: 1\nuse shop;\nSET timestamp={at};\n\
             select id from orders where customer = 7;\n"
        )
    };
    let days = |text: &str, name: &str| {
        let folder = captured(name, text, ALL).unwrap();
        fs::read_to_string(folder.path().join("shop/workload.toml")).ok()
    };
    let log = entry(1_700_000_000) + &entry(1_700_216_000);
    let expected = "# The weights are the calls of so many days.\ndays = 2.5000\n";
    assert_eq!(days(&log, "slow.log").as_deref(), Some(expected));
    assert_eq!(days(&entry(1_700_000_000), "slow.log"), None, "a moment says little of a day");
    let first = line("s1", "duration: 1.5 ms  statement: select 1 from t where id = 7", "", "");
    let last = first.replacen("2026-11-26 12", "2026-11-27 18", 1);
    let told = days(&(first + &last), "postgres.csv").unwrap();
    assert!(told.ends_with("days = 1.2500\n"), "{told}");
}

#[test]
fn a_general_log_has_calls_without_times_and_bound_values() {
    let log = "mysqld, Version: 8.0.33 (MySQL). started with:\n\
        Time                 Id Command    Argument\n\
        2026-11-26T12:00:00.1Z\t    8 Connect\tapp@localhost on shop using Socket\n\
        2026-11-26T12:00:00.1Z\t    8 Query\tselect *\nfrom orders where id = 7\n\
        2026-11-26T12:00:00.1Z\t    8 Prepare\tselect total from orders where id = ?\n\
        2026-11-26T12:00:00.1Z\t    8 Execute\tselect total from orders where id = 7\n\
        2026-11-26T12:00:00.1Z\t    8 Execute\tselect total from orders where id = 8\n\
        2026-11-26T12:00:00.1Z\t    9 Query\tuse other\n\
        2026-11-26T12:00:00.1Z\t    9 Query\tcommit\n\
        2026-11-26T12:00:00.1Z\t    8 Quit\t\n";
    let folder = captured("general.log", log, ALL).unwrap();
    let queries = files(folder.path(), "queries");
    assert!(
        queries.iter().any(|(_, text)| text
            .contains("weight = 2\n-- rqps: param c1 int from select_orders.csv#c1\nselect total")),
        "{queries:?}"
    );
    assert!(queries.iter().any(|(_, text)| text.contains("c1 int literal")), "{queries:?}");
    let page = page(&folder);
    assert!(page.contains("75.00 % of the captured calls"), "{page}");
    assert!(page.contains("a general log has no times"), "{page}");
}

#[test]
fn statistics_in_a_file_have_no_values_of_parameters() {
    let file = "queryid,query,calls,total_exec_time,rows\n\
        1,select * from orders where customer = $1 limit $2,10,90.5,50\n\
        2,insert into orders (id) values ($1),5,5,5\n\
        3,\"select lower($1), \"\"a\"\" from orders\",5,3.5,5\n\
        4,<insufficient privilege>,5,1,5\n";
    let folder = captured("x.csv", file, ALL).unwrap();
    assert_eq!(
        files(folder.path(), "queries")[0].1,
        "-- rqps: weight = 10\n\
         -- rqps: param p1 text from \"select customer from orders as r0 where customer is not null\"\n\
         -- rqps: param p2 bigint const 5\n\
         select * from orders where customer = :p1 limit :p2\n"
    );
    let page = page(&folder);
    for said in [
        "Measured: 90.50 % of the captured time, 1 statements",
        "data: orders.customer; LIMIT: the mean number of rows",
        "no values for $1: new rows need keys, and the source has no catalog",
        "no values for $1: it is compared with no column",
        "its text is hidden. Capture it as a member of pg_read_all_stats",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert_eq!(sum_of_shares(&page), 10_000);
}

#[test]
fn digests_in_a_file_have_an_example_if_it_is_whole() {
    let file = "SCHEMA_NAME,DIGEST_TEXT,COUNT_STAR,SUM_TIMER_WAIT,SUM_ROWS_SENT,QUERY_SAMPLE_TEXT\n\
        shop,SELECT COUNT ( * ) FROM `orders` WHERE `customer` = ?,4,4000000000,4,select count(*) from orders where customer = 7\n\
        shop,SELECT COUNT ( * ) FROM `orders` WHERE `day` = ?,4,3000000000,4,\n\
        shop,SELECT `id` FROM `orders` WHERE ...,4,3000000000,4,select id...\n";
    let folder = captured("x.csv", file, ALL).unwrap();
    let queries = files(folder.path(), "queries");
    assert_eq!(
        queries[0].1,
        "-- rqps: weight = 4\n-- rqps: param c1 int literal from select_orders.csv#c1\n\
         select count(*) from orders where customer = :c1\n"
    );
    assert!(queries[1].1.contains("from \"select `day` from `orders` as r0"), "{queries:?}");
    assert!(page(&folder).contains("its text is cut: raise max_digest_length"));
}

#[test]
fn what_is_no_source_is_refused_with_what_there_is() {
    let refused = |name: &str, text: &str, options| {
        captured(name, text, options).map(drop).unwrap_err().to_string()
    };
    let unknown = refused("x.log", "LOG:  statement: select 1\n", ALL);
    assert!(unknown.starts_with("it is none of the files that"), "{unknown}");
    let format = CaptureOptions { format: Some("slowlog"), ..ALL };
    let expected = "unknown format 'slowlog': did you mean 'slow-log'?";
    assert!(refused("x", "", format).starts_with(expected));
    let several = SLOW.replace("Schema: shop", "Schema: other");
    let both = refused("slow.log", &several, ALL);
    assert!(both.contains("several databases, the largest first: shop, other"), "{both}");
    let one = CaptureOptions { database: Some("other"), ..ALL };
    assert!(captured("slow.log", &several, one).is_ok());
    let none = CaptureOptions { database: Some("else"), ..ALL };
    assert!(refused("slow.log", &several, none).contains("It has: shop, other"));
    let cut = line("a.1", "statement: select 1", "", "") + "no, line\n";
    assert_eq!(refused("x.csv", &cut, ALL), "line 2: it is no line of a csvlog");
}

#[test]
fn a_share_leaves_out_the_smallest_statements() {
    let options = CaptureOptions { share: 0.5, ..ALL };
    let folder = captured("slow.log", SLOW, options).unwrap();
    assert_eq!(files(folder.path(), "queries").len(), 1);
    let page = page(&folder);
    assert!(page.contains("it is beyond 50 %"), "{page}");
    assert_eq!(sum_of_shares(&page), 10_000);
}

#[test]
fn a_page_shows_no_secrets_and_foreign_text_is_no_markup() {
    let secrets = [
        "alter role app password 'hunter1'",
        "alter role app password hunter2",
        "select a from t where b = E'hunter3' and c = $$hunter4$$ and d = 4111111111111111e0",
        "select /*+ hunter5 */ a from t where b like'hunter6' and c = x'4111'",
        "select a from t where b = 'hunter7",
        "hunter8 hunter8",
        "select `a```, \"b|c\" || $1 from t where d = '<img>'",
    ];
    let lines =
        secrets.map(|text| line("a.1", &format!("duration: 1.000 ms  statement: {text}"), "", ""));
    let folder = captured("<b>|.csv", &lines.concat(), ALL).unwrap();
    let page = page(&folder);
    for secret in ["hunter", "4111"] {
        assert!(!page.contains(secret), "{secret}: {page}");
    }
    assert!(page.contains("From \\<b\\>\\|.csv"), "{page}");
    assert!(page.contains("```` select `a```, \"b\\|c\" \\|\\| $1 from"), "{page}");
    assert_eq!(sum_of_shares(&page), 10_000);
}

#[test]
fn a_name_with_a_new_line_does_not_leave_its_comment() {
    let name = "\"a\ndrop table orders; --\"";
    let file = format!(
        "queryid,query,calls,total_exec_time,rows\n\
         1,\"select * from orders where {0} = $1\",10,90,50\n\
         2,\"select * from {0} where id = $1\",10,5,50\n\
         3,\"select id from orders where {0} is null\",5,4,5\n\
         4,\"select \"\"\n-- rqps: transaction = none\n\"\" from orders\",5,1,5\n",
        name.replace('"', "\"\"")
    );
    let folder = captured("x.csv", &file, ALL).unwrap();
    let page = page(&folder);
    let why = "the name of its table or column has a control character";
    assert_eq!(page.matches(why).count(), 2, "{page}");
    assert!(page.contains("a file would not be read as its statement"), "{page}");
    let queries = files(folder.path(), "queries");
    assert_eq!(queries.len(), 1, "a name within the statement is no harm: {queries:?}");
    let statements = crate::sql::split(&queries[0].1, Dialect::POSTGRES.lexis).unwrap();
    assert_eq!(statements.len(), 1, "{queries:?}");
    check_files(&folder.path().join("shop"), dbms("postgres"), Dialect::POSTGRES).unwrap();
}

#[test]
fn a_statement_with_many_values_is_filled_in_the_order_of_its_columns() {
    let list = (1..=4000).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
    let file = format!(
        "queryid,query,calls,total_exec_time,rows\n\
         1,\"select * from orders where day between $4001 and $4002 and id in ({list}) \
         and day between $4003 and $4004\",10,90,50\n"
    );
    let folder = captured("x.csv", &file, ALL).unwrap();
    let query = &files(folder.path(), "queries")[0].1;
    for said in [
        "param p1 text from \"select id from orders as r0 where",
        "param p4000 text from \"select id from orders as r3999 where",
        "param p4004 text from \"select low, high from (select day as low, lead(day, 5) over \
         (order by day) as high from orders) as r1 where",
    ] {
        assert!(query.contains(said), "{said}");
    }
}

#[test]
fn shares_add_up() {
    assert_eq!(shares(&[1.0, 1.0, 1.0]), [3334, 3333, 3333]);
    let many: Vec<f64> = (1..400).map(|n| 1.0 / f64::from(n)).collect();
    assert_eq!(shares(&many).iter().sum::<u32>(), 10_000);
}
