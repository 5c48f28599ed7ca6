//! Searches among commits whose comparisons are made up.

use super::*;

const TEST: &str = "point-query";

fn search(commits: usize) -> CommitSearch {
    let commit = |place: usize| SearchedCommit {
        hash: format!("{place:012x}{:028}", 0),
        tree: format!("{place:040x}"),
        parents: Vec::new(),
        subject: format!("change {place}"),
        weight: 1.0,
    };
    let plan = SearchPlan {
        schema: BISECT_SCHEMA.to_string(),
        rqps_version: "0".to_string(),
        good: "v1".to_string(),
        bad: "HEAD".to_string(),
        commits: (0..=commits).map(commit).collect(),
        direction: SearchDirection::Slower,
        probability: 0.95,
        comparisons: 60,
        counts: false,
        layouts: 0,
        notes: Vec::new(),
    };
    CommitSearch::new(plan, None)
}

fn effect(test: &str, value: f64) -> TestEffect {
    let (spread, rounds) = (0.004, 6);
    let error = spread / f64::from(rounds).sqrt();
    TestEffect {
        test: test.to_string(),
        value,
        low: value - 2.57 * error,
        high: value + 2.57 * error,
        rounds,
        spread,
        error,
        widened: 1.0,
        detectable: 3.5 * error,
        invalid: None,
    }
}

impl CommitSearch {
    fn measure(&mut self, baseline: usize, place: usize, effects: Vec<TestEffect>) {
        self.measure_in(0, (baseline, place), effects);
    }

    fn measure_in(
        &mut self,
        layout: u32,
        (baseline, place): (usize, usize),
        effects: Vec<TestEffect>,
    ) {
        let by = SearchMetric::Time;
        let to = ToCompare { baseline, place, layout, rounds: None, by };
        self.make(to, effects);
    }

    fn make(&mut self, to: ToCompare, effects: Vec<TestEffect>) {
        let name = format!("{:02}", self.made.len());
        let ToCompare { baseline, place, layout, by, .. } = to;
        self.made.push(MadeComparison { name, baseline, place, layout, by, effects });
    }

    /// Goes on to the end, with the speed of each place.
    fn run_until_the_end(&mut self, level: impl Fn(usize) -> f64, builds: impl Fn(usize) -> bool) {
        while let SearchStep::Compare(ToCompare { baseline, place, .. }) = self.next() {
            assert!(self.comparisons() < 40, "it does not end");
            match builds(place) {
                true => {
                    let value = level(place) - level(baseline);
                    self.measure(baseline, place, vec![effect(TEST, value)]);
                }
                false => self.add_attempt(
                    place,
                    BuildAttempt::Failed { why: "error: x".to_string(), log: String::new() },
                ),
            }
        }
    }
}

fn built(code: &str) -> BuildAttempt {
    BuildAttempt::Built { code: code.to_string() }
}

#[test]
fn a_change_is_found_and_confirmed_against_its_parent() {
    let mut search = search(64);
    search.run_until_the_end(|place| if place >= 41 { -0.04 } else { 0.0 }, |_| true);
    let result = search.result();
    assert_eq!(result.kind, SearchKind::Found, "{result:?}");
    let found = result.found.unwrap();
    assert_eq!((found.first, found.last), (41, 41));
    assert!(search.comparisons() <= 11, "{}", search.comparisons());
    let last = search.made.last().unwrap();
    assert_eq!((last.baseline, last.place), (40, 41));
    assert!((result.confirmation.unwrap().value - -0.04).abs() < 1e-9);
    assert_eq!(result.credible, [41]);
}

#[test]
fn the_first_commit_after_good_has_good_as_its_parent_and_is_measured_again() {
    let mut search = search(4);
    search.run_until_the_end(|place| if place >= 1 { -0.04 } else { 0.0 }, |_| true);
    let result = search.result();
    assert_eq!(result.kind, SearchKind::Found);
    let direct = search.made.iter().filter(|made| (made.baseline, made.place) == (0, 1));
    assert_eq!(direct.count(), 2);
}

