//! What is known of a test when its cause is asked for.

use rqps_plan::{Contender, Method};
use rqps_stats::cause::{Class, Environment, Evidence, Plans, Verdict as Decided};
use rqps_stats::label::{Label, TWIN_ALPHA};
use rqps_stats::verdict::Verdict;
use rqps_store::{PassRecord, Run};

use super::costs::estimate;
use super::course;
use super::drift::Drift;
use super::observed::{Observed, foreign_percent};
use super::pair::Pair;
use super::profile::Profiled;

/// What the canary is off on a quiet machine, as a log: less tells nothing.
const CANARY_TELLS: f64 = 0.03;

/// Classes by the name that a test has for its own.
const CLASSES: [(&str, Class); 11] = [
    ("point", Class::Point),
    ("hot point", Class::HotPoint),
    ("range", Class::Range),
    ("scan", Class::Scan),
    ("load", Class::Load),
    ("insert", Class::Insert),
    ("queue", Class::DeleteOldest),
    ("update", Class::Update),
    ("hot update", Class::HotUpdate),
    ("delete", Class::Delete),
    ("read-write", Class::ReadWrite),
];

impl Pair<'_> {
    pub(crate) fn evidence(
        &self,
        run: &Run,
        tests: &[Observed<'_>],
        verdicts: &[Verdict],
        profiles: &[Profiled],
    ) -> Vec<Evidence> {
        let of = |(test, verdict): (&Observed<'_>, &Verdict)| {
            let profile = profiles.iter().find(|profiled| profiled.test == test.name);
            Evidence {
                profile: profile.map(Profiled::growths).unwrap_or_default(),
                ..self.evidence_of(run, test, verdict)
            }
        };
        let mut evidence: Vec<Evidence> = tests.iter().zip(verdicts).map(of).collect();
        let reads = evidence.iter().zip(tests).filter(|(_, test)| !test.writes());
        let verdicts: Vec<Decided> = reads.map(|(one, _)| one.verdict).collect();
        let changed = [Decided::Regression, Decided::Improvement, Decided::EfficiencyRegression];
        let unaffected = !verdicts.iter().any(|verdict| changed.contains(verdict));
        for one in evidence.iter_mut().filter(|_| !verdicts.is_empty()) {
            one.reads_unaffected = Some(unaffected);
        }
        evidence
    }

    fn evidence_of(&self, run: &Run, test: &Observed<'_>, verdict: &Verdict) -> Evidence {
        let passes = self.passes(test, verdict.stage);
        let method = self.plan.method_of(test.name);
        let class = CLASSES.iter().find(|(name, _)| *name == test.class);
        let clients = passes.iter().flat_map(|pass| &pass.slices).map(|slice| slice.client).max();
        let pair = self.contenders(run);
        let again = pair.last().and_then(|contender| run.plan.command_of(contender, test.name));
        let (family, rows) = match test.name.split_once("_range=") {
            Some((stem, rows)) => (Some(stem.to_string()), rows.parse().ok()),
            None => (None, None),
        };
        Evidence {
            test: test.name.to_string(),
            class: class.map(|(_, class)| *class).unwrap_or_default(),
            base: self.base.to_string(),
            contender: self.contender.to_string(),
            verdict: decided(&verdict.label),
            again: again.unwrap_or_default(),
            can_be_profiled: self.plan.can_be_profiled(&pair),
            theta: estimate(&verdict.estimate),
            clients: clients.unwrap_or(1),
            time: self.time(&passes),
            cpu: self.cpu(&passes),
            parts: self.parts(&passes),
            metrics: self.metrics(run, &passes),
            // What the machine does in a cycle it does to everybody. Of whole runs, guards have refused
            // those in which its speed changed.
            environment: Environment {
                foreign_cpu_percent: match method {
                    Method::Slices => None,
                    Method::Runs => foreign(&passes, run.manifest.cpus),
                },
                canary_moved: match (method, self.plan.guards) {
                    (Method::Slices, _) => None,
                    _ if self.drift.as_ref().is_some_and(Drift::is_seen) => Some(true),
                    (Method::Runs, true) => Some(false),
                    (Method::Runs, false) => {
                        let change = verdict.estimate.value;
                        canary_moved(&passes, [self.base, self.contender], change)
                    }
                },
                // One in twenty twins is off at 5 %: what spoils a test is what makes it invalid.
                twin_moved: verdict.twin.map(|twin| twin.p < TWIN_ALPHA),
                is_shared: method == Method::Slices,
            },
            family,
            rows,
            settings: self.settings(run),
            plans: self.plans(run, &passes),
            sync: self.sync(&passes),
            dips: course::dips(self, &passes),
            growth_within: course::growth_within(self, &passes),
            ..Evidence::default()
        }
    }

    /// Base and contender.
    fn contenders(&self, run: &Run) -> Vec<Contender> {
        let is_one = |one: &&Contender| [self.base, self.contender].contains(&one.name().as_str());
        run.plan.contenders.iter().filter(is_one).cloned().collect()
    }

    /// How the statements are carried out, where that differs in shape from one to the other. Releases
    /// of different DBMSs have different words for the same.
    fn plans(&self, run: &Run, passes: &[&PassRecord]) -> Option<Plans> {
        let dbms =
            |name: &str| run.contenders.iter().find(|one| one.name == name).map(|one| &one.dbms);
        let last = passes.last().filter(|_| dbms(self.base) == dbms(self.contender))?;
        let of = |name: &str| -> Option<Vec<&str>> {
            let statements = last.sides.get(name)?.statements.iter();
            Some(statements.filter_map(|statement| statement.plan.as_deref()).collect())
        };
        let (base, contender) = (of(self.base)?, of(self.contender)?);
        if base.is_empty() || contender.is_empty() {
            return None;
        }
        if base == contender {
            return Some(Plans { base: base.join("\n"), contender: contender.join("\n") });
        }
        // Of several statements those whose plans differ.
        let pairs = base.into_iter().zip(contender).filter(|(one, other)| one != other);
        let (base, contender): (Vec<&str>, Vec<&str>) = pairs.unzip();
        Some(Plans { base: base.join("; "), contender: contender.join("; ") })
    }

    /// Names of settings that base and contender have with different values.
    fn settings(&self, run: &Run) -> Vec<String> {
        let of = |name: &str| run.contenders.iter().find(|one| one.name == name);
        let (Some(base), Some(contender)) = (of(self.base), of(self.contender)) else {
            return Vec::new();
        };
        let differs = |name: &&String| base.settings.get(*name) != contender.settings.get(*name);
        base.settings.keys().filter(differs).cloned().collect()
    }
}

