//! The verdicts as JUnit XML, for the test views of CI systems.

use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};
use rqps_analysis::comparison::{Answered, Time};
use rqps_stats::label::Label;
use rqps_stats::verdict::Verdict;

use super::{Judged, Verdicts, label, ratio, span, time_told};
use crate::Report;

/// A suite for each contender, a case for each test, and one for each judged percentile of its
/// times where these say more than the rate. A wrong answer is a failure, and so is a regression by
/// at least the margin: of the rate, of its cost, or of a percentile. An invalid test is an error;
/// an inconclusive or capped one is skipped; all others have passed. None if the run is no
/// comparison.
pub fn junit(report: &Report<'_>) -> Option<String> {
    let verdicts = report.verdicts.as_ref()?;
    let mut suites = quick_junit::Report::new(format!("rqps compare {}", verdicts.base));
    for judged in &verdicts.judged {
        let name = format!("{} relative to {}", judged.contender, verdicts.base);
        let mut suite = TestSuite::new(name);
        for index in 0..judged.verdicts.len() {
            suite.add_test_case(case(verdicts, judged, index));
            if verdicts.has_own_times(index) {
                let test = verdicts.tests[index].name;
                let times = judged.times[index].iter();
                suite.add_test_cases(times.filter_map(|time| of_time(judged, test, time)));
            }
        }
        let is_measured = |test: &str| verdicts.tests.iter().any(|one| one.name == test);
        let others = judged.answers.iter().filter(|answered| !is_measured(answered.test));
        suite.add_test_cases(others.map(|answered| unmeasured(judged, answered)));
        suites.add_test_suite(suite);
    }
    Some(suites.to_string().expect("memory takes all bytes"))
}

fn case(verdicts: &Verdicts<'_>, judged: &Judged<'_>, index: usize) -> TestCase {
    let verdict = &judged.verdicts[index];
    let told = told(verdict, &verdicts.told(judged, index));
    let answered = judged.answers.iter().find(|answered| answered.test == verdict.test);
    let wrong = answered.filter(|answered| answered.rows.is_wrong());
    let mut status = status(&verdict.label, &told);
    let mut findings = judged.findings.iter();
    let of_test = findings.find(|finding| finding.tests.contains(&verdict.test));
    if let (TestCaseStatus::NonSuccess { kind: NonSuccessKind::Failure, .. }, Some(finding)) =
        (&status, of_test)
    {
        status.set_description(finding.statement.clone());
    }
    let status = wrong.map_or(status, wrongly);
    named(judged, verdict.test.clone(), status, told)
}

/// The verdict on a percentile of the times of a test; none if it has none.
fn of_time(judged: &Judged<'_>, test: &str, time: &Time) -> Option<TestCase> {
    let verdict = time.verdict.as_ref().ok()?;
    let told = match &time.ratio {
        Some(of) => format!("{} {} ({}): {}", time.name, ratio(of), span(of), time_told(time)),
        None => time_told(time),
    };
    let status = status(&verdict.label, &told);
    Some(named(judged, format!("{test} {}", time.name), status, told))
}

/// What a label is in JUnit's terms.
fn status(of: &Label, told: &str) -> TestCaseStatus {
    let mut status = match of {
        Label::Regression { .. } | Label::Overdue { .. } | Label::EfficiencyRegression { .. } => {
            TestCaseStatus::non_success(NonSuccessKind::Failure)
        }
        Label::Invalid { .. } => TestCaseStatus::non_success(NonSuccessKind::Error),
        Label::Inconclusive { .. } | Label::Capped { .. } => TestCaseStatus::skipped(),
        Label::SmallRegression { .. }
        | Label::Improvement { .. }
        | Label::SmallImprovement { .. }
        | Label::NoChange { .. } => return TestCaseStatus::success(),
    };
    status.set_type(label(of)).set_message(told);
    status
}

fn named(judged: &Judged<'_>, name: String, status: TestCaseStatus, told: String) -> TestCase {
    let has_passed = matches!(status, TestCaseStatus::Success { .. });
    let mut case = TestCase::new(name, status);
    case.set_classname(judged.contender.clone());
    if has_passed {
        case.set_system_out(told);
    }
    case
}

/// A wrong answer.
fn wrongly(answered: &Answered<'_>) -> TestCaseStatus {
    let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
    let rows = answered.rows.name();
    let detail = answered.record.detail.as_ref();
    let message = detail.map_or(rows.to_string(), |detail| format!("{rows}: {detail}"));
    status.set_type(rows.replace(' ', "_")).set_message(message);
    status
}

/// A query that could not be measured.
fn unmeasured(judged: &Judged<'_>, answered: &Answered<'_>) -> TestCase {
    let status = match answered.rows.is_wrong() {
        true => wrongly(answered),
        false => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Error);
            let why = answered.record.detail.as_deref().unwrap_or("it was not measured");
            status.set_type("not_measured").set_message(why.to_string());
            status
        }
    };
    let mut case = TestCase::new(answered.test.to_string(), status);
    case.set_classname(judged.contender.clone());
    case
}

/// `rQPS 0.974 (0.969 – 0.979): regression`
fn told(verdict: &Verdict, label: &str) -> String {
    match verdict.contributions.len() {
        0 | 1 => label.to_string(),
        _ => {
            let (ratio, span) = (ratio(&verdict.estimate), span(&verdict.estimate));
            format!("rQPS {ratio} ({span}): {label}")
        }
    }
}
