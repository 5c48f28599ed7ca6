//! How much is run.

pub(crate) struct Size {
    pub(crate) rounds: usize,
    /// The divisor of a statement's operations.
    pub(crate) part: u64,
    /// Rows of l.i0 and of a load.
    pub(crate) inserted: u64,
    /// Of a window that is sampled once a second.
    pub(crate) seconds: u32,
    /// Whether instructions are compared with the recorded ones.
    pub(crate) is_held: bool,
}

pub(crate) const FULL: Size =
    Size { rounds: 5, part: 1, inserted: 1_000_000, seconds: 10, is_held: true };

pub(crate) const SMOKE: Size =
    Size { rounds: 1, part: 100, inserted: 10_000, seconds: 1, is_held: false };
