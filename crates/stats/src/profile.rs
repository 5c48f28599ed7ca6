//! Differences of CPU profiles: microseconds per operation of every function, for two arms that
//! were profiled several times each.
//!
//! A profile is divided by the operations of its run, not by its samples, so the change of a
//! function is a part of the change of CPU per operation.
//!
//! Four runs of an arm estimate the variance of one function poorly: with Welch's interval alone,
//! adjusted for some hundred functions, a fall from 8.1 to 0.1 us was not significant. But the
//! sources of the variance are known: samples are counted, and a run is faster or slower as a
//! whole. So the variance of a function is the sum of these two, times a dispersion that functions
//! borrow from each other (Smyth 2004, as edgeR and limma do for genes), and never less than that
//! of counting. Degrees of freedom are Welch's and Satterthwaite's over the parts.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::estimate::{Estimate, Interval, mean, variance};
use crate::moderated::{Prior, Variance};
use crate::multiplicity::benjamini_hochberg;

/// A run under a profiler.
#[derive(Clone, Debug)]
pub struct Profile<'a> {
    /// Nanoseconds of CPU by stack, the outermost function first, joined by semicolons.
    pub stacks: Cow<'a, BTreeMap<String, u64>>,
    pub samples: u64,
    pub operations: u64,
}

/// Which part of a stack's time counts for a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Its own time.
    Own,
    /// Its own time and that of all functions it called.
    Inclusive,
}

/// A function in the profiles of both arms, in microseconds per operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    pub name: String,
    pub base: f64,
    pub contender: f64,
    /// Contender minus baseline; interval and p adjusted for the number of functions.
    pub change: Estimate,
}

/// Functions below this share of the CPU in both arms are not tested: each additional one makes the
/// intervals of all others wider.
const LEAST_SHARE: f64 = 0.005;
const ALPHA: f64 = 0.05;

/// Every function that is tested, the largest growth first and the largest fall last. None with
/// fewer than two runs of an arm, or without samples.
pub fn functions(base: &[Profile], contender: &[Profile], of: Measure) -> Option<Vec<Function>> {
    let sides = [Side::new(base, of)?, Side::new(contender, of)?];
    let is_seen = |name: &&&str| sides.iter().any(|side| side.share(name) >= LEAST_SHARE);
    let names: BTreeSet<&str> = sides.iter().flat_map(|side| side.micros.keys().copied()).collect();
    let names: Vec<&str> = names.iter().filter(is_seen).copied().collect();
    let dispersions: Vec<Variance> =
        names.iter().filter_map(|name| dispersion(&sides, name)).collect();
    let prior = Prior::estimate(&dispersions);
    let change = |name: &str, alpha: f64| change(&sides, name, prior.as_ref(), alpha);
    let p: Vec<f64> = names.iter().map(|name| change(name, ALPHA).p).collect();
    let adjusted = benjamini_hochberg(&p, ALPHA);
    let mut functions: Vec<Function> = names
        .iter()
        .zip(adjusted)
        .map(|(name, adjusted)| Function {
            name: name.to_string(),
            base: sides[0].mean(name),
            contender: sides[1].mean(name),
            change: Estimate { p: adjusted.p, ..change(name, adjusted.alpha) },
        })
        .collect();
    functions.sort_by(|left, right| right.change.value.total_cmp(&left.change.value));
    Some(functions)
}

/// The functions that have grown significantly, the largest growth first.
pub fn growths(functions: &[Function]) -> impl Iterator<Item = &Function> {
    functions.iter().filter(|function| function.change.interval.low > 0.0)
}

/// The functions that have shrunk significantly, the largest fall first.
pub fn falls(functions: &[Function]) -> impl Iterator<Item = &Function> {
    functions.iter().rev().filter(|function| function.change.interval.high < 0.0)
}

/// Microseconds of CPU per operation, over several runs.
pub fn total(profiles: &[Profile]) -> f64 {
    let nanos: u64 = profiles.iter().flat_map(|profile| profile.stacks.values()).sum();
    nanos as f64 / 1e3 / operations(profiles)
}

