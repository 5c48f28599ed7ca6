//! Comparisons on several machines: what each has found, and what that means for all of them.

use rqps_stats::across::{AcrossVerdict, Grouping, OnMachine, TestOnMachines, judge_across};
use rqps_stats::label::Label;
use rqps_stats::random_effects::MachineEffect;
use rqps_stats::verdict::Verdict;
use rqps_store::{Difference, MachineRuns, Machines, Manifest};

use crate::comparison::{FailOn, Gate, Results};

/// The results of all machines, and the verdicts over them.
pub struct Fleet<'a> {
    pub machines: Vec<FleetMachine<'a>>,
    pub base: String,
    pub tests: Vec<String>,
    pub contenders: Vec<AcrossContender>,
    pub groupings: Vec<Grouping>,
    pub differences: &'a [Difference],
    pub clones: &'a [(String, String)],
}

/// A machine with its own results.
pub struct FleetMachine<'a> {
    pub name: String,
    /// The names of its runs.
    pub runs: &'a [String],
    pub results: Results<'a>,
    pub class: MachineClass,
    /// Measurements that a guard has discarded.
    pub discarded: usize,
}

/// A contender on all machines.
pub struct AcrossContender {
    pub contender: String,
    /// By test, as in [`Fleet::tests`].
    pub verdicts: Vec<AcrossVerdict>,
}

/// A kind of machine, as found and not as named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MachineClass {
    pub vendor: Option<String>,
    pub model: Option<String>,
    pub memory: Option<String>,
    pub kernel: Option<String>,
    pub storage: Option<String>,
}

/// A property by its name.
type Property = (&'static str, fn(&MachineClass) -> &Option<String>);

/// Classes are looked for in this order, and by no other property.
pub const PROPERTIES: [Property; 5] = [
    ("CPU vendor", |class| &class.vendor),
    ("CPU", |class| &class.model),
    ("memory", |class| &class.memory),
    ("kernel", |class| &class.kernel),
    ("storage", |class| &class.storage),
];

impl MachineClass {
    pub fn new(manifest: &Manifest) -> Self {
        let fact = |wanted: &str| {
            let mut facts = manifest.machine.iter();
            facts.find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| &**value)
        };
        let model = fact("cpu");
        MachineClass {
            vendor: model.and_then(vendor),
            model: model.map(str::to_string),
            memory: fact("memory").and_then(memory),
            kernel: fact("kernel").and_then(kernel),
            storage: storage(fact("disk rotational"), fact("filesystem")),
        }
    }
}

/// `AMD` of `AMD EPYC 7B13`, `Intel` of `Intel(R) Xeon(R) CPU @ 2.80GHz`.
fn vendor(model: &str) -> Option<String> {
    let word = model.split([' ', '(', '-']).next()?;
    (!word.is_empty()).then(|| word.to_string())
}

/// `16 GiB` of `15.6 GiB`: the next power of two, since firmware and kernel take some.
fn memory(text: &str) -> Option<String> {
    let gib: f64 = text.split(' ').next()?.parse().ok()?;
    (gib > 0.0).then(|| format!("{} GiB", (gib.ceil() as u64).next_power_of_two()))
}

/// `6` of `Linux 6.1.0-18-amd64`.
fn kernel(text: &str) -> Option<String> {
    let release = text.split(' ').next_back()?;
    let major = release.split('.').next()?;
    (!major.is_empty()).then(|| major.to_string())
}

/// The kind of disk, or the type of the filesystem where no disk is known: `ext4` of
/// `ext4 (rw,relatime)`.
fn storage(is_rotational: Option<&str>, filesystem: Option<&str>) -> Option<String> {
    let kind = match is_rotational {
        Some("yes") => "rotational disk",
        Some("no") => "SSD",
        _ => filesystem?.split(' ').next()?,
    };
    Some(kind.to_string())
}

impl<'a> Fleet<'a> {
    pub fn new(machines: &'a Machines) -> Self {
        let differences = &machines.differences[..];
        let clones = &machines.clones[..];
        let machines: Vec<FleetMachine<'a>> =
            machines.machines.iter().filter_map(FleetMachine::new).collect();
        let first = machines.first().map(|machine| &machine.results);
        let base = first.map_or(String::new(), |results| results.base.clone());
        let tests = tests(&machines);
        let groupings = groupings(&machines);
        let names = first.map_or(Vec::new(), |results| {
            results.judged.iter().map(|judged| judged.contender.clone()).collect()
        });
        let contenders = names.into_iter().map(|contender| {
            let on_machines: Vec<TestOnMachines> =
                tests.iter().map(|test| on_machines(&machines, &contender, test)).collect();
            let verdicts = judge_across(&on_machines, &groupings);
            AcrossContender { contender, verdicts }
        });
        let contenders = contenders.collect();
        Fleet { base, tests, contenders, groupings, differences, clones, machines }
    }

