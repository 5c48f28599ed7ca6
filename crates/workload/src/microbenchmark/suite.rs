//! The table of tests: all of the published suite, a row each. A new test is a row here, and an
//! event in `statement.rs` if it sends something new.

use std::time::Duration;

pub use rqps_plan::Group;
use rqps_plan::{Class, Microbenchmark, suggestion};

use crate::task::UnknownTest;

use super::statement::{
    DELETE_ROWS, Does, Event, HOT_POINTS, INSERT, POINT_QUERY, POINTS_COVERED_PK,
    POINTS_COVERED_SI, POINTS_NOTCOVERED_PK, POINTS_NOTCOVERED_SI, RANDOM_POINTS, RANGE_COVERED_PK,
    RANGE_COVERED_SI, RANGE_NOTCOVERED_PK, RANGE_NOTCOVERED_SI, READ_ONLY, READ_ONLY_COUNT,
    READ_ONLY_DISTINCT, READ_ONLY_ORDER, READ_ONLY_SIMPLE, READ_ONLY_SUM, READ_WRITE, SCAN,
    UPDATE_INDEX, UPDATE_INLIST, UPDATE_NONINDEX, WRITE_ONLY,
};

/// A microbenchmark.
#[derive(Debug)]
pub struct Test {
    /// As in the published tables: `point-query_range=100`.
    pub name: &'static str,
    pub group: Group,
    pub purpose: Purpose,
    pub time: Time,
    pub clients: Clients,
    pub keys: Keys,
    pub event: &'static Event,
    /// Keys of a list, rows of a range; 0 where whole tables are read.
    pub size: usize,
}

/// The purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Reported,
    /// Fills caches for those after it; not reported.
    WarmUp,
    /// Runs before any writes, to be compared with its namesake after them. The current suite has
    /// two of them, which are not reported.
    Before {
        in_suite: bool,
    },
}

/// Which time of the plan a test is measured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Time {
    Read,
    Write,
    /// One minute, or the time of tests that read if that is shorter.
    Minute,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// As many as in the plan.
    Planned,
    OnePerTable,
}

/// How keys are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    Uniform,
    /// By rank, exponent 0.8: key 1 is the hottest, key 2 the next.
    Zipf,
    /// Always key 1.
    First,
}

/// The order in which selected tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequence {
    Suite,
    Given,
}

const fn test(name: &'static str, group: Group, event: &'static Event, size: usize) -> Test {
    let time = match group {
        Group::Write => Time::Write,
        _ => Time::Read,
    };
    Test {
        name,
        group,
        purpose: Purpose::Reported,
        time,
        clients: Clients::Planned,
        keys: Keys::Uniform,
        event,
        size,
    }
}

impl Test {
    const fn warm_up(self) -> Self {
        Test { purpose: Purpose::WarmUp, ..self }
    }

    const fn before(self, in_suite: bool) -> Self {
        Test { purpose: Purpose::Before { in_suite }, ..self }
    }

    const fn time(self, time: Time) -> Self {
        Test { time, ..self }
    }

    const fn keys(self, keys: Keys) -> Self {
        Test { keys, ..self }
    }

    const fn one_per_table(self) -> Self {
        Test { clients: Clients::OnePerTable, ..self }
    }
}

use Group::{Aggregate, Point, Range, Write};

