//! A series of nights: log ratios to an anchor, each with its standard error, in which steps are
//! looked for every night again.
//!
//! A look every night is 365 looks a year, so the penalty is that of a series which is looked at
//! for a year, not once; the simulations below hold how often it is wrong, and how late it is.

use crate::change_points::weighted_change_points;
use crate::estimate::{Estimate, Interval};

/// What a step must gain, in variances: 5 ln 60. With the usual 2 ln n or 3 ln n, one to five steps
/// that are none are found in a series in a year.
pub const PENALTY: f64 = 20.471_722_811_110_87;
/// Values that are looked at: about a year.
pub const WINDOW: usize = 400;
/// A step with fewer values behind it may be an outlier.
pub const SETTLED: usize = 3;
/// The noise between nights until it is measured: an SD of 0.5 %.
pub const USUAL_NOISE: f64 = 0.005 * 0.005;
/// Fewer pairs do not measure it.
pub const FEWEST_PAIRS: usize = 10;
/// A night is never known better than this variance: an SD of 0.01 %.
const LEAST_NOISE: f64 = 1e-8;
/// The quantile of the normal distribution for intervals of 95 %.
const Z: f64 = 1.959_963_984_540_054;
/// By how much an outlier is known less well.
const OUTLIER: f64 = 1e3;
/// How often outliers are looked for.
const MOST_LOOKS: usize = 10;
/// A step stays the same one if its place moves by so many values.
pub const SAME_WITHIN: usize = 2;
/// A step counts as brought back if this share of it is.
const BROUGHT_BACK: f64 = 0.7;

/// A log ratio with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatio {
    pub value: f64,
    pub error: f64,
}

impl LogRatio {
    /// From an interval of 95 %. One of few rounds is wide, since its own SD is not known well, and
    /// so is the error here. None if it leaves nothing out.
    pub fn from_interval(value: f64, interval: Interval) -> Option<LogRatio> {
        let error = interval.half_width() / Z;
        (value.is_finite() && error.is_finite()).then_some(LogRatio { value, error })
    }

    /// With its interval of 95 %.
    pub fn estimate(self) -> Estimate {
        Estimate::from_t(self.value, self.error, f64::INFINITY, 0.05)
    }

    /// The difference of two values that were measured independently.
    pub fn minus(self, other: LogRatio) -> LogRatio {
        LogRatio { value: self.value - other.value, error: self.error.hypot(other.error) }
    }

    /// The sum of two: a ratio to one build times its ratio to another.
    pub fn plus(self, other: LogRatio) -> LogRatio {
        LogRatio { value: self.value + other.value, error: self.error.hypot(other.error) }
    }

    /// As known when the noise between nights counts, too.
    pub fn with_noise(self, noise: f64) -> LogRatio {
        let variance = (self.error * self.error + noise).max(LEAST_NOISE);
        LogRatio { error: variance.sqrt(), ..self }
    }

    fn weight(self) -> f64 {
        1.0 / (self.error * self.error).max(LEAST_NOISE)
    }
}

/// The mean of values by their weights; none without values.
pub fn pooled(values: &[LogRatio]) -> Option<LogRatio> {
    let weights: f64 = values.iter().map(|one| one.weight()).sum();
    let sum: f64 = values.iter().map(|one| one.weight() * one.value).sum();
    (!values.is_empty()).then(|| LogRatio { value: sum / weights, error: weights.sqrt().recip() })
}

/// The variance between nights, from builds that were measured in two nights each. It is free of
/// what changed in the code. Until there are enough pairs it is the usual one, and a few pairs
/// count together with as much of that: their squares alone are too uncertain to go by.
pub fn noise_between_nights(pairs: &[(LogRatio, LogRatio)]) -> f64 {
    if pairs.len() < FEWEST_PAIRS {
        return USUAL_NOISE;
    }
    let excess = |(one, other): &(LogRatio, LogRatio)| {
        let difference = one.minus(*other);
        (difference.value.powi(2) - difference.error.powi(2)) / 2.0
    };
    let count = pairs.len() as f64;
    let measured = pairs.iter().map(excess).sum::<f64>() / count;
    let usual = FEWEST_PAIRS as f64;
    ((count * measured + usual * USUAL_NOISE) / (count + usual)).max(0.0)
}

/// Nights without a step among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The places of its values: from the first to before the end.
    pub start: usize,
    pub end: usize,
    pub level: LogRatio,
}

