//! `rqps sql capture`: from servers that executed known statements, and from their logs.

use std::fs;
use std::path::Path;

use rqps_wire::{Connection, Type, Value};

use crate::common::result::Finished;
use crate::common::{Rqps, Running, await_that, directory};
use crate::guest::server::Server;

/// Statements that are told apart, each executed as often as its number says, and their share of
/// all calls.
const STATEMENTS: usize = 40;

const TABLE: &str = "create table orders (id int primary key, customer int not null, day date, \
                     total numeric(10, 2) not null, note varchar(40))";

/// The `n`th of them. Each form of statement comes several times, with other columns.
fn statement(n: usize, value: usize) -> String {
    let column = ["id", "customer", "day", "total", "note"][n % 5];
    let list = ["id", "customer", "total", "id + 1", "customer + 1", "note", "day", "total + 1"];
    let list = list[n / 5];
    match n % 5 {
        2 => format!("select {list} from orders where {column} > '2026-01-{:02}'", 1 + value % 20),
        4 => format!("select {list} from orders where {column} = 'note {value}'"),
        _ => format!("select {list} from orders where {column} = {value}"),
    }
}

/// Executes all of them, and some that cannot be measured.
fn execute(connection: &mut dyn Connection) {
    for n in 0..STATEMENTS {
        for value in 0..=n {
            connection.query(&statement(n, value)).unwrap();
        }
    }
    for other in ["begin", "update orders set total = total + 1 where id = 7", "commit"] {
        connection.run(other).unwrap();
    }
}

fn fill(connection: &mut dyn Connection) {
    connection.run(TABLE).unwrap();
    let rows = (0..200).map(|id| {
        format!("({id}, {}, '2026-01-{:02}', {id}.5, 'note {id}')", id % 20, 1 + id % 28)
    });
    let rows: Vec<String> = rows.collect();
    connection.run(&format!("insert into orders values {}", rows.join(", "))).unwrap();
}

fn capture(rqps: &Rqps, source: &str, more: &[&str]) -> Finished {
    let out = rqps.path("shop").display().to_string();
    let words = ["sql", "capture", source, "--out", &out];
    Running::start(rqps.command(words.iter().chain(more))).finish()
}

/// The weights of the captured queries, sorted.
fn weights(folder: &Path) -> Vec<u64> {
    let queries = fs::read_dir(folder.join("queries")).unwrap();
    let weight = |entry: std::io::Result<fs::DirEntry>| {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        let (_, rest) = text.split_once("weight = ").unwrap();
        rest.lines().next().unwrap().parse().unwrap()
    };
    let mut weights: Vec<u64> = queries.map(weight).collect();
    weights.sort_unstable();
    weights
}

/// The shares in the page add up, and those of the known statements are what was executed.
#[track_caller]
fn assert_captured(folder: &Path) {
    let found = weights(folder);
    // The UPDATE is the one that is executed once more.
    let mut expected: Vec<u64> = (1..=STATEMENTS as u64).chain([1]).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
    let page = fs::read_to_string(folder.join("capture.md")).unwrap();
    let shares = page.lines().filter(|line| line.starts_with("| ")).filter_map(|line| {
        let share = line.split('|').find_map(|cell| cell.trim().strip_suffix(" %"))?;
        share.replace('.', "").parse::<u32>().ok()
    });
    assert_eq!(shares.sum::<u32>(), 10_000, "{page}");
    assert!(!page.contains("note 1"), "no values: {page}");
}

/// With the schema and the data of the source, the folder can be checked.
#[track_caller]
fn assert_can_be_checked(rqps: &Rqps, contender: &str) {
    let folder = rqps.path("shop");
    fs::write(folder.join("schema.sql"), TABLE).unwrap();
    fs::create_dir(folder.join("load")).unwrap();
    let rows = (0..200)
        .map(|id| format!("{id},{},2026-01-{:02},{id}.5,note {id}\n", id % 20, 1 + id % 28));
    let rows = "id,customer,day,total,note\n".to_string() + &rows.collect::<String>();
    fs::write(folder.join("load/orders.csv"), rows).unwrap();
    let shown = folder.display().to_string();
    let checked = Running::start(rqps.command(["sql", "check", &shown, contender])).finish().ok();
    let said = format!("queries executed: {}", STATEMENTS + 1);
    assert!(checked.stdout.contains(&said), "{}\n{}", checked.stdout, checked.stderr);
}

