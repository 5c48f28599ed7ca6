//! The texts of a comparison for a post, an email or a pull request.

use rqps_report::Colour;
use rqps_store::Run;

use crate::comparison::comparison;
use crate::html::embedded;
use crate::made::{html, junit, post, summary_markdown, text};
use crate::{THREE, sample, suite, whole_runs};

/// The verdicts of all contenders.
fn side_by_side(run: &Run) -> String {
    let text = text(run, Colour::Never);
    let begin = text.find("rQPS of each contender").expect("there are several contenders");
    let end = text.find("\nCauses").expect("the causes follow");
    text[begin..end].to_string()
}

/// Every other round of a contender is faster by this share, and the rest slower.
fn swing(run: &mut Run, contender: &str, by: f64) {
    for pass in &mut run.rounds {
        let factor = if pass.round % 2 == 0 { 1.0 + by } else { 1.0 - by };
        for slice in pass.slices.iter_mut().filter(|slice| slice.arm == contender) {
            slice.reads = (slice.reads as f64 * factor) as u64;
        }
    }
}

fn named(names: &[String]) -> Run {
    comparison(&names.iter().map(String::as_str).collect::<Vec<_>>(), 6, None)
}

fn letters(count: u8) -> Vec<String> {
    (b'a'..b'a' + count).map(|letter| char::from(letter).to_string()).collect()
}

#[test]
fn several_contenders_are_side_by_side_with_their_intervals_and_labels() {
    let mut run = comparison(&["quiet", "noisy"], 6, None);
    swing(&mut run, "noisy", 0.03);
    for pass in run.rounds.iter_mut().filter(|pass| pass.test.starts_with("read-only")) {
        pass.group = Some("Range queries with aggregation".to_string());
        pass.discarded = (pass.test == "read-only-sum").then(|| "the machine was busy".to_string());
    }
    insta::assert_snapshot!("side_by_side_text", side_by_side(&run));
    insta::assert_snapshot!("side_by_side_markdown", summary_markdown(&run));
}

#[test]
fn three_contenders_fit_into_a_terminal_and_more_of_them_are_cut_into_tables() {
    for (count, tables) in [(2, 1), (3, 1), (7, 3)] {
        let told = side_by_side(&named(&letters(count)));
        for line in told.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        let titles = told.lines().filter(|line| line.starts_with("Point queries"));
        assert_eq!(titles.count(), tables, "{told}");
        let rows = told.lines().filter(|line| line.starts_with("  scan ")).collect::<String>();
        assert_eq!(rows.matches('±').count(), usize::from(count), "{told}");
    }
}

#[test]
fn a_single_contender_has_its_costs_beside_its_verdict() {
    let run = comparison(&["new"], 6, None);
    assert!(!text(&run, Colour::Never).contains("rQPS of each contender"));
    assert!(summary_markdown(&run).contains("| rQPS | 95 % interval | cpu/o |"));
}

#[test]
fn tests_that_do_not_fit_into_a_pull_request_are_counted_by_contender() {
    let seven: Vec<String> = (0..7).map(|index| format!("c{index}=postgres@17.{index}")).collect();
    let markdown = summary_markdown(&suite::crowd(&seven, 38, 5, 4));
    assert!(markdown.lines().count() <= 60, "{} lines", markdown.lines().count());
    let folded = markdown.lines().find(|line| line.starts_with("| … and 24 more")).unwrap();
    let cells: Vec<&str> = folded.trim_matches('|').split('|').skip(1).collect();
    let counted = |cell: &&str| -> u32 {
        let counts = cell.split(", ").map(|count| count.trim().split(' ').next().unwrap());
        counts.map(|count| count.parse::<u32>().unwrap()).sum()
    };
    assert_eq!(cells.iter().map(counted).collect::<Vec<_>>(), [24; 6], "{folded}");
}

/// The ratio of the first test and the ends of its interval in the text.
fn printed(run: &Run) -> [String; 3] {
    let text = text(run, Colour::Never);
    let row = text.lines().find(|line| line.starts_with("  point-query ")).expect("a row");
    let words: Vec<&str> = row.split_whitespace().collect();
    [words[1], words[2], words[4]].map(str::to_string)
}

#[test]
fn a_number_has_the_digits_that_its_interval_supports_in_every_format() {
    for (by, decimals) in [(0.0, 4), (0.008, 3), (0.2, 2)] {
        let mut run = comparison(&["new"], 6, None);
        swing(&mut run, "new", by);
        let [ratio, low, high] = printed(&run);
        for number in [&ratio, &low, &high] {
            assert_eq!(number.split_once('.').unwrap().1.len(), decimals, "{number} of {by}");
        }
        let span = format!("{low} – {high}");
        let (markdown, page) = (summary_markdown(&run), html(&run));
        assert!(markdown.contains(&format!("| {ratio} | {span} |")), "{ratio} {span}: {markdown}");
        assert!(page.contains(&format!("<td>{ratio}</td><td>{span}<svg")), "{ratio} {span}");
        let xml = junit(&run).unwrap();
        assert!(xml.contains(&format!("rQPS {ratio} ({span})")), "{ratio} {span}: {xml}");
    }
}

#[test]
fn the_forest_begins_with_the_largest_slowdown_and_has_groups_as_labels() {
    let mut run = comparison(&["new"], 6, None);
    for pass in run.rounds.iter_mut().filter(|pass| pass.place == 1) {
        pass.group = Some("Writes".to_string());
    }
    let page = html(&run);
    let forest = page.split("id=\"forest\"").nth(1).unwrap().split("</section>").next().unwrap();
    let rows: Vec<&str> = forest.split("href=\"#test-").skip(1).collect();
    let names: Vec<&str> = rows.iter().map(|row| row.split('"').next().unwrap()).collect();
    assert_eq!(names[..2], ["point-query", "hot-points"], "4 % and 1 % slower");
    assert_eq!((names.len(), names[7]), (8, "range-notcovered-si"), "6 % faster");
    assert!(rows[0].contains(">Point queries</td>") && rows[1].contains(">Writes</td>"));
    assert!(!forest.contains("rowgroup"), "groups do not cut the order");
}

#[test]
fn the_page_has_the_text_to_be_saved() {
    for run in [suite::judged(), suite::run(&["sqlite", "postgres@17.6"], &[1])] {
        let page = html(&run);
        assert_eq!(embedded(&page, "text"), post(&run, Colour::Never));
        assert!(page.contains("data-source=\"text\" data-file=\"report.txt\""));
    }
}

#[test]
fn a_post_has_rates_sizes_and_response_times() {
    let mut steps = sample::run(&THREE, 12);
    sample::trouble(&mut steps);
    steps.rounds.retain(|round| ["l.i0", "qr1000"].contains(&round.test.as_str()));
    insta::assert_snapshot!("steps_post", post(&steps, Colour::Never));
    let runs = whole_runs::complete();
    insta::assert_snapshot!("whole_runs_text", post(&runs, Colour::Never));
    insta::assert_snapshot!("whole_runs_markdown", summary_markdown(&runs));
}
