//! What a contender answers to each query, and by which query plan: it comes before any speed.

use rqps_plan::{CONTROL, RowsVerdict};
use rqps_stats::label::Label;
use rqps_store::{AnswerRecord, Run};

use super::query_plans::changes_of_sets;

/// The answers of a contender to a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Answered<'a> {
    pub test: &'a str,
    pub rows: RowsVerdict,
    pub plan: PlanVerdict,
    /// Of the contender.
    pub record: &'a AnswerRecord,
    pub baseline: &'a AnswerRecord,
}

/// Whether the query plan of a contender is the baseline's, over some sets of values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanVerdict {
    Same,
    /// What differs, in words.
    Changed(Vec<String>),
    /// That of the baseline differs between two loads, so a change says nothing of the contender.
    Varies(Vec<String>),
    /// A DBMS does not show it, or the DBMSs differ.
    Unknown,
}

impl PlanVerdict {
    pub fn name(&self) -> &'static str {
        match self {
            PlanVerdict::Same => "same plan",
            PlanVerdict::Changed(_) => "plan changed",
            PlanVerdict::Varies(_) => "plan varies between loads",
            PlanVerdict::Unknown => "not known",
        }
    }

    /// What differs, in words.
    pub fn changes(&self) -> &[String] {
        match self {
            PlanVerdict::Changed(changes) | PlanVerdict::Varies(changes) => changes,
            PlanVerdict::Same | PlanVerdict::Unknown => &[],
        }
    }
}

impl Answered<'_> {
    /// A label that this answer leaves: whoever answers wrongly is not faster, and whoever fails
    /// has no speed.
    pub(super) fn corrected(&self, label: &Label) -> Option<Label> {
        let is_faster = matches!(label, Label::Improvement { .. } | Label::SmallImprovement { .. });
        let why = match self.rows {
            RowsVerdict::Different if is_faster => self.rows.name().to_string(),
            RowsVerdict::Fails => {
                let detail = self.record.detail.as_deref().unwrap_or_default();
                format!("{}: {detail}", self.rows.name())
            }
            _ => return None,
        };
        Some(Label::Invalid { why })
    }
}

/// The answers of a contender, in the order of the tests of the plan.
pub(super) fn answered<'a>(run: &'a Run, base: &str, contender: &str) -> Vec<Answered<'a>> {
    let Some(comparison) = run.plan.comparison() else { return Vec::new() };
    let dbms = |name: &str| {
        let mut contenders = run.plan.contenders.iter();
        contenders.find(|one| one.name() == name).map(|one| one.dbms)
    };
    let is_across = dbms(base) != dbms(contender);
    let of = |test: &str, arm: &str| {
        run.answers.iter().find(|answer| answer.test == test && answer.arm == arm)
    };
    let one = |test: String| {
        let (baseline, record) = (of(&test, base)?, of(&test, contender)?);
        let control = of(&test, CONTROL).map(|control| control.plans.as_slice());
        let plan = match is_across {
            true => PlanVerdict::Unknown,
            false => plan(&baseline.plans, &record.plans, control),
        };
        let is_other_plan = is_across || !plan.changes().is_empty();
        let rows = match record.verdict {
            RowsVerdict::Different if record.may_tie && is_other_plan => RowsVerdict::Ties,
            verdict => verdict,
        };
        Some(Answered { test: &record.test, rows, plan, record, baseline })
    };
    comparison.tests().into_iter().filter_map(one).collect()
}

type Plans = [Vec<rqps_store::StatementRecord>];

