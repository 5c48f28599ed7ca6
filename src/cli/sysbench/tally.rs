//! What is counted of a run, as sysbench counts it.

use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rqps_workload::lua::ClientCounts;

/// Buckets of latencies: from 0.001 ms to 100 s, each 1.8 % longer than the one before.
const BUCKETS: usize = 1024;
const SHORTEST_MS: f64 = 0.001;
const LONGEST_MS: f64 = 100_000.0;

/// A star for each 40th of the fullest bucket.
const STARS: f64 = 40.0;

/// Latencies in sysbench's buckets.
#[derive(Clone, Debug)]
pub(super) struct Latencies {
    buckets: Vec<u64>,
}

impl Default for Latencies {
    fn default() -> Latencies {
        Latencies { buckets: vec![0; BUCKETS] }
    }
}

/// Buckets for each e-fold.
fn scale() -> f64 {
    (BUCKETS - 1) as f64 / (LONGEST_MS.ln() - SHORTEST_MS.ln())
}

/// Milliseconds.
fn value(bucket: usize) -> f64 {
    (bucket as f64 / scale() + SHORTEST_MS.ln()).exp()
}

impl Latencies {
    fn add(&mut self, seconds: f64) {
        let place = (((seconds * 1e3).ln() - SHORTEST_MS.ln()) * scale() + 0.5).floor();
        // Below zero becomes zero.
        self.buckets[(place as usize).min(BUCKETS - 1)] += 1;
    }

    /// In milliseconds.
    pub(super) fn percentile(&self, percent: f64) -> f64 {
        let all: u64 = self.buckets.iter().sum();
        let wanted = (all as f64 * percent / 100.0 + 0.5).floor() as u64;
        let mut so_far = 0;
        let is_enough = |count: &u64| {
            so_far += count;
            so_far >= wanted
        };
        value(self.buckets.iter().position(is_enough).unwrap_or(BUCKETS))
    }

    /// The table of `--histogram`; nothing if there are none.
    pub(super) fn table(&self) -> String {
        let most = self.buckets.iter().copied().max().unwrap_or(0);
        if most == 0 {
            return String::new();
        }
        let mut text = "       value  ------------- distribution ------------- count\n".to_string();
        for (bucket, count) in self.buckets.iter().enumerate().filter(|(_, count)| **count > 0) {
            let stars = "*".repeat((*count as f64 * STARS / most as f64 + 0.5).floor() as usize);
            text += &format!("{:12.3} |{stars:<40} {count}\n", value(bucket));
        }
        text
    }

    /// Those that came after `earlier`.
    fn since(&self, earlier: &Latencies) -> Latencies {
        let pairs = self.buckets.iter().zip(&earlier.buckets);
        Latencies { buckets: pairs.map(|(now, before)| now - before).collect() }
    }
}

/// What one client, or all of them, have done.
#[derive(Clone, Debug, Default)]
pub(super) struct EventTally {
    pub(super) events: u64,
    pub(super) counts: ClientCounts,
    /// Of events, in seconds.
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) sum: f64,
    pub(super) latencies: Latencies,
}

impl EventTally {
    pub(super) fn add_event(&mut self, seconds: f64) {
        self.min = if self.events == 0 { seconds } else { self.min.min(seconds) };
        self.max = self.max.max(seconds);
        self.sum += seconds;
        self.events += 1;
        self.latencies.add(seconds);
    }

    pub(super) fn add_counts(&mut self, counts: ClientCounts) {
        self.counts.effect += counts.effect;
        self.counts.errors += counts.errors;
        self.counts.reconnects += counts.reconnects;
    }

    pub(super) fn queries(&self) -> u64 {
        self.counts.effect.statements.total()
    }

    /// What came after `earlier`; the extremes are those of all.
    pub(super) fn since(&self, earlier: &EventTally) -> EventTally {
        let (now, before) = (self.counts, earlier.counts);
        let mut counts = now;
        let (these, those) = (&mut counts.effect.statements, before.effect.statements);
        these.reads -= those.reads;
        these.writes -= those.writes;
        these.others -= those.others;
        counts.errors -= before.errors;
        counts.reconnects -= before.reconnects;
        EventTally {
            events: self.events - earlier.events,
            counts,
            min: self.min,
            max: self.max,
            sum: self.sum - earlier.sum,
            latencies: self.latencies.since(&earlier.latencies),
        }
    }
}

impl AddAssign<&EventTally> for EventTally {
    fn add_assign(&mut self, other: &EventTally) {
        self.min = match (self.events, other.events) {
            (0, _) => other.min,
            (_, 0) => self.min,
            _ => self.min.min(other.min),
        };
        self.max = self.max.max(other.max);
        self.sum += other.sum;
        self.events += other.events;
        self.add_counts(other.counts);
        for (sum, count) in self.latencies.buckets.iter_mut().zip(&other.latencies.buckets) {
            *sum += count;
        }
    }
}

/// A tally that reports read while its client writes.
#[derive(Clone, Default)]
pub(super) struct SharedEventTally(Arc<Mutex<EventTally>>);

impl SharedEventTally {
    pub(super) fn lock(&self) -> MutexGuard<'_, EventTally> {
        // Numbers are whole, whatever a thread died of.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_buckets() {
        let mut latencies = Latencies::default();
        (0..99).for_each(|_| latencies.add(0.001));
        latencies.add(0.010);
        let (half, most) = (latencies.percentile(50.0), latencies.percentile(100.0));
        assert!((half / 1.0 - 1.0).abs() < 0.02, "{half}");
        assert!((most / 10.0 - 1.0).abs() < 0.02, "{most}");
        latencies.add(1e9);
        latencies.add(0.0);
        assert!((latencies.percentile(100.0) / LONGEST_MS - 1.0).abs() < 1e-9);
        assert!(latencies.table().contains(&format!(" |{} 99\n", "*".repeat(40))));
    }

    #[test]
    fn tallies_add_up_and_are_told_apart_again() {
        let (mut first, mut second) = (EventTally::default(), EventTally::default());
        first.add_event(0.002);
        first.add_event(0.004);
        second.add_event(0.001);
        let mut both = EventTally::default();
        both += &first;
        both += &second;
        assert_eq!((both.events, both.min, both.max), (3, 0.001, 0.004));
        let rest = both.since(&first);
        assert_eq!(rest.events, 1);
        assert!((rest.latencies.percentile(95.0) - 1.0).abs() < 0.02);
    }
}
