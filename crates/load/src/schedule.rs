//! The intended start of the next operation.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Start times of a worker's operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Schedule {
    /// Each operation starts as soon as the one before has ended.
    Closed,
    /// Evenly spaced.
    Uniform { per_second: f64 },
    /// Exponential gaps; two workers with one seed have the same times. If the number of operations
    /// is given, their total time is exactly that of the rate: only the arrivals in a step are
    /// random, not its length.
    Poisson { per_second: f64, seed: u64 },
    /// A batch at the start of each second.
    Burst { per_second: u64 },
}

/// Iterates over a schedule. A late operation does not shift later ones: no backlog is dropped.
#[derive(Debug)]
pub(crate) struct Timetable {
    schedule: Schedule,
    next: u64,
    /// Seconds of the last arrival.
    time: f64,
    /// Their total number, where it is known.
    operations: Option<u64>,
    random: Option<Xoshiro256PlusPlus>,
}

impl Timetable {
    /// `operations` is their total number, where it is known.
    pub(crate) fn new(schedule: Schedule, operations: Option<u64>) -> Self {
        let random = match schedule {
            Schedule::Poisson { seed, .. } => Some(Xoshiro256PlusPlus::seed_from_u64(seed)),
            _ => None,
        };
        Timetable { schedule, next: 0, time: 0.0, operations, random }
    }

    /// Seconds from the last random arrival to the next one.
    ///
    /// Where a number of arrivals is to fill their time, they are that many uniform instants of it
    /// in their order, as those of a Poisson process with so many arrivals are. The first of n
    /// uniform instants leaves a share of the time after it that is the n-th root of a uniform
    /// value.
    fn gap(&mut self, per_second: f64) -> f64 {
        let Some(random) = &mut self.random else { return 1.0 / per_second };
        // 1 - [0, 1) is never zero, so the logarithm is finite.
        let log = (1.0 - random.random::<f64>()).ln();
        let Some(operations) = self.operations else { return -log / per_second };
        let rest = operations as f64 / per_second - self.time;
        match operations.saturating_sub(self.next) {
            // The arrival after the last one ends the run.
            0 => rest.max(0.0),
            left => -rest * (log / left as f64).exp_m1(),
        }
    }

    /// The intended start of the next operation in nanoseconds after the epoch; none in a closed
    /// loop.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<u64> {
        let nanos = match self.schedule {
            Schedule::Closed => return None,
            Schedule::Uniform { per_second } => (self.next as f64 * 1e9 / per_second) as u64,
            Schedule::Burst { per_second } => self.next / per_second * 1_000_000_000,
            Schedule::Poisson { per_second, .. } => {
                self.time += self.gap(per_second);
                (self.time * 1e9) as u64
            }
        };
        self.next += 1;
        Some(nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn millis(schedule: Schedule, count: usize) -> Vec<u64> {
        let mut timetable = Timetable::new(schedule, None);
        (0..count).map(|_| timetable.next().unwrap() / 1_000_000).collect()
    }

    #[test]
    fn uniform_operations_are_evenly_spaced() {
        assert_eq!(millis(Schedule::Uniform { per_second: 4.0 }, 5), [0, 250, 500, 750, 1000]);
    }

    #[test]
    fn bursts_start_with_the_second() {
        assert_eq!(millis(Schedule::Burst { per_second: 2 }, 5), [0, 0, 1000, 1000, 2000]);
    }

    #[test]
    fn poisson_arrivals_have_the_asked_for_mean_and_repeat_for_a_seed() {
        let schedule = Schedule::Poisson { per_second: 100.0, seed: 7 };
        let times = millis(schedule, 20_000);
        let rate = 20_000.0 / (*times.last().unwrap() as f64 / 1e3);
        // The standard error of the mean of 20,000 exponential gaps is 0.7 %.
        assert!((97.0..103.0).contains(&rate), "{rate}");
        assert_eq!(times, millis(schedule, 20_000));
        assert_ne!(times, millis(Schedule::Poisson { per_second: 100.0, seed: 8 }, 20_000));
    }

    #[test]
    fn a_known_number_of_poisson_arrivals_takes_the_time_of_its_rate() {
        for seed in 0..20 {
            let schedule = Schedule::Poisson { per_second: 2.0, seed };
            let mut timetable = Timetable::new(schedule, Some(10));
            let times: Vec<u64> = (0..=10).map(|_| timetable.next().unwrap()).collect();
            let seconds = times[10] as f64 / 1e9;
            assert!((seconds - 5.0).abs() < 1e-6, "{seconds}");
            let gaps: Vec<u64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert!(gaps.iter().max() > gaps.iter().min().map(|gap| gap * 3).as_ref());
        }
    }

    #[test]
    fn a_known_number_of_arrivals_is_as_random_as_any() {
        let schedule = Schedule::Poisson { per_second: 100.0, seed: 11 };
        let mut timetable = Timetable::new(schedule, Some(20_000));
        let times: Vec<f64> = (0..20_000).map(|_| timetable.next().unwrap() as f64 / 1e9).collect();
        let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let longer =
            |than: f64| gaps.iter().filter(|gap| **gap > than).count() as f64 / gaps.len() as f64;
        // Of exponential gaps with a mean of 10 ms, e^-1 and e^-3; the standard errors are 0.003
        // and 0.0015.
        assert!((longer(0.01) - 0.3679).abs() < 0.012, "{}", longer(0.01));
        assert!((longer(0.03) - 0.0498).abs() < 0.006, "{}", longer(0.03));
        let in_the_first_half = times.iter().filter(|time| **time < 100.0).count();
        // A standard error is 71.
        assert!((9_700..=10_300).contains(&in_the_first_half), "{in_the_first_half}");
    }

    #[test]
    fn a_closed_loop_has_no_timetable() {
        assert_eq!(Timetable::new(Schedule::Closed, None).next(), None);
    }
}
