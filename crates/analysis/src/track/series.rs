//! The values of a test in the order of the builds, in stretches between which something else than
//! the builds changed.

use std::collections::BTreeMap;

use rqps_stats::nights::{Level, LogRatio, SAME_WITHIN, levels, noise_between_nights, pooled};
use rqps_store::track::{
    AnchorChange, NightOutcome, StoredRatio, TrackNote, TrackPoint, TrackedTest,
};

/// A test of a line over all builds.
pub struct NightSeries<'a> {
    pub test: &'a str,
    pub values: Vec<SeriesValue<'a>>,
    /// In their order; they have all values.
    pub stretches: Vec<SeriesStretch>,
    /// The variance between nights.
    pub noise: f64,
    /// Builds that were measured in two nights, from which that is known.
    pub pairs: usize,
}

/// A build in a series.
pub struct SeriesValue<'a> {
    /// The last night with this build, and its test.
    pub night: &'a TrackPoint,
    pub tested: &'a TrackedTest,
    /// How many nights in a row had this build: the value is their mean.
    pub nights: usize,
    /// To the anchor, with the noise between nights in its error.
    pub ratio: LogRatio,
    /// The same on the scale of the first stretch that it can be joined to.
    pub joined: LogRatio,
}

/// Values between which only the build changed.
pub struct SeriesStretch {
    /// Places of values.
    pub start: usize,
    pub end: usize,
    /// Whether it is on the scale of the stretch before it.
    pub is_joined: bool,
    /// What was added to its values for that.
    pub offset: LogRatio,
    /// Places are those of the values of the whole series.
    pub levels: Vec<Level>,
}

pub(super) fn known(ratio: StoredRatio) -> LogRatio {
    LogRatio { value: ratio.log, error: ratio.error }
}

/// Steps that people have set or removed, by the key of the first build behind it.
#[derive(Default)]
pub(super) struct Cuts {
    pub(super) set: Vec<String>,
    pub(super) removed: Vec<String>,
}

impl<'a> NightSeries<'a> {
    /// Of nights of one line, in the order of their builds.
    pub(super) fn new(
        test: &'a str,
        nights: &[&'a TrackPoint],
        anchors: &[AnchorChange],
        cuts: &Cuts,
    ) -> NightSeries<'a> {
        let measured: Vec<NightTest<'a>> =
            nights.iter().copied().filter_map(|night| NightTest::new(night, test)).collect();
        let pairs = pairs(&measured);
        let noise = noise_between_nights(&pairs);
        let same_build = |one: &NightTest<'_>, other: &NightTest<'_>| {
            one.night.build.key() == other.night.build.key() && one.is_of_epoch(other)
        };
        let mut values: Vec<SeriesValue<'a>> = Vec::new();
        let mut stretches: Vec<SeriesStretch> = Vec::new();
        let mut before: Option<&NightTest<'a>> = None;
        for build in measured.chunk_by(same_build) {
            let last = build.last().expect("a chunk has a value");
            let each: Vec<LogRatio> = build.iter().map(|one| one.rate.with_noise(noise)).collect();
            let ratio = pooled(&each).expect("a chunk has a value");
            if before.is_none_or(|before| !before.is_of_epoch(last)) {
                let offset = offset(test, &values, &stretches, &build[0], noise, anchors);
                let nothing = LogRatio { value: 0.0, error: 0.0 };
                stretches.push(SeriesStretch {
                    start: values.len(),
                    end: values.len(),
                    is_joined: offset.is_some(),
                    offset: offset.unwrap_or(nothing),
                    levels: Vec::new(),
                });
            }
            if let Some(stretch) = stretches.last_mut() {
                let joined = ratio.plus(stretch.offset);
                let (night, tested) = (last.night, last.tested);
                values.push(SeriesValue { night, tested, nights: build.len(), ratio, joined });
                stretch.end = values.len();
            }
            before = Some(last);
        }
        for stretch in &mut stretches {
            stretch.find_levels(&values, cuts);
        }
        NightSeries { test, values, stretches, noise, pairs: pairs.len() }
    }

    /// The notes on the test, each with the place of its build.
    pub fn notes<'n>(
        &self,
        notes: &'n [TrackNote],
    ) -> impl Iterator<Item = (usize, &'n TrackNote)> {
        let is_of_test =
            move |note: &&TrackNote| note.test.as_ref().is_none_or(|test| test == self.test);
        notes.iter().filter(is_of_test).filter_map(move |note| {
            let mut values = self.values.iter();
            Some((values.rposition(|value| value.night.build.is_meant_by(&note.at))?, note))
        })
    }
}

