//! How the measurement of a test is cut into slices: by time, or by count where an operation takes
//! a large part of a slice or longer.
//!
//! A slice that ends with the first operation after its time holds other operations in each arm:
//! of parameter sets that differ in cost, one arm has the expensive ones and another has not. By
//! count, all arms of a cycle have the same operations.

use std::time::Duration;

use rand::RngExt;
use rqps_load::{Slice, Slicing, Turns};
use rqps_workload::Task;

use super::order::order;
use crate::error::LabError;

/// The warm-up as a share of a test's time, since servers were just started.
pub(crate) const WARM_UP: f64 = 0.2;
/// … and of that time and its own.
pub(super) const WARM: f64 = WARM_UP / (1.0 + WARM_UP);
/// The executions of a numbered test before anything else: they show how long an operation takes,
/// and Postgres decides after five whether a statement gets a generic plan.
const FIRST_EXECUTIONS: u32 = 5;
/// The least number of operations in a slice by time.
const FEW: u32 = 10;
/// … beside a remote server, whose answers take as long as the network does, up to this time.
const FEW_REMOTE: u32 = 50;
const LONGEST_REMOTE: Duration = Duration::from_secs(1);
/// The minimum number of measured cycles by time, however long one takes.
const FEWEST_CYCLES: usize = 6;
/// … and by count, up to this time of an operation: each cycle has its mirror image.
const FEWEST_BY_COUNT: [(Duration, usize); 3] =
    [(Duration::from_secs(1), 6), (Duration::from_secs(60), 4), (Duration::MAX, 2)];
/// The factor by which a measurement may take longer than planned: if operations take longer than
/// expected, there are fewer slices then.
const LONGER: u32 = 2;

/// The longest operation with which a test takes no longer than this time for each contender.
pub(crate) fn longest_operation(time: Duration) -> Duration {
    let [(_, fewest), ..] = FEWEST_BY_COUNT;
    time / fewest as u32
}

/// The slices of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) slicing: Slicing,
    /// The expected time of the measured part of a slice, and of its warm-up.
    slice: Duration,
    warm_up: Duration,
    /// The minimum number of cycles by count.
    by_count: Option<usize>,
}

impl Cut {
    pub(super) const fn by_time(slice: Duration, warm_up: Duration) -> Cut {
        Cut { slicing: Slicing::by_time(slice, warm_up), slice, warm_up, by_count: None }
    }

    /// The slices of a test whose operations take this long in the slowest arm, where these would
    /// be those of short ones.
    pub(super) fn for_operations(self, slowest: Duration) -> Cut {
        if slowest < self.slice / FEW {
            return self;
        }
        let is_short = slowest < self.slice;
        let count = match is_short {
            true => (self.slice.as_secs_f64() / slowest.as_secs_f64()).ceil() as u32,
            false => 1,
        };
        let warm_up = u32::from(is_short);
        let fewest = FEWEST_BY_COUNT.iter().find(|(most, _)| slowest <= *most);
        Cut {
            slicing: Slicing::by_count(count.into(), warm_up.into()),
            slice: slowest * count,
            warm_up: slowest * warm_up,
            by_count: fewest.map(|(_, cycles)| *cycles),
        }
    }

    /// The slices by time of a test whose operations take this long, mostly on the network.
    fn for_remote(self, slowest: Duration) -> Cut {
        let slice = (slowest * FEW_REMOTE).min(LONGEST_REMOTE).max(self.slice);
        Cut::by_time(slice, self.warm_up.max(slowest * 2))
    }

    pub(super) fn is_by_count(&self) -> bool {
        self.by_count.is_some()
    }

    /// The measured turns in this time for each contender. By count, all begin with the same
    /// operation.
    pub(super) fn measured(
        &self,
        first: &Beginning,
        time: Duration,
        random: &mut impl RngExt,
    ) -> Turns {
        let fewest = self.by_count.map_or((2, FEWEST_CYCLES), |cycles| (cycles, cycles));
        let mut turns = self.turns(first.contenders, time, fewest, random);
        turns.from = self.by_count.map(|_| first.operation);
        turns
    }

    /// The expected time of these turns.
    pub(super) fn time_of(&self, turns: &Turns) -> Duration {
        (self.slice + self.warm_up) * turns.order.len() as u32
    }

