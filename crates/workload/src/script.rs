//! Given statements as work, one operation each: this builds indexes.

use rqps_load::{Effect, Halt, Order, Schedule, Until, Work};
use rqps_wire::{Connection, Error, Interrupter};

pub(crate) struct Script {
    connection: Box<dyn Connection>,
    /// In reverse, so that the next one is taken from the end.
    statements: Vec<String>,
}

impl Script {
    /// Work that runs the statements in their order, and its order.
    pub(crate) fn assigned(
        connection: Box<dyn Connection>,
        mut statements: Vec<String>,
    ) -> (Box<dyn Work>, Order) {
        let until = Until::Operations(statements.len() as u64);
        statements.reverse();
        let script = Script { connection, statements };
        (Box::new(script), Order { schedule: Schedule::Closed, until })
    }
}

impl Work for Script {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let Some(statement) = self.statements.last() else { return Ok(Effect::other()) };
        self.connection.run(statement)?;
        self.statements.pop();
        Ok(Effect::other())
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}
