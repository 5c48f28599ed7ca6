//! Which settings of a contender are about its process.

use rqps_plan::Contender;

pub(super) const START: &str = "process.";

pub(super) const HUGE_PAGES: &str = "hugepages";

/// Whether a setting of a contender is about its process.
pub(crate) fn is_of_process(name: &str) -> bool {
    name.starts_with(START)
}

/// By their names without the start.
pub(super) fn of_process(contender: &Contender) -> impl Iterator<Item = (&str, &str)> {
    let settings = contender.settings.iter();
    settings.filter_map(|(name, value)| Some((name.strip_prefix(START)?, value.as_str())))
}

/// Whether a contender wants its cache in reserved huge pages.
pub(crate) fn wants_huge_pages(contender: &Contender) -> bool {
    of_process(contender).any(|it| it == (HUGE_PAGES, "on"))
}
