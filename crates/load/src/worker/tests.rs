//! Pacing by a clock that moves only where operations take time, so that every number is exact.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rqps_wire::Interrupter;

use super::*;
use crate::effect::Effect;
use crate::live::Live;
use crate::work::Performed;

const MS: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MS;

/// A clock that stands still while nothing happens.
#[derive(Clone, Default)]
struct Manual(Arc<AtomicU64>);

impl Clock for Manual {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep_until(&self, deadline: u64, _halt: &Halt) {
        self.0.fetch_max(deadline, Ordering::Relaxed);
    }
}

/// Operations that take as long as their number says.
struct Takes<F> {
    clock: Manual,
    number: u64,
    nanos: F,
    rest: u64,
}

impl<F: FnMut(u64) -> u64 + Send> Work for Takes<F> {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn rest(&self) -> u64 {
        self.rest
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        self.clock.0.fetch_add((self.nanos)(self.number), Ordering::Relaxed);
        self.number += 1;
        Ok(Effect::read(1))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        unreachable!("nothing blocks")
    }
}

/// What was recorded, and when it ended.
fn run(
    schedule: Schedule,
    until: Until,
    nanos: impl FnMut(u64) -> u64 + Send + 'static,
) -> (Tally, u64) {
    run_with_rests(0, schedule, until, nanos)
}

fn run_with_rests(
    rest: u64,
    schedule: Schedule,
    until: Until,
    nanos: impl FnMut(u64) -> u64 + Send + 'static,
) -> (Tally, u64) {
    let clock = Manual::default();
    let work = Box::new(Takes { clock: clock.clone(), number: 0, nanos, rest });
    let mut worker = Worker { work, live: Arc::new(Live::default()), recorder: None, clock };
    let ended = worker.run(schedule, until, 0, &Halt::default()).unwrap();
    (worker.finish(), ended)
}

fn percent_within(times: &hdrhistogram::Histogram<u64>, nanos: u64) -> f64 {
    times.percentile_below(nanos)
}

/// The example of HdrHistogram's author: a system answers in 1 ms for 100 s, and then stands still
/// for 100 s. A client that waits sees one slow answer of 10,000 or more; of the requests that were
/// due, half were slow.
#[test]
fn a_standstill_is_felt_by_all_that_were_due_in_it() {
    let stands_still = |number| if number == 10_000 { 100 * SECOND } else { MS };
    let schedule = Schedule::Uniform { per_second: 100.0 };
    let until = Until::Elapsed(Duration::from_secs(200));
    let (tally, _) = run(schedule, until, stands_still);
    assert!(percent_within(&tally.service, 2 * MS) > 99.9);

    let until = Until::OperationsWithin(20_000, Duration::from_secs(1_000));
    let (tally, ended) = run(schedule, until, stands_still);
    assert_eq!(tally.operations, 20_000, "nothing that was due is left out");
    // 9,999 operations were due in the 100 s, and are made up for by 1 ms each; meanwhile more
    // are due, until the client has caught up.
    let slow = 100.0 - percent_within(&tally.response, 2 * MS);
    assert!((50.0..56.0).contains(&slow), "{slow} % were slow");
    let median_of_slow = tally.response.value_at_percentile(75.0);
    assert!((40 * SECOND..60 * SECOND).contains(&median_of_slow), "{median_of_slow}");
    assert_eq!(tally.lateness.max(), 0, "the client was not late");
    assert!(ended < 212 * SECOND, "{ended}");
}

/// A stall of one second in ten: a twentieth of what is due waits for half a second or longer.
#[test]
fn a_stall_of_a_second_in_ten_is_in_the_95th_percentile() {
    let stalls = |number| if number % 1_000 == 500 { SECOND } else { MS };
    let schedule = Schedule::Uniform { per_second: 100.0 };
    let until = Until::OperationsWithin(5_000, Duration::from_secs(100));
    let (tally, _) = run(schedule, until, stalls);
    let p95 = tally.response.value_at_percentile(95.0);
    assert!((400 * MS..600 * MS).contains(&p95), "{p95}");
    assert!(tally.service.value_at_percentile(95.0) < 2 * MS);
}

