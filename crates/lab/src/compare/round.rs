//! A round: every contestant is started once on a copy of its data, and driven through the tests in
//! turn with the others.

use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;
use rqps_dbms::{Dbms, Place, Server};
use rqps_load::{Failure, Meter, Relay, Slicing, Work};
use rqps_observe::{
    Canary, Conduct, EdgeReader, Group, Observer, Placement, Reading, guards, pin_thread, pin_tree,
};
use rqps_plan::{Compared, Comparison, Microbenchmark};
use rqps_store::{PassRecord, RunDirectory, SliceRecord};
use rqps_workload::microbenchmark::{Benchmark, Books, Cast, Test};

use super::contestant::Contestant;
use super::loads::{Folders, restore};
use super::order::order;
use crate::selftest::{Dosing, Slowed, Treatment};
use crate::{Event, Lab, LabError};

/// A pass that a guard refuses is made again so often.
pub(crate) const REPEATS: u32 = 2;
/// The share of a test's time that is driven before anything counts: the servers are just started.
pub(crate) const WARM_UP: f64 = 0.2;
/// How long the fixed piece of work takes that tells whether the machine is as fast as before.
const CANARY: Duration = Duration::from_millis(50);
/// How much of the CPUs other programs may use: what they do in a cycle they do to everybody, so that
/// the interval tells how much it matters, unless hardly anything is left (docs/verdicts.md).
const MOST_FOREIGN_PERCENT: f64 = 40.0;
/// Random draws of a round: who starts first and has which slot, and the order of slices.
const ARRANGEMENT: u64 = 1;
const SLICES: u64 = 2;

/// What all rounds have in common.
pub(crate) struct Setting<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) contestants: &'a [Contestant],
    pub(crate) ready: &'a [Box<dyn Dbms>],
    pub(crate) folders: &'a Folders,
    pub(crate) treatment: &'a Treatment,
    pub(crate) seed: u64,
}

impl<'a> Setting<'a> {
    /// What slices are of.
    fn microbenchmark(&self) -> &'a Microbenchmark {
        match &self.comparison.of {
            Compared::Microbenchmark(benchmark) => benchmark,
            Compared::InsertBenchmark(_) => unreachable!("plans with slices of it are refused"),
        }
    }

    /// A test's place in the plan.
    pub(crate) fn place(&self, test: &Test) -> u32 {
        let Compared::Microbenchmark(plan) = &self.comparison.of else { return 0 };
        let names = &plan.tests;
        names.iter().position(|name| name == test.short_name()).unwrap_or(names.len()) as u32
    }
}

/// A fixed piece of work, and how long it took so far.
pub(crate) struct Canaries {
    canary: Canary,
    seen: Vec<Duration>,
}

impl Canaries {
    pub(crate) fn new() -> Self {
        Canaries { canary: Canary::tuned(CANARY), seen: Vec::new() }
    }

    pub(crate) fn run(&mut self) -> Duration {
        let time = self.canary.run();
        self.seen.push(time);
        time
    }

    pub(crate) fn median(&self) -> Duration {
        let mut sorted = self.seen.clone();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    }
}

/// A contestant's server in this round.
struct Running<'a> {
    contestant: &'a Contestant,
    server: Box<dyn Server>,
    group: Option<Group>,
    /// What it is slowed down by, for the selftest.
    dosing: Option<Dosing>,
    _placement: Option<Placement>,
}

/// The round's servers, which end with it.
pub(crate) struct Round<'a> {
    setting: &'a Setting<'a>,
    number: u32,
    /// In the order of their slots.
    running: Vec<Running<'a>>,
    /// That everything is bound to; empty if nothing is.
    cpus: Vec<usize>,
}

