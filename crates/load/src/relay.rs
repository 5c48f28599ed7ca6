//! Drives contenders in turn from the same threads, a slice of some milliseconds each, so that
//! changes of the machine affect all of them alike (docs/slices.md).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rqps_wire::{Cancel, Error, ErrorClass, Interrupter};

use crate::clock::{Clock, Monotonic, now, thread_cpu};
use crate::effect::Statements;
use crate::ending::Ending;
use crate::failure::{Failure, Overdue, no_thread};
use crate::halt::Halt;
use crate::live::{ThreadCost, thread_cost};
use crate::recorder::histogram;
use crate::work::{Performed, Portion, Work};

/// How often cancellation is checked.
const LOOK: Duration = Duration::from_millis(50);
/// What [`Current::since`] is while no operation runs.
const IDLE: u64 = 0;

/// Counters of a contender's server, in the units of their reader.
pub type Counters = [u64; COUNTERS];
pub const COUNTERS: usize = 14;

/// Reads the counters of a contender's server at the edges of its slices.
pub type Meter = Box<dyn FnMut(usize) -> Counters + Send>;

/// The lengths of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// The measured part of a slice.
    pub slice: Portion,
    /// The unmeasured warm-up before it: caches fill with this contender's data.
    pub warm_up: Portion,
}

impl Slicing {
    pub const fn by_time(slice: Duration, warm_up: Duration) -> Slicing {
        Slicing { slice: Portion::Time(slice), warm_up: Portion::Time(warm_up) }
    }

    pub const fn by_count(slice: u64, warm_up: u64) -> Slicing {
        Slicing { slice: Portion::Operations(slice), warm_up: Portion::Operations(warm_up) }
    }
}

/// The order of contenders, slice by slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turns {
    /// Contenders, by their places in the work.
    pub order: Vec<usize>,
    /// The rest of the order is skipped after this time,
    pub enough: Duration,
    /// but not before this number of slices has ended,
    pub fewest: usize,
    /// and only after a multiple of this number, so that each contender was early as often as late.
    pub block: usize,
    /// The operation that the work of every contender begins with ([`Work::seek`]); if there is
    /// none, each goes on after its last one.
    pub from: Option<u64>,
}

impl Turns {
    /// The complete order, without a time limit.
    pub fn all(order: Vec<usize>) -> Turns {
        Turns { fewest: order.len(), order, enough: Duration::MAX, block: 1, from: None }
    }

    /// Whether the rest is skipped when so many slices have ended after this time.
    pub fn may_end(&self, ended: usize, after: Duration) -> bool {
        after >= self.enough && ended >= self.fewest && ended.is_multiple_of(self.block)
    }
}

/// The work of one client in one slice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// Which contender, by its place in the work.
    pub contender: usize,
    /// When the measured part began, on the monotonic clock in nanoseconds.
    pub began: u64,
    /// Nanoseconds of the operations in sequence.
    pub nanos: u64,
    pub operations: u64,
    /// Operations of the unmeasured warm-up.
    pub warm_up_operations: u64,
    /// Nanoseconds of CPU of the client's thread in the warm-up.
    pub warm_up_cpu: u64,
    pub rows: u64,
    pub statements: Statements,
    pub retries: u64,
    /// Nanoseconds of CPU of the client's thread in the measured part.
    pub client_cpu: u64,
    /// Other cost of the client's thread in the measured part.
    pub client: ThreadCost,
    /// Nanoseconds in which the client held operations of the measured part back.
    pub held: u64,
    /// The increase of the server's counters; read by the first client only.
    pub server: Counters,
    /// Nanoseconds of CPU for reading them, outside the measured part.
    pub reading_cpu: u64,
}

/// Threads, one client each, with a connection to every contender.
pub struct Relay {
    clients: Vec<Client>,
    reports: Receiver<(usize, Driven)>,
    halt: Arc<Halt>,
    /// Slices that the first client has ended.
    done: Arc<AtomicU64>,
    /// By contender.
    live: Arc<[Driving]>,
    failed: Arc<AtomicBool>,
    /// How long an operation may take, by contender; empty if there is no limit.
    limits: Vec<Duration>,
    /// Of the last run, by contender.
    times: Vec<Histogram<u64>>,
}

/// The current operation of a client, readable from any thread.
#[derive(Debug, Default)]
struct Current {
    contender: AtomicUsize,
    number: AtomicU64,
    /// When it began.
    since: AtomicU64,
}

/// The sum over all clients for a contender since the relay was started, readable from any thread.
/// Written between slices.
#[derive(Debug, Default)]
pub struct Driving {
    operations: AtomicU64,
    nanos: AtomicU64,
}

