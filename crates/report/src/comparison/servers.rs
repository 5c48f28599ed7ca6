//! What differs between remote servers: a comparison of two of them cannot say which difference is
//! the cause of a change. And what was seen there of others, and of the way to them.

use std::collections::BTreeSet;

use rqps_observe::Metric;
use rqps_plan::Scope;
use rqps_store::{ContenderRecord, RoundRecord};

use super::joined::spans;
use super::{Judged, Verdicts, ratio, span};
use crate::model::PLACES;
use crate::model::number::duration;

/// The most settings that a sentence names.
const MOST: usize = 6;
/// What others do is told from here on: of a thousand statements of rqps, and of a thousand looks
/// at one session.
const FEW_STATEMENTS: u64 = 20;
const FEW_SESSIONS: u64 = 50;
/// The smallest part of an operation's time that a difference of the ways is told for.
const LEAST_OF_WAY: f64 = 0.005;

impl Verdicts<'_> {
    /// The facts in which a contender differs from the baseline, if either is a remote server.
    pub(super) fn differences(&self, judged: &Judged<'_>) -> Option<String> {
        let record = |name: &str| self.run.contenders.iter().find(|record| record.name == name);
        let (base, contender) = (record(&self.base)?, record(&judged.contender)?);
        let settings = matches!(self.scope, Scope::Session | Scope::Place);
        let all = differ(base, contender);
        match (self.scope, all.len()) {
            (Scope::Build, _) => None,
            (_, 0) => Some(format!(
                "{} and {} do not differ in version, transport or any setting that can be read.",
                base.name, contender.name
            )),
            (_, count) => {
                let cause = match settings && count == 1 {
                    true => "",
                    false => " Which of these is the cause of a change cannot be said.",
                };
                let more = match count.saturating_sub(MOST) {
                    0 => String::new(),
                    more => format!(", and {more} more (see Contenders)"),
                };
                let named = all[..count.min(MOST)].join(", ");
                Some(format!(
                    "{} and {} differ in: {named}{more}.{cause}",
                    base.name, contender.name
                ))
            }
        }
    }
}

impl Verdicts<'_> {
    /// What is known of remote servers beside their settings, a sentence each.
    pub(super) fn surroundings(&self) -> Vec<String> {
        let remote = self.run.plan.contenders.iter().filter(|one| one.is_remote());
        let names: Vec<String> = remote.map(|one| one.name()).collect();
        if names.is_empty() {
            return Vec::new();
        }
        let mut told: Vec<String> = names.iter().flat_map(|name| self.others(name)).collect();
        told.extend(self.ways());
        told.push(format!(
            "Not seen on remote servers ({}): CPU that others use, steal, memory, disks. So few causes \
             can be found, and none is guessed.",
            names.join(", ")
        ));
        told
    }

    /// What others did on the server of a contender, in all measurements.
    fn others(&self, name: &str) -> Vec<String> {
        let passes = || self.tests.iter().flat_map(|test| &test.passes).copied();
        let statements = most(passes(), name, Metric::OtherStatements, FEW_STATEMENTS);
        let statements = statements.map(|(most, rounds)| {
            format!(
                "On the server of {name}, others executed up to {:.0} % as many statements as rqps \
                 in {rounds}.",
                most as f64 / 10.0
            )
        });
        let sessions = most(passes(), name, Metric::OtherSessions, FEW_SESSIONS);
        let sessions = sessions.map(|(most, rounds)| {
            format!(
                "On the server of {name}, sessions of others were at work in {rounds}: up to {:.1} \
                 at a time.",
                most as f64 / 1000.0
            )
        });
        statements.into_iter().chain(sessions).collect()
    }

    /// How long the way to each server is, and how much the difference matters.
    fn ways(&self) -> Option<String> {
        let way = |name: &str, metric| {
            let passes = self.tests.iter().flat_map(|test| test.counted());
            median(passes.filter_map(|pass| pass.arms.get(name)?.cost.get(metric)).collect())
        };
        let of = |name: &&str| {
            let spread = duration(way(name, Metric::RoundTripSpread)?);
            let usual = duration(way(name, Metric::RoundTrip)?);
            Some(format!("to {name} {usual} ± {spread}"))
        };
        let arms = self.arms();
        let all: Vec<String> = arms.iter().filter_map(of).collect();
        if all.is_empty() {
            return None;
        }
        let differs = |judged: &Judged<'_>| {
            let name = &judged.contender;
            let passes = self.tests.iter().flat_map(|test| test.counted());
            let trip = |pass: &RoundRecord, name: &str| {
                Some(pass.arms.get(name)?.cost.get(Metric::RoundTrip)? as i64)
            };
            let differences =
                passes.filter_map(|pass| Some(trip(pass, name)? - trip(pass, &self.base)?));
            let longer = always_differs(differences.collect())?;
            let parts = self.tests.iter().enumerate().filter_map(|(place, test)| {
                let operation =
                    median(test.counted().filter_map(|pass| each(pass, name)).collect())?;
                Some((longer as f64 / operation as f64, place))
            });
            let (part, place) = parts.max_by(|one, other| one.0.total_cmp(&other.0))?;
            let net = judged.net_of_path[place].map(|net| {
                format!(
                    " Without round trips, median operations of {name} there take {} ({}) of the \
                     time of {}.",
                    ratio(&net),
                    span(&net),
                    self.base
                )
            });
            (part >= LEAST_OF_WAY).then(|| {
                format!(
                    " The difference of {} between {} and {name} is part of the ratio: {:.1} % of the \
                     time of a statement in {}.{}",
                    duration(longer),
                    self.base,
                    100.0 * part,
                    self.tests[place].name,
                    net.unwrap_or_default()
                )
            })
        };
        let differ: String = self.judged.iter().filter_map(differs).collect();
        Some(format!(
            "Round trip {} (empty exchanges before each test; median and spread).{differ}",
            all.join(", ")
        ))
    }
}

