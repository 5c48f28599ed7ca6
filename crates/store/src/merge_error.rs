//! Errors of merging runs: single ones, and comparisons.

use crate::difference::Difference;

/// Why runs cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("'{0}' and '{1}' are the same run")]
    Same(String, String),
    #[error(
        "'{comparison}' is a comparison and '{other}' is not: the contenders of a comparison take turns, so \
         those of another run cannot join them. Compare all of them in one run"
    )]
    Mixed { comparison: String, other: String },
    #[error("the rounds of these comparisons cannot be merged, even with --force: {0}")]
    Unlike(Unlike),
    #[error(
        "the runs are not comparable, since these differ: {}. To merge them with a warning, use --force",
        list(.0)
    )]
    NotComparable(Vec<Difference>),
}

fn list(differences: &[Difference]) -> String {
    differences.iter().map(Difference::to_string).collect::<Vec<_>>().join("; ")
}

/// Why the rounds of several comparisons cannot be merged, even with force.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unlike {
    #[error(
        "the contenders differ ({}), and each needs a baseline in the same rounds. Compare all of them in \
         one run, or list the reports with rqps report --index DIR", .0.join("; ")
    )]
    Contenders(Vec<String>),
    #[error("the tests differ: only some of the comparisons have {}", .0.join(", "))]
    Tests(Vec<String>),
    #[error("the method differs: {0}; slices and whole runs differ in their noise")]
    Method(Difference),
    #[error(
        "only some of the comparisons have an A/A control, which makes the baseline of their rounds more precise"
    )]
    Control,
    #[error("only some of the comparisons decide by fresh rounds (--confirm)")]
    Stages,
    #[error(
        "the baseline of '{0}' was not measured there, but taken from another run (--baseline-from), whose rounds \
         would count more than once"
    )]
    StoredBaseline(String),
}
