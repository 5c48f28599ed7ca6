//! A fixed piece of work whose time tells whether the machine is as fast as it was before.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// More than most second-level caches hold, so that a neighbour in the shared cache shows.
const WORDS: usize = 1 << 20;
/// How often a canary does its rounds; an odd number, for it has a middle.
const PIECES: u32 = 5;
/// Work of one round: so many steps through the memory, each with some arithmetic.
const STEPS: u64 = 1 << 14;

/// How far off the usual a canary may always be, in percent.
const LEAST_PERCENT: f64 = 3.0;
/// … and at most, however uneven the machine is: what is farther off says that it was another
/// machine. Up to this, unevenness is noise of everybody, and rounds that differ by it make
/// intervals wide.
const MOST_PERCENT: f64 = 50.0;
/// In between, so many standard deviations of the canary itself: of a machine that is as it always
/// is one in some thousands is farther off.
const DEVIATIONS: f64 = 4.0;
/// The median absolute deviation of a normal distribution is a standard deviation divided by this.
const NORMAL: f64 = 1.4826;

/// What a canary usually takes on a machine, by the times of late.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    pub median: Duration,
    /// How far a time may be off it, in percent.
    pub most_percent: f64,
}

impl Usual {
    /// By the median and the median absolute deviation of the logs, which a few odd times do not
    /// move. None of no times.
    pub fn of(times: &[Duration]) -> Option<Usual> {
        let middle = |values: &mut Vec<f64>| {
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied()
        };
        let mut logs: Vec<f64> = times.iter().map(|time| time.as_secs_f64().ln()).collect();
        let median = middle(&mut logs)?;
        let deviation = middle(&mut logs.iter().map(|log| (log - median).abs()).collect())?;
        let percent = 100.0 * (DEVIATIONS * NORMAL * deviation).exp_m1();
        Some(Usual {
            median: Duration::from_secs_f64(median.exp()),
            most_percent: percent.clamp(LEAST_PERCENT, MOST_PERCENT),
        })
    }

    /// How far a time is off, in percent.
    pub fn off(&self, time: Duration) -> f64 {
        100.0 * (time.as_secs_f64() / self.median.as_secs_f64() - 1.0)
    }

    pub fn is_off(&self, time: Duration) -> bool {
        self.off(time).abs() > self.most_percent
    }
}

/// A canary and its latest times. What is usual moves with the machine: a machine that is slower
/// than an hour ago is so for everybody in a round, and rounds are in random order.
#[derive(Debug)]
pub struct Canaries {
    canary: Canary,
    latest: VecDeque<Duration>,
}

/// So many times make what is usual: those of a dozen runs.
const LATEST: usize = 24;

impl Canaries {
    pub fn new(canary: Canary) -> Canaries {
        Canaries { canary, latest: VecDeque::new() }
    }

    /// The work, to do the same again in another session.
    pub fn canary(&self) -> Canary {
        self.canary
    }

    /// Learns what is usual before anything is measured.
    pub fn calibrate(&mut self) {
        while self.latest.len() < LATEST {
            self.run();
        }
    }

    pub fn run(&mut self) -> Duration {
        let time = self.canary.run();
        self.note(time);
        time
    }

    /// Runs again until it takes as long as usual, but not for longer than `patience`: after
    /// gigabytes of IO a machine may be slower for some seconds, and a virtual CPU that has had
    /// nothing to do for some tenths of one, so that there is no pause in between. Answers the last
    /// time.
    pub fn settle(&mut self, patience: Duration) -> Duration {
        let canary = self.canary;
        self.settle_by(patience, || canary.run())
    }

    fn settle_by(&mut self, patience: Duration, mut run: impl FnMut() -> Duration) -> Duration {
        let deadline = Instant::now() + patience;
        let mut time = run();
        while self.usual().is_some_and(|usual| usual.is_off(time)) && Instant::now() < deadline {
            time = run();
        }
        self.note(time);
        time
    }

    fn note(&mut self, time: Duration) {
        self.latest.push_back(time);
        let old = self.latest.len().saturating_sub(LATEST);
        self.latest.drain(..old);
    }

