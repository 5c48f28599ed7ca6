//! A client: a Lua state of its own, with its connections.

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Connection, Error, Interrupter};

use super::options::ScriptOptions;
use super::random::ScriptRandom;
use super::state::{EventEnd, ScriptState, StateSettings};

/// How an event of a client ended.
#[derive(Debug)]
pub enum ClientEvent {
    Done,
    /// The script asks for no more events.
    Stopped,
    /// It begins again: the error is one of those that are ignored.
    Again,
}

/// What was counted since the last time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientCounts {
    pub effect: Effect,
    pub errors: u64,
    pub reconnects: u64,
}

pub struct LuaClient {
    state: ScriptState,
}

impl LuaClient {
    /// Runs the script and its `thread_init`.
    pub fn start(
        settings: &StateSettings,
        options: &ScriptOptions,
        tid: u32,
        seed: [u64; 2],
    ) -> Result<LuaClient, Error> {
        let client = LuaClient::load(settings, options, tid, seed)?;
        client.state.call("thread_init")?;
        Ok(client)
    }

    /// Runs the script alone.
    pub(super) fn load(
        settings: &StateSettings,
        options: &ScriptOptions,
        tid: u32,
        seed: [u64; 2],
    ) -> Result<LuaClient, Error> {
        let draws = options.draws().map_err(Error::Client)?;
        let state = ScriptState::new(settings, tid, ScriptRandom::new(seed, draws));
        let state = state.map_err(|fault| Error::Client(fault.0))?;
        state.set_options(options).map_err(|fault| Error::Client(fault.0))?;
        Ok(LuaClient { state })
    }

    /// Runs the event once.
    pub fn event(&mut self) -> Result<ClientEvent, Error> {
        match self.state.event() {
            EventEnd::Done => Ok(ClientEvent::Done),
            EventEnd::Stopped => Ok(ClientEvent::Stopped),
            EventEnd::Again(_) => Ok(ClientEvent::Again),
            EventEnd::Failed(error) => Err(error),
        }
    }

    /// What was counted since the last call.
    pub fn take_counts(&mut self) -> ClientCounts {
        let host = &mut *self.state.host();
        ClientCounts {
            effect: std::mem::take(&mut host.effect),
            errors: std::mem::take(&mut host.errors),
            reconnects: std::mem::take(&mut host.reconnects),
        }
    }

    /// Runs the script's `thread_done`.
    pub fn end(&mut self) -> Result<(), Error> {
        self.state.call("thread_done")
    }

    /// Leaves a random number out, as sysbench does when it records the latency of an event.
    pub fn skip_draw(&mut self) {
        self.state.host().random.bits();
    }

    /// Ends a statement of its first connection, from another thread. From now on that connection
    /// waits without checking for cancellation.
    pub fn interrupter(&self) -> Result<Interrupter, Error> {
        self.state.host().interrupter()
    }

    /// Calls a function of its first connection, if it has one.
    pub(super) fn with_connection<R>(
        &mut self,
        ask: impl FnOnce(&mut dyn Connection) -> Result<R, Error>,
    ) -> Option<Result<R, Error>> {
        self.state.host().connection().map(ask)
    }

    /// The client as one of the load generator's.
    pub fn work(self) -> Box<dyn Work> {
        Box::new(EventWork { client: self, tries: 0 })
    }

    pub(super) fn state(&self) -> &ScriptState {
        &self.state
    }
}

/// How often an event begins again before something else must be wrong than a conflict.
const MOST_TRIES: u32 = 10_000;

/// An operation is an event.
struct EventWork {
    client: LuaClient,
    /// Of this event.
    tries: u32,
}

impl Work for EventWork {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.tries = 0;
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        match self.client.state.event() {
            EventEnd::Done => Ok(std::mem::take(&mut self.client.state.host().effect)),
            EventEnd::Again(error) if self.tries >= MOST_TRIES => {
                let what = format!("an event began again {MOST_TRIES} times, last after: {error}");
                Err(Error::Client(what))
            }
            EventEnd::Again(error) => {
                self.tries += 1;
                Err(error)
            }
            EventEnd::Failed(error) => Err(error),
            EventEnd::Stopped => {
                let what = "event returned a value, which ends its client, but in a comparison all \
                            clients go on. Use rqps sysbench";
                Err(Error::Client(what.to_string()))
            }
        }
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.client.interrupter()
    }
}
