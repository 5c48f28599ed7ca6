//! A worker's records of its operations: histograms and a row for each second.

use hdrhistogram::Histogram;

use crate::effect::{Effect, Statements};
use crate::work::Performed;

const SECOND: u64 = 1_000_000_000;

/// Everything recorded of one worker. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Tally {
    pub operations: u64,
    /// Rows that were returned or changed, as the DBMS reports them.
    pub rows: u64,
    pub statements: Statements,
    /// Operations retried because the DBMS asked for it.
    pub retries: u64,
    /// From the start of an operation to its end.
    pub service: Histogram<u64>,
    /// From the intended start to the end; only of operations that had one.
    pub response: Histogram<u64>,
    /// How late the client started operations by its own fault: after their intended start, and
    /// after it had the answer to the one before.
    pub lateness: Histogram<u64>,
    /// The longest delay of an operation's start after its intended start.
    pub max_lag: u64,
    /// By the second in which operations ended.
    pub seconds: Vec<SecondTally>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SecondTally {
    pub operations: u64,
    pub rows: u64,
    pub max_service: u64,
}

const DAY: u64 = 86_400 * SECOND;

/// Three digits up to a day. The lowest value must be 1 ns: one of 1 us would make all bins up to
/// 1 ms as wide as 512 ns. Memory that is never written to is none.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, DAY, 3).expect("the bounds are in order")
}

impl Tally {
    pub(crate) fn new() -> Self {
        Tally {
            operations: 0,
            rows: 0,
            statements: Statements::default(),
            retries: 0,
            service: histogram(),
            response: histogram(),
            lateness: histogram(),
            max_lag: 0,
            seconds: Vec::new(),
        }
    }
}

/// Fills a tally. Its seconds begin at `epoch`.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) tally: Tally,
    epoch: u64,
    second: SecondTally,
    second_end: u64,
    /// When the last operation ended.
    last: u64,
}

impl Recorder {
    pub(crate) fn new(epoch: u64) -> Self {
        let second = SecondTally::default();
        Recorder { tally: Tally::new(), epoch, second, second_end: epoch + SECOND, last: epoch }
    }

    /// Records one operation.
    #[inline]
    pub(crate) fn record(
        &mut self,
        intended: Option<u64>,
        started: u64,
        ended: u64,
        effect: Effect,
    ) {
        if ended >= self.second_end {
            self.roll(ended);
        }
        let service = ended - started;
        self.second.operations += 1;
        self.second.rows += effect.rows;
        self.second.max_service = self.second.max_service.max(service);
        self.tally.operations += 1;
        self.tally.rows += effect.rows;
        self.tally.statements += effect.statements;
        self.tally.service.saturating_record(service);
        if let Some(intended) = intended {
            self.tally.response.saturating_record(ended - intended.min(started));
            self.tally.max_lag = self.tally.max_lag.max(started.saturating_sub(intended));
            let able = intended.max(self.last);
            self.tally.lateness.saturating_record(started.saturating_sub(able));
        }
        self.last = ended;
    }

    /// Records operations that another process has performed and timed. They count in the second in
    /// which the last of them ended.
    pub(crate) fn record_all(&mut self, ended: u64, performed: &Performed) {
        if ended >= self.second_end {
            self.roll(ended);
        }
        let Performed { operations, effect, times, .. } = performed;
        self.second.operations += operations;
        self.second.rows += effect.rows;
        self.tally.operations += operations;
        self.tally.rows += effect.rows;
        self.tally.statements += effect.statements;
        for (nanos, count) in times {
            self.second.max_service = self.second.max_service.max(*nanos);
            self.tally.service.saturating_record_n(*nanos, *count);
        }
        self.last = ended;
    }

    /// Closes the seconds that ended before `time`; a stall leaves empty seconds.
    #[cold]
    fn roll(&mut self, time: u64) {
        while time >= self.second_end {
            self.tally.seconds.push(std::mem::take(&mut self.second));
            self.second_end += SECOND;
        }
    }

