//! sysbench's random numbers: from one seed, a client draws what sysbench 1.0 draws.
//!
//! Sources: Blackman and Vigna, xoroshiro128+ with its constants of 2016; glibc's `random()`, whose
//! additive feedback is described in the comments of its `stdlib/random_r.c`; the distributions by
//! sysbench's manual and by what its `sb_rand.c` computes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::zipf::ZipfRanks;

/// `random()` of the C library, from which sysbench seeds its clients.
#[derive(Clone, Debug)]
struct LibraryRandom {
    /// The last 31 numbers, the next to be replaced at `at`.
    state: [u32; LibraryRandom::DEGREE],
    at: usize,
}

impl LibraryRandom {
    const DEGREE: usize = 31;
    const SEPARATION: usize = 3;

    fn new(seed: u32) -> LibraryRandom {
        let mut state = [0; Self::DEGREE];
        // Lehmer's generator, by Schrage's method; a seed of 0 is 1.
        let mut word = i64::from(seed.max(1) as i32);
        for (place, slot) in state.iter_mut().enumerate() {
            if place > 0 {
                word = 16_807 * (word % 127_773) - 2_836 * (word / 127_773);
                if word < 0 {
                    word += 2_147_483_647;
                }
            }
            *slot = word as u32;
        }
        let mut random = LibraryRandom { state, at: Self::SEPARATION };
        for _ in 0..10 * Self::DEGREE {
            random.next();
        }
        random
    }

    /// 31 bits.
    fn next(&mut self) -> u32 {
        let added = self.state[(self.at + Self::DEGREE - Self::SEPARATION) % Self::DEGREE];
        let sum = self.state[self.at].wrapping_add(added);
        self.state[self.at] = sum;
        self.at = (self.at + 1) % Self::DEGREE;
        sum >> 1
    }

    /// The state of a client.
    fn pair(&mut self) -> [u64; 2] {
        [(); 2].map(|()| u64::from(self.next()) << 32 | u64::from(self.next()))
    }
}

/// The seeds of the clients of a run. sysbench's clients race for theirs; here each has the place
/// of its number.
pub fn client_seeds(seed: u32) -> impl Iterator<Item = [u64; 2]> {
    let mut random = LibraryRandom::new(seed);
    std::iter::repeat_with(move || random.pair())
}

/// The seeds of a command in so many threads: the same each time, so that all contenders get the
/// same rows. sysbench draws others each time.
pub(super) fn command_seeds(threads: usize) -> Vec<[u64; 2]> {
    client_seeds(1).take(threads).collect()
}

/// Seconds between events that arrive at a rate, by their exponential distribution.
pub fn arrival_gaps(seed: u32, per_second: f64) -> impl Iterator<Item = f64> {
    let mut library = LibraryRandom::new(seed);
    let mut state = library.pair();
    std::iter::repeat_with(move || -(1.0 - double(&mut state)).ln() / per_second)
}

/// 64 bits.
fn bits(state: &mut [u64; 2]) -> u64 {
    let [first, mut second] = *state;
    let sum = first.wrapping_add(second);
    second ^= first;
    *state = [first.rotate_left(55) ^ second ^ (second << 14), second.rotate_left(36)];
    sum
}

/// From 0 to below 1.
fn double(state: &mut [u64; 2]) -> f64 {
    f64::from_bits(0x3ff << 52 | bits(state) >> 12) - 1.0
}

/// How `sysbench.rand.default` draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    Uniform,
    Gaussian,
    Special,
    Pareto,
    Zipfian,
}

impl Distribution {
    pub(super) const NAMES: [(&'static str, Distribution); 5] = [
        ("uniform", Distribution::Uniform),
        ("gaussian", Distribution::Gaussian),
        ("special", Distribution::Special),
        ("pareto", Distribution::Pareto),
        ("zipfian", Distribution::Zipfian),
    ];
}

/// The options of distributions.
#[derive(Clone, Copy, Debug)]
pub struct Distributions {
    pub default: Distribution,
    /// Draws that are added up.
    pub iterations: u32,
    /// The part of the range that is special, and the part of the draws that fall there.
    pub special_percent: u32,
    pub special_share: u32,
    pub pareto_h: f64,
    pub zipfian_exponent: f64,
}

/// The generator of one client.
#[derive(Clone, Debug)]
pub(super) struct ScriptRandom {
    state: [u64; 2],
    distributions: Distributions,
    pareto_power: f64,
    zipf: ZipfRanks,
}

impl ScriptRandom {
    pub(super) fn new(state: [u64; 2], distributions: Distributions) -> ScriptRandom {
        let h = distributions.pareto_h;
        let zipf = ZipfRanks::new(distributions.zipfian_exponent);
        ScriptRandom { state, distributions, pareto_power: h.ln() / (1.0 - h).ln(), zipf }
    }

    /// 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        bits(&mut self.state)
    }

    /// From 0 to below 1.
    pub(super) fn double(&mut self) -> f64 {
        double(&mut self.state)
    }

    pub(super) fn draw(&mut self, from: u32, to: u32) -> u32 {
        match self.distributions.default {
            Distribution::Uniform => self.uniform(from, to),
            Distribution::Gaussian => self.gaussian(from, to),
            Distribution::Special => self.special(from, to),
            Distribution::Pareto => self.pareto(from, to),
            Distribution::Zipfian => self.zipfian(from, to),
        }
    }