    /// None before the first run.
    pub fn usual(&self) -> Option<Usual> {
        Usual::of(&self.latest.iter().copied().collect::<Vec<_>>())
    }
}

/// The same amount of CPU and memory work each time it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    /// How often the round is run; what two canaries must have in common to be compared.
    pub rounds: u64,
}

impl Canary {
    /// A canary that takes about `time` on this machine as it is now; 0.3 s are enough.
    pub fn tuned(time: Duration) -> Canary {
        Canary::tuned_by(time / PIECES, |canary| canary.run())
    }

    fn tuned_by(piece: Duration, run: impl Fn(Canary) -> Duration) -> Canary {
        let mut rounds = 8;
        loop {
            let took = run(Canary { rounds });
            if took * 4 >= piece {
                let scale = piece.as_secs_f64() / took.as_secs_f64();
                return Canary { rounds: ((rounds as f64 * scale).round() as u64).max(1) };
            }
            rounds *= 2;
        }
    }

    /// How long the rounds took: does them some times and answers the median, so that a moment in
    /// which another had the CPU does not make a slow machine.
    pub fn run(&self) -> Duration {
        let mut walk = Walk::new();
        let mut times = [(); PIECES as usize].map(|()| {
            let start = Instant::now();
            walk.go(self.rounds);
            black_box(&walk);
            start.elapsed()
        });
        times.sort();
        times[times.len() / 2]
    }
}

/// A walk through the memory: where to look next depends on what was found.
#[derive(Debug, PartialEq)]
struct Walk {
    memory: Vec<u64>,
    state: u64,
}

impl Walk {
    fn new() -> Walk {
        Walk { memory: (0..WORDS as u64).collect(), state: 0x9e37_79b9_7f4a_7c15 }
    }

