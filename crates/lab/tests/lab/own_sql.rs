//! Comparisons on a folder of SQL whose statements take longer than a slice, or for ever.

use std::fs;

use rqps_analysis::comparison::tests;
use rqps_plan::Dbms;
use rqps_store::Status;
use rqps_workload::{Asked, Wanted};

use super::fake::Fault::Endless;
use super::*;

const FILES: [(&str, &str); 3] = [
    ("schema.sql", "create view v as select 1 as n"),
    // Each set returns as many rows as its number, and takes as long.
    (
        "queries/long.sql",
        "-- rqps: param most int = random(2000, 40000)\n\
         with recursive c(n) as (select 1 union all select n + 1 from c where n < :most) \
         select n from c",
    ),
    ("queries/view.sql", "-- rqps: timeout = 0.3\nselect count(*) from v"),
];

/// The same world with this folder.
fn world(other: &[(u32, Fault)]) -> World {
    let mut world = World::new(&[], other);
    let folder = world.path("shop");
    for (name, text) in FILES {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let workload: Wanted = format!("sql:{}", folder.display()).parse().unwrap();
    let asked = Asked {
        workload: &workload,
        contenders: &world.plan.contenders,
        rows: None,
        tables: None,
        writes: None,
        loads: None,
        clients: 1,
        secs: Some(Span(Duration::from_millis(100))),
        fitting: &|_| Asked::SECS,
        check: true,
        scale: None,
        query_mode: None,
        defines: &[],
        skips_load_errors: false,
        stock_key: None,
        foreign_keys: false,
        think: false,
        read_only: false,
    };
    assert_eq!(world.plan.contenders[0].dbms, Dbms::Sqlite);
    let of = asked.plan().unwrap();
    world.comparison().of = of;
    world
}

#[test]
fn all_arms_of_a_cycle_execute_the_same_sets_of_a_long_statement() {
    let ran = world(&[]).run();
    assert_eq!(ran.outcome, Outcome::Complete);
    let mut beginnings = Vec::new();
    for pass in ran.passes.iter().filter(|pass| pass.test == "long") {
        let cycles: Vec<_> = pass.slices.chunks(ALL.len()).collect();
        assert!(cycles.len() >= 4 && cycles.len().is_multiple_of(2), "{} cycles", cycles.len());
        for cycle in &cycles {
            let work = |slice: &rqps_store::SliceRecord| (slice.operations, slice.rows);
            assert!(cycle.iter().all(|slice| work(slice) == work(&cycle[0])), "{cycle:?}");
        }
        let rows: Vec<u64> = cycles.iter().map(|cycle| cycle[0].rows).collect();
        assert!(rows.iter().any(|of_cycle| *of_cycle != rows[0]), "each cycle has other sets");
        beginnings.push(rows);
    }
    assert_ne!(beginnings[0], beginnings[1], "rounds begin with other sets");
    let told = |event: &&Event| matches!(event, Event::Lasts { test, .. } if test == "long");
    assert_eq!(ran.events.iter().filter(told).count(), ROUNDS as usize, "the ETA knows of it");
}

#[test]
fn a_statement_without_end_is_a_regression_and_the_others_go_on() {
    // In the first round: its first start is for the load, its second for comparing answers.
    let ran = world(&[(3, Endless)]).run();
    assert_eq!(ran.outcome, Outcome::Complete, "it is a result, and no failure");
    let late: Vec<_> = (ran.passes.iter())
        .filter(|pass| pass.arms.get("other").is_some_and(|arm| arm.status == Status::Overdue))
        .filter(|pass| pass.arms["other"].seconds > 0.0)
        .collect();
    assert_eq!(late.len(), 1, "it is not tried again");
    assert_eq!((late[0].round, late[0].test.as_str()), (1, "view"));
    assert!(late[0].slices.is_empty() && late[0].discarded.is_some());
    let why = late[0].arms["other"].failure().unwrap();
    assert!(why.starts_with("an execution was ended after 0.3 s, of which the"), "{why}");
    let observed = tests(&ran.passes);
    let view = observed.iter().find(|test| test.name == "view").unwrap();
    let times = view.overdue("other", "base").unwrap();
    assert!(times > 50.0, "the baseline takes microseconds: {times}");
    assert_eq!(view.overdue("A/A control", "base"), None);
    // It skips this statement alone, and the others skip nothing.
    for (round, test, driven) in ran.counted() {
        let expected = if test == "view" { &ALL[..2] } else { &ALL };
        assert_eq!(driven, expected, "round {round}, {test}");
    }
    assert_eq!(ran.counted().len(), 2 * ROUNDS as usize);
}
