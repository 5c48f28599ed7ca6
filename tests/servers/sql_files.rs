//! Files of `load/` on real servers: dumps and rows, plain and compressed, larger than what of them
//! is in memory at a time.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::common::result::Finished;
use crate::common::{Rqps, Running};

/// Far more than is read of a file at a time.
const LONG: usize = 300_000;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let bytes = match name.rsplit('.').next() {
        Some("gz") => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        }
        Some("zst") => zstd::stream::encode_all(text.as_bytes(), 1).unwrap(),
        _ => text.as_bytes().to_vec(),
    };
    fs::write(path, bytes).unwrap();
}

/// A query that must return one row.
fn expect(folder: &Path, id: &str, condition: &str) {
    let text = format!("-- rqps: rows = 1\nselect 1 as one where {condition}");
    write(folder, &format!("queries/{id}.sql"), &text);
}

/// Loads the folder into a contender and executes its queries.
fn check(rqps: &Rqps, contender: &str) -> Finished {
    let folder = rqps.path("shop").display().to_string();
    Running::start(rqps.command(["sql", "check", &folder, contender])).finish()
}

/// An INSERT of so many rows of a table `t (id, note)` from a key on.
fn insert(first: u32, rows: u32) -> String {
    let row = |id| format!("({id}, 'it''s; {id}')");
    let rows: Vec<String> = (first..first + rows).map(row).collect();
    format!("insert into t values\n{};\n", rows.join(",\n"))
}

fn rows_of_csv(first: u32, rows: u32) -> String {
    let row = |id| format!("{id},\"it's; {id}\"\n");
    "id,note\n".to_string() + &(first..first + rows).map(row).collect::<String>()
}

/// Each of the rows from the first to this one is there.
fn expect_rows(folder: &Path, most: u64) {
    let right = "select count(*) from t where note like 'it''s; %'";
    expect(folder, "count", &format!("({right}) = {most}"));
    expect(folder, "sum", &format!("(select sum(id) from t) = {}", most * (most + 1) / 2));
}

/// As pg_dump writes it, with a function, and a text in dollars that is longer than what is read at
/// a time.
fn dump_of_postgres() -> String {
    let rows: String = (10_001..=30_000).map(|id| format!("{id}\tit's; {id}\n")).collect();
    let long = "; it's\n".repeat(LONG / 7);
    format!(
        "--\n-- PostgreSQL database dump\n--\n\n\\restrict key\n\nSET client_encoding = 'UTF8';\n\
         SELECT pg_catalog.set_config('search_path', '', false);\n\n\
         CREATE FUNCTION public.f() RETURNS bigint LANGUAGE sql AS $_$\n-- é{}\nselect 7::bigint; $_$;\n\n\
         COPY public.t (id, note) FROM stdin;\n{rows}\\.\n\n\n\
         CREATE TABLE public.u (a text, b text);\n\
         COPY public.u FROM stdin WITH (FORMAT csv, NULL 'no');\n\"\\,\",no\n\\.\n\
         CREATE TABLE public.v (a int);\nCOPY public.v (a) FROM stdin;\n\\.\n\n\
         INSERT INTO public.u VALUES ($x${long}$x$, NULL);\n\n\\unrestrict key\n",
        "-".repeat(LONG)
    )
}

