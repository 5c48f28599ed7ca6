//! Values that are read about once a second, in columns: a run can have millions of them.

use std::collections::BTreeMap;

use rqps_observe::{EngineReading, Kind, Meaning, Metric, Reading};

/// A second of the window by the counters of the operating system.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Seconds from the start of the window to the end of this sample.
    pub at: f64,
    /// Over the time since the previous sample.
    pub cost: Reading,
}

/// A second of the window by the counters of the DBMS.
#[derive(Clone, Debug, PartialEq)]
pub struct EngineSample {
    /// Seconds from the start of the window to the end of this sample.
    pub at: f64,
    /// Over the time since the previous sample.
    pub values: EngineReading,
}

/// Samples of several counters and gauges by name. Counters are over the time since the previous
/// sample, gauges are their values at the end of a sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Series<N> {
    /// Seconds from the start of the window to the end of each sample.
    at: Vec<f64>,
    columns: BTreeMap<N, Column>,
}

/// The values of one name, an entry for each sample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub kind: Kind,
    /// The meaning of a counter of the DBMS, where the run has it.
    pub meaning: Option<Meaning>,
    /// [`MISSING`] where nothing could be read: an `Option` would need twice the memory.
    values: Vec<u64>,
}

/// The store keeps signed numbers, so no stored value equals this one.
const MISSING: u64 = u64::MAX;

impl Column {
    pub fn values(&self) -> impl ExactSizeIterator<Item = Option<u64>> + '_ {
        self.values.iter().map(|value| (*value != MISSING).then_some(*value))
    }

    pub fn get(&self, index: usize) -> Option<u64> {
        self.values.get(index).copied().filter(|value| *value != MISSING)
    }
}

impl<N> Default for Series<N> {
    fn default() -> Self {
        Series { at: Vec::new(), columns: BTreeMap::new() }
    }
}

impl<N: Ord> Series<N> {
    pub(crate) fn new(mut at: Vec<f64>) -> Self {
        at.shrink_to_fit();
        Series { at, columns: BTreeMap::new() }
    }

    /// Seconds from the start of the window to the end of each sample.
    pub fn at(&self) -> &[f64] {
        &self.at
    }

    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Ordered by name.
    pub fn columns(&self) -> impl Iterator<Item = (&N, &Column)> {
        self.columns.iter()
    }

    pub fn column<Q: Ord + ?Sized>(&self, name: &Q) -> Option<&Column>
    where
        N: std::borrow::Borrow<Q>,
    {
        self.columns.get(name)
    }

    /// The same samples for fewer names.
    pub fn of(&self, names: &[N]) -> Series<N>
    where
        N: Clone,
    {
        let columns = self.columns().filter(|(name, _)| names.contains(name));
        let columns = columns.map(|(name, column)| (name.clone(), column.clone()));
        Series { at: self.at.clone(), columns: columns.collect() }
    }

    /// A column with as many entries as there are samples.
    pub(crate) fn insert(&mut self, name: N, kind: Kind, values: Vec<Option<u64>>) {
        // Collecting the consumed vector would keep its allocation, which is more than twice as
        // large.
        let mut exact = Vec::with_capacity(self.at.len());
        exact.extend(values.into_iter().map(|value| value.unwrap_or(MISSING)));
        exact.resize(self.at.len(), MISSING);
        let values = exact;
        self.columns.insert(name, Column { kind, meaning: None, values });
    }

    fn push(&mut self, at: f64, values: impl Iterator<Item = (N, Kind, u64)>) {
        let before = self.at.len();
        self.at.push(at);
        for (name, kind, value) in values {
            let values = vec![MISSING; before];
            let column = self.columns.entry(name).or_insert(Column { kind, meaning: None, values });
            column.values.push(value);
        }
        for column in self.columns.values_mut() {
            column.values.resize(before + 1, MISSING);
        }
    }
}

impl Series<String> {
    /// Sets the meanings of the columns.
    pub fn mean(&mut self, meaning: impl Fn(&str) -> Option<Meaning>) {
        self.columns.iter_mut().for_each(|(name, column)| column.meaning = meaning(name));
    }
}

impl Series<Metric> {
    /// One sample.
    pub fn reading(&self, index: usize) -> Reading {
        let of = |(metric, column): (&Metric, &Column)| Some((*metric, column.get(index)?));
        self.columns.iter().filter_map(of).collect()
    }
}

impl Extend<Sample> for Series<Metric> {
    fn extend<I: IntoIterator<Item = Sample>>(&mut self, samples: I) {
        for Sample { at, cost } in samples {
            self.push(at, cost.iter().map(|(metric, value)| (metric, metric.kind(), value)));
        }
    }
}

impl Extend<EngineSample> for Series<String> {
    fn extend<I: IntoIterator<Item = EngineSample>>(&mut self, samples: I) {
        for EngineSample { at, values } in samples {
            let values =
                values.iter().map(|(name, read)| (name.to_string(), read.kind, read.value));
            self.push(at, values);
        }
    }
}

impl<N: Ord, S> FromIterator<S> for Series<N>
where
    Series<N>: Extend<S>,
{
    fn from_iter<I: IntoIterator<Item = S>>(samples: I) -> Self {
        let mut series = Series::default();
        series.extend(samples);
        series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_read_is_missing_from_its_sample_alone() {
        let sample =
            |at: f64, metric: Metric| Sample { at, cost: [(metric, 7)].into_iter().collect() };
        let samples = [sample(1.0, Metric::ServerRss), sample(2.0, Metric::DeviceReads)];
        let series: Series<Metric> = samples.into_iter().collect();
        assert_eq!(series.at(), [1.0, 2.0]);
        let column = |metric| series.column(&metric).unwrap().values().collect::<Vec<_>>();
        assert_eq!(column(Metric::ServerRss), [Some(7), None]);
        assert_eq!(column(Metric::DeviceReads), [None, Some(7)]);
        assert_eq!(series.reading(0), [(Metric::ServerRss, 7)].into_iter().collect());
        let few = series.of(&[Metric::DeviceReads, Metric::LogBytes]);
        assert_eq!((few.at(), few.columns().count()), (series.at(), 1));
        assert_eq!(few.column(&Metric::DeviceReads), series.column(&Metric::DeviceReads));
    }
}