impl Driving {
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// In measured parts of slices, summed over the clients.
    pub fn client_seconds(&self) -> f64 {
        self.nanos.load(Ordering::Relaxed) as f64 / 1e9
    }

    fn add(&self, slice: &Slice) {
        self.operations.fetch_add(slice.operations, Ordering::Relaxed);
        self.nanos.fetch_add(slice.nanos, Ordering::Relaxed);
    }
}

/// A client's slices and its times by contender, or an error with its contender.
type Driven = Result<(Vec<Slice>, Vec<Histogram<u64>>), (usize, Error)>;

struct Client {
    orders: Sender<(Arc<Turns>, Slicing)>,
    interrupters: Vec<Interrupter>,
    current: Arc<Current>,
    thread: JoinHandle<()>,
    id: u32,
}

/// The data of a client's thread.
struct DrivenThread {
    /// By contender.
    work: Vec<Box<dyn Work>>,
    /// By contender, the number of the next operation.
    next: Vec<u64>,
    /// By contender, nanoseconds of each operation in measured parts.
    times: Vec<Histogram<u64>>,
    current: Arc<Current>,
    meter: Option<Meter>,
    halt: Arc<Halt>,
    /// The least time from the start of an operation to that of the next, of whichever contender.
    spacing: Duration,
    /// When the next operation may start.
    due: u64,
    done: Option<Arc<AtomicU64>>,
    live: Arc<[Driving]>,
    /// All clients begin a slice together.
    edge: Arc<Barrier>,
    /// A client met an error in this slice.
    failed: Arc<AtomicBool>,
    /// No slice follows.
    over: Arc<AtomicBool>,
}

impl Relay {
    /// `work` is by client and contender; `meter` is read by the first client.
    pub fn start(work: Vec<Vec<Box<dyn Work>>>, meter: Meter) -> Result<Self, Error> {
        Relay::start_spaced(work, meter, Duration::ZERO)
    }

