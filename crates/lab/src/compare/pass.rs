//! A pass, one test in one round: every arm is driven in turn with the others, a slice of some
//! milliseconds at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use rand::RngExt;
use rqps_analysis::comparison::counted_operation;
use rqps_dbms::Descriptor;
use rqps_load::{Driving, Meter, Relay, Slice, Slicing, ThreadCost, Turns, Work};
use rqps_observe::{
    Clocks, Conduct, Edge, EdgeReader, EngineReading, GuardFailure, HARDWARE, Limits, Meaning,
    Metric, Observer, Reading, guards, pin_thread,
};
use rqps_store::{Measurement, RoundRecord, RunDirectory, SliceRecord, Status, WorkRecord};
use rqps_workload::{Driver, End, Task, TaskClients};

use super::blame::of;
use super::carried::{REQUESTS, counters, edge};
use super::context::{Draw, driver};
use super::cut::{Beginning, Cut, WARM, Warmed, warm_up};
use super::journal::REPEATS;
use super::limits::{LEAST, LimitedRelay};
use super::others::{WatchedServer, held, sent};
use super::round::{Round, Running};
use super::turn::ServerTurns;
use crate::error::LabError;
use crate::lab::Lab;
use crate::selftest::dosing::Slowed;
use crate::stage::{kept, measurement, round, with_last_words};
use crate::{Event, Pace};

/// A slice that begins when caches are warm.
const ALONE: Slicing = Slicing::by_time(Duration::from_millis(100), Duration::from_millis(100));

/// Why a measurement is discarded, in words; none if it counts.
pub(super) fn said(against: &[GuardFailure]) -> Option<String> {
    let words: Vec<String> = against.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| words.join("; "))
}

