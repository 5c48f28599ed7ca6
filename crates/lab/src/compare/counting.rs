//! Instructions of operations in one server, which runs under Callgrind.
//!
//! A client warms the server up, and then sends the counted operations to the same process. At both
//! edges of these, Callgrind is asked to write what it has counted so far. It does so when the
//! process runs again, which is when the next operation arrives. So the count is of whole
//! operations, and the start, the connection, the first use of each statement and the stop are no
//! part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rqps_dbms::Server;
use rqps_load::{
    Cancel, ClientThreads, Effect, Halt, Order, Performed, Portion, Schedule, Until, Work,
};
use rqps_observe::{
    COUNTS, Callgrind, CountedFunction, CountsFile, counts_file, cpu_micros, read_counts,
};
use rqps_wire::Interrupter;

use crate::error::LabError;

/// The client waits so long before each operation, so that the server always waits for it. A server
/// that finds the next statement already there takes a shorter way, by chance.
const PAUSE: Duration = Duration::from_millis(1);
/// As many operations as are counted, divided by this, warm the server up.
const WARM_UP: u64 = 2;
/// What a question to Callgrind takes to arrive.
const ASKING: Duration = Duration::from_millis(100);
/// It is asked in vain if it has not answered in so many operations.
const QUESTIONS: u64 = 100;
/// How long the program that asks may take to end after the answer.
const ENDING: Duration = Duration::from_secs(5);

/// Instructions by function.
pub(super) type ByFunction = BTreeMap<CountedFunction, u64>;

/// What was counted in a server.
#[derive(Debug)]
pub(super) struct ServerCount {
    pub(super) operations: u64,
    pub(super) functions: ByFunction,
}

/// A server under Callgrind.
#[derive(Clone, Copy)]
pub(super) struct CountedServer<'a> {
    pub(super) callgrind: &'a Callgrind,
    pub(super) server: &'a dyn Server,
    /// Its data directory, into which Callgrind writes.
    pub(super) data: &'a Path,
    pub(super) cancel: &'a Cancel,
}

/// Clients that send as many operations as they are asked for.
pub(super) struct CountedClients(ClientThreads, usize);

impl CountedClients {
    pub(super) fn start(work: Vec<Box<dyn Work>>) -> Result<CountedClients, LabError> {
        let clients = work.len();
        Ok(CountedClients(ClientThreads::start(work)?, clients))
    }

    /// Clients that leave the server alone for a moment before each operation.
    fn pausing(work: Vec<Box<dyn Work>>) -> Result<CountedClients, LabError> {
        let pausing = |work| Box::new(Pausing(work)) as Box<dyn Work>;
        CountedClients::start(work.into_iter().map(pausing).collect())
    }

    /// Returns how many operations all runs had so far.
    pub(super) fn run(&mut self, until: Until, cancel: &Cancel) -> Result<u64, LabError> {
        let orders = vec![Order { schedule: Schedule::Closed, until }; self.1];
        self.0.run(&orders, &mut |_, _| {}, cancel)?;
        Ok(self.done())
    }

    fn done(&self) -> u64 {
        self.0.live().iter().map(|live| live.operations()).sum()
    }
}

struct Pausing(Box<dyn Work>);

impl Work for Pausing {
    fn make(&mut self, halt: &Halt) -> Result<(), rqps_wire::Error> {
        sleep(PAUSE);
        self.0.make(halt)
    }

    fn execute(&mut self) -> Result<Effect, rqps_wire::Error> {
        self.0.execute()
    }

    fn perform(
        &mut self,
        portion: Portion,
        delay: u64,
    ) -> Option<Result<Performed, rqps_wire::Error>> {
        sleep(PAUSE);
        self.0.perform(portion, delay)
    }

    fn interrupter(&self) -> Result<Interrupter, rqps_wire::Error> {
        self.0.interrupter()
    }
}

