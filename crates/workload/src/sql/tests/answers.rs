//! Two databases of SQLite that differ, and what is said of their answers.

use rqps_plan::{Method, RowsVerdict};
use rqps_wire::{SqliteLibrary, Target};
use tempfile::TempDir;

use super::folders::folder;
use super::runs::plan;
use crate::answers::{AnsweringArm, ArmAnswers, ArmRole, TestAnswers, examiner};
use crate::{Dialect, Site, WorkloadError};

const SCHEMA: &str = "create table t (id integer primary key, name text, price real);
    insert into t values (1, 'a', 1.5), (2, null, 2.5), (3, 'c', null), (4, 'c', 0.0);
    create table n (id integer primary key, hits integer not null);
    insert into n values (1, 0), (2, 0);";

/// Databases with the schema, each with more statements.
struct Databases {
    folder: TempDir,
    targets: Vec<Target>,
}

fn databases(queries: &[(&str, &str)], more: &[&str]) -> Databases {
    let files: Vec<(String, &str)> =
        queries.iter().map(|(id, text)| (format!("queries/{id}.sql"), *text)).collect();
    let files: Vec<(&str, &str)> =
        files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let folder = folder(&files);
    let target = |(number, more): (usize, &&str)| {
        let target = Target::Sqlite {
            library: SqliteLibrary::bundled(),
            path: folder.path().join(format!("db{number}")),
            pragmas: Vec::new(),
        };
        let mut connection = target.connect().unwrap();
        for statement in SCHEMA.split(';').chain(more.split(';')) {
            connection.run(statement).unwrap();
        }
        target
    };
    let targets = more.iter().enumerate().map(target).collect();
    Databases { folder, targets }
}

impl Databases {
    /// What the arms answer: the first is the baseline, and the last the control if there is one.
    fn answers(&self, test: &str, has_control: bool) -> TestAnswers {
        self.try_answers(test, has_control).unwrap()
    }

    fn try_answers(&self, test: &str, has_control: bool) -> Result<TestAnswers, WorkloadError> {
        let plan = plan(self.folder.path()).unwrap();
        let last = self.targets.len() - 1;
        let arm = |(place, target): (usize, &'_ Target)| {
            let role = match place {
                0 => ArmRole::Baseline,
                place if has_control && place == last => ArmRole::Control,
                _ => ArmRole::Contender,
            };
            (target.clone(), role)
        };
        let arms: Vec<(Target, ArmRole)> = self.targets.iter().enumerate().map(arm).collect();
        let (dbms, dialect) = ("sqlite".parse().unwrap(), Dialect::SQLITE);
        let arms = arms.iter().map(|(target, role)| AnsweringArm {
            site: Site { target, dbms, dialect, seed: 1, is_own: true, method: Method::Slices },
            role: *role,
        });
        let examiner = examiner(&plan, arms.collect()).unwrap().unwrap();
        examiner.examine(test)
    }

    /// The answers of the only contender.
    fn contender(&self, test: &str) -> ArmAnswers {
        self.answers(test, false).arms.remove(1)
    }
}

/// What is said of one fault, by a query on the table that has it.
fn of_fault(query: &str, fault: &str) -> (RowsVerdict, Option<String>) {
    let found = databases(&[("q", query)], &["", fault]).contender("q");
    (found.verdict, found.detail)
}

#[test]
fn seeded_faults_are_found() {
    let all = "select * from t";
    let one = |what: &str| (RowsVerdict::Different, Some(format!("set 1 of values: {what}")));
    assert_eq!(of_fault(all, ""), (RowsVerdict::Same, None));
    assert_eq!(of_fault(all, "delete from t where id = 3"), one("3 rows, not 4"));
    let differs = one("1 of 4 rows differ");
    for fault in [
        "update t set name = '' where id = 2",
        "update t set price = 0 where id = 3",
        "update t set price = price * (1 + 1e-7) where id = 2",
    ] {
        assert_eq!(of_fault(all, fault), differs, "{fault}");
    }
    for no_fault in [
        "update t set price = price * (1 + 1e-10) where id = 2",
        "update t set price = -0.0 where id = 4",
    ] {
        assert_eq!(of_fault(all, no_fault), (RowsVerdict::Same, None), "{no_fault}");
    }
}

