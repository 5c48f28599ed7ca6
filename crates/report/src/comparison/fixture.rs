//! What tests of this part have in common: a comparison of `new` with `old`.

use rqps_plan::{Compared, Comparison, InsertBenchmark, Profile, StoredBase};

use super::drift::Drift;
use super::pair::Pair;

pub(super) fn plan() -> Comparison {
    let benchmark = InsertBenchmark::new(Profile::P2025, "1K".parse().unwrap());
    Comparison::new(Compared::InsertBenchmark(benchmark))
}

pub(super) fn pair<'a>(plan: &'a Comparison, drift: Option<Drift<'a>>) -> Pair<'a> {
    Pair { plan, base: "old", contender: "new", is_io_bound: false, drift }
}

/// A base of an earlier run, whose canary took so many nanoseconds.
pub(super) fn stored_base(canary: u64) -> StoredBase {
    StoredBase {
        path: "out/base".into(),
        run: "1".to_string(),
        created: "2026-11-22T06:00:00Z".to_string(),
        canary,
        canary_rounds: 60,
    }
}
