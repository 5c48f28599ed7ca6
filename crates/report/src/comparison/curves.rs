//! How the passes of a test went, contender by contender: the level from second to second of whole runs
//! with what went on in the background, or from cycle to cycle where contenders took turns, and times by
//! percentile. Of several rounds a point has their median, and the ribbon goes from the 10th to the 90th
//! percentile.

use rqps_plan::{Comparison, Counts};
use rqps_store::{PassRecord, SideSecond};
use serde::Serialize;

use super::observed::{Observed, Quantity, by_cycle};
use crate::model::{Lane, POINTS, Watched, lanes, times_by_percentile};

/// One test.
#[derive(Serialize)]
pub(crate) struct Curves<'a> {
    test: &'a str,
    /// `second` or `cycle`.
    of: &'static str,
    /// What the rate is of.
    title: &'static str,
    /// How many of them a point, or a cell of a lane, stands for.
    stretch: usize,
    lines: Vec<Line<'a>>,
    /// Of whole runs.
    lanes: Vec<Lane<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    contender: &'a str,
    /// Per second: what all clients of whole runs did, statements of slices.
    rate: Band,
    /// CPUs that the server of a whole run kept busy; of slices, microseconds of its CPU per statement.
    cpu: Band,
    /// Milliseconds within which 1 - 10^(-i / 4) of the operations of a whole run ended.
    ms: Band,
}

/// Over rounds.
#[derive(Default, Serialize)]
struct Band {
    low: Vec<Option<f64>>,
    mid: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

/// What a contender did in one pass.
struct Course {
    rate: Vec<f64>,
    cpu: Vec<f64>,
    ms: Vec<f64>,
}

/// What the clients of a whole run did in a second is kept for all kinds of them together, and not as
/// what the step counts.
fn title(counts: Counts) -> &'static str {
    match counts {
        Counts::Queries => "Queries, and transactions that insert or delete, per second",
        Counts::RowsInserted | Counts::RowsIndexed => {
            "Transactions that insert or delete, per second"
        }
        Counts::Statements | Counts::RowsScanned => "Transactions per second",
    }
}

/// The tests of which anything is known that has a course, for contenders in this order.
pub(super) fn curves<'a>(
    tests: &[Observed<'a>],
    plan: &Comparison,
    names: &[&'a str],
) -> Vec<Curves<'a>> {
    tests.iter().filter_map(|test| of_test(test, test.counts(plan), names)).collect()
}

fn of_test<'a>(test: &Observed<'a>, counts: Counts, names: &[&'a str]) -> Option<Curves<'a>> {
    // Building indexes is one statement: it has no seconds to show.
    if counts == Counts::RowsIndexed {
        return None;
    }
    let passes: Vec<(&'a str, Vec<&'a PassRecord>)> =
        names.iter().map(|name| (*name, test.counted_with(name).collect())).collect();
    let mut is_of_seconds = false;
    let courses: Vec<(&str, Vec<Course>)> = passes
        .iter()
        .map(|(name, passes)| {
            let courses = passes.iter().map(|pass| match of_seconds(pass, name) {
                Some(course) => {
                    is_of_seconds = true;
                    course
                }
                None => Course {
                    rate: by_cycle(pass, name, Quantity::Rate),
                    cpu: by_cycle(pass, name, Quantity::Cpu),
                    ms: Vec::new(),
                },
            });
            (*name, courses.collect())
        })
        .collect();
    let lengths = courses.iter().flat_map(|(_, courses)| courses).map(|course| course.rate.len());
    let longest = lengths.max().filter(|longest| *longest > 1)?;
    let stretch = longest.div_ceil(POINTS);
    let line = |(contender, courses): (&'a str, Vec<Course>)| Line {
        contender,
        rate: band(courses.iter().map(|course| course.rate.as_slice()), stretch),
        cpu: band(courses.iter().map(|course| course.cpu.as_slice()), stretch),
        ms: band(courses.iter().map(|course| course.ms.as_slice()), 1),
    };
    let lines = courses.into_iter().filter(|(_, courses)| !courses.is_empty()).map(line).collect();
    let (of, title, lanes) = match is_of_seconds {
        true => ("second", title(counts), in_background(&passes, counts, stretch)),
        false => ("cycle", "Statements per second, by cycle", Vec::new()),
    };
    Some(Curves { test: test.name, of, title, stretch, lines, lanes })
}

/// Of a whole run.
fn of_seconds(pass: &PassRecord, contender: &str) -> Option<Course> {
    let side = pass.sides.get(contender).filter(|side| !side.seconds.is_empty())?;
    let seconds = whole(pass, contender);
    Some(Course {
        rate: rates(seconds),
        cpu: seconds.iter().map(|second| second.server_cpu as f64 / 1e6).collect(),
        ms: side
            .service
            .as_ref()
            .map(|service| times_by_percentile(&service.unpacked()))
            .unwrap_or_default(),
    })
}

/// The seconds of a contender's run without what is left of its last one, which is no rate.
pub(super) fn whole<'p>(pass: &'p PassRecord, contender: &str) -> &'p [SideSecond] {
    let slices = pass.slices.iter().filter(|slice| slice.contender == contender);
    let whole = slices.map(|slice| slice.nanos / 1_000_000_000).max().unwrap_or(0) as usize;
    let seconds: &[SideSecond] = pass.sides.get(contender).map_or(&[], |side| &side.seconds);
    &seconds[..seconds.len().min(whole)]
}

