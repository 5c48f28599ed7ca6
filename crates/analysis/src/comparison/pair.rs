//! A contender and its baseline: from their rounds to the input of the verdicts.

use std::collections::BTreeMap;

use rqps_plan::{CONTROL, Comparison, Method, RATE_STEP, control_of};
use rqps_stats::Estimate;
use rqps_stats::control::widening;
use rqps_stats::label::{CONTROL_ALPHA, Kind};
use rqps_stats::noise::Noise;
use rqps_stats::slices::Restart;
use rqps_stats::suite_shift::{SuiteShift, suite_shift};
use rqps_stats::verdict::{
    Cell, Cost, LEAST_ROUNDS, LogRatios, LogValues, Options, Sample, Stage, Verdict, flagged,
};
use rqps_store::RoundRecord;

use super::drift::Drift;
use super::observed::{self, Observed, Quantity};

/// Largest rates are as uncertain as the tails that limit them.
const MARGIN_OF_LARGEST_RATES: f64 = 0.05;

/// Intervals are of 95 %.
pub(super) const ALPHA: f64 = 0.05;

pub struct Pair<'a> {
    pub plan: &'a Comparison,
    pub base: &'a str,
    pub contender: &'a str,
    pub is_io_bound: bool,
    /// Since the baseline was measured, if it is a stored one.
    pub drift: Option<Drift<'a>>,
}

/// The suite shift, and each test without it.
pub struct Suite {
    pub shift: Estimate,
    pub rounds: usize,
    /// By test; none if a test is not part of it, or decided by other rounds.
    pub relative: Vec<Option<Estimate>>,
}

