//! A client, whose operations another process performs when it is told to.

use rqps_load::{Effect, Halt, Performed, Portion, Statements, Work};
use rqps_wire::{Connection, Error, Interrupter, Row};
use rqps_worker::Kind;

pub(super) struct RemoteClient {
    connection: Box<dyn Connection>,
    kind: Kind,
}

/// The random draws of a client, and those of the values, which all clients share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeds {
    pub(super) client: u64,
    pub(super) values: u64,
}

impl RemoteClient {
    pub(super) fn new(
        mut connection: Box<dyn Connection>,
        (kind, keys): (Kind, u64),
        seeds: Seeds,
    ) -> Result<Self, Error> {
        let Seeds { client, values } = seeds;
        connection.run(&format!("client {} {keys} {client} {values}", kind.name()))?;
        Ok(RemoteClient { connection, kind })
    }

    fn ask(&mut self, request: &str) -> Result<Performed, Error> {
        let rows = self.connection.query(request)?;
        let Some(([operations, nanos, rows, _cpu, delays, delayed], times)) = answer(&rows) else {
            return Err(Error::Protocol(format!("'{request}' was answered with {rows:?}")));
        };
        let done = operations * self.kind.worth();
        let statements = match self.kind.writes() {
            true => Statements { writes: done, ..Statements::default() },
            false => Statements { reads: done, ..Statements::default() },
        };
        let effect = Effect { rows, statements };
        Ok(Performed { operations, nanos, effect, times, delays, delayed })
    }
}

/// Nanoseconds, and how many operations took so long.
type TimeCounts = Vec<(u64, u64)>;

/// An answer of one row: so many numbers, and times with their counts as `2047:3 2063:1`.
fn answer<const N: usize>(rows: &[Row]) -> Option<([u64; N], TimeCounts)> {
    let [row] = rows else { return None };
    let (times, numbers) = row.split_last()?;
    let numbers: Option<Vec<u64>> =
        numbers.iter().map(|field| field.as_deref().and_then(|field| field.parse().ok())).collect();
    let time = |text: &str| {
        let (nanos, count) = text.split_once(':')?;
        Some((nanos.parse().ok()?, count.parse().ok()?))
    };
    let times: Option<TimeCounts> = times.as_deref()?.split_whitespace().map(time).collect();
    Some((numbers?.try_into().ok()?, times?))
}

impl Work for RemoteClient {
    fn make(&mut self, _halt: &Halt) -> Result<(), Error> {
        Ok(())
    }

    fn execute(&mut self) -> Result<Effect, Error> {
        self.ask("count 1 0").map(|performed| performed.effect)
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
    fn an_answer_has_as_many_numbers_as_are_expected_and_times() {
        let row = |text: &str| text.split('\t').map(|field| Some(field.to_string())).collect();
        let times = vec![(2_047, 3), (2_063, 1)];
        assert_eq!(answer(&[row("1\t2\t2047:3 2063:1")]), Some(([1, 2], times)));
        assert_eq!(answer(&[row("1\t2\t")]), Some(([1, 2], Vec::new())));
        assert_eq!(answer::<3>(&[row("1\t2\t7:1")]), None);
        assert_eq!(answer::<2>(&[row("1\tx\t7:1")]), None);
        assert_eq!(answer::<1>(&[row("1\t7:x")]), None);
        assert_eq!(answer::<1>(&[]), None);
    }
}
