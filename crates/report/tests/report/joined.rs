//! Comparisons of the same contenders that are merged into one report with the rounds of all.

use rqps_observe::Metric;
use rqps_report::Colour;
use rqps_store::{Run, merge};
use serde_json::{Value, json};

use crate::comparison::comparison;
use crate::export::{is, rows};
use crate::json::schema;
use crate::made::{html, otava, parquet, result_json, summary_markdown, text};
use crate::whole_runs;

/// A comparison of twelve rounds, and the same as two of six.
fn whole_and_halves() -> (Run, [(String, Run); 2]) {
    let all = comparison(&["new"], 12, None);
    let half = |name: &str, before: u32| {
        let mut run = comparison(&["new"], 6, None);
        run.manifest.id = name.to_string();
        run.manifest.created = format!("2026-11-2{}T20:15:00Z", 1 + before / 6);
        run.rounds = all.rounds.clone();
        run.rounds.retain(|pass| (before + 1..=before + 6).contains(&pass.round));
        run.rounds.iter_mut().for_each(|pass| pass.round -= before);
        (name.to_string(), run)
    };
    let halves = [half("a", 0), half("b", 6)];
    (all, halves)
}

fn halves() -> [(String, Run); 2] {
    whole_and_halves().1
}

fn joined(change: impl Fn(&mut Run)) -> Run {
    let [first, mut second] = halves();
    change(&mut second.1);
    merge(vec![first, second], true).unwrap()
}

fn parsed(run: &Run) -> Value {
    serde_json::from_str(&result_json(run)).unwrap()
}

/// What was found of the only contender in each test.
fn tests(run: &Run) -> Vec<Value> {
    let tests = parsed(run)["comparison"]["contenders"][0]["tests"].as_array().cloned();
    tests.unwrap()
}

