//! The course of the rounds of a test by arm: the level from second to second of whole runs with
//! the background activity, or from cycle to cycle if arms took turns, and times by percentile. A
//! point is the median of the rounds, and the ribbon spans the 10th to the 90th percentile.

use rqps_observe::Metric;
use rqps_plan::{Comparison, Counts};
use rqps_store::{Operation, RoundRecord, Second, WorkRecord};
use serde::Serialize;

use super::charts::POINTS;
use super::lanes::{Lane, Watched, lanes};
use super::percentiles::{Clock, line as times_by_percentile};
use super::short;
use crate::comparison::{
    Observed, Quantity, by_cycle, counted_operation, done, sampled, whole_seconds,
};

/// There are as many lines as rounds, and a page has little room for each.
const POINTS_OF_ROUNDS: usize = 100;

const MIB: f64 = 1024.0 * 1024.0;

/// One test.
#[derive(Serialize)]
pub struct Curves<'a> {
    test: &'a str,
    /// `second` or `cycle`.
    of: &'static str,
    /// What the rate counts.
    title: &'static str,
    /// How many of them a point, or a cell of a lane, stands for.
    stretch: usize,
    /// The same for single rounds, which have fewer points.
    stretch_of_rounds: usize,
    lines: Vec<Line<'a>>,
    /// Of whole runs.
    lanes: Vec<Lane<'a>>,
    /// What the rate counts first.
    times: Vec<Times<'a>>,
}

/// Of one kind of operation, by one of the two clocks.
#[derive(Serialize)]
struct Times<'a> {
    title: String,
    lines: Vec<Percentiles<'a>>,
}

#[derive(Serialize)]
struct Percentiles<'a> {
    contender: &'a str,
    /// Milliseconds within which 1 - 10^(-i / 4) of the operations ended.
    ms: Band,
}

#[derive(Serialize)]
struct Line<'a> {
    contender: &'a str,
    /// Per second: operations of all clients in whole runs, statements in slices.
    rate: Band,
    /// The same for each round by itself, of whole runs.
    rounds: Vec<Vec<Option<f64>>>,
    /// Of whole runs, the longest service time of each second, in milliseconds.
    longest: Band,
    /// CPUs that the server of a whole run kept busy; for slices, microseconds of its CPU per
    /// statement.
    cpu: Band,
    /// Of whole runs, MiB per second between the server and storage.
    read: Band,
    written: Band,
}

/// Over rounds.
#[derive(Default, Serialize)]
struct Band {
    low: Vec<Option<f64>>,
    mid: Vec<Option<f64>>,
    high: Vec<Option<f64>>,
}

/// The work of an arm in one round, as in [`Line`].
#[derive(Default)]
struct Course {
    rate: Vec<f64>,
    longest: Vec<f64>,
    cpu: Vec<f64>,
    read: Vec<f64>,
    written: Vec<f64>,
}

/// What the seconds of a whole run count.
fn title(counts: Counts) -> &'static str {
    match counts {
        Counts::Queries => "Queries per second",
        Counts::RowsInserted | Counts::RowsIndexed => "Rows inserted per second",
        Counts::Statements | Counts::Transactions | Counts::RowsScanned => {
            "Transactions per second"
        }
    }
}