/// The levels of a series, whose values have the noise between nights in their errors. A person may
/// have set steps (the place of the first value behind it) or taken some away.
pub fn levels(values: &[LogRatio], set: &[usize], removed: &[usize]) -> Vec<Level> {
    let first = values.len().saturating_sub(WINDOW);
    let mut cuts: Vec<usize> = vec![first];
    cuts.extend(set.iter().copied().filter(|at| (first + 1..values.len()).contains(at)));
    cuts.push(values.len());
    cuts.sort_unstable();
    cuts.dedup();
    let mut values = values.to_vec();
    let set: Vec<usize> = cuts.clone();
    for stretch in set.windows(2) {
        let is_last = stretch[1] == values.len();
        let found = steps(&mut values[stretch[0]..stretch[1]], is_last).into_iter();
        let found = found.map(|at| at + stretch[0]);
        let is_removed = |at: &usize| removed.iter().any(|one| one.abs_diff(*at) <= SAME_WITHIN);
        cuts.extend(found.filter(|at| !is_removed(at)));
    }
    cuts.sort_unstable();
    let level = |ends: &[usize]| {
        let level = pooled(&values[ends[0]..ends[1]])?;
        Some(Level { start: ends[0], end: ends[1], level })
    };
    cuts.windows(2).filter_map(level).collect()
}

/// The steps between levels. One or two values with a level of their own are outliers, unless they
/// are the last: they weigh next to nothing from then on, since the way back from an outlier would
/// be a step otherwise.
fn steps(values: &mut [LogRatio], is_last: bool) -> Vec<usize> {
    let mut cuts = Vec::new();
    for _ in 0..MOST_LOOKS {
        let logs: Vec<f64> = values.iter().map(|one| one.value).collect();
        let variances: Vec<f64> = values.iter().map(|one| one.weight().recip()).collect();
        cuts = weighted_change_points(&logs, &variances, PENALTY, 1);
        let mut ends = [&[0], &cuts[..], &[values.len()]].concat();
        if is_last {
            ends.pop();
        }
        let is_short = |ends: &&[usize]| ends[1] - ends[0] < SETTLED;
        let short: Vec<&[usize]> = ends.windows(2).filter(is_short).collect();
        if cuts.is_empty() || short.is_empty() {
            break;
        }
        for ends in short {
            values[ends[0]..ends[1]].iter_mut().for_each(|one| one.error *= OUTLIER);
        }
    }
    cuts
}