/// Microseconds per operation by stack, over several runs.
pub fn merged(profiles: &[Profile]) -> BTreeMap<String, f64> {
    let mut merged: BTreeMap<String, f64> = BTreeMap::new();
    let operations = operations(profiles);
    for (stack, nanos) in profiles.iter().flat_map(|profile| profile.stacks.iter()) {
        *merged.entry(stack.clone()).or_default() += *nanos as f64 / 1e3 / operations;
    }
    merged
}

fn operations(profiles: &[Profile]) -> f64 {
    profiles.iter().map(|profile| profile.operations).sum::<u64>().max(1) as f64
}

/// The share of the time in stacks with a property.
pub fn share(profiles: &[Profile], is_so: impl Fn(&str) -> bool) -> f64 {
    let all = || profiles.iter().flat_map(|profile| profile.stacks.iter());
    let so: u64 = all().filter(|(stack, _)| is_so(stack)).map(|(_, nanos)| nanos).sum();
    so as f64 / all().map(|(_, nanos)| nanos).sum::<u64>().max(1) as f64
}

/// The runs of an arm.
struct Side<'a> {
    /// By function, microseconds per operation of each run.
    micros: BTreeMap<&'a str, Vec<f64>>,
    /// Of each run, of all functions.
    totals: Vec<f64>,
    /// Of each run, what one sample counts for.
    sample: Vec<f64>,
}

impl<'a> Side<'a> {
    fn new(profiles: &'a [Profile<'_>], of: Measure) -> Option<Side<'a>> {
        let is_empty = |one: &Profile| one.samples == 0 || one.operations == 0;
        if profiles.len() < 2 || profiles.iter().any(is_empty) {
            return None;
        }
        let count = profiles.len();
        let mut side = Side { micros: BTreeMap::new(), totals: Vec::new(), sample: Vec::new() };
        for (run, profile) in profiles.iter().enumerate() {
            let mut total = 0.0;
            for (stack, nanos) in profile.stacks.iter() {
                let micros = *nanos as f64 / 1e3 / profile.operations as f64;
                total += micros;
                for name in names(stack, of) {
                    side.micros.entry(name).or_insert_with(|| vec![0.0; count])[run] += micros;
                }
            }
            side.totals.push(total);
            side.sample.push(total / profile.samples as f64);
        }
        Some(side)
    }

    fn mean(&self, name: &str) -> f64 {
        self.micros.get(name).map_or(0.0, |runs| mean(runs))
    }

    fn share(&self, name: &str) -> f64 {
        self.mean(name) / mean(&self.totals)
    }

    /// The expected variance of a run: from counting samples, and from the speed of the run as a
    /// whole. The CPU time sets the number of samples, so the number in a function is binomial.
    fn expected(&self, name: &str) -> [f64; 2] {
        let Some(runs) = self.micros.get(name) else { return [0.0; 2] };
        let counting = runs.iter().zip(&self.totals).zip(&self.sample);
        let counting: Vec<f64> = counting
            .map(|((micros, total), sample)| micros * sample * (1.0 - micros / total).max(0.0))
            .collect();
        let whole = variance(&self.totals) / mean(&self.totals).powi(2);
        [mean(&counting), whole * self.mean(name).powi(2)]
    }
}

/// The variance of a function's runs as a multiple of what is expected. None if it is in no run.
fn dispersion(sides: &[Side; 2], name: &str) -> Option<Variance> {
    let (mut sum, mut degrees) = (0.0, 0.0);
    for side in sides {
        let expected: f64 = side.expected(name).iter().sum();
        if let Some(runs) = side.micros.get(name).filter(|_| expected > 0.0) {
            let own = (runs.len() - 1) as f64;
            sum += variance(runs) / expected * own;
            degrees += own;
        }
    }
    (degrees > 0.0).then(|| Variance { value: sum / degrees, degrees })
}

/// The functions of a stack that its time counts for, each once.
fn names(stack: &str, of: Measure) -> Vec<&str> {
    match of {
        Measure::Own => vec![innermost(stack)],
        Measure::Inclusive => {
            let mut names: Vec<&str> = stack.split(';').collect();
            names.sort_unstable();
            names.dedup();
            names
        }
    }
}

