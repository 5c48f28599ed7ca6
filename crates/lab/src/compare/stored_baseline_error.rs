//! Why a stored baseline is not used.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum StoredBaselineError {
    #[error("'{}' contains no comparison. Name a run of rqps compare", .0.display())]
    NoComparison(PathBuf),
    #[error(
        "'{}' took its baseline from another run. Name that run", .0.display()
    )]
    NotItsOwn(PathBuf),
    #[error(
        "cannot use the baseline of '{}': it was measured by slices, which compare arms only within the \
         same run. Use a comparison by whole runs (--method runs)", .0.display()
    )]
    Sliced(PathBuf),
    #[error(
        "cannot use the baseline of '{}', because this differs: {what}. Measure the baseline again",
        .path.display()
    )]
    Differs { path: PathBuf, what: String },
    #[error(
        "cannot use the baseline of '{}': {test} has {rounds} valid rounds, but needs {fewest}. Measure \
         the baseline again", .path.display()
    )]
    TooFew { path: PathBuf, test: String, rounds: usize, fewest: u32 },
    #[error("'{}' is not the run that --baseline-from named. Start a new run", .0.display())]
    OtherRun(PathBuf),
}