    pub(super) fn uniform(&mut self, from: u32, to: u32) -> u32 {
        let width = to.wrapping_sub(from).wrapping_add(1);
        (f64::from(from) + self.double() * f64::from(width)) as u32
    }

    pub(super) fn gaussian(&mut self, from: u32, to: u32) -> u32 {
        let width = f64::from(to.wrapping_sub(from).wrapping_add(1));
        let iterations = self.distributions.iterations;
        let sum: f64 = (0..iterations).map(|_| self.double() * width).sum();
        from.wrapping_add((sum * (1.0 / f64::from(iterations))) as u32)
    }

    /// Mostly from a narrow part in the middle.
    pub(super) fn special(&mut self, from: u32, to: u32) -> u32 {
        let Distributions { iterations, special_percent, special_share, .. } = self.distributions;
        let width = f64::from(to.wrapping_sub(from));
        let drawn = self.double();
        let stretch = 100.0 / (100.0 - f64::from(special_share));
        if drawn * (width * stretch) < width {
            let mut sum = 0.0;
            for _ in 0..iterations {
                sum += self.double();
            }
            return (f64::from(from) + sum * width * (1.0 / f64::from(iterations))) as u32;
        }
        let percent = f64::from(special_percent);
        let within = drawn * (width * (percent / 100.0) + 1.0);
        let at = within + (width / 2.0 - width * (percent / 200.0));
        from.wrapping_add(at as u32)
    }

    pub(super) fn pareto(&mut self, from: u32, to: u32) -> u32 {
        let width = f64::from(to.wrapping_sub(from).wrapping_add(1));
        from.wrapping_add((width * self.double().powf(self.pareto_power)) as u32)
    }

    /// The first number is the most frequent one.
    pub(super) fn zipfian(&mut self, from: u32, to: u32) -> u32 {
        let width = to.wrapping_sub(from).wrapping_add(1);
        let rank = self.zipf.rank(width, || double(&mut self.state));
        from.wrapping_add(rank).wrapping_sub(1)
    }

    /// `#` becomes a digit and `@` a letter.
    pub(super) fn fill(&mut self, template: &[u8], out: &mut Vec<u8>) {
        out.extend(template.iter().map(|byte| match byte {
            b'#' => self.uniform(b'0'.into(), b'9'.into()) as u8,
            b'@' => self.uniform(b'a'.into(), b'z'.into()) as u8,
            other => *other,
        }));
    }
}

/// Numbers that no two clients of a run share: Preshing, "How to Generate a Sequence of Unique
/// Random Integers", 2012.
#[derive(Clone, Debug)]
pub struct UniqueNumbers {
    next: Arc<AtomicU32>,
    offset: u32,
}

impl UniqueNumbers {
    /// Another sequence each time, as in sysbench.
    pub fn fresh() -> UniqueNumbers {
        let drawn = RandomState::new().build_hasher().finish();
        UniqueNumbers::new(drawn as u32, (drawn >> 32) as u32)
    }

    pub fn new(index: u32, offset: u32) -> UniqueNumbers {
        let mixed = |value: u32, salt: u32| permute(permute(value).wrapping_add(salt));
        let next = Arc::new(AtomicU32::new(mixed(index, 0x682f_0161)));
        UniqueNumbers { next, offset: mixed(offset, 0x4679_0905) }
    }

    /// The same sequence from a later number on.
    pub fn skip(&self, numbers: u32) -> UniqueNumbers {
        let next = self.next.load(Ordering::Relaxed).wrapping_add(numbers);
        UniqueNumbers { next: Arc::new(AtomicU32::new(next)), offset: self.offset }
    }

    pub(super) fn next(&self) -> u32 {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        permute(permute(index).wrapping_add(self.offset) ^ 0x5bf0_3635)
    }
}

/// Quadratic residues of a prime, each number once.
fn permute(number: u32) -> u32 {
    const PRIME: u32 = 4_294_967_291;
    if number >= PRIME {
        return number;
    }
    let residue = (u64::from(number) * u64::from(number) % u64::from(PRIME)) as u32;
    if number <= PRIME / 2 { residue } else { PRIME - residue }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_c_library() {
        // As glibc 2.36 has them.
        for (seed, expected) in [
            (0, [1_804_289_383, 846_930_886, 1_681_692_777]),
            (1, [1_804_289_383, 846_930_886, 1_681_692_777]),
            (42, [71_876_166, 708_592_740, 1_483_128_881]),
        ] {
            let mut random = LibraryRandom::new(seed);
            assert_eq!([(); 3].map(|()| random.next()), expected, "{seed}");
        }
    }

    #[test]
    fn unique_numbers_do_not_repeat() {
        let numbers = UniqueNumbers::new(7, 11);
        let seen: HashSet<u32> = (0..100_000).map(|_| numbers.next()).collect();
        assert_eq!(seen.len(), 100_000);
        let later = numbers.skip(1000);
        assert!((0..100_000).all(|_| !seen.contains(&later.next())));
    }

    #[test]
    fn all_draws_are_within_their_range() {
        for (_, default) in Distribution::NAMES {
            let distributions = Distributions { default, ..super::super::options::usual_draws() };
            let state = client_seeds(7).next().unwrap();
            let mut random = ScriptRandom::new(state, distributions);
            for _ in 0..10_000 {
                assert!((5..=104).contains(&random.draw(5, 104)), "{default:?}");
            }
            assert_eq!(random.uniform(3, 3), 3);
        }
    }
}
