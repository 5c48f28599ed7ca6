//! pgbench's random numbers: its generator, its distributions, its hashes and its permutation.

use std::f64::consts::TAU;

use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoroshiro128StarStar;

/// The stream of random numbers of one client.
#[derive(Clone, Debug)]
pub(crate) struct Draws(Xoroshiro128StarStar);

/// The seeds that follow from that of a run: first one for each client in their order, then that of
/// the hashes, the variable `default_seed`, and then three for each thread.
#[derive(Clone, Debug)]
pub(crate) struct Streams(Draws);

impl Streams {
    pub(crate) fn new(seed: u64) -> Streams {
        Streams(Draws::from_seed(seed))
    }

    /// The stream of the next client.
    pub(crate) fn client(&mut self) -> Draws {
        Draws::from_seed(self.0.bits())
    }

    /// `default_seed`, after the streams of all clients.
    pub(crate) fn default_seed(&mut self) -> i64 {
        self.0.bits() as i64
    }

    /// The streams of the next thread: which script is next, and when. A third one, which samples
    /// pgbench's log, is not used.
    pub(crate) fn thread(&mut self) -> [Draws; 2] {
        let [choices, delays, _] = [(); 3].map(|()| self.client());
        [choices, delays]
    }
}

impl Draws {
    /// SplitMix64 makes the 128 bits of the state from the seed.
    fn from_seed(seed: u64) -> Draws {
        Draws(Xoroshiro128StarStar::seed_from_u64(seed))
    }

    fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// From 0 up to 1, which is not reached: the upper 52 bits.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 12) as f64 / (1_u64 << 52) as f64
    }

    /// Up to this number, ends included: the upper bits, drawn again while too large.
    fn up_to(&mut self, last: u64) -> u64 {
        if last == 0 {
            return 0;
        }
        let unused = last.leading_zeros();
        loop {
            let drawn = self.bits() >> unused;
            if drawn <= last {
                return drawn;
            }
        }
    }

    /// By Box and Muller (A Note on the Generation of Random Normal Deviates, 1958); the second
    /// deviate of each pair is not used.
    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (TAU * (1.0 - self.unit())).sin()
    }

    /// The distributions draw from a range that holds at most 2^63 - 1 numbers, ends included.
    pub(crate) fn uniform(&mut self, low: i64, high: i64) -> i64 {
        low + self.up_to((high - low) as u64) as i64
    }

    /// The time to the next one of events that happen independently, with this mean.
    pub(crate) fn delay(&mut self, mean: f64) -> i64 {
        (-(1.0 - self.unit()).ln() * mean + 0.5) as i64
    }

    /// The density falls by the factor exp(-parameter) from one end to the other.
    pub(super) fn exponential(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        let least = (-parameter).exp();
        let uniform = 1.0 - self.unit();
        at(low, high, -(least + (1.0 - least) * uniform).ln() / parameter)
    }

    /// The range is this many standard deviations wide to each side of its middle.
    pub(super) fn gaussian(&mut self, low: i64, high: i64, parameter: f64) -> i64 {
        loop {
            let deviate = self.normal();
            if (-parameter..parameter).contains(&deviate) {
                return at(low, high, (deviate + parameter) / (parameter * 2.0));
            }
        }
    }

    /// Rank k has a probability proportional to k^-exponent: the rejection method of Devroye
    /// (Non-Uniform Random Variate Generation, 1986, page 550), without bound at first.
    pub(super) fn zipfian(&mut self, low: i64, high: i64, exponent: f64) -> i64 {
        let ranks = high - low + 1;
        if ranks == 1 {
            return low;
        }
        let power = exponent - 1.0;
        let b = 2_f64.powf(power);
        loop {
            let (u, v) = (self.unit(), self.unit());
            let rank = u.powf(-1.0 / power).floor();
            let t = (1.0 + 1.0 / rank).powf(power);
            if v * rank * (t - 1.0) / (b - 1.0) <= t / b && rank <= ranks as f64 {
                return low - 1 + rank as i64;
            }
        }
    }
}

/// The number at this share of a range.
fn at(low: i64, high: i64, share: f64) -> i64 {
    low + ((high - low + 1) as f64 * share) as i64
}

/// FNV-1a of 64 bits over the eight bytes of a number, the lowest first (Fowler, Noll, Vo:
/// draft-eastlake-fnv); the seed changes the start.
pub(super) fn fnv1a(value: i64, seed: i64) -> i64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed as u64;
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    value.to_le_bytes().into_iter().fold(start, mix) as i64
}

/// MurmurHash64A of the eight bytes of a number (Appleby: MurmurHash2, 2008).
pub(super) fn murmur2(value: i64, seed: i64) -> i64 {
    const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
    let stir = |word: u64| word ^ (word >> 47);
    let word = stir((value as u64).wrapping_mul(FACTOR)).wrapping_mul(FACTOR);
    let start = seed as u64 ^ FACTOR.wrapping_mul(8);
    stir(stir((start ^ word).wrapping_mul(FACTOR)).wrapping_mul(FACTOR)) as i64
}

/// Rounds of [`permuted`].
const ROUNDS: usize = 6;

/// The place of a number, modulo the size, in a permutation of the numbers below the size.
///
/// Each round applies a bijection of the largest power of two that fits to the lower and to the
/// upper end of the range, which overlap, then rotates the whole range.
pub(super) fn permuted(value: i64, size: i64, seed: i64) -> i64 {
    if size < 2 {
        return 0;
    }
    let size = size as u64;
    let mut place = value as u64 % size;
    let bits = size.ilog2();
    let mask = (1_u64 << bits) - 1;
    let mut draws = Draws::from_seed(seed as u64);
    let stir = |draws: &mut Draws, place: u64| {
        let factor = (draws.bits() & mask) | 1;
        let flipped = draws.bits() & mask;
        match place <= mask {
            true => {
                let mixed = (place.wrapping_mul(factor) ^ flipped) & mask;
                ((mixed << 1) & mask) | (mixed >> (bits - 1))
            }
            false => place,
        }
    };
    for _ in 0..ROUNDS {
        place = stir(&mut draws, place);
        place = size - 1 - stir(&mut draws, size - 1 - place);
        place = (place + draws.up_to(size - 1)) % size;
    }
    place as i64
}
