//! Counters of a DBMS, under its own names.

use std::collections::BTreeMap;

use crate::meaning::Meaning;
use crate::metric::Kind;

/// A counter or gauge of a DBMS, in the unit of the DBMS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineValue {
    pub kind: Kind,
    pub value: u64,
    /// Its meaning, where the run has it.
    pub meaning: Option<Meaning>,
}

/// Counters and gauges by name, at one instant or over one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineReading(BTreeMap<String, EngineValue>);

impl EngineReading {
    pub fn get(&self, name: &str) -> Option<u64> {
        self.read(name).map(|read| read.value)
    }

    /// A value with its kind.
    pub fn read(&self, name: &str) -> Option<EngineValue> {
        self.0.get(name).copied()
    }

    pub fn set(&mut self, name: impl Into<String>, kind: Kind, value: u64) {
        self.0.insert(name.into(), EngineValue { kind, value, meaning: None });
    }

    /// Sets the meanings of counters.
    pub fn mean(&mut self, meaning: impl Fn(&str) -> Option<Meaning>) {
        self.0.iter_mut().for_each(|(name, read)| read.meaning = meaning(name));
    }

    /// The first with this meaning.
    pub fn meant(&self, meaning: Meaning) -> Option<u64> {
        self.0.values().find(|read| read.meaning == Some(meaning)).map(|read| read.value)
    }

    /// Ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, EngineValue)> + Clone + '_ {
        self.0.iter().map(|(name, read)| (name.as_str(), *read))
    }

    /// The window from `earlier` to this reading: differences of counters, and the last value of
    /// gauges. A counter that was missing at the first edge was created within the window, such as
    /// those of a new table.
    pub fn since(&self, earlier: &EngineReading) -> EngineReading {
        let difference = |(name, read): (&str, EngineValue)| {
            let value = match read.kind {
                Kind::Gauge => read.value,
                Kind::Counter => read.value.saturating_sub(earlier.get(name).unwrap_or(0)),
            };
            (name.to_string(), EngineValue { value, ..read })
        };
        EngineReading(self.iter().map(difference).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_subtracted_and_gauges_are_not() {
        let (mut before, mut after) = (EngineReading::default(), EngineReading::default());
        before.set("rows", Kind::Counter, 10);
        before.set("dirty", Kind::Gauge, 9);
        after.set("rows", Kind::Counter, 17);
        after.set("dirty", Kind::Gauge, 4);
        after.set("new", Kind::Counter, 3);
        let window = after.since(&before);
        let values = ["rows", "dirty", "new", "absent"].map(|name| window.get(name));
        assert_eq!(values, [Some(7), Some(4), Some(3), None]);
        assert_eq!(before.since(&after).get("rows"), Some(0), "a counter that was reset");
    }
}
