//! Whether a rate that is tried keeps the service level.

use rqps_stats::paired::t_interval;

/// The level of the interval of the share of late operations, by which a try ends early.
const ALPHA: f64 = 0.05;

/// The share of a rate that must be reached.
const SUSTAINED: f64 = 0.99;

/// A second of a try: the operations that ended in it, and those of them that took longer than the
/// limit from when they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TriedSecond {
    pub operations: u64,
    pub late: u64,
}

/// Whether the level is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IsKept {
    Yes,
    No,
    Undecided,
}

/// A rate that is tried for some time, and longer while it is undecided.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedRate {
    /// The share of operations that may be late.
    allowed: f64,
    /// Operations that are due in a second.
    due: f64,
    blocks: Vec<TriedSecond>,
    seconds: f64,
}

impl TriedRate {
    /// At so many operations per second, of which so many percent end in time.
    pub fn new(percentile: f64, due: f64) -> TriedRate {
        TriedRate { allowed: 1.0 - percentile / 100.0, due, blocks: Vec::new(), seconds: 0.0 }
    }

    /// More of it was measured.
    pub fn add(&mut self, blocks: impl IntoIterator<Item = TriedSecond>, seconds: f64) {
        self.blocks.extend(blocks);
        self.seconds += seconds;
    }

    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// From the t interval, over blocks, of how many operations were late beyond what is allowed.
    /// That sum is weighted by operations: a second in which nothing ends makes the next ones late.
    pub fn kept(&self) -> IsKept {
        let operations: u64 = self.blocks.iter().map(|block| block.operations).sum();
        if (operations as f64) < SUSTAINED * self.due * self.seconds {
            return IsKept::No;
        }
        let beyond = self.beyond();
        match t_interval(&beyond, None, ALPHA) {
            Some(mean) if mean.interval.high <= 0.0 => IsKept::Yes,
            Some(mean) if mean.interval.low > 0.0 => IsKept::No,
            _ => IsKept::Undecided,
        }
    }

    /// The same where there is no more time: what is undecided goes by the share itself.
    pub fn kept_at_last(&self) -> bool {
        match self.kept() {
            IsKept::Undecided => self.beyond().iter().sum::<f64>() <= 0.0,
            kept => kept == IsKept::Yes,
        }
    }

    fn beyond(&self) -> Vec<f64> {
        let beyond =
            |block: &TriedSecond| block.late as f64 - self.allowed * block.operations as f64;
        self.blocks.iter().map(beyond).collect()
    }
}
