//! The same as data. There is no rate in it, so that nobody compares those of two machines.

use std::collections::BTreeMap;

use rqps_analysis::machines::{AcrossContender, Fleet, FleetMachine, PROPERTIES};
use rqps_observe::MachineIdentity;
use rqps_stats::across::{AcrossLabel, AcrossVerdict, Direction};
use rqps_stats::{Estimate, Interval};
use rqps_store::Difference;
use serde::Serialize;

use super::FLEET_SCHEMA;
use crate::comparison::label;

#[derive(Serialize)]
struct FleetJson<'a> {
    schema: &'static str,
    baseline: &'a str,
    missing: &'a [String],
    differences: &'a [Difference],
    machines: Vec<MachineJson<'a>>,
    contenders: Vec<AcrossJson<'a>>,
}

#[derive(Serialize)]
struct MachineJson<'a> {
    name: &'a str,
    runs: &'a [String],
    identity: &'a Option<MachineIdentity>,
    cpus: u32,
    class: BTreeMap<&'static str, &'a str>,
    discarded: usize,
}

#[derive(Serialize)]
struct AcrossJson<'a> {
    contender: &'a str,
    tests: Vec<TestJson<'a>>,
}

#[derive(Serialize)]
struct TestJson<'a> {
    test: &'a str,
    label: &'static str,
    direction: Option<&'static str>,
    /// In words.
    verdict: String,
    /// The class that is changed alone.
    class: Option<&'a str>,
    /// Machines that are shown not to have changed, though most have.
    not_on: Vec<&'a str>,
    mean: Option<RatioJson>,
    adjusted_p: f64,
    heterogeneity: Option<HeterogeneityJson>,
    /// Of the true ratio on another machine.
    prediction: Option<BoundsJson>,
    machines: Vec<OnMachineJson<'a>>,
}

#[derive(Serialize)]
struct OnMachineJson<'a> {
    machine: &'a str,
    label: Option<&'static str>,
    ratio: Option<RatioJson>,
    /// Of the log ratio.
    standard_error: Option<f64>,
    weight: Option<f64>,
}

#[derive(Serialize)]
struct RatioJson {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    p: f64,
}

#[derive(Serialize)]
struct BoundsJson {
    low: f64,
    high: f64,
}

#[derive(Serialize)]
struct HeterogeneityJson {
    q: f64,
    p: f64,
    adjusted_p: f64,
    tau: f64,
    tau_interval: BoundsJson,
    share: f64,
    share_interval: BoundsJson,
}

/// `{"schema": …, …}`, ending in a line feed.
pub(super) fn json(fleet: &Fleet<'_>, missing: &[String]) -> String {
    let contender = |contender| across(fleet, contender);
    let json = FleetJson {
        schema: FLEET_SCHEMA,
        baseline: &fleet.base,
        missing,
        differences: fleet.differences,
        machines: fleet.machines.iter().map(machine).collect(),
        contenders: fleet.contenders.iter().map(contender).collect(),
    };
    serde_json::to_string_pretty(&json).expect("it holds only numbers and text") + "\n"
}

fn machine<'a>(machine: &'a FleetMachine<'_>) -> MachineJson<'a> {
    let manifest = &machine.results.run.manifest;
    let class = PROPERTIES.iter().filter_map(|(name, of)| {
        let found = of(&machine.class).as_deref()?;
        Some((*name, found))
    });
    MachineJson {
        name: &machine.name,
        runs: machine.runs,
        identity: &manifest.identity,
        cpus: manifest.cpus,
        class: class.collect(),
        discarded: machine.discarded,
    }
}

fn across<'a>(fleet: &'a Fleet<'_>, contender: &'a AcrossContender) -> AcrossJson<'a> {
    let of = |verdict| test(fleet, &contender.contender, verdict);
    AcrossJson {
        contender: &contender.contender,
        tests: contender.verdicts.iter().map(of).collect(),
    }
}

fn test<'a>(fleet: &'a Fleet<'_>, contender: &str, verdict: &'a AcrossVerdict) -> TestJson<'a> {
    let (label, direction) = named(&verdict.label);
    let (mut class, mut not_on) = (None, Vec::new());
    match &verdict.label {
        AcrossLabel::OnlyOn { class: only, .. } => class = Some(only.as_str()),
        AcrossLabel::Most { not_on: places, .. } => {
            not_on = places.iter().map(|place| fleet.machines[*place].name.as_str()).collect();
        }
        _ => {}
    }
    let machines = fleet.machines.iter().enumerate();
    let heterogeneity = verdict.pooled.as_ref().map(|pooled| {
        let found = pooled.heterogeneity;
        HeterogeneityJson {
            q: found.q,
            p: found.p,
            adjusted_p: verdict.difference_p,
            tau: found.tau,
            tau_interval: bounds(found.tau_interval),
            share: found.share,
            share_interval: bounds(found.share_interval),
        }
    });
    let prediction = verdict.pooled.as_ref().and_then(|pooled| pooled.prediction());
    TestJson {
        test: &verdict.test,
        label,
        direction,
        verdict: verdict.label.to_string(),
        class,
        not_on,
        mean: verdict.estimate.as_ref().and_then(ratio),
        adjusted_p: verdict.adjusted_p,
        heterogeneity,
        prediction: prediction.map(|interval| bounds(interval.exp())),
        machines: machines.map(|of| on_machine(of, contender, verdict)).collect(),
    }
}

fn on_machine<'a>(
    (place, machine): (usize, &'a FleetMachine<'_>),
    contender: &str,
    verdict: &AcrossVerdict,
) -> OnMachineJson<'a> {
    let own = machine.verdict(contender, &verdict.test);
    OnMachineJson {
        machine: &machine.name,
        label: own.map(|own| label(&own.label)),
        ratio: own.and_then(|own| ratio(&own.plain)),
        standard_error: own.map(|own| own.error).filter(|error| error.is_finite()),
        weight: verdict.weight(place),
    }
}

fn named(label: &AcrossLabel) -> (&'static str, Option<&'static str>) {
    let direction = |direction: &Direction| match direction {
        Direction::Slower => Some("slower"),
        Direction::Faster => Some("faster"),
    };
    match label {
        AcrossLabel::All { direction: of, is_small: false } => ("all", direction(of)),
        AcrossLabel::All { direction: of, is_small: true } => ("all_small", direction(of)),
        AcrossLabel::Most { direction: of, .. } => ("most", direction(of)),
        AcrossLabel::OnlyOn { direction: of, .. } => ("only_on", direction(of)),
        AcrossLabel::Differs => ("differs", None),
        AcrossLabel::NoChange => ("no_change", None),
        AcrossLabel::OneMachine => ("one_machine", None),
        AcrossLabel::TooFew => ("too_few_machines", None),
        AcrossLabel::Inconclusive { .. } => ("inconclusive", None),
    }
}

/// JSON has no infinity: an open end is null.
fn ratio(estimate: &Estimate) -> Option<RatioJson> {
    let finite = |value: f64| Some(value.exp()).filter(|value| value.is_finite());
    estimate.value.is_finite().then(|| RatioJson {
        value: estimate.value.exp(),
        low: finite(estimate.interval.low).filter(|low| *low > 0.0),
        high: finite(estimate.interval.high),
        p: estimate.p,
    })
}

fn bounds(interval: Interval) -> BoundsJson {
    BoundsJson { low: interval.low, high: interval.high }
}
