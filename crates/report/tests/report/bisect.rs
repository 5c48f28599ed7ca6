//! Searches among commits and releases whose comparisons are made up.

use rqps_report::{BisectReport, JointReport, SearchPlace, Terminal};
use rqps_study::{
    BISECT_SCHEMA, BuildAttempt, CommitSearch, MadeComparison, ReleaseScan, SearchDirection,
    SearchMetric, SearchPlan, SearchStep, SearchedCommit, TestEffect, label,
};
use serde_json::Value;

const TEST: &str = "point-query";

fn search(subject: impl Fn(usize) -> String) -> CommitSearch {
    let commit = |place: usize| SearchedCommit {
        hash: format!("{place:012x}{:028}", 0),
        tree: format!("{place:040x}"),
        parents: Vec::new(),
        subject: subject(place),
        weight: 1.0,
    };
    let plan = SearchPlan {
        schema: BISECT_SCHEMA.to_string(),
        rqps_version: "0.1.0".to_string(),
        good: "v1".to_string(),
        bad: "main".to_string(),
        commits: (0..=64).map(commit).collect(),
        direction: SearchDirection::Slower,
        probability: 0.95,
        comparisons: 60,
        counts: false,
        layouts: 0,
        notes: vec!["v1 is no ancestor of main: the search begins at their merge base".to_string()],
    };
    CommitSearch::new(plan, None)
}

fn effect(test: &str, value: f64) -> TestEffect {
    let (spread, rounds) = (0.004, 6);
    let error = spread / f64::from(rounds).sqrt();
    TestEffect {
        test: test.to_string(),
        value,
        low: value - 2.57 * error,
        high: value + 2.57 * error,
        rounds,
        spread,
        error,
        widened: 1.0,
        detectable: 3.5 * error,
        invalid: None,
    }
}

/// Goes on to the end. Commits from a place on are slower, and some do not build.
fn complete(
    mut search: CommitSearch,
    culprit: usize,
    builds: impl Fn(usize) -> bool,
) -> CommitSearch {
    let level = |place: usize| if place >= culprit { -0.04 } else { 0.0 };
    while let SearchStep::Compare(to) = search.next() {
        let (baseline, place) = (to.baseline, to.place);
        assert!(search.comparisons() < 40, "it does not end");
        if !builds(place) {
            let (why, log) = ("error: <x> is undeclared".to_string(), "/logs/x".to_string());
            search.add_attempt(place, BuildAttempt::Failed { why, log });
            continue;
        }
        let name = format!("{:03}-{}", search.comparisons() + 1, label(search.commit(place), 0));
        // Noise, so that no two comparisons are equal.
        let noise = 0.0004 * (place % 5) as f64;
        let effects =
            vec![effect(TEST, level(place) - level(baseline) + noise), effect("scan", noise)];
        let (layout, by) = (to.layout, SearchMetric::Time);
        search.add(MadeComparison { name, baseline, place, layout, by, effects });
    }
    search
}

fn of_commits(search: &CommitSearch, place: SearchPlace) -> JointReport {
    BisectReport::of_commits(search, place).formats()
}

fn of_releases(scan: &ReleaseScan, place: SearchPlace) -> JointReport {
    BisectReport::of_releases(scan, place).formats()
}

fn place() -> SearchPlace {
    SearchPlace {
        contender: "postgres:x10a".to_string(),
        repo: Some("/src/my postgres".to_string()),
        further: vec![("the commits that the merge brought".to_string(), "inside".to_string())],
    }
}

fn found() -> CommitSearch {
    complete(search(|place| format!("Change {place}")), 41, |place| ![31, 32].contains(&place))
}

fn scan() -> ReleaseScan {
    let names = ["17.4", "17.5", "17.6", "18.0"].map(str::to_string).to_vec();
    let mut scan = ReleaseScan::new(names, SearchDirection::Slower);
    let level = [0.0, 0.001, -0.05, -0.051];
    for number in 1.. {
        let step = scan.next();
        let Some(base) = step.places().first().copied() else { break };
        let of = |place: &usize| vec![effect("scan", level[*place] - level[base])];
        let found = step.places().iter().skip(1).map(of).collect();
        scan.add(&format!("{number:03}-releases"), &step, found);
    }
    scan
}

#[test]
fn a_search_reads_as_it_should() {
    let search = found();
    let report = of_commits(&search, place());
    insta::assert_snapshot!("bisect_text", report.text(Terminal::PLAIN));
    insta::assert_snapshot!("bisect_post", report.post(Terminal::PLAIN));
    insta::assert_snapshot!("bisect_markdown", report.markdown());
    let scan = scan();
    let report = of_releases(&scan, place());
    insta::assert_snapshot!("bisect_releases", report.text(Terminal::PLAIN));
}

