//! Several rqps at once in one directory, from the same instant on: one works, the others say so.

use std::fs;

use crate::common::result::RunResult;
use crate::common::{Rqps, Running};

#[test]
fn of_several_that_begin_in_one_directory_one_works() {
    for round in 0..5 {
        let rqps = Rqps::new();
        let arguments =
            "sqlite --rows 1K --rates 100 --query-secs 1 --pause 0 --only l.i0,l.x,l.i1,l.i2,qr100";
        let all: Vec<Running> = (0..3).map(|_| rqps.start_ibench(arguments)).collect();
        let ended: Vec<_> = all.into_iter().map(Running::finish).collect();
        let (worked, refused): (Vec<_>, Vec<_>) =
            ended.into_iter().partition(|ended| ended.status.code() == Some(0));
        assert_eq!(worked.len(), 1, "round {round}");
        for other in refused {
            let other = other.expect_code(2);
            let told = ["another rqps is using", "already contains a run", "is not empty"];
            assert!(told.iter().any(|text| other.stderr.contains(text)), "{}", other.stderr);
        }
        let result = RunResult::of(&rqps.out());
        assert_eq!(result.steps(), ["l.i0", "l.x", "l.i1", "l.i2", "qr100"]);
        result.assert_all_done();
        rqps.assert_nothing_is_left();
    }
}

#[test]
fn of_two_that_begin_a_matrix_in_one_directory_one_works() {
    let rqps = Rqps::new();
    let file = rqps.path("matrix.toml");
    let text = "contenders = 'sqlite'\n[ibench.one]\nrows = '1K'\nonly = ['l.i0', 'l.x']\n\
                [ibench.two]\nrows = '1K'\nonly = ['l.i0', 'l.x']\n";
    fs::write(&file, text).unwrap();
    let arguments = file.display().to_string();
    let both = [rqps.start("run", &arguments), rqps.start("run", &arguments)];
    let codes = both.map(|running| running.finish());
    let worked = codes.iter().filter(|ended| ended.status.code() == Some(0)).count();
    for ended in &codes {
        assert!([0, 2].contains(&ended.status.code().unwrap()), "{}", ended.stderr);
    }
    assert_eq!(worked, 1, "{}\n{}", codes[0].stderr, codes[1].stderr);
    for workload in ["ibench-one", "ibench-two"] {
        RunResult::of(&rqps.out().join(workload)).assert_all_done();
    }
    rqps.assert_nothing_is_left();
}

#[test]
fn two_servers_are_not_let_loose_on_the_same_data() {
    for contender in ["postgres@17.6", "mariadb@11.4.5"] {
        let rqps = Rqps::new();
        let data = rqps.path("data").display().to_string();
        rqps.run(&format!("dbms start {contender} --data {data}")).ok();
        let ended = rqps.run(&format!("dbms start {contender} --data {data}")).expect_code(2);
        ended.says(&["already running"]);
        rqps.run("dbms stop --all").ok();
        rqps.assert_no_server_is_left();
    }
}
