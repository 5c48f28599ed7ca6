//! Causes over all tests of a pair: what shows only in several tests, and one finding for the same
//! cause in many.

use std::collections::BTreeMap;

use rqps_plan::Class;

use super::evidence::{Decided, Evidence, Part, ValueRange};
use super::line::{Line, fit_line};
use super::next::Next;
use super::number::Number;
use super::rule::{Cause, Check, Confidence, Finding};
use super::rules::explain;
use super::view::View;
use super::words::{change, micros, micros_interval};

/// A reader can take in no more findings than this.
pub const MOST_FINDINGS: usize = 7;
/// This many tests of a class with the same cause are one finding.
const MERGED: usize = 3;
/// The share of the added time that is most of it.
const MOST_OF_TIME: f64 = 0.5;
/// Fewer tests than this have no common change.
const FEWEST_OF_SUITE: usize = 5;
/// The share of the tests that must change in the same way.
const MOST: f64 = 0.8;

/// The findings on a pair's tests, the most important first, at most [`MOST_FINDINGS`]. A test
/// without a verdict has no cause of its own, but it counts where all tests change in the same way.
pub fn explain_suite(tests: &[Evidence]) -> Vec<Finding> {
    if !tests.iter().any(|test| View::of(test).is_some()) {
        return Vec::new();
    }
    let of_tests = tests.iter().flat_map(explain).collect();
    let mut findings = merged(of_tests, tests);
    findings.extend(shift(tests));
    findings.extend(protocol(tests));
    findings.extend(statement_or_row(tests));
    // A finding that casts doubt on all others goes first.
    let doubt = |finding: &Finding| match finding.cause {
        Cause::Environment => 0,
        Cause::SuiteShift => 1,
        _ => 2,
    };
    findings.sort_by(|left, right| {
        let by_importance = right.importance.total_cmp(&left.importance);
        doubt(left).cmp(&doubt(right)).then(by_importance)
    });
    findings.truncate(MOST_FINDINGS);
    findings
}

/// The same cause in several tests of a class is one finding. So are the environment and the
/// unexplained in tests of any class. Each finding names its tests.
fn merged(findings: Vec<Finding>, tests: &[Evidence]) -> Vec<Finding> {
    let of = |name: &str| tests.iter().find(|test| test.test == name);
    let mut groups: BTreeMap<(Cause, Option<Class>, bool), Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        let class = finding.tests.first().and_then(|name| of(name)).map(|test| test.class);
        let of_any = [Cause::Environment, Cause::Unexplained];
        let class = class.filter(|_| !of_any.contains(&finding.cause));
        let key = (finding.cause, class, finding.slower);
        groups.entry(key).or_default().push(finding);
    }
    let mut result = Vec::new();
    for ((cause, class, slower), mut group) in groups {
        if group.len() < MERGED {
            result.extend(group.into_iter().map(named));
            continue;
        }
        group.sort_by(|left, right| right.importance.total_cmp(&left.importance));
        let mut confidences: Vec<Confidence> = group.iter().map(|one| one.confidence).collect();
        confidences.sort();
        let confidence = confidences[(confidences.len() - 1) / 2];
        let names: Vec<String> = group.iter().flat_map(|one| one.tests.clone()).collect();
        let mut changes: Vec<f64> =
            names.iter().filter_map(|name| Some(of(name)?.theta.value)).collect();
        changes.sort_by(f64::total_cmp);
        let is_of_class = |test: &&Evidence| class.is_none_or(|class| test.class == class);
        let of_class = tests.iter().filter(is_of_class).count();
        let scope = class.map_or(String::new(), |class| format!("{}: ", class.title()));
        let range = match (changes.first(), changes.last()) {
            (Some(low), Some(high)) if change(*low) == change(*high) => change(*low),
            (Some(low), Some(high)) => format!("{} to {}", change(*low), change(*high)),
            _ => String::new(),
        };
        let importance = group.iter().map(|one| one.importance).sum();
        let shares = group.iter().filter_map(|one| one.share);
        let share = shares.clone().count();
        let share = (share > 0).then(|| shares.sum::<f64>() / share as f64);
        let numbers = group.iter().flat_map(|one| one.numbers.clone()).collect();
        let first = group.swap_remove(0);
        result.push(Finding {
            statement: format!(
                "{scope}{} of {of_class} tests, {range}: {} ({confidence}). {}: {}",
                names.len(),
                cause.name(slower),
                first.tests[0],
                first.statement
            ),
            tests: names,
            confidence,
            share,
            importance,
            numbers,
            ..first
        });
    }
    result
}

