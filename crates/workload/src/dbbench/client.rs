//! A client, whose operations another process performs when it is told to.

use rqps_load::{Effect, Halt, Performed, Portion, Statements, Work};
use rqps_wire::{Connection, Error, Interrupter, Row};
use rqps_worker::Kind;

/// Operations that are requested at once: a message takes about as long as ten of them.
pub(super) const AT_ONCE: u64 = 1_000;

pub(super) struct RemoteClient {
    connection: Box<dyn Connection>,
    kind: Kind,
    /// Operations that are still to be done.
    left: u64,
}

/// The random draws of a client, and those of the values, which all clients share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    pub(super) client: u64,
    pub(super) values: u64,
}

impl RemoteClient {
    /// `left` is how many operations there are to be, at most.
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        (kind, keys): (Kind, u64),
        left: u64,
        seeds: Seeds,
    ) -> Result<Self, Error> {
        let Seeds { client, values } = seeds;
        connection.run(&format!("client {} {keys} {client} {values}", kind.name()))?;
        Ok(RemoteClient { connection, kind, left })
    }

    fn ask(&mut self, request: &str) -> Result<Performed, Error> {
        let rows = self.connection.query(request)?;
        let numbers = numbers(&rows);
        let Some([operations, nanos, rows, _cpu, delays, delayed]) = numbers else {
            return Err(Error::Protocol(format!("'{request}' was answered with {rows:?}")));
        };
        let done = operations * self.kind.worth();
        let statements = match self.kind.writes() {
            true => Statements { writes: done, ..Statements::default() },
            false => Statements { reads: done, ..Statements::default() },
        };
        let effect = Effect { rows, statements };
        Ok(Performed { operations, nanos, effect, delays, delayed })
    }
}

/// The numbers of an answer with one row of them.
fn numbers<const N: usize>(rows: &[Row]) -> Option<[u64; N]> {
    let [row] = rows else { return None };
    let numbers: Option<Vec<u64>> =
        row.iter().map(|field| field.as_deref().and_then(|field| field.parse().ok())).collect();
    numbers?.try_into().ok()
}

impl Work for RemoteClient {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        let wanted = AT_ONCE.min(self.left);
        let performed = self.ask(&format!("count {wanted} 0"))?;
        self.left -= performed.operations.min(self.left);
        Ok(performed.effect)
    }

    fn perform(&mut self, portion: Portion, delay: u64) -> Option<Result<Performed, Error>> {
        let request = match portion {
            Portion::Time(time) => format!("time {} {delay}", time.as_nanos()),
            Portion::Operations(operations) => format!("count {operations} {delay}"),
        };
        Some(self.ask(&request))
    }

    fn interrupter(&self) -> Result<Interrupter, Error> {
        self.connection.hand_over()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_as_many_numbers_as_are_expected() {
        let row = |text: &str| text.split(' ').map(|field| Some(field.to_string())).collect();
        assert_eq!(numbers(&[row("1 2 3")]), Some([1, 2, 3]));
        assert_eq!(numbers::<2>(&[row("1 2 3")]), None);
        assert_eq!(numbers::<3>(&[row("1 2 x")]), None);
        assert_eq!(numbers::<1>(&[]), None);
    }
}
