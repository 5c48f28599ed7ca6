//! Contenders are driven in turn, in the order asked for, and what each did is told slice by slice.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rqps_load::{
    Counters, Effect, Failure, Halt, Meter, Performed, Portion, Relay, Slice, Slicing, Turns, Work,
};
use rqps_wire::{Cancel, Error, ErrorClass, Interrupter};

/// Notes the order in which contenders are driven.
struct Noted {
    contender: usize,
    log: Arc<Mutex<Vec<usize>>>,
    operations: u64,
    /// Fails after so many operations.
    fails_after: u64,
    socket: UnixStream,
    _peer: UnixStream,
}

impl Work for Noted {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        std::thread::sleep(Duration::from_micros(300));
        let mut log = self.log.lock().unwrap();
        if log.last() != Some(&self.contender) {
            log.push(self.contender);
        }
        self.operations += 1;
        if self.operations > self.fails_after {
            let (code, message) = ("57P01".to_string(), "gone".to_string());
            return Err(Error::Server { code, message, class: ErrorClass::Gone });
        }
        Ok(Effect::read(2))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.try_clone()?.into()))
    }
}

type Log = Arc<Mutex<Vec<usize>>>;

fn work(contender: usize, log: &Log, fails_after: u64) -> Box<dyn Work> {
    let (socket, peer) = UnixStream::pair().unwrap();
    let log = log.clone();
    Box::new(Noted { contender, log, operations: 0, fails_after, socket, _peer: peer })
}

fn relay(clients: usize, contenders: usize, fails_after: u64) -> (Relay, Log) {
    let log = Log::default();
    let of_client = |_| (0..contenders).map(|at| work(at, &log, fails_after)).collect();
    let reads = AtomicU64::new(0);
    let meter: Meter = Box::new(move |_| {
        let mut counters = Counters::default();
        counters[0] = reads.fetch_add(1, Ordering::Relaxed);
        counters
    });
    (Relay::start((0..clients).map(of_client).collect(), meter).unwrap(), log)
}

const SLICING: Slicing = Slicing::by_time(Duration::from_millis(3), Duration::from_millis(1));

#[test]
fn slices_come_in_the_order_asked_for() {
    let (mut relay, log) = relay(1, 3, u64::MAX);
    let order = [0, 2, 1, 0, 1, 2];
    let turns = Turns::all(order.to_vec());
    let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap().remove(0);
    assert_eq!(slices.iter().map(|slice| slice.contender).collect::<Vec<_>>(), order);
    assert_eq!(*log.lock().unwrap(), order);
    for slice in &slices {
        assert!(slice.nanos >= 3_000_000, "a slice ends with an operation after its time");
        assert!(slice.operations > 0);
        assert_eq!(slice.rows, 2 * slice.operations);
        assert_eq!(slice.statements.reads, slice.operations);
        let mut once = Counters::default();
        once[0] = 1;
        assert_eq!(slice.server, once, "the meter is read at both edges");
        // A sleep that is over before the thread has left its CPU is no switch.
        let switches = slice.client.voluntary_switches;
        assert!(switches >= slice.operations / 2, "each operation sleeps: {slice:?}");
        assert!(slice.reading_cpu > 0, "what the readings cost is known");
        assert!(slice.warm_up_cpu > 0, "so is what the client did before the measured part");
        let known = slice.client_cpu + slice.reading_cpu;
        assert!(slice.whole_cpu() > known, "and it is in what the client used as a whole");
    }
    relay.finish();
}

#[test]
fn times_are_those_of_measured_parts_by_contender() {
    let (mut relay, _) = relay(2, 2, u64::MAX);
    let turns = Turns::all(vec![0, 1, 1, 1]);
    for _ in 0..2 {
        let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap();
        let times = relay.take_times();
        for (contender, times) in times.iter().enumerate() {
            let own = slices.iter().flatten().filter(|slice| slice.contender == contender);
            let (operations, nanos) = own.fold((0, 0), |(operations, nanos), slice| {
                (operations + slice.operations, nanos + slice.nanos)
            });
            assert_eq!(times.len(), operations, "of both clients, without the run before");
            assert!(times.min() >= 300_000 * 999 / 1_000, "each sleeps for 300 us");
            let sum = times.mean() * times.len() as f64;
            assert!((sum / nanos as f64 - 1.0).abs() < 0.002, "they add up: {sum} of {nanos}");
        }
        assert!(relay.take_times().is_empty());
    }
    relay.finish();
}

