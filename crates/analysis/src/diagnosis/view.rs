//! Evidence as rules use it: always for the arm whose operations cost more. For an improvement that
//! is the baseline, so that each rule is written once.

use rqps_observe::Meaning;
use rqps_plan::Class;

use super::evidence::{Change, Decided, Evidence, Growth, Part, Planning, ValueRange};
use super::number::Number;
use super::words::change;

/// Names of metrics in the store.
pub(super) mod metric {
    pub(crate) const USER_CPU: &str = "server_cpu_user";
    pub(crate) const SYSTEM_CPU: &str = "server_cpu_system";
    pub(crate) const VOLUNTARY: &str = "server_voluntary_switches";
    pub(crate) const INVOLUNTARY: &str = "server_involuntary_switches";
    pub(crate) const RUN_QUEUE: &str = "server_run_queue_wait";
    pub(crate) const READS: &str = "device_reads";
    pub(crate) const READ_BYTES: &str = "device_read_bytes";
    pub(crate) const WRITES: &str = "device_writes";
    pub(crate) const WRITE_BYTES: &str = "device_write_bytes";
    pub(crate) const FLUSHES: &str = "device_flushes";
    pub(crate) const FLUSH_TIME: &str = "device_flush_time";
    pub(crate) const DATABASE: &str = "database_bytes";
}

/// The counters of a DBMS that rules use.
pub(super) mod engine {
    use rqps_observe::Meaning;

    pub(crate) const ROW_LOCKS: &[Meaning] = &[Meaning::RowLockWaits];
    pub(crate) const LOG_BYTES: &[Meaning] = &[Meaning::LogBytes];
    pub(crate) const LOG_FLUSHES: &[Meaning] = &[Meaning::LogFlushes];
    pub(crate) const PAGES: &[Meaning] = &[Meaning::CheckpointPages, Meaning::PagesWritten];
    pub(crate) const DOUBLE_WRITES: &[Meaning] = &[Meaning::DoubleWrites];
    pub(crate) const COMPACTION: &[Meaning] = &[Meaning::CompactionBytesWritten];
    pub(crate) const CHECKPOINTS: &[Meaning] = &[Meaning::CheckpointsRequested];
    pub(crate) const BUFFERS: &[Meaning] = &[Meaning::CacheHits];
    pub(crate) const BLOOM: &[Meaning] = &[Meaning::BloomFilterHits];
    pub(crate) const COMPARISONS: &[Meaning] = &[Meaning::KeyComparisons];
    pub(crate) const BLOCK_READS: &[Meaning] = &[Meaning::BlockReads];
    pub(crate) const LAST_LEVEL: &[Meaning] = &[Meaning::LastLevelBytesRead];
    pub(crate) const UPPER_LEVELS: &[Meaning] = &[Meaning::UpperLevelBytesRead];
    pub(crate) const BACKGROUND_CPU: &[Meaning] = &[Meaning::BackgroundCpu];
    pub(crate) const SERVING_CPU: &[Meaning] = &[Meaning::ServingCpu];
    pub(crate) const STALLS: &[Meaning] = &[Meaning::WriterWaits];

    pub(crate) const ALL: [&[Meaning]; 16] = [
        ROW_LOCKS,
        LOG_BYTES,
        LOG_FLUSHES,
        PAGES,
        DOUBLE_WRITES,
        COMPACTION,
        CHECKPOINTS,
        BUFFERS,
        BLOOM,
        COMPARISONS,
        BLOCK_READS,
        LAST_LEVEL,
        UPPER_LEVELS,
        BACKGROUND_CPU,
        SERVING_CPU,
        STALLS,
    ];
}

/// Whether a rule uses counters of the DBMS with this meaning.
pub fn is_looked_at(meaning: Meaning) -> bool {
    engine::ALL.iter().any(|meanings| meanings.contains(&meaning))
}

pub(super) struct View<'a> {
    pub(super) evidence: &'a Evidence,
    /// 1 if the contender costs more, -1 if the baseline does.
    pub(super) sign: f64,
}

