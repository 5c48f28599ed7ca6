//! The reference loop: fixed CPU work whose time shows whether the machine is as fast as before.

use std::collections::VecDeque;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Larger than most second-level caches, so that load in the shared cache shows.
const WORDS: usize = 1 << 20;
/// How often a reference loop repeats its rounds; odd, so that there is a median.
const PIECES: u32 = 5;
/// Steps of one round through the memory, each with some arithmetic.
const STEPS: u64 = 1 << 14;

/// How far off its usual time a reference loop may always be, in percent.
const LEAST_PERCENT: f64 = 3.0;
/// … and at most, however uneven the machine is: beyond this, it is in effect another machine. Up
/// to this, unevenness is noise of every arm, and rounds that differ by it widen intervals.
const MOST_PERCENT: f64 = 50.0;
/// In between, the limit in standard deviations of the reference loop itself: on an unchanged
/// machine, about one in some thousands is farther off.
const DEVIATIONS: f64 = 4.0;
/// The median absolute deviation of a normal distribution is a standard deviation divided by this.
const NORMAL: f64 = 1.4826;

/// The usual time of a reference loop on a machine, from its latest times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usual {
    pub median: Duration,
    /// How far a time may deviate from it, in percent.
    pub most_percent: f64,
}

impl Usual {
    /// From the median and the median absolute deviation of the logs, which are robust against a
    /// few outliers. None without times.
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

    /// The deviation of a time, in percent.
    pub fn off(&self, time: Duration) -> f64 {
        100.0 * (time.as_secs_f64() / self.median.as_secs_f64() - 1.0)
    }

    pub fn is_off(&self, time: Duration) -> bool {
        self.off(time).abs() > self.most_percent
    }
}

/// A reference loop and its latest times. The usual time follows the machine: a machine that is
/// slower than an hour ago is so for every arm in a round, and arms are in random order.
#[derive(Debug)]
pub struct ReferenceLoops {
    reference_loop: ReferenceLoop,
    latest: VecDeque<Duration>,
}

/// Times that determine the usual one: those of a dozen runs.
const LATEST: usize = 24;

impl ReferenceLoops {
    pub fn new(reference_loop: ReferenceLoop) -> ReferenceLoops {
        ReferenceLoops { reference_loop, latest: VecDeque::new() }
    }

    /// The amount of work, to repeat it in another session.
    pub fn reference_loop(&self) -> ReferenceLoop {
        self.reference_loop
    }

    /// Determines the usual time before anything is measured.
    pub fn calibrate(&mut self) {
        while self.latest.len() < LATEST {
            self.run();
        }
    }

    pub fn run(&mut self) -> Duration {
        let time = self.reference_loop.run();
        self.note(time);
        time
    }

    /// Runs until it takes its usual time, but for at most `patience`: after gigabytes of IO a
    /// machine may be slower for some seconds. There is no pause between runs, since a virtual CPU
    /// may be slower after some tenths of a second without work. Returns the last time.
    pub fn settle(&mut self, patience: Duration) -> Duration {
        let reference_loop = self.reference_loop;
        self.settle_by(patience, || reference_loop.run())
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
pub struct ReferenceLoop {
    /// The number of rounds, which must be equal for two loops to be compared.
    pub rounds: u64,
}

impl ReferenceLoop {
    /// A reference loop that takes about `time` on this machine now; 0.3 s are enough.
    pub fn tuned(time: Duration) -> ReferenceLoop {
        ReferenceLoop::tuned_by(time / PIECES, |reference_loop| reference_loop.run())
    }

    fn tuned_by(piece: Duration, run: impl Fn(ReferenceLoop) -> Duration) -> ReferenceLoop {
        let mut rounds = 8;
        loop {
            let took = run(ReferenceLoop { rounds });
            if took * 4 >= piece {
                let scale = piece.as_secs_f64() / took.as_secs_f64();
                return ReferenceLoop { rounds: ((rounds as f64 * scale).round() as u64).max(1) };
            }
            rounds *= 2;
        }
    }

    /// The time of the rounds: the median of several repetitions, so that a moment of preemption
    /// does not count as a slow machine.
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

/// A walk through the memory: each address depends on the value before.
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

    /// A machine whose speed has noise and a drift from one reference loop to the next, both in
    /// percent.
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

        fn reference_loop(&mut self) -> Duration {
            self.level += self.drift / 100.0 * self.normal();
            let log = self.level + self.noise / 100.0 * self.normal();
            Duration::from_secs_f64(0.05 * log.exp())
        }
    }

    /// The share of a thousand runs that is discarded, with one reference loop before and after
    /// each.
    fn refused(noise: f64, drift: f64, is_off: impl Fn(&Usual, Duration) -> bool) -> f64 {
        let mut machine = Machine::new(noise, drift);
        let mut loops = ReferenceLoops::new(ReferenceLoop { rounds: 1 });
        (0..LATEST).for_each(|_| loops.note(machine.reference_loop()));
        let mut refused = 0;
        for _ in 0..1000 {
            let both = [machine.reference_loop(), machine.reference_loop()];
            both.iter().for_each(|time| loops.note(*time));
            let usual = loops.usual().unwrap();
            refused += usize::from(both.iter().any(|time| is_off(&usual, *time)));
        }
        refused as f64 / 1000.0
    }

    #[test]
    fn what_is_usual_is_learnt_from_the_machine() {
        let fixed = |usual: &Usual, time| usual.off(time).abs() > LEAST_PERCENT;
        assert!(refused(3.0, 0.0, fixed) > 0.4, "a fixed limit discards the usual noise of a VM");
        for noise in [0.5, 1.0, 2.0, 3.0] {
            assert!(refused(noise, 0.0, Usual::is_off) < 0.02, "{noise} %");
        }
        assert!(refused(1.0, 0.2, Usual::is_off) < 0.05, "it moves with a slow drift");
        assert!(refused(10.0, 0.0, Usual::is_off) < 0.05, "large differences can be found on it");
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
        let mut loops = ReferenceLoops::new(ReferenceLoop { rounds: 1 });
        (0..LATEST).for_each(|_| loops.note(machine.reference_loop()));
        machine.level = 0.2;
        let mut is_off = || {
            let time = machine.reference_loop();
            loops.note(time);
            loops.usual().unwrap().is_off(time)
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
        let mut loops = ReferenceLoops::new(ReferenceLoop { rounds: 1 });
        (0..LATEST).for_each(|_| loops.note(usual));
        let mut times = [slow, slow, usual, slow].into_iter();
        let settled = loops.settle_by(Duration::from_secs(100), || times.next().unwrap());
        assert_eq!((settled, times.len()), (usual, 1));
        assert_eq!(loops.settle_by(Duration::ZERO, || slow), slow);
    }

    #[test]
    fn a_cpu_that_is_slow_when_it_has_been_idle_is_kept_awake_until_it_is_as_usual() {
        let (usual, slow) = (Duration::from_millis(50), Duration::from_millis(150));
        let mut loops = ReferenceLoops::new(ReferenceLoop { rounds: 1 });
        (0..LATEST).for_each(|_| loops.note(usual));
        let mut last: Option<Instant> = None;
        let settled = loops.settle_by(Duration::from_secs(5), || {
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
            let run = |reference_loop: ReferenceLoop| round * reference_loop.rounds as u32;
            let tuned = ReferenceLoop::tuned_by(Duration::from_millis(40), run);
            assert_eq!(tuned.rounds, 40_000 / micros);
        }
    }
}
