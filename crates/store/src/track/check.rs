//! What is wrong with a folder of nights, for a person to mend.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::error::TrackError;
use super::folder::Track;
use super::record::{NightOutcome, TrackPoint};

/// Clocks of machines differ by less.
const AHEAD: SignedDuration = SignedDuration::from_hours(24);

/// Damaged and doubled files, nights of the future, and nights whose order is not certain.
pub fn check_track(track: &Track, now: Timestamp) -> Result<Vec<String>, TrackError> {
    let all = track.contents()?;
    let mut found = all.faults;
    let mut runs: BTreeMap<&str, &str> = BTreeMap::new();
    for point in &all.points {
        if let Some(run) = &point.run
            && let Some(earlier) = runs.insert(run, &point.id)
        {
            found.push(format!("nights {earlier} and {} have the same run, {run}", point.id));
        }
        let latest = point.time.max(point.place());
        if latest.duration_since(now) > AHEAD {
            found.push(format!("night {} is of the future: {latest}", point.id));
        }
    }
    found.extend(unordered(&all.points));
    Ok(found)
}

/// Lines in which some builds have the time of their commit and others have none.
fn unordered(points: &[TrackPoint]) -> Vec<String> {
    let mut lines: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for point in points.iter().filter(|point| point.outcome == NightOutcome::Measured) {
        let (with, without) = lines.entry(&point.line).or_default();
        match point.build.commit_time {
            Some(_) => *with += 1,
            None => *without += 1,
        }
    }
    let mixed = lines.into_iter().filter(|(_, (with, without))| *with > 0 && *without > 0);
    let told = mixed.map(|(line, (with, without))| {
        format!(
            "{line}: {with} of {} nights have the time of their commit; the others have their place by \
             the time of their run",
            with + without
        )
    });
    told.collect()
}