/// One in ten takes 30 ms, and the two that are due meanwhile wait: all three are late.
#[test]
fn operations_beyond_a_limit_are_counted_from_when_they_were_due() {
    let clock = Manual::default();
    let nanos = |number| if number % 10 == 0 { 30 * MS } else { MS };
    let work = Box::new(Takes { clock: clock.clone(), number: 0, nanos, rest: 0 });
    let live = Arc::new(Live::default());
    let mut worker = Worker { work, live: live.clone(), recorder: None, clock };
    let schedule = Schedule::Uniform { per_second: 100.0 };
    let until = Until::OperationsWithin(100, Duration::from_secs(10));
    let mut run = || {
        let epoch = worker.clock.now();
        worker.run(schedule, until, epoch, &Halt::default()).unwrap()
    };
    run();
    assert_eq!(live.late(), 0, "there is no limit");
    live.set_limit(9 * MS);
    run();
    assert_eq!(live.late(), 30);
    worker.forget();
    assert_eq!(live.late(), 0);
}

#[test]
fn rests_are_part_of_no_operation_and_end_with_the_time() {
    let of_ten_seconds = Until::Elapsed(Duration::from_secs(10));
    let (tally, ended) = run_with_rests(2 * SECOND, Schedule::Closed, of_ten_seconds, |_| SECOND);
    // From 2 to 3, 5 to 6 and 8 to 9; the next would begin at 11.
    assert_eq!((tally.operations, ended), (3, 10 * SECOND));
    assert_eq!(percent_within(&tally.service, SECOND), 100.0);
}

#[test]
fn a_rate_that_is_kept_takes_the_time_that_was_planned() {
    for schedule in
        [Schedule::Uniform { per_second: 100.0 }, Schedule::Poisson { per_second: 100.0, seed: 3 }]
    {
        let until = Until::OperationsWithin(300, Duration::from_secs(4));
        let (tally, ended) = run(schedule, until, |_| MS);
        assert_eq!(tally.operations, 300);
        assert!(ended.abs_diff(3 * SECOND) < MS, "{schedule:?} ended after {ended} ns");
    }
}

#[test]
fn a_rate_that_is_too_high_ends_with_what_was_done() {
    let until = Until::OperationsWithin(3_000, Duration::from_secs(4));
    // It can do 100 a second and is asked for 1,000 over 3 s.
    let (tally, ended) = run(Schedule::Uniform { per_second: 1_000.0 }, until, |_| 10 * MS);
    assert_eq!((tally.operations, ended), (400, 4 * SECOND));
}

/// A process that performs operations by itself, of a microsecond each.
struct Elsewhere {
    clock: Manual,
    asked: Arc<Mutex<Vec<Portion>>>,
}

impl Work for Elsewhere {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        unreachable!("operations are not made here")
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        unreachable!("operations are not executed here")
    }

    fn perform(&mut self, portion: Portion, _delay: u64) -> Option<Result<Performed, Error>> {
        self.asked.lock().unwrap().push(portion);
        let operations = match portion {
            Portion::Operations(operations) => operations,
            Portion::Time(time) => time.as_micros() as u64,
        };
        self.clock.0.fetch_add(operations * 1_000, Ordering::Relaxed);
        let times = vec![(1_000, operations)];
        Some(Ok(Performed { operations, times, ..Performed::default() }))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        unreachable!("nothing blocks")
    }
}

#[test]
fn what_another_process_performs_is_requested_by_the_thousand_and_timed_one_by_one() {
    let run = |until| {
        let (clock, asked) = (Manual::default(), Arc::<Mutex<Vec<Portion>>>::default());
        let work = Box::new(Elsewhere { clock: clock.clone(), asked: asked.clone() });
        let mut worker = Worker { work, live: Arc::new(Live::default()), recorder: None, clock };
        worker.run(Schedule::Closed, until, 0, &Halt::default()).unwrap();
        (worker.finish(), std::mem::take(&mut *asked.lock().unwrap()))
    };
    let (tally, asked) = run(Until::Operations(12_000));
    assert_eq!(asked, [5_000, 5_000, 2_000].map(Portion::Operations));
    assert_eq!((tally.operations, tally.service.len()), (12_000, 12_000));
    let (tally, asked) = run(Until::Elapsed(Duration::from_millis(50)));
    assert_eq!(asked, [20, 20, 10].map(|millis| Portion::Time(Duration::from_millis(millis))));
    assert_eq!((tally.operations, tally.service.max()), (50_000, 1_000));
}