/// In the order of the suite. A range of ids has as many rows as its name says; one of the tests
/// covered and notcovered has 101, since both of its ends are included. A name may have another
/// number than the size, since the tests were published with it.
static TESTS: &[Test] = &[
    test("point-query.warm_range=100", Point, &POINT_QUERY, 1).warm_up().one_per_table(),
    test("scan.warmpre_range=100", Range, &SCAN, 0).warm_up().time(Time::Minute),
    test("point-query.pre_range=100", Point, &POINT_QUERY, 1).before(true),
    test("points-covered-pk.pre_range=100", Point, &POINTS_COVERED_PK, 100).before(false),
    test("points-covered-si.pre_range=100", Point, &POINTS_COVERED_SI, 100).before(false),
    test("points-notcovered-pk.pre_range=100", Point, &POINTS_NOTCOVERED_PK, 100).before(false),
    test("points-notcovered-si.pre_range=100", Point, &POINTS_NOTCOVERED_SI, 100).before(false),
    test("random-points.pre_range=10", Point, &RANDOM_POINTS, 10).before(false),
    test("random-points.pre_range=100", Point, &RANDOM_POINTS, 100).before(false),
    test("random-points.pre_range=1000", Point, &RANDOM_POINTS, 1000).before(false),
    test("range-covered-pk.pre_range=100", Range, &RANGE_COVERED_PK, 101).before(false),
    test("range-covered-si.pre_range=100", Range, &RANGE_COVERED_SI, 101).before(false),
    test("range-notcovered-pk.pre_range=100", Range, &RANGE_NOTCOVERED_PK, 101).before(false),
    test("range-notcovered-si.pre_range=100", Range, &RANGE_NOTCOVERED_SI, 101).before(true),
    test("read-only.pre_range=10", Aggregate, &READ_ONLY, 10).before(false),
    test("read-only.pre_range=100", Aggregate, &READ_ONLY, 100).before(false),
    test("read-only.pre_range=10000", Aggregate, &READ_ONLY, 10_000).before(false),
    test("update-inlist_range=100", Write, &UPDATE_INLIST, 10),
    test("update-index_range=100", Write, &UPDATE_INDEX, 1),
    test("update-nonindex_range=100", Write, &UPDATE_NONINDEX, 1),
    test("update-one_range=100", Write, &UPDATE_NONINDEX, 1).keys(Keys::First),
    test("update-zipf_range=100", Write, &UPDATE_NONINDEX, 1).keys(Keys::Zipf),
    test("write-only_range=10000", Write, &WRITE_ONLY, 1).time(Time::Read),
    test("read-write_range=10", Write, &READ_WRITE, 10),
    test("read-write_range=100", Write, &READ_WRITE, 100),
    test("scan.warm_range=100", Range, &SCAN, 0).warm_up().time(Time::Minute),
    test("scan_range=100", Range, &SCAN, 0),
    test("read-only_range=10", Aggregate, &READ_ONLY, 10),
    test("read-only_range=100", Aggregate, &READ_ONLY, 100),
    test("read-only_range=10000", Aggregate, &READ_ONLY, 10_000),
    test("read-only-simple_range=1000", Aggregate, &READ_ONLY_SIMPLE, 1000),
    test("read-only-sum_range=1000", Aggregate, &READ_ONLY_SUM, 1000),
    test("read-only-order_range=1000", Aggregate, &READ_ONLY_ORDER, 1000),
    test("read-only-distinct_range=1000", Aggregate, &READ_ONLY_DISTINCT, 1000),
    test("read-only-count_range=1000", Aggregate, &READ_ONLY_COUNT, 1000),
    test("point-query_range=100", Point, &POINT_QUERY, 1),
    test("random-points_range=10", Point, &RANDOM_POINTS, 10),
    test("random-points_range=100", Point, &RANDOM_POINTS, 100),
    test("random-points_range=1000", Point, &RANDOM_POINTS, 1000),
    test("hot-points_range=100", Point, &HOT_POINTS, 100),
    test("points-covered-pk_range=100", Point, &POINTS_COVERED_PK, 100),
    test("points-notcovered-pk_range=100", Point, &POINTS_NOTCOVERED_PK, 100),
    test("range-covered-pk_range=100", Range, &RANGE_COVERED_PK, 101),
    test("range-notcovered-pk_range=100", Range, &RANGE_NOTCOVERED_PK, 101),
    test("points-covered-si.warm_range=100", Point, &POINTS_COVERED_SI, 100).warm_up(),
    test("points-covered-si_range=100", Point, &POINTS_COVERED_SI, 100),
    test("points-notcovered-si_range=100", Point, &POINTS_NOTCOVERED_SI, 100),
    test("range-covered-si_range=100", Range, &RANGE_COVERED_SI, 101),
    test("range-notcovered-si_range=100", Range, &RANGE_NOTCOVERED_SI, 101),
    test("delete_range=100", Write, &DELETE_ROWS, 1),
    test("insert_range=100", Write, &INSERT, 1),
];