impl SeriesStretch {
    fn find_levels(&mut self, values: &[SeriesValue<'_>], cuts: &Cuts) {
        let own = &values[self.start..self.end];
        let places = |keys: &[String]| -> Vec<usize> {
            let is_named =
                |value: &SeriesValue<'_>| keys.iter().any(|key| *key == value.night.build.key());
            (0..own.len()).filter(|at| is_named(&own[*at])).collect()
        };
        let ratios: Vec<LogRatio> = own.iter().map(|value| value.ratio).collect();
        self.levels = levels(&ratios, &places(&cuts.set), &places(&cuts.removed));
        for level in &mut self.levels {
            level.start += self.start;
            level.end += self.start;
            level.level = level.level.plus(LogRatio { error: 0.0, ..self.offset });
        }
    }
}

/// A test that has a value in a night.
struct NightTest<'a> {
    night: &'a TrackPoint,
    tested: &'a TrackedTest,
    rate: LogRatio,
}

impl<'a> NightTest<'a> {
    fn new(night: &'a TrackPoint, test: &str) -> Option<NightTest<'a>> {
        let tested = night.tests.get(test).filter(|_| night.outcome == NightOutcome::Measured)?;
        Some(NightTest { night, tested, rate: known(tested.rate?) })
    }

    fn is_of_epoch(&self, other: &NightTest<'_>) -> bool {
        self.night.epoch == other.night.epoch && self.tested.method == other.tested.method
    }
}

/// Pairs of values of one build from two nights of one epoch.
fn pairs(measured: &[NightTest<'_>]) -> Vec<(LogRatio, LogRatio)> {
    let mut by_time: Vec<&NightTest<'_>> = measured.iter().collect();
    by_time.sort_by_key(|one| one.night.time);
    let mut last: BTreeMap<String, &NightTest<'_>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for one in by_time {
        let mut pair = |key: &str, value: LogRatio| {
            if let Some(earlier) = last.get(key).filter(|earlier| earlier.is_of_epoch(one)) {
                pairs.push((value, earlier.rate));
            }
        };
        let again = one.night.previous.as_ref().zip(one.tested.previous);
        if let Some((previous, value)) = again {
            pair(&previous.key(), known(value));
        }
        let key = one.night.build.key();
        pair(&key, one.rate);
        last.insert(key, one);
    }
    pairs
}

/// What is to be added to the values of a new stretch: by the comparison of two anchors, or by the
/// build of the night before, which was measured on both sides.
fn offset(
    test: &str,
    values: &[SeriesValue<'_>],
    stretches: &[SeriesStretch],
    first: &NightTest<'_>,
    noise: f64,
    anchors: &[AnchorChange],
) -> Option<LogRatio> {
    let (last, stretch) = (values.last()?, stretches.last()?);
    let key = |night: &TrackPoint| night.anchor.as_ref().map(|anchor| anchor.key());
    let (old, new) = (key(last.night), key(first.night));
    let between = |change: &AnchorChange| {
        let is_it = Some(change.before.key()) == old && Some(change.after.key()) == new;
        change.tests.get(test).filter(|_| is_it).map(|ratio| known(*ratio))
    };
    if old != new
        && let Some(between) = anchors.iter().rev().find_map(between)
    {
        return Some(stretch.offset.plus(between));
    }
    let previous = first.night.previous.as_ref()?.key();
    let again = known(first.tested.previous?).with_noise(noise);
    let own = &values[stretch.start..];
    let before = own.iter().rev().find(|value| value.night.build.key() == previous)?;
    Some(stretch.offset.plus(before.ratio.minus(again)))
}

/// What is different between the epochs of two nights, by name, before and after.
pub fn epoch_changes<'a>(
    before: &'a TrackPoint,
    after: &'a TrackPoint,
) -> Vec<(&'a str, &'a str, &'a str)> {
    let none = "none";
    let names = before
        .epoch
        .keys()
        .chain(after.epoch.keys().filter(|name| !before.epoch.contains_key(*name)));
    let value =
        |night: &'a TrackPoint, name: &String| night.epoch.get(name).map_or(none, String::as_str);
    let all = names.map(|name| (name.as_str(), value(before, name), value(after, name)));
    all.filter(|(_, before, after)| before != after).collect()
}

/// Whether two places are those of one step.
pub(super) fn is_same_place(one: usize, other: usize) -> bool {
    one.abs_diff(other) <= SAME_WITHIN
}