    /// Closes the last, partial second and returns the tally.
    pub(crate) fn finish(mut self, time: u64) -> Tally {
        self.roll(time);
        if self.second_end - SECOND < time.max(self.epoch + 1)
            && self.second != SecondTally::default()
        {
            self.tally.seconds.push(self.second);
        }
        self.tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn operations_count_in_the_second_they_end_in() {
        let mut recorder = Recorder::new(0);
        recorder.record(None, 0, 10 * MS, Effect::read(1));
        recorder.record(None, 990 * MS, 1_020 * MS, Effect::write(2));
        let tally = recorder.finish(1_500 * MS);
        let operations: Vec<u64> = tally.seconds.iter().map(|second| second.operations).collect();
        assert_eq!(operations, [1, 1]);
        assert_eq!(tally.seconds[1].max_service, 30 * MS);
        assert_eq!((tally.operations, tally.rows), (2, 3));
        assert_eq!(tally.statements, Statements { reads: 1, writes: 1, others: 0 });
    }

    #[test]
    fn a_stall_leaves_empty_seconds() {
        let mut recorder = Recorder::new(0);
        recorder.record(None, 0, 1, Effect::read(1));
        recorder.record(None, 1, 3_200 * MS, Effect::read(1));
        let tally = recorder.finish(3_200 * MS);
        let operations: Vec<u64> = tally.seconds.iter().map(|second| second.operations).collect();
        assert_eq!(operations, [1, 0, 0, 1]);
    }

    #[test]
    fn response_time_counts_from_the_intended_start() {
        let mut recorder = Recorder::new(0);
        recorder.record(Some(100 * MS), 600 * MS, 601 * MS, Effect::read(1));
        let tally = recorder.finish(700 * MS);
        assert!(tally.service.max() < 2 * MS);
        assert!(tally.response.max() >= 500 * MS);
        assert_eq!(tally.max_lag, 500 * MS);
    }

    #[test]
    fn times_from_100_ns_to_a_day_have_three_digits() {
        let mut recorder = Recorder::new(0);
        let day = 86_400 * SECOND;
        let mut time = 100;
        let mut all = Vec::new();
        while time < day {
            all.push(time);
            // About 40 in each decade, and no round numbers.
            time += time / 17 + 1;
        }
        for time in &all {
            let mut one = histogram();
            one.record(*time).unwrap();
            let found = one.value_at_quantile(0.5);
            let error = found.abs_diff(*time) as f64 / *time as f64;
            assert!(error <= 0.001, "{time} ns is recorded as {found}");
        }
        recorder.record(None, 0, 2 * day, Effect::read(1));
        assert_eq!(recorder.finish(2 * day).service.len(), 1, "what is longer counts");
    }

    #[test]
    fn a_client_is_late_by_what_it_did_not_wait_for_an_answer() {
        let mut recorder = Recorder::new(0);
        recorder.record(Some(0), 0, 300 * MS, Effect::read(1));
        // Due while the one before was not answered yet: the client is late by 2 ms, not by 202.
        recorder.record(Some(100 * MS), 302 * MS, 303 * MS, Effect::read(1));
        let tally = recorder.finish(400 * MS);
        assert_eq!(tally.lateness.len(), 2);
        assert!(tally.lateness.max().abs_diff(2 * MS) < MS / 100);
        assert_eq!(tally.max_lag, 202 * MS);
    }

    #[test]
    fn what_another_process_has_timed_counts_by_the_operation() {
        let mut recorder = Recorder::new(0);
        let effect = Effect { rows: 30, ..Effect::default() };
        let times = vec![(2_000, 2), (7 * MS, 1)];
        let performed = Performed { operations: 3, effect, times, ..Performed::default() };
        recorder.record_all(1_010 * MS, &performed);
        let tally = recorder.finish(1_500 * MS);
        assert_eq!((tally.operations, tally.rows, tally.service.len()), (3, 30, 3));
        assert!(tally.service.value_at_quantile(0.5).abs_diff(2_000) <= 2);
        assert_eq!((tally.seconds[0].operations, tally.seconds[1].operations), (0, 3));
        assert_eq!(tally.seconds[1].max_service, 7 * MS);
    }

    #[test]
    fn closed_loops_have_no_response_times() {
        let mut recorder = Recorder::new(0);
        recorder.record(None, 0, 5 * MS, Effect::read(1));
        assert_eq!(recorder.finish(6 * MS).response.len(), 0);
    }
}
