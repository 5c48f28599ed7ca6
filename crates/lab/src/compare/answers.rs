//! Whether all arms answer alike: before anything is measured, each query is executed by all of
//! them, on copies of the first load.

use std::collections::BTreeMap;

use rqps_plan::{Method, RowsVerdict, Workload};
use rqps_store::{AnswerRecord, RunDirectory};
use rqps_workload::{
    AnsweringArm, ArmAnswers, ArmRole, FolderFaults, Site, TestAnswers, examiner, has_answers,
};

use super::context::{ComparisonContext, Failing, RoundContext};
use super::loads::load;
use super::parts::Parts;
use super::round::Round;
use crate::Event;
use crate::error::LabError;
use crate::lab::Lab;
use crate::stage::kept;

/// The round whose load is copied.
const ROUND: u32 = 1;

/// Compares the answers that the run directory lacks. Returns the tests that fail.
pub(super) fn make(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    parts: &Parts,
) -> Result<Failing, LabError> {
    let comparison = shared.comparison;
    // A stored baseline has no server to ask.
    let is_asked = shared.earlier.is_none() && comparison.only_instructions().is_none();
    if has_answers(&comparison.of) && is_asked {
        for (part, members) in (1..).zip(groups(shared, parts)) {
            group(lab, directory, shared, (part, &members))?;
        }
    }
    let answers = directory.answers()?;
    let faults = fail_everywhere(&answers);
    if !faults.is_empty() {
        let faults = FolderFaults::of_failing(&faults);
        return Err(LabError::Workload(faults.into()));
    }
    let fails = answers.into_iter().filter(|answer| answer.verdict == RowsVerdict::Fails);
    Ok(fails.map(|answer| (answer.test, answer.arm)).collect())
}

/// The tests that no arm can execute, with what one was told: the workload is at fault, and no
/// contender.
fn fail_everywhere(answers: &[AnswerRecord]) -> Vec<(String, String)> {
    let mut tests: BTreeMap<&str, Option<&AnswerRecord>> = BTreeMap::new();
    for answer in answers {
        let first = tests.entry(&answer.test).or_insert(Some(answer));
        if answer.verdict != RowsVerdict::Fails {
            *first = None;
        }
    }
    let failing = tests.into_values().flatten();
    failing.map(|it| (it.test.clone(), it.detail.clone().unwrap_or_default())).collect()
}

/// The arms that are asked together: as in rounds; for whole runs, which may not fit into memory
/// together, the baseline with one contender, and the A/A control.
fn groups(shared: &ComparisonContext<'_>, parts: &Parts) -> Vec<Vec<usize>> {
    if parts.groups.len() > 1 || shared.fit_together {
        return parts.groups.clone();
    }
    let all = || shared.arms.iter().enumerate();
    let control: Vec<usize> = all().filter(|(_, arm)| arm.is_control).map(|it| it.0).collect();
    let contenders = all().filter(|(_, arm)| arm.index > 0);
    contenders.map(|(place, _)| [&[0, place], &control[..]].concat()).collect()
}

fn group(
    lab: &mut Lab<'_>,
    directory: &mut RunDirectory,
    shared: &ComparisonContext<'_>,
    (part, members): (u32, &[usize]),
) -> Result<(), LabError> {
    let made = directory.answers()?;
    let is_made = |test: &String| {
        let mut contenders = members.iter().map(|place| &shared.arms[*place].name);
        contenders.all(|name| made.iter().any(|it| it.test == *test && it.arm == *name))
    };
    let mut tests: Vec<&str> = Vec::new();
    let all = shared.comparison.tests();
    tests.extend(all.iter().filter(|test| !is_made(test)).map(String::as_str));
    // Reads first, while the data are as they were loaded.
    let writes = |test: &str| shared.task(test).is_ok_and(|task| task.class.writes());
    tests.sort_by_key(|test| writes(test));
    let mut left = &tests[..];
    while !left.is_empty() {
        load(lab, directory, shared, members.iter().copied(), ROUND)?;
        let context = RoundContext { shared, number: ROUND, part, members, keeps_load: true };
        let round = Round::start(lab, directory, &context)?;
        let asked = round.ask(lab, directory, left, all.len());
        // A server that a query has ended cannot be stopped.
        let stopped = round.stop();
        left = &left[asked?..];
        if let Err(error) = stopped {
            tracing::info!("after comparing answers: {error}");
        }
    }
    Ok(())
}