/// Another layout of the same code says whether the code is why.
#[test]
fn a_change_that_another_layout_does_not_have_is_one_of_layout() {
    for (value, kind) in [(-0.035, SearchKind::Found), (0.001, SearchKind::Layout)] {
        let mut search = search(8);
        search.plan.layouts = 1;
        let level = |place| if place >= 5 { -0.04 } else { 0.0 };
        while let SearchStep::Compare(ToCompare { baseline, place, layout, .. }) = search.next() {
            let value = if layout == 1 { value } else { level(place) - level(baseline) };
            search.measure_in(layout, (baseline, place), vec![effect(TEST, value)]);
        }
        let result = search.result();
        assert_eq!((result.kind, result.layouts.len()), (kind, 1), "{result:?}");
        assert_eq!(search.made.last().unwrap().layout, 1, "it is measured once, and last");
    }
    let search = search(8);
    let name = label(search.commit(3), 2);
    assert_eq!(search.place(&name), Some((3, 2)));
    assert_eq!(search.place(search.commit(3).short()), Some((3, 0)));
    assert_eq!(search.place("other"), None);
}

#[test]
fn commits_that_do_not_build_make_a_range() {
    let mut search = search(32);
    let level = |place| if place >= 20 { -0.04 } else { 0.0 };
    search.run_until_the_end(level, |place| !(18..=21).contains(&place));
    let result = search.result();
    assert_eq!(result.kind, SearchKind::Range, "{result:?}");
    let found = result.found.unwrap();
    assert_eq!((found.first, found.last), (18, 22));
    assert!(result.credible.iter().all(|place| (18..=22).contains(place)), "{result:?}");
}

#[test]
fn two_changes_are_told_as_several() {
    let mut search = search(16);
    let level = |place| match place {
        0..=4 => 0.0,
        5..=11 => -0.05,
        _ => -0.10,
    };
    search.run_until_the_end(level, |_| true);
    let result = search.result();
    assert_eq!(result.kind, SearchKind::Several, "{result:?}");
    assert!(result.why.contains("the speed changes in 2 places"), "{}", result.why);
}

#[test]
fn nothing_is_searched_where_the_ends_do_not_differ_enough_or_not_in_that_direction() {
    for (value, why) in [
        (-0.003, "BAD does not differ from GOOD"),
        (-0.008, "the change is too small to search for"),
        (0.04, "BAD is faster than GOOD (4.1 %). To search for that: --direction faster"),
    ] {
        let mut search = search(8);
        search.measure(0, 8, vec![effect(TEST, value)]);
        assert_eq!(search.next(), SearchStep::Done);
        let result = search.result();
        assert_eq!(result.kind, SearchKind::Nothing);
        assert!(result.why.contains(why), "{}", result.why);
    }
    let mut search = search(8);
    search.add_attempt(0, built("x"));
    search.add_attempt(8, built("x"));
    assert_eq!(search.next(), SearchStep::Done);
    assert!(search.result().why.contains("the same binary"));
}

#[test]
fn the_largest_change_for_its_error_decides_unless_a_test_is_named() {
    let mut search = search(8);
    search.measure(0, 8, vec![effect("scan", -0.02), effect(TEST, -0.05), effect("x", 0.2)]);
    assert_eq!(search.result().ends.unwrap().test, TEST);
    search.test = Some("scan".to_string());
    assert_eq!(search.result().ends.unwrap().test, "scan");
}

#[test]
fn noise_asks_for_more_rounds_and_too_much_of_it_ends_the_search() {
    let mut search = search(8);
    let noisy = TestEffect { spread: 0.02, detectable: 0.01, ..effect(TEST, -0.04) };
    search.measure(0, 8, vec![noisy]);
    let SearchStep::Compare(ToCompare { rounds, .. }) = search.next() else { panic!("it goes on") };
    assert_eq!(rounds, Some(9));
    let invalid = TestEffect { invalid: Some("busy".to_string()), ..effect(TEST, -0.04) };
    for _ in 0..3 {
        search.measure(0, 4, vec![invalid.clone()]);
    }
    assert_eq!(search.next(), SearchStep::Done);
    assert_eq!(search.result().kind, SearchKind::Undecided);
}

