//! The DBMS's own counters, around a window and about once a second within it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rqps_dbms::{EngineMeter, Server};
use rqps_store::{EngineSample, Measurement};

use crate::error::LabError;

/// Does the work of a task between two readings of the DBMS's counters, which are kept. A separate
/// thread reads them every second, so that a DBMS that does not answer delays nothing.
pub(crate) fn watch<T>(
    server: &dyn Server,
    measured: &mut Measurement,
    work: impl FnOnce(&mut Measurement) -> Result<T, LabError>,
) -> Result<T, LabError> {
    let Some(mut meter) = server.meter()? else { return work(measured) };
    let before = meter.read()?;
    let interrupter = meter.interrupter()?;
    let begun = Instant::now();
    let (end, ended) = channel();
    let (done, samples) = thread::scope(|scope| {
        let sampler = scope.spawn(|| sample(&mut meter, begun, ended));
        let done = work(measured);
        drop(end);
        if done.is_err() {
            interrupter.interrupt();
        }
        (done, sampler.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let done = done?;
    meter.await_counts()?;
    measured.engine = meter.read()?.since(&before);
    measured.engine_samples = samples.into_iter().collect();
    Ok(done)
}

/// Reads the few cheap counters once a second, until `ended` is closed. The work itself finds out
/// if the DBMS has ended.
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