    /// The same, where a client waits from the start of an operation at least `spacing` until it
    /// starts the next one, of whichever contender.
    pub fn start_spaced(
        work: Vec<Vec<Box<dyn Work>>>,
        meter: Meter,
        spacing: Duration,
    ) -> Result<Self, Error> {
        let (halt, done) = (Arc::new(Halt::default()), Arc::new(AtomicU64::new(0)));
        let contenders = work.first().map_or(0, Vec::len);
        let live: Arc<[Driving]> = (0..contenders).map(|_| Driving::default()).collect();
        let edge = Arc::new(Barrier::new(work.len()));
        let (failed, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (sender, reports) = channel();
        let mut meter = Some(meter);
        let mut clients = Vec::with_capacity(work.len());
        for (index, work) in work.into_iter().enumerate() {
            let interrupters = work.iter().map(|work| work.interrupter());
            let interrupters = interrupters.collect::<Result<_, _>>()?;
            let current = Arc::new(Current::default());
            let mut driver = DrivenThread {
                next: vec![0; work.len()],
                times: Vec::new(),
                work,
                current: current.clone(),
                meter: meter.take(),
                halt: halt.clone(),
                spacing,
                due: 0,
                done: (index == 0).then(|| done.clone()),
                live: live.clone(),
                edge: edge.clone(),
                failed: failed.clone(),
                over: over.clone(),
            };
            let (orders, inbox) = channel::<(Arc<Turns>, Slicing)>();
            let (identity, id) = channel();
            let sender = sender.clone();
            let name = format!("client-{index}");
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                // Received by the spawner right below.
                let _ = identity.send(rustix::thread::gettid().as_raw_nonzero().get() as u32);
                if !spacing.is_zero() {
                    Monotonic.sharpen();
                }
                for (turns, slicing) in inbox {
                    if sender.send((index, driver.drive(&turns, slicing))).is_err() {
                        break;
                    }
                }
            });
            let thread = thread.map_err(no_thread)?;
            let id = id.recv().map_err(|_| Error::Protocol("a client's thread died".into()))?;
            clients.push(Client { orders, interrupters, current, thread, id });
        }
        let times = Vec::new();
        Ok(Relay { clients, reports, halt, done, live, failed, limits: Vec::new(), times })
    }

    /// The live totals of each contender, by its place in the work.
    pub fn live(&self) -> Arc<[Driving]> {
        self.live.clone()
    }

    /// The kernel's ids of the clients' threads, to place them on CPUs.
    pub fn threads(&self) -> Vec<u32> {
        self.clients.iter().map(|client| client.id).collect()
    }

    /// From now on an operation of a contender may take so long, and is ended then.
    pub fn limit(&mut self, limits: Vec<Duration>) {
        self.limits = limits;
    }

    /// Drives the contenders in turn and returns each client's slices. Several times a second,
    /// `progress` receives the number of slices that have ended, and `cancel` is checked.
    pub fn run(
        &mut self,
        turns: &Turns,
        slicing: Slicing,
        progress: &mut dyn FnMut(usize),
        cancel: &Cancel,
    ) -> Result<Vec<Vec<Slice>>, Failure> {
        self.halt.reset();
        self.done.store(0, Ordering::Relaxed);
        self.failed.store(false, Ordering::Relaxed);
        let turns = Arc::new(turns.clone());
        for client in &self.clients {
            client.orders.send((turns.clone(), slicing)).expect("clients wait for orders");
        }
        self.times.clear();
        let mut slices = vec![Vec::new(); self.clients.len()];
        let mut failure = None;
        let mut ending = Ending::default();
        let mut running = self.clients.len();
        while running > 0 {
            if failure.is_none() && cancel.is_requested() {
                failure = Some(Failure::Cancelled);
            }
            if failure.is_none()
                && let Some(overdue) = self.overdue()
            {
                failure = Some(Failure::Overdue(overdue));
                ending = Ending::at_once();
            }
            if failure.is_some() {
                self.halt.abandon();
                let busy = self.clients.iter().filter(|client| client.current.is_busy());
                ending.look(busy.map(|client| &client.interrupters[client.current.contender()]));
            }
            match self.reports.recv_timeout(LOOK) {
                Ok((client, Ok((own, times)))) => {
                    slices[client] = own;
                    self.add(times);
                    running -= 1;
                }
                Ok((_, Err((index, error)))) => {
                    failure.get_or_insert(Failure::Worker { index, error });
                    running -= 1;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let error = panicked();
                    return Err(failure.unwrap_or(Failure::Worker { index: 0, error }));
                }
            }
            progress(self.done.load(Ordering::Relaxed) as usize);
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(slices),
        }
    }

    /// Nanoseconds of the operations in measured parts of the last run, over all clients, by
    /// contender. An operation is timed from the end of the one before, as the clock is read once
    /// for each.
    pub fn take_times(&mut self) -> Vec<Histogram<u64>> {
        std::mem::take(&mut self.times)
    }

    fn add(&mut self, times: Vec<Histogram<u64>>) {
        if self.times.is_empty() {
            self.times = times;
            return;
        }
        for (sum, own) in self.times.iter_mut().zip(&times) {
            sum.add(own).expect("histograms of one form can be added");
        }
    }

    /// An operation that takes longer than it may.
    fn overdue(&self) -> Option<Overdue> {
        let time = now();
        self.clients.iter().find_map(|client| {
            let contender = client.current.contender();
            let limit = *self.limits.get(contender)?;
            let since = client.current.since.load(Ordering::Relaxed);
            let is_overdue = since != IDLE && time.saturating_sub(since) > limit.as_nanos() as u64;
            let operation = client.current.number.load(Ordering::Relaxed);
            is_overdue.then_some(Overdue { contender, operation, limit })
        })
    }

    /// Ends the threads and closes their connections.
    pub fn finish(self) {
        for client in self.clients {
            drop(client.orders);
            client.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        }
    }
}

impl Current {
    fn contender(&self) -> usize {
        self.contender.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        self.since.load(Ordering::Relaxed) != IDLE
    }
}

#[cold]
fn panicked() -> Error {
    Error::Protocol("a client's thread panicked".to_string())
}

impl Slice {
    /// Nanoseconds of CPU of the client's thread from the start of one slice to the next.
    pub fn whole_cpu(&self) -> u64 {
        self.warm_up_cpu + self.client_cpu + self.reading_cpu
    }
}

impl DrivenThread {
    fn drive(&mut self, turns: &Turns, slicing: Slicing) -> Driven {
        let mut slices = Vec::with_capacity(turns.order.len());
        let mut error = None;
        self.times = self.work.iter().map(|_| histogram()).collect();
        if let Some(operation) = turns.from {
            self.work.iter_mut().for_each(|work| work.seek(operation));
            self.next.fill(operation);
        }
        let began = Instant::now();
        for (ended, &contender) in turns.order.iter().enumerate() {
            if self.is_over(|| turns.may_end(ended, began.elapsed())) {
                break;
            }
            // A client that unwinds would leave the others waiting at the edge.
            self.current.contender.store(contender, Ordering::Relaxed);
            let slice = catch_unwind(AssertUnwindSafe(|| self.slice(contender, slicing)));
            self.current.since.store(IDLE, Ordering::Relaxed);
            match slice.unwrap_or_else(|_| Err(panicked())) {
                Ok(slice) => {
                    self.live[contender].add(&slice);
                    slices.push(slice);
                }
                Err(of) => {
                    error = Some((contender, of));
                    self.failed.store(true, Ordering::Relaxed);
                }
            }
            if let Some(done) = &self.done {
                done.fetch_add(1, Ordering::Relaxed);
            }
        }
        let times = std::mem::take(&mut self.times);
        error.map_or(Ok((slices, times)), Err)
    }

