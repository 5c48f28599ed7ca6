//! Servers that work only while it is their turn: between its slices a server is frozen, so that
//! its background work neither takes CPU, caches and disk from the others nor gets done in time
//! that nobody measures.

use std::sync::{Arc, Mutex, PoisonError};

use rqps_dbms::Freezer;
use rqps_load::{Effect, Halt, Performed, Portion, Work};
use rqps_wire::{Error, Interrupter};
use rqps_workload::Task;

use super::round::Running;

/// The turns of all servers of a measurement, in their order; none of one that works all the time.
pub(super) struct ServerTurns(Vec<Option<Arc<ServerTurn>>>);

impl ServerTurns {
    pub(super) fn of(test: &Task, running: &[Running<'_>]) -> ServerTurns {
        let turn = |one: &Running<'_>| {
            let process = one.process().filter(|_| test.works_in_turns)?;
            ServerTurn::of(process)
        };
        ServerTurns(running.iter().map(turn).collect())
    }

    /// The work of a client of a server, which works during its turns.
    pub(super) fn around(&self, server: usize, work: Box<dyn Work>) -> Box<dyn Work> {
        match &self.0[server] {
            Some(turn) => Box::new(WorkInTurns { work, turn: turn.clone() }),
            None => work,
        }
    }

    /// From now on, servers are frozen between their turns.
    pub(super) fn begin(&self) -> Result<InTurns<'_>, Error> {
        let all = InTurns(&self.0);
        for turn in self.0.iter().flatten() {
            turn.change(|_| TurnState::InTurns { clients: 0 }, |_| turn.freezer.freeze())?;
        }
        Ok(all)
    }
}

/// The turns of one server.
struct ServerTurn {
    freezer: Freezer,
    state: Mutex<TurnState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnState {
    /// It works all the time: measuring has not begun, or is over.
    Free,
    /// It works while there are clients in their turn.
    InTurns { clients: u32 },
}

impl ServerTurn {
    /// None if the process has ended.
    fn of(process: u32) -> Option<Arc<ServerTurn>> {
        let freezer = Freezer::of(process)?;
        Some(Arc::new(ServerTurn { freezer, state: Mutex::new(TurnState::Free) }))
    }

    fn change(
        &self,
        to: impl FnOnce(TurnState) -> TurnState,
        server: impl FnOnce(TurnState) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        server(*state)?;
        *state = to(*state);
        Ok(())
    }

    fn begin(&self) -> Result<(), Error> {
        let to = |state| match state {
            TurnState::Free => TurnState::Free,
            TurnState::InTurns { clients } => TurnState::InTurns { clients: clients + 1 },
        };
        self.change(to, |before| match before {
            TurnState::InTurns { clients: 0 } => self.freezer.thaw(),
            _ => Ok(()),
        })
    }

    fn end(&self) -> Result<(), Error> {
        let to = |state| match state {
            TurnState::Free => TurnState::Free,
            TurnState::InTurns { clients } => TurnState::InTurns { clients: clients - 1 },
        };
        self.change(to, |before| match before {
            TurnState::InTurns { clients: 1 } => self.freezer.freeze(),
            _ => Ok(()),
        })
    }
}

/// Servers that are frozen between their turns, until this is dropped.
pub(super) struct InTurns<'a>(&'a [Option<Arc<ServerTurn>>]);

impl Drop for InTurns<'_> {
    fn drop(&mut self) {
        for turn in self.0.iter().flatten() {
            // A server that cannot be sent a signal has ended.
            let _ = turn.change(|_| TurnState::Free, |_| turn.freezer.thaw());
        }
    }
}

struct WorkInTurns {
    work: Box<dyn Work>,
    turn: Arc<ServerTurn>,
}

impl Work for WorkInTurns {
    fn make(&mut self, halt: &Halt) -> Result<(), Error> {
        self.work.make(halt)
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        self.work.execute()
    }

    fn perform(&mut self, portion: Portion, delay: u64) -> Option<Result<Performed, Error>> {
        self.work.perform(portion, delay)
    }

    fn begin_turn(&mut self) -> Result<(), Error> {
        self.turn.begin()
    }

    fn end_turn(&mut self) -> Result<(), Error> {
        self.turn.end()
    }

    fn seek(&mut self, operation: u64) {
        self.work.seek(operation);
    }

    fn forget(&mut self) {
        self.work.forget();
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.work.interrupter()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::*;

    /// A process that stands for a server, and ends with the test.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Sleeper {
            Sleeper(Command::new("sleep").arg("60").spawn().unwrap())
        }

        fn turn(&self) -> Option<Arc<ServerTurn>> {
            ServerTurn::of(self.0.id())
        }

        fn is_frozen(&self) -> bool {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
            stat.rsplit(") ").next().unwrap().starts_with('T')
        }

        fn await_frozen(&self, is_frozen: bool) {
            let deadline = Instant::now() + Duration::from_secs(20);
            while self.is_frozen() != is_frozen {
                assert!(Instant::now() < deadline, "it is not so: frozen = {is_frozen}");
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            self.0.kill().unwrap();
            self.0.wait().unwrap();
        }
    }

    #[test]
    fn a_server_works_while_one_of_its_clients_has_its_turn() {
        let servers = [Sleeper::start(), Sleeper::start()];
        let turns = ServerTurns(servers.iter().map(Sleeper::turn).collect());
        let in_turns = turns.begin().unwrap();
        servers.iter().for_each(|server| server.await_frozen(true));
        let first = turns.0[0].as_ref().unwrap();
        first.begin().unwrap();
        first.begin().unwrap();
        servers[0].await_frozen(false);
        assert!(servers[1].is_frozen());
        first.end().unwrap();
        assert!(!servers[0].is_frozen(), "the other client has not ended");
        first.end().unwrap();
        servers[0].await_frozen(true);
        drop(in_turns);
        servers.iter().for_each(|server| server.await_frozen(false));
    }

    #[test]
    fn after_the_last_turn_nobody_freezes_a_server() {
        let server = Sleeper::start();
        let turns = ServerTurns(vec![server.turn()]);
        let turn = turns.0[0].clone().unwrap();
        let in_turns = turns.begin().unwrap();
        turn.begin().unwrap();
        // The comparison ends in the middle of a turn.
        drop(in_turns);
        turn.end().unwrap();
        std::thread::sleep(Duration::from_millis(20));
        assert!(!server.is_frozen());
    }
}
