//! What takes several experiments to answer: the selftest, which checks verdicts where the truth is
//! known, and the search for the commit that changed the speed.

mod bisect;
mod selftest;

pub use bisect::{
    BISECT_SCHEMA, BuildAttempt, CommitEffect, CommitSearch, FoundCommits, MadeComparison,
    MeasuredReleases, ReleaseScan, ReleaseStep, ScanResult, ScanStep, SearchDirection, SearchKind,
    SearchMetric, SearchPlan, SearchResult, SearchStep, SearchedCommit, TestEffect, ToCompare,
    effects, expected_comparisons, label,
};
pub use selftest::{
    Circumstances, Conclusion, Experiment, Intervention, SelfTest, Variant, selftest,
    selftest_json, selftest_text, synthetic, variants,
};