/// What all clients did in each of them.
pub(super) fn rates(seconds: &[SideSecond]) -> Vec<f64> {
    seconds.iter().map(|second| second.operations as f64).collect()
}

fn in_background<'a>(
    passes: &[(&'a str, Vec<&'a PassRecord>)],
    counts: Counts,
    stretch: usize,
) -> Vec<Lane<'a>> {
    let watched = passes.iter().map(|(name, passes)| {
        let round = |pass: &&'a PassRecord| {
            let samples = &pass.sides.get(*name)?.engine_samples;
            // A scan can take longer than a second, so its seconds say nothing.
            let seconds: &[SideSecond] = match counts {
                Counts::RowsScanned => &[],
                _ => whole(pass, name),
            };
            Some(Watched { rates: rates(seconds), samples })
        };
        let rounds: Vec<Watched<'_>> = passes.iter().filter_map(round).collect();
        (*name, rounds)
    });
    lanes(&watched.collect::<Vec<_>>(), stretch)
}

/// At each place over the rounds, as far as all of them reach: the median of fewer is another's. Of a
/// stretch the lowest, the mean and the highest.
fn band<'c>(rounds: impl Iterator<Item = &'c [f64]>, stretch: usize) -> Band {
    let rounds: Vec<&[f64]> = rounds.filter(|round| !round.is_empty()).collect();
    let length = rounds.iter().map(|round| round.len()).min().unwrap_or(0);
    let at = |place: usize| -> Vec<f64> { rounds.iter().map(|round| round[place]).collect() };
    let all: Vec<[f64; 3]> =
        (0..length).map(|place| [0.1, 0.5, 0.9].map(|share| quantile(&at(place), share))).collect();
    let mut band = Band::default();
    for part in all.chunks(stretch) {
        let of = |which: usize| part.iter().map(move |values| values[which]);
        band.low.push(short(of(0).fold(f64::INFINITY, f64::min)));
        band.mid.push(short(of(1).sum::<f64>() / part.len() as f64));
        band.high.push(short(of(2).fold(f64::NEG_INFINITY, f64::max)));
    }
    band
}

/// Between the two values around it.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
}

/// Four significant digits, since nobody sees more in a chart.
fn short(value: f64) -> Option<f64> {
    if value.is_finite() { format!("{value:.3e}").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ribbon_is_around_the_median_as_far_as_all_rounds_reach() {
        let rounds: [&[f64]; 3] = [&[1.0, 10.0, 5.0], &[3.0, 20.0], &[2.0, 60.0]];
        let band = band(rounds.into_iter(), 1);
        assert_eq!(band.mid, [Some(2.0), Some(20.0)]);
        assert_eq!(band.low, [Some(1.2), Some(12.0)]);
        assert_eq!(band.high, [Some(2.8), Some(52.0)]);
    }

    #[test]
    fn a_stretch_keeps_its_lowest_and_highest() {
        let values: [&[f64]; 1] = [&[4.0, 1.0, 4.0, 8.0, 2.0]];
        let band = band(values.into_iter(), 4);
        assert_eq!(band.low, [Some(1.0), Some(2.0)]);
        assert_eq!(band.mid, [Some(4.25), Some(2.0)]);
        assert_eq!(band.high, [Some(8.0), Some(2.0)]);
    }
}