impl<'a> View<'a> {
    /// None without a verdict that can have a cause.
    pub(super) fn of(evidence: &'a Evidence) -> Option<View<'a>> {
        let sign = match evidence.verdict {
            Decided::Regression | Decided::EfficiencyRegression => 1.0,
            Decided::Improvement => -1.0,
            Decided::NoChange | Decided::Inconclusive | Decided::Invalid => return None,
        };
        Some(View { evidence, sign })
    }

    pub(super) fn is_slower(&self) -> bool {
        self.sign > 0.0
    }

    pub(super) fn class(&self) -> Class {
        self.evidence.class
    }

    /// Microseconds that an operation of the costlier arm takes longer.
    pub(super) fn added(&self) -> f64 {
        self.evidence.time.change.value * self.sign
    }

    /// The part's contribution to it.
    pub(super) fn part(&self, part: Part) -> Option<ValueRange> {
        Some(self.evidence.parts.get(&part)?.change.times(self.sign))
    }

    /// Of the added time, significant or not: enough to contradict a cause.
    pub(super) fn share(&self, part: Part) -> Option<f64> {
        self.share_of(self.part(part)?.value)
    }

    /// Of a part that has grown significantly, which a cause can rest on.
    pub(super) fn sure_share(&self, part: Part) -> Option<f64> {
        self.share_of(self.part(part).filter(|change| change.is_above(0.0))?.value)
    }

    /// `micros` as a share of the added time.
    pub(super) fn share_of(&self, micros: f64) -> Option<f64> {
        (self.added() > 0.0).then(|| micros / self.added())
    }

    /// The change of a metric as it was measured, contender against baseline. Where arms take
    /// turns, the reads and writes of a server's own processes are known, those of the device are
    /// not.
    pub(super) fn change(&self, name: &str) -> Option<Change> {
        let own = match name {
            metric::READ_BYTES => "server_read_bytes",
            metric::WRITE_BYTES => "server_write_bytes",
            _ => name,
        };
        let metrics = &self.evidence.metrics;
        metrics.get(name).or_else(|| metrics.get(own)).copied()
    }

    /// The counter of the DBMS with one of these meanings, and its name. Of several it is the one
    /// that counts most, since a server also counts for an engine that is hardly used.
    pub(super) fn engine(&self, of: &[Meaning]) -> Option<(&'a str, Change)> {
        let meanings = &self.evidence.meanings;
        let stands_for = |name: &String| meanings.get(name).is_some_and(|one| of.contains(one));
        let found = self.evidence.metrics.iter().filter(|(name, _)| stands_for(name));
        let amount = |change: &Change| change.base.max(change.contender);
        let most = found.max_by(|(_, one), (_, other)| amount(one).total_cmp(&amount(other)));
        most.map(|(name, change)| (name.as_str(), *change))
    }

    /// The costlier arm has more of it: the interval excludes 0, and the change exceeds the noise
    /// of the A/A controls.
    pub(super) fn up(&self, name: &str) -> Option<bool> {
        self.change(name).map(|change| self.is_up(change))
    }

    pub(super) fn is_up(&self, change: Change) -> bool {
        change.is_up(self.sign)
    }

    /// The amount per operation of the costlier arm, and of the other.
    pub(super) fn amounts(&self, change: Change) -> (f64, f64) {
        match self.is_slower() {
            true => (change.contender, change.base),
            false => (change.base, change.contender),
        }
    }

    /// The amount that an operation of the costlier arm has more.
    pub(super) fn added_amount(&self, change: Change) -> f64 {
        let (costlier, other) = self.amounts(change);
        costlier - other
    }

    fn is_down(&self, change: Change) -> bool {
        change.is_up(-self.sign)
    }

    /// Both arms have the same amount; none if the interval leaves that open.
    pub(super) fn flat(&self, name: &str) -> Option<bool> {
        self.change(name)?.is_flat()
    }

    pub(super) fn engine_up(&self, of: &[Meaning]) -> Option<bool> {
        self.engine(of).map(|(_, change)| self.is_up(change))
    }

    pub(super) fn engine_flat(&self, of: &[Meaning]) -> Option<bool> {
        self.engine(of)?.1.is_flat()
    }

    pub(super) fn engine_down(&self, of: &[Meaning]) -> Option<bool> {
        self.engine(of).map(|(_, change)| self.is_down(change))
    }

    /// There is one client. Of several clients it is not known what a single one would lose.
    pub(super) fn is_one_client(&self) -> Option<bool> {
        (self.evidence.clients == 1).then_some(true)
    }

    /// The contribution of a part, as it was measured.
    pub(super) fn number(&self, part: Part) -> Option<Number> {
        Some(Number::micros(part.name(), &self.evidence.parts.get(&part)?.change))
    }

    /// The planning time of the costlier arm.
    pub(super) fn planning(&self) -> Option<Planning> {
        self.evidence.planning[usize::from(self.is_slower())]
    }

    /// Time in syncs per operation.
    pub(super) fn sync(&self) -> Option<ValueRange> {
        Some(self.evidence.sync?.change.times(self.sign))
    }

    /// `-2.9 % operations/s`.
    pub(super) fn rate(&self) -> String {
        match change(self.evidence.theta.value) {
            factor if factor.starts_with("a factor") => format!("operations/s by {factor}"),
            percent => format!("{percent} operations/s"),
        }
    }

    /// The server's functions whose time is significantly higher in the costlier arm, the largest
    /// growth first. Those of the kernel, which end in `_[k]`, are excluded: they are system CPU.
    pub(super) fn growths(&self) -> Vec<&'a Growth> {
        let is_grown = |growth: &&Growth| {
            growth.change.times(self.sign).is_above(0.0) && !growth.frame.ends_with("_[k]")
        };
        let mut grown: Vec<&Growth> = self.evidence.profile.iter().filter(is_grown).collect();
        let size = |growth: &Growth| growth.change.value * self.sign;
        grown.sort_by(|left, right| size(right).total_cmp(&size(left)));
        grown
    }
}

/// Whether any of them holds; none if none is known to hold and one was not checked.
pub(super) fn any(facts: &[Option<bool>]) -> Option<bool> {
    if facts.contains(&Some(true)) {
        return Some(true);
    }
    if facts.contains(&None) { None } else { Some(false) }
}

/// Whether all of them hold.
pub(super) fn all(facts: &[Option<bool>]) -> Option<bool> {
    let not: Vec<Option<bool>> = facts.iter().map(|fact| fact.map(|fact| !fact)).collect();
    any(&not).map(|any| !any)
}

pub(super) fn at_least(value: Option<f64>, limit: f64) -> Option<bool> {
    value.map(|value| value >= limit)
}