#[test]
fn what_a_query_says_of_its_rows_is_kept_to() {
    let seventh = "update t set price = price * (1 + 1e-7) where id = 2";
    let query = "-- rqps: float = 1e-6\nselect * from t";
    assert_eq!(of_fault(query, seventh).0, RowsVerdict::Same);
    let ignored = "-- rqps: order = ignore\nselect * from t";
    assert_eq!(of_fault(ignored, seventh).0, RowsVerdict::Same);
    let other_way = "update t set id = 5 where id = 3";
    let ordered = "select name from t where name = 'c' union all select 'a' order by name";
    assert_eq!(of_fault(ordered, other_way).0, RowsVerdict::Same);
    let rows = "-- rqps: rows = 0..3\nselect * from t";
    let said = "set 1 of values: it returns 4 rows, but its file says rows = 0..3";
    let found = databases(&[("q", rows)], &["", "delete from t where id = 1"]).answers("q", false);
    assert_eq!(found.arms[0].verdict, RowsVerdict::Fails);
    assert_eq!(found.arms[0].detail.as_deref(), Some(said));
    assert_eq!(found.arms[1].verdict, RowsVerdict::NotComparable);
}

#[test]
fn ties_in_another_order_are_no_wrong_answer() {
    // Rows of one name are in the order of the index, and that of the table.
    let index = "create index by_name on t (name, price desc)";
    let query = "select id from t where name = 'c' order by name";
    let swapped = of_fault(query, index);
    assert_eq!(swapped.0, RowsVerdict::Order, "{swapped:?}");
    let exact = of_fault(&format!("-- rqps: order = exact\n{query}"), index);
    assert_eq!(exact.0, RowsVerdict::Different, "{exact:?}");
    let any = of_fault(&format!("-- rqps: order = any\n{query}"), index);
    assert_eq!(any.0, RowsVerdict::Same, "{any:?}");
    let limited = databases(&[("q", &format!("{query} limit 1"))], &["", index]).contender("q");
    assert_eq!((limited.verdict, limited.may_tie), (RowsVerdict::Different, true));
}

#[test]
fn a_lost_update_is_found_and_all_is_undone() {
    let query = "-- rqps: param id int = random(1, 2)\nupdate n set hits = hits + 1 where id = :id";
    let lost = "create trigger lost after update on n when new.id = 2 begin \
                update n set hits = 0 where id = 2; end";
    let databases = databases(&[("q", query)], &["", ""]);
    databases.targets[1].connect().unwrap().run(lost).unwrap();
    let found = databases.answers("q", false);
    assert_eq!(found.arms[1].verdict, RowsVerdict::Different);
    assert_eq!(found.arms[1].detail.as_deref(), Some("table n: 1 of 2 rows differ"));
    let differing = found.arms[1].differing.as_deref().unwrap();
    assert!(differing.contains("only the contender: id = '2', hits = '0'"), "{differing}");
    assert!(!found.is_spent);
    for target in &databases.targets {
        let sum = rqps_wire::scalar(&mut *target.connect().unwrap(), "select sum(hits) from n");
        assert_eq!(sum.unwrap().as_deref(), Some("0"), "nothing is left of it");
    }
}

#[test]
fn tables_that_differ_before_a_query_are_told_so() {
    let query = "update n set hits = hits + 1";
    let found = databases(&[("q", query)], &["", "update t set price = 9 where id = 1"]);
    let found = found.contender("q");
    assert_eq!(found.verdict, RowsVerdict::Different);
    let said = "table t: 1 of 4 rows differ, after the load already";
    assert_eq!(found.detail.as_deref(), Some(said));
}

