//! The cases of PostgreSQL's own test of pgbench with a server
//! (`src/bin/pgbench/t/001_pgbench_with_server.pl`), as data: options, scripts, and what must come
//! of them. Its scripts with errors are in `errors.rs`.

use super::{Logged, errors};

/// Cases that have no counterpart, and why.
const LEFT_OUT: [(&str, &str); 12] = [
    ("concurrent OID generation", "it tests the server"),
    ("pgbench scale 1 initialization, all options", "rqps has no partitions and tablespaces"),
    ("server parameter logging 1", "it tests the server"),
    ("server parameter logging 2", "it tests the server"),
    ("server parameter logging 3", "it tests the server"),
    ("server parameter logging 4", "it tests the server"),
    ("server parameter logging 5", "it tests the server"),
    ("server parameter logging 6", "it tests the server"),
    ("pgbench logs", "rqps writes no log of transactions"),
    ("pgbench logs contents", "rqps writes no log of transactions"),
    ("pgbench select only: --debug", "rqps has no such trace; the run itself is a case here"),
    ("concurrent update: -d --verbose-errors", "the same; the retry itself is a case here"),
];

/// A run that ends well or not: name there, options, scripts, exit code, parts of stdout, and parts
/// of stderr.
type Case<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], i32, &'a [&'a str], &'a [&'a str]);

const SELECT: &str = "\\set aid random(1, :scale * 100000)\nSELECT abalance::INTEGER AS balance\n  \
                      FROM pgbench_accounts\n  WHERE aid=:aid;\n";
const IN_TRANSACTION: &str = "\\set aid random(1, :scale * 100000)\nBEGIN;\nSELECT abalance::INTEGER AS balance\n  \
     FROM pgbench_accounts\n  WHERE aid=:aid;\nCOMMIT;\n";
const SPECIAL: &str = "BEGIN;\n\\set foo 1\nSELECT :foo::INT + :scale::INT * :client_id::INT AS \
                       bla;\nCOMMIT;\n";
const TEN: &str = "select 1;\nselect 1;\nselect 1;\nselect 1;\nselect 1;\nselect 1;\nselect 1;\n\
                   select 1;\nselect 1;\nselect 1;\n";

