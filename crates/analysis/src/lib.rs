//! From measurements to their meaning: what an operation costs in each arm, and why one contender
//! is slower or faster than another, or costs more per operation. Knows no servers and no
//! terminals.

pub mod comparison;
pub mod diagnosis;
pub mod measured;
pub mod seconds;
pub mod steadiness;
