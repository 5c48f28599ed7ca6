//! A folder on SQLite: its load, its clients, and what fails.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use rqps_load::{Effect, Halt};
use rqps_plan::{Contender, Method, Span, Workload};
use rqps_wire::{SqliteLibrary, Target};
use tempfile::TempDir;

use super::folders::folder;
use crate::{
    Asked, Dialect, Driver, Site, Task, Wanted, WorkloadError, driver, made_tables, tasks,
};

const FILES: &[(&str, &str)] = &[
    ("schema.sql", "create table t (id integer primary key, name text, price numeric);"),
    ("indexes.sql", "create index by_name on t (name);"),
    ("load/t.csv", "id,name,price\n1,Ann,1.5\n2,,2.5\n3,\"\",3.5\n4,it's,\n"),
    ("load/u.sql", "create table u (id int); insert into u values (7);"),
    ("params/names.csv", "name\nAnn\nit's\n"),
    (
        "queries/by_id.sql",
        "-- rqps: param id int from \"select id from t\"\nselect * from t where id = :id",
    ),
    (
        "queries/by_name.sql",
        "-- rqps: param name text from names.csv#name\nselect * from t where name = :name",
    ),
    (
        "queries/no_name.sql",
        "-- rqps: param name text const \\N\nselect * from t where name is :name",
    ),
    (
        "queries/undone.sql",
        "-- rqps: transaction = rollback\ndelete from t;\nselect count(*) from t",
    ),
    ("queries/elsewhere.sql", "-- rqps: except = sqlite\nselect 1"),
];

/// The workload of a folder for SQLite.
pub(super) fn plan(folder: &Path) -> Result<Workload, String> {
    let workload: Wanted = format!("sql:{}", folder.display()).parse()?;
    let contenders: Vec<Contender> = vec!["sqlite".parse().unwrap()];
    let asked = Asked {
        workload: &workload,
        contenders: &contenders,
        rows: None,
        tables: None,
        writes: None,
        loads: None,
        clients: 1,
        scale: None,
        query_mode: None,
        defines: &[],
        secs: Some(Span(Duration::from_secs(1))),
        fitting: &|_| Asked::SECS,
        check: true,
        skips_load_errors: false,
        stock_key: None,
        foreign_keys: false,
        think: false,
        read_only: false,
    };
    asked.plan().map_err(|error| error.to_string())
}

/// Loads a folder into a database.
struct Loaded {
    folder: TempDir,
    target: Target,
    plan: Workload,
}

fn loaded(files: &[(&str, &str)]) -> Result<Loaded, WorkloadError> {
    let folder = folder(files);
    let target = Target::Sqlite {
        library: SqliteLibrary::bundled(),
        path: folder.path().join("db"),
        pragmas: Vec::new(),
    };
    let plan = plan(folder.path()).unwrap();
    let loaded = Loaded { folder, target, plan };
    let load = tasks(&loaded.plan)?.remove(0);
    loaded.driver()?.prepare(&load, 1)?;
    Ok(loaded)
}

impl Loaded {
    fn driver(&self) -> Result<Box<dyn Driver + '_>, WorkloadError> {
        let (dbms, dialect) = ("sqlite".parse().unwrap(), Dialect::SQLITE);
        driver(
            &self.plan,
            Site {
                target: &self.target,
                dbms,
                dialect,
                seed: 1,
                is_own: true,
                method: Method::Runs,
            },
        )
    }

    fn task(&self, name: &str) -> Task {
        let tasks = tasks(&self.plan).unwrap();
        tasks.into_iter().find(|task| task.name == name).unwrap()
    }

    fn count(&self) -> String {
        let mut connection = self.target.connect().unwrap();
        rqps_wire::scalar(&mut *connection, "select count(*) from t").unwrap().unwrap()
    }

    /// The effects of some executions of a query.
    fn effects(&self, name: &str, executions: usize) -> Vec<Effect> {
        let (driver, task) = (self.driver().unwrap(), self.task(name));
        driver.prepare(&task, 1).unwrap();
        let mut connected = driver.connect(&task, 1, 0).unwrap();
        let (work, halt) = (&mut connected.parts[0].work, Halt::default());
        let mut execute = |_| {
            work.make(&halt).unwrap();
            work.execute().unwrap()
        };
        (0..executions).map(&mut execute).collect()
    }
}

#[test]
fn a_name_that_would_steer_a_terminal_is_refused_before_anything_is_measured() {
    let query = ("queries/one.sql", "select 1");
    let steers = folder(&[query, ("workload.toml", "name = \"a\\u001b[31m\"")]);
    let error = plan(steers.path()).unwrap_err();
    assert!(error.ends_with("has characters that cannot be shown. Rename it"), "{error}");
    let file = folder(&[query, ("load/1_\u{7}t.csv", "id\n1\n")]);
    let error = plan(file.path()).unwrap_err();
    assert!(error.ends_with("has characters that cannot be shown. Rename it"), "{error}");
    plan(folder(&[query]).path()).unwrap();
}