    /// As many cycles as each contender has slices in this time, at least `planned`; if they take
    /// too long, no fewer than `fewest`.
    fn turns(
        &self,
        contenders: usize,
        time: Duration,
        (planned, fewest): (usize, usize),
        random: &mut impl RngExt,
    ) -> Turns {
        let cycles = (time.as_secs_f64() / self.slice.as_secs_f64()).ceil() as usize;
        let cycles = match cycles.max(planned) {
            cycles if self.is_by_count() => cycles.next_multiple_of(2),
            cycles => cycles,
        };
        let mut turns = Turns::all(order(contenders, cycles, random));
        turns.enough = self.time_of(&turns) * LONGER;
        (turns.fewest, turns.block) = (contenders * fewest, contenders * 2);
        turns
    }
}

/// Who is driven, and with which operation it begins where operations have numbers.
pub(super) struct Beginning {
    pub(super) contenders: usize,
    /// The place of the baseline, which is the first to execute anything.
    pub(super) base: usize,
    pub(super) operation: u64,
    /// There is a remote server.
    pub(super) is_remote: bool,
}

impl Beginning {
    /// The first one of all, by the baseline, and the others.
    fn first_executions(&self) -> [Turns; 2] {
        let others = (0..self.contenders).filter(|place| *place != self.base);
        let cycle: Vec<usize> = std::iter::once(self.base).chain(others).collect();
        let (first, rest) = (vec![self.base], cycle.repeat(FIRST_EXECUTIONS as usize));
        let first = Turns { from: Some(self.operation), ..Turns::all(first) };
        [first, Turns::all(rest[1..].to_vec())]
    }
}

/// The slices of a warm-up, and how the test is to be cut.
pub(super) struct Warmed {
    pub(super) before: Vec<Vec<Slice>>,
    pub(super) cut: Cut,
}

/// Drives contenders in these turns, which are a part of the test from one share of it to another.
type Drive<'d> = dyn FnMut(&Turns, Slicing, (f64, f64)) -> Result<Vec<Vec<Slice>>, LabError> + 'd;

/// Warms all contenders up, and finds out how long their operations take. `usual` is how the test
/// is cut if they are short.
pub(super) fn warm_up(
    usual: Cut,
    test: &Task,
    first: &Beginning,
    random: &mut impl RngExt,
    drive: &mut Drive<'_>,
) -> Result<Warmed, LabError> {
    let (mut cut, mut time, mut before) = (usual, test.time.mul_f64(WARM_UP), Vec::new());
    if test.is_numbered {
        let one = Slicing::by_count(1, 0);
        let [alone, others] = first.first_executions();
        // Limits of the others depend on what the baseline takes.
        before = drive(&alone, one, (0.0, 0.0))?;
        before.extend(drive(&others, one, (0.0, WARM / 2.0))?);
        let slowest = slowest(&before);
        cut = usual.for_operations(slowest);
        if cut.is_by_count() {
            time = time.saturating_sub(slowest * FIRST_EXECUTIONS);
        }
    }
    let fewest = if cut.is_by_count() { 0 } else { 2 };
    let turns = cut.turns(first.contenders, time, (fewest, 1), random);
    before.extend(drive(&turns, cut.slicing, (WARM / 2.0, WARM))?);
    if test.is_numbered {
        cut = usual.for_operations(slowest(&before));
    } else if first.is_remote {
        cut = usual.for_remote(slowest(&before));
    }
    Ok(Warmed { before, cut })
}

/// The time of an operation in the slowest arm: the largest of the arms' medians over their slices.
fn slowest(slices: &[Vec<Slice>]) -> Duration {
    let contenders = slices.iter().flatten().map(|slice| slice.contender + 1).max().unwrap_or(0);
    let median = |contender: usize| {
        let own = slices.iter().flatten();
        let own = own.filter(|slice| slice.contender == contender && slice.operations > 0);
        let mut each: Vec<u64> = own.map(|slice| slice.nanos / slice.operations).collect();
        each.sort_unstable();
        each.get(each.len() / 2).copied()
    };
    Duration::from_nanos((0..contenders).filter_map(median).max().unwrap_or(0))
}

#[cfg(test)]
mod tests;