#[test]
fn postgres_is_given_a_dump_and_rows_as_streams() {
    let rqps = Rqps::new();
    let folder = &rqps.path("shop");
    write(folder, "schema.sql", "create table t (id int primary key, note text);");
    write(folder, "load/1.sql", &insert(1, 10_000));
    write(folder, "load/2.sql.zst", &dump_of_postgres());
    write(folder, "load/3_t.csv.zst", &rows_of_csv(30_001, 10_000));
    write(folder, "load/4_t.csv.gz", &rows_of_csv(40_001, 10_000));
    expect_rows(folder, 50_000);
    expect(folder, "function", "f() = 7");
    expect(folder, "csv", "exists (select from u where a = '\\,' and b is null)");
    expect(
        folder,
        "long",
        &format!("(select max(length(a)) from u where b is null) = {}", LONG / 7 * 7),
    );
    check(&rqps, "postgres@17.6").ok();

    // A row that is refused: the statement has its file and line, and what follows it is not sent.
    let dump = dump_of_postgres().replace("\n20000\t", "\nx\t");
    write(folder, "load/2.sql.zst", &dump);
    let line = dump.lines().position(|line| line.starts_with("COPY public.t ")).unwrap() + 1;
    let place = format!("load/2.sql.zst:{line}: invalid input syntax for type integer: \"x\"");
    let refused = check(&rqps, "postgres@17.6").expect_code(2);
    for words in [place.as_str(), "in: COPY public.t (id, note) FROM stdin"] {
        assert!(refused.stdout.contains(words), "{words}: {}", refused.stdout);
    }
    rqps.assert_no_server_is_left();
}

#[test]
fn mysql_is_given_a_dump_and_rows_as_streams() {
    let rqps = Rqps::new();
    let folder = &rqps.path("shop");
    let dump = format!(
        "-- MySQL dump\n/*!40101 SET NAMES utf8mb4 */;\nLOCK TABLES `t` WRITE;\n{}UNLOCK TABLES;\n\
         DELIMITER ;;\n/*!50003 CREATE TRIGGER r BEFORE INSERT ON t FOR EACH ROW BEGIN\n\
         /* {} */ SET NEW.note = concat(NEW.note, ';'); SET NEW.id = NEW.id; END */;;\nDELIMITER ;\n{}",
        insert(1, 20_000),
        "-; ".repeat(LONG / 3),
        insert(20_001, 20_000)
    );
    write(folder, "schema.sql", "create table t (id int primary key, note text);");
    write(folder, "load/1.sql.gz", &dump);
    write(folder, "load/2_t.csv.zst", &rows_of_csv(40_001, 10_000));
    expect_rows(folder, 50_000);
    expect(folder, "trigger", "(select count(*) from t where note like '%;') = 30000");
    check(&rqps, "mysql@8.0.33").ok();
    rqps.assert_no_server_is_left();
}

#[test]
fn sqlite_is_given_scripts_and_rows_as_streams() {
    let rqps = Rqps::new();
    let folder = &rqps.path("shop");
    let script = format!(
        "begin;\n{}create trigger r after insert on t begin /* {} */ delete from t where id = 0; end;\n\
         insert into t values (0, 'it''s; 0');\n{}commit;\n",
        insert(1, 20_000),
        "-; ".repeat(LONG / 3),
        insert(20_001, 20_000)
    );
    write(folder, "schema.sql", "create table t (id int primary key, note text);");
    write(folder, "load/1.sql.zst", &script);
    write(folder, "load/2_t.csv.gz", &rows_of_csv(40_001, 10_000));
    expect_rows(folder, 50_000);
    check(&rqps, "sqlite").ok();
}

#[test]
fn files_are_checked_for_each_dbms_that_reads_sql() {
    let rqps = Rqps::new();
    let folder = &rqps.path("shop");
    expect(folder, "one", "1 = 1");
    let arguments = ["sql", "check", &folder.display().to_string()];
    let told = Running::start(rqps.command(arguments)).finish().ok().stdout;
    for dbms in ["sqlite", "postgres", "mysql", "mariadb"] {
        assert!(told.contains(&format!("{dbms}: the files have no faults")), "{told}");
    }
    assert!(!told.contains("rocksdb"), "{told}");
}

/// The most memory that a process has had, in KiB, as often as it is asked before its end.
fn watched(rqps: &Rqps, arguments: &[&str]) -> u64 {
    let mut running = Running::start(rqps.command(arguments));
    let status = format!("/proc/{}/status", running.pid());
    let mut most = 0;
    while !running.has_ended() {
        let told = fs::read_to_string(&status).unwrap_or_default();
        let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
        most = most.max(kib.unwrap_or(0));
        std::thread::sleep(Duration::from_millis(5));
    }
    running.finish().ok();
    most
}

