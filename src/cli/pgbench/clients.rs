//! The clients of a run: a thread each, which begins transactions when they are due, and tries them
//! again where they failed.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rqps_plan::Pgbench;
use rqps_system::Cancel;
use rqps_wire::{Interrupter, Target};
use rqps_workload::Dialect;
use rqps_workload::pgbench::{Client, ScriptSettings, Unended};

use super::tally::{ClientTally, CommandWatcher, SharedTally, Times, TransactionTally};
use crate::cli::output;

/// How long a run goes on, and what of it is wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunLimits {
    /// Of each client.
    pub(super) transactions: Option<u64>,
    pub(super) seconds: Option<u64>,
    /// Per second, of all clients.
    pub(super) rate: Option<f64>,
    /// In milliseconds.
    pub(super) latency_limit: Option<f64>,
    /// 0 for any number.
    pub(super) max_tries: u32,
    pub(super) reconnects: bool,
    pub(super) per_command: bool,
    pub(super) progress: Option<u64>,
    pub(super) is_detailed: bool,
}

pub(super) struct Run<'a> {
    pub(super) settings: ScriptSettings,
    pub(super) target: &'a Target,
    pub(super) dialect: Dialect,
    pub(super) limits: RunLimits,
    pub(super) cancel: &'a Cancel,
}

/// What a run came to.
pub(super) struct Outcome {
    pub(super) tally: ClientTally,
    pub(super) seconds: f64,
    /// Connecting all clients at first, or each time.
    pub(super) connecting: Times,
    pub(super) titles: Vec<String>,
    /// The first lines of each script's commands.
    pub(super) commands: Vec<Vec<String>>,
    pub(super) aborted: Option<String>,
}

/// What the threads share.
struct Shared<'a> {
    limits: RunLimits,
    target: &'a Target,
    cancel: &'a Cancel,
    clients: u32,
    begun: Instant,
    /// All clients ended.
    has_ended: AtomicBool,
    /// Why the first client was aborted.
    aborted: Mutex<Option<String>>,
    is_aborted: AtomicBool,
}

/// How often a waiting thread looks up.
const LOOK: Duration = Duration::from_millis(20);

/// How long a statement may take once the run is cancelled or aborted.
const GRACE: Duration = Duration::from_secs(2);

