//! The workload derived from TPC-H: the same answers by every DBMS, and what is refused.

use std::fs;

use crate::common::{Rqps, Running};
use serde_json::Value;

fn compare(rqps: &Rqps, arguments: &str) -> Running {
    let out = rqps.out().display().to_string();
    let fixed = ["compare", "--out", &out, "--no-control", "--no-guards", "--instructions=none"];
    Running::start(rqps.command(fixed.into_iter().chain(arguments.split_whitespace())))
}

/// Each contender of the result has these queries, and answers them as the baseline does.
fn assert_same_answers(rqps: &Rqps, contenders: usize, queries: usize) {
    let text = fs::read_to_string(rqps.out().join("result.json")).unwrap();
    let result: Value = serde_json::from_str(&text).unwrap();
    let compared = result["comparison"]["contenders"].as_array().unwrap();
    assert_eq!(compared.len(), contenders);
    for contender in compared {
        let statements = contender["statements"].as_array().unwrap();
        assert_eq!(statements.len(), queries, "{contender}");
        for statement in statements {
            let rows = &statement["rows"];
            assert_eq!(rows["verdict"], "same rows", "{}: {statement}", contender["contender"]);
        }
    }
}

#[test]
#[ignore = "nightly: takes about a minute beside others"]
fn two_dbmss_give_the_same_answers_to_some_queries() {
    let rqps = Rqps::with_own_locks();
    // One with dates, one with quotients, one that each DBMS writes in its own words.
    let workload = "--workload tpch:0.01,q01,q04,q08,q14,q22";
    let ended =
        compare(&rqps, &format!("postgres@17.6 sqlite {workload} --rounds 3 --secs 0.1")).finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    assert_same_answers(&rqps, 1, 5);
    assert!(ended.stdout.contains("not a TPC result"), "{}", ended.stdout);
    rqps.assert_nothing_is_left();
}

#[test]
#[ignore = "nightly: takes minutes"]
fn every_dbms_gives_the_same_answers_to_all_queries() {
    let rqps = Rqps::with_own_locks();
    let contenders = "postgres@17.6 mysql@8.0.33 mariadb@11.4.5 sqlite";
    let ended = compare(&rqps, &format!("{contenders} --workload tpch:0.01 --rounds 3 --secs 0.1"))
        .finish();
    assert!([Some(0), Some(1)].contains(&ended.status.code()), "{}", ended.stderr);
    assert_same_answers(&rqps, 3, 22);
    rqps.assert_nothing_is_left();
}

#[test]
fn what_is_written_wrongly_is_refused_with_how_it_is_written() {
    let rqps = Rqps::new();
    let refused = |workload: &str| {
        let out = rqps.out().display().to_string();
        rqps.run(&format!("compare sqlite more=sqlite?mmap_size=256M {workload} --out {out}"))
            .expect_code(2)
            .stderr
    };
    for (workload, says) in [
        ("--workload tpch", "Write tpch:SCALE"),
        ("--workload tpch:big", "'big' is not a scale factor. Write a number, as in tpch:0.1"),
        ("--workload tpch:0", "a scale factor must be between 0.01 and 100"),
        ("--workload tpch:0.1,q1", "unknown query 'q1' of tpch: did you mean 'q01'?"),
        ("--workload tpch:0.1 --rows 5K", "Drop --rows"),
        ("--workload tpch:0.1 --load-errors skip", "Drop --load-errors"),
    ] {
        let error = refused(workload);
        assert!(error.contains(says), "{workload}: {error}");
    }
}