impl Pair<'_> {
    pub(super) fn options(&self) -> Options {
        let fresh_rounds = self.plan.confirm.unwrap_or(Options::default().fresh_rounds);
        // Largest rates are known to half a step of those that were tried.
        let step = self.plan.slo.map_or(0.0, |_| RATE_STEP.ln() / 2.0);
        Options { fresh_rounds, drift: self.drift_size() + step, ..Options::default() }
    }

    fn drift_size(&self) -> f64 {
        self.drift.as_ref().map_or(0.0, Drift::size)
    }

    pub(super) fn first_stage(&self) -> Stage {
        if self.plan.confirm.is_some() { Stage::Screen } else { Stage::Single }
    }

    pub(super) fn cells(&self, tests: &[Observed<'_>]) -> Vec<Cell> {
        let mut cells = self.of_stage(tests, self.first_stage());
        if self.plan.confirm.is_some() {
            for index in flagged(&cells, &self.options()) {
                let fresh = self.cell(&tests[index], Stage::Fresh);
                if fresh.rate.rounds() >= LEAST_ROUNDS {
                    cells[index] = fresh;
                }
            }
        }
        cells
    }

    pub(super) fn of_stage(&self, tests: &[Observed<'_>], stage: Stage) -> Vec<Cell> {
        tests.iter().map(|test| self.cell(test, stage)).collect()
    }

    /// The rounds of a stage with the contender: not every server is up in every measurement.
    pub fn passes<'p>(&self, test: &Observed<'p>, stage: Stage) -> Vec<&'p RoundRecord> {
        let passes = test.of_stage(stage, self.plan);
        passes.filter(|pass| observed::takes_part(pass, self.contender)).collect()
    }

    fn cell(&self, test: &Observed<'_>, stage: Stage) -> Cell {
        let kind = kind(self.is_io_bound, test);
        let passes = self.passes(test, stage);
        let mut cell = Cell::new(test.name, kind, self.sample(test, &passes, Quantity::Rate));
        cell.class = class_of_noise(kind, test);
        cell.stage = stage;
        cell.margin = self.margin(kind);
        let mut costs = vec![("cpu/o", self.sample(test, &passes, Quantity::Cpu))];
        // Bytes written are not a cost of statements that only read.
        if test.writes() {
            costs.push(("wKB/o", self.written(&passes, self.plan.method_of(test.name))));
        }
        cell.own_control = self.own_control(&passes);
        let known = costs.into_iter().filter(|(_, sample)| sample.rounds() > 0);
        cell.costs.extend(known.map(|(name, sample)| Cost { name: name.to_string(), sample }));
        let failed = |name: &str| Some(format!("{name} failed: {}", test.failure(name)?));
        cell.refused = failed(self.contender).or_else(|| failed(self.base));
        cell.overdue = test.overdue(self.contender, self.base);
        cell.capped = self.plan.max_rate.filter(|_| test.is_capped());
        if cell.refused.is_none() && cell.rate.rounds() == 0 {
            cell.refused = test.refusal_of(&[self.contender, self.base]).map(str::to_string);
        }
        cell
    }

    /// The smallest change of a rate that matters, as a log.
    pub fn margin(&self, kind: Kind) -> f64 {
        let of_kind = match self.plan.slo {
            Some(_) => kind.margin().max(MARGIN_OF_LARGEST_RATES),
            None => kind.margin(),
        };
        self.plan.margin.unwrap_or(of_kind)
    }

    /// The log ratios of the rates, by round.
    pub(super) fn by_round(&self, test: &Observed<'_>) -> BTreeMap<u32, LogRatios> {
        let passes = self.passes(test, self.first_stage());
        let of = |pass: &&RoundRecord| {
            let ratios = match self.plan.method_of(test.name) {
                Method::Slices => self.slices(test, pass, Quantity::Rate)?,
                Method::Runs => {
                    let round = self.runs(pass, Quantity::Rate)?;
                    let control = round.control.map(|control| control - round.base);
                    LogRatios { contender: round.ratio(), control }
                }
            };
            Some((pass.round, ratios))
        };
        passes.iter().filter_map(of).collect()
    }

    /// A quantity of the contender and the A/A control against the baseline, by round.
    fn sample(&self, test: &Observed<'_>, passes: &[&RoundRecord], quantity: Quantity) -> Sample {
        let passes = passes.iter();
        match self.plan.method_of(test.name) {
            Method::Slices => {
                let round = |pass: &&RoundRecord| self.slices(test, pass, quantity);
                Sample::Slices(passes.filter_map(round).collect())
            }
            Method::Runs => {
                Sample::Runs(passes.filter_map(|pass| self.runs(pass, quantity)).collect())
            }
        }
    }

    /// The contender's second measurement against it, if it has one.
    fn own_control(&self, passes: &[&RoundRecord]) -> Option<Sample> {
        let control = control_of(self.contender);
        let ratio = |pass: &&RoundRecord| {
            let restart = observed::restart(pass, &control, &[self.contender], Quantity::Rate)?;
            Some(LogRatios { contender: restart.log_ratio, control: None })
        };
        let ratios: Vec<LogRatios> = passes.iter().filter_map(ratio).collect();
        (!ratios.is_empty()).then_some(Sample::Slices(ratios))
    }

    /// If memory is too small for all servers, the A/A control may be in another measurement of the
    /// round.
    fn slices(
        &self,
        test: &Observed<'_>,
        pass: &RoundRecord,
        quantity: Quantity,
    ) -> Option<LogRatios> {
        let control = |pass: &RoundRecord| observed::restart(pass, CONTROL, &[self.base], quantity);
        let of_round =
            || test.counted().filter(|other| other.round == pass.round).find_map(control);
        let control = control(pass).or_else(of_round);
        let contender = self.restart(pass, quantity)?;
        Some(LogRatios {
            contender: contender.log_ratio,
            control: control.map(|control| control.log_ratio),
        })
    }

    /// Of the contender against baseline and control, or against the baseline alone without a
    /// control.
    pub fn restart(&self, pass: &RoundRecord, quantity: Quantity) -> Option<Restart> {
        let against = |base: &[&str]| observed::restart(pass, self.contender, base, quantity);
        against(&[self.base, CONTROL]).or_else(|| against(&[self.base]))
    }

    fn runs(&self, pass: &RoundRecord, quantity: Quantity) -> Option<LogValues> {
        let log = |name| Some(observed::level(pass, name, quantity)?.ln());
        let (base, contender) = (log(self.base)?, log(self.contender)?);
        Some(LogValues { base, control: log(CONTROL), contender })
    }

    /// The log ratio of a round.
    pub fn ratio(&self, pass: &RoundRecord) -> Option<f64> {
        match self.plan.method_of(&pass.test) {
            Method::Slices => Some(self.restart(pass, Quantity::Rate)?.log_ratio),
            Method::Runs => Some(self.runs(pass, Quantity::Rate)?.ratio()),
        }
    }

    /// The source of a test's noise; not known for whole runs.
    pub fn noise(&self, test: &Observed<'_>, verdict: &Verdict) -> Option<Noise> {
        if self.plan.method_of(test.name) != Method::Slices {
            return None;
        }
        let restart = |pass: &RoundRecord| {
            let found = self.restart(pass, Quantity::Rate)?;
            Some((found.log_ratio, found.error))
        };
        let passes = test.of_stage(verdict.stage, self.plan);
        Noise::of(&passes.filter_map(restart).collect::<Vec<_>>())
    }

    /// The log ratio of the A/A control to the baseline in a round of the first stage.
    fn control(&self, test: &Observed<'_>, round: u32) -> Option<f64> {
        let mut passes = test.of_stage(self.first_stage(), self.plan);
        let pass = passes.find(|pass| pass.round == round && self.ratio(pass).is_some())?;
        match self.plan.method_of(test.name) {
            Method::Slices => self.slices(test, pass, Quantity::Rate)?.control,
            Method::Runs => {
                let round = self.runs(pass, Quantity::Rate)?;
                Some(round.control? - round.base)
            }
        }
    }

    /// From the rounds of the first stage that all valid tests have.
    pub fn suite(&self, tests: &[Observed<'_>], verdicts: &[Verdict], seed: u64) -> Option<Suite> {
        let stage = self.first_stage();
        let ratios = |test: &Observed<'_>| -> BTreeMap<u32, f64> {
            let passes = test.of_stage(stage, self.plan);
            passes.filter_map(|pass| Some((pass.round, self.ratio(pass)?))).collect()
        };
        let is_valid = |index: &usize| verdicts[*index].label.has_ratio();
        let valid: Vec<usize> = (0..tests.len()).filter(is_valid).collect();
        let all: Vec<BTreeMap<u32, f64>> =
            valid.iter().map(|index| ratios(&tests[*index])).collect();
        let is_common = |round: &&u32| all.iter().all(|test| test.contains_key(*round));
        let common: Vec<u32> = all.first()?.keys().filter(is_common).copied().collect();
        if common.len() < LEAST_ROUNDS {
            return None;
        }
        let of_common =
            |test: &BTreeMap<u32, f64>| common.iter().map(|round| test[round]).collect();
        let rounds: Vec<Vec<f64>> = all.iter().map(of_common).collect();
        let SuiteShift { mut shift, relative: of_valid } = suite_shift(&rounds, ALPHA, seed)?;
        // The A/A control has a suite shift, too, which is 0 but for noise.
        let control = valid
            .iter()
            .map(|index| common.iter().map(|round| self.control(&tests[*index], *round)).collect())
            .collect::<Option<Vec<Vec<f64>>>>()
            .and_then(|rounds| suite_shift(&rounds, CONTROL_ALPHA, seed));
        let factor = widening(&[control.map(|control| control.shift)])[0];
        shift.interval = shift.interval.widened(shift.value, factor);
        // All tests share the drift of the machine.
        shift.interval.low -= self.drift_size();
        shift.interval.high += self.drift_size();
        let mut relative = vec![None; tests.len()];
        for (index, mut own) in valid.into_iter().zip(of_valid) {
            own.interval = own.interval.widened(own.value, verdicts[index].widened);
            // Rounds other than those of the shift have another state of the machine.
            relative[index] = Some(own).filter(|_| verdicts[index].stage == stage);
        }
        Some(Suite { shift, rounds: common.len(), relative })
    }
}