impl<'a> Round<'a> {
    /// Measures a test; again if a guard discards it, and again without an arm that fails.
    /// `attempt` is the last one that was made, from 0; arms in `bench` are excluded. `share` is
    /// where the test begins in the round, and its part of it.
    pub(crate) fn pass(
        &mut self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        test: &Task,
        (attempt, bench): (u32, &BTreeSet<String>),
        share: (f64, f64),
    ) -> Result<(), LabError> {
        let is_benched = |one: &Running<'_>| bench.contains(&one.arm.name);
        let (mut looking_on, playing): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.running).into_iter().partition(is_benched);
        self.running = playing;
        let result = self.attempts(lab, directory, test, (attempt, &mut looking_on), share);
        self.running.extend(looking_on);
        self.running.sort_by_key(|one| one.slot);
        result
    }

    fn attempts(
        &mut self,
        lab: &mut Lab<'_>,
        directory: &mut RunDirectory,
        test: &Task,
        (mut attempt, looking_on): (u32, &mut Vec<Running<'a>>),
        share: (f64, f64),
    ) -> Result<(), LabError> {
        let lost = &self.context.shared.lost;
        let mut failed = self.absent.clone();
        let mut refused = 0;
        let mut slowest_of_base = Duration::ZERO;
        let mut late = BTreeSet::new();
        loop {
            let mut pass = self.blank(test, attempt + 1);
            let died = match self.measure(lab, test, &mut pass, slowest_of_base, share) {
                Ok(()) => None,
                Err(LabError::Driven { slot, error }) => {
                    let one = self.running[slot].arm;
                    if one.is_remote && error.is_disconnect() {
                        lost.add(&one.name);
                    }
                    Some(self.expel(slot, *error))
                }
                Err(LabError::SlowOnAll(took)) => {
                    slowest_of_base = took;
                    continue;
                }
                Err(error @ LabError::Overdue { slot, limit, base }) => {
                    self.record_overdue(&mut pass, slot, (limit, base));
                    let one = self.running.remove(slot);
                    let ended = (one.arm.name.clone(), error.to_string());
                    late.insert(one.arm.name.clone());
                    // It skips this test alone.
                    looking_on.push(one);
                    Some(ended)
                }
                Err(error) => return Err(error),
            };
            attempt += 1;
            if let Some((contender, why)) = &died {
                let error = format!("{}: {why}", pass.test);
                (lab.watch)(Event::Failed { contender: contender.clone(), error });
                // The measurements of the others are incomplete.
                pass.slices.clear();
                let others = pass.arms.values_mut().filter(|arm| arm.status != Status::Overdue);
                others.for_each(|arm| arm.status = Status::Interrupted);
                pass.discarded = Some(format!("{contender}: {why}"));
                failed.insert(contender.clone(), why.clone());
            }
            // A later session measures the rest of a server that went away.
            failed.retain(|contender, _| !lost.has(contender));
            for (contender, why) in &failed {
                let arm = pass.arms.entry(contender.clone()).or_default();
                if late.contains(contender) {
                    arm.status = Status::Overdue;
                }
                arm.fail(why.clone());
            }
            if let Some(why) = &pass.discarded {
                tracing::info!("round {}, {}, attempt {attempt}: {why}", pass.round, pass.test);
            }
            directory.save(&pass)?;
            let again = match (died, pass.discarded) {
                (Some(_), _) => !self.is_over(),
                (None, Some(why)) => {
                    (lab.watch)(Event::Refused { test: pass.test, why, attempt });
                    refused += 1;
                    refused <= REPEATS
                }
                (None, None) => false,
            };
            if !again {
                return Ok(());
            }
        }
    }

    /// Records of a round in which nothing can be measured, since an arm did not start: it has
    /// failed in these tests, as one that dies in them. `attempt` is the last one that was made.
    pub(crate) fn record_absence(
        &self,
        directory: &mut RunDirectory,
        tests: &[&Task],
        attempt: impl Fn(&Task) -> u32,
    ) -> Result<(), LabError> {
        for test in tests {
            let mut pass = self.blank(test, attempt(test) + 1);
            pass.arms.values_mut().for_each(|arm| arm.status = Status::Interrupted);
            for (contender, why) in &self.absent {
                pass.arms.entry(contender.clone()).or_default().fail(why.clone());
                pass.discarded = Some(format!("{contender}: {why}"));
            }
            directory.save(&pass)?;
        }
        Ok(())
    }

    /// An empty record of the measurement.
    fn blank(&self, test: &Task, attempt: u32) -> RoundRecord {
        let context = self.context;
        let arm = |one: &Running<'_>| {
            let note = one.note.clone();
            let measured = Measurement { slot: one.slot, note, ..measurement(test) };
            (one.arm.name.clone(), measured)
        };
        RoundRecord {
            round: context.number,
            place: context.shared.place(&test.name),
            part: context.part,
            load: context.shared.comparison.load_of(context.number),
            attempt,
            arms: self.running.iter().map(arm).collect(),
            group: Some(test.group.to_string()),
            ..round(test)
        }
    }

    /// Records that an execution of an arm was ended, and what the baseline took for the same.
    fn record_overdue(
        &self,
        pass: &mut RoundRecord,
        slot: usize,
        (limit, base): (Duration, Option<Duration>),
    ) {
        let late = self.arm(pass, slot);
        (late.status, late.seconds) = (Status::Overdue, limit.as_secs_f64());
        let slot = self.running.iter().position(|one| one.arm.is_base());
        if let Some((slot, took)) = slot.zip(base) {
            self.arm(pass, slot).seconds = took.as_secs_f64();
        }
    }

    /// Removes an arm from the round; returns its name, and why with details.
    pub(super) fn expel(&mut self, slot: usize, error: LabError) -> (String, String) {
        let mut one = self.running.remove(slot);
        let reason = with_last_words(&error, &mut *one.server, one.group.as_ref());
        let name = one.arm.name.clone();
        // It has failed already: `rqps dbms prune` finds what cannot be removed.
        let _ = one.discard();
        (name, reason)
    }

    fn measure(
        &mut self,
        lab: &mut Lab<'_>,
        test: &Task,
        pass: &mut RoundRecord,
        slowest_of_base: Duration,
        (from, share): (f64, f64),
    ) -> Result<(), LabError> {
        let shared = self.context.shared;
        let clients = shared.comparison.of.most_clients();
        pass.arms.values_mut().for_each(|arm| arm.clients = clients);
        let targets: Vec<_> = self.running.iter().map(|one| one.server.target().clone()).collect();
        let drivers = self.running.iter().zip(&targets);
        let drivers = drivers.map(|(one, target)| driver(shared.plan, one.arm, target));
        let drivers: Vec<Box<dyn Driver + '_>> = drivers.collect::<Result<_, _>>()?;

        let mut is_parallel = false;
        for (slot, driver) in drivers.iter().enumerate() {
            // Earlier tests have restored the rows that they deleted.
            let prepared = driver.prepare(test, 1).map_err(of(slot))?;
            let arm = self.arm(pass, slot);
            let notes: Vec<String> = arm.note.take().into_iter().chain(prepared).collect();
            arm.note = (!notes.is_empty()).then(|| notes.join("; "));
            let explained = driver.explained(test).map_err(of(slot))?;
            is_parallel |= test.is_numbered && explained.iter().any(|one| one.is_parallel);
            self.arm(pass, slot).statements = kept(explained);
        }
        let ways = self.round_trips()?;
        let mut watched = self.watch_others()?;
        let room = self.room(is_parallel)?;
        // Threads of clients inherit the CPUs of this thread.
        let _placement = match &room.cpus[..] {
            [] => None,
            cpus => Some(pin_thread(cpus).map_err(LabError::Placement)?),
        };
        let mut work: Vec<Vec<Box<dyn Work>>> = (0..clients).map(|_| Vec::new()).collect();
        let mut ends: Vec<End<'_>> = Vec::new();
        let mut answering: Vec<Vec<Option<u32>>> = Vec::new();
        let place = u64::from(self.context.number) * 1_000 + u64::from(pass.attempt);
        let base = self.running.iter().position(|one| one.arm.is_base()).unwrap_or(0);
        let turns = ServerTurns::of(test, &self.running);
        for (slot, driver) in drivers.iter().enumerate() {
            let TaskClients { parts, threads, end, .. } =
                driver.connect(test, clients, place).map_err(of(slot))?;
            answering.push(threads);
            let dosing = &self.running[slot].dosing;
            work.iter_mut().zip(parts).for_each(|(client, part)| {
                let work = turns.around(slot, part.work);
                client.push(match dosing {
                    Some(dosing) => dosing.around(work),
                    None => work,
                });
            });
            ends.push(end);
        }
        let (meter, known) = self.meter()?;
        let mut relay = LimitedRelay {
            relay: Relay::start_spaced(work, meter, shared.comparison.spacing())?,
            limit: drivers[base].time_limit(test),
            arms: self.running.len(),
            base,
            slowest: slowest_of_base,
            least: LEAST,
        };
        let seats = self.seats(&relay.relay.threads(), &answering)?;
        let cpus = if room.is_widened { &room.cpus } else { &seats.cpus };
        pass.cpus = cpus.iter().map(|cpu| *cpu as u32).collect();
        let engines = self.count()?;

        let comparison = shared.comparison;
        let usual = Cut::by_time(comparison.slice.0, comparison.warm_up.0);
        let which = [pass.round, pass.part, pass.place, pass.attempt].map(u64::from);
        let mut random = shared.random(Draw::Slices, &which);
        let first_set = shared.random(Draw::Sets, &which).random::<u32>().into();
        let is_remote = self.running.iter().any(|one| one.arm.is_remote);
        let first =
            Beginning { contenders: self.running.len(), base, operation: first_set, is_remote };
        let (round, name) = (pass.round, pass.test.clone());
        if room.is_widened && round == 1 {
            let note = "a query plan is parallel, so servers and client use all CPUs".to_string();
            let contender = self.running[base].arm.name.clone();
            (lab.watch)(Event::Noted { contender, step: name.clone(), note });
        }
        let live = relay.relay.live();
        let names: Vec<String> = self.running.iter().map(|one| one.arm.name.clone()).collect();
        let watch = &mut lab.watch;
        // `done` of the turns are, of which the end is this share of the test.
        let measuring = |(begins, ends): (f64, f64), turns: &Turns, done: usize| {
            let done = begins + (ends - begins) * done as f64 / turns.order.len().max(1) as f64;
            let pace = |(name, live): (&String, &Driving)| {
                let seconds = live.client_seconds() / f64::from(clients);
                let pace = Pace::closed(live.operations(), seconds, clients as usize, 1.0);
                (name.clone(), pace)
            };
            Event::Measuring {
                round,
                test: name.clone(),
                contender: None,
                done: from + share * done,
                paces: names.iter().zip(live.iter()).map(pace).collect(),
            }
        };
        let result = (|| {
            // Ends with the last slice: what follows asks all servers.
            let _in_turns = turns.begin()?;
            let slowed = Slowed::timed(self.running.iter().map(|one| one.dosing.as_ref()))?;
            let warming = Instant::now();
            let mut drive = |turns: &Turns, slicing: Slicing, part: (f64, f64)| {
                let mut tell = |done: usize| watch(measuring(part, turns, done));
                relay.run(turns, slicing, &mut tell, lab.cancel)
            };
            let Warmed { mut before, cut } = warm_up(usual, test, &first, &mut random, &mut drive)?;
            let measured = cut.measured(&first, test.time, &mut random);
            if cut.is_by_count() {
                let seconds = (warming.elapsed() + cut.time_of(&measured)).as_secs_f64();
                watch(Event::Lasts { test: name.clone(), seconds });
            }
            let slowed = slowed.slow_down(&before)?;
            // A slice begins with caches that other arms have used. Warming them takes time
            // whichever arm is slowed down, so a slowdown is a share of an operation alone. Only
            // the baseline needs this, but all arms are treated alike: see docs/evidence.md, "twice
            // the noise".
            let each = Turns::all((0..first.contenders).filter(|_| !slowed.is_empty()).collect());
            let mut alone = relay.run(&each, ALONE, &mut |_| {}, lab.cancel)?;
            let mut observers: Vec<Observer> = self.observers()?;
            let start: Vec<Reading> = observers.iter_mut().map(Observer::read).collect();
            let (began, clocks) = (Instant::now(), Clocks::now());
            let mut tell = |done: usize| {
                watch(measuring((WARM, 1.0), &measured, done));
                watched.iter_mut().for_each(WatchedServer::look);
            };
            let slices = relay.run(&measured, cut.slicing, &mut tell, lab.cancel)?;
            let times = relay.relay.take_times();
            pass.seconds = began.elapsed().as_secs_f64();
            // Read now, since the next steps take time, which is no jump of the clock.
            let jump = clocks.jump();
            let last: Vec<Reading> = observers.iter_mut().map(Observer::read).collect();
            alone.extend(relay.run(&each, ALONE, &mut |_| {}, lab.cancel)?);
            let names = self.running.iter().map(|one| one.arm.name.as_str());
            let doses = slowed.doses(&slices, &alone, names, pass)?;
            shared.treatment.record(doses);
            before.extend(alone);
            Ok((before, (slices, times), jump, start, last))
        })();
        relay.relay.finish();
        let (before, (slices, times), jump, first, last) = match result {
            Ok(done) => done,
            Err(error @ (LabError::Driven { slot, .. } | LabError::Overdue { slot, .. })) => {
                // The others continue with complete tables.
                for (other, end) in ends.iter().enumerate().filter(|(other, _)| *other != slot) {
                    end().map_err(of(other))?;
                }
                return Err(error);
            }
            Err(error) => return Err(error),
        };
        let all = || before.iter().chain(&slices);
        let sent: Vec<u64> = (0..self.running.len()).map(|slot| sent(slot, all())).collect();
        let mut spoilt = self.judge_others(pass, watched, &sent, clients)?;
        for (slot, end) in ends.iter().enumerate() {
            if let Some(engine) = self.counted(slot, &engines[slot])? {
                self.arm(pass, slot).engine = engine;
            }
            end().map_err(of(slot))?;
        }

        pass.slices = self.records(&slices);
        for (slot, (first, last)) in first.iter().zip(&last).enumerate() {
            let arm = self.arm(pass, slot);
            arm.bytes_before = first.get(Metric::DatabaseBytes);
            arm.slice_cost = self.in_slices(slot, &known[slot], &slices);
            arm.cost.merge(last.since(first));
            if let Some(held) = held(slot, &slices) {
                arm.cost.set(Metric::HeldBack, held);
            }
            arm.status = Status::Done;
            let driven = before.iter().chain(&slices).flatten();
            let driven = driven.filter(|slice| slice.contender == slot);
            arm.watched = driven.map(|slice| slice.operations + slice.warm_up_operations).sum();
        }
        let operation = counted_operation(test.counts);
        for (slot, times) in times.into_iter().enumerate().filter(|(_, times)| !times.is_empty()) {
            let own = slices.iter().flatten().filter(|slice| slice.contender == slot);
            let mut work = WorkRecord { service: times, ..WorkRecord::of_several(operation) };
            for slice in own {
                work.operations += slice.operations;
                work.rows += slice.rows;
                work.reads += slice.statements.reads;
                work.writes += slice.statements.writes;
                work.others += slice.statements.others;
                work.retries += slice.retries;
            }
            self.arm(pass, slot).work = vec![work.packed()];
        }
        self.record_round_trips(pass, &ways);
        let client_cpu: u64 = slices.iter().flatten().map(Slice::whole_cpu).sum();
        pass.machine = machine(&pass.arms, client_cpu / 1_000, !is_remote);
        let conduct = Conduct {
            window: &pass.machine,
            seconds: pass.seconds,
            wall_seconds: Some(pass.seconds + jump),
            cpus: rqps_observe::cpus(),
            limits: Limits::SLICES,
            // The speed of the machine does not matter: it is the same for all arms of a cycle.
            reference_loop: None,
            missed_rate: None,
            background: self.background(test, pass),
        };
        if comparison.guards {
            spoilt.extend(guards(&conduct));
            pass.discarded = said(&spoilt);
        }
        Ok(())
    }

    fn arm<'p>(&self, pass: &'p mut RoundRecord, slot: usize) -> &'p mut Measurement {
        pass.arms.entry(self.running[slot].arm.name.clone()).or_default()
    }

    /// The counters of each DBMS now.
    fn count(&mut self) -> Result<Vec<EngineReading>, LabError> {
        let read = |(slot, one): (usize, &mut Running<'_>)| match &mut one.meter {
            Some(meter) => meter.read().map_err(of(slot)),
            None => Ok(EngineReading::default()),
        };
        self.running.iter_mut().enumerate().map(read).collect()
    }

    /// The increase of a DBMS's counters since, when they include all work of its clients.
    fn counted(
        &mut self,
        slot: usize,
        before: &EngineReading,
    ) -> Result<Option<EngineReading>, LabError> {
        let Some(meter) = &mut self.running[slot].meter else { return Ok(None) };
        meter.await_counts().map_err(of(slot))?;
        Ok(Some(meter.read().map_err(of(slot))?.since(before)))
    }

    /// The reader of the counters of the driven server; and which metrics they have beside its CPU,
    /// by arm.
    fn meter(&self) -> Result<(Meter, Vec<Vec<Metric>>), LabError> {
        let reader = |one: &Running<'_>| {
            EdgeReader::new(one.process(), one.group.as_ref(), one.server.data())
        };
        let mut readers: Vec<EdgeReader> =
            self.running.iter().map(reader).collect::<Result<_, _>>()?;
        let metrics = |reader: &EdgeReader| {
            let device = REQUESTS.into_iter().filter(|_| reader.has_device());
            device.chain(reader.hardware()).collect()
        };
        let known = readers.iter().map(metrics).collect();
        Ok((Box::new(move |slot| counters(readers[slot].read())), known))
    }

    /// The contender whose background threads used most, and their CPU as a share of that of the
    /// threads that serve clients; none where that is not counted, or is a part of the test.
    fn background(&self, test: &Task, pass: &RoundRecord) -> Option<(String, f64)> {
        if test.class.writes() || test.works_in_turns {
            return None;
        }
        let share = |one: &Running<'_>| {
            let mut engine = pass.arms.get(&one.arm.name)?.engine.clone();
            let contender = &self.context.shared.plan.contenders[one.arm.index];
            let known = <&Descriptor>::from(contender).counters();
            engine.mean(|name| known.iter().find(|it| it.is_of(name)).map(|it| it.meaning));
            let [background, serving] =
                [Meaning::BackgroundCpu, Meaning::ServingCpu].map(|of| engine.meant(of));
            Some((one.arm.name.clone(), background? as f64 / serving?.max(1) as f64))
        };
        self.running.iter().filter_map(share).max_by(|one, other| one.1.total_cmp(&other.1))
    }

    fn observers(&self) -> Result<Vec<Observer>, LabError> {
        let observer = |(slot, one): (usize, &Running<'_>)| -> Result<Observer, LabError> {
            let server = &one.server;
            let path = server.database_path().map_err(of(slot))?;
            let observer = Observer::new(one.process(), server.data(), path);
            Ok(match &one.group {
                Some(group) => observer.in_group(group)?,
                None => observer,
            })
        };
        self.running.iter().enumerate().map(observer).collect()
    }

    fn records(&self, slices: &[Vec<Slice>]) -> Vec<SliceRecord> {
        let mut records = Vec::new();
        for (client, slices) in (1..).zip(slices) {
            for (place, slice) in (0..).zip(slices) {
                let server = edge(slice.server);
                records.push(SliceRecord {
                    place,
                    client,
                    arm: self.running[slice.contender].arm.name.clone(),
                    began: slice.began,
                    nanos: slice.nanos,
                    operations: slice.operations,
                    warm_up_operations: slice.warm_up_operations,
                    rows: slice.rows,
                    reads: slice.statements.reads,
                    writes: slice.statements.writes,
                    others: slice.statements.others,
                    retries: slice.retries,
                    client_cpu: slice.client_cpu,
                    server_cpu: server.cpu,
                    server_run_queue_wait: server.run_queue_wait,
                    server_switches: server.switches,
                    reading_cpu: slice.reading_cpu,
                });
            }
        }
        records
    }

    /// The cost of an arm in the measured parts of its slices: the known ones of its server's
    /// metrics, and the clients' threads, which for an embedded DBMS are the server.
    fn in_slices(&self, slot: usize, known: &[Metric], slices: &[Vec<Slice>]) -> Reading {
        let mut client = ThreadCost::default();
        let mut server = Edge::default();
        for slice in slices.iter().flatten().filter(|slice| slice.contender == slot) {
            client += slice.client;
            server += edge(slice.server);
        }
        let requests = [server.reads, server.read_bytes, server.flushes, server.flush_time];
        let counted =
            REQUESTS.into_iter().zip(requests).chain(HARDWARE.into_iter().zip(server.hardware));
        let mut cost: Reading = counted.filter(|(metric, _)| known.contains(metric)).collect();
        let ThreadCost { cpu_user, cpu_system, voluntary_switches, .. } = client;
        let threads = match self.running[slot].server.is_embedded() {
            true => vec![
                (Metric::ServerCpuUser, cpu_user),
                (Metric::ServerCpuSystem, cpu_system),
                (Metric::ServerVoluntarySwitches, voluntary_switches),
                (Metric::ServerInvoluntarySwitches, client.involuntary_switches),
                (Metric::ServerReadBytes, client.read_bytes),
                (Metric::ServerWriteBytes, client.write_bytes),
            ],
            false => vec![
                (Metric::ClientCpuUser, cpu_user),
                (Metric::ClientCpuSystem, cpu_system),
                (Metric::ClientVoluntarySwitches, voluntary_switches),
                (Metric::ClientInvoluntarySwitches, client.involuntary_switches),
            ],
        };
        threads.into_iter().for_each(|(metric, value)| cost.set(metric, value));
        cost
    }
}

/// The host's counters, with the CPU of all servers and clients together as the server's. Without
/// the former it is not known what others used: a remote server may be on this machine.
fn machine(arms: &BTreeMap<String, Measurement>, client_cpu: u64, knows_servers: bool) -> Reading {
    use rqps_observe::Metric::{ClientCpuUser, ServerCpuSystem, ServerCpuUser};
    let mut machine = arms.values().next().map(|arm| arm.cost.clone()).unwrap_or_default();
    // An embedded DBMS has none.
    for metric in [ServerCpuUser, ServerCpuSystem].into_iter().filter(|_| knows_servers) {
        machine.set(metric, arms.values().filter_map(|arm| arm.cost.get(metric)).sum());
    }
    machine.set(ClientCpuUser, client_cpu);
    machine
}
