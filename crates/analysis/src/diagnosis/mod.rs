//! Why one contender is slower or faster than another, or costs more per operation: rules over what
//! was counted beside the rates.
//!
//! A rule has main evidence, supporting facts, and facts that would contradict it. A finding states
//! numbers, its confidence, and the command that shows more. Tests without a verdict have no
//! causes. An improvement is examined in reverse: what makes its baseline cost more.

mod budget;
mod claims;
mod counted;
mod evidence;
mod executed;
mod instructions;
mod line;
mod next;
mod number;
mod rule;
mod rules;
mod suite;
mod view;
mod words;

pub use budget::{Bar, budget, budget_text};
pub use evidence::{
    Builds, Change, Cost, Decided, Dips, Environment, Evidence, Growth, Part, Planning, ValueRange,
};
pub use instructions::{Executed, Grown, SAME};
pub use line::{Line, fit_line};
pub use next::Next;
pub use number::Number;
pub use rule::{Cause, Check, Confidence, Finding};
pub use rules::explain;
pub use suite::{MOST_FINDINGS, explain_suite};
pub use view::is_looked_at;
pub use words::{grouped, signed};

#[cfg(test)]
mod tests;
