//! What a DBMS counts itself, under the names that it gives its counters.

use std::collections::BTreeMap;

use crate::meaning::Meaning;
use crate::metric::Kind;

/// A counter or gauge of a DBMS. Its unit is the DBMS's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineValue {
    pub kind: Kind,
    pub value: u64,
    /// What it stands for, where that is known of a run that was read.
    pub meaning: Option<Meaning>,
}

/// Counters and gauges by name, at one instant or over one window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineReading(BTreeMap<String, EngineValue>);

impl EngineReading {
    pub fn get(&self, name: &str) -> Option<u64> {
        self.read(name).map(|read| read.value)
    }

    /// The same with its kind.
    pub fn read(&self, name: &str) -> Option<EngineValue> {
        self.0.get(name).copied()
    }

    pub fn set(&mut self, name: impl Into<String>, kind: Kind, value: u64) {
        self.0.insert(name.into(), EngineValue { kind, value, meaning: None });
    }

    /// Says what they stand for.
    pub fn mean(&mut self, meaning: impl Fn(&str) -> Option<Meaning>) {
        self.0.iter_mut().for_each(|(name, read)| read.meaning = meaning(name));
    }

    /// The first that stands for this.
    pub fn meant(&self, meaning: Meaning) -> Option<u64> {
        self.0.values().find(|read| read.meaning == Some(meaning)).map(|read| read.value)
    }

    /// In the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, EngineValue)> + '_ {
        self.0.iter().map(|(name, read)| (name.as_str(), *read))
    }

    /// The window from `earlier` to this reading: differences of the counters, the last value of
    /// the gauges. A counter that was missing at the first edge came into being within the window,
    /// as those of a table that was created in it.
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