/// A folder that was captured before makes room for the next.
fn forget(rqps: &Rqps) {
    fs::remove_dir_all(rqps.path("shop")).unwrap();
}

#[test]
fn postgres_is_captured_from_its_statistics_and_its_log() {
    let log = ["log_destination=csvlog", "logging_collector=on", "log_min_duration_statement=0"];
    for version in ["16.10", "18.0"] {
        let rqps = Rqps::new();
        let preload = ["shared_preload_libraries=pg_stat_statements", "log_directory=log"];
        let settings: Vec<&str> = log.into_iter().chain(preload).collect();
        let server = Server::postgres(&rqps, version, &settings);
        server.sql("", &["create database shop", "create role app login"]);
        let url = server.url("owner", "shop");
        capture(&rqps, &url, &[])
            .refuses(2, &["does not have the extension pg_stat_statements", "create extension"]);
        server.sql("shop", &["create extension pg_stat_statements"]);
        fill(&mut *server.connect("shop"));
        server.sql("shop", &["select pg_stat_statements_reset()"]);
        execute(&mut *server.connect("shop"));
        // Functions of others whose arguments match better than those of the server.
        let trap = |name: &str, of: &str, result: &str| {
            format!(
                "create function {name}({of}) returns {result} language plpgsql as \
                 $$ begin raise exception 'a trap was called'; end $$"
            )
        };
        let traps = [
            trap("public.quote_ident", "name", "text"),
            trap("public.format_type", "oid, integer", "text"),
            trap("public.current_database", "", "name"),
            trap("public.sum_step", "numeric, bigint", "numeric"),
            "create aggregate public.sum(bigint) (sfunc = public.sum_step, stype = numeric)"
                .to_string(),
        ];
        server.sql("shop", &traps.each_ref().map(String::as_str));
        server.sql("", &["alter database shop set search_path = public, pg_catalog"]);
        let before = server.everything();
        let hidden = capture(&rqps, &server.url("app", "shop"), &[]);
        hidden.refuses(2, &["grant pg_read_all_stats to app"]);
        capture(&rqps, &url, &[]).ok();
        assert_captured(&rqps.path("shop"));
        assert_eq!(server.everything(), before, "nothing was made");
        assert_can_be_checked(&rqps, &format!("postgres@{version}"));
        capture(&rqps, &url, &[]).refuses(2, &["exists already. Name another --out"]);
        // The log has what was loaded, too.
        forget(&rqps);
        let mut connection = server.connect("shop");
        let text = "select note from orders where id = $1 and customer >= 0";
        let prepared = connection.prepare(text, &[Type::Int4]).unwrap();
        for id in [7, 8] {
            connection.execute(prepared, &[Value::Int(id)]).unwrap();
        }
        let logs = server.folder().join("data/log");
        let file = fs::read_dir(logs).unwrap().map(|it| it.unwrap().path());
        let file =
            file.into_iter().find(|it| it.extension().is_some_and(|it| it == "csv")).unwrap();
        await_that("the log is written", || {
            fs::read_to_string(&file).unwrap().contains("$1 = '8'")
        });
        capture(&rqps, &file.display().to_string(), &["--database", "shop"]).ok();
        let known = weights(&rqps.path("shop"));
        assert!((1..=STATEMENTS as u64).all(|calls| known.contains(&calls)), "{known:?}");
        let params = fs::read_dir(rqps.path("shop/params")).unwrap();
        let mut texts = params.map(|it| fs::read_to_string(it.unwrap().path()).unwrap());
        assert!(texts.any(|text| text.starts_with("c2,p1\n") || text.starts_with("p1,c2\n")));
    }
}

