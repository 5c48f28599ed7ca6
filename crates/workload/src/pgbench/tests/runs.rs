//! Clients on SQLite: what they execute, and what ends them.

use std::sync::{Arc, Mutex};

use rqps_plan::{Method, Pgbench, PgbenchScript, QueryMode};
use rqps_wire::{SqliteLibrary, Target};
use tempfile::TempDir;

use crate::Dialect;
use crate::pgbench::{
    Client, Defines, Initialization, Script, ScriptSettings, Unended, Watcher, define, driver,
    named, tasks,
};
use crate::task::Site;

struct Database {
    folder: TempDir,
    target: Target,
}

fn database() -> Database {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    let (library, pragmas) = (SqliteLibrary::bundled(), Vec::new());
    let target = Target::Sqlite { library, path: folder.path().join("db"), pragmas };
    Database { folder, target }
}

impl Database {
    fn scalar(&self, sql: &str) -> String {
        let mut connection = self.target.connect().unwrap();
        rqps_wire::scalar(&mut *connection, sql).unwrap().unwrap()
    }

    fn run(&self, sql: &str) {
        self.target.connect().unwrap().run(sql).unwrap();
    }
}

/// What `debug` showed.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<String>>>);

impl Watcher for Shown {
    fn shows(&mut self, _script: usize, command: usize, value: &str) {
        self.0.lock().unwrap().push(format!("{}: {value}", command + 1));
    }
}

/// Clients of these scripts with their weights.
fn clients(
    database: &Database,
    scripts: &[(&str, u64)],
    mode: QueryMode,
    seed: u64,
    count: u32,
) -> (Vec<Client>, Shown) {
    let mut defines = Defines::new();
    for text in ["foo=bla", "one=1"] {
        define(&mut defines, text).unwrap();
    }
    let scripts = scripts
        .iter()
        .map(|(text, weight)| (Script::parse("s.sql", text).unwrap(), *weight))
        .collect();
    let settings = ScriptSettings { scripts, mode, defines, is_lenient: false, scale: 1, seed };
    settings.check().unwrap();
    let mut clients = settings.clients(&database.target, Dialect::SQLITE, count).unwrap();
    let shown = Shown::default();
    clients.iter_mut().for_each(|client| client.watch(Box::new(shown.clone())));
    (clients, shown)
}

fn shown(script: &str) -> Result<Vec<String>, Unended> {
    let database = database();
    let (mut clients, shown) = clients(&database, &[(script, 1)], QueryMode::Simple, 5432, 1);
    clients[0].begin();
    clients[0].run(0)?;
    let shown = shown.0.lock().unwrap().clone();
    Ok(shown)
}

#[test]
fn pgbench_draws_these_numbers_from_this_seed() {
    let script = "\\set a debug(random(10, 19))\n\\set b debug(random_exponential(100, 199, 10.0))\n\
                  \\set c debug(random_gaussian(1000, 1999, 10.0))\n";
    assert_eq!(shown(script).unwrap(), ["1: int 17", "2: int 104", "3: int 1498"]);
}

#[test]
fn of_the_branches_of_a_condition_one_is_taken() {
    let script = "\\if 1 > 0\n\\set a debug(2)\n\\elif 1/0 = 1\n\\set a debug(4)\n\\else\n\
                  \\set a debug(6)\n\\endif\n\
                  \\if null\n\\set a debug(9)\n\\elif 0\n\\set a debug(11)\n\\elif :one\n\
                  \\if 0\n\\set a debug(14)\n\\else\n\\set a debug(16)\n\\endif\n\\else\n\
                  \\set a debug(19)\n\\endif\n\\set a debug(21)\n";
    assert_eq!(shown(script).unwrap(), ["2: int 2", "16: int 16", "21: int 21"]);
}

#[test]
fn what_fails_says_where_and_why() {
    for (script, expected) in [
        ("select 1;\n\\set i 1/0", "s.sql:2: division by zero in: \\set i 1/0"),
        ("\\set i :nosuchvariable", "s.sql:1: undefined variable 'nosuchvariable' in: "),
        ("\\set i :foo + 1", "s.sql:1: malformed variable 'foo' value: 'bla'"),
        ("\\sleep :nosuchvariable", "s.sql:1: sleep: undefined variable 'nosuchvariable'"),
        ("\\sleep :foo", "s.sql:1: sleep: variable 'foo' is no number: 'bla'"),
        ("select 1;\n\nselect no_such_column;", "s.sql:3: no such column: no_such_column"),
        ("\\endpipeline", "s.sql:1: not in pipeline mode in: \\endpipeline"),
        ("\\shell exit 3", "s.sql:1: (shell) command failed with exit status: 3"),
        ("\\setshell i echo one", "s.sql:1: shell command must return an integer, not 'one'"),
        ("\\shell echo ::foo :nosuch", "s.sql:1: undefined variable 'nosuch' in the shell's"),
    ] {
        let Err(Unended::Aborted(aborted)) = shown(script) else { panic!("{script}") };
        let aborted = aborted.to_string();
        assert!(aborted.starts_with(expected), "{script}: {aborted}");
    }
}

