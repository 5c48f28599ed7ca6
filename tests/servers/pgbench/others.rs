//! Databases in which other users have functions and tables of their own.

use super::Logged;

/// On this path, each of them is found before the server's own.
const TRAPS: [&str; 5] = [
    "version() returns text",
    "current_database() returns name",
    "pg_table_is_visible(oid) returns boolean",
    "obj_description(oid, name) returns text",
    "pg_backend_pid() returns integer",
];

#[test]
fn rqps_s_own_queries_call_no_function_of_another_user() {
    let server = Logged::start();
    server.run("create schema trap");
    for trap in TRAPS {
        server.run(&format!(
            "create function trap.{trap} language plpgsql as \
             $$ begin raise exception 'called %', '{trap}'; end $$"
        ));
    }
    server.run(
        "create view trap.pg_class as select 'pgbench_accounts'::name as relname, 1::oid as oid, \
         2::oid as relowner",
    );
    let database = server.login.database.clone();
    server.run(&format!("alter database {database} set search_path = trap, public, pg_catalog"));
    let trapped = rqps_wire::scalar(&mut *server.connect(), "select version()").unwrap_err();
    assert!(trapped.to_string().contains("called version()"), "{trapped}");
    server.pgbench("-i -s 1", &[]).ok();
    let ended = server.pgbench("-t 5 -b tpcb-like", &[]).ok();
    assert!(ended.stdout.contains("PostgreSQL 17.6"), "{}", ended.stdout);
}

#[test]
fn a_mark_on_another_roles_table_proves_nothing() {
    let server = Logged::start();
    server.pgbench("-i -s 1", &[]).ok();
    server.run("create role stranger");
    server.run("alter table pgbench_history owner to stranger");
    let kept = |server: &Logged| server.scalar("select count(*) from pgbench_accounts");
    server.pgbench("-i -s 2", &[]).refuses(1, &["'pgbench_history' exists", "known to have made"]);
    assert_eq!(kept(&server), "100000", "nothing was changed");
    server.run("drop table pgbench_history");
    server.pgbench("-i -s 2", &[]).ok();
    assert_eq!(kept(&server), "200000");
}