#[test]
fn a_folder_is_loaded_and_its_queries_return_their_rows() {
    let loaded = loaded(FILES).unwrap();
    assert_eq!(loaded.count(), "4");
    assert_eq!(loaded.plan.tests(), ["by_id", "by_name", "no_name", "undone"]);
    assert_eq!(loaded.driver().unwrap().tables(), ["\"t\"", "\"u\""]);
    for name in ["by_id", "by_name", "no_name"] {
        assert_eq!(loaded.effects(name, 20), vec![Effect::read(1); 20], "{name}");
    }
}

#[test]
fn a_transaction_that_is_rolled_back_leaves_the_data_as_they_were() {
    let loaded = loaded(FILES).unwrap();
    for effect in loaded.effects("undone", 3) {
        let mut expected = Effect::other();
        expected += Effect::write(4);
        expected += Effect::read(1);
        expected += Effect::other();
        assert_eq!(effect, expected);
    }
    assert_eq!(loaded.count(), "4");
}

#[test]
fn a_query_is_shown_with_its_parameters_and_its_plan() {
    let loaded = loaded(FILES).unwrap();
    let (driver, task) = (loaded.driver().unwrap(), loaded.task("by_name"));
    driver.prepare(&task, 1).unwrap();
    let [explained] = &driver.explained(&task).unwrap()[..] else { panic!("one statement") };
    assert_eq!(explained.text, "select * from t where name = :name");
    assert!(explained.plan.as_ref().unwrap().contains("by_name"), "{explained:?}");
}

