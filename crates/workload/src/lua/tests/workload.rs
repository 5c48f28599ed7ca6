//! Scripts as tests of a comparison.

use rqps_plan::{Class, LuaTest, LuaWorkload, Method, Span};
use std::time::Duration;

use super::*;
use crate::lua::{driver, tasks};
use crate::task::Site;

const READS: &str = "
sysbench.cmdline.options = {table_size = {'rows', 100}}
function prepare()
   local con = sysbench.sql.driver():connect()
   con:query('create table sbtest1 (id integer primary key, k int)')
   con:bulk_insert_init('insert into sbtest1 values')
   for i = 1, sysbench.opt.table_size do con:bulk_insert_next('(' .. i .. ', 0)') end
   con:bulk_insert_done()
end
function thread_init()
   con = sysbench.sql.driver():connect()
   point = con:prepare('select k from sbtest1 where id = ?')
   id = point:bind_create(sysbench.sql.type.INT)
   point:bind_param(id)
end
function event()
   for i = 1, 2 do
      id:set(sysbench.rand.uniform(1, sysbench.opt.table_size))
      point:execute()
   end
end
";

fn trial(text: &str) -> Result<Trial, LuaFault> {
    let script = script(text)?;
    let options = script.options()?;
    script.trial(Dialect::POSTGRES, &options)
}

#[test]
fn a_trial_shows_what_a_script_does_without_a_server() {
    let reads = trial(READS).unwrap();
    assert_eq!((reads.writes, reads.statements, reads.problem), (None, 2.0, None));
    let (text, sql) = &reads.seen[0];
    assert_eq!(text, "select k from sbtest1 where id = ?");
    assert!(sql.starts_with("select k from sbtest1 where id = ") && !sql.ends_with('?'), "{sql}");
    let writes = trial(&READS.replace("select k from sbtest1", "delete from sbtest1")).unwrap();
    assert_eq!(writes.writes.as_deref(), Some("delete from sbtest1 where id = ?"));
    // What a script reads is made up, and need not fit.
    let depends = trial(
        "function event() local c = sysbench.sql.driver():connect()
         if c:query_row('select 1') ~= '2' then error('not 2') end end",
    );
    assert!(depends.unwrap().problem.unwrap().contains("not 2"));
}

#[test]
fn a_trial_refuses_what_no_server_would_mend() {
    for (text, told) in [
        ("function evnt() end", "s.lua defines no function event. Add one"),
        ("function event() sysbench.rand.zipf(1, 2) end", "unknown name sysbench.rand.zipf"),
        ("function event() os.execute('id') end", "os.execute is not given to scripts"),
        ("require('nothing')", "the module 'nothing' is not stored"),
    ] {
        let error = trial(text).unwrap_err().to_string();
        assert!(error.contains(told), "{text}: {error}");
    }
}

fn plan(text: &str, class: Class) -> LuaWorkload {
    let test = LuaTest {
        id: "s".to_string(),
        source: "s.lua".to_string(),
        text: text.to_string(),
        modules: BTreeMap::new(),
        class,
        statements: 2.0,
        prepares: true,
        is_measured: true,
    };
    LuaWorkload {
        scripts: vec![test],
        options: BTreeMap::from([("table_size".to_string(), "50".to_string())]),
        clients: 1,
        time: Span(Duration::from_millis(100)),
    }
}

#[test]
fn a_script_makes_its_tables_and_is_measured() {
    let bench = Bench::new();
    let plan = plan(READS, Class::Range);
    let site = Site {
        target: &bench.target,
        dbms: rqps_plan::Dbms::Sqlite,
        dialect: Dialect::SQLITE,
        seed: 1,
        is_own: true,
        method: Method::Slices,
    };
    let driver = driver(&plan, site).unwrap();
    let tasks = tasks(&plan);
    assert_eq!(tasks.iter().map(|task| task.name.as_str()).collect::<Vec<_>>(), ["load", "s"]);
    driver.prepare(&tasks[0], 0).unwrap();
    assert_eq!(driver.row_counts().unwrap(), BTreeMap::from([("sbtest1".to_string(), 50)]));
    assert_eq!(driver.tables(), ["\"sbtest1\""]);
    let explained = driver.explained(&tasks[1]).unwrap();
    assert_eq!(explained.len(), 1);
    assert!(explained[0].plan.is_some());
    let mut connected = driver.connect(&tasks[1], 1, 0).unwrap();
    assert_eq!((connected.parts.len(), connected.worth), (1, 2.0));
    let effect = connected.parts[0].work.execute().unwrap();
    assert_eq!((effect.rows, effect.statements.reads), (2, 2));
    assert_eq!(driver.told(), None);
}

