//! From the results of several machines to one verdict on each test: everywhere, on some, or only
//! on a class of machines.
//!
//! Numbers of machines are never put on one scale: only ratios to a baseline of the same machine
//! are, so that a slow machine and a fast one count alike.

use std::collections::BTreeMap;
use std::fmt;

use crate::estimate::{Estimate, Interval};
use crate::multiplicity::{Adjusted, benjamini_hochberg, holm};
use crate::random_effects::{MachineEffect, RandomEffects, between_groups};

/// Fewer machines than this have no mean: an interval on one degree of freedom says nothing.
pub const LEAST_MACHINES: usize = 3;

/// A class has at least as many machines, and so have the others.
const LEAST_OF_CLASS: usize = 2;

const ALPHA: f64 = 0.05;

/// What one machine found in a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OnMachine {
    pub effect: MachineEffect,
    /// Of the machine by itself, at 90 % and at 95 %.
    pub interval_90: Interval,
    pub interval_95: Interval,
    /// By its own verdict an operation costs more, although it is as fast.
    pub costs_more: bool,
}

/// A test with the results of all machines.
#[derive(Clone, Debug, PartialEq)]
pub struct TestOnMachines {
    pub test: String,
    /// On the log scale.
    pub margin: f64,
    /// In the order of the machines; none where it was not measured, or is invalid.
    pub machines: Vec<Option<OnMachine>>,
}

/// A property by which machines are put into classes, such as the vendor of their CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grouping {
    pub name: String,
    /// In the order of the machines; none where it is not known.
    pub classes: Vec<Option<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Slower,
    Faster,
}

/// The verdict on a test over machines. Machines are named by their places.
#[derive(Clone, Debug, PartialEq)]
pub enum AcrossLabel {
    /// On all machines, by the margin or more, or by less.
    All { direction: Direction, is_small: bool },
    /// The mean says so, but these are shown to be unaffected, or changed the other way.
    Most { direction: Direction, not_on: Vec<usize> },
    /// Only on the machines of a class; those of the others are shown to be unaffected.
    OnlyOn { direction: Direction, grouping: String, class: String },
    /// Machines differ, and no class tells which.
    Differs,
    /// No change on any machine.
    NoChange,
    /// Of one machine, which has a verdict of its own.
    OneMachine,
    /// Too few machines for a mean.
    TooFew,
    /// None of the others. Whether more machines would help, or more rounds.
    Inconclusive { needs_machines: bool },
}

impl AcrossLabel {
    /// Whether it is one that a program should fail for.
    pub fn is_regression(&self) -> bool {
        match self {
            AcrossLabel::All { direction, is_small } => {
                *direction == Direction::Slower && !is_small
            }
            AcrossLabel::Most { direction, .. } | AcrossLabel::OnlyOn { direction, .. } => {
                *direction == Direction::Slower
            }
            _ => false,
        }
    }

    /// Whether it decides nothing.
    pub fn is_open(&self) -> bool {
        matches!(self, AcrossLabel::TooFew | AcrossLabel::Inconclusive { .. })
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Slower => "regression",
            Direction::Faster => "improvement",
        })
    }
}

impl fmt::Display for AcrossLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AcrossLabel::All { direction, is_small } => {
                let small = if *is_small { "small " } else { "" };
                write!(f, "{small}{direction} on all machines")
            }
            AcrossLabel::Most { direction, .. } => write!(f, "{direction} on most machines"),
            AcrossLabel::OnlyOn { direction, grouping, class } => {
                write!(f, "{direction} only on {grouping} {class}")
            }
            AcrossLabel::Differs => f.write_str("differs between machines"),
            AcrossLabel::NoChange => f.write_str("no change on any machine"),
            AcrossLabel::OneMachine => f.write_str("of one machine, by its own verdict"),
            AcrossLabel::TooFew => f.write_str("inconclusive (fewer than three machines)"),
            AcrossLabel::Inconclusive { needs_machines } => {
                let what = if *needs_machines { "machines" } else { "rounds" };
                write!(f, "inconclusive (more {what} needed)")
            }
        }
    }
}

/// The verdict on one test.
#[derive(Clone, Debug, PartialEq)]
pub struct AcrossVerdict {
    pub test: String,
    pub label: AcrossLabel,
    /// The mean over machines with its interval, adjusted for the family of tests, and its own
    /// p-value; none for fewer than three machines.
    pub estimate: Option<Estimate>,
    pub adjusted_p: f64,
    /// None for fewer than two machines.
    pub pooled: Option<RandomEffects>,
    /// The places of the machines in `pooled`.
    pub places: Vec<usize>,
    /// That machines do not differ, adjusted for the family of tests.
    pub difference_p: f64,
}

