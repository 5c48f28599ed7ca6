//! Own SQL on servers by URL, and tables that a file changes after the load.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use super::server::Server;
use crate::common::result::Finished;
use crate::common::{Rqps, Running, entries, processes};

/// Tables of which one refers to the other, so that they cannot be dropped in any order.
const SCHEMA: &str = "create table customers (id int primary key, name varchar(40) not null);
     create table orders (id int primary key, customer int not null references customers (id), \
     total int not null, foreign key (customer) references customers (id));";
const INDEXES: &str = "create index of_customer on orders (customer)";
const QUERY: &str = "-- rqps: param customer int = random(1, 400)
     select o.id, c.name from orders o join customers c on o.customer = c.id \
     where o.customer = :customer order by o.id";

const MORE: &str = "--rounds 3 --secs 0.1 --no-guards";

/// A folder with the files of a workload, and others beside it.
fn folder(rqps: &Rqps, files: &[(&str, &str)]) -> PathBuf {
    let folder = rqps.path("shop");
    let _ = fs::remove_dir_all(&folder);
    let rows = |row: &dyn Fn(u32) -> String, count| {
        (1..=count).map(row).collect::<Vec<String>>().join("\n")
    };
    let customers = rows(&|id| format!("{id},c{id}"), 400);
    let orders = rows(&|id| format!("{id},{},{id}", 1 + id % 400), 1600);
    let all = [
        ("schema.sql", SCHEMA.to_string()),
        ("indexes.sql", INDEXES.to_string()),
        ("load/1-customers.csv", format!("id,name\n{customers}\n")),
        ("load/2-orders.csv", format!("id,customer,total\n{orders}\n")),
        ("queries/orders_of.sql", QUERY.to_string()),
    ];
    let own = files.iter().map(|(name, text)| (*name, text.to_string()));
    for (name, text) in all.into_iter().chain(own) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

/// A file of a place.
fn file(rqps: &Rqps, name: &str, text: &str) -> String {
    let path = rqps.path(name);
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn compare(rqps: &Rqps, contenders: &[String]) -> Finished {
    let _ = fs::remove_dir_all(rqps.out());
    let out = rqps.out().display().to_string();
    let workload = format!("sql:{}", rqps.path("shop").display());
    let words = ["compare", "--out", &out, "--workload", &workload].map(str::to_string);
    let more = MORE.split(' ').map(str::to_string);
    Running::start(rqps.command(words.into_iter().chain(more).chain(contenders.iter().cloned())))
        .finish()
}

fn comparison(rqps: &Rqps) -> Value {
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    serde_json::from_str::<Value>(&text).unwrap()["comparison"].clone()
}

/// Answers are the same; sizes are for quiet machines.
#[track_caller]
fn assert_compared(rqps: &Rqps, ended: &Finished, scope: &str, texts: &[&str]) {
    assert!(ended.status.code().is_some_and(|code| code < 2), "{}{}", ended.stdout, ended.stderr);
    let found = comparison(rqps);
    assert_eq!(found["scope"], scope, "{found}");
    let contender = &found["contenders"][0];
    assert_eq!(contender["statements"][0]["rows"]["verdict"], "same rows", "{contender}");
    assert_eq!(contender["tests"][0]["rounds"].as_array().map(Vec::len), Some(3), "{contender}");
    let remarks = found["remarks"].to_string();
    for text in texts {
        assert!(remarks.contains(text), "no {text:?} in {remarks}");
    }
}

#[test]
fn own_sql_and_tables_without_an_index_are_compared_on_a_server_of_postgres() {
    are_compared_on_servers(&["18.0"]);
}

#[test]
#[ignore = "nightly: another release in the same way"]
fn own_sql_and_tables_without_an_index_are_compared_on_an_older_server() {
    are_compared_on_servers(&["16.10"]);
}

fn are_compared_on_servers(versions: &[&str]) {
    let rqps = Rqps::with_own_locks();
    for version in versions {
        let server = Server::postgres(&rqps, version, &[]);
        server.sql("", &["create role guest login", "create database bench"]);
        server.sql("", &["grant create on database bench to guest"]);
        server.sql("bench", &["create table orders (mine int)", "create schema other"]);
        let (before, url) = (server.everything(), server.url("guest", "bench"));
        folder(&rqps, &[]);
        let settings = [format!("a={url}"), format!("b={url}&set.enable_indexscan=off")];
        let ended = compare(&rqps, &settings);
        assert_compared(&rqps, &ended, "session", &["enable_indexscan on/off"]);
        assert_eq!(server.everything(), before, "{version}");

        let place = file(&rqps, "noidx.sql", "drop index of_customer;\nanalyze orders;\n");
        let ended = compare(&rqps, &[format!("a={url}"), format!("b={url}&place=@{place}")]);
        let told = ["settings and tables on this server", "place as loaded/drop index of_customer"];
        assert_compared(&rqps, &ended, "place", &told);
        assert_eq!(server.everything(), before, "{version}");
        rqps.assert_nothing_is_left();
    }
}

#[test]
#[ignore = "nightly: another DBMS in the same way"]
fn an_index_of_mysql_is_hidden_in_one_of_two_sessions_and_dropped_in_a_place() {
    let rqps = Rqps::with_own_locks();
    let servers: [fn(&Rqps, &[&str]) -> Server; 2] = [Server::mysql, Server::mariadb];
    for (start, is_mysql) in servers.into_iter().zip([true, false]) {
        let server = start(&rqps, &[]);
        let create = "create user guest@'%' identified by ''";
        server.sql("", &[create, "grant all on `rqps%`.* to guest@'%'"]);
        let (before, url) = (server.everything(), server.url("guest", ""));
        folder(&rqps, &[]);
        if is_mysql {
            // InnoDB needs an index for each key of another table.
            let schema = SCHEMA.replace(", foreign key (customer) references customers (id)", "");
            let indexes = format!("{INDEXES} invisible");
            folder(&rqps, &[("schema.sql", &schema), ("indexes.sql", &indexes)]);
            let visible = "set.optimizer_switch=use_invisible_indexes=on";
            let ended = compare(&rqps, &[format!("a={url}"), format!("b={url}&{visible}")]);
            assert_compared(&rqps, &ended, "session", &["optimizer_switch"]);
            assert_eq!(server.everything(), before);
            folder(&rqps, &[]);
        }
        let text = "alter table orders row_format = compressed";
        let place = file(&rqps, "compressed.sql", text);
        let ended = compare(&rqps, &[format!("a={url}"), format!("b={url}&place=@{place}")]);
        assert_compared(&rqps, &ended, "place", &["place as loaded/alter table orders"]);
        assert_eq!(server.everything(), before);
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn what_a_guest_may_not_do_is_said_before_anything_is_made_and_failures_leave_nothing() {
    let rqps = Rqps::with_own_locks();
    let server = Server::postgres(&rqps, "17.6", &[]);
    server.sql("", &["create role guest login", "create database bench"]);
    server.sql("", &["grant create on database bench to guest"]);
    let (before, url) = (server.everything(), server.url("guest", "bench"));
    let both = [format!("a={url}"), format!("b={url}&set.jit=off")];
    for (name, text, says) in [
        (
            "indexes.sql",
            "create index i on public.orders (total)",
            "indexes.sql:1: 'public.orders'",
        ),
        ("indexes.sql", "create view v as select 1", "'CREATE VIEW V …' is none of"),
        ("queries/other.sql", "select * from public.orders", "'public.orders' may be in another"),
        ("queries/other.sql", "delete from orders", "only queries that read are measured"),
    ] {
        folder(&rqps, &[(name, text)]);
        compare(&rqps, &both).expect_code(2).says(&[says]);
        assert!(!rqps.out().exists(), "{text}");
    }
    folder(&rqps, &[]);
    let missing = rqps.path("missing.sql").display().to_string();
    for (place, says) in [
        (missing, "cannot read it"),
        (file(&rqps, "empty.sql", "-- nothing\n"), "it has no statement"),
        (file(&rqps, "set.sql", "set search_path = public"), "is none of the statements"),
    ] {
        let ended = compare(&rqps, &[format!("a={url}"), format!("b={url}&place=@{place}")]);
        ended.expect_code(2).says(&[says]);
        assert_eq!(server.everything(), before);
    }
    // What only the server can refuse. The tables of all contenders are removed.
    let place = file(&rqps, "typo.sql", "drop index of_customer;\ndrop index of_customers;\n");
    let ended = compare(&rqps, &[format!("a={url}"), format!("b={url}&place=@{place}")]);
    ended.expect_code(2).says(&["b: line 2 of the file of its place was refused", "of_customers"]);
    assert_eq!(server.everything(), before);
    assert_eq!(entries(&rqps.home().join("data")), [""; 0]);
    folder(&rqps, &[("load/3.sql", "insert into orders values (1, 1, 1)")]);
    compare(&rqps, &both).expect_code(3).says(&["load/3.sql:1"]);
    assert_eq!(server.everything(), before);
    // Tables of a killed run are known by their mark.
    folder(&rqps, &[]);
    let out = rqps.out().display().to_string();
    let _ = fs::remove_dir_all(rqps.out());
    let workload = format!("sql:{}", rqps.path("shop").display());
    let words = ["compare", "--out", &out, "--workload", &workload, &both[0], &both[1]];
    let running = Running::start(rqps.command(words.into_iter().chain(MORE.split(' '))));
    running.wait_for("round 1:");
    processes::signal(running.pid(), Signal::KILL);
    drop(running);
    let ended = rqps.run(&format!("dbms clean {url}")).ok();
    assert!(ended.stdout.contains("customers"), "{}", ended.stdout);
    assert_eq!(server.everything(), before);
}