#[rustfmt::skip]
const CASES: &[Case<'_>] = &[
    ("run without init", "-S -t 1", &[], 1, &[], &["make the tables with rqps pgbench -i"]),
    ("pgbench scale 1 initialization", "-i", &[], 0, &[],
        &["creating tables", "vacuuming", "creating primary keys", "done in "]),
    ("pgbench --init-steps", "--initialize --init-steps=dtpvGvv --no-vacuum --foreign-keys --unlogged-tables", &[], 0, &[],
        &["dropping old tables", "creating tables", "creating primary keys", "generating data (server-side)", "creating foreign keys"]),
    ("pgbench tpcb-like", "--transactions=5 -Dfoo=bla --client=2 --protocol=simple --builtin=t --connect -n -v -n", &[], 0,
        &["builtin: TPC-B", "clients: 2", "processed: 10/10", "mode: simple", "maximum number of tries: 1"], &[]),
    ("pgbench simple update", "--transactions=20 --client=5 -M extended --builtin=si -C --no-vacuum -s 2", &[], 0,
        &["builtin: simple update", "clients: 5", "processed: 100/100", "mode: extended"], &["-s 2 has no effect"]),
    ("pgbench select only", "-t 100 -c 7 -M prepared -b se", &[], 0,
        &["builtin: select only", "clients: 7", "processed: 700/700", "mode: prepared"], &[]),
    ("pgbench custom scripts", "-t 100 -c 1 -j 2 -M prepared -n", &[("script_1@1", SELECT), ("script_2@2", SPECIAL)], 0,
        &["type: multiple scripts", "mode: prepared", "SQL script 1: ", "script_1\n", "weight: 2", "SQL script 2: ", "script_2\n", "weight: 1", "processed: 100/100"], &[]),
    ("pgbench custom script, simple", "-n -t 10 -c 1 -M simple", &[("script_3", IN_TRANSACTION)], 0,
        &["script_3\n", "processed: 10/10", "mode: simple"], &[]),
    ("pgbench custom script, extended", "-n -t 10 -c 2 -M extended", &[("script_4", IN_TRANSACTION)], 0,
        &["script_4\n", "processed: 20/20", "mode: extended"], &[]),
    ("pgbench backslash commands", "-t 1 --allow-shell", &[("backslash", "\\set zero 0\n\\set one 1.0\n\\sleep :one ms\n\\sleep 100 us\n\\sleep 0 s\n\\sleep :zero\n\\setshell another_one\\\n  echo \\\n    :one\n\\set n debug(:another_one)\n\\shell echo shell-echo-output\n")], 0,
        &["processed: 1/1", "shell-echo-output"], &["command=8): int 1\n"]),
    ("pgbench gset command", "-t 1", &[("gset", "SELECT \\gset\nSELECT 0 AS i0 \\gset\n\\set i debug(:i0)\nSELECT 1 AS i1, 2 AS i2 \\gset\n\\set i debug(:i1)\n\\set i debug(:i2)\nSELECT 3 AS i3 \\gset x_\n\\set i debug(:x_i3)\nSELECT 0 AS i4, 4 AS i4 \\gset\n\\set i debug(:i4)\n\\; \\; SELECT 0 AS i5 \\; SELECT 5 AS i5 \\; \\; \\gset\n\\set i debug(:i5)\n")], 0,
        &["processed: 1/1"], &["command=3): int 0\n", "command=5): int 1\n", "command=6): int 2\n", "command=8): int 3\n", "command=10): int 4\n", "command=12): int 5\n"]),
    ("pgbench gset command with two rows", "-t 1", &[("two_rows", "SELECT 5432 AS fail UNION SELECT 5433 ORDER BY 1 \\gset\n")], 2,
        &["processed: 0/1"], &["expected one row, got 2"]),
    ("pgbench aset command", "-t 1", &[("aset", "\\; SELECT 6 AS i6 \\; SELECT 7 AS i7 \\; \\aset\nSELECT 8 AS i6 UNION SELECT 9 ORDER BY 1 DESC \\aset\n\\set i debug(:i6)\n\\set i debug(:i7)\n")], 0,
        &["processed: 1/1"], &["command=3): int 8\n", "command=4): int 7\n"]),
    ("pgbench aset command with empty result", "-t 1", &[("empty", "\\; SELECT 5432 AS i8 WHERE FALSE \\; \\aset\n\\set i debug(:i8)\n")], 2,
        &["processed: 0/1"], &["undefined variable 'i8'"]),
    ("call \\startpipeline twice", "-t 1 -n -M extended", &[("twice", "\\startpipeline\n\\startpipeline\n")], 2, &[], &["already in pipeline mode"]),
    ("\\endpipeline with no start", "-t 1 -n -M extended", &[("no_start", "\\endpipeline\n")], 2, &[], &["not in pipeline mode"]),
    ("\\gset not allowed in pipeline mode", "-t 1 -n -M extended", &[("gset_in", "\\startpipeline\nselect 1 \\gset f\n\\endpipeline\n")], 2, &[], &["gset is not allowed in pipeline mode"]),
    ("pgbench throttling", "-t 100 -S --rate=100000 --latency-limit=1000000 -c 2 -n -r", &[], 0, &["processed: 200/200", "builtin: select only"], &[]),
    ("pgbench late throttling", "-t 10 --rate=100000 --latency-limit=1 -n -r", &[("sleep", "\\sleep 2ms\n")], 0, &["above the 1.0 ms latency limit: ", "number of transactions skipped: "], &[]),
    ("incomplete transaction block", "--no-vacuum", &[("incomplete", "BEGIN;SELECT 1;")], 2, &["processed: 1/10"], &["end of script reached without completing the last transaction"]),
    // Ours: a pipeline that is left open.
    ("open pipeline", "-t 1 -n -M extended", &[("open", "\\startpipeline\nselect 1;\n")], 2, &["processed: 0/1"], &["end of script reached with pipeline open"]),
];