fn remarks(run: &Run) -> String {
    let remarks = parsed(run)["comparison"]["remarks"].as_array().cloned().unwrap();
    remarks.iter().map(|remark| remark.as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn rounds_of_two_runs_are_judged_as_those_of_one() {
    let (all, halves) = whole_and_halves();
    let joined = merge(halves.to_vec(), false).unwrap();
    let (expected, found) = (tests(&all), tests(&joined));
    assert_eq!(found.len(), 8);
    for (expected, found) in expected.iter().zip(&found) {
        for key in ["name", "label", "ratio", "plain", "relative_to_suite", "costs"] {
            assert_eq!(found[key], expected[key], "{key}");
        }
        assert_eq!(found["rounds"].as_array().unwrap().len(), 12);
    }
    // But for the A/A controls, which may differ by more in all rounds than in half of them.
    let width = |test: &Value| {
        let of = |bound: &str| test["plain"][bound].as_f64().unwrap();
        (of("high") - of("low")) / test["widened"].as_f64().unwrap()
    };
    for (_, half) in &halves {
        for (half, joined) in tests(half).iter().zip(&found) {
            assert!(width(joined) < width(half), "{}: {joined} {half}", joined["name"]);
        }
    }
    let errors: Vec<String> =
        schema().iter_errors(&parsed(&joined)).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn which_rounds_are_of_which_run_is_told() {
    let run = joined(|_| ());
    let told = remarks(&run);
    for sentence in [
        "The rounds are of 2 runs: 1 to 6 of 'a', begun 2026-11-21T20:15:00Z; 7 to 12 of 'b', begun \
         2026-11-22T20:15:00Z.",
        "All runs have one seed",
        "12 rounds, each with a restart",
    ] {
        assert!(told.contains(sentence), "{sentence}: {told}");
    }
    assert!(!told.contains("NOT COMPARABLE") && !told.contains("these machines"), "{told}");
    let (markdown, page) = (summary_markdown(&run), html(&run));
    assert!(markdown.lines().count() <= 60 && markdown.contains("1 to 6 of 'a'"), "{markdown}");
    assert!(page.contains("1 to 6 of 'a'"));
    let parts = parsed(&run)["parts"].as_array().cloned().unwrap();
    let rounds: Vec<_> = parts.iter().map(|part| (&part["name"], &part["rounds"])).collect();
    let of = |rounds: [u32; 6]| json!(rounds);
    assert_eq!(
        rounds,
        [(&json!("a"), &of([1, 2, 3, 4, 5, 6])), (&json!("b"), &of([7, 8, 9, 10, 11, 12]))]
    );
    assert!(!remarks(&halves()[0].1).contains("The rounds are of"), "a single run");
    assert!(parsed(&halves()[0].1).get("parts").is_none(), "a single run");
}

#[test]
fn runs_that_differ_by_more_than_their_rounds_are_told() {
    let differing = "tests (p < 0.05): point-query (new)";
    assert!(!remarks(&joined(|_| ())).contains(differing));
    let told = remarks(&joined(|run| {
        let passes = run.rounds.iter_mut().filter(|pass| pass.test == "point-query");
        for slice in passes.flat_map(|pass| &mut pass.slices) {
            if slice.arm == "new" {
                slice.reads = slice.reads * 108 / 100;
            }
        }
    }));
    assert!(told.contains(differing), "{told}");
    assert!(told.contains("Their results hold for the merged runs only."), "{told}");
}

#[test]
fn rounds_of_two_machines_are_about_both() {
    let run = joined(|run| {
        run.manifest.cpus = 64;
        run.manifest.machine[1].1 = "Ampere".to_string();
    });
    let told = remarks(&run);
    assert!(told.contains("hold for these machines, pooled, and not for others"), "{told}");
    let page = html(&run);
    assert!(page.contains("hosts with 2, 64 CPUs") && page.contains("Ampere"));
}

#[test]
fn a_share_of_the_cpus_is_of_one_machine() {
    let with_cpus = |cpus: u32| {
        let [mut first, mut second] = ["a", "b"].map(|name| {
            let mut run = whole_runs::compared();
            run.manifest.id = name.to_string();
            for arm in run.rounds.iter_mut().flat_map(|pass| pass.arms.values_mut()) {
                arm.cost.set(Metric::HostCpuBusy, 20_000_000);
            }
            (name.to_string(), run)
        });
        (first.1.manifest.cpus, second.1.manifest.cpus) = (2, cpus);
        let result = parsed(&merge(vec![first, second], false).unwrap());
        result["together"][0]["results"][0]["metrics"].clone()
    };
    let (alike, others) = (with_cpus(2), with_cpus(64));
    assert!(alike["cpups"].is_f64() && others["cpups"].is_null(), "{alike} {others}");
    assert_eq!(alike["ips"], others["ips"]);
}

#[test]
fn what_was_forced_together_is_labelled() {
    let run = joined(|run| run.plan.seed = 8);
    let label =
        "NOT COMPARABLE: the runs were merged with --force although these differ: seed (42, 8)";
    let told = text(&run, Colour::Never).split_whitespace().collect::<Vec<_>>().join(" ");
    for told in [told, remarks(&run), html(&run), summary_markdown(&run)] {
        assert!(told.contains(label), "{told}");
    }
    assert!(!remarks(&run).contains("All runs have one seed"));
}

#[test]
fn exports_know_the_run_of_a_round() {
    let run = joined(|_| ());
    for row in rows(&parquet(&run), "rounds.parquet") {
        let round = row.get_column_iter().find(|(name, _)| *name == "round").unwrap().1.to_string();
        let expected = if round.parse::<u32>().unwrap() <= 6 { "a" } else { "b" };
        assert!(is(&row, "run", expected), "{row}");
    }
    let otava = otava(&run);
    let contenders = otava.lines().skip(1).filter(|line| line.contains(",a+b,"));
    assert_eq!(contenders.count(), 2, "{otava}");
}
