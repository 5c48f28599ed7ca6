//! The clients of a run: a thread each, which runs events until a limit is reached; and beside them
//! one that reports, and one that lets events arrive at a rate.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rqps_system::Cancel;
use rqps_wire::{Error, Interrupter};
use rqps_workload::lua::{
    ClientEvent, LuaClient, ReportHooks, ScriptOptions, StateSettings, arrival_gaps, client_seeds,
};

use super::limits::EventLimits;
use super::report::{Figures, options as told_options};
use super::tally::{EventTally, SharedEventTally};
use crate::cli::exit::Exit;
use crate::cli::output;

/// Events that wait at most, as in sysbench.
const MOST_WAITING: usize = 131_072;
/// How often a waiting thread looks up.
const LOOK: Duration = Duration::from_millis(5);
/// How long a statement may take once the run is cancelled or has failed.
const GRACE: Duration = Duration::from_secs(2);

/// What the threads share.
struct Shared {
    limits: EventLimits,
    cancel: Cancel,
    tallies: Vec<SharedEventTally>,
    begun: Instant,
    /// When counting began: after the warm-up.
    counted: Mutex<Instant>,
    is_warm: AtomicBool,
    /// Events that began.
    events: AtomicU64,
    running: AtomicU32,
    arrivals: Mutex<VecDeque<Instant>>,
    arrived: Condvar,
    /// All clients ended.
    has_ended: AtomicBool,
    /// Why the first client failed.
    failure: Mutex<Option<Error>>,
    has_failed: AtomicBool,
    is_forced: AtomicBool,
    prints: bool,
}

pub(super) fn run(
    settings: StateSettings,
    options: &ScriptOptions,
    limits: &EventLimits,
    prints: bool,
    cancel: &Cancel,
) -> anyhow::Result<Exit> {
    let tell = |text: &str| if prints { output::print(text) } else { Ok(()) };
    let hooks = ReportHooks::new(&settings, options)?;
    tell(&told_options(limits))?;
    let start = |(tid, seed)| LuaClient::start(&settings, options, tid, seed);
    let mut clients: Vec<LuaClient> =
        (0..limits.threads).zip(client_seeds(limits.seed)).map(start).collect::<Result<_, _>>()?;
    let tallies: Vec<SharedEventTally> =
        clients.iter().map(|_| SharedEventTally::default()).collect();
    for (client, tally) in clients.iter_mut().zip(&tallies) {
        tally.lock().add_counts(client.take_counts());
    }
    // A script may open its connection later, and then nothing ends its statements: its client is
    // given up.
    let interrupters: Vec<Interrupter> =
        clients.iter().filter_map(|client| client.interrupter().ok()).collect();
    tell("Threads started!\n\n")?;
    let begun = Instant::now();
    let shared = Arc::new(Shared {
        limits: limits.clone(),
        cancel: cancel.clone(),
        tallies,
        begun,
        counted: Mutex::new(begun),
        is_warm: AtomicBool::new(limits.warm_up.is_none()),
        events: AtomicU64::new(0),
        running: AtomicU32::new(0),
        arrivals: Mutex::default(),
        arrived: Condvar::new(),
        has_ended: AtomicBool::new(false),
        failure: Mutex::default(),
        has_failed: AtomicBool::new(false),
        is_forced: AtomicBool::new(false),
        prints,
    });
    // No scope holds these threads: a script that never returns must not hold the program.
    let mut threads = Vec::new();
    for (client, tally) in clients.into_iter().zip(&shared.tallies) {
        let (shared, tally) = (shared.clone(), tally.clone());
        threads.push(thread::spawn(move || shared.drive(client, &tally)));
    }
    if let Some(rate) = limits.rate {
        let shared = shared.clone();
        thread::spawn(move || shared.arrive(rate));
    }
    let of_attendant = shared.clone();
    let attendant = thread::spawn(move || of_attendant.await_all(threads));
    let attended = shared.attend(&hooks, &interrupters);
    if attended.is_err() {
        shared.has_failed.store(true, Ordering::Relaxed);
    }
    let ended = match attended? {
        Attended::Ended => {
            attendant.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        }
        Attended::Abandoned => {
            output::note("the script does not return: its clients end with rqps");
            Instant::now()
        }
    };
    cancel.check().map_err(Error::from)?;
    let failure = lock(&shared.failure).take();
    let is_forced = shared.is_forced.load(Ordering::Relaxed);
    if let (Some(error), false) = (failure, is_forced) {
        return Err(error.into());
    }
    shared.conclude(&hooks, ended)?;
    hooks.end()?;
    Ok(if is_forced { Exit::ScriptAborted } else { Exit::Done })
}