impl Test {
    /// The name without its range.
    pub fn stem(&self) -> &'static str {
        self.name.split_once("_range=").map_or(self.name, |(stem, _)| stem)
    }

    /// The name without its range, if no other test has the same.
    pub fn short_name(&self) -> &'static str {
        let namesakes = TESTS.iter().filter(|test| test.stem() == self.stem()).count();
        if namesakes == 1 { self.stem() } else { self.name }
    }

    pub fn class(&self) -> Class {
        let does = |what| self.event.does(what);
        match (self.group, self.keys) {
            _ if self.is_scan() => Class::Scan,
            (Group::Point, _) if self.stem() == "hot-points" => Class::HotPoint,
            (Group::Point, _) => Class::Point,
            (Group::Range | Group::Aggregate, _) => Class::Range,
            (Group::Write, Keys::First) => Class::HotUpdate,
            (Group::Write, _) => match (does(Does::Insert), does(Does::Delete)) {
                (true, true) => Class::ReadWrite,
                (true, false) => Class::Insert,
                (false, true) => Class::Delete,
                (false, false) => Class::Update,
            },
        }
    }

    pub fn is_reported(&self) -> bool {
        self.purpose == Purpose::Reported
    }

    /// Part of the current suite.
    pub fn is_in_suite(&self) -> bool {
        self.purpose != Purpose::Before { in_suite: false }
    }

    /// Changes the tables.
    pub fn writes(&self) -> bool {
        self.event.writes()
    }

    /// Each operation reads a whole table, and what is published is thousand rows per second and
    /// client: the rows of a table over the mean milliseconds of an operation.
    pub fn is_scan(&self) -> bool {
        self.size == 0
    }

    /// How many clients run it if the plan is at `planned`.
    pub fn clients(&self, planned: u32, tables: u32) -> u32 {
        match self.clients {
            Clients::Planned => planned,
            Clients::OnePerTable => tables,
        }
    }

    /// How long it is measured.
    pub fn measured(&self, plan: &Microbenchmark) -> Duration {
        match self.time {
            Time::Read => plan.read_time.0,
            Time::Write => plan.write_time.0,
            Time::Minute => plan.read_time.0.min(Duration::from_secs(60)),
        }
    }

    fn is_called(&self, name: &str) -> bool {
        match name {
            "all" => self.is_in_suite(),
            "reported" => self.is_reported(),
            "pre" => matches!(self.purpose, Purpose::Before { .. }),
            _ if name == self.name || name == self.stem() => true,
            _ => self.is_reported() && name == self.group.name(),
        }
    }
}

/// All tests, in the order of the suite; the current suite has fewer.
pub fn tests() -> &'static [Test] {
    TESTS
}

/// The 38 tests of the current suite, in their order.
pub fn suite() -> impl Iterator<Item = &'static Test> {
    TESTS.iter().filter(|test| test.is_in_suite())
}

/// The tests by these names, each once. A name is that of a test; that of tests without their range
/// (`random-points` are three); a group (`point`, `range`, `aggregate`, `write`), which is its
/// reported tests; or `reported`, `pre` or `all`, the last being the current suite.
pub fn select(names: &[String], sequence: Sequence) -> Result<Vec<&'static Test>, UnknownTest> {
    let mut selected: Vec<&'static Test> = Vec::new();
    for name in names {
        let called = || TESTS.iter().filter(|test| test.is_called(name));
        if called().next().is_none() {
            return Err(unknown(name));
        }
        for test in called() {
            if !selected.iter().any(|other| other.name == test.name) {
                selected.push(test);
            }
        }
    }
    if sequence == Sequence::Suite {
        let place = |wanted: &&Test| TESTS.iter().position(|test| test.name == wanted.name);
        selected.sort_by_key(place);
    }
    Ok(selected)
}

