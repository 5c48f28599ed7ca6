//! The evidence on a test, from which its causes are derived.

use rqps_plan::{Contender, Method};
use rqps_stats::label::{CONTROL_ALPHA, Label};
use rqps_stats::paired::t_interval;
use rqps_stats::verdict::Verdict;
use rqps_store::{ContenderRecord, RoundRecord, Run, SliceRecord, StatementRecord};

use super::costs::estimate;
use super::course;
use super::drift::Drift;
use super::instructions::CountedTest;
use super::observed::{Observed, clients_of, other_percent};
use super::pair::{Pair, kind};
use super::profile::Profiled;
use super::query_plans::changes;
use crate::builds::{Alike, alike};
use crate::diagnosis::{Builds, Decided, Environment, Evidence, Planning};

/// The noise of the reference loop on an idle machine, as a log: a smaller change means nothing.
const REFERENCE_LOOP_NOISE: f64 = 0.03;
/// The level of the interval of how much slower it was for one arm.
const REFERENCE_LOOP_ALPHA: f64 = 0.05;

impl Pair<'_> {
    pub fn evidence(
        &self,
        run: &Run,
        tests: &[Observed<'_>],
        verdicts: &[Verdict],
        profiles: &[Profiled],
        counts: &[CountedTest<'_>],
    ) -> Vec<Evidence> {
        let of = |(test, verdict): (&Observed<'_>, &Verdict)| {
            let profile = profiles.iter().find(|profiled| profiled.test == test.name);
            let counted = counts.iter().find(|counted| counted.test == test.name);
            Evidence {
                profile: profile.map(Profiled::growths).unwrap_or_default(),
                executed: counted.and_then(CountedTest::executed),
                ..self.evidence_of(run, test, verdict)
            }
        };
        let mut evidence: Vec<Evidence> = tests.iter().zip(verdicts).map(of).collect();
        let reads = evidence.iter().zip(tests).filter(|(_, test)| !test.writes());
        let verdicts: Vec<Decided> = reads.map(|(one, _)| one.verdict).collect();
        let changed = [Decided::Regression, Decided::Improvement, Decided::EfficiencyRegression];
        let all_same = || verdicts.iter().all(|verdict| *verdict == Decided::NoChange);
        let unaffected = match verdicts.iter().any(|verdict| changed.contains(verdict)) {
            true => Some(false),
            // Tests without a verdict do not show that.
            false => (!verdicts.is_empty() && all_same()).then_some(true),
        };
        evidence.iter_mut().for_each(|one| one.reads_unaffected = unaffected);
        evidence
    }

    fn evidence_of(&self, run: &Run, test: &Observed<'_>, verdict: &Verdict) -> Evidence {
        let passes = self.passes(test, verdict.stage);
        let method = self.plan.method_of(test.name);
        let clients = passes.first().map(|pass| clients_of(self.plan, pass));
        let pair = self.contenders(run);
        let metrics = self.metrics(run, &passes);
        let record = |name: &str| run.contenders.iter().find(|one| one.name == name);
        let both = [record(self.base), record(self.contender)];
        let meaning = |name: &str| both.iter().find_map(|record| (*record)?.meaning(name));
        let meanings = metrics.keys().filter_map(|name| Some((name.clone(), meaning(name)?)));
        let again = pair.last().and_then(|contender| run.plan.command_of(contender, test.name));
        let family = test.name.split_once("_range=").map(|(family, _)| family.to_string());
        // Tests of other statements differ by more than their rows.
        let rows = family.as_ref().and_then(|_| self.rows(&passes));
        Evidence {
            test: test.name.to_string(),
            base: self.base.to_string(),
            contender: self.contender.to_string(),
            verdict: decided(&verdict.label),
            again: again.unwrap_or_default(),
            can_be_profiled: self.plan.can_be_profiled(&pair),
            theta: estimate(&verdict.estimate),
            margin: self.plan.margin.unwrap_or_else(|| kind(self.is_io_bound, test).margin()),
            clients: clients.unwrap_or(1),
            time: self.time(&passes),
            cpu: self.cpu(&passes),
            parts: self.parts(&passes),
            meanings: meanings.collect(),
            metrics,
            each: self.each(&passes),
            // In a cycle the machine is the same for all arms. Guards have discarded whole runs in
            // which its speed changed, but not a stored baseline that was measured at another
            // speed.
            environment: Environment {
                other_cpu_percent: match method {
                    Method::Slices => None,
                    Method::Runs => other_cpu(&passes, run),
                },
                reference_loop_moved: match (method, &self.drift, self.plan.guards) {
                    (Method::Slices, ..) => None,
                    (Method::Runs, Some(drift), _) => Some(drift_is_cause(drift, change(verdict))),
                    (Method::Runs, None, true) => Some(false),
                    (Method::Runs, None, false) => {
                        reference_loop_moved(&passes, [self.base, self.contender], change(verdict))
                    }
                },
                // One in twenty controls differs at 5 %, so the level is stricter.
                control_moved: verdict.control.map(|control| control.p < CONTROL_ALPHA),
                is_shared: method == Method::Slices,
            },
            family,
            rows,
            builds: self.builds(run),
            settings: self.settings(run),
            plan_changes: self.plan_changes(run, &passes),
            planning: [self.base, self.contender].map(|name| planning(&run.rounds, &passes, name)),
            sync: self.sync(&passes),
            dips: course::dips(self, &passes),
            growth_within: course::growth_within(self, &passes),
            ..Evidence::new(test.class)
        }
    }

    /// Statements, or rows, per operation of a client: baseline and contender do the same.
    fn each(&self, passes: &[&RoundRecord]) -> Option<f64> {
        let (statements, operations) = self.both_slices(passes).fold((0, 0), |sum, slice| {
            (sum.0 + slice.reads + slice.writes + slice.others, sum.1 + slice.operations)
        });
        (statements > 0 && operations > 0).then(|| statements as f64 / operations as f64)
    }

    fn both_slices<'p>(&self, passes: &'p [&RoundRecord]) -> impl Iterator<Item = &'p SliceRecord> {
        let own = [self.base, self.contender];
        let slices = passes.iter().flat_map(|pass| &pass.slices);
        slices.filter(move |slice| own.contains(&slice.arm.as_str()))
    }

    /// Rows per statement: baseline and contender send the same. The size in a test's name is
    /// something else: only some statements of a transaction have that many rows.
    fn rows(&self, passes: &[&RoundRecord]) -> Option<f64> {
        let (rows, statements) =
            self.both_slices(passes).fold((0, 0), |(rows, statements), slice| {
                (rows + slice.rows, statements + slice.reads + slice.writes + slice.others)
            });
        (rows > 0 && statements > 0).then(|| rows as f64 / statements as f64)
    }

    /// Baseline and contender.
    pub fn contenders(&self, run: &Run) -> Vec<Contender> {
        let is_one = |one: &&Contender| [self.base, self.contender].contains(&one.name().as_str());
        run.plan.contenders.iter().filter(is_one).cloned().collect()
    }

    /// What differs between the query plans of the statements, where that is known. Different DBMSs
    /// have different nodes for the same plan, so they are not compared.
    fn plan_changes(&self, run: &Run, passes: &[&RoundRecord]) -> Option<Vec<String>> {
        let dbms =
            |name: &str| run.contenders.iter().find(|one| one.name == name).map(|one| &one.dbms);
        if dbms(self.base) != dbms(self.contender) {
            return None;
        }
        let both = passes.iter().filter_map(|pass| {
            let statements = |name: &str| pass.arms.get(name).map(|arm| arm.statements.as_slice());
            Some([statements(self.base)?, statements(self.contender)?])
        });
        changes(both)
    }

    fn builds(&self, run: &Run) -> Builds {
        let of = |name: &str| run.contenders.iter().find(|one| one.name == name);
        match (of(self.base), of(self.contender)) {
            (Some(base), Some(contender)) => match alike(base, contender) {
                Alike::Yes => Builds::Alike,
                Alike::ButForFlags => Builds::OfOneSource,
                Alike::No => Builds::Unlike,
            },
            _ => Builds::Alike,
        }
    }

    fn settings(&self, run: &Run) -> Vec<String> {
        let of = |name: &str| run.contenders.iter().find(|one| one.name == name);
        match (of(self.base), of(self.contender)) {
            (Some(base), Some(contender)) => differing(base, contender),
            _ => Vec::new(),
        }
    }
}