/// The tests with a known course, for arms in this order.
pub fn curves<'a>(tests: &[Observed<'a>], plan: &Comparison, names: &[&'a str]) -> Vec<Curves<'a>> {
    tests.iter().filter_map(|test| of_test(test, test.counts(plan), names)).collect()
}

fn of_test<'a>(test: &Observed<'a>, counts: Counts, names: &[&'a str]) -> Option<Curves<'a>> {
    // Building indexes is one statement: it has no seconds to show.
    if counts == Counts::RowsIndexed {
        return None;
    }
    let passes: Vec<(&'a str, Vec<&'a RoundRecord>)> =
        names.iter().map(|name| (*name, test.counted_with(name).collect())).collect();
    let operation = counted_operation(counts);
    let mut is_of_seconds = false;
    let courses: Vec<(&str, Vec<Course>)> = passes
        .iter()
        .map(|(name, passes)| {
            let courses = passes.iter().map(|pass| match of_seconds(pass, name, operation) {
                Some(course) => {
                    is_of_seconds = true;
                    course
                }
                None => Course {
                    rate: by_cycle(pass, name, Quantity::Rate),
                    cpu: by_cycle(pass, name, Quantity::Cpu),
                    ..Course::default()
                },
            });
            (*name, courses.collect())
        })
        .collect();
    let lengths = courses.iter().flat_map(|(_, courses)| courses).map(|course| course.rate.len());
    let longest = lengths.max().filter(|longest| *longest > 1)?;
    let stretch = longest.div_ceil(POINTS);
    let stretch_of_rounds = longest.div_ceil(POINTS_OF_ROUNDS);
    let line = |(contender, courses): (&'a str, Vec<Course>)| {
        let of = |values: fn(&Course) -> &[f64]| band(courses.iter().map(values), stretch);
        Line {
            contender,
            rate: of(|course| &course.rate),
            rounds: match is_of_seconds {
                true => courses.iter().map(|one| means(&one.rate, stretch_of_rounds)).collect(),
                false => Vec::new(),
            },
            longest: of(|course| &course.longest),
            cpu: of(|course| &course.cpu),
            read: of(|course| &course.read),
            written: of(|course| &course.written),
        }
    };
    let lines = courses.into_iter().filter(|(_, courses)| !courses.is_empty()).map(line).collect();
    let (of, title, lanes) = match is_of_seconds {
        true => ("second", title(counts), in_background(&passes, counts, stretch)),
        false => ("cycle", "Statements per second, by cycle", Vec::new()),
    };
    let times = times(&passes, operation);
    Some(Curves { test: test.name, of, title, stretch, stretch_of_rounds, lines, lanes, times })
}

/// Of a whole run.
fn of_seconds(pass: &RoundRecord, contender: &str, operation: Operation) -> Option<Course> {
    let side = pass.arms.get(contender)?;
    // Slices have times, but no seconds.
    let is_of = |work: &&WorkRecord| work.operation == operation && !work.seconds.is_empty();
    side.work.iter().find(is_of)?;
    let whole = whole_seconds(pass, contender);
    let seconds = done(side, operation, whole);
    let sampled = |metrics: &[Metric], unit: f64| -> Vec<f64> {
        sampled(side, metrics, whole).into_iter().map(|sum| sum / unit).collect()
    };
    Some(Course {
        rate: rates(&seconds, operation),
        longest: seconds.iter().map(|second| second.max_service as f64 / 1e6).collect(),
        cpu: sampled(&[Metric::ServerCpuUser, Metric::ServerCpuSystem], 1e6),
        read: sampled(&[Metric::ServerReadBytes], MIB),
        written: sampled(&[Metric::ServerWriteBytes], MIB),
    })
}

/// The counted work of each second.
fn rates(seconds: &[Second], operation: Operation) -> Vec<f64> {
    let rate = |second: &Second| match operation {
        Operation::Insert | Operation::Delete => second.rows as f64,
        Operation::Query | Operation::Transaction => second.operations as f64,
    };
    seconds.iter().map(rate).collect()
}

fn times<'a>(passes: &[(&'a str, Vec<&'a RoundRecord>)], first: Operation) -> Vec<Times<'a>> {
    let mut operations = Operation::ALL;
    operations.sort_by_key(|operation| *operation != first);
    let all = operations.into_iter().flat_map(|of| Clock::ALL.map(|clock| (of, clock)));
    let known = all.filter_map(|(operation, clock)| {
        let line = |(contender, passes): &(&'a str, Vec<&RoundRecord>)| {
            let rounds = passes.iter().filter_map(|pass| {
                let side = pass.arms.get(*contender)?;
                let work = side.work.iter().find(|work| work.operation == operation)?;
                let recorded = match clock {
                    Clock::Service => &work.service,
                    Clock::Response => work.response.as_ref()?,
                };
                Some(times_by_percentile(&recorded.unpacked()))
            });
            let rounds: Vec<Vec<f64>> = rounds.collect();
            let ms = band(rounds.iter().map(Vec::as_slice), 1);
            (ms.mid.len() > 1).then_some(Percentiles { contender, ms })
        };
        let lines: Vec<Percentiles<'_>> = passes.iter().filter_map(line).collect();
        (!lines.is_empty()).then(|| Times { title: clock.title(operation), lines })
    });
    known.collect()
}

fn in_background<'a>(
    passes: &[(&'a str, Vec<&'a RoundRecord>)],
    counts: Counts,
    stretch: usize,
) -> Vec<Lane<'a>> {
    let operation = counted_operation(counts);
    let watched = passes.iter().map(|(name, passes)| {
        let round = |pass: &&'a RoundRecord| {
            let side = pass.arms.get(*name)?;
            let rates = match counts {
                // A scan can take longer than a second, so its seconds say nothing.
                Counts::RowsScanned => Vec::new(),
                _ => rates(&done(side, operation, whole_seconds(pass, name)), operation),
            };
            Some(Watched { rates, samples: &side.engine_samples })
        };
        let rounds: Vec<Watched<'_>> = passes.iter().filter_map(round).collect();
        (*name, rounds)
    });
    lanes(&watched.collect::<Vec<_>>(), stretch)
}

/// The band at each place over the rounds, up to the end of the shortest round: the median of fewer
/// rounds is not comparable. For a stretch, the lowest, the mean and the highest.
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

fn means(values: &[f64], stretch: usize) -> Vec<Option<f64>> {
    let mean = |part: &[f64]| short(part.iter().sum::<f64>() / part.len() as f64);
    values.chunks(stretch).map(mean).collect()
}

/// Between the two values around it.
fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    below + (above - below) * at.fract()
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
    fn a_round_by_itself_has_the_means_of_its_stretches() {
        assert_eq!(means(&[4.0, 2.0, 5.0], 2), [Some(3.0), Some(5.0)]);
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