#[test]
fn a_write_of_a_script_that_should_only_read_is_told() {
    for (call, sql) in [
        ("con:query", "update sbtest1 set k = 1 where id = 1"),
        ("con:query", "with x as (select 1) update sbtest1 set k = 1"),
        ("con:prepare", "with x as (select 1) update sbtest1 set k = 1"),
    ] {
        tells_a_write(call, sql);
    }
}

fn tells_a_write(call: &str, sql: &str) {
    let bench = Bench::new();
    let late = format!(
        "events = 0\nfunction event()\nevents = events + 1\n\
         if events > 150 then {call}('{sql}') end\n"
    );
    let text = READS.replace("function event()", &late);
    assert_eq!(trial(&text).unwrap().writes, None, "beyond the trial");
    let plan = plan(&text, Class::Range);
    let site = Site {
        target: &bench.target,
        dbms: rqps_plan::Dbms::Sqlite,
        dialect: Dialect::SQLITE,
        seed: 1,
        is_own: true,
        method: Method::Runs,
    };
    let driver = driver(&plan, site).unwrap();
    let tasks = tasks(&plan);
    driver.prepare(&tasks[0], 0).unwrap();
    let mut connected = driver.connect(&tasks[1], 1, 0).unwrap();
    for _ in 0..200 {
        connected.parts[0].work.execute().unwrap();
    }
    let told = driver.told().unwrap();
    assert!(told.contains(&format!("it has sent one: {}", &sql[..30])), "{told}");
}

#[test]
fn a_sleep_is_refused_in_slices() {
    let bench = Bench::new();
    let text = READS.replace("for i = 1, 2 do", "ffi.C.usleep(1)\nfor i = 1, 2 do");
    for (method, told) in [(Method::Slices, "Use --method runs"), (Method::Runs, "")] {
        let plan = plan(&text, Class::Range);
        let site = Site {
            target: &bench.target,
            dbms: rqps_plan::Dbms::Sqlite,
            dialect: Dialect::SQLITE,
            seed: 1,
            is_own: true,
            method,
        };
        let driver = driver(&plan, site).unwrap();
        let tasks = tasks(&plan);
        let _ = driver.prepare(&tasks[0], 0);
        let mut connected = driver.connect(&tasks[1], 1, 0).unwrap();
        match connected.parts[0].work.execute() {
            Ok(_) => assert_eq!(told, ""),
            Err(error) => assert!(!told.is_empty() && error.to_string().contains(told), "{error}"),
        }
    }
}

#[test]
fn modules_of_all_commands_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "s.lua",
        "require('loaded')
         function prepare() require('rows') end
         function event() end -- require('gone'), require('broken')",
    );
    write("loaded.lua", "function cleanup() require 'later' end");
    write("rows.lua", "x = require(\"deep.rows\")");
    write("later.lua", "");
    write("broken.lua", "SECRET: no Lua");
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    write("deep/rows.lua", "return 7");
    let given = folder.path().join("s.lua");
    let script = LuaScript::read(given.to_str().unwrap(), "run").unwrap();
    let modules = script.files.modules();
    assert_eq!(modules.keys().collect::<Vec<_>>(), ["deep.rows", "later", "loaded", "rows"]);
    let stored = ScriptFiles::stored("s.lua", script.files.text(), modules);
    let stored = LuaScript::of_files(Arc::new(stored), "run").unwrap();
    let (bench, options) = (Bench::new(), stored.options().unwrap());
    stored.run_command(&bench.settings(&stored), &options, "prepare").unwrap();
}

#[test]
fn a_script_starts_no_more_threads_than_a_user_may() {
    let script = script(
        "sysbench.cmdline.options = {threads = {'mine', 2000000000}}
         sysbench.cmdline.commands = {
            prepare = {function() end, sysbench.cmdline.PARALLEL_COMMAND},
         }",
    );
    let (script, bench) = (script.unwrap(), Bench::new());
    let options = script.options().unwrap();
    let error = script.run_command(&bench.settings(&script), &options, "prepare").unwrap_err();
    assert!(error.to_string().contains("--threads=2000000000 must be from 1 to 10000"), "{error}");
}