#[test]
fn a_query_whose_class_reads_but_that_writes_is_refused() {
    let query = "-- rqps: class = point\nupdate n set hits = 1";
    let databases = databases(&[("q", query)], &["", ""]);
    let error = databases.try_answers("q", false).map(|_| ()).unwrap_err();
    assert!(error.is_refusal());
    let said = "queries/q.sql: it writes, although its class says that it reads. Write class = \
                update for it, or transaction = rollback";
    assert_eq!(error.to_string(), said);
}

#[test]
fn what_a_query_commits_spends_the_data() {
    let query = "begin;\nupdate n set hits = hits + 1;\ncommit";
    let found = databases(&[("q", query)], &["", ""]).answers("q", false);
    assert_eq!((found.arms[1].verdict, found.is_spent), (RowsVerdict::Same, true));
    let other = databases(&[("q", query)], &["", "update n set hits = 7"]).answers("q", false);
    assert_eq!(other.arms[1].verdict, RowsVerdict::NotComparable, "nothing shows the baseline");
    let control = databases(&[("q", query)], &["", "update n set hits = 7", ""]).answers("q", true);
    assert_eq!(control.arms[1].verdict, RowsVerdict::Different);
}

#[test]
fn a_baseline_that_differs_from_itself_shows_nothing_of_others() {
    let random = databases(
        &[("q", "select random()"), ("w", "insert into n values (random(), 1)")],
        &["", ""],
    );
    for test in ["q", "w"] {
        let found = random.answers(test, false);
        let verdicts: Vec<RowsVerdict> = found.arms.iter().map(|arm| arm.verdict).collect();
        assert_eq!(verdicts, [RowsVerdict::NotComparable; 2], "{test}");
    }
    // Here only the control shows it.
    let other = "update t set price = 7 where id = 1";
    let loads = databases(&[("q", "select * from t")], &["", other, other]);
    let found = loads.answers("q", true);
    let said = "the baseline differs from itself (the A/A control)";
    assert_eq!(found.arms[1].verdict, RowsVerdict::NotComparable);
    assert_eq!(found.arms[1].detail.as_deref(), Some(said));
    let equal = databases(&[("q", "select * from t")], &["", other, ""]);
    let verdicts: Vec<RowsVerdict> =
        equal.answers("q", true).arms.iter().map(|arm| arm.verdict).collect();
    assert_eq!(verdicts, [RowsVerdict::Same, RowsVerdict::Different, RowsVerdict::Same]);
}

#[test]
fn an_arm_that_fails_says_why_and_the_others_are_compared() {
    let query = "select * from t";
    let found = databases(&[("q", query)], &["", "drop table t", ""]).answers("q", false);
    let verdicts: Vec<RowsVerdict> = found.arms.iter().map(|arm| arm.verdict).collect();
    assert_eq!(verdicts, [RowsVerdict::Same, RowsVerdict::Fails, RowsVerdict::Same]);
    let detail = found.arms[1].detail.as_deref().unwrap();
    assert!(detail.starts_with("it cannot be prepared: no such table: t"), "{detail}");
}

#[test]
fn values_stand_in_the_rows_that_differ_and_nowhere_else() {
    let query = "-- rqps: param name text const marker\nselect * from t where name <> :name";
    let files = [("q", query)];
    let found = databases(&files, &["", "update t set name = 'other' where id = 1"]).contender("q");
    let differing = found.differing.unwrap();
    assert!(differing.contains("name = marker") && differing.contains("'other'"), "{differing}");
    let detail = found.detail.unwrap();
    assert!(!detail.contains("marker") && !detail.contains("other"), "{detail}");
    let text = &found.plans[0][0].text;
    assert_eq!(text, "select * from t where name <> :name");
}

#[test]
fn a_query_that_returns_no_rows_is_told() {
    let query = "-- rqps: param id int = random(4, 9)\nselect * from t where id = :id";
    let found = databases(&[("q", query)], &["", ""]).answers("q", false);
    let note = found.arms[0].note.as_deref();
    assert_eq!(note, Some("it returns no row for 5 of 6 sets of values"));
    assert_eq!((found.arms[0].sets, found.arms[0].rows), (6, 1));
    assert_eq!(found.arms[0].digest, found.arms[1].digest);
}
