//! The output and files of `rqps micro` and `rqps scaleup`.

use std::fs;

use crate::common::Rqps;

#[test]
fn tests_are_told_as_published_and_their_growth_beside() {
    let rqps = Rqps::new();
    let out = rqps.out();
    let plan = "a=sqlite b=sqlite --rows 2K --secs 0.2 --pause 0.1 --tests point-query,scan";
    let ended = rqps.run(&format!("scaleup {plan} --clients 1,2 --out {}", out.display())).ok();
    for text in [
        "Scale-up from 1 to 2 clients",
        "- Relative to: a\n- col-1 : b",
        "Range queries without aggregation",
    ] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
    let first_line = |file: &str| {
        let text = fs::read_to_string(out.join(file)).expect(file);
        text.lines().next().unwrap_or_default().to_string()
    };
    assert_eq!(first_line("relative.csv"), "test,group,clients,a,b");
    assert_eq!(first_line("relative.txt"), "Relative to: a with one client");
    assert!(first_line("scaleup.csv").starts_with("test,group,contender,1,2,"));
    assert!(first_line("tests.csv").ends_with("cs/s,cpu/s,cs/o,cpu/o,dbms"));
    rqps.assert_nothing_is_left();
}