impl AcrossVerdict {
    /// The weight of a machine in the mean.
    pub fn weight(&self, place: usize) -> Option<f64> {
        let index = self.places.iter().position(|known| *known == place)?;
        self.pooled.as_ref().map(|pooled| pooled.weights[index])
    }
}

/// Judges the tests of one contender. Groupings are tried in their order.
pub fn judge_across(tests: &[TestOnMachines], groupings: &[Grouping]) -> Vec<AcrossVerdict> {
    let pooled: Vec<(Vec<usize>, Option<RandomEffects>)> = tests.iter().map(pool).collect();
    let has_mean = |places: &[usize]| places.len() >= LEAST_MACHINES;
    let p = |(places, pooled): &(Vec<usize>, Option<RandomEffects>)| match pooled {
        Some(pooled) if has_mean(places) => pooled.estimate(ALPHA).p,
        _ => 1.0,
    };
    let means = benjamini_hochberg(&pooled.iter().map(p).collect::<Vec<_>>(), ALPHA);
    let differs = |(_, pooled): &(Vec<usize>, Option<RandomEffects>)| {
        pooled.as_ref().map_or(1.0, |pooled| pooled.heterogeneity.p)
    };
    let differences = holm(&pooled.iter().map(differs).collect::<Vec<_>>(), ALPHA);
    let classes = only_on(tests, groupings);

    let judged = tests.iter().zip(pooled).enumerate().map(|(index, (test, (places, pooled)))| {
        let Adjusted { p: adjusted_p, alpha } = means[index];
        let estimate =
            pooled.as_ref().filter(|_| has_mean(&places)).map(|pooled| pooled.estimate(alpha));
        let difference_p = differences[index].p;
        let label = label(
            test,
            (&places, pooled.as_ref(), estimate),
            classes[index].clone(),
            difference_p <= ALPHA,
        );
        let test = test.test.clone();
        AcrossVerdict { test, label, estimate, adjusted_p, pooled, places, difference_p }
    });
    judged.collect()
}

/// The places of the machines that have a weight, and their mean.
fn pool(test: &TestOnMachines) -> (Vec<usize>, Option<RandomEffects>) {
    let found = |(place, machine): (usize, &Option<OnMachine>)| {
        Some((place, machine.as_ref().map(|it| it.effect).filter(MachineEffect::is_usable)?))
    };
    let (places, effects): (Vec<usize>, Vec<MachineEffect>) =
        test.machines.iter().enumerate().filter_map(found).unzip();
    let pooled = RandomEffects::new(&effects);
    (places, pooled)
}

fn label(
    test: &TestOnMachines,
    (places, pooled, estimate): (&[usize], Option<&RandomEffects>, Option<Estimate>),
    only_on: Option<AcrossLabel>,
    is_different: bool,
) -> AcrossLabel {
    let machines = || places.iter().filter_map(|place| test.machines[*place]);
    let is_as_before = |machine: OnMachine| is_within(&machine, test.margin) && !machine.costs_more;
    let is_unchanged = places.len() >= 2 && machines().all(is_as_before);
    let (Some(pooled), Some(estimate)) = (pooled, estimate) else {
        return match (places.len(), is_different, is_unchanged) {
            (1, ..) => AcrossLabel::OneMachine,
            (_, true, _) => AcrossLabel::Differs,
            (_, _, true) => AcrossLabel::NoChange,
            _ => AcrossLabel::TooFew,
        };
    };
    if estimate.is_significant() {
        let direction = direction(estimate.value);
        if estimate.value.abs() < test.margin {
            let is_alike = !is_different && only_on.is_none();
            if is_alike {
                return AcrossLabel::All { direction, is_small: true };
            }
        } else {
            let not_on = unaffected(test, places, direction);
            return match not_on.is_empty() {
                true => AcrossLabel::All { direction, is_small: false },
                false => AcrossLabel::Most { direction, not_on },
            };
        }
    }
    match only_on {
        Some(only_on) => only_on,
        None if is_different => AcrossLabel::Differs,
        None if is_unchanged => AcrossLabel::NoChange,
        None => AcrossLabel::Inconclusive { needs_machines: pooled.is_between() },
    }
}

fn direction(value: f64) -> Direction {
    if value < 0.0 { Direction::Slower } else { Direction::Faster }
}

/// Machines that are shown not to have changed in this direction.
fn unaffected(test: &TestOnMachines, places: &[usize], direction: Direction) -> Vec<usize> {
    let is_shown = |place: &&usize| {
        let Some(machine) = &test.machines[**place] else { return false };
        let is_opposite = match direction {
            Direction::Slower => machine.interval_95.low > 0.0,
            Direction::Faster => machine.interval_95.high < 0.0,
        };
        is_opposite || is_within(machine, test.margin)
    };
    places.iter().filter(is_shown).copied().collect()
}