#[test]
fn the_page_has_all_that_the_search_knows_and_leads_to_its_comparisons() {
    let search = found();
    let page = of_commits(&search, place()).html();
    for told in [
        "<h1>postgres:x10a: 64 commits from v1 to main</h1>",
        "<b>000000000029</b> &quot;Change 41&quot;, with a probability of ",
        "95 % credible set: 1 commit, 41/64 000000000029 (",
        "git -C '/src/my postgres' show 000000000029",
        "error: &lt;x&gt; is undeclared",
        "href=\"./inside/report.html\"",
        "confirmation",
        "decides",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    for made in search.made() {
        assert!(page.contains(&format!("href=\"./{}/report.html\"", made.name)), "{}", made.name);
    }
    let all = page.split("All commits").nth(1).unwrap();
    let named = search.plan().commits.iter().skip(1).filter(|it| all.contains(&it.subject));
    assert_eq!(named.count(), 64);
    for forbidden in ["http:", "https:", "src=\"", "@import", "url(", "<link", "<iframe"] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[test]
fn results_that_are_no_commit_have_no_command_or_one_for_their_range() {
    let shown = |search: CommitSearch| of_commits(&search, place()).text(Terminal::PLAIN);
    let range = shown(complete(search(|_| String::new()), 20, |place| !(18..=21).contains(&place)));
    assert!(range.starts_with("postgres:x10a: 64 commits"), "{range}");
    assert!(
        range.contains("range ") && range.contains(" commits between them do not build"),
        "{range}"
    );
    assert!(range.contains("log 000000000011") && range.contains("..000000000016"), "{range}");
    let mut nothing = search(|_| String::new());
    let place = nothing.last();
    nothing.add(MadeComparison {
        name: "001".to_string(),
        baseline: 0,
        place,
        layout: 0,
        by: SearchMetric::Time,
        effects: vec![effect(TEST, -0.003)],
    });
    let nothing = shown(nothing);
    assert!(nothing.contains("nothing point-query: BAD does not differ from GOOD"), "{nothing}");
    assert!(!nothing.contains("git -C") && !nothing.contains("credible set"), "{nothing}");
    let unbegun = shown(search(|_| String::new()));
    assert!(unbegun.contains("undecided the ends are not compared yet"), "{unbegun}");
}

#[test]
fn the_json_has_the_stated_shape() {
    let schema = include_str!("../../schema/bisect.schema.json");
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let (search, scan) = (found(), scan());
    let of_commits = self::of_commits(&search, place());
    let of_commits = of_commits.json();
    let of_releases = self::of_releases(&scan, place());
    let of_releases = of_releases.json();
    let unbegun = self::search(|_| String::new());
    let unbegun = self::of_commits(&unbegun, SearchPlace::default());
    for text in [of_commits, of_releases, unbegun.json()] {
        let json: Value = serde_json::from_str(text).unwrap();
        let errors: Vec<String> = validator
            .iter_errors(&json)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{errors:#?}\n{text}");
        // A program that looks at the beginning alone knows what it is.
        assert!(text[..60].contains("\"bisect/1\""), "{text}");
    }
    let json: Value = serde_json::from_str(of_commits).unwrap();
    assert_eq!(json["kind"], "found");
    assert_eq!(json["found"]["commits"][0]["subject"], "Change 41");
    assert_eq!(json["credible_set"], Value::from(vec![search.commit(41).hash.clone()]));
    assert_eq!(json["comparisons"].as_array().unwrap().len(), search.comparisons());
    assert_eq!(json["skipped"].as_array().unwrap().len(), search.attempts().len());
    let releases: Value = serde_json::from_str(of_releases).unwrap();
    assert_eq!((&releases["kind"], &releases["confirmed"]), (&"releases".into(), &true.into()));
    assert_eq!(
        (&releases["steps"][0]["before"], &releases["steps"][0]["after"]),
        (&"17.5".into(), &"17.6".into())
    );
    let mut wrong = json.clone();
    wrong["kind"] = "perhaps".into();
    assert!(!validator.is_valid(&wrong));
}

/// Subjects of commits are written by anybody.
#[test]
fn hostile_subjects_are_only_ever_text() {
    let hostile = complete(search(|_| crate::HOSTILE.to_string()), 41, |place| place != 32);
    let report = of_commits(&hostile, place());
    let page = report.html();
    assert!(!page.contains("<script>alert"), "{page}");
    assert!(!report.markdown().contains("<script>"), "{}", report.markdown());
    let json: Value = serde_json::from_str(report.json()).unwrap();
    assert_eq!(json["found"]["commits"][0]["subject"], crate::HOSTILE);
}

#[test]
#[cfg(feature = "servers")]
fn the_page_fits_a_phone() {
    use crate::page::{LIGHT, chromium, narrow};

    let (search, scan) = (found(), scan());
    let pages = [of_commits(&search, place()).html(), of_releases(&scan, place()).html()];
    let measure = "<script>document.title = 'wide ' + document.body.scrollWidth;</script></body>";
    for page in pages {
        let folder = tempfile::tempdir().unwrap();
        let page = narrow(&page).replacen("</body>", measure, 1);
        std::fs::write(folder.path().join("page.html"), page).unwrap();
        let arguments = [&["--dump-dom"], LIGHT].concat();
        let Some((document, said)) = chromium(folder.path(), "page.html", &arguments) else {
            return;
        };
        assert!(!said.contains("CONSOLE"), "{said}");
        let wide = document.split("<title>wide ").nth(1).unwrap();
        let wide: u32 = wide.split('<').next().unwrap().parse().unwrap();
        assert!(wide <= 400, "{wide} px");
    }
}
