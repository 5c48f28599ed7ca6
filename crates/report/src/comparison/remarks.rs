//! Remarks on a comparison as a whole: a summary line, how it was decided, and what limits its
//! certainty.

use std::collections::{BTreeMap, BTreeSet};

use rqps_analysis::comparison::{Drift, Observed, Unsteady, other_percent, refusal};
use rqps_document::{Inline, Text};
use rqps_plan::{Scope, StoredBaseline};
use rqps_stats::digits::Digits;
use rqps_stats::label::{CONTROL_HIT_ALPHA, Label};
use rqps_stats::verdict::{SCREEN_ALPHA, Stage, Verdict};
use rqps_stats::{Estimate, Interval};
use rqps_store::RoundRecord;

use super::joined::spans;
use super::{Judged, Verdicts, class, counts, with_interval, word};
use crate::model::number::by_names;
use crate::model::{loaded, method};

/// A share of the noise above which more rounds help more than longer ones.
const MOSTLY: f64 = 0.5;

impl Verdicts<'_> {
    /// `1 regression, 8 no change (MDE 0.3 to 0.9 %), 1 inconclusive; SLA missed in 1; suite shift
    /// …`
    pub(crate) fn strip(&self, judged: &Judged<'_>) -> Text {
        let mut strip = Text::new();
        for (label, tests) in counts(&judged.verdicts) {
            let seen = match label {
                Label::NoChange { .. } => seen(judged),
                _ => String::new(),
            };
            let separator = (!strip.is_empty()).then(|| ", ".into());
            let chip = Inline::chip(class(label), format!("{tests} {}{seen}", word(label, tests)));
            strip.extend(separator.into_iter().chain([chip]));
        }
        let missed = Some(self.misses(&judged.contender)).filter(|missed| *missed > 0);
        let missed = missed.map(|missed| format!("SLA missed in {missed}"));
        let suite = judged.suite.as_ref();
        let shift = suite.map(|suite| format!("suite shift {}", with_interval(&suite.shift)));
        for (class, more) in [("unknown", missed), ("unknown", self.built(judged)), ("", shift)] {
            strip
                .extend(more.into_iter().flat_map(|more| ["; ".into(), Inline::chip(class, more)]));
        }
        strip.extend(self.changed_times(judged));
        strip
    }

    /// How the verdicts were reached, and what limits their certainty, a sentence each.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self.drift().iter().map(stored_baseline).collect();
        remarks.extend(self.joined());
        remarks.extend(self.scope.claim().map(str::to_string));
        remarks.extend(self.judged.iter().filter_map(|judged| self.differences(judged)));
        remarks.extend(self.surroundings());
        let equals = self.judged.iter().filter(|judged| judged.is_base).map(|judged| {
            let name = &judged.contender;
            let what = match self.scope {
                Scope::Build => "the same build as the baseline",
                _ => "the same server as the baseline, with the same settings",
            };
            format!("{name} is {what}: any difference is noise.")
        });
        remarks.extend(equals);
        remarks.extend(self.named_rates());
        remarks.extend(self.tests.iter().filter_map(|test| self.retries(test)));
        remarks.extend([self.controls(), self.machine(), self.decided()]);
        if !self.plan.of.is_chain() && self.plan.loads.is_some() && !self.plan.read_only {
            let loads = "Intervals hold for these loads: the effect of another may be larger.";
            remarks.push(loads.to_string());
        }
        remarks.extend(self.methods());
        if self.is_in_pairs() {
            let pairs = "Not all servers fit in memory: measured in pairs with the baseline. \
                         Contenders were not measured at the same time as each other.";
            remarks.push(pairs.to_string());
        }
        remarks.extend(self.notes());
        remarks.extend(self.tests.iter().filter_map(|test| self.without_baseline(test)));
        remarks.extend(self.steadiness());
        remarks.extend(self.judged.iter().filter_map(|judged| self.too_noisy(judged)));
        remarks
    }

    /// The rates of the tests by the names that the field has for them, if it has any.
    fn named_rates(&self) -> Vec<String> {
        let names = self.plan.of.named_rates();
        if names.is_empty() {
            return Vec::new();
        }
        let arms = self.arms();
        let test = |test: &Observed<'_>| {
            let arm = |name: &&str| Some(format!("{name} {}", by_names(names, test.rate(name)?)));
            let rates: Vec<String> = arms.iter().filter_map(arm).collect();
            format!(
                "{}: {} (averages; the interval is that of the ratio).",
                test.name,
                rates.join("; ")
            )
        };
        self.tests.iter().map(test).collect()
    }

    /// The baseline and the contenders.
    pub(super) fn arms(&self) -> Vec<&str> {
        let contenders = self.judged.iter().map(|judged| judged.contender.as_str());
        std::iter::once(self.base.as_str()).chain(contenders).collect()
    }

    /// How many operations of a test were retried, if any were.
    fn retries(&self, test: &Observed<'_>) -> Option<String> {
        let of_arm = |name: &str| {
            let slices = test.counted().flat_map(|pass| &pass.slices);
            let of_it = slices.filter(|slice| slice.arm == name);
            of_it.fold((0, 0), |(retries, operations), slice| {
                (retries + slice.retries, operations + slice.operations)
            })
        };
        let arms = self.arms();
        let counts: Vec<(u64, u64)> = arms.iter().map(|name| of_arm(name)).collect();
        if counts.iter().all(|(retries, _)| *retries == 0) {
            return None;
        }
        let arms = arms.iter().zip(&counts);
        let arms =
            arms.map(|(name, (retries, operations))| format!("{name} {retries} of {operations}"));
        let arms = arms.collect::<Vec<_>>().join(", ");
        Some(format!("{}: retried operations, as the DBMS requested: {arms}.", test.name))
    }

    /// How often the baseline differs from itself, and contenders that have a control of their own.
    pub(crate) fn controls(&self) -> String {
        let own: String = self.judged.iter().filter_map(own_control).collect();
        self.control_of_baseline() + &own
    }

    fn control_of_baseline(&self) -> String {
        let Some(first) = self.judged.first().filter(|_| self.plan.control) else {
            let what = if self.scope == Scope::Build { "build" } else { "server" };
            return format!(
                "There is no A/A control, so the difference of a {what} from itself is not known."
            );
        };
        let controls: Vec<&Estimate> =
            first.verdicts.iter().filter_map(|verdict| verdict.control.as_ref()).collect();
        if controls.is_empty() {
            return "No round has an A/A control that can be compared with the baseline."
                .to_string();
        }
        // Ranks of three rounds have no interval, and decide nothing.
        let is_known = controls.iter().any(|control| control.interval.half_width().is_finite());
        if !is_known {
            return "There are too few rounds to compare the A/A control with the baseline."
                .to_string();
        }
        let verdicts = self.judged.iter().flat_map(|judged| &judged.verdicts);
        let widened = verdicts.map(|verdict| verdict.widened).fold(1.0, f64::max);
        if let (true, [control]) = (widened > 1.0, &controls[..]) {
            let percent = 100.0 * control.value.exp_m1();
            return format!(
                "The A/A control differs from the baseline by {percent:+.1} %: intervals are \
                 {widened:.2} times as wide."
            );
        }
        let hits = controls.iter().filter(|control| control.p < CONTROL_HIT_ALPHA).count();
        let wider = match widened > 1.0 {
            true => format!(", which makes intervals up to {widened:.2} times as wide"),
            false => String::new(),
        };
        format!(
            "The A/A control differs from the baseline in {hits} of {} tests (p < 0.05){wider}.",
            controls.len()
        )
    }

    /// The largest CPU of other processes during a measurement that counts, in percent of all CPUs;
    /// none if it was not read.
    pub(crate) fn most_other(&self) -> Option<f64> {
        let passes = self.tests.iter().flat_map(|test| test.counted());
        let cpus = |pass: &RoundRecord| self.run.manifest_of_round(pass.round).cpus;
        let shares = passes.filter_map(|pass| other_percent(pass, cpus(pass)));
        shares.reduce(f64::max)
    }

    /// How the tests were measured, and what else the machine did.
    fn machine(&self) -> String {
        let others = self.most_other().map_or(String::new(), |share| {
            format!("Other processes used at most {share:.1} % of the CPUs. ")
        });
        // In pairs a round has a measurement with each contender.
        let rounds = |test: &Observed<'_>| {
            test.counted().map(|pass| pass.round).collect::<BTreeSet<u32>>().len()
        };
        let rounds: Vec<usize> = self.tests.iter().map(rounds).collect();
        let least = rounds.iter().copied().min().unwrap_or(0);
        let rounds = match rounds.iter().copied().max().unwrap_or(0) {
            most if most == least => format!("{most} rounds"),
            most => format!("{least} to {most} rounds"),
        };
        let guards = match self.plan.guards {
            true => "",
            false => "Guards were off: measurements on a busy machine count. ",
        };
        format!(
            "{others}{guards}Method: {}; {rounds}, each with {}; data {}; seed {}.",
            method(self.plan),
            self.scope.renews(),
            loaded(self.plan),
            self.seed
        )
    }

    /// The method of the tests and its reason: one sentence for all, or one for each method.
    fn methods(&self) -> Vec<String> {
        let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
        for test in &self.tests {
            let (method, why) = (self.plan.method_of(test.name), self.method_because(test.name));
            let kind = format!("Measured by {method}, {why}");
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, tests)) => tests.push(test.name),
                None => kinds.push((kind, vec![test.name])),
            }
        }
        let is_one = kinds.len() == 1;
        let sentence = |(kind, tests): (String, Vec<&str>)| match is_one {
            true => format!("{kind}."),
            false => format!("{kind}: {}.", tests.join(", ")),
        };
        kinds.into_iter().map(sentence).collect()
    }

    /// Notes on arms, with their rounds. Arms of which the same is said share a sentence.
    fn notes(&self) -> Vec<String> {
        let mut notes: BTreeMap<(&str, &str), BTreeSet<u32>> = BTreeMap::new();
        for pass in self.tests.iter().flat_map(|test| test.counted()) {
            for (contender, side) in &pass.arms {
                let Some(note) = &side.note else { continue };
                notes.entry((note, contender)).or_default().insert(pass.round);
            }
        }
        let mut alike: BTreeMap<(&str, BTreeSet<u32>), Vec<&str>> = BTreeMap::new();
        for ((note, contender), rounds) in notes {
            alike.entry((note, rounds)).or_default().push(contender);
        }
        let sentence = |((note, rounds), contenders): ((&str, BTreeSet<u32>), Vec<&str>)| {
            let word = if rounds.len() == 1 { "round" } else { "rounds" };
            format!("{}: {note} ({word} {}).", contenders.join(", "), spans(&rounds))
        };
        alike.into_iter().map(sentence).collect()
    }

    /// Rounds of a test that lack the baseline, although it did not fail: the run was interrupted
    /// in one, or rows of it are gone.
    fn without_baseline(&self, test: &Observed<'_>) -> Option<String> {
        let has_failed =
            |pass: &&RoundRecord| pass.arms.get(&self.base).is_some_and(|arm| arm.error.is_some());
        if self.plan.baseline_from.is_some() || test.passes.iter().any(has_failed) {
            return None;
        }
        let rounds: BTreeSet<u32> =
            test.counted_without(&self.base).map(|pass| pass.round).collect();
        let (word, has, does) = match rounds.len() {
            0 => return None,
            1 => ("round", "has", "does"),
            _ => ("rounds", "have", "do"),
        };
        let rounds = spans(&rounds);
        Some(format!(
            "{}: {word} {rounds} {has} no measurement of the baseline and {does} not count.",
            test.name
        ))
    }

    /// The rounds that the verdicts come from, and the adjustment for the number of tests.
    fn decided(&self) -> String {
        let Some(confirm) = self.plan.confirm else {
            let pairs = match self.judged.iter().any(|judged| judged.is_paired) {
                true => " Runs are compared within rounds, which share most of their noise.",
                false => "",
            };
            return format!(
                "One stage: intervals are adjusted for the number of tests by Benjamini and \
                 Hochberg's procedure.{pairs}"
            );
        };
        let fresh = |verdict: &&Verdict| verdict.stage == Stage::Fresh;
        let verdicts = self.judged.iter().flat_map(|judged| &judged.verdicts);
        let count = verdicts.filter(fresh).count();
        format!(
            "Two stages: at most {confirm} fresh rounds alone decide the tests that a screen \
             flagged (p < {SCREEN_ALPHA}), adjusted by Holm's procedure; here {count} {}.",
            if count == 1 { "test" } else { "tests" }
        )
    }

    /// The remark on unsteady runs; none if all runs were steady, or too short to decide this.
    fn steadiness(&self) -> Option<String> {
        let of = |test: &Observed<'_>| {
            let words: Vec<String> = self.unsteady(test).iter().map(unsteady).collect();
            (!words.is_empty()).then(|| format!("{}: {}", test.name, words.join(", ")))
        };
        let tests: Vec<String> = self.tests.iter().filter_map(of).collect();
        (!tests.is_empty())
            .then(|| format!("Not at one level from start to end: {}.", tests.join("; ")))
    }

    /// The MDE of this machine, if most tests are inconclusive.
    fn too_noisy(&self, judged: &Judged) -> Option<String> {
        let open: Vec<(usize, &Verdict)> = judged
            .verdicts
            .iter()
            .enumerate()
            .filter(|(_, one)| matches!(one.label, Label::Inconclusive { .. }))
            .filter(|(_, one)| one.detectable.is_finite())
            .collect();
        if open.is_empty() || open.len() * 2 < judged.verdicts.len() {
            return None;
        }
        let mut seen: Vec<f64> = open.iter().map(|(_, one)| one.detectable.exp_m1()).collect();
        seen.sort_by(f64::total_cmp);
        let shares = open.iter().filter_map(|(index, _)| judged.noise[*index]);
        let shares: Vec<f64> = shares.map(|noise| noise.share_between()).collect();
        let between = shares.iter().filter(|share| **share > MOSTLY).count();
        let advice = match shares.len() {
            0 => "more rounds or an idle machine",
            all if between * 2 >= all => "more rounds or an idle machine",
            _ => "longer measurements (--secs), more rounds or an idle machine",
        };
        Some(format!(
            "{}: {} of {} tests are inconclusive, with a median MDE of {:.1} %. Use {advice}.",
            judged.contender,
            open.len(),
            judged.verdicts.len(),
            100.0 * seen[seen.len() / 2],
        ))
    }

    /// Every measurement that a guard discarded.
    pub(crate) fn refusals(&self) -> Vec<String> {
        let of = |pass: &RoundRecord| {
            let why = refusal(pass)?;
            Some(format!("{}, round {}, attempt {}: {why}", pass.test, pass.round, pass.attempt))
        };
        self.tests.iter().flat_map(|test| &test.passes).filter_map(|pass| of(pass)).collect()
    }
}