/// Whether a machine is shown to be unaffected.
fn is_within(machine: &OnMachine, margin: f64) -> bool {
    machine.interval_90.low > -margin && machine.interval_90.high < margin
}

/// Of each test, the first grouping that has one changed class while the others are unaffected, if
/// the groups differ by more than chance: Holm's procedure over tests and groupings.
fn only_on(tests: &[TestOnMachines], groupings: &[Grouping]) -> Vec<Option<AcrossLabel>> {
    let found: Vec<Vec<(f64, Option<AcrossLabel>)>> = tests
        .iter()
        .map(|test| groupings.iter().map(|grouping| changed_class(test, grouping)).collect())
        .collect();
    let p: Vec<f64> = found.iter().flatten().map(|(p, _)| *p).collect();
    let adjusted = holm(&p, ALPHA);
    let mut adjusted = adjusted.iter();
    let first = |of_test: Vec<(f64, Option<AcrossLabel>)>| {
        let with_p: Vec<_> = of_test.into_iter().zip(adjusted.by_ref()).collect();
        let is_shown = |((_, label), adjusted): ((f64, Option<AcrossLabel>), &Adjusted)| {
            label.filter(|_| adjusted.p <= ALPHA)
        };
        with_p.into_iter().find_map(is_shown)
    };
    found.into_iter().map(first).collect()
}

/// The probability that the classes of a grouping differ as much by chance, and the class that has
/// changed alone.
fn changed_class(test: &TestOnMachines, grouping: &Grouping) -> (f64, Option<AcrossLabel>) {
    let mut classes: BTreeMap<&str, Vec<&OnMachine>> = BTreeMap::new();
    for (machine, class) in test.machines.iter().zip(&grouping.classes) {
        if let (Some(machine), Some(class)) = (machine, class)
            && machine.effect.is_usable()
        {
            classes.entry(class).or_default().push(machine);
        }
    }
    let means: Vec<MachineEffect> = classes.values().map(|of| mean(of)).collect();
    let p = between_groups(&means);
    let changed =
        classes.iter().filter_map(|(class, of)| Some((*class, changed(of, test.margin)?)));
    let changed: Vec<(&str, Direction)> = changed.collect();
    let [(class, direction)] = changed[..] else { return (p, None) };
    let others = || classes.iter().filter(|(name, _)| **name != class).flat_map(|(_, of)| of);
    let is_alone = others().count() >= LEAST_OF_CLASS
        && others().all(|machine| is_within(machine, test.margin));
    let label = AcrossLabel::OnlyOn {
        direction,
        grouping: grouping.name.clone(),
        class: class.to_string(),
    };
    (p, is_alone.then_some(label))
}

fn mean(machines: &[&OnMachine]) -> MachineEffect {
    let effects: Vec<MachineEffect> = machines.iter().map(|machine| machine.effect).collect();
    match RandomEffects::new(&effects) {
        Some(pooled) => MachineEffect { value: pooled.mean, error: pooled.error() },
        None => effects[0],
    }
}

