//! Clients' threads end when they should, tell the first thing that went wrong, and time what they
//! say.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use rqps_load::{ClientThreads, Effect, Failure, Halt, Moment, Order, Schedule, Until, Work};
use rqps_wire::{Cancel, Error, ErrorClass, Interrupter};

/// Work that does what a test wants of its nth operation.
struct Scripted<F> {
    script: F,
    operations: u64,
    socket: UnixStream,
    _peer: UnixStream,
}

fn work<F>(script: F) -> Box<dyn Work>
where
    F: FnMut(u64, &mut UnixStream) -> Result<u64, Error> + Send + 'static,
{
    let (socket, peer) = UnixStream::pair().unwrap();
    Box::new(Scripted { script, operations: 0, socket, _peer: peer })
}

impl<F: FnMut(u64, &mut UnixStream) -> Result<u64, Error> + Send> Work for Scripted<F> {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let operation = self.operations;
        self.operations += 1;
        Ok(Effect::read((self.script)(operation, &mut self.socket)?))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        Ok(Interrupter::Socket(self.socket.try_clone()?.into()))
    }
}

fn brief(_operation: u64, _socket: &mut UnixStream) -> Result<u64, Error> {
    std::thread::sleep(Duration::from_micros(200));
    Ok(1)
}

fn refused(class: ErrorClass) -> Error {
    Error::Server { code: "40001".to_string(), message: "no".to_string(), class }
}

const ENDLESS: Order = Order { schedule: Schedule::Closed, until: Until::Operations(u64::MAX) };

fn closed(until: Until) -> Order {
    Order { schedule: Schedule::Closed, until }
}

fn run(client_threads: &mut ClientThreads, orders: &[Order]) -> Result<u64, Failure> {
    client_threads.run(orders, &mut |_, _| {}, &Cancel::default())
}

#[test]
fn followers_end_when_the_leaders_are_done() {
    let begun = Arc::new(AtomicBool::new(false));
    let has_begun = begun.clone();
    let leads = move |operation: u64, socket: &mut UnixStream| {
        // However late the follower is, the leaders are not done before it has begun.
        let deadline = Instant::now() + Duration::from_secs(100);
        while operation == 59 && !has_begun.load(Ordering::Relaxed) && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        brief(operation, socket)
    };
    let follows = move |operation: u64, socket: &mut UnixStream| {
        begun.store(true, Ordering::Relaxed);
        brief(operation, socket)
    };
    let mut client_threads =
        ClientThreads::start(vec![work(brief), work(leads), work(follows)]).unwrap();
    let orders = [Until::Operations(30), Until::Operations(60), Until::LeadersDone].map(closed);
    run(&mut client_threads, &orders).unwrap();
    let tallies = client_threads.finish();
    assert_eq!((tallies[0].operations, tallies[1].operations), (30, 60));
    assert!(tallies[2].operations > 0);
}

#[test]
fn a_worker_keeps_its_thread_and_its_state_between_runs() {
    let seen: Arc<std::sync::Mutex<Vec<(u64, ThreadId)>>> = Arc::default();
    let log = seen.clone();
    let note = move |operation, _: &mut UnixStream| {
        log.lock().unwrap().push((operation, std::thread::current().id()));
        Ok(1)
    };
    let mut client_threads = ClientThreads::start(vec![work(note)]).unwrap();
    for _ in 0..3 {
        run(&mut client_threads, &[closed(Until::Operations(2))]).unwrap();
    }
    assert_eq!(client_threads.finish()[0].operations, 6);
    let seen = seen.lock().unwrap();
    assert_eq!(
        seen.iter().map(|(operation, _)| *operation).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5]
    );
    assert!(seen.iter().all(|(_, thread)| *thread == seen[0].1));
}

#[test]
fn a_run_of_some_time_ends_with_the_first_operation_after_it() {
    let mut client_threads = ClientThreads::start(vec![work(brief)]).unwrap();
    let time = Duration::from_millis(20);
    let elapsed = run(&mut client_threads, &[closed(Until::Elapsed(time))]).unwrap();
    assert!(elapsed >= time.as_nanos() as u64);
}