/// Names of settings that both have, with different values: a default that has changed from one
/// release to the next is as much in force as an explicit setting. A setting that only one of them
/// has cannot be compared, nor can one of another DBMS with the same name.
fn differing(base: &ContenderRecord, contender: &ContenderRecord) -> Vec<String> {
    if base.dbms != contender.dbms {
        return Vec::new();
    }
    let differs = |(name, value): &(&String, &String)| {
        contender.settings.get(*name).is_some_and(|other| other != *value)
    };
    base.settings.iter().filter(differs).map(|(name, _)| name.clone()).collect()
}

fn other_cpu(passes: &[&RoundRecord], run: &Run) -> Option<f64> {
    let cpus = |pass: &RoundRecord| run.manifest_of_round(pass.round).cpus;
    let shares = passes.iter().filter_map(|pass| other_percent(pass, cpus(pass)));
    let shares: Vec<f64> = shares.collect();
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The change to be explained, as a log: below 0 if the contender is slower, or if it is as fast
/// and costs more per operation.
fn change(verdict: &Verdict) -> f64 {
    match &verdict.label {
        Label::EfficiencyRegression { cost, .. } => {
            let risen = verdict.costs.iter().find(|(name, _)| name == cost);
            risen.map_or(0.0, |(_, rise)| -rise.value)
        }
        _ => verdict.estimate.value,
    }
}

/// Of the statement that took the longest to plan after the last operation. What an earlier test
/// left behind may slow it down from the start, so the time on a fresh table is the least of all
/// tests.
fn planning(all: &[RoundRecord], passes: &[&RoundRecord], name: &str) -> Option<Planning> {
    fn verb(statement: &StatementRecord) -> Option<&str> {
        statement.text.split(' ').next()
    }
    let last = &passes.last()?.arms.get(name)?.statements;
    let planned = last.iter().filter_map(|one| Some((one.planning?.after?, one)));
    let (after, slowest) = planned.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    let sides = all.iter().filter_map(|pass| pass.arms.get(name));
    let alike = sides.flat_map(|side| &side.statements).filter(|one| verb(one) == verb(slowest));
    let before = alike.filter_map(|one| Some(one.planning?.before)).min_by(f64::total_cmp)?;
    Some(Planning { before, after })
}

/// Whether the reference loop took longer next to the runs of the slower arm, by more than its own
/// noise and by enough that half of the change may come from the machine. Unevenness that hits both
/// arms alike is in the rounds. None for fewer than two.
fn reference_loop_moved(passes: &[&RoundRecord], sides: [&str; 2], change: f64) -> Option<bool> {
    // Whole runs have a slice each, in the order of the reference loops before and after them.
    let level = |pass: &RoundRecord, name: &str| {
        let place = pass.slices.iter().position(|slice| slice.arm == name)?;
        let around = pass.reference_loop.get(2 * place..2 * place + 2)?;
        Some(around.iter().map(|nanos| (*nanos as f64).ln()).sum::<f64>() / 2.0)
    };
    let [base, contender] = sides;
    let slower = |pass: &&RoundRecord| Some(level(pass, contender)? - level(pass, base)?);
    let slower: Vec<f64> = passes.iter().filter_map(slower).collect();
    let slower = t_interval(&slower, None, REFERENCE_LOOP_ALPHA)?;
    Some(slower.is_significant() && is_half(slower.value, change))
}

/// The same for the time since the baseline was measured.
fn drift_is_cause(drift: &Drift<'_>, change: f64) -> bool {
    drift.is_seen() && is_half(drift.reference_loop, change)
}

/// Whether a machine that was `slower` for the contender may account for half of the change.
fn is_half(slower: f64, change: f64) -> bool {
    -slower * change.signum() > (change.abs() / 2.0).max(REFERENCE_LOOP_NOISE)
}

fn decided(label: &Label) -> Decided {
    match label {
        Label::Regression { .. } | Label::SmallRegression { .. } => Decided::Regression,
        Label::Improvement { .. } | Label::SmallImprovement { .. } => Decided::Improvement,
        Label::EfficiencyRegression { .. } => Decided::EfficiencyRegression,
        Label::NoChange { .. } => Decided::NoChange,
        Label::Inconclusive { .. } => Decided::Inconclusive,
        // Too little is known of its rates for a cause.
        Label::Invalid { .. } | Label::Overdue { .. } | Label::Capped { .. } => Decided::Invalid,
    }
}

#[cfg(test)]
mod tests {
    use rqps_stats::label::Kind;
    use rqps_stats::verdict::{Cell, Cost, LogRatios, Options, Sample, judge};
    use rqps_store::Measurement;

    use super::*;
    use crate::comparison::fixture;

    /// A round of whole runs, with the times of the reference loop before and after each.
    fn round(runs: &[(&str, [u64; 2])]) -> RoundRecord {
        let slice = |name: &str| SliceRecord { arm: name.to_string(), ..SliceRecord::default() };
        RoundRecord {
            slices: runs.iter().map(|(name, _)| slice(name)).collect(),
            reference_loop: runs.iter().flat_map(|(_, around)| *around).collect(),
            ..RoundRecord::new(rqps_plan::Class::Point, rqps_plan::Counts::Statements)
        }
    }

    fn moved(rounds: &[RoundRecord], change: f64) -> Option<bool> {
        reference_loop_moved(&rounds.iter().collect::<Vec<_>>(), ["old", "new"], change)
    }

    /// 100 inserts and 100 deletes of 50 rows each, of which the inserted ones count; the A/A
    /// control does something else.
    #[test]
    fn an_operation_has_as_many_statements_as_its_slices_say() {
        let mut pass = round(&[("old", [1, 1]), ("new", [1, 1]), ("control", [1, 1])]);
        for slice in &mut pass.slices {
            (slice.operations, slice.reads) = (200, if slice.arm == "control" { 7 } else { 5_000 });
        }
        let plan = fixture::plan();
        assert_eq!(fixture::pair(&plan, None).each(&[&pass]), Some(25.0));
        assert_eq!(fixture::pair(&plan, None).each(&[]), None);
    }

    #[test]
    fn a_machine_that_is_uneven_for_both_sides_alike_has_not_moved() {
        let uneven = [
            round(&[("old", [100, 160]), ("control", [90, 300]), ("new", [150, 100])]),
            round(&[("new", [200, 200]), ("old", [230, 180]), ("control", [90, 90])]),
            round(&[("old", [101, 100]), ("new", [100, 101]), ("control", [90, 90])]),
        ];
        assert_eq!(moved(&uneven, -0.43), Some(false));
        assert_eq!(moved(&[], -0.43), None);
    }

    /// As on a machine whose caches are shared with neighbours.
    #[test]
    fn a_reference_loop_that_takes_two_to_nine_milliseconds_by_chance_means_nothing() {
        let noisy = [
            round(&[("new", [290, 924]), ("old", [482, 730])]),
            round(&[("old", [457, 572]), ("new", [299, 710])]),
            round(&[("new", [454, 235]), ("old", [336, 202])]),
            round(&[("old", [533, 206]), ("new", [374, 278])]),
            round(&[("new", [304, 772]), ("old", [247, 243])]),
            round(&[("old", [403, 202]), ("new", [419, 818])]),
        ];
        assert_eq!(moved(&noisy, -0.24), Some(false));
    }

    #[test]
    fn a_machine_that_is_slower_beside_the_slower_arm_may_be_the_cause() {
        let slower = vec![round(&[("old", [100, 100]), ("new", [120, 120])]); 3];
        assert_eq!(moved(&slower, -0.25), Some(true), "most of what was lost");
        assert_eq!(moved(&slower, -0.6), Some(false), "a third of what was lost");
        assert_eq!(moved(&slower, 0.25), Some(false), "what was won, was won in spite of it");
    }

    /// Of sysbench's transaction with ranges of 10: ten points, four ranges of which one is a sum,
    /// and a begin and a commit.
    #[test]
    fn rows_are_counted_and_not_read_from_the_name_of_a_test() {
        let slice = |contender: &str, rows: u64| SliceRecord {
            arm: contender.to_string(),
            rows,
            reads: 14,
            others: 2,
            ..SliceRecord::default()
        };
        let rows = |points: u64, sum: u64, ranges: u64| {
            let rows = points + sum + ranges;
            let slices = vec![slice("old", rows), slice("new", rows), slice("control", 1_000)];
            let pass = RoundRecord {
                slices,
                ..RoundRecord::new(rqps_plan::Class::Point, rqps_plan::Counts::Statements)
            };
            fixture::pair(&fixture::plan(), None).rows(&[&pass])
        };
        assert_eq!(rows(10, 1, 30), Some(41.0 / 16.0));
        assert_eq!(rows(0, 0, 0), None, "not counted");
    }

    /// As Postgres's deletes of the lowest keys: `l.i1` leaves behind what `l.i2` begins with.
    #[test]
    fn planning_is_held_against_what_it_takes_on_a_fresh_table() {
        let planned = |text: &str, before: f64, after: f64| StatementRecord {
            text: text.to_string(),
            planning: Some(rqps_store::Planning { before, after: Some(after) }),
            ..StatementRecord::default()
        };
        let step = |before: f64, after: f64| {
            let statements =
                vec![planned("select 1", 7.0, 9.0), planned("delete from pi1", before, after)];
            let side = Measurement { statements, ..Measurement::default() };
            RoundRecord {
                arms: [("new".to_string(), side)].into(),
                ..RoundRecord::new(rqps_plan::Class::Point, rqps_plan::Counts::Statements)
            }
        };
        let all = [step(57.0, 1399.0), step(914.0, 523.0)];
        let of = |name: &str| planning(&all, &[&all[1]], name);
        assert_eq!(of("new"), Some(Planning { before: 57.0, after: 523.0 }));
        assert_eq!(of("old"), None, "as of a DBMS that does not tell");
    }

    #[test]
    fn settings_differ_where_both_of_one_dbms_have_them() {
        let record = |dbms: &str, settings: &[(&str, &str)]| ContenderRecord {
            dbms: dbms.to_string(),
            settings: settings
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string()))
                .collect(),
            ..ContenderRecord::default()
        };
        let checksums = ("innodb_checksum_algorithm", "innodb");
        let old = record("mysql", &[checksums, ("innodb_checksums", "ON"), ("port", "1")]);
        let new = record("mysql", &[(checksums.0, "crc32"), ("port", "1")]);
        assert_eq!(differing(&old, &new), [checksums.0], "a default that has changed");
        let gone = record("mysql", &[("port", "1")]);
        assert!(differing(&old, &gone).is_empty(), "not known to one of the releases");
        assert!(differing(&gone, &old).is_empty());
        let another = record("mariadb", &[(checksums.0, "crc32")]);
        assert!(differing(&old, &another).is_empty(), "of another DBMS");
    }

    #[test]
    fn the_same_rate_at_a_higher_cost_is_explained_by_its_cost() {
        let sample = |around: f64| {
            let rounds = [-2.0, -1.0, 0.0, 0.0, 1.0, 2.0];
            let rounds = rounds.map(|own| around + own / 1e3).into_iter();
            Sample::Slices(rounds.map(|contender| LogRatios { contender, control: None }).collect())
        };
        let mut cell = Cell::new("point-query", Kind::CachedRead, sample(0.001));
        cell.costs.push(Cost { name: "cpu/o".to_string(), sample: sample(0.05) });
        let report = judge(&[cell], &Options::default());
        assert!((change(&report.verdicts[0]) + 0.05).abs() < 1e-6, "{report:?}");
    }
}