impl CountedServer<'_> {
    /// Processes that are started from now on do not begin with the counts of their parent, and
    /// threads that exist by now do not work for the client.
    pub(super) fn forget_the_start(&self) -> Result<Inquiry, LabError> {
        let asked = self.ask(self.root()?)?;
        sleep(ASKING);
        Ok(asked)
    }

    /// Counts operations of a client that has just connected.
    pub(super) fn count(
        &self,
        work: Vec<Box<dyn Work>>,
        operations: u64,
    ) -> Result<ServerCount, LabError> {
        let root = self.root()?;
        let mut clients = CountedClients::pausing(work)?;
        let idle = cpu_micros(root as i32);
        clients.run(Until::Operations(operations.div_ceil(WARM_UP)), self.cancel)?;
        let process = busiest(&idle, &cpu_micros(root as i32));
        let (first, _) = self.edge(&mut clients, process)?;
        let before = self.written()?;
        clients.run(Until::Operations(operations), self.cancel)?;
        let (last, part) = self.edge(&mut clients, process)?;
        let after = self.written()?;
        let mut of_threads = Vec::new();
        for (name, file) in rqps_dbms::outputs(self.data, COUNTS)? {
            let Some(written) = counts_file(&name) else { continue };
            // A process that has not ended has an empty file, which names no thread.
            let has_ended = written.part.is_none() && written.thread.is_some();
            let is_worker = has_ended && !before.contains(&written);
            if is_worker || (written.process, written.part) == (process, Some(part)) {
                let counts = read_counts(BufReader::new(file));
                let wrong = |error| LabError::Uncounted(format!("{name}: {error}"));
                of_threads.push((written, counts.map_err(wrong)?));
            }
        }
        let idle = threads_of(&after, root, 1);
        let idle = if process == root { idle } else { BTreeSet::new() };
        Ok(ServerCount { operations: last - first, functions: of_the_client(of_threads, &idle) })
    }

    /// Has Callgrind write what it has counted. Returns the number of operations before that, and
    /// of the part that was written.
    fn edge(&self, clients: &mut CountedClients, process: u32) -> Result<(u64, u32), LabError> {
        let last = || -> Result<u32, LabError> {
            let written = self.written()?.into_iter().filter(|one| one.process == process);
            Ok(written.filter_map(|one| one.part).max().unwrap_or(0))
        };
        let (earlier, mut done) = (last()?, clients.done());
        let _asked = self.ask(process)?;
        for _ in 0..QUESTIONS {
            sleep(ASKING);
            let before = done;
            // Another thread of the process may have run.
            if last()? == earlier {
                done = clients.run(Until::Operations(1), self.cancel)?;
            }
            match last()? {
                part if part > earlier => return Ok((before, part)),
                _ => {}
            }
        }
        Err(LabError::Uncounted("valgrind does not answer".to_string()))
    }

    fn root(&self) -> Result<u32, LabError> {
        let none = || LabError::Uncounted("its server runs elsewhere".to_string());
        self.server.process().ok_or_else(none)
    }

    fn written(&self) -> Result<Vec<CountsFile>, LabError> {
        let outputs = rqps_dbms::outputs(self.data, COUNTS)?;
        Ok(outputs.iter().filter_map(|(name, _)| counts_file(name)).collect())
    }

    fn ask(&self, process: u32) -> Result<Inquiry, LabError> {
        let words = self.callgrind.question(self.data, process);
        Ok(Inquiry(rqps_dbms::start_beside(self.data, &words)?))
    }
}

/// A program that has a question for Callgrind. It waits for the answer.
pub(super) struct Inquiry(Child);

impl Drop for Inquiry {
    fn drop(&mut self) {
        let begun = Instant::now();
        while matches!(self.0.try_wait(), Ok(None)) && begun.elapsed() < ENDING {
            sleep(Duration::from_millis(10));
        }
        // It has ended by now if it ever will.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The threads that are in a part of a process's counts.
fn threads_of(written: &[CountsFile], process: u32, part: u32) -> BTreeSet<u32> {
    let of = written.iter().filter(|one| (one.process, one.part) == (process, Some(part)));
    of.filter_map(|one| one.thread).collect()
}

/// Adds up the threads that worked for the client: the one with the most instructions, and those
/// that were not there before it came. What the others do goes by the clock.
fn of_the_client(of_threads: Vec<(CountsFile, ByFunction)>, idle: &BTreeSet<u32>) -> ByFunction {
    let size = |counts: &ByFunction| counts.values().sum::<u64>();
    let largest = of_threads.iter().max_by_key(|(_, counts)| size(counts)).map(|(one, _)| *one);
    let is_idle = |one: &CountsFile| one.thread.is_some_and(|thread| idle.contains(&thread));
    let mut sum = ByFunction::new();
    for (written, counts) in of_threads {
        if largest == Some(written) || !is_idle(&written) {
            counts.into_iter().for_each(|(function, count)| {
                *sum.entry(function).or_default() += count;
            });
        }
    }
    sum
}

/// The process with the most CPU since an earlier reading.
fn busiest(earlier: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> u32 {
    let since = |(process, micros): (&u32, &u64)| {
        (micros.saturating_sub(earlier.get(process).copied().unwrap_or(0)), *process)
    };
    now.iter().map(since).max().map_or(0, |(_, process)| process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_serves_the_client_is_the_busiest_since_it_came() {
        let earlier = BTreeMap::from([(1, 900), (2, 50)]);
        assert_eq!(busiest(&earlier, &BTreeMap::from([(1, 905), (2, 50), (3, 40)])), 3);
        assert_eq!(busiest(&earlier, &BTreeMap::from([(1, 950), (2, 60)])), 1, "threads");
    }

    #[test]
    fn threads_that_were_there_before_the_client_do_not_count_unless_they_serve_it() {
        let of_thread = |thread: u32, count: u64| {
            let written = CountsFile { process: 1, part: Some(3), thread: Some(thread) };
            let function =
                CountedFunction { name: "f".into(), library: "mysqld".into(), file: None };
            (written, ByFunction::from([(function, count)]))
        };
        // 2 flushes pages, 3 had served a login before, and 7 was started to read for it.
        let all = || vec![of_thread(1, 0), of_thread(2, 50), of_thread(3, 900), of_thread(7, 200)];
        let count = |idle: &[u32]| {
            of_the_client(all(), &idle.iter().copied().collect()).values().sum::<u64>()
        };
        assert_eq!(count(&[1, 2, 3]), 1_100);
        assert_eq!(count(&[]), 1_150, "a process of its own counts with all its threads");
    }
}
