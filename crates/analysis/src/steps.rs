//! A run arranged by step and contender, which every table and format is made from.

use std::collections::BTreeMap;

use rqps_plan::Counts;
use rqps_store::{RoundRecord, Run};

use crate::measured::Measured;

/// The steps of a run by contender.
pub struct Model<'a> {
    pub run: &'a Run,
    /// Names of the contenders that were started, in the order of the plan.
    pub contenders: Vec<&'a str>,
    /// The index of the baseline; none if the plan's first contender never started.
    pub base: Option<usize>,
    /// The steps that any contender began, in their order.
    pub steps: Vec<StepModel<'a>>,
}

pub struct StepModel<'a> {
    pub name: &'a str,
    /// What the step does, in a few words.
    pub title: &'a str,
    /// The group of steps in which tables show it.
    pub group: Option<&'a str>,
    pub counts: Counts,
    /// By contender, as in [`Model::contenders`]; none if the contender did not begin the step.
    pub measured: Vec<Option<Measured<'a>>>,
}

impl<'a> Model<'a> {
    pub fn new(run: &'a Run) -> Self {
        let contenders = run.contenders.iter().map(|c| c.name.as_str()).collect();
        Model::of(run, contenders, run.single())
    }

    /// A model of records that were derived from those of the run, such as pooled rounds.
    pub fn of(run: &'a Run, contenders: Vec<&'a str>, records: &'a [RoundRecord]) -> Self {
        let base = run.plan.contenders.first().map(|contender| contender.name());
        let mut begun: BTreeMap<u32, &RoundRecord> = BTreeMap::new();
        for record in records {
            begun.entry(record.place).or_insert(record);
        }
        let steps = begun.into_values();
        let steps = steps.map(|record| StepModel::new(record, records, &contenders, run));
        Model {
            run,
            base: contenders.iter().position(|name| Some(*name) == base.as_deref()),
            steps: steps.collect(),
            contenders,
        }
    }

    /// Whether the published tables show some of the steps, in groups.
    pub fn has_groups(&self) -> bool {
        self.steps.iter().any(|step| step.group.is_some())
    }
}

impl<'a> StepModel<'a> {
    /// `record` belongs to any contender of this step: the description of the step is the same.
    fn new(
        record: &'a RoundRecord,
        records: &'a [RoundRecord],
        contenders: &[&str],
        run: &Run,
    ) -> Self {
        let of = |name: &&str| {
            let mut records = records.iter();
            records.find_map(|round| {
                let round = Some(round).filter(|round| round.place == record.place)?;
                Measured::new(round, name, run.manifest_of(name).cpus)
            })
        };
        StepModel {
            name: &record.test,
            title: &record.title,
            group: record.group.as_deref(),
            counts: record.counts,
            measured: contenders.iter().map(of).collect(),
        }
    }

    /// The measurements that reached their end, with the index of their contender.
    pub fn done(&self) -> impl Iterator<Item = (usize, &Measured<'a>)> {
        let begun = self.measured.iter().enumerate();
        begun
            .filter_map(|(index, measured)| Some((index, measured.as_ref()?)))
            .filter(|(_, measured)| measured.is_done())
    }

    /// `l.i0: load without secondary indexes`
    pub fn heading(&self) -> String {
        format!("{}: {}", self.name, self.title)
    }

    /// Whether the step promises a write rate.
    pub fn is_promising(&self) -> bool {
        self.measured.iter().flatten().any(|measured| measured.record.target_rate.is_some())
    }
}