#[test]
fn the_first_error_ends_everybody_and_is_the_one_that_is_told() {
    let fails = |operation, _: &mut UnixStream| match operation {
        5 => Err(refused(ErrorClass::Stop)),
        _ => Ok(1),
    };
    let mut client_threads = ClientThreads::start(vec![work(brief), work(fails)]).unwrap();
    match run(&mut client_threads, &[ENDLESS, ENDLESS]) {
        Err(Failure::Worker { index, error }) => {
            assert_eq!((index, error.to_string()), (1, "no (40001)".to_string()));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_the_dbms_asks_to_be_tried_again_is_tried_again_and_counted() {
    let fails_twice = |attempt, _: &mut UnixStream| match attempt {
        3 | 4 => Err(refused(ErrorClass::Retry)),
        _ => Ok(1),
    };
    let mut client_threads = ClientThreads::start(vec![work(fails_twice)]).unwrap();
    run(&mut client_threads, &[closed(Until::Operations(10))]).unwrap();
    let tally = client_threads.finish().remove(0);
    assert_eq!((tally.operations, tally.retries, tally.rows), (10, 2, 10));
}

#[test]
fn a_worker_that_panics_does_not_leave_the_others_running() {
    let panics = |_, _: &mut UnixStream| panic!("as this test wants it");
    let mut client_threads = ClientThreads::start(vec![work(brief), work(panics)]).unwrap();
    assert!(matches!(
        run(&mut client_threads, &[ENDLESS, ENDLESS]),
        Err(Failure::Worker { index: 1, .. })
    ));
}

#[test]
fn a_cancelled_run_cuts_a_connection_that_blocks() {
    let cancel = Cancel::default();
    let entering = cancel.clone();
    let blocks = move |_, socket: &mut UnixStream| {
        entering.request();
        match socket.read(&mut [0]) {
            Ok(0) => Err(Error::Closed),
            other => panic!("nobody writes to this socket: {other:?}"),
        }
    };
    let mut client_threads = ClientThreads::start(vec![work(brief), work(blocks)]).unwrap();
    let cancelled = client_threads.run(&[ENDLESS, ENDLESS], &mut |_, _| {}, &cancel);
    assert!(matches!(cancelled, Err(Failure::Cancelled)));
}

#[test]
fn a_stall_shows_in_the_response_times_of_all_that_it_delayed() {
    const STALL: Duration = Duration::from_millis(400);
    let stalls_once = |operation, _: &mut UnixStream| {
        if operation == 20 {
            std::thread::sleep(STALL);
        }
        Ok(1)
    };
    let mut client_threads = ClientThreads::start(vec![work(stalls_once)]).unwrap();
    let schedule = Schedule::Uniform { per_second: 100.0 };
    run(&mut client_threads, &[Order { schedule, until: Until::Operations(100) }]).unwrap();
    let tally = client_threads.finish().remove(0);
    // Forty operations should have started during the stall, so half of those waited half of it.
    let half = STALL.as_nanos() as u64 / 2;
    let late = tally.response.count_between(half, u64::MAX);
    assert!(late >= 15, "{late} of 100 responses took half the stall");
    let slow = tally.service.count_between(half, u64::MAX);
    assert!((1..late / 2).contains(&slow), "{slow} operations were slow themselves");
    assert!(tally.max_lag >= half);
}

#[test]
fn each_second_of_a_run_is_told() {
    let seconds = Arc::new(AtomicU64::new(0));
    let told = seconds.clone();
    let mut client_threads = ClientThreads::start(vec![work(brief)]).unwrap();
    let mut each_second = move |moment: Moment, elapsed: u64| {
        if moment == Moment::Second {
            assert_eq!(elapsed % 1_000_000_000, 0, "on the second");
            told.fetch_add(1, Ordering::Relaxed);
        }
    };
    let order = closed(Until::Elapsed(Duration::from_millis(1_100)));
    let elapsed = client_threads.run(&[order], &mut each_second, &Cancel::default()).unwrap();
    // At the least, on a machine that stood still: it is not told of the one that was running out.
    let told = seconds.load(Ordering::Relaxed);
    assert!((1..=elapsed / 1_000_000_000).contains(&told), "{told} seconds of {elapsed} ns");
}

#[test]
fn the_end_of_the_leaders_is_told_while_a_follower_is_busy_yet() {
    let is_told = Arc::new(AtomicBool::new(false));
    let told = is_told.clone();
    let waits = move |_, _: &mut UnixStream| {
        let deadline = Instant::now() + Duration::from_secs(100);
        while !told.load(Ordering::Relaxed) {
            assert!(Instant::now() < deadline, "the leader's end was told");
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(1)
    };
    let mut client_threads = ClientThreads::start(vec![work(brief), work(waits)]).unwrap();
    let orders = [closed(Until::Operations(3)), closed(Until::LeadersDone)];
    let mut ends = Vec::new();
    let mut watch = |moment: Moment, elapsed: u64| {
        if moment == Moment::LeadersDone {
            is_told.store(true, Ordering::Relaxed);
            ends.push(elapsed);
        }
    };
    let elapsed = client_threads.run(&orders, &mut watch, &Cancel::default()).unwrap();
    assert_eq!(ends, [elapsed], "once, and with what the run answers");
}

#[test]
fn what_was_recorded_while_warming_up_is_forgotten() {
    let mut client_threads = ClientThreads::start(vec![work(brief)]).unwrap();
    run(&mut client_threads, &[closed(Until::Operations(50))]).unwrap();
    client_threads.forget();
    run(&mut client_threads, &[closed(Until::Operations(7))]).unwrap();
    let tally = client_threads.finish().remove(0);
    assert_eq!((tally.operations, tally.statements.reads, tally.service.len()), (7, 7, 7));
}