impl<'a> Round<'a> {
    pub(crate) fn start(
        lab: &Lab<'_>,
        directory: &RunDirectory,
        setting: &'a Setting<'a>,
        number: u32,
    ) -> Result<Self, LabError> {
        let load = setting.comparison.load_of(number);
        let mut round = Round { setting, number, running: Vec::new(), cpus: Vec::new() };
        round.cpus = round.placement();
        let mut slots: Vec<&Contestant> = setting.contestants.iter().collect();
        slots.shuffle(&mut round.random(ARRANGEMENT, 0));
        for contestant in slots {
            let place = setting.contestants.iter().position(|one| one.name == contestant.name);
            let place = place.expect("the slots are the contestants");
            let data = setting.folders.round(place);
            restore(&setting.folders.loaded(place, load), &data)?;
            let log = directory.log(&contestant.name);
            let dosing = Dosing::of(contestant.injection, contestant.dialect, &data)?;
            let environment = dosing.as_ref().map(Dosing::environment).unwrap_or_default();
            let place = Place { data, log, detached: false, environment };
            let server = setting.ready[contestant.index].start(lab.home, &place, lab.cancelled)?;
            round.running.push(round.settle_in(contestant, server, dosing)?);
        }
        Ok(round)
    }

    /// One CPU for one client and all servers: what is left is the CPU that a query costs, without
    /// the lottery of waking up another CPU. Rounds take turns with the CPUs. Several clients run
    /// where they like.
    fn placement(&self) -> Vec<usize> {
        match (self.setting.microbenchmark().clients.iter().max(), rqps_observe::allowed_cpus()) {
            (Some(1), Ok(cpus)) if !cpus.is_empty() => {
                // The first CPU serves most interrupts.
                vec![cpus[cpus.len() - 1 - (self.number as usize - 1) % cpus.len()]]
            }
            _ => Vec::new(),
        }
    }