/// The change of a class of machines. Three or more have an interval of their mean; of two each has
/// changed by itself.
fn changed(machines: &[&OnMachine], margin: f64) -> Option<Direction> {
    if machines.len() < LEAST_OF_CLASS {
        return None;
    }
    let effects: Vec<MachineEffect> = machines.iter().map(|machine| machine.effect).collect();
    let pooled = RandomEffects::new(&effects)?;
    if pooled.mean.abs() < margin {
        return None;
    }
    let direction = direction(pooled.mean);
    let is_clear = |interval: &Interval| match direction {
        Direction::Slower => interval.high < 0.0,
        Direction::Faster => interval.low > 0.0,
    };
    let is_shown = match machines.len() >= LEAST_MACHINES {
        true => is_clear(&pooled.estimate(ALPHA).interval),
        false => machines.iter().all(|machine| is_clear(&machine.interval_95)),
    };
    is_shown.then_some(direction)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with a ratio and a standard error in percent.
    fn machine(percent: f64, error: f64) -> Option<OnMachine> {
        let (value, error) = (percent / 100.0, error / 100.0);
        let interval = |z: f64| Interval::around(value, z * error);
        let interval_90 = interval(1.645);
        Some(OnMachine {
            effect: MachineEffect { value, error },
            interval_90,
            interval_95: interval(1.96),
            costs_more: false,
        })
    }

    fn test(machines: &[Option<OnMachine>]) -> TestOnMachines {
        let machines = machines.to_vec();
        TestOnMachines { test: "point-query".to_string(), margin: 0.02, machines }
    }

    fn vendors(classes: &[&str]) -> Vec<Grouping> {
        let classes = classes.iter().map(|class| Some(class.to_string())).collect();
        vec![Grouping { name: "vendor".to_string(), classes }]
    }

    #[track_caller]
    fn judged(machines: &[Option<OnMachine>], groupings: &[Grouping]) -> String {
        judge_across(&[test(machines)], groupings)[0].label.to_string()
    }

    #[test]
    fn every_label_has_its_words() {
        let slower = || machine(-5.0, 0.3);
        let same = || machine(0.1, 0.3);
        let four = ["AMD", "AMD", "Intel", "Intel"];
        for (machines, classes, words) in [
            (
                vec![slower(), machine(-4.6, 0.3), machine(-5.5, 0.4)],
                &four[..3],
                "regression on all machines",
            ),
            (
                vec![machine(5.0, 0.3), machine(4.6, 0.3), machine(5.5, 0.4)],
                &four[..3],
                "improvement on all machines",
            ),
            (
                vec![machine(-1.0, 0.1), machine(-1.1, 0.1), machine(-0.9, 0.1)],
                &four[..3],
                "small regression on all machines",
            ),
            (
                vec![same(), machine(-0.2, 0.3), machine(0.0, 0.4)],
                &four[..3],
                "no change on any machine",
            ),
            (
                vec![slower(), machine(-5.2, 0.3), same(), machine(-0.1, 0.3)],
                &four[..],
                "regression only on vendor AMD",
            ),
            (
                vec![slower(), same(), machine(-5.2, 0.3), machine(-0.1, 0.3)],
                &four[..],
                "differs between machines",
            ),
            (
                vec![machine(-1.0, 3.0), machine(1.0, 3.0), machine(2.0, 3.0)],
                &four[..3],
                "inconclusive (more rounds needed)",
            ),
            (vec![machine(-3.0, 1.0)], &four[..1], "of one machine, by its own verdict"),
            (
                vec![slower(), machine(-5.2, 0.3)],
                &four[..2],
                "inconclusive (fewer than three machines)",
            ),
            (vec![slower(), same()], &four[..2], "differs between machines"),
            (vec![same(), same()], &four[..2], "no change on any machine"),
        ] {
            assert_eq!(judged(&machines, &vendors(classes)), words, "{machines:?}");
        }
    }

    #[test]
    fn one_machine_that_is_not_affected_is_named() {
        let mut machines: Vec<_> = (0..9).map(|at| machine(-5.0 - 0.1 * at as f64, 0.3)).collect();
        machines.push(machine(0.0, 0.3));
        let verdict = &judge_across(&[test(&machines)], &[])[0];
        let most = AcrossLabel::Most { direction: Direction::Slower, not_on: vec![9] };
        assert_eq!(verdict.label, most);
        assert!(verdict.label.is_regression());
    }

    #[test]
    fn one_machine_of_a_vendor_is_no_class() {
        let machines = [machine(-5.0, 0.3), machine(0.1, 0.3), machine(-0.1, 0.3)];
        let groupings = vendors(&["AMD", "Intel", "Intel"]);
        assert_eq!(judged(&machines, &groupings), "differs between machines");
    }

    #[test]
    fn a_machine_without_a_result_has_no_weight() {
        let three = [machine(-5.0, 0.3), machine(-5.1, 0.3), machine(-4.9, 0.3)];
        let whole = &judge_across(&[test(&three)], &[])[0];
        let [one, two, last] = three;
        let with_gap = &judge_across(&[test(&[one, None, two, last])], &[])[0];
        assert_eq!(with_gap.label, whole.label);
        assert_eq!(with_gap.estimate, whole.estimate);
        assert_eq!((with_gap.weight(1), with_gap.weight(3)), (None, whole.weight(2)));
    }

    /// Of twenty tests without a change, one alone would be a finding by chance.
    #[test]
    fn many_tests_are_one_family() {
        let borderline = test(&[machine(-2.2, 1.5), machine(-2.0, 1.5), machine(-2.4, 1.5)]);
        let alone = &judge_across(std::slice::from_ref(&borderline), &[])[0];
        assert!(alone.estimate.unwrap().is_significant());
        let same = test(&[machine(0.1, 0.3), machine(-0.1, 0.3), machine(0.0, 0.3)]);
        let mut tests = vec![borderline];
        tests.extend((0..200).map(|_| same.clone()));
        let among = &judge_across(&tests, &[])[0];
        assert!(!among.estimate.unwrap().is_significant() && among.adjusted_p > 0.05);
    }
}
