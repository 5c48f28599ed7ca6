//! Tests over time, as lines and lanes with no more points than a screen can show: the seconds of a
//! step, or the rounds of a comparison.

mod charts;
mod lanes;
mod machine;
mod percentiles;
mod rounds;
mod seconds;

pub use charts::charts;
pub use machine::machine;
pub use percentiles::{Clock, bucket_counts, percentiles, recorded};
pub use rounds::{Curves, curves};
pub use seconds::seconds;

/// Four significant digits, for tables with many numbers; none if the value is not finite.
pub fn short(value: f64) -> Option<f64> {
    if value.is_finite() { format!("{value:.3e}").parse().ok() } else { None }
}