impl Round<'_> {
    /// Asks tests in turn until the data are spent. Returns how many.
    fn ask(
        &self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        tests: &[&str],
        all: usize,
    ) -> Result<usize, LabError> {
        if self.is_over() {
            return Ok(tests.len());
        }
        let shared = self.context.shared;
        let workload: &Workload = shared.plan.workload();
        let targets: Vec<_> = self.running.iter().map(|one| one.server.target().clone()).collect();
        let arms = self.running.iter().zip(&targets).map(|(one, target)| {
            let (dbms, dialect, seed) = (one.arm.dbms, one.arm.dialect, shared.plan.seed);
            let role = match one.arm {
                arm if arm.is_control => ArmRole::Control,
                arm if arm.is_base() => ArmRole::Baseline,
                _ => ArmRole::Contender,
            };
            let method = Method::Slices;
            AnsweringArm { site: Site { target, dbms, dialect, seed, is_own: true, method }, role }
        });
        let Some(examiner) = examiner(workload, arms.collect())? else { return Ok(tests.len()) };
        for (number, test) in tests.iter().enumerate() {
            lab.cancel.check()?;
            let test = test.to_string();
            (lab.watch)(Event::Answering {
                number: all - tests.len() + number + 1,
                tests: all,
                test: test.clone(),
            });
            let TestAnswers { arms, is_spent } = examiner.examine(&test)?;
            let names = self.running.iter().map(|one| one.arm.name.clone());
            let records = names.zip(arms).map(|(arm, answers)| record(&test, arm, answers));
            let records: Vec<(AnswerRecord, Option<String>)> = records.collect();
            for (record, _) in &records {
                self.tell(lab, record);
            }
            directory.save_answers(&records)?;
            if is_spent {
                return Ok(number + 1);
            }
        }
        Ok(tests.len())
    }

    /// Says what nobody should miss.
    fn tell(&self, lab: &mut Lab<'_>, record: &AnswerRecord) {
        let AnswerRecord { test, arm, verdict, detail, note, .. } = record;
        let wrong = verdict.is_wrong().then(|| match detail {
            Some(detail) => format!("{}, {detail}", verdict.name()),
            None => verdict.name().to_string(),
        });
        for told in wrong.into_iter().chain(note.clone()) {
            let (step, contender) = (test.clone(), arm.clone());
            (lab.watch)(Event::Noted { contender, step, note: told });
        }
    }
}

fn record(test: &str, arm: String, answers: ArmAnswers) -> (AnswerRecord, Option<String>) {
    let ArmAnswers { verdict, may_tie, sets, rows, digest, detail, note, differing, plans } =
        answers;
    let record = AnswerRecord {
        test: test.to_string(),
        arm,
        verdict,
        may_tie,
        sets,
        rows,
        digest,
        detail,
        note,
        file: None,
        plans: plans.into_iter().map(kept).collect(),
    };
    (record, differing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_that_no_arm_executes_is_a_fault_of_the_workload() {
        let record = |test: &str, arm: &str, verdict| AnswerRecord {
            test: test.to_string(),
            arm: arm.to_string(),
            verdict,
            detail: Some(format!("no such table in {arm}")),
            ..AnswerRecord::default()
        };
        let (fails, same) = (RowsVerdict::Fails, RowsVerdict::Same);
        let answers = [
            record("all", "base", fails),
            record("all", "other", fails),
            record("none", "base", same),
            record("none", "other", same),
            record("one", "base", same),
            record("one", "other", fails),
        ];
        let expected = ("all".to_string(), "no such table in base".to_string());
        assert_eq!(fail_everywhere(&answers), [expected]);
        let faults = FolderFaults::of_failing(&fail_everywhere(&answers)).to_string();
        assert_eq!(faults, "query 'all' fails in all contenders: no such table in base");
    }
}