/// The function that was running.
pub fn innermost(stack: &str) -> &str {
    stack.rsplit(';').next().unwrap_or(stack)
}

/// Contender minus baseline, with its interval at the level 1 − `alpha`.
fn change(sides: &[Side; 2], name: &str, prior: Option<&Prior>, alpha: f64) -> Estimate {
    let value = sides[1].mean(name) - sides[0].mean(name);
    let Some(own) = dispersion(sides, name) else {
        // Of nothing nothing can be said.
        return Estimate { value, interval: Interval::EVERYTHING, p: 1.0 };
    };
    let moderated = prior.map_or(own, |prior| prior.moderate(own));
    let times = moderated.value.max(1.0);
    let (mut sum, mut uncertain) = (0.0, 0.0);
    for side in sides {
        let runs = side.totals.len() as f64;
        let [counting, whole] = side.expected(name).map(|part| times * part / runs);
        sum += counting + whole;
        uncertain += counting.powi(2) / moderated.degrees + whole.powi(2) / (runs - 1.0);
    }
    Estimate::from_t(value, sum.sqrt(), sum * sum / uncertain, alpha)
}

/// The stacks of two arms from the innermost function on that nearly all of them share: below it is
/// how a server starts its threads, which differs between releases and is irrelevant.
#[derive(Clone, Debug, PartialEq)]
pub struct Anchored {
    /// None if there is no such function; stacks are then whole.
    pub anchor: Option<String>,
    pub base: BTreeMap<String, f64>,
    pub contender: BTreeMap<String, f64>,
}

/// The share of the time that must be spent within a function for it to be an anchor.
const NEARLY_ALL: f64 = 0.9;

/// `cut` is the outermost frame of stacks that are not whole; they may be anchored all the same.
pub fn anchored(
    base: BTreeMap<String, f64>,
    contender: BTreeMap<String, f64>,
    cut: &str,
) -> Anchored {
    let trunks = [trunk(&base, cut), trunk(&contender, cut)];
    let anchor = trunks[0].iter().rev().find(|name| trunks[1].contains(name));
    let anchor = anchor.map(|name| name.to_string());
    let Some(name) = anchor.as_deref() else { return Anchored { anchor, base, contender } };
    let from_there = |stacks: &BTreeMap<String, f64>| {
        let mut shortened: BTreeMap<String, f64> = BTreeMap::new();
        for (stack, micros) in stacks {
            let frames: Vec<&str> = stack.split(';').collect();
            let from = frames.iter().position(|frame| *frame == name).unwrap_or(0);
            *shortened.entry(frames[from..].join(";")).or_default() += micros;
        }
        shortened
    };
    let (base, contender) = (from_there(&base), from_there(&contender));
    Anchored { anchor, base, contender }
}

