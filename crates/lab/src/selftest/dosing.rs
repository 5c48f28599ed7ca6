//! An injected slowdown in a round: its size is known only when operations have been timed.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use rqps_load::{Slice, Work};
use rqps_plan::{Contender, Dose, Injection, Interface};
use rqps_store::RoundRecord;

use super::delay::{Delay, Delayed};
use super::spin::{Counted, Spin};
use crate::error::{LabError, file_error};

pub(crate) struct Dosing {
    /// Shares of an operation's time.
    wanted: (f64, f64),
    /// None if the DBMS runs in the client, or performs operations by itself.
    server: Option<Spin>,
    /// In the client, or in the process that performs operations by itself.
    client: Arc<Delay>,
    site: DelaySite,
}

/// Where a server can be made slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DelaySite {
    /// Nowhere: it runs in the client.
    Client,
    /// In each message that it receives.
    Message,
    /// In each operation, which it performs by itself.
    Operation,
}

impl DelaySite {
    pub(crate) fn of_contender(contender: &Contender) -> DelaySite {
        match (contender.has_own_processes(), contender.dbms.interface()) {
            (false, _) => DelaySite::Client,
            (true, Interface::Sql) => DelaySite::Message,
            (true, Interface::KeyValue) => DelaySite::Operation,
        }
    }
}

/// The counts of server and client.
type Seen = (Counted, Counted);

impl Dosing {
    /// None for a contender that is not delayed. `data` is the data directory of its server, if it
    /// has processes of its own.
    pub(crate) fn of(
        injection: Option<Injection>,
        site: DelaySite,
        data: &Path,
    ) -> Result<Option<Dosing>, LabError> {
        let Some(Injection::Delay { server, client }) = injection else { return Ok(None) };
        let spin = match site {
            DelaySite::Client | DelaySite::Operation => None,
            DelaySite::Message => {
                Some(Spin::install(data).map_err(file_error("put a library into", data))?)
            }
        };
        Ok(Some(Dosing { wanted: (server, client), server: spin, client: Arc::default(), site }))
    }

    /// The environment for the start of the server.
    pub(crate) fn environment(&self) -> Vec<(&'static str, OsString)> {
        self.server.as_ref().map(Spin::environment).unwrap_or_default()
    }

    pub(crate) fn around(&self, work: Box<dyn Work>) -> Box<dyn Work> {
        Box::new(Delayed { work, delay: self.client.clone() })
    }

    /// Sets the nanoseconds that each message in the server, and each operation in the client,
    /// takes longer from now on.
    fn set(&self, server: f64, client: f64) -> Result<(), LabError> {
        if let Some(spin) = &self.server {
            spin.set(server.round() as u64).map_err(file_error("write", spin.page()))?;
        }
        let of_operation = if self.site == DelaySite::Operation { server } else { 0.0 };
        self.client.set((client + of_operation).round() as u64);
        Ok(())
    }

    fn seen(&self) -> Result<Seen, LabError> {
        let server = match &self.server {
            Some(spin) => spin.counted().map_err(file_error("read", spin.page()))?,
            None => Counted::default(),
        };
        Ok((server, self.client.counted()))
    }
}

/// The slowed contenders of a measurement, and their counts when it began.
pub(crate) struct Slowed<'a> {
    /// With their places among all contenders.
    all: Vec<(usize, &'a Dosing, Seen)>,
}

