//! Instructions of operations in one server, which runs under Callgrind.
//!
//! A client warms the server up, and then sends the counted operations to the same process. At both
//! edges of these, Callgrind is asked to write what it has counted so far. It does so when the
//! process runs again, which is when the next operation arrives. So the count is of whole
//! operations, and the start, the connection, the first use of each statement and of each page, and
//! the stop are no part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufReader;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rqps_dbms::Server;
use rqps_load::{Cancel, Crew, Effect, Halt, Order, Schedule, Until, Work};
use rqps_observe::{
    COUNTS, Callgrind, CountedFunction, ToCallgrind, counted_process, cpu_ticks, read_counts,
    written_part,
};
use rqps_wire::Interrupter;

use crate::LabError;

/// The client waits so long before each operation, so that the server always waits for it. A server
/// that finds the next statement already there takes a shorter way, by chance.
const PAUSE: Duration = Duration::from_millis(1);
/// As many operations as are counted, divided by this, warm the server up.
const WARM_UP: u64 = 2;
/// What a question to Callgrind takes to arrive.
const ASKING: Duration = Duration::from_millis(100);
/// It is asked in vain if it has not answered in so many operations.
const PATIENCE: u64 = 100;
/// How long the program that asks may take to end after the answer.
const ENDING: Duration = Duration::from_secs(5);

/// Instructions by function.
pub(super) type ByFunction = BTreeMap<CountedFunction, u64>;

/// What was counted in a server.
#[derive(Debug)]
pub(super) struct Count {
    pub(super) operations: u64,
    pub(super) functions: ByFunction,
}

/// A server under Callgrind.
#[derive(Clone, Copy)]
pub(super) struct Counted<'a> {
    pub(super) callgrind: &'a Callgrind,
    pub(super) server: &'a dyn Server,
    /// Its data directory, into which Callgrind writes.
    pub(super) data: &'a Path,
    pub(super) cancel: &'a Cancel,
}

/// Clients that send operations, as few as they are asked for.
pub(super) struct Clients(Crew, usize);

impl Clients {
    pub(super) fn start(work: Vec<Box<dyn Work>>) -> Result<Clients, LabError> {
        let clients = work.len();
        Ok(Clients(Crew::start(work)?, clients))
    }

    /// Clients that leave the server alone for a moment before each operation.
    fn pausing(work: Vec<Box<dyn Work>>) -> Result<Clients, LabError> {
        let pausing = |work| Box::new(Pausing(work)) as Box<dyn Work>;
        Clients::start(work.into_iter().map(pausing).collect())
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

    fn interrupter(&self) -> Result<Interrupter, rqps_wire::Error> {
        self.0.interrupter()
    }
}

impl Counted<'_> {
    /// Processes that are started from now on do not begin with the counts of their parent.
    pub(super) fn forget_the_start(&self) -> Result<Asked, LabError> {
        let asked = self.ask(self.root()?, ToCallgrind::Forget)?;
        sleep(ASKING);
        Ok(asked)
    }

    /// Counts operations of a client that has just connected.
    pub(super) fn count(
        &self,
        work: Vec<Box<dyn Work>>,
        operations: u64,
    ) -> Result<Count, LabError> {
        let root = self.root()? as i32;
        let mut clients = Clients::pausing(work)?;
        let idle = cpu_ticks(root);
        clients.run(Until::Operations(operations.div_ceil(WARM_UP)), self.cancel)?;
        let process = busiest(&idle, &cpu_ticks(root));
        let first = self.edge(&mut clients, process, 1)?;
        let earlier = ended(&self.outputs(COUNTS)?);
        clients.run(Until::Operations(operations), self.cancel)?;
        let last = self.edge(&mut clients, process, 2)?;
        let mut functions = ByFunction::new();
        // Those that ended since then worked for the client: its parallel workers.
        let is_of_client = |name: &str| {
            let has_ended = counted_process(name).is_some_and(|one| !earlier.contains(&one));
            has_ended || name == written_part(process, 2)
        };
        for (name, file) in self.outputs(COUNTS)?.into_iter().filter(|(name, _)| is_of_client(name))
        {
            let counts = read_counts(BufReader::new(file));
            let counts = counts.map_err(|error| LabError::Uncounted(format!("{name}: {error}")))?;
            for (function, count) in counts {
                *functions.entry(function).or_default() += count;
            }
        }
        Ok(Count { operations: last - first, functions })
    }

    /// Has Callgrind write what it has counted; returns how many operations are in it and in those
    /// before.
    fn edge(&self, clients: &mut Clients, process: u32, part: u32) -> Result<u64, LabError> {
        let name = written_part(process, part);
        let is_written = || -> Result<bool, LabError> {
            Ok(self.outputs(&name)?.iter().any(|(written, _)| *written == name))
        };
        let mut done = clients.done();
        let _asked = self.ask(process, ToCallgrind::Write)?;
        for _ in 0..PATIENCE {
            sleep(ASKING);
            if is_written()? {
                // Another thread of the process has run.
                return Ok(done);
            }
            let before = done;
            done = clients.run(Until::Operations(1), self.cancel)?;
            if is_written()? {
                return Ok(before);
            }
        }
        Err(LabError::Uncounted("valgrind does not answer".to_string()))
    }

    fn root(&self) -> Result<u32, LabError> {
        let none = || LabError::Uncounted("its server runs elsewhere".to_string());
        self.server.process().ok_or_else(none)
    }

    fn outputs(&self, prefix: &str) -> Result<Vec<(String, std::fs::File)>, LabError> {
        Ok(rqps_dbms::outputs(self.data, prefix)?)
    }

    fn ask(&self, process: u32, what: ToCallgrind) -> Result<Asked, LabError> {
        let words = self.callgrind.question(self.data, process, what);
        Ok(Asked(rqps_dbms::start_beside(self.data, &words)?))
    }
}

/// A program that has a question for Callgrind. It waits for the answer.
pub(super) struct Asked(Child);

impl Drop for Asked {
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

/// The processes that have ended.
fn ended(outputs: &[(String, std::fs::File)]) -> BTreeSet<u32> {
    outputs.iter().filter_map(|(name, _)| counted_process(name)).collect()
}

/// The process with the most CPU since an earlier reading.
fn busiest(earlier: &BTreeMap<u32, u64>, now: &BTreeMap<u32, u64>) -> u32 {
    let since = |(process, ticks): (&u32, &u64)| {
        (ticks.saturating_sub(earlier.get(process).copied().unwrap_or(0)), *process)
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
}