#[test]
fn several_clients_drive_the_same_contender_at_a_time() {
    let (mut relay, log) = relay(3, 2, u64::MAX);
    let order = [1, 0, 1, 0, 0, 1];
    let turns = Turns::all(order.to_vec());
    let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap();
    assert_eq!(slices.len(), 3);
    let mut ended_before = Some(0);
    for (index, contender) in order.into_iter().enumerate() {
        let began = slices.iter().map(|client| client[index].began);
        let ended = slices.iter().map(|client| client[index].began + client[index].nanos);
        assert!(slices.iter().all(|client| client[index].contender == contender));
        assert!(began.min() >= ended_before, "slice {index} begins when all have ended the last");
        ended_before = ended.max();
    }
    assert_eq!(*log.lock().unwrap(), [1, 0, 1, 0, 1], "never two contenders at once");
    relay.finish();
}

#[test]
fn the_same_threads_go_on_with_another_order() {
    let (mut relay, _) = relay(2, 2, u64::MAX);
    for order in [vec![0, 1], vec![1, 0, 0]] {
        let turns = Turns::all(order);
        let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap();
        assert!(slices.iter().all(|client| client.len() == turns.order.len()));
    }
    relay.finish();
}

/// An operation returns its number as its rows.
struct Numbered(u64);

impl Work for Numbered {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        self.0 += 1;
        Ok(Effect::read(self.0))
    }

    fn seek(&mut self, operation: u64) {
        self.0 = operation;
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(UnixStream::pair()?.0.into()))
    }
}

#[test]
fn slices_by_count_have_the_same_operations_of_every_contender() {
    let of_client = |client: u64| {
        let at_its_own = |begin: u64| Box::new(Numbered(begin + client)) as Box<dyn Work>;
        vec![at_its_own(3), at_its_own(500)]
    };
    let meter: Meter = Box::new(|_| Counters::default());
    let mut relay = Relay::start((0..2).map(of_client).collect(), meter).unwrap();
    let mut run = |from| {
        let turns = Turns { from, ..Turns::all(vec![0, 1, 1, 0]) };
        relay.run(&turns, Slicing::by_count(2, 1), &mut |_| {}, &Cancel::default()).unwrap()
    };
    let rows = |slice: &Slice| (slice.operations, slice.warm_up_operations, slice.rows);
    for client in run(Some(10)) {
        // Number 11 is the warm-up; then 12 and 13, and later 15 and 16.
        let expected = [(2, 1, 25), (2, 1, 25), (2, 1, 31), (2, 1, 31)];
        assert_eq!(client.iter().map(rows).collect::<Vec<_>>(), expected);
    }
    assert_eq!(rows(&run(None)[0][0]), (2, 1, 37), "without a beginning each goes on");
    relay.finish();
}

#[test]
fn operations_are_held_back_across_contenders_and_their_times_are_without_the_wait() {
    const SPACING: Duration = Duration::from_millis(5);
    let log = Log::default();
    let contenders = (0..2).map(|at| work(at, &log, u64::MAX)).collect();
    let meter: Meter = Box::new(|_| Counters::default());
    let mut relay = Relay::start_spaced(vec![contenders], meter, SPACING).unwrap();
    let turns = Turns::all(vec![0, 1, 1, 0]);
    let began = Instant::now();
    let run = relay.run(&turns, Slicing::by_count(3, 1), &mut |_| {}, &Cancel::default());
    let slices = run.unwrap().remove(0);
    // Sixteen operations, of which the first starts at once.
    assert!(began.elapsed() >= SPACING * 15, "{:?}", began.elapsed());
    let held: u64 = slices.iter().map(|slice| slice.held).sum();
    assert!(held > 0 && held < slices.iter().map(|slice| slice.nanos).sum(), "{slices:?}");
    let times = relay.take_times();
    // An operation sleeps for 300 us, and its usual time does not depend on the machine by 4 ms.
    assert!(times.iter().all(|times| times.min() < 4_000_000), "{times:?}");
    relay.finish();
    // Operations that take longer than the spacing are not held back.
    let contender = vec![work(0, &log, u64::MAX)];
    let meter: Meter = Box::new(|_| Counters::default());
    let mut relay =
        Relay::start_spaced(vec![contender], meter, Duration::from_micros(200)).unwrap();
    let run = relay.run(&Turns::all(vec![0]), SLICING, &mut |_| {}, &Cancel::default());
    assert_eq!(run.unwrap()[0][0].held, 0);
    relay.finish();
}

