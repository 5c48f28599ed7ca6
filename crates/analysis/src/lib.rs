//! From measurements to their meaning: what an operation costs in each arm, and why one contender
//! is slower or faster than another, or costs more per operation. Knows no servers and no
//! terminals.

pub mod builds;
pub mod comparison;
pub mod counted;
pub mod course;
pub mod diagnosis;
pub mod function_name;
pub mod history;
pub mod largest_rate;
pub mod machines;
pub mod measured;
pub mod merged;
pub mod names;
pub mod seconds;
pub mod steadiness;
pub mod steps;
pub mod suite;
pub mod track;
