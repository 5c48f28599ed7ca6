//! The bounds that verdicts must keep, and the methods that are fit for this machine.

use std::borrow::Borrow;

use rqps_plan::Method;
use rqps_stats::acceptance::{Known, LEAST_POWER, LEVEL, MOST_BIAS, Summary};
use rqps_stats::binomial::Share;
use rqps_stats::verdict::ESTIMATOR;
use rqps_store::selftest::Fitness;

use super::text::{share, signed};
use super::{Cell, Check, Circumstances, Conclusion, SYNTHETIC, Treatment};

/// There are many bounds, so each has this significance level.
const SURE: f64 = 0.01;
/// A machine with a larger MDE is too noisy for finding regressions.
const MOST_DETECTABLE: f64 = 0.05;

/// A name for cells with the same kind of slowdown.
type Kind = (&'static str, fn(Treatment) -> bool);

const EQUALS: fn(Treatment) -> bool = |treatment| treatment == Treatment::Same;
const TREATED: [Kind; 5] = [
    ("slower server", |treatment| matches!(treatment, Treatment::Server(_))),
    ("slower client", |treatment| matches!(treatment, Treatment::Client(_))),
    ("CPU quota", |treatment| matches!(treatment, Treatment::Quota(_))),
    ("limited writes", |treatment| matches!(treatment, Treatment::Writes(_))),
    ("settings", IS_SETTING),
];
const IS_SETTING: fn(Treatment) -> bool = |treatment| matches!(treatment, Treatment::Setting(_));

/// All bounds, by engine and method. The published bound of false alarms, 16 of 200, is for many
/// cells, and a quick selftest has few.
pub(super) fn checks(cells: &[Cell], quick: bool) -> Vec<Check> {
    let mut checks = Vec::new();
    for (engine, method) in kinds(cells, |cell| (cell.engine.clone(), cell.method)) {
        let name = format!("{engine} by {method}");
        let own = |is: fn(Treatment) -> bool| -> Vec<&Cell> {
            let own = cells.iter().filter(|cell| cell.is_counted && is(cell.treatment));
            own.filter(|cell| cell.engine == engine && cell.method == method).collect()
        };
        checks.extend(equal(&name, &own(EQUALS), if quick { SURE } else { LEVEL }));
        for (what, is) in TREATED {
            checks.extend(treated(&format!("{name}, {what}"), &own(is)));
        }
    }
    checks
}

fn equal(name: &str, cells: &[&Cell], alpha: f64) -> Option<Check> {
    if cells.is_empty() {
        return None;
    }
    let summary = summary(cells);
    let above = summary.above;
    Some(Check {
        engine: cells[0].engine.clone(),
        what: format!("{name}: A/A comparisons seldom differ"),
        is_kept: !summary.is_alarmist(alpha),
        found: format!(
            "{} differ, and 5 % are expected; {} of {} are faster",
            share(summary.flagged),
            above.hits,
            above.of
        ),
    })
}

fn treated(name: &str, cells: &[&Cell]) -> Vec<Check> {
    let Some(first) = cells.first() else { return Vec::new() };
    let summary = summary(cells);
    let causes = Share::count(cells.iter().filter_map(|cell| cell.is_cause_right));
    let check = |what: &str, is_kept, found| Check {
        engine: first.engine.clone(),
        what: format!("{name}: {what}"),
        is_kept,
        found,
    };
    let mut checks = Vec::new();
    // The sign of the effect of a setting is not known.
    if !IS_SETTING(first.treatment) {
        checks.push(check(
            "no wrong sign",
            summary.wrong_signs.hits == 0,
            format!("{} of {}", summary.wrong_signs.hits, summary.wrong_signs.of),
        ));
    }
    let exact: Vec<&Cell> = cells.iter().copied().filter(|cell| cell.is_exact).collect();
    if !exact.is_empty() {
        let summary = self::summary(&exact);
        checks.push(check(
            "intervals contain the truth",
            !summary.is_overconfident(SURE),
            format!("{} do, and 95 % are expected", share(summary.covered)),
        ));
        if summary.found_of_detectable.of > 0 {
            checks.push(check(
                "slowdowns of at least the MDE are found",
                !summary.is_blind(SURE),
                format!(
                    "{} were found, and {:.0} % are required",
                    share(summary.found_of_detectable),
                    100.0 * LEAST_POWER
                ),
            ));
        }
        if let Some(bias) = summary.bias(SURE) {
            checks.push(check(
                "sizes are true",
                !summary.is_biased(SURE),
                format!(
                    "mean error {} ({} to {}); the limit is {:.2} %",
                    signed(bias.value),
                    signed(bias.interval.low),
                    signed(bias.interval.high),
                    100.0 * MOST_BIAS * summary.detectable
                ),
            ));
        }
    }
    if causes.of > 0 {
        checks.push(check(
            "causes are right",
            causes.interval(SURE).high >= LEAST_POWER,
            format!("{} were right, and {:.0} % are required", share(causes), 100.0 * LEAST_POWER),
        ));
    }
    checks
}

/// The cells of servers: synthetic rounds have no engine and no machine.
fn real(cells: &[Cell]) -> Vec<&Cell> {
    cells.iter().filter(|cell| cell.engine != SYNTHETIC).collect()
}

/// The result that comparisons use: for each class of an engine and method, whether A/A comparisons
/// differ too often, intervals contain the truth too seldom, or a slowdown has the wrong sign.
pub(super) fn fitness(cells: &[Cell], circumstances: &Circumstances) -> Vec<Fitness> {
    let key = |cell: &Cell| (cell.engine.clone(), cell.method, cell.class.clone());
    let cells = real(cells);
    let mut all = Vec::new();
    for (engine, method, class) in kinds(&cells, key) {
        let own = || {
            let own = cells.iter().copied().filter(|cell| cell.known.is_some());
            own.filter(|cell| (&cell.engine, cell.method, &cell.class) == (&engine, method, &class))
        };
        let equals: Vec<&Cell> = own().filter(|cell| EQUALS(cell.treatment)).collect();
        if equals.is_empty() {
            continue;
        }
        let summary = summary(&equals);
        let exact: Vec<&Cell> = own().filter(|cell| cell.is_exact).collect();
        let intervals = self::summary(&exact);
        let turned = own().filter_map(|cell| cell.known.as_ref());
        let turned = turned.filter(|known| known.is_wrong_sign()).count();
        let mut why = format!(
            "A/A comparisons differ in {}, the SD over rounds is {:.2} %, and intervals contain the \
             truth in {}",
            share(summary.flagged),
            100.0 * summary.spread,
            share(intervals.covered)
        );
        if turned > 0 {
            why += &format!("; slowdowns with the wrong sign: {turned}");
        }
        all.push(Fitness {
            host: circumstances.host.clone(),
            engine,
            class,
            clients: circumstances.clients,
            method,
            date: circumstances.date.clone(),
            rqps_version: circumstances.rqps_version.clone(),
            estimator: ESTIMATOR,
            quick: circumstances.quick || circumstances.partial,
            is_fit: !summary.is_alarmist(SURE) && !intervals.is_overconfident(SURE) && turned == 0,
            why,
        });
    }
    all
}

/// Whether too few measurements of servers count, or their MDE is too large.
pub(super) fn is_noisy(cells: &[Cell]) -> bool {
    let cells = real(cells);
    let counted = cells.iter().filter(|cell| cell.is_counted).count();
    let is_discarded = counted == 0 || counted * 2 < cells.len();
    let sliced = cells.iter().copied().filter(|cell| cell.method == Method::Slices);
    let sliced: Vec<&Cell> = sliced.filter(|cell| cell.known.is_some()).collect();
    let is_coarse = !sliced.is_empty() && summary(&sliced).detectable > MOST_DETECTABLE;
    is_discarded || is_coarse
}

/// No machine explains a bound that synthetic rounds break. With servers, noise comes first: it may
/// be the reason of a broken bound.
pub(super) fn conclusion(cells: &[Cell], checks: &[Check]) -> Conclusion {
    let mut broken = checks.iter().filter(|check| !check.is_kept);
    if broken.clone().any(|check| check.engine == SYNTHETIC) {
        Conclusion::OutOfBounds
    } else if is_noisy(cells) {
        Conclusion::TooNoisy
    } else if broken.next().is_some() {
        Conclusion::OutOfBounds
    } else {
        Conclusion::Sound
    }
}

pub(super) fn summary(cells: &[&Cell]) -> Summary {
    let known: Vec<&Known> = cells.iter().filter_map(|cell| cell.known.as_ref()).collect();
    Summary::of(&known)
}

/// The distinct kinds, in the order of the cells.
fn kinds<T: PartialEq>(cells: &[impl Borrow<Cell>], of: impl Fn(&Cell) -> T) -> Vec<T> {
    let mut kinds = Vec::new();
    for kind in cells.iter().map(|cell| of(cell.borrow())) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    kinds
}

#[cfg(test)]
pub(super) mod tests {
    use rqps_analysis::diagnosis::Cause;
    use rqps_stats::acceptance::Known;
    use rqps_stats::{Estimate, Interval};

    use super::*;

    /// A test with a measured value of `value` ± `width`, as logs.
    pub(in crate::selftest) fn cell(
        treatment: Treatment,
        truth: f64,
        value: f64,
        width: f64,
    ) -> Cell {
        let estimate = Estimate { value, interval: Interval::around(value, width), p: 0.5 };
        let restarts = vec![value - width, value, value + width];
        Cell {
            engine: "postgres".to_string(),
            method: Method::Slices,
            class: "point".to_string(),
            test: "point-query".to_string(),
            contender: "other".to_string(),
            treatment,
            settings: None,
            expected: Some(truth.exp()),
            is_exact: !matches!(treatment, Treatment::Quota(_) | Treatment::Writes(_)),
            measured: Some(value.exp()),
            low: None,
            high: None,
            rounds: 3,
            label: String::new(),
            is_verdict: value.abs() > width,
            cause: None,
            is_cause_right: None,
            is_counted: true,
            known: Some(Known {
                group: value.to_string(),
                truth,
                estimate,
                restarts,
                detectable: 1.3 * width,
            }),
        }
    }

    pub(in crate::selftest) fn equals(count: usize, apart: usize, width: f64) -> Vec<Cell> {
        let value = |index: usize| {
            let size = if index < apart { 2.0 } else { 0.3 };
            width * if index.is_multiple_of(2) { size } else { -size }
        };
        (0..count).map(|index| cell(Treatment::Same, 0.0, value(index), width)).collect()
    }

    /// A test of a build with another setting; `is_right` is that of the reported cause, if any.
    pub(in crate::selftest) fn varied(cause: Cause, is_right: Option<bool>) -> Cell {
        Cell {
            test: "update-nonindex".to_string(),
            contender: "changed".to_string(),
            settings: Some("log=slow".to_string()),
            expected: None,
            is_exact: false,
            is_verdict: is_right.is_some(),
            cause: is_right
                .map(|_| "more writes (likely); most of the added time is user CPU".to_string()),
            is_cause_right: is_right,
            known: None,
            ..cell(Treatment::Setting(cause), 0.0, -0.3, 0.01)
        }
    }

    fn broken(cells: &[Cell]) -> Vec<String> {
        let broken = checks(cells, true).into_iter().filter(|check| !check.is_kept);
        broken.map(|check| check.what).collect()
    }

    fn circumstances() -> Circumstances {
        Circumstances {
            date: "2026-11-22T03:00:00Z".to_string(),
            rqps_version: String::new(),
            host: "here".to_string(),
            clients: 2,
            quick: true,
            partial: false,
            skipped: Vec::new(),
        }
    }

    #[test]
    fn equals_that_are_told_apart_too_often_condemn_the_method() {
        for (apart, is_sound) in [(1, true), (8, false)] {
            let cells = equals(20, apart, 0.005);
            let checks = checks(&cells, true);
            assert_eq!(checks[0].is_kept, is_sound, "{checks:?}");
            let expected = if is_sound { Conclusion::Sound } else { Conclusion::OutOfBounds };
            assert_eq!(conclusion(&cells, &checks), expected);
            let fitness = fitness(&cells, &circumstances());
            assert_eq!(fitness.len(), 1);
            assert_eq!((fitness[0].is_fit, fitness[0].clients), (is_sound, 2));
        }
    }

    #[test]
    fn intervals_that_hold_the_truth_too_seldom_condemn_the_method_for_the_class() {
        for (missed, is_fit) in [(2, true), (12, false)] {
            let mut cells = equals(20, 1, 0.005);
            let slowed = |index: usize| {
                let off = if index < missed { 0.006 } else { 0.001 };
                cell(Treatment::Server(0.02), -0.02, -0.02 - off, 0.005)
            };
            cells.extend((0..20).map(slowed));
            let mut ranges = equals(20, 1, 0.005);
            ranges.iter_mut().for_each(|cell| cell.class = "range".to_string());
            cells.extend(ranges);
            // With the same error, but the expected size is not exact.
            let limited = (0..20).map(|_| cell(Treatment::Quota(0.25), -1.0, -1.2, 0.01));
            cells.extend(limited.map(|cell| Cell { class: "range".to_string(), ..cell }));
            let known = cells.iter_mut().filter_map(|cell| cell.known.as_mut());
            known.enumerate().for_each(|(at, known)| known.group = (at % 8).to_string());
            let fitness = fitness(&cells, &circumstances());
            let of = |class: &str| fitness.iter().find(|one| one.class == class).unwrap();
            assert_eq!((of("point").is_fit, of("range").is_fit), (is_fit, true), "{fitness:?}");
            let covered = format!("intervals contain the truth in {} of 40", 39 - missed);
            assert!(of("point").why.contains(&covered), "{}", of("point").why);
            assert_eq!(of("point").estimator, ESTIMATOR);
        }
    }

    #[test]
    fn of_a_setting_only_the_cause_is_looked_at_where_there_is_something_to_explain() {
        let wrong = vec![varied(Cause::Commit, Some(false)); 6];
        assert_eq!(broken(&wrong), ["postgres by slices, settings: causes are right"]);
        let right = vec![varied(Cause::Commit, Some(true)); 6];
        assert_eq!(checks(&right, true).len(), 1);
        assert_eq!(broken(&right), [] as [&str; 0]);
        let nothing = vec![varied(Cause::Commit, None); 6];
        assert!(checks(&nothing, true).is_empty(), "neither right nor wrong");
        // They count neither for the machine nor for a method.
        let mut cells = equals(20, 1, 0.005);
        cells.extend(nothing.into_iter().cycle().take(60));
        assert!(!is_noisy(&cells));
        assert_eq!(fitness(&cells, &circumstances()).len(), 1);
    }

    #[test]
    fn settings_alone_are_judged_if_they_were_measured() {
        let right = vec![varied(Cause::Commit, Some(true)); 4];
        assert_eq!(conclusion(&right, &checks(&right, false)), Conclusion::Sound);
        let discarded = Cell { is_counted: false, ..varied(Cause::Commit, None) };
        let discarded = vec![discarded; 4];
        assert_eq!(conclusion(&discarded, &checks(&discarded, false)), Conclusion::TooNoisy);
    }

    #[test]
    fn a_machine_on_which_little_is_seen_is_noisy_and_not_wrong() {
        let noisy = equals(20, 0, 0.08);
        assert_eq!(conclusion(&noisy, &checks(&noisy, true)), Conclusion::TooNoisy);
        let mut discarded = equals(20, 0, 0.005);
        for cell in discarded.iter_mut().take(15) {
            (cell.is_counted, cell.known) = (false, None);
        }
        assert_eq!(conclusion(&discarded, &checks(&discarded, true)), Conclusion::TooNoisy);
        assert_eq!(conclusion(&[], &[]), Conclusion::TooNoisy);
    }

    #[test]
    fn what_is_made_up_neither_hides_the_machines_noise_nor_is_excused_by_it() {
        for (apart, of_servers, expected) in [
            (1, Vec::new(), Conclusion::TooNoisy),
            (1, equals(20, 0, 0.08), Conclusion::TooNoisy),
            (8, equals(20, 0, 0.08), Conclusion::OutOfBounds),
            (1, equals(20, 1, 0.005), Conclusion::Sound),
            (8, equals(20, 1, 0.005), Conclusion::OutOfBounds),
            (1, equals(20, 8, 0.005), Conclusion::OutOfBounds),
        ] {
            let mut cells = equals(20, apart, 0.005);
            cells.iter_mut().for_each(|cell| cell.engine = SYNTHETIC.to_string());
            cells.extend(of_servers);
            let checks = checks(&cells, true);
            assert_eq!(conclusion(&cells, &checks), expected, "{checks:?}");
            let fitness = fitness(&cells, &circumstances());
            assert!(fitness.iter().all(|one| one.engine == "postgres"), "{fitness:?}");
        }
    }

    #[test]
    fn slowdowns_must_be_found_with_their_sign_size_and_cause() {
        let server = |value: f64| cell(Treatment::Server(0.02), -0.02, value, 0.005);
        let sound: Vec<Cell> =
            [-0.021, -0.019, -0.0201, -0.0205, -0.0199, -0.0207].map(server).to_vec();
        assert_eq!(broken(&sound), [] as [&str; 0]);
        assert_eq!(
            broken(&[-0.021, 0.019, -0.02].map(server)),
            ["postgres by slices, slower server: no wrong sign"]
        );
        let mut small = [-0.010, -0.011, -0.009, -0.0101, -0.0111, -0.0099].map(server);
        // Otherwise one round would be the smallest in all of them.
        let known = small.iter_mut().filter_map(|cell| cell.known.as_mut());
        known.enumerate().for_each(|(at, known)| known.restarts.rotate_left(at % 3));
        assert_eq!(
            broken(&small),
            ["intervals contain the truth", "sizes are true"]
                .map(|what| format!("postgres by slices, slower server: {what}"))
        );
        let mut blamed = sound;
        blamed.iter_mut().for_each(|cell| cell.is_cause_right = Some(false));
        assert_eq!(broken(&blamed), ["postgres by slices, slower server: causes are right"]);
    }
}
