use rand::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_analysis::comparison::{Quantity, restart};
use rqps_load::Portion;
use rqps_plan::{Class, Counts};
use rqps_store::{RoundRecord, SliceRecord};

use super::*;

const USUAL: Cut = Cut::by_time(Duration::from_millis(10), Duration::from_millis(1));
const ARMS: [&str; 3] = ["base", "new", "A/A control"];
/// The machine's speed differs by so much from slice to slice: a standard deviation of the log.
const NOISE: f64 = 0.01;

fn milliseconds(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds / 1e3)
}

/// Arms with a clock of their own, on which operations take exactly the time that they should.
struct Simulated {
    /// Milliseconds of the operation with this number.
    cost: fn(u64) -> f64,
    /// By arm, the factor of its operations.
    slowness: [f64; 3],
    next: [u64; 3],
    random: Xoshiro256PlusPlus,
}

impl Simulated {
    /// A sum of uniform numbers is nearly normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.random.random::<f64>()).sum::<f64>() - 6.0
    }

    /// Operations until one of these limits, and their nanoseconds.
    fn portion(&mut self, contender: usize, portion: Portion, speed: f64) -> (u64, u64) {
        let (until, most) = match portion {
            Portion::Time(time) => (time.as_nanos() as f64, u64::MAX),
            Portion::Operations(most) => (f64::INFINITY, most),
        };
        let (mut operations, mut nanos) = (0, 0.0);
        while nanos < until && operations < most {
            let cost = (self.cost)(self.next[contender]) * self.slowness[contender];
            nanos += 1e6 * cost * speed;
            operations += 1;
            self.next[contender] += 1;
        }
        (operations, nanos as u64)
    }

    fn drive(&mut self, turns: &Turns, slicing: Slicing) -> Vec<Vec<Slice>> {
        if let Some(from) = turns.from {
            self.next = [from; 3];
        }
        let (mut clock, mut slices) = (0, Vec::new());
        for (ended, &contender) in turns.order.iter().enumerate() {
            if turns.may_end(ended, Duration::from_nanos(clock)) {
                break;
            }
            let speed = (NOISE * self.normal()).exp();
            let (_, head) = self.portion(contender, slicing.warm_up, speed);
            let (operations, nanos) = self.portion(contender, slicing.slice, speed);
            clock += head + nanos;
            slices.push(Slice { contender, nanos, operations, ..Slice::default() });
        }
        vec![slices]
    }
}

/// The log ratio of a round.
fn round(is_numbered: bool, cost: fn(u64) -> f64, slowness: f64, number: u64) -> f64 {
    let (seed, slowness) = (Xoshiro256PlusPlus::seed_from_u64(number), [1.0, slowness, 1.0]);
    let mut simulated = Simulated { cost, slowness, next: [0; 3], random: seed.clone() };
    let first = Beginning { contenders: 3, base: 0, operation: 1_000 * number, is_remote: false };
    let time = Duration::from_secs(1);
    let test = Task { time, is_numbered, ..task() };
    let mut random = seed;
    let mut drive =
        |turns: &Turns, slicing: Slicing, _: (f64, f64)| Ok(simulated.drive(turns, slicing));
    let warmed = warm_up(USUAL, &test, &first, &mut random, &mut drive).unwrap();
    let turns = warmed.cut.measured(&first, time, &mut random);
    let slices = simulated.drive(&turns, warmed.cut.slicing).remove(0);
    let record = |(place, slice): (u32, Slice)| SliceRecord {
        place,
        client: 1,
        arm: ARMS[slice.contender].to_string(),
        nanos: slice.nanos,
        reads: slice.operations,
        ..SliceRecord::default()
    };
    let slices = (0..).zip(slices).map(record).collect();
    let record = RoundRecord { slices, ..RoundRecord::new(Class::Range, Counts::Statements) };
    restart(&record, "new", &["base", "A/A control"], Quantity::Rate).unwrap().log_ratio
}

/// Mean and standard deviation over rounds.
fn rounds(is_numbered: bool, cost: fn(u64) -> f64, slowness: f64) -> (f64, f64) {
    const ROUNDS: u64 = 100;
    let each: Vec<f64> =
        (1..=ROUNDS).map(|number| round(is_numbered, cost, slowness, number)).collect();
    let mean = each.iter().sum::<f64>() / ROUNDS as f64;
    let squares: f64 = each.iter().map(|ratio| (ratio - mean).powi(2)).sum();
    (mean, (squares / (ROUNDS - 1) as f64).sqrt())
}