fn unknown(name: &str) -> UnknownTest {
    // A name with an unknown range is compared without it.
    let stem = name.split_once("_range=").map_or(name, |(stem, _)| stem);
    let groups = Group::ALL.map(Group::name);
    let mut known: Vec<&str> = [&groups[..], &["reported", "pre", "all"]].concat();
    for test in TESTS.iter().filter(|test| test.is_reported()) {
        if !known.contains(&test.stem()) {
            known.push(test.stem());
        }
    }
    UnknownTest { name: name.to_string(), hint: suggestion(stem, known) }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rqps_load::Statements;

    use super::*;

    fn named(name: &str) -> &'static Test {
        TESTS.iter().find(|test| test.short_name() == name).unwrap()
    }

    fn selected(names: &str, sequence: Sequence) -> Vec<&'static str> {
        let names: Vec<String> = names.split(' ').map(str::to_string).collect();
        select(&names, sequence).unwrap().iter().map(|test| test.short_name()).collect()
    }

    #[test]
    fn the_suite_has_38_steps_of_which_32_are_reported() {
        assert_eq!(suite().count(), 38);
        let reported = |group| suite().filter(|t| t.is_reported() && t.group == group).count();
        assert_eq!(Group::ALL.map(reported), [9, 5, 8, 10]);
        let unreported: Vec<&str> =
            suite().filter(|test| !test.is_reported()).map(Test::short_name).collect();
        assert_eq!(
            unreported.join(" "),
            "point-query.warm scan.warmpre point-query.pre range-notcovered-si.pre scan.warm \
             points-covered-si.warm"
        );
        assert_eq!(selected("pre", Sequence::Suite).len(), 15);
        let names: HashSet<&str> = TESTS.iter().map(|test| test.name).collect();
        assert_eq!(names.len(), TESTS.len(), "every name is of one test");
    }

    #[test]
    fn events_send_the_published_mix() {
        let mix = |reads, writes, others| Statements { reads, writes, others };
        for test in TESTS {
            let expected = match test.stem().split('.').next().unwrap() {
                "read-only" => mix(14, 0, 2),
                "read-only-simple" | "read-only-sum" | "read-only-order" | "read-only-distinct" => {
                    mix(11, 0, 2)
                }
                "read-write" => mix(14, 4, 2),
                "write-only" => mix(0, 4, 2),
                _ if test.group == Group::Write => mix(0, 1, 0),
                _ => mix(1, 0, 0),
            };
            assert_eq!(test.event.statements(), expected, "{}", test.name);
        }
    }

    #[test]
    fn sizes_and_times_are_those_published() {
        assert_eq!(named("update-inlist").size, 10);
        assert_eq!(named("range-covered-si").size, 101);
        assert_eq!(named("random-points_range=1000").size, 1000);
        assert_eq!(named("write-only").time, Time::Read);
        assert_eq!(named("insert").time, Time::Write);
        assert_eq!(named("scan.warm").time, Time::Minute);
        assert!(named("scan.warmpre").is_scan() && !named("range-covered-pk").is_scan());
        assert_eq!(named("point-query.warm").clients(40, 8), 8);
        assert_eq!(named("point-query").clients(40, 8), 40);
    }

    #[test]
    fn tests_are_selected_by_name_by_stem_and_by_group() {
        let given = |names| selected(names, Sequence::Given).join(" ");
        assert_eq!(given("update-zipf hot-points_range=100"), "update-zipf hot-points");
        assert_eq!(
            given("random-points"),
            "random-points_range=10 random-points_range=100 random-points_range=1000"
        );
        assert_eq!(selected("point range aggregate write", Sequence::Suite).len(), 32);
        assert_eq!(selected("reported", Sequence::Suite).len(), 32);
        assert_eq!(selected("all delete", Sequence::Suite).len(), 38);
        assert_eq!(selected("insert update-one", Sequence::Suite), ["update-one", "insert"]);
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        let error = select(&["hot-pionts_range=100".to_string()], Sequence::Suite).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with(
                "unknown test or group 'hot-pionts_range=100': did you mean 'hot-points'?"
            ),
            "{text}"
        );
    }
}
