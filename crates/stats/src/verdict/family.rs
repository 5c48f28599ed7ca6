//! Many tests at once: which rounds decide, and how the tests are adjusted for their number.

use super::{Cell, judge};
use crate::multiplicity::{Adjusted, benjamini_hochberg, holm};

/// The stage that a cell's rounds belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// There is one stage only.
    Single,
    /// The screen, of a test that was not (or not yet) measured again.
    Screen,
    /// The fresh rounds of a test that the screen flagged, without those of the screen.
    Fresh,
}

/// A test whose rate differs in the screen with a p-value by itself below this, or that costs more
/// by an interval at this level, is measured again.
pub const SCREEN_ALPHA: f64 = 0.10;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Of a family.
    pub alpha: f64,
    /// The number of rounds of a test that is measured again.
    pub fresh_rounds: u32,
    /// By how much, as a log, contender and baseline may differ because they were measured at
    /// different times; 0 if they took turns.
    pub drift: f64,
}

impl Default for Options {
    /// In simulations six rounds of screen and ten fresh ones found .75 of the true 3 % changes of
    /// 42 tests, with .01 false alarms per report.
    fn default() -> Options {
        Options { alpha: 0.05, fresh_rounds: 10, drift: 0.0 }
    }
}

/// The cells of a screen that are to be measured again.
pub fn flagged(cells: &[Cell], options: &Options) -> Vec<usize> {
    let verdicts = judge(cells, options).verdicts;
    (0..cells.len()).filter(|index| verdicts[*index].is_flagged).collect()
}

/// Cells of a single stage are one family, with a bound on the share of false findings. Those with
/// fresh rounds are another, with a bound on any false finding. A screen needs no adjustment, since
/// it decides nothing.
pub(super) fn adjust(cells: &[Cell], p: &[f64], alpha: f64) -> Vec<Adjusted> {
    let mut all: Vec<Adjusted> = p.iter().map(|p| Adjusted { p: *p, alpha }).collect();
    type Correct = fn(&[f64], f64) -> Vec<Adjusted>;
    const FAMILIES: [(Stage, Correct); 2] =
        [(Stage::Single, benjamini_hochberg), (Stage::Fresh, holm)];
    for (stage, correct) in FAMILIES {
        let family: Vec<usize> =
            (0..cells.len()).filter(|index| cells[*index].stage == stage).collect();
        let of_family: Vec<f64> = family.iter().map(|index| p[*index]).collect();
        for (index, adjusted) in family.into_iter().zip(correct(&of_family, alpha)) {
            all[index] = adjusted;
        }
    }
    all
}