fn task() -> Task {
    let of = rqps_plan::Microbenchmark {
        tables: 1,
        rows: "1K".parse().unwrap(),
        clients: vec![1],
        read_time: "1s".parse().unwrap(),
        write_time: "1s".parse().unwrap(),
        tests: vec!["point-query".to_string()],
        fair_writes: true,
        pause: "0s".parse().unwrap(),
        quiesce_after_each_write: false,
        check: true,
    };
    rqps_workload::tasks(&of.into()).unwrap().pop().unwrap()
}

/// From 0.5 to 50 ms: 100-fold apart, in no order.
fn far_apart(number: u64) -> f64 {
    let mixed = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 11;
    0.5 * 100_f64.powf(mixed as f64 / (1_u64 << 53) as f64)
}

/// The mean of those.
fn alike(_number: u64) -> f64 {
    0.5 * 99.0 / 100_f64.ln()
}

#[test]
fn sets_of_very_different_cost_are_no_noise_by_count() {
    let (_, of_one) = rounds(true, alike, 1.0);
    let (mean, far_apart_by_count) = rounds(true, far_apart, 1.0);
    assert!(mean.abs() < 0.002, "{mean}");
    assert!(far_apart_by_count < 1.2 * of_one, "{far_apart_by_count} {of_one}");
    let (_, by_time) = rounds(false, far_apart, 1.0);
    assert!(by_time > 1.5 * of_one, "by time they would be: {by_time} {of_one}");
}

#[test]
fn two_percent_are_found_at_their_size_however_long_an_operation_takes() {
    let costs: [fn(u64) -> f64; 5] = [|_| 0.1, |_| 3.0, |_| 50.0, |_| 2_000.0, far_apart];
    for (place, cost) in costs.into_iter().enumerate() {
        let (mean, _) = rounds(true, cost, 1.02);
        let expected = -1.02_f64.ln();
        assert!((mean - expected).abs() < 0.002, "{place}: {mean} for {expected}");
    }
}

#[test]
fn the_time_of_an_operation_decides_what_a_slice_is() {
    let cut = |time: f64| USUAL.for_operations(milliseconds(time));
    assert_eq!(cut(0.02), USUAL);
    assert_eq!(cut(0.99), USUAL);
    for (time, slice, warm_up, cycles) in [
        (1.0, 10, 1, 6),
        (3.0, 4, 1, 6),
        (9.9, 2, 1, 6),
        (10.0, 1, 0, 6),
        (1_000.0, 1, 0, 6),
        (1_001.0, 1, 0, 4),
        (60_001.0, 1, 0, 2),
    ] {
        let cut = cut(time);
        assert_eq!((cut.slicing, cut.by_count), (Slicing::by_count(slice, warm_up), Some(cycles)));
    }
    // The slices of all other tests are as long as --slice says.
    assert_eq!(
        Cut::by_time(milliseconds(50.0), milliseconds(1.0)).for_operations(milliseconds(4.9)),
        Cut::by_time(milliseconds(50.0), milliseconds(1.0))
    );
}

#[test]
fn cycles_fill_the_time_and_have_their_mirror_images() {
    let first = Beginning { contenders: 3, base: 0, operation: 7, is_remote: false };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut measured = |time: f64| {
        let cut = USUAL.for_operations(milliseconds(time));
        let turns = cut.measured(&first, Duration::from_secs(1), &mut random);
        (turns.order.len() / 3, turns.fewest / 3, turns.from)
    };
    assert_eq!(measured(0.1), (100, FEWEST_CYCLES, None));
    assert_eq!(measured(3.0), (84, 6, Some(7)));
    assert_eq!(measured(90.0), (12, 6, Some(7)));
    assert_eq!(measured(400.0), (6, 6, Some(7)));
    assert_eq!(measured(2_000.0), (4, 4, Some(7)));
    assert_eq!(measured(70_000.0), (2, 2, Some(7)));
}

#[test]
fn the_baseline_is_first_and_each_executes_five_times() {
    let beginning = Beginning { contenders: 3, base: 1, operation: 7, is_remote: false };
    let [alone, others] = beginning.first_executions();
    assert_eq!((&alone.order[..], alone.from), (&[1][..], Some(7)));
    assert_eq!([alone.order, others.order].concat(), [1, 0, 2].repeat(5));
    assert_eq!(others.from, None, "they go on where they were sent to");
}

#[test]
fn slices_beside_a_remote_server_have_enough_operations_whatever_the_network_takes() {
    let slices = |millis: f64| {
        let cut = USUAL.for_remote(milliseconds(millis));
        (cut.slice, cut.warm_up)
    };
    assert_eq!(slices(0.04), (milliseconds(10.0), milliseconds(1.0)), "as on this machine");
    assert_eq!(slices(1.0), (milliseconds(50.0), milliseconds(2.0)));
    assert_eq!(slices(30.0), (milliseconds(1_000.0), milliseconds(60.0)), "at most a second");
}
