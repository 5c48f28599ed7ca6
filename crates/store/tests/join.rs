//! Comparisons of the same contenders become one with the rounds of all; of others no verdict could
//! come.

use rqps_plan::{
    Class, Comparison, Contender, Count, Counts, Design, InsertBenchmark, Method, Plan, Profile,
    Span, StoredBaseline, Workload,
};
use rqps_store::{
    ContenderRecord, Manifest, MergeError, ProfileRecord, RoundRecord, Run, Unlike, merge,
};

/// The first step of the Insert Benchmark in these rounds of Postgres 18.0 against 17.6.
fn made(id: &str, rounds: &[u32]) -> (String, Run) {
    let benchmark = InsertBenchmark::new(Profile::P2025, Count(1_000));
    let contenders: Vec<Contender> =
        ["postgres@17.6", "postgres@18.0"].map(|text| text.parse().unwrap()).into();
    let record = |contender: &Contender| ContenderRecord {
        name: contender.name(),
        version: contender.name().replace("postgres@", ""),
        transport: "unix socket".to_string(),
        settings: [("work_mem".to_string(), "4MB".to_string())].into(),
        ..ContenderRecord::default()
    };
    let pass = |round: &u32| RoundRecord {
        round: *round,
        test: "l.i0".to_string(),
        load: 1,
        attempt: 1,
        started: id.to_string(),
        ..RoundRecord::new(Class::Point, Counts::Statements)
    };
    let comparison = Comparison::new(Workload::InsertBenchmark(benchmark));
    let run = Run {
        contenders: contenders.iter().map(record).collect(),
        plan: Plan {
            contenders,
            seed: 7,
            cache: None,
            memory: None,
            design: Design::Comparison(comparison),
        },
        manifest: Manifest { id: id.to_string(), cpus: 2, ..Manifest::default() },
        rounds: rounds.iter().map(pass).collect(),
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        parts: Vec::new(),
        differences: Vec::new(),
    };
    (id.to_string(), run)
}

fn comparison(run: &mut Run) -> &mut Comparison {
    match &mut run.plan.design {
        Design::Comparison(comparison) => comparison,
        other => panic!("{other:?}"),
    }
}

fn benchmark(run: &mut Run) -> &mut InsertBenchmark {
    match &mut comparison(run).of {
        Workload::InsertBenchmark(benchmark) => benchmark,
        other => panic!("{other:?}"),
    }
}

/// The rounds of the joined run: which run each was of.
fn rounds(joined: &Run) -> Vec<(u32, &str)> {
    joined.rounds.iter().map(|pass| (pass.round, pass.started.as_str())).collect()
}

/// Two runs of which the second is not like the first.
fn with(change: impl Fn(&mut Run)) -> Vec<(String, Run)> {
    let (first, mut second) = (made("a", &[1, 2, 3]), made("b", &[1, 2]));
    change(&mut second.1);
    vec![first, second]
}

#[test]
fn rounds_and_loads_are_numbered_on() {
    let mut runs = with(|_| ());
    for (_, run) in &mut runs {
        let profile = |round| ProfileRecord { round, ..ProfileRecord::default() };
        run.profiles = vec![profile(1), profile(2)];
    }
    let mut joined = merge(runs, false).unwrap();
    assert_eq!(rounds(&joined), [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (5, "b")]);
    let loads: Vec<u32> = joined.rounds.iter().map(|pass| pass.load).collect();
    assert_eq!(loads, [1, 1, 1, 2, 2], "each run has loads of its own");
    let profiled: Vec<u32> = joined.profiles.iter().map(|profile| profile.round).collect();
    assert_eq!(profiled, [1, 2, 3, 4]);
    assert_eq!(joined.contenders.len(), 2);
    assert_eq!((joined.manifest_of_round(3).id.as_str(), joined.manifest.id.as_str()), ("a", "a"));
    assert_eq!(joined.manifest_of_round(4).id, "b");
    assert!(joined.differences.is_empty());
    let plan = comparison(&mut joined);
    assert_eq!((plan.rounds, plan.loads, plan.confirm), (5, Some(2), None));
}

#[test]
fn fresh_rounds_come_after_the_screens_of_all_runs() {
    let (mut first, mut second) = (made("a", &[1, 2, 4, 5]), made("b", &[1, 2, 3, 4]));
    for (_, run) in [&mut first, &mut second] {
        let plan = comparison(run);
        (plan.rounds, plan.confirm) = (3, Some(2));
    }
    let mut joined = merge(vec![first, second], false).unwrap();
    let screens = [(1, "a"), (2, "a"), (3, "b"), (4, "b"), (5, "b")];
    assert_eq!(rounds(&joined), [&screens[..], &[(6, "a"), (7, "a"), (8, "b")]].concat());
    assert_eq!(Vec::from_iter(joined.parts[0].rounds.clone()), [1, 2, 6, 7]);
    let plan = comparison(&mut joined);
    assert_eq!((plan.rounds, plan.confirm), (5, Some(4)));
}

