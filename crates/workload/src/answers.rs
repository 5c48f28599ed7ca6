//! Whether all arms of a comparison answer alike: what a workload of unknown statements has checked
//! before it is measured.

use rqps_plan::{RowsVerdict, Workload};

use crate::explain::Explained;
use crate::sql::SqlExaminer;
use crate::task::{Site, WorkloadError};

/// An arm with its server, on data as they were loaded.
#[derive(Clone, Copy)]
pub struct AnsweringArm<'a> {
    pub site: Site<'a>,
    pub role: ArmRole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmRole {
    Baseline,
    /// The A/A control, which shows in what the baseline differs from itself.
    Control,
    Contender,
}

/// What one arm answered to the sets of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ArmAnswers {
    pub verdict: RowsVerdict,
    /// It returned other rows, but as many, of a query that may leave open which ones.
    pub may_tie: bool,
    pub sets: u32,
    /// That it returned for all sets together.
    pub rows: u64,
    /// Of all that it answered, in hexadecimal digits.
    pub digest: String,
    /// What differs or failed, without values.
    pub detail: Option<String>,
    /// What a reader should know of the query's values.
    pub note: Option<String>,
    /// The first rows that differ, with values.
    pub differing: Option<String>,
    /// For some of the sets, the statements with their query plans.
    pub plans: Vec<Vec<Explained>>,
}

/// The answers of all arms, in their order.
#[derive(Clone, Debug, Default)]
pub struct TestAnswers {
    pub arms: Vec<ArmAnswers>,
    /// The data are no longer as they were loaded, or a server has ended.
    pub is_spent: bool,
}

/// Asks all arms the same.
pub trait AnswerExaminer {
    fn examine(&self, test: &str) -> Result<TestAnswers, WorkloadError>;
}

/// Whether the answers of this workload are compared. Those of the others are known.
pub fn has_answers(workload: &Workload) -> bool {
    matches!(workload, Workload::SqlWorkload(_))
}

/// Compares the answers of arms; none if the workload has none to compare.
pub fn examiner<'a>(
    workload: &'a Workload,
    arms: Vec<AnsweringArm<'a>>,
) -> Result<Option<Box<dyn AnswerExaminer + 'a>>, WorkloadError> {
    match workload {
        Workload::SqlWorkload(plan) => Ok(Some(Box::new(SqlExaminer::new(plan, arms)?))),
        _ => Ok(None),
    }
}