/// The largest value of a metric of an arm from `least` on, and the rounds in which it is as large
/// as that.
fn most<'r>(
    passes: impl Iterator<Item = &'r RoundRecord>,
    name: &str,
    metric: Metric,
    least: u64,
) -> Option<(u64, String)> {
    let read = |pass: &RoundRecord| Some((pass.arms.get(name)?.cost.get(metric)?, pass.round));
    let found: Vec<(u64, u32)> =
        passes.filter_map(read).filter(|(value, _)| *value >= least).collect();
    let most = found.iter().map(|(value, _)| *value).max()?;
    let rounds: BTreeSet<u32> = found.into_iter().map(|(_, round)| round).collect();
    let word = if rounds.len() == 1 { "round" } else { "rounds" };
    Some((most, format!("{word} {}", spans(&rounds))))
}

/// The usual size of differences, if they are too many to have one sign by chance.
fn always_differs(differences: Vec<i64>) -> Option<u64> {
    const FEWEST: usize = 5;
    let is_one_way = [1, -1].iter().any(|sign| differences.iter().all(|one| one * sign > 0));
    let sizes = differences.iter().map(|one| one.unsigned_abs()).collect();
    median(sizes).filter(|_| is_one_way && differences.len() >= FEWEST)
}

fn median(mut values: Vec<u64>) -> Option<u64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Nanoseconds of a statement of an arm in a measurement.
fn each(pass: &RoundRecord, name: &str) -> Option<u64> {
    let own = pass.slices.iter().filter(|slice| slice.arm == name);
    let (nanos, statements) = own.fold((0, 0), |(nanos, statements), slice| {
        (nanos + slice.nanos, statements + slice.reads + slice.writes + slice.others)
    });
    nanos.checked_div(statements).filter(|each| *each > 0)
}