/// How often a contender on a server of its own differs from itself.
fn own_control(judged: &Judged<'_>) -> Option<String> {
    let controls = judged.verdicts.iter().filter_map(|verdict| verdict.own_control.as_ref());
    let controls: Vec<&Estimate> = controls.collect();
    let hits = controls.iter().filter(|control| control.p < CONTROL_HIT_ALPHA).count();
    (!controls.is_empty()).then(|| {
        let (contender, tests) = (&judged.contender, controls.len());
        format!(" That of {contender} differs from it in {hits} of {tests}.")
    })
}

/// `new in 4 of 6 runs (3 slow-down, 1 trend)`
fn unsteady(of: &Unsteady) -> String {
    let ways: Vec<String> = of.ways.iter().map(|(way, count)| format!("{count} {way}")).collect();
    format!("{} in {} of {} runs ({})", of.contender, of.count(), of.runs, ways.join(", "))
}

/// The range of the MDE over tests without a change.
fn seen(judged: &Judged<'_>) -> String {
    let seen = judged.verdicts.iter().filter_map(|verdict| match verdict.label {
        Label::NoChange { detectable } => Some(100.0 * detectable.exp_m1()),
        _ => None,
    });
    let seen: Vec<f64> = seen.collect();
    let least = seen.iter().copied().fold(f64::INFINITY, f64::min);
    let most = seen.iter().copied().fold(0.0, f64::max);
    match (format!("{least:.1}"), format!("{most:.1}")) {
        (least, most) if least == most => format!(" (MDE {most} %)"),
        (least, most) => format!(" (MDE {least} to {most} %)"),
    }
}

/// The remark on a stored baseline.
fn stored_baseline(drift: &Drift<'_>) -> String {
    let StoredBaseline { path, created, .. } = drift.base;
    let digits = Digits::of(Interval::around(drift.reference_loop, drift.resolution));
    format!(
        "The baseline was not measured in this run: its rounds are those of '{}', begun \
         {created}, and did not alternate with the contenders'. The time of the reference loop \
         has changed by {} since then, and its resolution is {}: every interval is wider by both \
         on either side, and more rounds do not narrow it. The loop measures CPU and memory, not \
         changes of the disk, the kernel or the history of the data.",
        path.display(),
        digits.percent(drift.reference_loop),
        digits.size(drift.resolution),
    )
}