/// What `debug` shows of `expressions.sql`, by the numbers of commands.
#[rustfmt::skip]
const EXPRESSIONS: [(u32, &str); 71] = [
    (1, "int 17"), (2, "int 104"), (3, "int 1498"), (4, "int 4"), (5, "int 5"), (6, "int 6"),
    (7, "int 7"), (8, "int 8"), (9, "int 9"), (10, "int 10"), (11, "int 11"), (12, "int 12"),
    (15, "double 15"), (16, "double 16"), (17, "double 17"), (20, "int 3"), (21, "double -27"),
    (22, "double 1024"), (23, "double 1"), (24, "double 1"), (25, "double -0.125"),
    (26, "double -0.125"), (27, "double -0.00032"), (28, "double 8.50705917302346e+37"),
    (29, "double 1e+30"), (30, "boolean false"), (31, "boolean true"), (32, "int 32"),
    (33, "int 33"), (34, "double 34"), (35, "int 35"), (36, "int 36"), (37, "double 37"),
    (38, "int 38"), (39, "int 39"), (40, "boolean true"), (41, "null"), (42, "null"),
    (43, "boolean true"), (44, "boolean true"), (45, "boolean true"), (46, "int 46"),
    (47, "boolean true"), (48, "boolean true"), (49, "int -5817877081768721676"),
    (50, "boolean true"), (51, "int -7793829335365542153"), (53, "boolean true"), (65, "int 65"),
    (74, "int 74"), (83, "int 83"), (86, "int 86"), (93, "int 93"), (95, "int 0"), (96, "int 1"),
    (97, "int 0"), (98, "int 5432"), (99, "int -9223372036854775808"),
    (100, "int 9223372036854775807"), (101, "boolean true"), (102, "boolean true"),
    (103, "boolean true"), (104, "boolean true"), (105, "boolean true"), (109, "boolean true"),
    (110, "boolean true"), (111, "boolean true"), (113, "boolean true"), (13, "double 13"),
    (14, "double 14"), (52, "int"),
];

#[test]
fn the_cases_of_postgresql_come_to_what_they_come_to_there() {
    let server = Logged::start();
    let mut passed = 0;
    let refused = server.pgbench_on("no-such-database", "-S -t 1", &[]);
    assert_eq!(refused.status.code(), Some(1), "{}", refused.stderr);
    assert!(refused.stderr.contains("database \"no-such-database\" does not exist"));
    passed += 1;
    for (name, words, scripts, code, stdout, stderr) in CASES {
        let ended = server.pgbench(words, scripts);
        assert_eq!(ended.status.code(), Some(*code), "{name}: {}", ended.stderr);
        for part in *stdout {
            assert!(ended.stdout.contains(part), "{name}: {part}: {}", ended.stdout);
        }
        for part in *stderr {
            assert!(ended.stderr.contains(part), "{name}: {part}: {}", ended.stderr);
        }
        passed += 1;
    }
    passed += expressions(&server) + seeds(&server) + pipelines(&server);
    passed += serialization(&server) + deadlock(&server);
    passed += errors::check(&server);
    println!("001_pgbench_with_server.pl: {passed} cases pass");
    let left_out: Vec<String> =
        LEFT_OUT.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    println!("left out: {}: {}", left_out.len(), left_out.join(", "));
}

fn expressions(server: &Logged) -> usize {
    let words =
        "--random-seed=5432 -t 1 -Dfoo=-10.1 -Dbla=false -Di=+3 -Dn=null -Dt=t -Df=of -Dd=1.0";
    let ended = server.pgbench(words, &[("expressions", include_str!("expressions.sql"))]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("processed: 1/1"), "{}", ended.stdout);
    assert!(ended.stderr.contains("setting random seed to 5432"), "{}", ended.stderr);
    for (command, value) in EXPRESSIONS {
        let expected = format!("debug(script=0,command={command}): {value}");
        assert!(ended.stderr.contains(&expected), "{expected}: {}", ended.stderr);
    }
    1
}

fn seeds(server: &Logged) -> usize {
    server.run("create table seeded_random (seed int8, rand text, val int)");
    let script = "\\set ur random(1000, 1999)\n\\set er random_exponential(2000, 2999, 2.0)\n\
                  \\set gr random_gaussian(3000, 3999, 3.0)\n\
                  \\set zr random_zipfian(4000, 4999, 1.5)\n\
                  INSERT INTO seeded_random(seed, rand, val) VALUES\n\
                  (:random_seed, 'uniform', :ur), (:random_seed, 'exponential', :er),\n\
                  (:random_seed, 'gaussian', :gr), (:random_seed, 'zipfian', :zr);\n";
    for _ in 0..2 {
        let ended = server.pgbench("--random-seed=123456789 -t 1", &[("seeds", script)]);
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    }
    let groups = "select count(*) from (select from seeded_random where seed = 123456789 \
                  group by rand, val having count(*) = 2) as twice";
    assert_eq!(server.scalar(groups), "4");
    2
}