#[test]
fn what_takes_longer_than_planned_ends_early_but_after_a_whole_block() {
    for (enough, slices_driven) in [(Duration::ZERO, 8), (Duration::MAX, 100)] {
        for clients in [1, 3] {
            let (mut relay, _) = relay(clients, 2, u64::MAX);
            let order = (0..100).map(|at| at % 2).collect();
            let turns = Turns { order, enough, fewest: 6, block: 4, from: None };
            let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap();
            assert!(slices.iter().all(|client| client.len() == slices_driven));
            relay.finish();
        }
    }
}

#[test]
fn a_contender_that_dies_is_named_and_nobody_waits_for_it() {
    for clients in [1, 3] {
        let (mut relay, _) = relay(clients, 2, 20);
        let turns = Turns::all((0..400).map(|at| at % 2).collect());
        match relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()) {
            Err(Failure::Worker { index, error }) => {
                assert!(index < 2);
                assert!(error.to_string().contains("gone"));
            }
            other => panic!("{:?}", other.map(|_| "slices")),
        }
        relay.finish();
    }
}

#[test]
fn a_wish_to_stop_ends_the_run_soon() {
    let (mut relay, _) = relay(2, 2, u64::MAX);
    let turns = Turns::all(vec![0; 1_000_000]);
    let cancel = Cancel::default();
    cancel.request();
    let failure = relay.run(&turns, SLICING, &mut |_| {}, &cancel).unwrap_err();
    assert!(matches!(failure, Failure::Cancelled));
    relay.finish();
}

#[test]
fn a_client_that_panics_does_not_leave_the_others_waiting() {
    let log = Log::default();
    let meter: Meter = Box::new(|_| panic!("as this test wants it"));
    let work = (0..3).map(|_| vec![work(0, &log, u64::MAX)]).collect();
    let mut relay = Relay::start(work, meter).unwrap();
    let failure =
        relay.run(&Turns::all(vec![0; 10]), SLICING, &mut |_| {}, &Cancel::default()).unwrap_err();
    assert!(matches!(failure, Failure::Worker { index: 0, .. }));
    relay.finish();
}

/// A process that performs operations by itself, 5 in a millisecond.
struct Elsewhere {
    asked: Arc<Mutex<Vec<Portion>>>,
    socket: UnixStream,
}

impl Work for Elsewhere {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        unreachable!("operations are not made here")
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        unreachable!("operations are not executed here")
    }

    fn perform(&mut self, portion: Portion, delay: u64) -> Option<Result<Performed, Error>> {
        assert_eq!(delay, 0);
        self.asked.lock().unwrap().push(portion);
        let effect = Effect::read(15);
        let times = vec![(200_000, 5)];
        let nanos = 1_000_000;
        Some(Ok(Performed { operations: 5, nanos, effect, times, ..Performed::default() }))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.try_clone()?.into()))
    }
}

#[test]
fn what_another_process_has_performed_and_timed_is_what_a_slice_has() {
    let asked = Arc::<Mutex<Vec<Portion>>>::default();
    let (socket, _peer) = UnixStream::pair().unwrap();
    let work = Box::new(Elsewhere { asked: asked.clone(), socket });
    let meter: Meter = Box::new(|_| Counters::default());
    let mut relay = Relay::start(vec![vec![work]], meter).unwrap();
    let turns = Turns::all(vec![0, 0]);
    let slices = relay.run(&turns, SLICING, &mut |_| {}, &Cancel::default()).unwrap().remove(0);
    for slice in &slices {
        assert_eq!((slice.operations, slice.nanos, slice.rows), (5, 1_000_000, 15));
        assert_eq!(slice.warm_up_operations, 5);
    }
    assert_eq!(*asked.lock().unwrap(), [SLICING.warm_up, SLICING.slice].repeat(2));
    assert_eq!(relay.live()[0].operations(), 10, "the warm-up is not counted");
    assert_eq!(relay.take_times()[0].len(), 10);
    relay.finish();
}