fn foreign(passes: &[&PassRecord], cpus: u32) -> Option<f64> {
    let shares: Vec<f64> = passes.iter().filter_map(|pass| foreign_percent(pass, cpus)).collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// Whether the fixed piece of work took longer beside the runs of the slower side, by so much that half
/// of the change may be the machine's. That it is uneven for both sides alike is in the rounds.
fn canary_moved(passes: &[&PassRecord], sides: [&str; 2], change: f64) -> Option<bool> {
    // Whole runs have a slice each, in the order of the canaries before and after them.
    let level = |pass: &PassRecord, name: &str| {
        let place = pass.slices.iter().position(|slice| slice.contender == name)?;
        let around = pass.canary.get(2 * place..2 * place + 2)?;
        Some(around.iter().map(|nanos| (*nanos as f64).ln()).sum::<f64>() / 2.0)
    };
    let [base, contender] = sides;
    let slower = |pass: &&PassRecord| Some(level(pass, contender)? - level(pass, base)?);
    let mut slower: Vec<f64> = passes.iter().filter_map(slower).collect();
    slower.sort_by(f64::total_cmp);
    let median = slower.get(slower.len() / 2)?;
    Some(-median * change.signum() > (change.abs() / 2.0).max(CANARY_TELLS))
}

fn decided(label: &Label) -> Decided {
    match label {
        Label::Regression { .. } | Label::SmallRegression { .. } => Decided::Regression,
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Decided::Improvement,
        Label::EfficiencyRegression { .. } => Decided::EfficiencyRegression,
        Label::NoChange { .. } => Decided::NoChange,
        Label::Inconclusive { .. } => Decided::Inconclusive,
        Label::Invalid { .. } => Decided::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use rqps_store::SliceRecord;

    use super::*;

    /// A round of whole runs, with the times of the canary before and after each.
    fn round(runs: &[(&str, [u64; 2])]) -> PassRecord {
        let slice =
            |name: &str| SliceRecord { contender: name.to_string(), ..SliceRecord::default() };
        PassRecord {
            slices: runs.iter().map(|(name, _)| slice(name)).collect(),
            canary: runs.iter().flat_map(|(_, around)| *around).collect(),
            ..PassRecord::default()
        }
    }

    fn moved(rounds: &[PassRecord], change: f64) -> Option<bool> {
        canary_moved(&rounds.iter().collect::<Vec<_>>(), ["old", "new"], change)
    }

    #[test]
    fn a_machine_that_is_uneven_for_both_sides_alike_has_not_moved() {
        let uneven = [
            round(&[("old", [100, 160]), ("twin", [90, 300]), ("new", [150, 100])]),
            round(&[("new", [200, 200]), ("old", [230, 180]), ("twin", [90, 90])]),
            round(&[("old", [101, 100]), ("new", [100, 101]), ("twin", [90, 90])]),
        ];
        assert_eq!(moved(&uneven, -0.43), Some(false));
        assert_eq!(moved(&[], -0.43), None);
    }

    #[test]
    fn a_machine_that_is_slower_beside_the_slower_side_may_be_why() {
        let slower = vec![round(&[("old", [100, 100]), ("new", [120, 120])]); 3];
        assert_eq!(moved(&slower, -0.25), Some(true), "most of what was lost");
        assert_eq!(moved(&slower, -0.6), Some(false), "a third of what was lost");
        assert_eq!(moved(&slower, 0.25), Some(false), "what was won, was won in spite of it");
    }
}