    /// Whether any contender is slower in any test, by the margin or more, on all machines, most of
    /// them, or a class.
    pub fn has_regression(&self) -> bool {
        let of_one = |results: &Results<'_>| results.gate(FailOn::Regression) == Gate::Regression;
        match &self.machines[..] {
            [only] => of_one(&only.results),
            _ => self.verdicts().any(|verdict| verdict.label.is_regression()),
        }
    }

    /// Whether any test is undecided.
    pub fn is_open(&self) -> bool {
        self.verdicts().any(|verdict| verdict.label.is_open())
    }

    fn verdicts(&self) -> impl Iterator<Item = &AcrossVerdict> {
        self.contenders.iter().flat_map(|contender| &contender.verdicts)
    }
}

impl<'a> FleetMachine<'a> {
    fn new(of: &'a MachineRuns) -> Option<Self> {
        let results = Results::new(&of.run)?;
        let discarded = of.run.rounds.iter().filter(|round| round.discarded.is_some()).count();
        let class = MachineClass::new(&of.run.manifest);
        Some(FleetMachine { name: name(&of.names), runs: &of.names, results, class, discarded })
    }

    /// What this machine found of a contender in a test; none if it did not measure it.
    pub fn verdict(&self, contender: &str, test: &str) -> Option<&Verdict> {
        let judged = self.results.judged.iter().find(|judged| judged.contender == contender)?;
        judged.verdicts.iter().find(|verdict| verdict.test == test)
    }
}

/// Of a machine with many runs, the first.
fn name(runs: &[String]) -> String {
    match runs {
        [] => String::new(),
        [only] => only.clone(),
        [one, other] => format!("{one}, {other}"),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    }
}

/// In the order of the first machine that has each.
fn tests(machines: &[FleetMachine<'_>]) -> Vec<String> {
    let mut tests: Vec<String> = Vec::new();
    for test in machines.iter().flat_map(|machine| &machine.results.tests) {
        if !tests.iter().any(|known| known == test.name) {
            tests.push(test.name.to_string());
        }
    }
    tests
}

fn groupings(machines: &[FleetMachine<'_>]) -> Vec<Grouping> {
    let grouping = |(name, of): &Property| Grouping {
        name: name.to_string(),
        classes: machines.iter().map(|machine| of(&machine.class).clone()).collect(),
    };
    PROPERTIES.iter().map(grouping).collect()
}

fn on_machines(machines: &[FleetMachine<'_>], contender: &str, test: &str) -> TestOnMachines {
    let margin = machines.iter().find_map(|machine| {
        let results = &machine.results;
        let known = results.tests.iter().find(|known| known.name == test)?;
        Some(results.margin(known))
    });
    let of = |machine: &FleetMachine<'_>| on_machine(machine.verdict(contender, test)?);
    TestOnMachines {
        test: test.to_string(),
        margin: margin.unwrap_or(0.0),
        machines: machines.iter().map(of).collect(),
    }
}

/// None for a verdict that is invalid, whose A/A control differs or which a guard ruled out.
fn on_machine(verdict: &Verdict) -> Option<OnMachine> {
    if !verdict.label.has_ratio() {
        return None;
    }
    let effect = MachineEffect { value: verdict.estimate.value, error: verdict.error };
    effect.is_usable().then_some(OnMachine {
        effect,
        interval_90: verdict.interval_90,
        interval_95: verdict.plain.interval,
        costs_more: matches!(verdict.label, Label::EfficiencyRegression { .. }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_what_is_found() {
        let facts = [
            ("kernel", "Linux 6.1.0-18-amd64"),
            ("cpu", "Intel(R) Xeon(R) CPU @ 2.80GHz"),
            ("memory", "62.8 GiB"),
            ("filesystem", "ext4 (rw,relatime)"),
        ];
        let machine = facts.map(|(name, value)| (name.to_string(), value.to_string())).to_vec();
        let class = MachineClass::new(&Manifest { machine, ..Manifest::default() });
        let said = PROPERTIES.map(|(_, of)| of(&class).clone().unwrap());
        assert_eq!(said, ["Intel", "Intel(R) Xeon(R) CPU @ 2.80GHz", "64 GiB", "6", "ext4"]);
        assert_eq!(MachineClass::new(&Manifest::default()), MachineClass::default());
    }

    #[test]
    fn vendors_are_the_first_words() {
        for (model, name) in [("AMD EPYC 7B13", "AMD"), ("Neoverse-N1", "Neoverse"), ("", "")] {
            assert_eq!(vendor(model).unwrap_or_default(), name);
        }
        assert_eq!(memory("15.6 GiB").unwrap(), "16 GiB");
        assert_eq!((memory("much"), kernel("")), (None, None));
    }

    #[test]
    fn a_machine_with_many_runs_has_a_short_name() {
        let named =
            |names: &[&str]| name(&names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
        assert_eq!(named(&["a"]), "a");
        assert_eq!(named(&["a", "b"]), "a, b");
        assert_eq!(named(&["a", "b", "c"]), "a and 2 more");
    }
}