/// The class of tests with similar noise: a scan takes as long as thousands of points.
pub fn class_of_noise(kind: Kind, test: &Observed<'_>) -> String {
    match test.writes() {
        true => format!("{kind:?}"),
        false => format!("{kind:?}, {}", test.class),
    }
}

pub fn kind(is_io_bound: bool, test: &Observed<'_>) -> Kind {
    match (is_io_bound, test.writes()) {
        (true, _) => Kind::IoBound,
        (false, true) => Kind::CachedWrite,
        (false, false) => Kind::CachedRead,
    }
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Class, Counts};
    use rqps_store::RoundRecord;

    use super::*;
    use crate::comparison::observed::tests;

    #[test]
    fn noise_is_alike_among_writes_and_among_reads_of_a_kind() {
        let classes = [Class::Point, Class::Point, Class::Scan, Class::Update, Class::Insert];
        let pass = |(place, class): (usize, &Class)| RoundRecord {
            test: format!("test{place}"),
            ..RoundRecord::new(*class, Counts::Statements)
        };
        let passes: Vec<RoundRecord> = classes.iter().enumerate().map(pass).collect();
        let alike: Vec<String> =
            tests(&passes).iter().map(|test| class_of_noise(kind(false, test), test)).collect();
        assert!(alike[0] == alike[1] && alike[3] == alike[4], "{alike:?}");
        assert!(alike[0] != alike[2] && alike[0] != alike[3] && alike[2] != alike[3], "{alike:?}");
    }
}
