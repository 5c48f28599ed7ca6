//! The largest rate at which a contender keeps a service level, by trying rates.

use std::collections::BTreeMap;

use rqps_plan::ServiceLevel;
use rqps_store::{Measurement, WorkRecord};
use rqps_workload::Random;

use crate::alone::Next;
use crate::arrivals::Arrivals;
use crate::stage::measurement;
use crate::{Lab, LabError};

/// Rates of one grid for all contenders, each larger than the one before by this factor.
const STEP: f64 = rqps_plan::RATE_STEP;

/// Of what a contender does in a closed loop, the largest and the smallest rate that are tried.
const MOST: f64 = 1.2;
const LEAST: f64 = 0.05;

/// A round begins with the answer of the one before, and this many steps around it,
const NEAR: i32 = 4;
/// … and ends this far from it.
const FAR: i32 = 60;

/// The share of a rate that must be reached.
const SUSTAINED: f64 = 0.99;

/// Operations beyond the percentile, of which a rate must have as many.
const BEYOND: f64 = 10.0;

fn rate_of(step: i32) -> f64 {
    STEP.powi(step)
}

fn step_of(rate: f64) -> i32 {
    (rate.ln() / STEP.ln()).round() as i32
}

/// The rates between which the answer is, and where it is expected, by steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bounds {
    least: i32,
    most: i32,
    near: Option<i32>,
}

/// The largest step that holds, if larger ones hold less often; none if none does. Bisects between
/// the ends, which are not tried unless the answer is next to them: what is beyond them is taken as
/// too small and too large.
fn largest<E>(
    bounds: Bounds,
    holds: &mut dyn FnMut(i32) -> Result<bool, E>,
) -> Result<Option<i32>, E> {
    let (floor, ceiling) = (bounds.least - 1, bounds.most + 1);
    let (mut low, mut high) = match bounds.near {
        // The last answer may lie outside of what can be judged.
        Some(near) => {
            let near = near.clamp(bounds.least, bounds.most);
            ((near - NEAR).max(floor), (near + NEAR).min(ceiling))
        }
        None => (floor, ceiling),
    };
    let mut known = BTreeMap::from([(floor, true), (ceiling, false)]);
    loop {
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let is_held = holds(middle)?;
            known.insert(middle, is_held);
            if is_held { low = middle } else { high = middle }
        }
        // The ends around the last answer were not tried.
        let unknown = [low, high].into_iter().find(|end| !known.contains_key(end));
        let Some(end) = unknown else { return Ok((low > floor).then_some(low)) };
        let is_held = holds(end)?;
        known.insert(end, is_held);
        match (end == low, is_held) {
            (true, false) => (low, high) = (floor, end),
            (false, true) => (low, high) = (end, ceiling),
            (true, true) | (false, false) => {}
        }
    }
}

/// Nanoseconds from when operations were due that so many percent of them took at most.
fn within(measured: &Measurement, percent: f64) -> Option<u64> {
    let work = WorkRecord::by_operation(measured.work.clone()).into_iter().next()?;
    Some(work.response?.unpacked().value_at_percentile(percent))
}

/// The measurement at the largest rate that keeps the level. `last` is the rate of an earlier
/// round.
pub(super) fn measure(
    next: &mut Next<'_>,
    lab: &mut Lab<'_>,
    level: ServiceLevel,
    last: Option<f64>,
    random: Random,
) -> Result<Measurement, LabError> {
    let seconds = next.task.time.as_secs_f64();
    let mut attempt = 0;
    let mut run = |next: &mut Next<'_>, lab: &mut Lab<'_>, rate: Option<f64>| {
        attempt += 1;
        next.arrivals = rate.map(|per_second| Arrivals::at(per_second, random.clone()));
        let mut measured = measurement(next.task);
        next.run(lab, attempt, &mut measured)?;
        Ok::<_, LabError>(measured)
    };
    let reached = |measured: &Measurement| {
        let operations: u64 = measured.work.iter().map(|work| work.operations).sum();
        operations as f64 / measured.seconds
    };
    let bounds = match last.map(step_of) {
        Some(near) => Bounds { least: near - FAR, most: near + FAR, near: Some(near) },
        None => {
            let closed = reached(&run(next, lab, None)?);
            let bound = |share: f64| step_of(share * closed);
            Bounds { least: bound(LEAST), most: bound(MOST), near: None }
        }
    };
    let (needed, most) = (BEYOND / (1.0 - level.percentile / 100.0), rate_of(bounds.most));
    let least = bounds.least.max(step_of(needed / seconds) + 1);
    if least >= bounds.most {
        let (rate, seconds) = (most.round() as u64, (2.0 * needed / most).ceil() as u64);
        return Err(LabError::TooFewToJudge { test: next.task.name.clone(), level, rate, seconds });
    }
    let bounds = Bounds { least, ..bounds };
    let mut best: Option<(i32, Measurement)> = None;
    let mut smallest = f64::INFINITY;
    let name = next.task.name.clone();
    let found = largest(bounds, &mut |step| {
        let rate = rate_of(step);
        smallest = smallest.min(rate);
        let measured = run(next, lab, Some(rate))?;
        let within = within(&measured, level.percentile).unwrap_or(u64::MAX);
        let is_held = u128::from(within) <= level.limit.0.as_nanos()
            && reached(&measured) >= SUSTAINED * rate;
        tracing::info!("{name}: {rate:.0}/s, {within} ns, held: {is_held}");
        if is_held && best.as_ref().is_none_or(|(known, _)| *known < step) {
            best = Some((step, measured));
        }
        Ok::<_, LabError>(is_held)
    })?;
    match found.and(best) {
        Some((_, measured)) => Ok(measured),
        None => Err(LabError::NeverKept { test: next.task.name.clone(), level, rate: smallest }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer, and how many steps were tried.
    fn found(bounds: Bounds, largest_held: i32) -> (Option<i32>, usize) {
        let mut tried = Vec::new();
        let answer = largest(bounds, &mut |step| {
            assert!(!tried.contains(&step), "{step} is tried once");
            assert!((bounds.least..=bounds.most).contains(&step));
            tried.push(step);
            Ok::<_, ()>(step <= largest_held)
        });
        (answer.unwrap(), tried.len())
    }

    #[test]
    fn the_largest_step_is_found_wherever_it_is() {
        for near in [None, Some(120), Some(150), Some(199)] {
            let bounds = Bounds { least: 100, most: 200, near };
            for largest_held in 100..=200 {
                assert_eq!(found(bounds, largest_held).0, Some(largest_held), "{near:?}");
            }
            assert_eq!(found(bounds, 99).0, None);
        }
    }

    #[test]
    fn an_answer_near_the_last_one_takes_few_tries() {
        let from_nothing = Bounds { least: 100, most: 206, near: None };
        let most = (100..=206).map(|at| found(from_nothing, at).1).max();
        assert_eq!(most, Some(7));
        let near = Bounds { least: 90, most: 210, near: Some(150) };
        let most = (147..=152).map(|at| found(near, at).1).max().unwrap();
        assert!(most <= 4, "{most}");
    }

    #[test]
    fn grids_are_the_same_for_all() {
        for rate in [1.0, 17.0, 500.0, 12_345.0, 2e6] {
            let near = rate_of(step_of(rate));
            assert!((near / rate).ln().abs() <= STEP.ln() / 2.0 + 1e-9, "{rate}");
            assert_eq!(step_of(near), step_of(rate));
        }
    }
}