/// What is known is all that counts: a search that was killed goes on with the same commit.
#[test]
fn the_same_knowledge_has_the_same_next_step() {
    let mut search = search(64);
    let level = |place| if place >= 41 { -0.04 } else { 0.0 };
    let mut again = self::search(64);
    while let SearchStep::Compare(ToCompare { baseline, place, .. }) = search.next() {
        assert_eq!(again.next(), search.next());
        let effects = vec![effect(TEST, level(place) - level(baseline))];
        search.measure(baseline, place, effects);
        // Built anew from its parts, with what was built in another order.
        again = self::search(64);
        for made in search.made.iter() {
            again.measure(made.baseline, made.place, made.effects.clone());
        }
    }
    assert_eq!(again.result(), search.result());
}

#[test]
fn commits_with_one_binary_are_measured_once() {
    let mut search = search(8);
    search.measure(0, 8, vec![effect(TEST, -0.04)]);
    search.add_attempt(0, built("a"));
    search.add_attempt(4, built("a"));
    assert!(search.is_measured_elsewhere(4) && !search.is_measured_elsewhere(5));
    let SearchStep::Compare(ToCompare { place, .. }) = search.next() else { panic!("it goes on") };
    assert_eq!(place, 6, "nothing up to 4 is the change");
}

/// The effect of instructions, which have no noise, but other commits change them, too.
fn counted(value: f64) -> TestEffect {
    let error = 0.0005;
    let (low, high) = (value - 2.0 * error, value + 2.0 * error);
    TestEffect { low, high, rounds: 2, error, detectable: 4.0 * error, ..effect(TEST, value) }
}

/// Makes up both metrics of each place, to the end of a search. Returns the timed comparisons.
fn steered(
    time: impl Fn(usize) -> f64,
    instructions: impl Fn(usize) -> f64,
) -> (CommitSearch, usize) {
    let mut search = search(64);
    search.plan.counts = true;
    let mut timed = 0;
    while let SearchStep::Compare(to) = search.next() {
        assert!(search.comparisons() < 40, "it does not end");
        let (baseline, place) = (to.baseline, to.place);
        let effect = match to.by {
            SearchMetric::Instructions => counted(instructions(place) - instructions(baseline)),
            SearchMetric::Time => {
                timed += 1;
                effect(TEST, time(place) - time(baseline))
            }
        };
        search.make(to, vec![effect]);
    }
    (search, timed)
}

#[test]
fn instructions_choose_the_commits_and_times_confirm() {
    let time = |place| if place >= 41 { -0.04 } else { 0.0 };
    // Every commit adds a few.
    let instructions = |place: usize| if place >= 41 { -0.06 } else { 0.0 } - place as f64 * 0.0001;
    let (search, timed) = steered(time, instructions);
    let result = search.result();
    assert_eq!(result.kind, SearchKind::Found, "{result:?}");
    assert_eq!(result.found.unwrap().first, 41);
    assert_eq!(timed, 2, "the ends, and the direct comparison");
    let counted = search.effect_of(64, TEST, SearchMetric::Instructions).unwrap();
    assert!((counted.value - -0.0664).abs() < 1e-9, "{counted:?}");
}

#[test]
fn comparisons_of_one_commit_are_weighted() {
    let mut search = search(8);
    search.measure(0, 8, vec![effect(TEST, -0.04)]);
    let one = search.effect_of(8, TEST, SearchMetric::Time).unwrap();
    assert_eq!((one.value, one.comparisons), (-0.04, 1));
    let exact = TestEffect { error: effect(TEST, 0.0).error / 3.0, ..effect(TEST, -0.05) };
    search.measure(0, 8, vec![exact]);
    let both = search.effect_of(8, TEST, SearchMetric::Time).unwrap();
    assert!((both.value - -0.049).abs() < 1e-9, "nine times the weight: {both:?}");
    assert!(both.high - both.low < one.high - one.low);
    assert_eq!(search.effect_of(4, TEST, SearchMetric::Time), None);
}

#[test]
fn instructions_that_do_not_tell_leave_the_search_to_time() {
    let time = |place| if place >= 41 { -0.04 } else { 0.0 };
    // The same; and a change of instructions in another commit than that of the time.
    let elsewhere = |place| if place >= 20 { -0.06 } else { 0.0 };
    for instructions in [&(|_| 0.0) as &dyn Fn(usize) -> f64, &elsewhere] {
        let (search, timed) = steered(time, instructions);
        assert_eq!(search.result().found.unwrap().first, 41);
        assert!(timed > 5, "{timed}");
    }
}
