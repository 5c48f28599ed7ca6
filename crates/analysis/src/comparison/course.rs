//! The course of whole runs from second to second: dips, and the background activity meanwhile.

use std::ops::Range;

use rqps_observe::{Kind, Meaning, Metric};
use rqps_plan::Method;
use rqps_stats::stalls::{lag_of_stalls, stalls};
use rqps_store::{Column, Measurement, RoundRecord};

use super::Pair;
use super::costs::interval;
use super::observed::{Quantity, level};
use super::whole::{operations, rates, sampled};
use crate::diagnosis::Dips;

/// Stalls within this many seconds of vacuum, purge or compaction may belong to it.
const LONGEST_LAG: usize = 10;
/// A run of fewer seconds has no course.
const FEWEST_SECONDS: usize = 12;

const CPU: [Metric; 2] = [Metric::ServerCpuUser, Metric::ServerCpuSystem];

/// Counters that grow by one with each checkpoint.
const CHECKPOINTS: &[Meaning] = &[Meaning::CheckpointsTimed, Meaning::CheckpointsRequested];
/// Counters that grow when vacuum or compaction removes old row versions.
const COLLECTED: &[Meaning] =
    &[Meaning::TablesVacuumed, Meaning::CompactionBytesWritten, Meaning::CompactionBytesRead];
/// Gauges that fall then.
const TO_COLLECT: &[Meaning] = &[Meaning::RowVersionsLeft];

/// The dips of the slower arm; none for slices, whose seconds all arms share.
pub(super) fn dips(pair: &Pair<'_>, passes: &[&RoundRecord]) -> Option<Dips> {
    let slower = slower(pair, passes)?;
    let series = |name: &str| -> Vec<Vec<f64>> {
        // Without the rest of the last second, which would be a stall.
        let of = passes.iter().map(|pass| rates(pass, name));
        of.filter(|rates| rates.len() >= FEWEST_SECONDS).collect()
    };
    let shares = |name: &str| -> Vec<f64> {
        // One second more or less.
        let share = |rates: &Vec<f64>| stalls(rates).share + 1.0 / rates.len() as f64;
        series(name).iter().map(share).collect()
    };
    let (base, contender) = (shares(pair.base), shares(pair.contender));
    if base.len() < 3 || base.len() != contender.len() {
        return None;
    }
    let changes: Vec<f64> =
        base.iter().zip(&contender).map(|(one, two)| (two / one).ln()).collect();
    let sides: Vec<&Measurement> = passes.iter().filter_map(|pass| pass.arms.get(slower)).collect();
    let found = series(slower).into_iter().filter_map(|rates| stalls(&rates).period);
    let periods = found.map(|period| period as f64);
    let lags = passes.iter().filter_map(|pass| {
        let (rates, side) = (rates(pass, slower), pass.arms.get(slower)?);
        let collecting = collecting(side, rates.len());
        lag_of_stalls(&rates, &collecting, LONGEST_LAG).map(|lag| lag as f64)
    });
    Some(Dips {
        period: middle(periods.collect()),
        checkpoint_interval: middle(sides.iter().filter_map(|side| checkpoints(side)).collect()),
        stalls: Some(interval(&changes)),
        collector_lag: middle(lags.collect()),
        collector_watched: sides.iter().any(|side| !side.engine_samples.is_empty()),
    })
}

/// CPU per operation in the last quarter of a run over that in the first, for the slower arm.
pub(super) fn growth_within(pair: &Pair<'_>, passes: &[&RoundRecord]) -> Option<f64> {
    let slower = slower(pair, passes)?;
    let growth = |side: &Measurement| {
        let operations = operations(side);
        if operations.len() < FEWEST_SECONDS {
            return None;
        }
        let cpu = sampled(side, &CPU, operations.len());
        let quarter = operations.len() / 4;
        let cost = |seconds: Range<usize>| {
            let sum = |of: &[f64]| -> f64 { of.get(seconds.clone()).into_iter().flatten().sum() };
            let (done, cpu) = (sum(&operations), sum(&cpu));
            (done > 0.0 && cpu > 0.0).then(|| cpu / done)
        };
        let last = cost(operations.len() - quarter..operations.len())?;
        Some(last / cost(0..quarter)?)
    };
    let sides = passes.iter().filter_map(|pass| pass.arms.get(slower));
    middle(sides.filter_map(growth).collect())
}