/// The extension itself is in no build: this one has its function, with its columns.
#[test]
fn an_example_that_pg_qualstats_keeps_has_the_values_of_its_statement() {
    const CONTROL: &str = "default_version = '2.1'\nrelocatable = true\n";
    const SCRIPT: &str = "create table kept (queryid bigint, query text);\n\
        create function pg_qualstats_example_queries(out queryid bigint, out query text) \
        returns setof record language sql as 'select queryid, query from public.kept';\n";
    let rqps = Rqps::new();
    let share = directory();
    let folder = share.path().join("extension");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("pg_qualstats.control"), CONTROL).unwrap();
    fs::write(folder.join("pg_qualstats--2.1.sql"), SCRIPT).unwrap();
    let path = format!("extension_control_path={}:$system", share.path().display());
    let server =
        Server::postgres(&rqps, "18.0", &["shared_preload_libraries=pg_stat_statements", &path]);
    server.sql("", &["create database shop"]);
    server.sql("shop", &["create extension pg_stat_statements"]);
    fill(&mut *server.connect("shop"));
    let executed = [
        "select pg_stat_statements_reset()",
        "select note from orders where total > 7 and day > date '2026-01-05'",
        "select note from orders where customer = 3",
    ];
    server.sql("shop", &executed);
    let url = server.url("owner", "shop");
    let queries = || {
        let entries = fs::read_dir(rqps.path("shop/queries")).unwrap();
        let texts = entries.map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap());
        texts.collect::<Vec<String>>().join("\n")
    };
    // A function of somebody else's with this name is not called.
    let trap = "create function pg_qualstats_example_queries(out queryid bigint, out query text) \
                returns setof record language plpgsql as \
                $$ begin raise exception 'a trap was called'; end $$";
    server.sql("shop", &[trap]);
    capture(&rqps, &url, &[]).ok();
    assert!(queries().contains("total > :p1"), "{}", queries());
    forget(&rqps);
    let examples = [
        "drop function pg_qualstats_example_queries()",
        "create extension pg_qualstats",
        "insert into kept select queryid, $$select note from orders where total > 7 and day > \
         date '2026-01-05'$$ from pg_stat_statements where query like 'select note%total%'",
        "insert into kept select queryid, 'select note from orders where cust' \
         from pg_stat_statements where query like 'select note%customer%'",
        "select count(*) from kept",
    ];
    assert_eq!(server.sql("shop", &examples), [[Some("2".to_string())]]);
    let finished = capture(&rqps, &url, &[]).ok();
    let remark = "pg_qualstats keeps the first execution of a statement: one set of values is no \
                  distribution";
    assert!(finished.stdout.contains(remark), "{}", finished.stdout);
    assert!(queries().contains("total > :c1"), "{}", queries());
    assert!(queries().contains("where customer = :p1"), "what was cut is not taken: {}", queries());
    let params = fs::read_dir(rqps.path("shop/params")).unwrap();
    let params: Vec<String> =
        params.map(|it| fs::read_to_string(it.unwrap().path()).unwrap()).collect();
    assert_eq!(params.len(), 1, "{params:?}");
    assert!(params[0].ends_with("\"7\",\"2026-01-05\"\n"), "{params:?}");
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn mysql_and_mariadb_are_captured_from_digests_and_logs() {
    let logs = [
        "slow-query-log=ON",
        "long-query-time=0",
        "slow-query-log-file=slow.log",
        "general-log=ON",
        "general-log-file=general.log",
        "performance-schema=ON",
    ];
    for contender in ["mysql@8.0.33", "mariadb@11.4.5"] {
        let rqps = Rqps::new();
        let server = match contender.starts_with("mysql") {
            true => Server::mysql(&rqps, &logs),
            false => Server::mariadb(&rqps, &logs),
        };
        server.sql(
            "",
            &[
                "create database shop",
                "create user app@'%'",
                "grant all on shop.* to app@'%'",
                "create user boss@'%'",
                "grant all on *.* to boss@'%'",
            ],
        );
        fill(&mut *server.connect("shop"));
        server.sql("", &["truncate performance_schema.events_statements_summary_by_digest"]);
        execute(&mut *server.connect("shop"));
        let denied = capture(&rqps, &server.url("app", "shop"), &[]);
        denied.refuses(2, &["grant select on performance_schema.* to"]);
        let unnamed = capture(&rqps, &server.url("boss", ""), &[]);
        unnamed.refuses(2, &["the URL names no database", "shop"]);
        let before = server.everything();
        capture(&rqps, &server.url("boss", "shop"), &[]).ok();
        assert_captured(&rqps.path("shop"));
        assert_eq!(server.everything(), before, "nothing was made");
        assert_can_be_checked(&rqps, contender);
        for log in ["slow.log", "general.log"] {
            forget(&rqps);
            let file = server.folder().join("data").join(log).display().to_string();
            capture(&rqps, &file, &["--database", "shop"]).ok();
            let known = weights(&rqps.path("shop"));
            assert!(
                (1..=STATEMENTS as u64).all(|calls| known.contains(&calls)),
                "{log}: {known:?}"
            );
        }
    }
}