#[test]
fn the_shell_gets_words_with_the_values_of_variables() {
    let script = "\\setshell two\\\n  expr \\\n  :one + 1\n\\set n debug(:two)\n\\sleep :one us\n\
                  \\sleep 0 ms\n";
    assert_eq!(shown(script).unwrap(), ["2: int 2"]);
}

/// Deltas of tpcb-like's first transactions.
fn deltas(mode: QueryMode, seed: u64, client: usize) -> String {
    let database = database();
    let tables = Initialization::new(1);
    tables.fill(&mut *database.target.connect().unwrap(), &mut |_| {}).unwrap();
    let text = named("tpcb", true).unwrap().text;
    let (mut clients, _) = clients(&database, &[(&text, 1)], mode, seed, 2);
    for _ in 0..3 {
        clients[client].begin();
        let effect = clients[client].run(0).unwrap();
        assert_eq!(effect.statements.total(), 7);
        assert_eq!(effect.statements.reads, 1);
    }
    let sums = "select (select sum(abalance) from pgbench_accounts) = \
                (select sum(tbalance) from pgbench_tellers) and \
                (select sum(bbalance) from pgbench_branches) = \
                (select sum(delta) from pgbench_history)";
    assert_eq!(database.scalar(sums), "1");
    assert_eq!(database.scalar("select count(*) from pgbench_accounts"), "100000");
    assert_eq!(database.scalar("select count(*) from pgbench_tellers where bid = 1"), "10");
    database.scalar("select group_concat(delta, ' ') from pgbench_history")
}

#[test]
fn each_client_has_its_own_numbers_in_every_mode() {
    let simple = deltas(QueryMode::Simple, 1, 0);
    assert_eq!(deltas(QueryMode::Prepared, 1, 0), simple);
    assert_ne!(deltas(QueryMode::Simple, 1, 1), simple);
    assert_ne!(deltas(QueryMode::Simple, 2, 0), simple);
}

#[test]
fn another_try_has_the_same_numbers() {
    let script = "\\set a debug(random(1, 1000000))\n";
    let database = database();
    let (mut clients, shown) = clients(&database, &[(script, 1)], QueryMode::Simple, 1, 1);
    let client = &mut clients[0];
    client.begin();
    client.run(0).unwrap();
    client.begin_again();
    client.run(0).unwrap();
    client.begin();
    client.run(0).unwrap();
    let shown = shown.0.lock().unwrap().clone();
    assert_eq!(shown[0], shown[1]);
    assert_ne!(shown[1], shown[2]);
}

#[test]
fn scripts_are_played_by_their_weights() {
    let database = database();
    let scripts = [("select 1;", 3), ("select 2;", 0), ("select 3;", 1)];
    let (mut clients, _) = clients(&database, &scripts, QueryMode::Simple, 1, 1);
    let mut counts = [0; 3];
    (0..4000).for_each(|_| counts[clients[0].choose()] += 1);
    assert_eq!(counts[1], 0);
    assert!((2800..3200).contains(&counts[0]), "{counts:?}");
}

#[test]
fn values_of_all_types_are_sent() {
    let database = database();
    database.run("create table t (a, b, c, d)");
    let script = "\\set a 7\n\\set b 0.5\n\\set c NULL\ninsert into t values (:a, :b, :c, :one);";
    for mode in [QueryMode::Simple, QueryMode::Prepared] {
        let (mut clients, _) = clients(&database, &[(script, 1)], mode, 1, 1);
        clients[0].begin();
        clients[0].run(0).unwrap();
    }
    let nulls = "select count(*) from t where c is null and a = '7' or a = 7 and c is null";
    assert_eq!(database.scalar(nulls), "2");
}

/// A stored plan may come from elsewhere.
#[test]
fn a_stored_plan_runs_no_programs() {
    let database = database();
    let mark = database.folder.path().join("mark");
    let script = PgbenchScript {
        text: format!("\\shell touch {}\nselect 1;", mark.display()),
        ..named("select-only", true).unwrap()
    };
    let plan = Pgbench {
        mix: false,
        scripts: vec![script],
        scale: 1,
        mode: QueryMode::Simple,
        defines: Defines::new(),
        undefined_is_null: false,
        clients: 1,
        time: "1s".parse().unwrap(),
    };
    let site = Site {
        target: &database.target,
        dbms: "sqlite".parse().unwrap(),
        dialect: Dialect::SQLITE,
        seed: 1,
        is_own: true,
        method: Method::Slices,
    };
    let driver = driver(&plan, site);
    let task = tasks(&plan).pop().unwrap();
    for error in [driver.connect(&task, 1, 0).err(), driver.explained(&task).err()] {
        let error = error.unwrap().to_string();
        assert!(error.contains("\\shell and \\setshell run programs"), "{error}");
    }
    assert!(!mark.exists());
}