/// How the time beside the clients ended.
enum Attended {
    Ended,
    /// Some clients run still, and nothing ends them: they are in Lua, or on a connection that was
    /// opened within an event.
    Abandoned,
}

impl Shared {
    fn is_broken(&self) -> bool {
        self.has_failed.load(Ordering::Relaxed) || self.cancel.is_requested()
    }

    /// The whole time of the run, with its warm-up.
    fn time(&self) -> Option<Duration> {
        self.limits.time.map(|time| time + self.limits.warm_up.unwrap_or_default())
    }

    fn is_over(&self) -> bool {
        self.is_broken() || self.time().is_some_and(|time| self.begun.elapsed() >= time)
    }

    /// Takes the next event; false if there is none.
    fn takes_event(&self) -> bool {
        if self.is_over() {
            return false;
        }
        let Some(most) = self.limits.events.filter(|_| self.is_warm.load(Ordering::Relaxed)) else {
            return true;
        };
        self.events.fetch_add(1, Ordering::Relaxed) < most
    }

    /// Waits for an event that arrives; none if the run ends first.
    fn arrival(&self) -> Option<Instant> {
        let mut arrivals = lock(&self.arrivals);
        loop {
            if let Some(arrival) = arrivals.pop_front() {
                return Some(arrival);
            }
            if self.is_over() {
                return None;
            }
            let waited = self.arrived.wait_timeout(arrivals, LOOK);
            arrivals = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Returns when all clients have ended.
    fn await_all(&self, threads: Vec<JoinHandle<()>>) -> Instant {
        let joined: Vec<_> = threads.into_iter().map(JoinHandle::join).collect();
        let ended = Instant::now();
        self.has_ended.store(true, Ordering::Relaxed);
        self.arrived.notify_all();
        if let Some(Err(panic)) = joined.into_iter().find(Result::is_err) {
            std::panic::resume_unwind(panic);
        }
        ended
    }

    /// Runs a client to its end.
    fn drive(&self, mut client: LuaClient, tally: &SharedEventTally) {
        let ended = self.events_of(&mut client, tally).and_then(|()| client.end());
        tally.lock().add_counts(client.take_counts());
        if let Err(error) = ended {
            lock(&self.failure).get_or_insert(error);
            self.has_failed.store(true, Ordering::Relaxed);
            self.arrived.notify_all();
        }
    }

    fn events_of(&self, client: &mut LuaClient, tally: &SharedEventTally) -> Result<(), Error> {
        while self.takes_event() {
            let started = match self.limits.rate {
                None => Instant::now(),
                Some(_) => match self.arrival() {
                    Some(arrival) => arrival,
                    None => break,
                },
            };
            self.running.fetch_add(1, Ordering::Relaxed);
            let ended = loop {
                match client.event() {
                    // A server may refuse it for ever.
                    Ok(ClientEvent::Again) if !self.is_over() => {}
                    ended => break ended,
                }
            };
            let mut tally = tally.lock();
            tally.add_counts(client.take_counts());
            match ended? {
                ClientEvent::Done => {
                    tally.add_event(started.elapsed().as_secs_f64());
                    if self.limits.percentile > 0 {
                        client.skip_draw();
                    }
                }
                // That event is not counted.
                ClientEvent::Stopped | ClientEvent::Again => {
                    self.running.fetch_sub(1, Ordering::Relaxed);
                    break;
                }
            }
            self.running.fetch_sub(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Lets events arrive, with exponential gaps.
    fn arrive(&self, rate: f64) {
        let mut after = 0.0;
        for gap in arrival_gaps(self.limits.seed, rate) {
            after += gap;
            let due = self.begun + Duration::from_secs_f64(after);
            loop {
                let left = due.saturating_duration_since(Instant::now());
                if self.has_ended.load(Ordering::Relaxed) || self.is_over() {
                    self.arrived.notify_all();
                    return;
                }
                if left.is_zero() {
                    break;
                }
                thread::sleep(left.min(LOOK));
            }
            let mut arrivals = lock(&self.arrivals);
            if arrivals.len() >= MOST_WAITING {
                let what = format!(
                    "{MOST_WAITING} events are waiting: the clients cannot keep up with --rate. \
                     Lower it, or raise --threads"
                );
                lock(&self.failure).get_or_insert(Error::Client(what));
                self.has_failed.store(true, Ordering::Relaxed);
                return;
            }
            arrivals.push_back(due);
            drop(arrivals);
            self.arrived.notify_one();
        }
    }

    /// Reports while the clients run, and ends those that block after the run is over or broken.
    fn attend(
        &self,
        hooks: &ReportHooks,
        interrupters: &[Interrupter],
    ) -> anyhow::Result<Attended> {
        let mut before = EventTally::default();
        let mut last = self.begun;
        let mut checkpoints = self.limits.checkpoints.iter();
        let mut checkpoint = checkpoints.next();
        let mut ending = LateClients::default();
        if let (Some(warm_up), true) = (self.limits.warm_up, self.prints) {
            output::print(&format!("Warming up for {} seconds...\n\n", warm_up.as_secs()))?;
        }
        while !self.has_ended.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            let now = Instant::now();
            let forced = self.time().zip(self.limits.forced).map(|(time, grace)| time + grace);
            if forced.is_some_and(|end| now >= self.begun + end) && !self.is_broken() {
                self.is_forced.store(true, Ordering::Relaxed);
                self.has_failed.store(true, Ordering::Relaxed);
                output::note("The --time limit has expired, forcing shutdown...");
                ending.is_due = true;
            }
            if self.is_broken() {
                if ending.look(interrupters) {
                    return Ok(Attended::Abandoned);
                }
                continue;
            }
            if !self.is_warm.load(Ordering::Relaxed) {
                if self.limits.warm_up.is_some_and(|warm_up| now >= self.begun + warm_up) {
                    self.forget(now);
                    (before, last) = (EventTally::default(), now);
                    self.is_warm.store(true, Ordering::Relaxed);
                }
                continue;
            }
            let counted = *lock(&self.counted);
            if let Some(interval) = self.limits.interval
                && now >= last + interval
                && !self.is_over()
            {
                let total = self.total();
                let seconds = now.duration_since(last).as_secs_f64();
                self.report(hooks, false, &total.since(&before), seconds, now)?;
                (before, last) = (total, last + interval);
            }
            if let Some(at) = checkpoint
                && now >= self.begun + *at
            {
                let seconds = now.duration_since(counted).as_secs_f64();
                if self.prints {
                    output::print(&format!("[ {}s ] Checkpoint report:\n", at.as_secs()))?;
                }
                self.summary(hooks, seconds, now)?;
                self.forget(now);
                (before, checkpoint) = (EventTally::default(), checkpoints.next());
            }
        }
        Ok(Attended::Ended)
    }

    /// What was counted so far was warm-up, or was reported.
    fn forget(&self, now: Instant) {
        for tally in &self.tallies {
            *tally.lock() = EventTally::default();
        }
        *lock(&self.counted) = now;
    }

    fn total(&self) -> EventTally {
        let mut total = EventTally::default();
        self.tallies.iter().for_each(|tally| total += &tally.lock());
        total
    }

    /// Since the warm-up ended.
    fn elapsed(&self, now: Instant) -> f64 {
        let since = now.duration_since(self.begun).as_secs_f64();
        since - self.limits.warm_up.unwrap_or_default().as_secs_f64()
    }

    fn figures<'t>(&self, tally: &'t EventTally, seconds: f64, now: Instant) -> Figures<'t> {
        let waiting = || lock(&self.arrivals).len() as u64;
        let running = u64::from(self.running.load(Ordering::Relaxed));
        Figures {
            tally,
            threads: self.limits.threads,
            seconds,
            total: self.elapsed(now),
            queue: self.limits.rate.map(|_| (waiting(), running)),
            percentile: self.limits.percentile,
        }
    }

    fn report(
        &self,
        hooks: &ReportHooks,
        is_last: bool,
        tally: &EventTally,
        seconds: f64,
        now: Instant,
    ) -> anyhow::Result<()> {
        let figures = self.figures(tally, seconds, now);
        match hooks.takes(is_last) {
            true => hooks.report(is_last, &figures.for_hooks())?,
            false if self.prints => output::print(&figures.line())?,
            false => {}
        }
        Ok(())
    }

    fn summary(&self, hooks: &ReportHooks, seconds: f64, now: Instant) -> anyhow::Result<()> {
        let clients: Vec<EventTally> =
            self.tallies.iter().map(|tally| tally.lock().clone()).collect();
        let total = self.total();
        let figures = self.figures(&total, seconds, now);
        if self.limits.histogram && self.prints {
            let table = total.latencies.table();
            output::print(&format!("Latency histogram (values are in milliseconds)\n{table} \n"))?;
        }
        match hooks.takes(true) {
            true => hooks.report(true, &figures.for_hooks())?,
            false if self.prints => output::print(&figures.summary(&clients))?,
            false => {}
        }
        Ok(())
    }

    /// Reports at the end.
    fn conclude(&self, hooks: &ReportHooks, ended: Instant) -> anyhow::Result<()> {
        let unfinished = self.running.load(Ordering::Relaxed);
        if self.is_forced.load(Ordering::Relaxed) && unfinished > 0 && self.prints {
            output::print(&format!(
                "\nNumber of unfinished transactions on forced shutdown: {unfinished}\n"
            ))?;
        }
        let seconds = ended.duration_since(*lock(&self.counted)).as_secs_f64();
        self.summary(hooks, seconds, ended)
    }
}

/// Ends statements that go on after the run was broken, then their connections, and then the wait
/// for them.
#[derive(Default)]
struct LateClients {
    since: Option<Instant>,
    step: LateStep,
    /// Nothing is waited for.
    is_due: bool,
}

/// What is done next.
#[derive(Default)]
enum LateStep {
    #[default]
    Ask,
    Interrupt,
    Abandon,
}

impl LateClients {
    /// Whether the clients are given up.
    fn look(&mut self, interrupters: &[Interrupter]) -> bool {
        let now = Instant::now();
        let since = *self.since.get_or_insert(now);
        if now < since + GRACE && !std::mem::take(&mut self.is_due) {
            return false;
        }
        self.step = match self.step {
            // A server goes on when its client has gone, so it is asked to end first.
            LateStep::Ask => {
                thread::scope(|scope| {
                    interrupters.iter().for_each(|one| {
                        scope.spawn(|| one.cancel_statement());
                    });
                });
                LateStep::Interrupt
            }
            LateStep::Interrupt => {
                interrupters.iter().for_each(Interrupter::interrupt);
                LateStep::Abandon
            }
            LateStep::Abandon => return true,
        };
        self.since = Some(Instant::now());
        false
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Numbers are whole, whatever a thread died of.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
