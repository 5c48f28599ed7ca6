//! What the DBMS itself counts, around a window and about once a second within it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rqps_dbms::{EngineMeter, Server};
use rqps_observe::EngineReading;
use rqps_store::EngineSample;

use crate::LabError;

/// What the DBMS counted over a window.
#[derive(Default)]
pub(crate) struct EngineCost {
    pub(crate) values: EngineReading,
    pub(crate) samples: Vec<EngineSample>,
}

/// Does the work of a window between two readings of the DBMS's counters. The seconds are read by a
/// thread of its own, so that a DBMS that does not answer holds up nobody.
pub(crate) fn watch<T>(
    server: &dyn Server,
    work: impl FnOnce() -> Result<T, LabError>,
) -> Result<(T, EngineCost), LabError> {
    let Some(mut meter) = server.meter()? else { return Ok((work()?, EngineCost::default())) };
    let before = meter.read()?;
    let interrupter = meter.interrupter()?;
    let begun = Instant::now();
    let (end, ended) = channel();
    let (done, samples) = thread::scope(|scope| {
        let sampler = scope.spawn(|| sample(&mut meter, begun, ended));
        let done = work();
        drop(end);
        if done.is_err() {
            interrupter.interrupt();
        }
        (done, sampler.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let done = done?;
    meter.await_counts()?;
    let values = meter.read()?.since(&before);
    Ok((done, EngineCost { values, samples }))
}

/// Reads the few that are cheap once a second until `ended` is hung up. A DBMS that has gone is
/// found by the work.
fn sample(meter: &mut EngineMeter, begun: Instant, ended: Receiver<()>) -> Vec<EngineSample> {
    let mut samples = Vec::new();
    let Ok(mut last) = meter.glance() else { return samples };
    for second in 1.. {
        let next = begun + Duration::from_secs(second);
        let wait = next.saturating_duration_since(Instant::now());
        if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
            break;
        }
        let Ok(now) = meter.glance() else { break };
        samples.push(EngineSample { at: begun.elapsed().as_secs_f64(), values: now.since(&last) });
        last = now;
    }
    samples
}
