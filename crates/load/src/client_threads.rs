//! The load generator's threads, one worker each, which run together any number of times.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rqps_wire::{Cancel, Error, Interrupter};

use crate::clock::now;
use crate::ending::Ending;
use crate::failure::{Failure, no_thread};
use crate::halt::Halt;
use crate::live::Live;
use crate::recorder::Tally;
use crate::schedule::Schedule;
use crate::work::Work;
use crate::worker::{Until, Worker};

const SECOND: u64 = 1_000_000_000;
/// How often cancellation is checked.
const LOOK: u64 = 50_000_000;

/// The order of a worker for a run.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    pub schedule: Schedule,
    pub until: Until,
}

/// Events of a run for its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Another second has passed.
    Second,
    /// The last worker that others wait for has ended. The others may still be in their last
    /// operation.
    LeadersDone,
}

/// The threads of the clients.
pub struct ClientThreads {
    members: Vec<Member>,
    reports: Receiver<(usize, Report)>,
    halt: Arc<Halt>,
}

struct Member {
    commands: Sender<Command>,
    live: Arc<Live>,
    interrupter: Interrupter,
    thread: JoinHandle<Tally>,
}

enum Command {
    /// Run by an order, from an instant of the monotonic clock.
    Run(Order, u64),
    Forget,
}

enum Report {
    /// When it ended, on the monotonic clock.
    Ended(Result<u64, Error>),
    /// The thread ended without a report: it panicked.
    Died,
}

impl Member {
    fn tell(&self, command: Command) {
        self.commands.send(command).expect("threads wait for commands until told to end");
    }
}

/// Tells the receiver that its thread has panicked.
struct PanicReport {
    index: usize,
    reports: Sender<(usize, Report)>,
}

impl Drop for PanicReport {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The receiver may be gone.
            let _ = self.reports.send((self.index, Report::Died));
        }
    }
}

impl ClientThreads {
    /// Starts a thread for each piece of work, which waits for its first order.
    pub fn start(work: Vec<Box<dyn Work>>) -> Result<Self, Error> {
        let halt = Arc::new(Halt::default());
        let (report_sender, reports) = channel();
        let mut members = Vec::with_capacity(work.len());
        for (index, work) in work.into_iter().enumerate() {
            let (commands, inbox) = channel();
            let live = Arc::new(Live::default());
            let interrupter = work.interrupter()?;
            let mut worker = Worker::new(work, live.clone());
            let (halt, reports) = (halt.clone(), report_sender.clone());
            let name = format!("worker-{index}");
            let thread = std::thread::Builder::new().name(name).spawn(move || {
                let on_panic = PanicReport { index, reports };
                for command in inbox {
                    let Command::Run(order, epoch) = command else {
                        worker.forget();
                        continue;
                    };
                    let result = worker.run(order.schedule, order.until, epoch, &halt);
                    if on_panic.reports.send((index, Report::Ended(result))).is_err() {
                        break;
                    }
                }
                worker.finish()
            });
            let thread = thread.map_err(no_thread)?;
            members.push(Member { commands, live, interrupter, thread });
        }
        Ok(ClientThreads { members, reports, halt })
    }

    /// The live totals of each worker, in the order of the work.
    pub fn live(&self) -> Vec<Arc<Live>> {
        self.members.iter().map(|member| member.live.clone()).collect()
    }

    /// Counts the operations that take longer than this from when they are due.
    pub fn count_late(&self, limit: Duration) {
        self.members.iter().for_each(|member| member.live.set_limit(limit.as_nanos() as u64));
    }

    /// Runs all workers, an order each, from one instant, and waits until they have ended. `watch`
    /// is called at each [`Moment`] with the nanoseconds since then; `cancel` is checked several
    /// times a second. Returns the nanoseconds until the last worker that others wait for had
    /// ended.
    pub fn run(
        &mut self,
        orders: &[Order],
        watch: &mut dyn FnMut(Moment, u64),
        cancel: &Cancel,
    ) -> Result<u64, Failure> {
        assert_eq!(orders.len(), self.members.len(), "an order for every worker");
        self.halt.reset();
        let epoch = now();
        for (member, order) in self.members.iter().zip(orders) {
            member.tell(Command::Run(*order, epoch));
        }
        let leads = |index: usize| orders[index].until != Until::LeadersDone;
        let mut leaders = (0..orders.len()).filter(|&index| leads(index)).count();
        let mut running = orders.len();
        let mut elapsed = 0;
        let mut failure: Option<Failure> = None;
        let mut ending = Ending::default();
        let mut is_busy = vec![true; orders.len()];
        let mut next_second = epoch + SECOND;
        while running > 0 {
            let time = now();
            if leaders > 0 && time >= next_second {
                watch(Moment::Second, next_second - epoch);
                next_second += SECOND;
            }
            if failure.is_none() && cancel.is_requested() {
                failure = Some(Failure::Cancelled);
                self.halt.abandon();
            }
            if failure.is_some() {
                let busy = self.members.iter().zip(&is_busy).filter(|(_, is_busy)| **is_busy);
                ending.look(busy.map(|(member, _)| &member.interrupter));
            }
            let wake = next_second.min(now() + LOOK);
            let patience = Duration::from_nanos(wake.saturating_sub(now()));
            let (index, report) = match self.reports.recv_timeout(patience) {
                Ok(report) => report,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            running -= 1;
            is_busy[index] = false;
            match report {
                Report::Ended(Ok(ended)) if leads(index) => {
                    elapsed = elapsed.max(ended - epoch);
                    leaders -= 1;
                    if leaders == 0 {
                        self.halt.leaders_done();
                        watch(Moment::LeadersDone, elapsed);
                    }
                }
                Report::Ended(Ok(_)) => {}
                Report::Ended(Err(error)) => {
                    // The first error is the cause; later ones follow from it.
                    if failure.is_none() {
                        failure = Some(Failure::Worker { index, error });
                    }
                    self.halt.abandon();
                }
                Report::Died => {
                    let error = Error::Protocol("the client's thread panicked".to_string());
                    failure.get_or_insert(Failure::Worker { index, error });
                    self.halt.abandon();
                }
            }
        }
        match failure {
            Some(failure) => Err(failure),
            None => Ok(elapsed),
        }
    }

    /// Discards the records of the workers so far: they were warm-up.
    pub fn forget(&self) {
        self.members.iter().for_each(|member| member.tell(Command::Forget));
    }

    /// Ends the threads and returns what each recorded over all runs, in the order of the work.
    pub fn finish(self) -> Vec<Tally> {
        let end = |member: Member| {
            drop(member.commands);
            member.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        self.members.into_iter().map(end).collect()
    }
}
