//! Reads the counters of a DBMS.

use std::time::{Duration, Instant};

use rqps_observe::{EngineReading, Kind};
use rqps_wire::{Connection, Interrupter, query_if_allowed, scalar};

use crate::error::DbmsError;

/// How long counters may take to become complete after the last connection has ended.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Reads the counters of a DBMS over a permanent connection, so that a reading costs the DBMS a few
/// statements and no login.
pub struct EngineMeter {
    pub(crate) connection: Box<dyn Connection>,
    /// Statements that return name and value, and possibly `gauge` in a third column.
    pub(crate) sources: Vec<String>,
    /// Statements that are cheap enough for every second.
    pub(crate) lanes: Vec<String>,
    /// Decides by the name where there is no third column.
    pub(crate) is_gauge: fn(&str) -> bool,
    /// Whether a counter is kept, by its name.
    pub(crate) is_wanted: fn(&str) -> bool,
    /// A statement that returns `0` when all work has been counted; none if counting is immediate.
    pub(crate) uncounted: Option<String>,
}

impl EngineMeter {
    /// All counters of the DBMS that the role may read.
    pub fn read(&mut self) -> Result<EngineReading, DbmsError> {
        self.answer(|meter| &meter.sources)
    }

    /// The few counters of background work: checkpoints, flushes, compaction, purge.
    pub fn glance(&mut self) -> Result<EngineReading, DbmsError> {
        self.answer(|meter| &meter.lanes)
    }

    /// Waits until the work of ended connections is counted.
    pub fn await_counts(&mut self) -> Result<(), DbmsError> {
        let Some(sql) = &self.uncounted else { return Ok(()) };
        let deadline = Instant::now() + PATIENCE;
        while scalar(&mut *self.connection, sql)?.is_some_and(|count| count != "0")
            && Instant::now() < deadline
        {
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// Removes sources that this server lacks or that the role may not read.
    pub(crate) fn keep_readable(mut self) -> Result<Self, DbmsError> {
        for sources in [&mut self.sources, &mut self.lanes] {
            let mut readable = Vec::new();
            for sql in sources.drain(..) {
                if query_if_allowed(&mut *self.connection, &sql)?.is_some() {
                    readable.push(sql);
                }
            }
            *sources = readable;
        }
        Ok(self)
    }

    pub fn interrupter(&self) -> Result<Interrupter, DbmsError> {
        Ok(self.connection.interrupter()?)
    }

    fn answer(&mut self, of: fn(&EngineMeter) -> &[String]) -> Result<EngineReading, DbmsError> {
        let mut reading = EngineReading::default();
        for index in 0..of(self).len() {
            let sql = of(self)[index].clone();
            for row in self.connection.query(&sql)? {
                let mut fields = row.into_iter().flatten();
                let (Some(name), Some(value)) = (fields.next(), fields.next()) else { continue };
                let Some(value) = number(&value).filter(|_| (self.is_wanted)(&name)) else {
                    continue;
                };
                let is_gauge = fields.next().map_or((self.is_gauge)(&name), |kind| kind == "gauge");
                let kind = if is_gauge { Kind::Gauge } else { Kind::Counter };
                reading.set(name, kind, value);
            }
        }
        Ok(reading)
    }
}

/// A count; times may have fractions, and words are not counts.
fn number(text: &str) -> Option<u64> {
    let is_count = |value: &f64| value.is_finite() && *value >= 0.0;
    let rounded = || text.parse::<f64>().ok().filter(is_count).map(|value| value.round() as u64);
    text.parse().ok().or_else(rounded)
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn only_numbers_that_count_are_numbers() {
        let cases = [("17", Some(17)), ("0.861", Some(1)), ("ON", None), ("-1", None), ("", None)];
        for (text, expected) in cases {
            assert_eq!(number(text), expected, "{text}");
        }
        assert_eq!(number("18446744073709551615"), Some(u64::MAX));
    }
}