#[test]
fn a_statement_that_the_dbms_refuses_is_named_with_file_and_line() {
    for (file, text, expected) in [
        ("schema.sql", "create table t (id int);\n\ncreate tabel u (id int)", "schema.sql:3: "),
        ("load/z.sql", "\ninsert into none values (1)", "load/z.sql:2: no such table: none"),
        ("load/none.csv", "id\n1\n", "load/none.csv:2: no such table: none"),
        ("indexes.sql", "create index i on t (none)", "indexes.sql:1: "),
    ] {
        let schema = ("schema.sql", "create table t (id int);");
        let files = [schema, ("queries/q.sql", "select 1"), (file, text)];
        let error = loaded(&files).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn a_folder_that_has_changed_is_refused_with_the_file() {
    let loaded = loaded(FILES).unwrap();
    assert!(tasks(&loaded.plan).is_ok());
    let expected = "it has changed since this run began. Restore it, or begin another run";
    for file in ["queries/by_id.sql", "load/t.csv", "queries/new.sql", "workload.toml"] {
        let path = loaded.folder.path().join(file);
        let before = fs::read(&path).ok();
        fs::write(&path, "# Another text.").unwrap();
        let error = tasks(&loaded.plan).unwrap_err();
        assert_eq!(error.to_string(), format!("{file}: {expected}"));
        assert!(error.is_refusal());
        match before {
            Some(bytes) => fs::write(&path, bytes).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
    assert!(tasks(&loaded.plan).is_ok());
}

#[test]
fn what_cannot_be_compared_is_refused_at_once() {
    let elsewhere = folder(&[("queries/q.sql", "-- rqps: only = mysql\nselect 1")]);
    let none = plan(elsewhere.path()).unwrap().validate(&[]).unwrap_err();
    assert_eq!(none.to_string(), "no query is for all of these contenders");
    let some = folder(FILES);
    let missing = plan(&some.path().join("none")).unwrap_err();
    assert!(missing.starts_with("cannot read '"), "{missing}");
}

#[test]
fn a_query_that_writes_is_refused_on_a_remote_server_and_not_on_one_of_rqps_s_own() {
    let update = ("queries/more.sql", "update t set price = price + 1");
    let loaded = folder(&[FILES, &[update]].concat());
    let workload = plan(loaded.path()).unwrap();
    let made = |contender: &str| {
        made_tables(&workload, &contender.parse().unwrap()).map_err(|error| error.to_string())
    };
    assert_eq!(made("postgres@17.6"), Ok(Vec::new()));
    let refused = made("postgres://localhost/db").unwrap_err();
    assert!(refused.contains("queries/more.sql:1: it does not plainly leave"), "{refused}");
}

#[test]
fn an_execution_of_a_whole_run_is_ended_by_its_timeout() {
    let endless = "-- rqps: timeout = 0.3\n-- rqps: param most int from \"select max(id) from t\"\n\
                   with recursive c(n) as (select 1 union all select n + 1 from c) \
                   select max(n) + :most from c";
    let files = [FILES, &[("queries/endless.sql", endless)]].concat();
    let loaded = loaded(&files).unwrap();
    let (driver, task) = (loaded.driver().unwrap(), loaded.task("endless"));
    driver.prepare(&task, 1).unwrap();
    let mut connected = driver.connect(&task, 1, 0).unwrap();
    let work = &mut connected.parts[0].work;
    work.make(&Halt::default()).unwrap();
    let error = work.execute().unwrap_err().to_string();
    let expected = "an execution of 'endless' took longer than 0.3 s and was ended";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_folder_says_of_how_many_days_its_weights_are() {
    let query = ("queries/q.sql", "-- rqps: weight = 21\nselect 1");
    let of = |toml: &str| plan(folder(&[query, ("workload.toml", toml)]).path());
    assert_eq!(of("days = 7").unwrap().executions_per_day("q"), Some(3.0));
    assert_eq!(of("days = 0.5").unwrap().executions_per_day("q"), Some(42.0));
    assert_eq!(of("").unwrap().executions_per_day("q"), None);
    for wrong in ["days = 0", "days = -1", "days = \"7\"", "days = nan"] {
        let error = of(wrong).unwrap_err();
        let expected = "workload.toml:1: days must be a number above 0, as in days = 7";
        assert!(error.contains(expected), "{wrong}: {error}");
    }
}

#[test]
fn the_disk_that_data_need_is_that_of_what_a_compressed_file_holds() {
    let rows: String = (1..=5_000).map(|id| format!("{id},always the same\n")).collect();
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(format!("id,name\n{rows}").as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    assert!(packed.len() * 3 < rows.len());
    let folder = folder(&[("queries/q.sql", "select 1"), ("load/keep.sql", "")]);
    fs::write(folder.path().join("load/t.csv.gz"), packed).unwrap();
    let Workload::SqlWorkload(plan) = plan(folder.path()).unwrap() else { panic!("not SQL") };
    assert!(plan.bytes >= rows.len() as u64, "{} of {}", plan.bytes, rows.len());
}

#[test]
fn a_check_tells_all_that_a_server_refuses() {
    let folder = folder(&[
        ("schema.sql", "create table t (id int);\ncreate table t (id int);\ncreate tabel u;"),
        ("load/t.csv", "id\n1\n2\n"),
        ("queries/good.sql", "-- rqps: rows = 2\nselect * from t"),
        ("queries/many.sql", "-- rqps: rows = 0..1\nselect * from t"),
        ("queries/bad.sql", "\nselect * from nowhere"),
        (
            "queries/endless.sql",
            "-- rqps: timeout = 0.2\nwith recursive c(n) as (select 1 union all select n + 1 from c) \
             select max(n) from c",
        ),
    ]);
    let database = tempfile::tempdir().unwrap();
    let target = Target::Sqlite {
        library: SqliteLibrary::bundled(),
        path: database.path().join("db"),
        pragmas: Vec::new(),
    };
    let (dbms, dialect) = (rqps_plan::Dbms::Sqlite, Dialect::SQLITE);
    let site =
        Site { target: &target, dbms, dialect, seed: 1, is_own: true, method: Method::Slices };
    let checked = crate::check_folder(folder.path(), site).unwrap();
    assert_eq!((checked.queries, checked.rows.get("t")), (1, Some(&2)));
    let begin = ["schema.sql:2: ", "schema.sql:3: "];
    assert_eq!(checked.load_errors.len(), begin.len(), "{:?}", checked.load_errors);
    for (fault, begin) in checked.load_errors.iter().zip(begin) {
        assert!(fault.starts_with(begin), "{fault}");
    }
    let [bad, endless, many] = &checked.faults[..] else { panic!("{:?}", checked.faults) };
    assert!(bad.starts_with("queries/bad.sql:2: "), "{bad}");
    assert_eq!(endless, "queries/endless.sql: it does not end within 0.2 s");
    let expected = "queries/many.sql: it returns 2 rows, but its file says rows = 0..1";
    assert_eq!(many, expected);
}

#[test]
fn a_literal_stands_in_the_text_and_a_parameter_beside_it_is_bound() {
    let mut files = FILES.to_vec();
    let query = "-- rqps: param name text literal from names.csv#name\n\
                 -- rqps: param most int literal const 9\n\
                 -- rqps: param id int from \"select id from t\"\n\
                 select * from t where name = :name and id <= :most";
    let mixed = query.to_string() + " and id <= :id + 9";
    let plain = query.replace("-- rqps: param id int from \"select id from t\"\n", "");
    files.push(("queries/literal.sql", &plain));
    files.push(("queries/mixed.sql", &mixed));
    let loaded = loaded(&files).unwrap();
    for name in ["literal", "mixed"] {
        // Each name is that of one row.
        let rows = loaded.effects(name, 20).iter().all(|effect| *effect == Effect::read(1));
        assert!(rows, "{name}");
    }
    let driver = loaded.driver().unwrap();
    let plans = driver.explained(&loaded.task("mixed")).unwrap();
    assert_eq!(plans.len(), 1);
}
