//! Runs become one only if they are comparable, and every contender keeps a name of its own.

use rqps_plan::{Cache, Contender, Count, Design, InsertBenchmark, Plan, Profile, Workload};
use rqps_store::{ContenderRecord, Manifest, MergeError, Run, merge};

fn run(id: &str, contenders: &[&str]) -> Run {
    let benchmark = InsertBenchmark::new(Profile::P2025, Count(1_000));
    let contenders: Vec<Contender> = contenders.iter().map(|text| text.parse().unwrap()).collect();
    let record = |contender: &Contender| ContenderRecord {
        name: contender.name(),
        transport: "unix socket".to_string(),
        ..ContenderRecord::default()
    };
    Run {
        contenders: contenders.iter().map(record).collect(),
        plan: Plan {
            contenders,
            seed: 7,
            cache: None,
            memory: None,
            design: Design::Single(Workload::InsertBenchmark(benchmark)),
        },
        manifest: Manifest { id: id.to_string(), cpus: 2, ..Manifest::default() },
        rounds: Vec::new(),
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        parts: Vec::new(),
        differences: Vec::new(),
    }
}

fn named(name: &str, contenders: &[&str]) -> (String, Run) {
    (name.to_string(), run(name, contenders))
}

fn refusal(change: impl Fn(&mut Run)) -> String {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["postgres@18.0"]));
    change(&mut b.1);
    merge(vec![a, b], false).unwrap_err().to_string()
}

#[test]
fn contenders_of_one_name_get_that_of_their_run() {
    let merged = merge(
        vec![named("a", &["postgres@17.6", "sqlite"]), named("b", &["postgres@17.6"])],
        false,
    )
    .unwrap();
    let names: Vec<&str> = merged.contenders.iter().map(|record| record.name.as_str()).collect();
    assert_eq!(names, ["postgres@17.6 (a)", "sqlite", "postgres@17.6 (b)"]);
    let planned: Vec<String> = merged.plan.contenders.iter().map(Contender::name).collect();
    assert_eq!(planned, names);
    assert_eq!(merged.manifest_of("postgres@17.6 (b)").id, "b");
    assert_eq!(merged.manifest_of("sqlite").id, "a");
}

#[test]
fn what_differs_is_named_with_both_values() {
    fn benchmark(run: &mut Run) -> &mut InsertBenchmark {
        match &mut run.plan.design {
            Design::Single(Workload::InsertBenchmark(benchmark)) => benchmark,
            other => panic!("{other:?}"),
        }
    }
    for (change, text) in [
        ((|run| run.plan.seed = 8) as fn(&mut Run), "seed (7, 8)"),
        (|run| run.plan.cache = Some(Cache::Cached), "cache (none, cached)"),
        (|run| benchmark(run).rows = Count(2_000), "workload.insert_benchmark.rows ("),
        (|run| benchmark(run).profile = Profile::P2024, "profile (p2025, p2024)"),
        (|run| benchmark(run).clients = 4, "workload.insert_benchmark.clients (1, 4)"),
        (|run| run.contenders[0].transport = "tcp".into(), "transport (unix socket, tcp)"),
    ] {
        let refusal = refusal(change);
        assert!(refusal.contains(text), "{text}: {refusal}");
        assert!(refusal.contains("--force") && !refusal.contains("; seed"), "{refusal}");
    }
}

#[test]
fn the_way_into_the_client_itself_is_no_transport() {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["sqlite"]));
    b.1.contenders[0].transport = "in process".to_string();
    // Only one run has servers at all.
    let error = merge(vec![a, b], false);
    assert!(error.is_ok(), "{error:?}");
}

#[test]
fn force_keeps_what_differs() {
    let (a, mut b) = (named("a", &["postgres@17.6"]), named("b", &["postgres@18.0"]));
    b.1.plan.seed = 8;
    let merged = merge(vec![a, b], true).unwrap();
    assert_eq!(merged.differences.len(), 1);
    assert_eq!(merged.differences[0].values, ["7", "8"]);
}

#[test]
fn a_run_is_not_merged_with_itself() {
    let copy = (String::from("copy"), run("a", &["postgres@17.6"]));
    let same = merge(vec![named("a", &["postgres@17.6"]), copy], true).unwrap_err();
    assert_eq!(same, MergeError::Same("a".to_string(), "copy".to_string()));
}