    /// Waits for the other clients before a slice. One of them decides between two barriers, so
    /// that all get the same answer and none keeps waiting.
    fn is_over(&self, may_end: impl Fn() -> bool) -> bool {
        if self.edge.wait().is_leader() {
            let over = self.failed.load(Ordering::Relaxed) || self.halt.is_abandoned() || may_end();
            self.over.store(over, Ordering::Relaxed);
        }
        self.edge.wait();
        self.over.load(Ordering::Relaxed)
    }

    fn slice(&mut self, contender: usize, slicing: Slicing) -> Result<Slice, Error> {
        let mut slice = Slice { contender, ..Slice::default() };
        let met = thread_cpu();
        self.work[contender].begin_turn()?;
        if !slicing.warm_up.is_nothing() {
            let mut warm_up = Slice::default();
            self.operate::<false>(contender, slicing.warm_up, &mut warm_up)?;
            slice.warm_up_operations = warm_up.operations;
        }
        let asked = thread_cpu();
        slice.warm_up_cpu = asked - met;
        let server = self.meter.as_mut().map(|meter| meter(contender));
        let client = thread_cost();
        let cpu = thread_cpu();
        self.operate::<true>(contender, slicing.slice, &mut slice)?;
        let ended = thread_cpu();
        slice.client_cpu = ended - cpu;
        slice.client = thread_cost().since(&client);
        self.work[contender].end_turn()?;
        if let (Some(meter), Some(before)) = (&mut self.meter, server) {
            let after = meter(contender);
            slice.server = std::array::from_fn(|at| after[at].saturating_sub(before[at]));
        }
        slice.reading_cpu = (cpu - asked) + (thread_cpu() - ended);
        Ok(slice)
    }

    fn operate<const IS_MEASURED: bool>(
        &mut self,
        contender: usize,
        portion: Portion,
        slice: &mut Slice,
    ) -> Result<(), Error> {
        let work = &mut self.work[contender];
        slice.began = now();
        let (deadline, most) = match portion {
            Portion::Time(time) => (slice.began + time.as_nanos() as u64, u64::MAX),
            Portion::Operations(most) => (u64::MAX, most),
        };
        self.current.number.store(self.next[contender], Ordering::Relaxed);
        self.current.since.store(slice.began, Ordering::Relaxed);
        if let Some(performed) = work.perform(portion, 0) {
            let Performed { operations, nanos, effect, times, .. } = performed?;
            self.next[contender] += operations;
            (slice.operations, slice.nanos) = (operations, nanos);
            (slice.rows, slice.statements) = (effect.rows, effect.statements);
            for (nanos, count) in times.into_iter().filter(|_| IS_MEASURED) {
                self.times[contender].saturating_record_n(nanos, count);
            }
            return Ok(());
        }
        let mut ended = slice.began;
        loop {
            self.current.number.store(self.next[contender], Ordering::Relaxed);
            if !self.spacing.is_zero() {
                self.current.since.store(IDLE, Ordering::Relaxed);
                slice.held += self.due.saturating_sub(ended);
                Monotonic.sleep_until(self.due, &self.halt);
                ended = now();
                self.due = ended + self.spacing.as_nanos() as u64;
            }
            self.current.since.store(ended, Ordering::Relaxed);
            self.next[contender] += 1;
            work.make(&self.halt)?;
            let effect = loop {
                match work.execute() {
                    Ok(effect) => break effect,
                    Err(error)
                        if error.class() == ErrorClass::Retry && !self.halt.is_abandoned() =>
                    {
                        slice.retries += 1;
                    }
                    Err(error) => return Err(error),
                }
            };
            slice.operations += 1;
            slice.rows += effect.rows;
            slice.statements += effect.statements;
            let began = std::mem::replace(&mut ended, now());
            if IS_MEASURED {
                self.times[contender].saturating_record(ended - began);
            }
            if ended >= deadline || slice.operations >= most || self.halt.is_abandoned() {
                slice.nanos = ended - slice.began;
                return Ok(());
            }
        }
    }
}