    fn go(&mut self, rounds: u64) {
        let Walk { memory, state } = self;
        for _ in 0..rounds * STEPS {
            // Marsaglia's xorshift.
            *state ^= *state << 13;
            *state ^= *state >> 7;
            *state ^= *state << 17;
            let place = (*state >> 20) as usize % WORDS;
            memory[place] = memory[place].wrapping_add(*state);
            *state ^= memory[place] >> 60;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    /// A machine whose speed has noise of so many percent, and drifts by so many percent from
    /// canary to canary.
    struct Machine {
        random: Xoshiro256PlusPlus,
        level: f64,
        noise: f64,
        drift: f64,
    }

    impl Machine {
        fn new(noise: f64, drift: f64) -> Machine {
            Machine { random: Xoshiro256PlusPlus::seed_from_u64(5), level: 0.0, noise, drift }
        }

        /// Nearly normal, of variance 1.
        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
        }

        fn canary(&mut self) -> Duration {
            self.level += self.drift / 100.0 * self.normal();
            let log = self.level + self.noise / 100.0 * self.normal();
            Duration::from_secs_f64(0.05 * log.exp())
        }
    }

    /// Of a thousand runs the share that is refused, one canary before each and one after.
    fn refused(noise: f64, drift: f64, is_off: impl Fn(&Usual, Duration) -> bool) -> f64 {
        let mut machine = Machine::new(noise, drift);
        let mut canaries = Canaries::new(Canary { rounds: 1 });
        (0..LATEST).for_each(|_| canaries.note(machine.canary()));
        let mut refused = 0;
        for _ in 0..1000 {
            let both = [machine.canary(), machine.canary()];
            both.iter().for_each(|time| canaries.note(*time));
            let usual = canaries.usual().unwrap();
            refused += usize::from(both.iter().any(|time| is_off(&usual, *time)));
        }
        refused as f64 / 1000.0
    }

    #[test]
    fn what_is_usual_is_learnt_from_the_machine() {
        let fixed = |usual: &Usual, time| usual.off(time).abs() > LEAST_PERCENT;
        assert!(refused(3.0, 0.0, fixed) > 0.4, "a fixed limit refuses what a VM always does");
        for noise in [0.5, 1.0, 2.0, 3.0] {
            assert!(refused(noise, 0.0, Usual::is_off) < 0.02, "{noise} %");
        }
        assert!(refused(1.0, 0.2, Usual::is_off) < 0.05, "it moves with a slow drift");
        assert!(refused(10.0, 0.0, Usual::is_off) < 0.05, "large differences can be told on it");
        assert!(refused(60.0, 0.0, Usual::is_off) > 0.5, "that is no machine to measure on");
    }

    #[test]
    fn a_quiet_machine_has_the_limit_of_a_quiet_machine() {
        let millis = |millis: f64| Duration::from_secs_f64(millis / 1e3);
        let quiet: Vec<Duration> =
            (0..24).map(|number| millis(50.0 + 0.01 * f64::from(number))).collect();
        assert_eq!(Usual::of(&quiet).unwrap().most_percent, LEAST_PERCENT);
        let mut odd = quiet.clone();
        odd[3] = millis(500.0);
        assert_eq!(
            Usual::of(&odd).unwrap().most_percent,
            LEAST_PERCENT,
            "one odd time is no matter"
        );
        let usual = Usual::of(&odd).unwrap();
        assert!(usual.is_off(millis(52.0)) && usual.is_off(millis(48.0)));
        assert!(!usual.is_off(millis(51.0)) && usual.is_off(odd[3]));
        assert_eq!(Usual::of(&[]), None);
    }

    #[test]
    fn a_machine_that_has_become_another_is_refused_until_it_has_been_so_for_a_while() {
        let mut machine = Machine::new(1.0, 0.0);
        let mut canaries = Canaries::new(Canary { rounds: 1 });
        (0..LATEST).for_each(|_| canaries.note(machine.canary()));
        machine.level = 0.2;
        let mut is_off = || {
            let time = machine.canary();
            canaries.note(time);
            canaries.usual().unwrap().is_off(time)
        };
        assert!((0..LATEST / 4).all(|_| is_off()));
        (0..LATEST).for_each(|_| {
            is_off();
        });
        assert!((0..LATEST).filter(|_| is_off()).count() < 3);
    }

    #[test]
    fn a_machine_is_given_time_to_come_to_rest_and_no_more() {
        let (usual, slow) = (Duration::from_millis(50), Duration::from_millis(150));
        let mut canaries = Canaries::new(Canary { rounds: 1 });
        (0..LATEST).for_each(|_| canaries.note(usual));
        let mut times = [slow, slow, usual, slow].into_iter();
        let settled = canaries.settle_by(Duration::from_secs(100), || times.next().unwrap());
        assert_eq!((settled, times.len()), (usual, 1));
        assert_eq!(canaries.settle_by(Duration::ZERO, || slow), slow);
    }

    #[test]
    fn a_cpu_that_is_slow_when_it_has_been_idle_is_kept_awake_until_it_is_as_usual() {
        let (usual, slow) = (Duration::from_millis(50), Duration::from_millis(150));
        let mut canaries = Canaries::new(Canary { rounds: 1 });
        (0..LATEST).for_each(|_| canaries.note(usual));
        let mut last: Option<Instant> = None;
        let settled = canaries.settle_by(Duration::from_secs(5), || {
            let was_idle = last.is_none_or(|last| last.elapsed() > Duration::from_millis(100));
            last = Some(Instant::now());
            if was_idle { slow } else { usual }
        });
        assert_eq!(settled, usual);
    }

    #[test]
    fn each_round_goes_on_where_the_one_before_ended() {
        let (mut at_once, mut in_turn) = (Walk::new(), Walk::new());
        at_once.go(3);
        (0..3).for_each(|_| in_turn.go(1));
        assert!(at_once == in_turn);
        in_turn.go(1);
        let changed = at_once.memory.iter().zip(&in_turn.memory).filter(|(a, b)| a != b).count();
        assert!(changed > STEPS as usize * 9 / 10, "a round is {changed} places: none is left out");
    }

    #[test]
    fn a_canary_is_tuned_to_the_speed_of_the_machine() {
        for micros in [1, 100, 10_000] {
            let round = Duration::from_micros(micros);
            let run = |canary: Canary| round * canary.rounds as u32;
            let tuned = Canary::tuned_by(Duration::from_millis(40), run);
            assert_eq!(tuned.rounds, 40_000 / micros);
        }
    }
}