    fn settle_in(
        &self,
        contestant: &'a Contestant,
        server: Box<dyn Server>,
        dosing: Option<Dosing>,
    ) -> Result<Running<'a>, LabError> {
        let mut running = Running { contestant, server, group: None, dosing, _placement: None };
        let Some(root) = running.server.process().filter(|_| !running.server.is_embedded()) else {
            return Ok(running);
        };
        running.group = Group::create(&contestant.name);
        if let Some(group) = &running.group {
            group.add_tree(root)?;
        }
        if !self.cpus.is_empty() {
            running._placement = Some(pin_tree(root, &self.cpus).map_err(LabError::Placement)?);
        }
        Ok(running)
    }

    fn random(&self, of: u64, which: u64) -> Xoshiro256PlusPlus {
        let mix = self.setting.seed ^ (u64::from(self.number) << 32) ^ (of << 56) ^ (which << 16);
        Xoshiro256PlusPlus::seed_from_u64(mix)
    }

    /// Measures a test, again if a guard refuses it.
    pub(crate) fn pass(
        &mut self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        test: &'static Test,
        canaries: &mut Canaries,
        share: (f64, f64),
    ) -> Result<(), LabError> {
        for attempt in 1..=REPEATS + 1 {
            let mut pass = PassRecord {
                round: self.number,
                test: test.short_name().to_string(),
                place: self.setting.place(test),
                class: test.class().to_string(),
                group: test.group.title().to_string(),
                load: self.setting.comparison.load_of(self.number),
                attempt,
                started: jiff::Timestamp::now().to_string(),
                cpus: self.cpus.iter().map(|cpu| *cpu as u32).collect(),
                ..PassRecord::default()
            };
            let result = self.measure(lab, test, canaries, &mut pass, share);
            result.map_err(|error| self.named(error, &pass.test))?;
            directory.save_pass(&pass)?;
            match pass.invalid {
                None => break,
                Some(why) => {
                    (lab.watch)(Event::Refused { test: pass.test, why, attempt });
                }
            }
        }
        Ok(())
    }

    /// Says whose connection an error is of, and what the log of its server says to it.
    fn named(&mut self, error: LabError, test: &str) -> LabError {
        let LabError::Driven { slot, error } = error else { return error };
        let one = &mut self.running[slot];
        let log = if error.is_disconnect() { one.server.last_words() } else { None };
        let log = log.map(|log| format!("; {log}")).unwrap_or_default();
        let step = format!("{}: {test}", one.contestant.name);
        LabError::Step { step, reason: format!("{error}{log}") }
    }

    fn measure(
        &self,
        lab: &mut Lab<'_>,
        test: &'static Test,
        canaries: &mut Canaries,
        pass: &mut PassRecord,
        (from, share): (f64, f64),
    ) -> Result<(), LabError> {
        let plan = self.setting.microbenchmark();
        let clients = plan.clients.iter().copied().max().unwrap_or(1);
        let targets: Vec<_> = self.running.iter().map(|one| one.server.target().clone()).collect();
        let benchmarks: Vec<Benchmark<'_>> = self
            .running
            .iter()
            .zip(&targets)
            .map(|(one, target)| {
                Benchmark::new(target, one.contestant.dialect, plan, self.setting.seed)
            })
            .collect();

        // Threads that the clients start inherit where this one may run.
        let _placement = match &self.cpus[..] {
            [] => None,
            cpus => Some(pin_thread(cpus).map_err(LabError::Placement)?),
        };
        let mut work: Vec<Vec<Box<dyn Work>>> = (0..clients).map(|_| Vec::new()).collect();
        let mut books: Vec<Books> = Vec::new();
        let place = u64::from(self.number) * 1_000 + u64::from(pass.attempt);
        for benchmark in &benchmarks {
            benchmark.before(test)?;
            let Cast { work: clients, books: of } = benchmark.cast(test, clients, place)?;
            let dosing = &self.running[books.len()].dosing;
            work.iter_mut().zip(clients).for_each(|(client, work)| {
                client.push(match dosing {
                    Some(dosing) => dosing.around(work),
                    None => work,
                });
            });
            books.push(of);
        }
        let mut relay = Relay::start(work, self.meter()?)?;

        let comparison = self.setting.comparison;
        let slicing = Slicing { slice: comparison.slice.0, head: comparison.head.0 };
        let time = test.measured(plan);
        let cycles = |time: Duration| {
            (time.as_secs_f64() / comparison.slice.0.as_secs_f64()).ceil().max(2.0) as usize
        };
        let draw = u64::from(pass.place) * 16 + u64::from(pass.attempt);
        let mut random = self.random(SLICES, draw);
        let contenders = self.running.len();
        let warm_up = order(contenders, cycles(time.mul_f64(WARM_UP)), &mut random);
        let measured = order(contenders, cycles(time), &mut random);
        let all = (warm_up.len() + measured.len()) as f64;
        let (round, name) = (self.number, pass.test.clone());
        let watch = &mut lab.watch;
        let mut tell = |done: usize| {
            let done = from + share * done as f64 / all;
            watch(Event::Measuring { round, test: name.clone(), done });
        };
        let slowed = Slowed::timed(self.running.iter().map(|one| one.dosing.as_ref()))?;
        let warm = relay.run(&warm_up, slicing, &mut tell, lab.cancelled).map_err(driven)?;
        let slowed = slowed.slow_down(&warm)?;
        let before_canary = canaries.run();
        let mut observers: Vec<Observer> = self.observers()?;
        let first: Vec<Reading> = observers.iter_mut().map(Observer::read).collect();
        let (began, wall) = (Instant::now(), SystemTime::now());
        let mut tell_measured = |done: usize| tell(warm_up.len() + done);
        let slices = relay.run(&measured, slicing, &mut tell_measured, lab.cancelled);
        let slices = slices.map_err(driven)?;
        pass.seconds = began.elapsed().as_secs_f64();
        let names = self.running.iter().map(|one| one.contestant.name.as_str());
        let doses = slowed.doses(&slices, names, pass)?;
        self.setting.treatment.doses.borrow_mut().extend(doses);
        let wall_seconds = wall
            .elapsed()
            .map_or_else(|before| -before.duration().as_secs_f64(), |after| after.as_secs_f64());
        let last = observers.iter_mut().zip(&first).map(|(one, first)| one.read().since(first));
        let costs: Vec<Reading> = last.collect();
        let after_canary = canaries.run();
        relay.finish();
        for (benchmark, books) in benchmarks.iter().zip(&books) {
            benchmark.after(test, books)?;
        }

        pass.slices = self.records(&slices);
        pass.canary = [before_canary, after_canary].map(|time| time.as_nanos() as u64).to_vec();
        let client_cpu = pass.slices.iter().map(|slice| slice.client_cpu).sum::<u64>() / 1_000;
        let host = host(&costs, client_cpu);
        let conduct = Conduct {
            window: &host,
            seconds: pass.seconds,
            wall_seconds: Some(wall_seconds),
            planned_seconds: Some(measured.len() as f64 * comparison.slice.0.as_secs_f64()),
            cpus: rqps_observe::cpus(),
            most_foreign_percent: MOST_FOREIGN_PERCENT,
            // How fast the machine is does not matter: it is as fast for everybody in a cycle.
            canaries: None,
            errors: 0,
            missed_rate: None,
        };
        if comparison.guards {
            let failures = guards(&conduct);
            let words: Vec<String> = failures.iter().map(ToString::to_string).collect();
            pass.invalid = (!words.is_empty()).then(|| words.join("; "));
        }
        let names = self.running.iter().map(|one| one.contestant.name.clone());
        pass.cost = names.zip(costs).collect::<BTreeMap<_, _>>();
        pass.cost.insert(String::new(), host);
        Ok(())
    }

    /// Reads the counters of the server that is driven.
    fn meter(&self) -> Result<Meter, LabError> {
        let reader = |one: &Running<'_>| -> Result<Option<EdgeReader>, LabError> {
            let root = one.server.process().filter(|_| !one.server.is_embedded());
            let Some(root) = root else { return Ok(None) };
            Ok(Some(EdgeReader::new(root, one.group.as_ref())?))
        };
        let mut readers: Vec<Option<EdgeReader>> =
            self.running.iter().map(reader).collect::<Result<_, _>>()?;
        Ok(Box::new(move |slot| {
            let edge = readers[slot].as_mut().map(EdgeReader::read).unwrap_or_default();
            [edge.cpu, edge.run_queue_wait, edge.switches]
        }))
    }

    fn observers(&self) -> Result<Vec<Observer>, LabError> {
        let observer = |one: &Running<'_>| -> Result<Observer, LabError> {
            let server = &one.server;
            // What runs inside the client is seen as the client.
            let process = server.process().filter(|_| !server.is_embedded());
            let observer = Observer::new(process, server.data(), server.database_path()?);
            Ok(match &one.group {
                Some(group) => observer.in_group(group)?,
                None => observer,
            })
        };
        self.running.iter().map(observer).collect()
    }

    fn records(&self, slices: &[Vec<rqps_load::Slice>]) -> Vec<SliceRecord> {
        let mut records = Vec::new();
        for (client, slices) in (1..).zip(slices) {
            for (place, slice) in (0..).zip(slices) {
                let [server_cpu, server_run_queue_wait, server_switches] = slice.server;
                records.push(SliceRecord {
                    place,
                    client,
                    contender: self.running[slice.contender].contestant.name.clone(),
                    began: slice.began,
                    nanos: slice.nanos,
                    operations: slice.operations,
                    head_operations: slice.head_operations,
                    rows: slice.rows,
                    reads: slice.statements.reads,
                    writes: slice.statements.writes,
                    others: slice.statements.others,
                    retries: slice.retries,
                    client_cpu: slice.client_cpu,
                    server_cpu,
                    server_run_queue_wait,
                    server_switches,
                });
            }
        }
        records
    }

    pub(crate) fn stop(self) -> Result<(), LabError> {
        for mut one in self.running {
            // What it wrote in this round is not needed again.
            one.server.discard()?;
            if let Some(group) = one.group {
                group.remove()?;
            }
        }
        Ok(())
    }
}

/// The slot of a contender whose connection met an error is where its name is found.
fn driven(failure: Failure) -> LabError {
    match failure {
        Failure::Cancelled => LabError::Interrupted,
        Failure::Worker { index, error } => LabError::Driven { slot: index, error },
    }
}

/// The host's counters, with the CPU of all servers and clients together as the server's.
fn host(costs: &[Reading], client_cpu: u64) -> Reading {
    use rqps_observe::Metric::{ClientCpuUser, ServerCpuSystem, ServerCpuUser};
    let mut host = costs.first().cloned().unwrap_or_default();
    for metric in [ServerCpuUser, ServerCpuSystem] {
        let parts: Option<Vec<u64>> = costs.iter().map(|cost| cost.get(metric)).collect();
        host.set(metric, parts.map_or(0, |parts| parts.iter().sum()));
    }
    host.set(ClientCpuUser, client_cpu);
    host
}
