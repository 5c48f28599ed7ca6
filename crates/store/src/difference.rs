//! What differs between runs, so that their numbers are not comparable.

use std::fmt;

use serde::Serialize;

/// The most characters of a value in a message.
const LONG: usize = 60;

/// Something that differs between runs, so that their numbers are not comparable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// A key of the plan, or `transport`.
    pub what: String,
    /// One for each run, in their order.
    pub values: Vec<String>,
}

impl fmt::Display for Difference {
    /// `seed (1, 7)`; long values, such as a list of tests, are cut.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = |value: &String| match value.char_indices().nth(LONG) {
            Some((end, _)) => format!("{}…", &value[..end]),
            None => value.clone(),
        };
        write!(
            f,
            "{} ({})",
            self.what,
            self.values.iter().map(short).collect::<Vec<_>>().join(", ")
        )
    }
}