#[test]
fn a_refused_attempt_stays_in_its_round() {
    let runs = with(|run| {
        let again = RoundRecord { attempt: 2, ..run.rounds[0].clone() };
        run.rounds[0].discarded = Some("the machine was busy".to_string());
        run.rounds.insert(1, again);
    });
    let joined = merge(runs, false).unwrap();
    assert_eq!(rounds(&joined)[3..], [(4, "b"), (4, "b"), (5, "b")]);
    let attempts: Vec<(u32, bool)> =
        joined.rounds[3..].iter().map(|pass| (pass.attempt, pass.discarded.is_some())).collect();
    assert_eq!(attempts, [(1, true), (2, false), (1, false)]);
}

#[test]
fn no_force_joins_rounds_that_are_not_of_one_kind() {
    fn stored_baseline() -> StoredBaseline {
        StoredBaseline {
            path: "out/base".into(),
            run: "1".to_string(),
            created: "2026-11-22T06:00:00Z".to_string(),
            reference_loop: 50_000_000,
            reference_loop_rounds: 60,
        }
    }
    for (change, texts) in [
        (
            (|run| run.plan.contenders[1] = "postgres@18.1".parse().unwrap()) as fn(&mut Run),
            [
                "postgres@18.0 against postgres@17.6; postgres@18.1 against postgres@17.6",
                "in one run",
            ],
        ),
        (|run| run.plan.contenders.reverse(), ["against postgres@18.0", "rqps report --index"]),
        (
            |run| benchmark(run).only = vec!["l.i0".to_string()],
            ["only some", "have l.i1, l.i2, l.x"],
        ),
        (
            |run| comparison(run).method = Method::Slices,
            ["l.i0 (runs, slices)", "differ in their noise"],
        ),
        (|run| comparison(run).control = false, ["only some", "have an A/A control"]),
        (|run| comparison(run).confirm = Some(10), ["only some", "--confirm"]),
        (
            |run| comparison(run).baseline_from = Some(Box::new(stored_baseline())),
            ["the baseline of 'b'", "more than once"],
        ),
    ] {
        for force in [false, true] {
            let error = merge(with(change), force).unwrap_err();
            let told = error.to_string();
            assert!(matches!(error, MergeError::Unlike(_)), "{told}");
            for text in texts.iter().chain(&["even with --force"]) {
                assert!(told.contains(text), "'{text}' is not in: {told}");
            }
        }
    }
}

#[test]
fn what_the_rounds_were_made_under_is_refused_unless_forced() {
    for (change, text) in [
        ((|run| run.plan.seed = 8) as fn(&mut Run), "seed (7, 8)"),
        (|run| benchmark(run).rows = Count(2_000), "insert_benchmark.rows ("),
        (|run| benchmark(run).clients = 4, "insert_benchmark.clients (1, 4)"),
        (|run| benchmark(run).profile = Profile::P2024, "profile (p2025, p2024)"),
        (|run| comparison(run).margin = Some(0.05), "margin (none, 0.05)"),
        (|run| comparison(run).guards = false, "guards (true, false)"),
        (|run| run.contenders[0].transport = "tcp".into(), "transport (unix socket, tcp"),
        (|run| run.contenders[1].version = "18.1".into(), "version of postgres@18.0 (18.0, 18.1)"),
        (
            |run| *run.contenders[1].settings.get_mut("work_mem").unwrap() = "8MB".into(),
            "work_mem of postgres@18.0 (4MB, 8MB)",
        ),
    ] {
        let refusal = merge(with(change), false).unwrap_err().to_string();
        assert!(refusal.contains(text) && refusal.contains("--force"), "{text}: {refusal}");
        let joined = merge(with(change), true).unwrap();
        let told: Vec<String> = joined.differences.iter().map(ToString::to_string).collect();
        assert!(told.len() == 1 && told[0].contains(text), "{text}: {told:?}");
        assert_eq!(joined.rounds.len(), 5);
    }
}

#[test]
fn builds_are_told_apart_by_their_digests() {
    let mut runs = with(|_| ());
    for ((_, run), digest) in runs.iter_mut().zip(["0123456789abcdef", "fedcba9876543210"]) {
        run.contenders[0].server_sha256 = Some(digest.to_string());
    }
    let refusal = merge(runs, false).unwrap_err().to_string();
    let text = "server SHA-256 of postgres@17.6 (0123456789ab, fedcba987654)";
    assert!(refusal.contains(text), "{refusal}");
}

#[test]
fn how_many_rounds_were_enough_is_no_difference() {
    let joined = merge(
        with(|run| {
            run.contenders.pop();
            let plan = comparison(run);
            (plan.rounds, plan.fewest_rounds, plan.precision) = (24, 3, 0.001);
            plan.budget = Some("10m".parse::<Span>().unwrap());
        }),
        false,
    );
    assert_eq!(joined.unwrap().contenders.len(), 2, "who was not started there is known from here");
}

#[test]
fn a_comparison_is_not_merged_with_steps_nor_with_itself() {
    let steps = |run: &mut Run| {
        run.plan.design = Design::Single(Workload::InsertBenchmark(benchmark(run).clone()));
    };
    let mixed = merge(with(steps), true).unwrap_err();
    assert!(mixed.to_string().contains("'a' is a comparison and 'b' is not"), "{mixed}");
    let same = merge(with(|run| run.manifest.id = "a".to_string()), true).unwrap_err();
    assert_eq!(same, MergeError::Same("a".to_string(), "b".to_string()));
    let control = merge(with(|run| comparison(run).control = false), true).unwrap_err();
    assert_eq!(control, MergeError::Unlike(Unlike::Control));
}