fn slower<'a>(pair: &Pair<'a>, passes: &[&RoundRecord]) -> Option<&'a str> {
    if pair.plan.method_of(&passes.first()?.test) == Method::Slices {
        return None;
    }
    let mean = |name: &str| -> Option<f64> {
        let rates: Vec<f64> =
            passes.iter().filter_map(|pass| level(pass, name, Quantity::Rate)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum::<f64>() / rates.len() as f64)
    };
    let is_slower = mean(pair.contender)? < mean(pair.base)?;
    Some(if is_slower { pair.contender } else { pair.base })
}

/// Seconds from checkpoint to checkpoint; none for fewer than two of them.
fn checkpoints(side: &Measurement) -> Option<f64> {
    let samples = &side.engine_samples;
    let has_one = |index: usize| {
        let mut columns = samples.columns().filter(|(_, column)| means(column, CHECKPOINTS));
        columns.any(|(_, column)| column.get(index).is_some_and(|value| value > 0))
    };
    let times = samples.at().iter().enumerate().filter(|(index, _)| has_one(*index));
    let times: Vec<f64> = times.map(|(_, at)| *at).collect();
    let (first, last) = (times.first()?, times.last()?);
    (times.len() > 1).then(|| (last - first) / (times.len() - 1) as f64)
}

/// Whether old row versions were removed in each second.
fn collecting(side: &Measurement, seconds: usize) -> Vec<bool> {
    let mut seconds = vec![false; seconds];
    let mut left: Option<u64> = None;
    for (index, at) in side.engine_samples.at().iter().enumerate() {
        let grown = |kind: Kind, of: &[Meaning]| -> u64 {
            let columns = side.engine_samples.columns();
            let known = columns.filter(|(_, one)| one.kind == kind && means(one, of));
            known.filter_map(|(_, column)| column.get(index)).sum()
        };
        let now = grown(Kind::Gauge, TO_COLLECT);
        let fell = left.is_some_and(|before| now < before);
        left = Some(now);
        // A sample at the end of a second is of that second.
        let second = (at.round() as usize).saturating_sub(1);
        if let Some(second) = seconds.get_mut(second) {
            *second = fell || grown(Kind::Counter, COLLECTED) > 0;
        }
    }
    seconds
}

fn means(column: &Column, of: &[Meaning]) -> bool {
    column.meaning.is_some_and(|meaning| of.contains(&meaning))
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use rqps_observe::EngineReading;
    use rqps_plan::{Class, Comparison, Counts};
    use rqps_store::{EngineSample, Operation, Second, Series, SliceRecord, WorkRecord};

    use super::*;
    use crate::comparison::fixture;

    /// Rounds of whole runs at an even rate, which end within a second.
    fn rounds(seconds: [(&str, f64); 2]) -> Vec<RoundRecord> {
        let mut pass = RoundRecord {
            test: "l.i1".to_string(),
            ..RoundRecord::new(Class::Point, Counts::Statements)
        };
        for (place, (name, seconds)) in (0..).zip(seconds) {
            pass.slices.push(SliceRecord {
                place,
                client: 1,
                arm: name.to_string(),
                nanos: (seconds * 1e9) as u64,
                writes: 20_000,
                ..SliceRecord::default()
            });
            let second =
                |operations: f64| Second { operations: operations as u64, ..Second::default() };
            let rate = 20_000.0 / seconds;
            let mut all = vec![second(rate); seconds as usize];
            all.push(second(rate * seconds.fract()));
            let work = WorkRecord { seconds: all, ..WorkRecord::of_several(Operation::Insert) };
            let side = Measurement { work: vec![work.packed()], ..Measurement::default() };
            pass.arms.insert(name.to_string(), side);
        }
        vec![pass; 3]
    }

    #[test]
    fn what_is_read_when_a_second_is_over_is_of_that_second() {
        let sample = |second: u32| {
            let mut values = EngineReading::default();
            values.set("autovacuum_count", Kind::Counter, u64::from(second == 3));
            EngineSample { at: f64::from(second) + 0.002, values }
        };
        let mut engine_samples: Series<String> = (1..5).map(sample).collect();
        engine_samples.mean(|_| Some(Meaning::TablesVacuumed));
        let side = Measurement { engine_samples, ..Measurement::default() };
        assert_eq!(collecting(&side, 4), [false, false, true, false]);
    }

    #[test]
    fn what_is_left_of_the_last_second_is_no_stall() {
        let plan: Comparison = fixture::plan();
        let rounds = rounds([("old", 20.3), ("new", 23.2)]);
        let found = dips(&fixture::pair(&plan, None), &rounds.iter().collect::<Vec<_>>()).unwrap();
        // A second more or less, of 20 and of 23.
        let stalls = found.stalls.unwrap().value;
        assert!((stalls - (20.0_f64 / 23.0).ln()).abs() < 1e-9, "{found:?}");
    }
}