impl<'a> Slowed<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Removes all delays, so that operations can be timed.
    pub(crate) fn timed(
        contenders: impl Iterator<Item = Option<&'a Dosing>>,
    ) -> Result<Slowed<'a>, LabError> {
        let begun = |(slot, dosing): (usize, Option<&'a Dosing>)| {
            let dosing = dosing?;
            let seen = dosing.set(0.0, 0.0).and_then(|()| dosing.seen());
            Some(seen.map(|seen| (slot, dosing, seen)))
        };
        Ok(Slowed { all: contenders.enumerate().filter_map(begun).collect::<Result<_, _>>()? })
    }

    /// Slows them down by their shares of the time of an operation in these slices.
    pub(crate) fn slow_down(self, slices: &[Vec<Slice>]) -> Result<Slowed<'a>, LabError> {
        let begin = |(slot, dosing, before): (usize, &'a Dosing, Seen)| {
            let seen = dosing.seen()?;
            let messages = seen.0.since(before.0).messages as f64;
            let messages = (messages / operations(slices, slot) as f64).max(1.0);
            let nanos = nanos_per_operation(slices, slot).unwrap_or(0.0);
            let (server, client) = dosing.wanted;
            dosing.set(server * nanos / messages, client * nanos)?;
            Ok((slot, dosing, seen))
        };
        Ok(Slowed { all: self.all.into_iter().map(begin).collect::<Result<_, LabError>>()? })
    }

    /// The delays that they have really spent since then, in these slices, and the time of an
    /// operation by itself, from these slices and from those that each had `alone`. `names` are
    /// those of all contenders.
    pub(crate) fn doses<'n>(
        &self,
        slices: &[Vec<Slice>],
        alone: &[Vec<Slice>],
        names: impl Iterator<Item = &'n str>,
        pass: &RoundRecord,
    ) -> Result<Vec<Dose>, LabError> {
        let names: Vec<&str> = names.collect();
        let all = [slices, alone].concat();
        let dose = |(slot, dosing, before): &(usize, &Dosing, Seen)| {
            let (server, client) = dosing.seen()?;
            let (server, client) = (server.since(before.0), client.since(before.1));
            let messages = server.messages as f64 / operations(&all, *slot) as f64;
            let (server, client) = match dosing.site {
                DelaySite::Operation => (client.each(), 0.0),
                DelaySite::Client | DelaySite::Message => (server.each() * messages, client.each()),
            };
            Ok(Dose {
                round: pass.round,
                test: pass.test.clone(),
                attempt: pass.attempt,
                contender: names[*slot].to_string(),
                server,
                client,
                undisturbed: undisturbed(slices, alone, *slot),
            })
        };
        self.all.iter().map(dose).collect()
    }
}

/// Operations of a contender, measured or not; at least one.
fn operations(slices: &[Vec<Slice>], contender: usize) -> u64 {
    let own = slices.iter().flatten().filter(|slice| slice.contender == contender);
    own.map(|slice| slice.operations + slice.warm_up_operations).sum::<u64>().max(1)
}

/// The time of an operation by itself: in slices, others leave cold caches, and in a long sequence,
/// other processes of the server may need the same CPU. So it is the smaller of the two. None if no
/// operation ended.
fn undisturbed(slices: &[Vec<Slice>], alone: &[Vec<Slice>], contender: usize) -> Option<f64> {
    let alone = mean_nanos(alone, contender)?;
    Some(nanos_per_operation(slices, contender).map_or(alone, |taken| taken.min(alone)))
}

/// Nanoseconds of an operation, over all slices of a contender.
fn mean_nanos(slices: &[Vec<Slice>], contender: usize) -> Option<f64> {
    let own = slices.iter().flatten().filter(|slice| slice.contender == contender);
    let (nanos, operations) =
        own.fold((0, 0), |sum, slice| (sum.0 + slice.nanos, sum.1 + slice.operations));
    (operations > 0).then(|| nanos as f64 / operations as f64)
}

/// Nanoseconds of an operation: the median over the slices of a contender.
fn nanos_per_operation(slices: &[Vec<Slice>], contender: usize) -> Option<f64> {
    let own = slices.iter().flatten().filter(|slice| slice.contender == contender);
    let own = own.filter(|slice| slice.operations > 0);
    let mut nanos: Vec<f64> =
        own.map(|slice| slice.nanos as f64 / slice.operations as f64).collect();
    nanos.sort_by(f64::total_cmp);
    nanos.get(nanos.len() / 2).copied()
}
