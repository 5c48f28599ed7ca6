//! A client of scripts as work of the load generator: an operation is a transaction.

use rqps_load::{Effect, Halt, Work};
use rqps_wire::{Error, Interrupter};

use super::client::{Client, Unended};

struct ScriptWork {
    client: Client,
    /// The script of this operation.
    script: usize,
    /// It was rolled back, and is tried again.
    has_failed: bool,
}

impl Client {
    /// The client as one of the load generator's.
    pub fn work(self) -> Box<dyn Work> {
        Box::new(ScriptWork { client: self, script: 0, has_failed: false })
    }
}

impl Work for ScriptWork {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        self.script = self.client.choose();
        self.client.begin();
        self.has_failed = false;
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        if self.has_failed {
            self.client.begin_again();
        }
        match self.client.run(self.script) {
            Ok(effect) => Ok(effect),
            Err(Unended::Conflict { error, .. }) => {
                self.has_failed = true;
                Err(error)
            }
            Err(Unended::Aborted(aborted) | Unended::Incomplete(aborted)) => {
                Err(Error::Client(aborted.to_string()))
            }
            Err(Unended::Lost(error)) => Err(error),
        }
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.client.interrupter()
    }
}