pub(super) fn run(run: Run<'_>, plan: &Pgbench) -> anyhow::Result<Outcome> {
    let Run { settings, target, dialect, limits, cancel } = run;
    let titles = settings.scripts.iter().map(|(script, _)| script.title.clone()).collect();
    let lines = |script: &rqps_workload::pgbench::Script| -> Vec<String> {
        script.commands.iter().map(|command| command.first_line.clone()).collect()
    };
    let commands: Vec<Vec<String>> =
        settings.scripts.iter().map(|(script, _)| lines(script)).collect();
    let counts: Vec<usize> = commands.iter().map(Vec::len).collect();
    let shows = plan.scripts.iter().any(|script| script.text.contains("debug"));

    let begun = Instant::now();
    let mut clients = settings.clients(target, dialect, plan.clients)?;
    let mut connecting = Times::default();
    connecting.add(begun.elapsed().as_secs_f64() * 1e6);

    let tallies: Vec<SharedTally> =
        clients.iter().map(|_| SharedTally::new(ClientTally::new(&counts))).collect();
    if limits.per_command || shows {
        for (client, tally) in clients.iter_mut().zip(&tallies) {
            client.watch(Box::new(CommandWatcher {
                tally: tally.clone(),
                is_timed: limits.per_command,
                print: output::note,
            }));
        }
    }
    // From here on clients wait without looking up, and the attendant does that for them.
    let interrupters: Vec<Interrupter> =
        clients.iter().map(Client::interrupter).collect::<Result<_, _>>()?;
    let shared = Shared {
        limits,
        target,
        cancel,
        clients: plan.clients,
        begun: Instant::now(),
        has_ended: AtomicBool::new(false),
        aborted: Mutex::new(None),
        is_aborted: AtomicBool::new(false),
    };
    let (ends, seconds) = thread::scope(|scope| {
        let (shared, tallies, interrupters) = (&shared, &tallies, &interrupters);
        let drive = |(client, tally)| scope.spawn(move || shared.drive(client, tally));
        let threads: Vec<_> = clients.into_iter().zip(tallies).map(drive).collect();
        scope.spawn(move || shared.attend(tallies, interrupters));
        let ends: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        let seconds = shared.begun.elapsed().as_secs_f64();
        shared.has_ended.store(true, Ordering::Relaxed);
        (ends, seconds)
    });
    let mut reconnecting = Times::default();
    for end in ends {
        reconnecting += end.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    cancel.check().map_err(rqps_wire::Error::from)?;
    let mut tally = ClientTally::new(&counts);
    tallies.iter().for_each(|one| tally += &*one.lock());
    if limits.reconnects {
        connecting = reconnecting;
    }
    let aborted = shared.aborted.into_inner().unwrap_or_default();
    Ok(Outcome { tally, seconds, connecting, titles, commands, aborted })
}

impl Shared<'_> {
    fn elapsed(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1e6
    }

    fn is_over(&self) -> bool {
        let is_late = |seconds: u64| self.begun.elapsed() >= Duration::from_secs(seconds);
        self.is_broken() || self.limits.seconds.is_some_and(is_late)
    }

    /// Whether it was aborted or cancelled.
    fn is_broken(&self) -> bool {
        self.is_aborted.load(Ordering::Relaxed) || self.cancel.is_requested()
    }

    /// The first reason counts, and all clients end.
    fn abort(&self, why: String) {
        if let Ok(mut aborted) = self.aborted.lock() {
            aborted.get_or_insert(why);
        }
        self.is_aborted.store(true, Ordering::Relaxed);
    }

    /// Runs a client to its end; returns what connecting anew took.
    fn drive(&self, mut client: Client, tally: &SharedTally) -> Times {
        let mut connecting = Times::default();
        let mut due = 0.0;
        let mut done = 0;
        while !self.is_over() && self.limits.transactions.is_none_or(|most| done < most) {
            let script = client.choose();
            if self.limits.rate.is_some() {
                match self.wait(&mut client, tally, script, (&mut due, &mut done)) {
                    true => {}
                    false => break,
                }
            }
            if self.limits.reconnects {
                let begun = Instant::now();
                if let Err(error) = client.reconnect(self.target) {
                    self.abort(error.to_string());
                    break;
                }
                connecting.add(begun.elapsed().as_secs_f64() * 1e6);
            }
            match self.transaction(&mut client, tally, script, due) {
                Ok(()) => done += 1,
                Err(why) => {
                    self.abort(why);
                    break;
                }
            }
        }
        connecting
    }

    /// Waits until the next transaction is due. One that would be too late is skipped. False if
    /// there is none.
    fn wait(
        &self,
        client: &mut Client,
        tally: &SharedTally,
        script: usize,
        (due, done): (&mut f64, &mut u64),
    ) -> bool {
        let RunLimits { rate, latency_limit, transactions, seconds, .. } = self.limits;
        let mean = 1e6 * f64::from(self.clients) / rate.unwrap_or(1.0);
        loop {
            *due += client.delay(mean) as f64;
            let is_late = |limit: f64| *due < self.elapsed() - limit * 1e3;
            if !latency_limit.is_some_and(is_late) {
                break;
            }
            tally.lock().scripts[script].skipped += 1;
            *done += 1;
            if self.is_over() || transactions.is_some_and(|most| *done >= most) {
                return false;
            }
        }
        if seconds.is_some_and(|seconds| *due > seconds as f64 * 1e6) {
            return false;
        }
        loop {
            let left = *due - self.elapsed();
            if left <= 0.0 || self.is_over() {
                return !self.is_over();
            }
            thread::sleep(Duration::from_secs_f64(left / 1e6).min(LOOK));
        }
    }

    /// Runs a transaction, with as many tries as it may have. An error ends the client.
    fn transaction(
        &self,
        client: &mut Client,
        tally: &SharedTally,
        script: usize,
        due: f64,
    ) -> Result<(), String> {
        let started = self.elapsed();
        let scheduled = if self.limits.rate.is_some() { due } else { started };
        let mut tries = 1;
        client.begin();
        loop {
            if self.limits.per_command {
                tally.lock().last = Instant::now();
            }
            let (is_done, ended) = match client.run(script) {
                Ok(_) => (true, Ok(())),
                Err(Unended::Incomplete(aborted)) => (true, Err(aborted.to_string())),
                Err(Unended::Aborted(aborted)) => return Err(aborted.to_string()),
                Err(Unended::Lost(error)) => return Err(error.to_string()),
                Err(Unended::Conflict { command, is_deadlock, .. }) => {
                    let mut tally = tally.lock();
                    if self.is_over() {
                        return Ok(());
                    }
                    if self.may_try(tries, scheduled) {
                        tally.commands[script][command].retries += 1;
                        tally.scripts[script].retries += 1;
                        tally.scripts[script].retried += u64::from(tries == 1);
                        tries += 1;
                        client.begin_again();
                        continue;
                    }
                    tally.commands[script][command].failures += 1;
                    match is_deadlock {
                        true => tally.scripts[script].deadlock_failures += 1,
                        false => tally.scripts[script].serialization_failures += 1,
                    }
                    (false, Ok(()))
                }
            };
            if is_done {
                let latency = self.elapsed() - scheduled;
                let transactions = &mut tally.lock().scripts[script];
                transactions.latency.add(latency);
                transactions.lag.add(started - scheduled);
                let is_late = |limit: f64| latency > limit * 1e3;
                transactions.late += u64::from(self.limits.latency_limit.is_some_and(is_late));
            }
            return ended;
        }
    }

    fn may_try(&self, tries: u32, scheduled: f64) -> bool {
        let in_time = |limit: f64| self.elapsed() - scheduled <= limit * 1e3;
        (self.limits.max_tries == 0 || tries < self.limits.max_tries)
            && self.limits.latency_limit.is_none_or(in_time)
    }

    /// Shows the progress, and ends clients that block after the run is broken.
    fn attend(&self, tallies: &[SharedTally], interrupters: &[Interrupter]) {
        let mut before = TransactionTally::default();
        let mut last = self.begun;
        let every = self.limits.progress.map(Duration::from_secs);
        let mut broken: Option<Instant> = None;
        let mut is_asked = false;
        while !self.has_ended.load(Ordering::Relaxed) {
            thread::sleep(LOOK);
            let now = Instant::now();
            if self.is_broken() && now >= *broken.get_or_insert(now) + GRACE {
                // A server goes on when its client has gone, so it is asked to end first.
                match std::mem::replace(&mut is_asked, true) {
                    false => thread::scope(|scope| {
                        interrupters.iter().for_each(|one| {
                            scope.spawn(|| one.cancel_statement());
                        });
                    }),
                    true => interrupters.iter().for_each(Interrupter::interrupt),
                }
                broken = Some(now);
            }
            if let Some(every) = every
                && now >= last + every
                && !self.is_over()
            {
                let mut total = TransactionTally::default();
                tallies.iter().for_each(|tally| total += tally.lock().total());
                let seconds = now.duration_since(last).as_secs_f64();
                output::note(&self.progress(&total.since(&before), seconds));
                (before, last) = (total, last + every);
            }
        }
    }

    fn progress(&self, recent: &TransactionTally, seconds: f64) -> String {
        let mut line = format!(
            "progress: {:.1} s, {:.1} tps, lat {:.3} ms stddev {:.3}, {} failed",
            self.begun.elapsed().as_secs_f64(),
            recent.processed() as f64 / seconds,
            recent.latency.mean(),
            recent.latency.deviation(),
            recent.failures(),
        );
        if self.limits.rate.is_some() {
            line += &format!(", lag {:.3} ms", recent.lag.mean());
            if self.limits.latency_limit.is_some() {
                line += &format!(", {} skipped", recent.skipped);
            }
        }
        if self.limits.max_tries != 1 {
            line += &format!(", {} retried, {} retries", recent.retried, recent.retries);
        }
        line
    }
}