/// Debian's `postgresql-client`, whose pg_dump writes of no newer server.
#[test]
#[ignore = "nightly: needs pg_dump and pg_restore"]
fn postgres_is_given_dumps_in_pg_dumps_own_formats_as_streams() {
    const MEMORY_KIB: u64 = 64 << 10;
    let rqps = Rqps::new();
    let url = rqps.run("dbms start postgres@15").ok().stdout.trim().to_string();
    let mut shell = rqps.command(["dbms", "shell", &url]);
    shell.stdin(Stdio::piped());
    let mut shell = Running::start(shell);
    shell.type_in(
        "create table t (id int primary key, note text);\n\
         insert into t select i, repeat('it''s; ', 160) || i from generate_series(1, 100000) i;\n",
    );
    shell.finish().ok();
    let folder = &rqps.path("shop");
    fs::create_dir_all(folder.join("load")).unwrap();
    for (format, name) in [("custom", "load/a.dump"), ("directory", "load/a")] {
        let dumped = Command::new("pg_dump")
            .args(["--format", format, "--dbname", &url, "--file"])
            .arg(folder.join(name))
            .status();
        assert!(dumped.unwrap().success(), "{format}");
        if format == "directory" && rustix::process::geteuid().is_root() {
            // pg_dump lets its own user alone read the folder, and root's pg_restore is another's.
            let refused = check(&rqps, "postgres@15").expect_code(2).stdout;
            assert!(refused.contains("load/a: cannot read it: the user that servers"), "{refused}");
            let mut open = Command::new("chmod");
            let opened = open.args(["-R", "a+rX"]).arg(folder.join(name)).status();
            assert!(opened.unwrap().success());
        }
        expect(folder, "count", "(select count(*) from t where note like 'it''s; %') = 100000");
        let folder = folder.display().to_string();
        let most = watched(&rqps, &["sql", "check", &folder, "postgres@15"]);
        assert!(most > 0 && most < MEMORY_KIB, "{format}: {most} KiB");
        fs::remove_file(rqps.path("shop/load/a.dump")).unwrap_or_default();
    }

    // Of one that is cut pg_restore says itself what is wrong, before anything is started.
    let cut = rqps.path("shop/load/a/toc.dat");
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let refused = check(&rqps, "postgres@15").expect_code(2);
    let told = "load/a:1: cannot read it: pg_restore: ";
    assert!(refused.stdout.contains(told), "{}", refused.stdout);
    rqps.run("dbms stop --all").ok();
    rqps.assert_no_server_is_left();
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn files_larger_than_the_memory_are_not_held_in_it() {
    const MEMORY_KIB: u64 = 64 << 10;
    let rqps = Rqps::new();
    let folder = &rqps.path("shop");
    let note = "it's; ".repeat(160);
    // Each of 100 MB.
    let copied: String = (1..=100_000).map(|id| format!("{id}\t{note}\n")).collect();
    let inserted = "insert into t select 1, '".to_string() + &note.replace('\'', "''") + "';\n";
    let row = format!("1,\"{note}\"\n");
    write(folder, "schema.sql", "create table t (id int, note text);");
    write(folder, "load/1.sql", &format!("COPY t FROM stdin;\n{copied}\\.\n"));
    write(folder, "load/2.sql.zst", &inserted.repeat(100_000));
    write(folder, "load/3_t.csv.gz", &format!("id,note\n{}", row.repeat(100_000)));
    expect(folder, "count", "(select count(*) from t) = 300000");
    let folder = folder.display().to_string();
    let most = watched(&rqps, &["sql", "check", &folder, "postgres@17.6"]);
    assert!(most > 0 && most < MEMORY_KIB, "{most} KiB");
    rqps.assert_no_server_is_left();
}
