//! Shared by the tests of this module: a comparison of `new` with `old`.

use rqps_plan::{Comparison, Design, InsertBenchmark, Plan, Profile, StoredBaseline, Workload};
use rqps_store::{Manifest, Run};

use super::drift::Drift;
use super::pair::Pair;

pub(super) fn plan() -> Comparison {
    let benchmark = InsertBenchmark::new(Profile::P2025, "1K".parse().unwrap());
    Comparison::new(Workload::InsertBenchmark(benchmark))
}

pub(super) fn pair<'a>(plan: &'a Comparison, drift: Option<Drift<'a>>) -> Pair<'a> {
    Pair { plan, base: "old", contender: "new", is_io_bound: false, drift }
}

/// Of these contenders, with nothing measured.
pub(super) fn run(plan: &Comparison, contenders: [&str; 2]) -> Run {
    Run {
        plan: Plan {
            contenders: contenders.map(|one| one.parse().unwrap()).to_vec(),
            seed: 1,
            cache: None,
            memory: None,
            design: Design::Comparison(plan.clone()),
        },
        manifest: Manifest::default(),
        contenders: Vec::new(),
        profiles: Vec::new(),
        counts: Vec::new(),
        answers: Vec::new(),
        rounds: Vec::new(),
        parts: Vec::new(),
        differences: Vec::new(),
    }
}

/// A baseline of an earlier run, with the time of its reference loop in nanoseconds.
pub(super) fn stored_baseline(reference_loop: u64) -> StoredBaseline {
    StoredBaseline {
        path: "out/base".into(),
        run: "1".to_string(),
        created: "2026-11-22T06:00:00Z".to_string(),
        reference_loop,
        reference_loop_rounds: 60,
    }
}