fn pipelines(server: &Logged) -> usize {
    let plain = format!("\\startpipeline\n{TEN}\\endpipeline\n");
    let serializable =
        format!("\\startpipeline\nBEGIN ISOLATION LEVEL SERIALIZABLE;\n{TEN}END;\n\\endpipeline\n");
    let synced = format!("\\startpipeline\n{TEN}\\syncpipeline\n{TEN}\\endpipeline\n");
    for (words, script, processed) in [
        ("-t 1 -n -M extended", &plain, "1/1"),
        ("-t 1 -n -M prepared", &plain, "1/1"),
        ("-t 1 -n -M prepared", &synced, "1/1"),
        ("-c4 -j2 -t 10 -n -M prepared", &serializable, "40/40"),
    ] {
        let ended = server.pgbench(words, &[("pipeline", script)]);
        assert_eq!(ended.status.code(), Some(0), "{words}: {}", ended.stderr);
        let expected = format!("actually processed: {processed}\n");
        assert!(ended.stdout.contains(&expected), "{}", ended.stdout);
    }
    4
}

/// Two clients update a row that both have read. The second one tries again with the same number.
fn serialization(server: &Logged) -> usize {
    server.run("create table xy (x int, y int); insert into xy values (1, 2)");
    let script = "\\set delta random(-5000, 5000)\nBEGIN ISOLATION LEVEL REPEATABLE READ;\n\
                  SELECT y FROM xy WHERE x = 1;\nSELECT pg_sleep(0.3);\n\
                  UPDATE xy SET y = y + :delta WHERE x = 1;\nCOMMIT;\n";
    let one = server.pgbench("-n -c 2 -t 1", &[("serialization", script)]);
    assert_eq!(one.status.code(), Some(0), "{}", one.stderr);
    for part in ["processed: 1/2", "number of failed transactions: 1 (50.000%)"] {
        assert!(one.stdout.contains(part), "{}", one.stdout);
    }
    let before = std::fs::read_to_string(&server.log).unwrap().len();
    let two = server.pgbench("-n -c 2 -t 1 --max-tries 2", &[("serialization", script)]);
    assert_eq!(two.status.code(), Some(0), "{}", two.stderr);
    let retried = ["number of transactions retried: 1 (50.000%)", "total number of retries: 1\n"];
    for part in ["processed: 2/2"].iter().chain(&retried) {
        assert!(two.stdout.contains(part), "{}", two.stdout);
    }
    let log = std::fs::read_to_string(&server.log).unwrap().split_off(before);
    let updates = log.lines().filter(|line| line.contains("statement: UPDATE xy"));
    let mut updates: Vec<&str> =
        updates.filter_map(|line| line.split_once("LOG:")).map(|it| it.1).collect();
    assert_eq!(updates.len(), 3, "{log}");
    updates.sort_unstable();
    updates.dedup();
    assert_eq!(updates.len(), 2, "another try has the same number: {log}");
    1
}

/// Each of two clients waits for a row of the other one.
fn deadlock(server: &Logged) -> usize {
    server.run("create table d (id int, v int); insert into d values (0, 0), (1, 0)");
    // The victim waits before it tries again, so that the other one gets its row meanwhile.
    let script = "SELECT pg_sleep(0.2);\nBEGIN;\nUPDATE d SET v = v + 1 WHERE id = :client_id;\nSELECT pg_sleep(0.3);\n\
                  UPDATE d SET v = v + 1 WHERE id = 1 - :client_id;\nCOMMIT;\n";
    let words = "-n -c 2 -t 1 --max-tries 2 --failures-detailed";
    let ended = server.pgbench(words, &[("deadlock", script)]);
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    let retried = ["number of transactions retried: 1 (50.000%)", "total number of retries: 1\n"];
    for part in ["processed: 2/2"].iter().chain(&retried) {
        assert!(ended.stdout.contains(part), "{}", ended.stdout);
    }
    assert_eq!(server.scalar("select string_agg(v::text, ' ') from d"), "2 2");
    let once = server.pgbench("-n -c 2 -t 1 --failures-detailed", &[("deadlock", script)]);
    let expected = "number of deadlock failures: 1 (50.000%)";
    assert!(once.stdout.contains(expected), "{}", once.stdout);
    1
}