fn named(finding: Finding) -> Finding {
    let statement = format!("{}: {}", finding.tests.join(", "), finding.statement);
    Finding { statement, ..finding }
}

/// Findings over all tests count those with a known change: one round has none.
fn is_valid(test: &&Evidence) -> bool {
    test.verdict != Decided::Invalid && test.theta.value.is_finite()
}

/// Most tests of all classes move the same way by about the same factor.
fn shift(tests: &[Evidence]) -> Option<Finding> {
    let valid: Vec<&Evidence> = tests.iter().filter(is_valid).collect();
    let most = (valid.len() as f64 * MOST).ceil() as usize;
    let classes: std::collections::BTreeSet<Class> = valid.iter().map(|test| test.class).collect();
    let mut thetas: Vec<f64> = valid.iter().map(|test| test.theta.value).collect();
    thetas.sort_by(f64::total_cmp);
    let common = *thetas.get(thetas.len() / 2)?;
    let same_way = |test: &&&Evidence| test.theta.value * common > 0.0;
    let same_size = |test: &&&Evidence| test.theta.low <= common && common <= test.theta.high;
    let (way, size) =
        (valid.iter().filter(same_way).count(), valid.iter().filter(same_size).count());
    // Tests without a change hold any small factor, and by chance have its sign.
    let suite = valid[0].suite?.times(common.signum());
    let controls: Vec<bool> =
        valid.iter().filter_map(|test| test.environment.control_moved).collect();
    let control_moves = controls.iter().filter(|moved| **moved).count() * 2 > controls.len();
    let has_it = |test: &&&Evidence| same_way(test) && same_size(test);
    let with_it: Vec<&str> = valid.iter().filter(has_it).map(|test| test.test.as_str()).collect();
    // A factor that tests with a verdict do not have cannot be their cause.
    let decided = valid.iter().filter(|test| View::of(test).is_some());
    let (decided, explained) =
        (decided.clone().count(), decided.filter(|test| has_it(test)).count());
    let is_common = way >= most && size >= most && suite.is_above(0.0) && 2 * explained >= decided;
    if valid.len() < FEWEST_OF_SUITE || classes.len() < 2 || !is_common || control_moves {
        return None;
    }
    let confidence = if controls.is_empty() { Confidence::Likely } else { Confidence::Strong };
    let pair = valid[0];
    Some(Finding {
        cause: Cause::SuiteShift,
        confidence,
        tests: with_it.iter().map(|test| test.to_string()).collect(),
        slower: common < 0.0,
        share: None,
        importance: common.abs() * with_it.len() as f64,
        statement: format!(
            "{change} in {count} of {all} tests: a common factor (build flags, memory allocator, \
             protocol, page size, host) rather than {count} causes ({confidence}).",
            change = change(common),
            count = with_it.len(),
            all = valid.len()
        ),
        numbers: vec![Number::plain("operations/s", "ratio", common.exp())],
        contradicted_by: vec![Check {
            what: "the A/A control moves, too",
            looked_at: !controls.is_empty(),
        }],
        next: Next::Profile.text(pair),
    })
}

