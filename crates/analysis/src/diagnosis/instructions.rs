//! Instructions per operation, as they were counted.

/// Instructions per operation that differ by less than this, as a logarithm, are the same. Those of
/// one build differed by up to 0.13 % (docs/evidence.md).
pub const SAME: f64 = 0.003;

/// Instructions per operation of both arms' servers in user space.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Executed {
    pub base: f64,
    pub contender: f64,
    /// By function itself, the largest difference first.
    pub functions: Vec<Grown>,
}

/// A function that executes more, or fewer, instructions per operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grown {
    pub function: String,
    /// Contender minus baseline.
    pub change: f64,
}

impl Executed {
    /// ln(contender / baseline).
    pub fn log(&self) -> f64 {
        (self.contender / self.base).ln()
    }

    pub fn is_same(&self) -> bool {
        self.log().abs() <= SAME
    }
}