/// Whether a later level brings back most of the step to the level at `place`.
pub fn is_brought_back(levels: &[Level], place: usize) -> bool {
    let (before, after) = (levels[place - 1].level.value, levels[place].level.value);
    let left = |later: &Level| (later.level.value - before) / (after - before);
    levels[place + 1..].iter().any(|later| left(later) <= 1.0 - BROUGHT_BACK)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus as Random;

    use super::*;
    use crate::simulation::normals;

    /// The noise of a simulated night.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Noise {
        Normal,
        /// Student's t on five degrees of freedom, with the same variance.
        Heavy,
    }

    impl Noise {
        fn draw(self, random: &mut Random) -> f64 {
            match self {
                Noise::Normal => normals(random, 1)[0],
                Noise::Heavy => {
                    let squares: f64 = normals(random, 5).iter().map(|x| x * x).sum();
                    normals(random, 1)[0] / (squares / 5.0).sqrt() / (5.0_f64 / 3.0).sqrt()
                }
            }
        }
    }

    /// What a night's rounds leave open, and what differs between nights, as SDs.
    const ERROR: f64 = 0.003;
    const BETWEEN: f64 = 0.004;
    const NIGHTS: usize = 365;
    /// Values that the simulations look at, which take the square of it.
    const LOOKED_AT: usize = 60;

    /// A year of one test without a step. In each night the build of the night before is measured
    /// again.
    struct Year {
        nights: Vec<LogRatio>,
        again: Vec<LogRatio>,
    }

    impl Year {
        fn new(random: &mut Random, noise: Noise, nights: usize) -> Year {
            let (mut year, mut between) = (Year { nights: vec![], again: vec![] }, vec![]);
            for _ in 0..nights {
                between.push(BETWEEN * noise.draw(random));
            }
            let measured = |random: &mut Random, between: f64| LogRatio {
                value: between + ERROR * noise.draw(random),
                error: ERROR,
            };
            for one in between {
                year.nights.push(measured(random, one));
                // Another build has the noise of its own in the same night.
                let other = BETWEEN * noise.draw(random);
                year.again.push(measured(random, other));
            }
            year
        }

        /// The noise between nights, as it is known up to a night.
        fn noise(&self, until: usize) -> f64 {
            let pairs: Vec<(LogRatio, LogRatio)> =
                (1..until).map(|night| (self.again[night], self.nights[night - 1])).collect();
            noise_between_nights(&pairs)
        }

        /// The levels as they are found in the evening of a day.
        fn seen(&self, until: usize, is_known: bool) -> Vec<Level> {
            let noise = if is_known { BETWEEN * BETWEEN } else { self.noise(until) };
            let from = until.saturating_sub(LOOKED_AT);
            let values: Vec<LogRatio> =
                self.nights[from..until].iter().map(|one| one.with_noise(noise)).collect();
            let mut levels = levels(&values, &[], &[]);
            for level in &mut levels {
                level.start += from;
                level.end += from;
            }
            levels
        }

        /// The places of steps that would be told in the course of the year: each once, wherever it
        /// moves by up to two nights.
        fn told(&self, is_known: bool) -> Vec<usize> {
            let mut told: Vec<usize> = Vec::new();
            for until in 2..=self.nights.len() {
                let levels = self.seen(until, is_known);
                for level in levels.iter().skip(1).filter(|one| one.end - one.start >= SETTLED) {
                    if !told.iter().any(|known| known.abs_diff(level.start) <= SAME_WITHIN) {
                        told.push(level.start);
                    }
                }
            }
            told
        }
    }

    /// Steps a year that are none.
    fn false_in_a_year(noise: Noise, is_known: bool, years: u64) -> f64 {
        let mut told = 0;
        for seed in 0..years {
            let year = Year::new(&mut Random::seed_from_u64(seed), noise, NIGHTS);
            told += year.told(is_known).len();
        }
        told as f64 / years as f64
    }

    /// At .1 a year, more than 6 in 20 years have a chance of .5 %.
    #[test]
    fn a_quiet_year_has_next_to_no_steps() {
        for (noise, is_known) in
            [(Noise::Normal, true), (Noise::Normal, false), (Noise::Heavy, false)]
        {
            let found = false_in_a_year(noise, is_known, 20);
            assert!(found <= 6.0 / 20.0, "{noise:?}, known: {is_known}: {found} a year");
        }
    }

    /// As many years as `docs/track.md` has its figures from.
    #[test]
    #[ignore = "nightly: 300 years"]
    fn false_steps_in_many_years() {
        for (noise, is_known) in
            [(Noise::Normal, true), (Noise::Normal, false), (Noise::Heavy, false)]
        {
            let found = false_in_a_year(noise, is_known, 300);
            println!("{noise:?}, noise between nights known: {is_known}: {found} a series-year");
            assert!(found <= 0.1, "{noise:?}, known: {is_known}: {found} a year");
        }
    }

    /// Nights from a step of so many SDs until it is told, and how often its place is right within
    /// a night.
    fn delay(size: f64, least: usize, times: u64) -> (f64, f64) {
        let sd = ERROR.hypot(BETWEEN);
        let (mut nights, mut placed) = (0, 0);
        for seed in 0..times {
            let mut random = Random::seed_from_u64(1000 + seed);
            let mut year = Year::new(&mut random, Noise::Normal, LOOKED_AT);
            let step = random.random_range(30..40);
            year.nights[step..].iter_mut().for_each(|one| one.value -= size * sd);
            let is_it =
                |level: &Level| level.end - level.start >= least && level.start.abs_diff(step) <= 5;
            let told = (step + 1..=LOOKED_AT).find_map(|until| {
                let levels = year.seen(until, true);
                Some((until, *levels.iter().skip(1).find(|level| is_it(level))?))
            });
            let Some((until, level)) = told else {
                nights += LOOKED_AT - step;
                continue;
            };
            nights += until - step;
            placed += usize::from(level.start.abs_diff(step) <= 1);
        }
        (nights as f64 / times as f64, placed as f64 / times as f64)
    }

    #[test]
    fn a_step_is_told_within_days_and_where_it_is() {
        // With many values before the step: 6.0, 3.0 and 1.9 nights. Here it has 30 to 40.
        for (size, most, right) in [(2.0, 8.5, 0.75), (3.0, 4.0, 0.9), (4.0, 2.8, 0.95)] {
            let (nights, placed) = delay(size, 1, 200);
            println!("{size} SD: {nights} nights, {placed} within one night");
            assert!(nights <= most && placed >= right, "{size} SD: {nights} nights, {placed}");
            let (later, _) = delay(size, SETTLED, 200);
            println!("{size} SD: {later} nights where three values are needed");
            assert!(later <= most.max(3.0) + 1.5, "{size} SD: {later} nights");
        }
    }

    #[test]
    fn the_noise_between_nights_is_measured_on_builds_that_did_not_change() {
        let mut random = Random::seed_from_u64(3);
        let mut year = Year::new(&mut random, Noise::Normal, 300);
        // Whatever the builds do, the pairs do not know it.
        let measured = year.noise(300);
        for (night, (new, again)) in (0..).zip(year.nights.iter_mut().zip(&mut year.again)) {
            let level = 0.05 * f64::from(night / 7);
            new.value += level;
            again.value += 0.05 * f64::from((night - 1_i32).max(0) / 7);
        }
        assert!((year.noise(300) - measured).abs() < 1e-12);
        let sd = measured.sqrt();
        assert!((sd / BETWEEN - 1.0).abs() < 0.15, "{sd}");
        assert_eq!(year.noise(9), USUAL_NOISE, "eight pairs are too few");
        let same = LogRatio { value: 0.0, error: 0.003 };
        let quiet = vec![(same, same); 1000];
        assert_eq!(noise_between_nights(&quiet), 0.0, "it is no less than nothing");
    }

    fn known(values: &[f64]) -> Vec<LogRatio> {
        values.iter().map(|value| LogRatio { value: *value, error: 0.01 }).collect()
    }

    #[test]
    fn a_person_sets_and_removes_steps() {
        let mut values = [[0.0; 10], [-0.2; 10]].concat();
        values[15..].fill(-0.201);
        let starts = |set: &[usize], removed: &[usize]| -> Vec<usize> {
            levels(&known(&values), set, removed).iter().map(|one| one.start).collect()
        };
        assert_eq!(starts(&[], &[]), [0, 10]);
        assert_eq!(starts(&[15], &[]), [0, 10, 15]);
        assert_eq!(starts(&[15], &[9]), [0, 15], "wherever it has moved to");
        assert_eq!(starts(&[0, 20, 99], &[]), [0, 10], "a step has values on both sides");
        assert_eq!(levels(&[], &[], &[]), []);
    }

    #[test]
    fn a_step_that_is_brought_back_is_known_as_that() {
        let back = levels(&known(&[[0.0; 9], [-0.2; 9], [-0.05; 9]].concat()), &[], &[]);
        assert_eq!(back.len(), 3);
        assert!(is_brought_back(&back, 1) && !is_brought_back(&back, 2));
        let half = levels(&known(&[[0.0; 9], [-0.2; 9], [-0.1; 9]].concat()), &[], &[]);
        assert!(!is_brought_back(&half, 1));
    }

    #[test]
    fn an_outlier_is_no_level_and_its_way_back_no_step() {
        let mut values = vec![0.0; 30];
        (values[10], values[20], values[21]) = (-0.3, 0.2, 0.21);
        let found = levels(&known(&values), &[], &[]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].level.value.abs() < 1e-4, "it has no part in the level: {found:?}");
        values[29] = -0.3;
        let found = levels(&known(&values), &[], &[]);
        assert_eq!((found.len(), found[1].start), (2, 29), "the last may be a step");
    }

    #[test]
    fn only_the_last_year_is_looked_at() {
        let mut values = vec![0.0; WINDOW + 50];
        values[..20].fill(1.0);
        let found = levels(&known(&values), &[], &[]);
        assert_eq!((found.len(), found[0].start), (1, 50));
    }

    #[test]
    fn values_pool_by_their_weights_and_ratios_chain_by_addition() {
        let (rough, exact) =
            (LogRatio { value: 0.3, error: 0.02 }, LogRatio { value: 0.1, error: 0.01 });
        let mean = pooled(&[rough, exact]).unwrap();
        assert!((mean.value - 0.14).abs() < 1e-12);
        assert!((mean.error - 0.8_f64.sqrt() / 100.0).abs() < 1e-12);
        assert_eq!(pooled(&[]), None);
        let chained = rough.plus(exact);
        assert!((chained.value - 0.4).abs() < 1e-12);
        assert!((chained.error.powi(2) - 5e-4).abs() < 1e-12, "variances add");
        assert_eq!(LogRatio::from_interval(0.0, Interval::EVERYTHING), None);
        let interval = exact.estimate().interval;
        let read = LogRatio::from_interval(0.1, interval).unwrap();
        assert!((read.error - 0.01).abs() < 1e-9);
    }
}
