//! The interim result of a comparison, for the lab and for progress, as the report judges it.

use rqps_lab::{Changed, Interim, Standing};
use rqps_plan::Plan;
use rqps_store::RoundRecord;

/// Judges the rounds so far.
pub(crate) fn standing(plan: &Plan, passes: &[RoundRecord]) -> Interim {
    let rqps_report::Interim { settled, confirmed, standing, changed } =
        rqps_report::interim(plan, passes);
    let standing = standing.into_iter().map(|one| Standing {
        contender: one.contender,
        test: one.test,
        text: one.text,
        rounds_needed: one.rounds_needed,
    });
    let changed = changed.into_iter();
    let changed = changed.map(|(test, contender, size)| Changed { test, contender, size });
    Interim { settled, confirmed, standing: standing.collect(), changed: changed.collect() }
}
