//! What takes several experiments to answer: the selftest, which checks verdicts where the truth is
//! known, and the search for the commit that changed the speed.

mod bisect;
mod selftest;

pub use bisect::{
    BISECT_SCHEMA, BuildAttempt, CommitSearch, FoundCommits, ReleaseScan, ReleaseStep, ScanResult,
    SearchDirection, SearchKind, SearchMetric, SearchPlan, SearchResult, SearchStep,
    SearchedCommit, TestEffect, ToCompare, bisect_json, bisect_text, effects, expected_comparisons,
    label, scan_json, scan_text,
};
pub use selftest::{
    Circumstances, Conclusion, Experiment, Intervention, SelfTest, Variant, selftest,
    selftest_json, selftest_text, synthetic, variants,
};
