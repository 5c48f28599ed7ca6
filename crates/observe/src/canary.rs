//! A fixed piece of work whose time tells whether the machine is as fast as it was before.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// More than most second-level caches hold, so that a neighbour in the shared cache shows.
const WORDS: usize = 1 << 20;
/// Work of one round: so many steps through the memory, each with some arithmetic.
const STEPS: usize = 1 << 14;

/// The same amount of CPU and memory work each time it is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Canary {
    /// How often the round is run; what two canaries must have in common to be compared.
    pub rounds: u64,
}

impl Canary {
    /// A canary that takes about `time` on this machine as it is now; 0.3 s are enough.
    pub fn tuned(time: Duration) -> Canary {
        let mut rounds = 8;
        loop {
            let took = Canary { rounds }.run();
            if took * 4 >= time {
                let scale = time.as_secs_f64() / took.as_secs_f64();
                return Canary { rounds: ((rounds as f64 * scale).round() as u64).max(1) };
            }
            rounds *= 2;
        }
    }

    /// How long the work took.
    pub fn run(&self) -> Duration {
        let mut memory: Vec<u64> = (0..WORDS as u64).collect();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let start = Instant::now();
        for _ in 0..self.rounds {
            for _ in 0..STEPS {
                // Marsaglia's xorshift: where to look next depends on what was found.
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                let place = (state >> 20) as usize % WORDS;
                memory[place] = memory[place].wrapping_add(state);
                state ^= memory[place] >> 60;
            }
        }
        black_box(&memory);
        start.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU time of this thread that a run takes, which other programs do not add to.
    fn cpu(rounds: u64) -> Duration {
        let now = || {
            let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
        };
        let before = now();
        Canary { rounds }.run();
        now() - before
    }

    #[test]
    fn more_rounds_are_more_work() {
        // Eight times as many, so that a machine that gets three times as slow meanwhile is no matter.
        let fastest = |rounds| (0..3).map(|_| cpu(rounds)).min().unwrap();
        assert!(fastest(256) > fastest(32) * 2);
    }

    #[test]
    fn it_is_tuned_to_more_than_one_round() {
        assert!(Canary::tuned(Duration::from_millis(40)).rounds > 1);
    }
}