/// `version 16.4/17.2`
fn differ(base: &ContenderRecord, contender: &ContenderRecord) -> Vec<String> {
    if base.dbms != contender.dbms {
        return vec![format!("DBMS {}/{}", base.dbms, contender.dbms)];
    }
    let facts = [
        ("version", &base.version, &contender.version),
        ("transport", &base.transport, &contender.transport),
    ];
    let facts = facts.into_iter().filter(|(_, one, other)| one != other);
    let facts = facts.map(|(name, one, other)| format!("{name} {one}/{other}"));
    // The search path is rqps's choice: the schema of the contender's own tables.
    let is_told = |name: &&String| !PLACES.contains(&name.as_str()) && *name != "search_path";
    let names: BTreeSet<&String> =
        base.settings.keys().chain(contender.settings.keys()).filter(is_told).collect();
    let settings = names.into_iter().filter_map(|name| {
        let (one, other) = (base.settings.get(name)?, contender.settings.get(name)?);
        // A default of another version says no more than the version.
        let is_default = base.defaults.contains(name) && contender.defaults.contains(name);
        (one != other && !is_default).then(|| format!("{name} {one}/{other}"))
    });
    facts.chain(settings).collect()
}

#[cfg(test)]
mod tests {
    use rqps_plan::{Class, Counts};
    use rqps_store::{Measurement, SliceRecord};

    use super::*;

    #[test]
    fn what_others_did_is_told_with_its_rounds_and_a_little_of_it_is_not() {
        let pass = |round: u32, value: u64| {
            let mut arm = Measurement::default();
            arm.cost.set(Metric::OtherStatements, value);
            let arms = [("b".to_string(), arm)].into();
            RoundRecord { round, arms, ..RoundRecord::new(Class::Point, Counts::Statements) }
        };
        let passes = [pass(1, 19), pass(2, 340), pass(3, 25), pass(3, 12), pass(5, 90)];
        let told = |name| most(passes.iter(), name, Metric::OtherStatements, FEW_STATEMENTS);
        assert_eq!(told("b"), Some((340, "rounds 2 to 3, 5".to_string())));
        assert_eq!(told("a"), None);
        assert_eq!(most(passes[..1].iter(), "b", Metric::OtherStatements, FEW_STATEMENTS), None);
    }

    #[test]
    fn ways_differ_if_they_always_do() {
        assert_eq!(always_differs(vec![20, 23, 19, 21, 30]), Some(21));
        assert_eq!(always_differs(vec![-20, -23, -19, -21, -30]), Some(21));
        assert_eq!(always_differs(vec![20, 23, -1, 21, 30]), None);
        assert_eq!(always_differs(vec![20, 23, 21, 30]), None, "by chance, one in eight");
    }

    #[test]
    fn a_statement_has_its_part_of_the_time_of_slices() {
        let slice = |arm: &str, nanos, reads| SliceRecord {
            arm: arm.to_string(),
            nanos,
            reads,
            ..SliceRecord::default()
        };
        let slices = vec![slice("a", 10_000, 40), slice("b", 1, 1), slice("a", 6_000, 40)];
        let pass = RoundRecord { slices, ..RoundRecord::new(Class::Point, Counts::Statements) };
        assert_eq!(each(&pass, "a"), Some(200));
        assert_eq!(each(&pass, "c"), None);
    }

    fn record(version: &str, settings: &[(&str, &str)]) -> ContenderRecord {
        let pair = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        ContenderRecord {
            dbms: "postgres".to_string(),
            version: version.to_string(),
            settings: settings.iter().map(pair).collect(),
            ..ContenderRecord::default()
        }
    }

    #[test]
    fn versions_and_settings_are_named_and_places_are_not() {
        let settings = |jit, port, path| {
            [("jit", jit), ("port", port), ("search_path", path), ("work_mem", "4096 x kB")]
        };
        let one = record("16.4", &settings("on", "1", "rqps"));
        let mut other = record("17.2", &settings("off", "2", "rqps_2"));
        assert_eq!(differ(&one, &other), ["version 16.4/17.2", "jit on/off"]);
        let mut one = one;
        for record in [&mut one, &mut other] {
            record.defaults.insert("jit".to_string());
        }
        assert_eq!(differ(&one, &other), ["version 16.4/17.2"]);
        other.dbms = "mysql".to_string();
        assert_eq!(differ(&one, &other), ["DBMS postgres/mysql"]);
    }
}