fn plan(base: &Plans, contender: &Plans, control: Option<&Plans>) -> PlanVerdict {
    let varies = control
        .and_then(|control| changes_of_sets(base, control))
        .is_some_and(|changes| !changes.is_empty());
    match changes_of_sets(base, contender) {
        None => PlanVerdict::Unknown,
        Some(changes) if changes.is_empty() => PlanVerdict::Same,
        Some(changes) if varies => PlanVerdict::Varies(changes),
        Some(changes) => PlanVerdict::Changed(changes),
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::QueryPlan;
    use rqps_store::StatementRecord;

    use super::super::fixture;
    use super::*;

    fn plans(operators: &[&str]) -> Vec<Vec<StatementRecord>> {
        let one = |operator: &&str| {
            let tree = Some(QueryPlan::new(*operator));
            vec![StatementRecord { tree, ..StatementRecord::default() }]
        };
        operators.iter().map(one).collect()
    }

    fn verdict(base: &[&str], contender: &[&str], control: Option<&[&str]>) -> PlanVerdict {
        let control = control.map(plans);
        plan(&plans(base), &plans(contender), control.as_deref())
    }

    #[test]
    fn a_plan_has_changed_if_it_has_for_any_set_unless_it_varies_between_loads() {
        let change = vec!["Index Scan became Seq Scan".to_string()];
        let base = ["Index Scan", "Index Scan"];
        assert_eq!(verdict(&base, &base, None), PlanVerdict::Same);
        let other = ["Index Scan", "Seq Scan"];
        assert_eq!(verdict(&base, &other, None), PlanVerdict::Changed(change.clone()));
        assert_eq!(verdict(&base, &other, Some(&base)), PlanVerdict::Changed(change.clone()));
        assert_eq!(verdict(&base, &other, Some(&other)), PlanVerdict::Varies(change));
        assert_eq!(verdict(&base, &[], None), PlanVerdict::Unknown);
    }

    #[test]
    fn whoever_answers_wrongly_is_not_faster() {
        let record = |verdict, detail: &str| AnswerRecord {
            verdict,
            detail: Some(detail.to_string()),
            ..AnswerRecord::default()
        };
        let corrected = |verdict, label: &Label| {
            let record = record(verdict, "set 1: no such table");
            let (rows, plan) = (record.verdict, PlanVerdict::Same);
            let one = Answered { test: "q", rows, plan, record: &record, baseline: &record };
            one.corrected(label).map(|label| label.to_string())
        };
        let (faster, slower) =
            (Label::Improvement { at_least: 0.1 }, Label::Regression { at_least: 0.1 });
        let invalid = Some("invalid (different rows)".to_string());
        assert_eq!(corrected(RowsVerdict::Different, &faster), invalid);
        assert_eq!(corrected(RowsVerdict::Different, &slower), None, "it stays one");
        assert_eq!(corrected(RowsVerdict::Ties, &faster), None);
        let fails = Some("invalid (fails: set 1: no such table)".to_string());
        assert_eq!(corrected(RowsVerdict::Fails, &slower), fails);
    }

    #[test]
    fn other_rows_may_be_ties_only_by_another_plan() {
        let workload = rqps_plan::SqlWorkload {
            name: "shop".to_string(),
            source: rqps_plan::SqlSource::Folder { path: "shop".into(), files: Default::default() },
            tests: vec![rqps_plan::SqlTest::new("q", rqps_plan::Class::Range, 1.0)],
            left_out: Vec::new(),
            days: None,
            clients: 1,
            time: "1s".parse().unwrap(),
            bytes: 0,
            skips_load_errors: false,
        };
        let comparison = rqps_plan::Comparison::new(workload.into());
        let rows = |may_tie, operator: &str| {
            let mut run = fixture::run(&comparison, ["old=postgres", "new=postgres"]);
            let record = |arm: &str, verdict, operator: &str| AnswerRecord {
                test: "q".to_string(),
                arm: arm.to_string(),
                verdict,
                may_tie,
                plans: plans(&[operator]),
                ..AnswerRecord::default()
            };
            run.answers = vec![
                record("old", RowsVerdict::Same, "Sort"),
                record("new", RowsVerdict::Different, operator),
            ];
            answered(&run, "old", "new")[0].rows
        };
        assert_eq!(rows(true, "Hash"), RowsVerdict::Ties);
        assert_eq!(rows(true, "Sort"), RowsVerdict::Different);
        assert_eq!(rows(false, "Hash"), RowsVerdict::Different);
    }
}