/// System CPU grows by the same amount in all tests.
fn protocol(tests: &[Evidence]) -> Option<Finding> {
    let valid: Vec<&Evidence> = tests.iter().filter(is_valid).collect();
    let slower = valid.iter().map(|test| test.theta.value).sum::<f64>() < 0.0;
    let sign = if slower { 1.0 } else { -1.0 };
    let part = |test: &Evidence, part: Part| Some(test.parts.get(&part)?.change.times(sign));
    let system: Vec<ValueRange> =
        valid.iter().filter_map(|test| part(test, Part::ServerSystem)).collect();
    let weight = |estimate: &ValueRange| (estimate.high - estimate.low).max(1e-9).powi(-2);
    let weights: f64 = system.iter().map(weight).sum();
    let constant = system.iter().map(|one| one.value * weight(one)).sum::<f64>() / weights;
    let is_constant = |one: &&ValueRange| one.low <= constant && constant <= one.high;
    let all_up = system.iter().all(|one| one.is_above(0.0));
    let same = system.iter().filter(is_constant).count() as f64 >= MOST * system.len() as f64;
    // System CPU can grow a little beside the main part of the time.
    let is_most = |test: &&&Evidence| {
        part(test, Part::ServerSystem)
            .is_some_and(|one| one.value >= MOST_OF_TIME * test.time.change.times(sign).value)
    };
    let explains = 2 * valid.iter().filter(is_most).count() > valid.len();
    if system.len() < FEWEST_OF_SUITE || !all_up || !same || !explains {
        return None;
    }
    let by_rows: Vec<(f64, ValueRange)> = valid
        .iter()
        .filter_map(|test| Some((test.rows?, part(test, Part::ServerSystem)?)))
        .collect();
    let line = fit_line(&by_rows);
    if line.is_some_and(|line| line.slope.is_above(0.0)) {
        return None;
    }
    let client: Vec<bool> =
        valid.iter().filter_map(|test| Some(part(test, Part::Client)?.is_above(0.0))).collect();
    let client_up = client.iter().filter(|up| **up).count();
    let confidence = match (client_up * 2 > client.len(), line.is_some()) {
        (true, true) => Confidence::Strong,
        (false, false) => Confidence::Hint,
        _ => Confidence::Likely,
    };
    let changes: f64 = valid.iter().map(|test| test.theta.value.abs()).sum();
    Some(Finding {
        cause: Cause::Protocol,
        confidence,
        tests: valid.iter().map(|test| test.test.clone()).collect(),
        slower,
        share: None,
        importance: changes / 2.0,
        statement: format!(
            "{} of system CPU per operation in all {} tests, whatever their size; client CPU \
             changes with it in {client_up}. The cause is the protocol or a system call per \
             statement: use the same transport for both ({confidence}).",
            micros(constant * sign),
            system.len()
        ),
        numbers: vec![Number::plain("system CPU", "us", constant * sign)],
        contradicted_by: vec![Check {
            what: "system CPU grows with the number of rows",
            looked_at: line.is_some(),
        }],
        next: Next::SystemCalls.text(valid[0]),
    })
}

/// A statement at several sizes separates the cost per statement from the cost per row.
fn statement_or_row(tests: &[Evidence]) -> Vec<Finding> {
    let mut families: BTreeMap<&str, Vec<&Evidence>> = BTreeMap::new();
    for test in tests.iter().filter(is_valid) {
        if let Some(family) = &test.family {
            families.entry(family).or_default().push(test);
        }
    }
    families.into_iter().filter_map(|(family, tests)| of_family(family, &tests)).collect()
}

/// None if the costs of the sizes are not on a line: then they are not the sum of a cost per
/// statement and a cost per row.
fn of_family(family: &str, tests: &[&Evidence]) -> Option<Finding> {
    tests.iter().find_map(|test| View::of(test))?;
    let is_known = |(_, change): &(f64, ValueRange)| (change.high - change.low).is_finite();
    let points = tests.iter().filter_map(|test| Some((test.rows?, test.time.change)));
    let points: Vec<(f64, ValueRange)> = points.filter(is_known).collect();
    let Line { intercept, slope, p } = fit_line(&points).filter(Line::fits)?;
    let is_sure = |one: &ValueRange| one.is_above(0.0) || one.negated().is_above(0.0);
    let [value, low, high] = [slope.value, slope.low, slope.high].map(|micros| 1000.0 * micros);
    let per_statement = format!("{} per statement", micros_interval(&intercept));
    let per_row = format!("{} per 1000 rows", micros_interval(&ValueRange::new(value, low, high)));
    let text = match (is_sure(&intercept), is_sure(&slope)) {
        (true, true) => format!("{per_statement} and {per_row}"),
        (true, false) => format!(
            "{per_statement} (parsing, planning or executor start); {per_row}, which may be zero"
        ),
        (false, true) => format!("{per_row}; {per_statement}, which may be zero"),
        (false, false) => return None,
    };
    let confidence = Confidence::Strong;
    let mean: f64 = tests.iter().map(|test| test.theta.value).sum::<f64>() / tests.len() as f64;
    Some(Finding {
        cause: Cause::StatementOrRow,
        confidence,
        tests: tests.iter().map(|test| test.test.clone()).collect(),
        slower: mean < 0.0,
        share: None,
        importance: tests.iter().map(|test| test.theta.value.abs()).sum(),
        statement: format!(
            "{family}, {} sizes fit a line (p = {p:.2}): {text} ({confidence}).",
            points.len()
        ),
        numbers: vec![
            Number::micros("per statement", &intercept),
            Number::micros("per row", &slope),
            Number::plain("fit of the sizes to a line", "p-value", p),
        ],
        contradicted_by: vec![Check { what: "the sizes do not fit a line", looked_at: true }],
        next: Next::Profile.text(tests[0]),
    })
}