/// The functions, from the outermost on, one within the other, that nearly all the time is spent
/// in.
fn trunk<'a>(stacks: &'a BTreeMap<String, f64>, cut: &str) -> Vec<&'a str> {
    let mut within: Vec<(std::str::Split<'a, char>, f64)> = stacks
        .iter()
        .map(|(stack, micros)| (stack.split(';'), *micros))
        .filter(|(frames, _)| frames.clone().next() != Some(cut))
        .collect();
    let least = NEARLY_ALL * within.iter().map(|(_, micros)| micros).sum::<f64>();
    let mut trunk = Vec::new();
    loop {
        let mut next: BTreeMap<&str, (f64, Vec<_>)> = BTreeMap::new();
        for (mut frames, micros) in within {
            let Some(name) = frames.next() else { continue };
            let (sum, below) = next.entry(name).or_default();
            *sum += micros;
            below.push((frames, micros));
        }
        let largest = next.into_iter().max_by(|left, right| left.1.0.total_cmp(&right.1.0));
        match largest.filter(|(_, (sum, _))| *sum > 0.0 && *sum >= least) {
            Some((name, (_, below))) => {
                trunk.push(name);
                within = below;
            }
            None => return trunk,
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    const MILLI: u64 = 1_000_000;

    fn stacks(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|(stack, count)| (stack.to_string(), count * MILLI)).collect()
    }

    fn profiles(runs: &[BTreeMap<String, u64>], operations: u64) -> Vec<Profile<'_>> {
        let samples = |stacks: &BTreeMap<String, u64>| stacks.values().sum::<u64>() / MILLI;
        let of = |stacks| Profile {
            stacks: Cow::Borrowed(stacks),
            samples: samples(stacks),
            operations,
        };
        runs.iter().map(of).collect()
    }

    fn named<'a>(functions: &'a [Function], name: &str) -> &'a Function {
        functions.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("no {name}"))
    }

    #[test]
    fn time_is_per_operation_and_a_function_within_itself_counts_once() {
        let run = || stacks(&[("main;f;g;f", 300), ("main;f", 500), ("main;h", 200)]);
        let (base, other) = ([run(), run()], [run(), run()]);
        // Twice as many operations in the same time: everything costs half.
        let (base, other) = (profiles(&base, 100_000), profiles(&other, 200_000));
        let own = functions(&base, &other, Measure::Own).unwrap();
        assert_eq!(named(&own, "f").base, 8.0);
        assert_eq!(named(&own, "f").contender, 4.0);
        assert!(own.iter().all(|function| function.name != "main"), "it did nothing itself");
        let all = functions(&base, &other, Measure::Inclusive).unwrap();
        assert_eq!(named(&all, "f").base, 8.0);
        assert_eq!(named(&all, "g").base, 3.0);
        assert_eq!(named(&all, "main").change.value, -5.0);
        assert_eq!(total(&base), 10.0);
    }

    #[test]
    fn runs_that_agree_by_chance_are_not_certain() {
        let of = |count: u64| [(); 4].map(|()| stacks(&[("f", count), ("g", 197)]));
        let (base, other) = (of(2), of(3));
        let functions =
            functions(&profiles(&base, 1_000), &profiles(&other, 1_000), Measure::Own).unwrap();
        assert!(!named(&functions, "f").change.is_significant());
    }

    #[test]
    fn a_function_that_is_new_grows_and_one_that_is_gone_falls() {
        let base = [500, 510, 490, 505].map(|gone| stacks(&[("m;gone", gone), ("m;f", 1_000)]));
        let other = [300, 290, 310, 305].map(|new| stacks(&[("m;new", new), ("m;f", 1_000)]));
        let (base, other) = (profiles(&base, 100_000), profiles(&other, 100_000));
        let own = functions(&base, &other, Measure::Own).unwrap();
        let names = |of: Vec<&Function>| of.iter().map(|f| f.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(growths(&own).collect()), ["new"]);
        assert_eq!(names(falls(&own).collect()), ["gone"]);
    }

    /// So many samples, of functions of very different cost; `slowed` more of the cost of the first
    /// one. Runs differ by some 5 % as a whole, in the operations that they do meanwhile.
    fn run(random: &mut Xoshiro256PlusPlus, slowed: f64) -> (BTreeMap<String, u64>, u64) {
        let mut counts = BTreeMap::new();
        for _ in 0..2_000 {
            let which = random.random::<f64>() * (1.0 + slowed * FIRST);
            let which = if which > 1.0 { 0 } else { (120.0 * which.powi(2)) as u32 };
            *counts.entry(format!("main;f{which}")).or_default() += MILLI;
        }
        let speed = 1.0 + 0.1 * (random.random::<f64>() - 0.5) * 3.0_f64.sqrt();
        (counts, (100_000.0 * speed / (1.0 + slowed * FIRST)) as u64)
    }

    /// The share of the first function: of [`run`]'s 120, a uniform number below the root of 1/120.
    const FIRST: f64 = 0.0913;

    fn sides(random: &mut Xoshiro256PlusPlus, slowed: f64) -> Option<Vec<Function>> {
        let base = [(); 4].map(|()| run(random, 0.0));
        let other = [(); 4].map(|()| run(random, slowed));
        let of = |(stacks, operations)| Profile {
            stacks: Cow::Borrowed(stacks),
            samples: 2_000,
            operations,
        };
        let [base, other] =
            [&base, &other].map(|runs| runs.each_ref().map(|run| of((&run.0, run.1))));
        functions(&base, &other, Measure::Own)
    }

    #[test]
    fn a_build_against_itself_has_no_changes_but_by_chance() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let trials = 200;
        let mut false_alarms = 0;
        for _ in 0..trials {
            let own = sides(&mut random, 0.0).unwrap();
            false_alarms += usize::from(growths(&own).count() + falls(&own).count() > 0);
        }
        // With no true change the share of comparisons that find one is at most 5 %: 10, give or
        // take three standard deviations of 3.1.
        assert!(false_alarms <= 19, "{false_alarms} of {trials}");
    }

    #[test]
    fn a_function_that_costs_half_again_as_much_is_found_and_its_interval_holds_the_truth() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
        let trials = 200;
        // 2000 ms for 100,000 operations are 20 us.
        let truth = 0.5 * FIRST * 20.0;
        let (mut found, mut held, mut others) = (0, 0, 0);
        for _ in 0..trials {
            let own = sides(&mut random, 0.5).unwrap();
            let first = named(&own, "f0");
            found += usize::from(growths(&own).any(|function| function.name == "f0"));
            held += usize::from(first.change.interval.contains(truth));
            others += growths(&own).chain(falls(&own)).filter(|one| one.name != "f0").count();
        }
        assert!(found >= 190, "found in {found}");
        // Its interval is at the level of one test in a hundred, or so.
        assert!(held >= 190, "held in {held}");
        assert!(others <= 25, "{others} others");
    }

    #[test]
    fn half_of_what_a_function_costs_is_seen() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(8);
        let mut run = |f: f64| {
            let mut counts = BTreeMap::new();
            for _ in 0..2_000 {
                let name = if random.random::<f64>() < f { "f" } else { "rest" };
                *counts.entry(name.to_string()).or_default() += MILLI;
            }
            counts
        };
        let base = [(); 4].map(|()| run(0.10));
        let other = [(); 4].map(|()| run(0.05));
        let own =
            functions(&profiles(&base, 100_000), &profiles(&other, 100_000), Measure::Own).unwrap();
        assert!(falls(&own).any(|function| function.name == "f"));
    }

    #[test]
    fn too_few_runs_say_nothing() {
        let run = [stacks(&[("f", 1)])];
        assert_eq!(functions(&profiles(&run, 1), &profiles(&run, 1), Measure::Own), None);
        let empty = [stacks(&[]), stacks(&[])];
        assert_eq!(functions(&profiles(&empty, 1), &profiles(&empty, 1), Measure::Own), None);
    }

    #[test]
    fn stacks_begin_at_what_both_sides_have_in_common() {
        let micros = |counts: &[(&str, u64)]| -> BTreeMap<String, f64> {
            counts.iter().map(|(stack, count)| (stack.to_string(), *count as f64)).collect()
        };
        let base = micros(&[
            ("_start;main;Loop;Run;Main;parse", 40),
            ("_start;main;Loop;Run;Main;execute;scan", 55),
            ("_start;main;writer", 3),
            ("[deeper];x;Main;parse", 10),
            ("[deeper];x;y", 7),
        ]);
        let contender = micros(&[("_start;main;Loop;launch;Child;Main;parse", 100)]);
        let found = anchored(base, contender, "[deeper]");
        assert_eq!(found.anchor.as_deref(), Some("Main"));
        let expected = micros(&[
            ("Main;parse", 50),
            ("Main;execute;scan", 55),
            ("_start;main;writer", 3),
            ("[deeper];x;y", 7),
        ]);
        assert_eq!(found.base, expected);
        assert_eq!(found.contender, micros(&[("Main;parse", 100)]));

        let strangers = anchored(micros(&[("a;b", 1)]), micros(&[("c;b", 1)]), "[deeper]");
        assert_eq!(strangers.anchor.as_deref(), Some("b"));
    }
}
