//! The machine and the DBMS in the seconds of a step: CPU and IO as lines, background work as
//! lanes.

use rqps_observe::Metric;
use serde::Serialize;

use super::charts::{at, short, stretch, thinned};
use super::lanes::{Lane, Watched, lanes};
use super::seconds::sums;
use crate::measured::Measured;
use crate::steps::{Model, StepModel};

/// One step.
#[derive(Serialize)]
pub struct Machine<'a> {
    step: &'a str,
    /// Whole seconds that two points, or one cell of a lane, stand for.
    stretch: usize,
    /// Seconds from the start of the window.
    at: Vec<f64>,
    lines: Vec<Line<'a>>,
    lanes: Vec<Lane<'a>>,
}

#[derive(Serialize)]
struct Line<'a> {
    contender: &'a str,
    /// CPUs that the server kept busy.
    cpu: Vec<Option<f64>>,
    /// MiB per second between the server and storage.
    read: Vec<Option<f64>>,
    written: Vec<Option<f64>>,
}

const MIB: f64 = 1024.0 * 1024.0;

/// The steps with recorded seconds.
pub fn machine<'a>(model: &'a Model<'a>) -> Vec<Machine<'a>> {
    model.steps.iter().filter_map(|step| of_step(model, step)).collect()
}

fn of_step<'a>(model: &'a Model<'a>, step: &'a StepModel<'a>) -> Option<Machine<'a>> {
    let begun: Vec<(&str, &Measured)> = step
        .measured
        .iter()
        .enumerate()
        .filter_map(|(index, measured)| Some((model.contenders[index], measured.as_ref()?)))
        .filter(|(_, measured)| !measured.record.samples.is_empty())
        .collect();
    // The last second is not a whole one, so it has no rate.
    let length = |measured: &Measured| (measured.record.seconds as usize).max(1);
    let longest = begun.iter().map(|(_, measured)| length(measured)).max()?;
    let stretch = stretch(longest);
    let lines: Vec<Line> =
        begun.iter().map(|(name, measured)| line(name, measured, stretch)).collect();
    let watched = begun.iter().map(|(name, measured)| {
        let samples = &measured.record.engine_samples;
        (*name, vec![Watched { rates: measured.counted_per_second(), samples }])
    });
    let lanes = lanes(&watched.collect::<Vec<_>>(), stretch);
    let step = step.name;
    Some(Machine { step, stretch, at: at(longest, stretch), lines, lanes })
}

fn line<'a>(contender: &'a str, measured: &Measured, stretch: usize) -> Line<'a> {
    let whole = (measured.record.seconds as usize).max(1);
    let of = |metrics: &[Metric], unit: f64| {
        let rate = |sum: Option<u64>| Some(short(sum? as f64 / unit));
        thinned(sums(measured, metrics).take(whole).map(rate).collect(), stretch)
    };
    Line {
        contender,
        cpu: of(&[Metric::ServerCpuUser, Metric::ServerCpuSystem], 1e6),
        read: of(&[Metric::ServerReadBytes], MIB),
        written: of(&[Metric::ServerWriteBytes], MIB),
    }
}
