//! Headings of options in the help.

pub(super) const MEASURE: &str = "What to measure";

pub(super) const PRECISION: &str = "Precision";

pub(super) const MACHINE: &str = "Machine";

pub(super) const REMOTE: &str = "Remote servers";

pub(super) const OUTPUT: &str = "Output";
