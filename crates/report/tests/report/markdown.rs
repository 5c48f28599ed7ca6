use crate::made::summary_markdown;
use crate::sample::{self, run};
use crate::{HOSTILE, THREE, fifty};

#[test]
fn a_run_reads_as_it_should() {
    let mut run = run(&THREE, 12);
    sample::trouble(&mut run);
    insta::assert_snapshot!(summary_markdown(&run));
}

#[test]
fn fifty_contenders_in_trouble_stay_below_sixty_lines() {
    let contenders = fifty();
    let contenders: Vec<&str> = contenders.iter().map(String::as_str).collect();
    let mut run = run(&contenders, 1);
    run.rounds.iter_mut().for_each(|round| round.attempt = 3);
    let markdown = summary_markdown(&run);
    assert!(markdown.lines().count() <= 60, "{} lines", markdown.lines().count());
    assert!(markdown.contains("and 42 more"), "{markdown}");
}

#[test]
fn a_name_does_not_become_markup() {
    let markdown = summary_markdown(&run(&[HOSTILE, "sqlite"], 1));
    assert!(!markdown.contains("<script>"));
    assert!(markdown.contains("&lt;script&gt;alert(1)"));
    let row = markdown.lines().find(|line| line.contains("alert") && line.starts_with("| post"));
    let row = row.expect("the contender has a row");
    let bars = row.replace("\\|", "").matches('|').count();
    assert_eq!(bars, 12, "a bar in a name does not start a cell: {row}");
}
