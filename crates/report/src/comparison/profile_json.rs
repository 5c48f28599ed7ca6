//! Profiles for programs.

use rqps_analysis::comparison::{Profiled, Side};
use rqps_stats::profile::Function as Changed;
use serde::Serialize;

/// Times are microseconds of the server's CPU per statement.
#[derive(Serialize)]
pub(super) struct Profile {
    test: String,
    baseline: Runs,
    contender: Runs,
    /// The samples include those in the kernel.
    has_kernel: bool,
    /// Self time of every function that takes at least half a percent of the CPU of either arm, the
    /// largest growth first.
    functions: Vec<Function>,
    /// The same, including the functions they call.
    inclusive: Vec<Function>,
}

#[derive(Serialize)]
struct Runs {
    runs: usize,
    samples: u64,
    sampled: f64,
    counted: f64,
    /// Shares of the time.
    unnamed: f64,
    cut: f64,
}

#[derive(Serialize)]
struct Function {
    name: String,
    kernel: bool,
    baseline: f64,
    contender: f64,
    change: f64,
    /// Of the change, adjusted for the number of functions; null if there is no bound.
    low: Option<f64>,
    high: Option<f64>,
    p: f64,
}

pub(super) fn profile(of: &Profiled) -> Profile {
    let [baseline, contender] = of.sides.each_ref().map(runs);
    let list = |functions: &[Changed]| functions.iter().map(function).collect();
    Profile {
        test: of.test.to_string(),
        baseline,
        contender,
        has_kernel: of.has_kernel,
        functions: list(&of.own),
        inclusive: list(&of.inclusive),
    }
}

fn runs(side: &Side<'_>) -> Runs {
    Runs {
        runs: side.profiles.len(),
        samples: side.profiles.iter().map(|profile| profile.samples).sum(),
        sampled: side.sampled,
        counted: side.counted,
        unnamed: side.unnamed,
        cut: side.cut,
    }
}

fn function(of: &Changed) -> Function {
    let finite = |value: f64| value.is_finite().then_some(value);
    let user = of.name.strip_suffix("_[k]");
    Function {
        name: user.unwrap_or(&of.name).to_string(),
        kernel: user.is_some() || of.name == "[kernel]",
        baseline: of.base,
        contender: of.contender,
        change: of.change.value,
        low: finite(of.change.interval.low),
        high: finite(of.change.interval.high),
        p: of.change.p,
    }
}
