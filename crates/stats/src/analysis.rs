//! One metric of one test: its sample, and the estimates from it.

use std::collections::BTreeMap;

use crate::detectable::{self, Contrast, detectable, rounds_needed};
use crate::estimate::{Estimate, Interval, variance};
use crate::hodges_lehmann::{one_sample, two_sample};
use crate::moderated::{Prior, Variance};
use crate::paired::{spread, t_interval};

/// One restart of a comparison by slices: the medians of the log ratios to the baseline
/// ([`restart`](crate::slices::restart)).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogRatios {
    pub contender: f64,
    /// Of the A/A control to the baseline alone.
    pub control: Option<f64>,
}

/// One round of whole runs: the logs of their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogValues {
    pub base: f64,
    pub control: Option<f64>,
    pub contender: f64,
}

impl LogValues {
    /// The log ratio of the contender to baseline and control.
    pub fn ratio(&self) -> f64 {
        self.contender - self.base()
    }

    /// Baseline and control are one build: their mean.
    fn base(&self) -> f64 {
        self.control.map_or(self.base, |control| (self.base + control) / 2.0)
    }
}

/// The complete rounds of one metric of one test.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// Primary is t over the restarts; the one-sample shift stands beside it.
    Slices(Vec<LogRatios>),
    /// Primary is the two-sample shift, or t over the rounds where these share much of the noise;
    /// the other stands beside it and must not contradict it.
    Runs(Vec<LogValues>),
}

impl Sample {
    /// How many there are.
    pub fn rounds(&self) -> usize {
        match self {
            Sample::Slices(restarts) => restarts.len(),
            Sample::Runs(rounds) => rounds.len(),
        }
    }
}

/// From this many tests on, the variance of a test is moderated by those of its class.
const MODERATE_FROM: usize = 5;

/// One metric of one test, ready to be estimated at any level.
pub(crate) struct Analysis {
    /// Of each round.
    pub(crate) ratios: Vec<f64>,
    /// The samples of whole runs: baseline with control, and contender.
    runs: Option<(Vec<f64>, Vec<f64>)>,
    is_paired: bool,
    prior: Option<Prior>,
    /// How many times as wide as by their noise intervals are ([`widening`](crate::control)).
    pub(crate) widened: f64,
    /// By how much contender and baseline may differ because they were measured at different times.
    drift: f64,
}

impl Analysis {
    fn new(sample: &Sample, is_paired: bool) -> Analysis {
        let (ratios, runs) = match sample {
            Sample::Slices(restarts) => {
                (restarts.iter().map(|restart| restart.contender).collect(), None)
            }
            Sample::Runs(rounds) => {
                let bases = rounds.iter().flat_map(|round| [Some(round.base), round.control]);
                let contender = rounds.iter().map(|round| round.contender).collect();
                let ratios = rounds.iter().map(LogValues::ratio).collect();
                (ratios, Some((bases.flatten().collect(), contender)))
            }
        };
        Analysis { ratios, runs, is_paired, prior: None, widened: 1.0, drift: 0.0 }
    }

    /// The A/A control as if it were a contender; none without one.
    pub(crate) fn of_control(sample: &Sample, is_paired: bool) -> Option<Analysis> {
        let control = match sample {
            Sample::Slices(restarts) => Sample::Slices(
                restarts
                    .iter()
                    .filter_map(|restart| {
                        Some(LogRatios { contender: restart.control?, control: None })
                    })
                    .collect(),
            ),
            Sample::Runs(rounds) => Sample::Runs(
                rounds
                    .iter()
                    .filter_map(|round| {
                        Some(LogValues {
                            base: round.base,
                            control: None,
                            contender: round.control?,
                        })
                    })
                    .collect(),
            ),
        };
        Some(Analysis::new(&control, is_paired)).filter(|analysis| !analysis.ratios.is_empty())
    }

    fn two_samples(&self) -> Option<&(Vec<f64>, Vec<f64>)> {
        self.runs.as_ref().filter(|_| !self.is_paired)
    }

    /// None for fewer than two rounds.
    pub(crate) fn primary(&self, alpha: f64) -> Option<Estimate> {
        self.widened(alpha, Analysis::measured)
    }

    /// By the other method.
    pub(crate) fn beside(&self, alpha: f64) -> Option<Estimate> {
        self.widened(alpha, Analysis::measured_beside)
    }

    /// An estimate with the interval that the A/A control makes wider, and the drift of arms that
    /// were not measured at the same time. p is that of a true difference within the drift, for a
    /// value that is as many standard errors beyond it as there are of the wider ones.
    fn widened(&self, alpha: f64, of: fn(&Analysis, f64) -> Option<Estimate>) -> Option<Estimate> {
        let (found, factor, drift) = (of(self, alpha)?, self.widened, self.drift);
        if factor == 1.0 && drift == 0.0 {
            return Some(found);
        }
        let beyond = (found.value.abs() - drift) / factor;
        let p = match beyond <= 0.0 {
            true => 1.0,
            false => of(&self.shifted(beyond.copysign(found.value) - found.value), alpha)?.p,
        };
        let Interval { low, high } = found.interval.widened(found.value, factor);
        Some(Estimate { interval: Interval { low: low - drift, high: high + drift }, p, ..found })
    }

    /// The same with another level of the contender.
    fn shifted(&self, by: f64) -> Analysis {
        let shift = |values: &[f64]| values.iter().map(|value| value + by).collect();
        let runs = self.runs.as_ref().map(|(base, contender)| (base.clone(), shift(contender)));
        Analysis { ratios: shift(&self.ratios), runs, ..*self }
    }

    fn measured(&self, alpha: f64) -> Option<Estimate> {
        match self.two_samples() {
            // The shift of one run against one would have a value, but no uncertainty.
            Some(_) if self.ratios.len() < 2 => None,
            Some((base, contender)) => two_sample(base, contender, alpha),
            None => t_interval(&self.ratios, self.prior.as_ref(), alpha),
        }
    }

    pub(crate) fn primary_or_nothing(&self, alpha: f64) -> Estimate {
        let nothing = Estimate { value: f64::NAN, interval: Interval::EVERYTHING, p: 1.0 };
        self.primary(alpha).unwrap_or(nothing)
    }

    fn measured_beside(&self, alpha: f64) -> Option<Estimate> {
        match &self.runs {
            None => one_sample(&self.ratios, alpha),
            Some((base, contender)) if self.is_paired => two_sample(base, contender, alpha),
            Some(_) => t_interval(&self.ratios, self.prior.as_ref(), alpha),
        }
    }

    /// False if the other method contradicts `primary`: only one of the two is significant, or
    /// they are in opposite directions. Slices are judged by the primary alone.
    pub(crate) fn is_agreed(&self, primary: &Estimate, alpha: f64) -> bool {
        let Some(other) = self.beside(alpha).filter(|_| self.runs.is_some()) else { return true };
        // Ranks of so few rounds cannot be significant at this level, which contradicts nothing.
        if other.interval == Interval::EVERYTHING {
            return true;
        }
        match (primary.is_significant(), other.is_significant()) {
            (true, true) => primary.value.signum() == other.value.signum(),
            (one, other) => one == other,
        }
    }

    fn design(&self) -> Contrast {
        match self.two_samples() {
            // Whether all rounds have an A/A control, or some lack it.
            Some((base, contender)) => {
                Contrast::TwoSample { base_per_round: (base.len() / contender.len().max(1)) as u32 }
            }
            None => Contrast::Paired,
        }
    }

    /// Of a value of the design, as large as intervals are wide, and the degrees of freedom beyond
    /// its own. None for fewer than two rounds.
    fn sd(&self) -> Option<(f64, f64)> {
        let spread = spread(&self.ratios, self.prior.as_ref())?;
        let Some((base, contender)) = self.two_samples() else {
            let own = (self.ratios.len() - 1) as f64;
            let beyond = self.prior.map_or(0.0, |prior| prior.beyond(own));
            return Some((self.widened * spread.sd(), beyond));
        };
        let squares = |values: &[f64]| variance(values) * (values.len() - 1) as f64;
        let degrees = (base.len() + contender.len() - 2) as f64;
        let sd = ((squares(base) + squares(contender)) / degrees).sqrt();
        Some((self.widened * sd, 0.0))
    }

    /// The standard error of the estimate, as large as intervals are wide; infinite for fewer than
    /// two rounds.
    pub(crate) fn error(&self) -> f64 {
        let Some((sd, _)) = self.sd() else { return f64::INFINITY };
        self.design().standard_error(sd, self.ratios.len() as u32) + self.drift
    }

    pub(crate) fn detectable(&self) -> f64 {
        let Some((sd, prior_degrees)) = self.sd() else { return f64::INFINITY };
        let (design, rounds) = (self.design(), self.ratios.len() as u32);
        if rounds < design.fewest_rounds(detectable::ALPHA) {
            return f64::INFINITY;
        }
        let degrees = design.degrees(rounds) + prior_degrees;
        detectable(design.standard_error(sd, rounds), degrees, detectable::ALPHA) + self.drift
    }

    /// The rounds that would separate the `value` from 0, or from the margin if that is farther.
    /// Always more than the present ones if these did not decide. None below the drift, which no
    /// number of rounds resolves.
    pub(crate) fn rounds_needed(&self, value: f64, margin: f64, alpha: f64) -> Option<u32> {
        let distance = value.abs().max(margin - value.abs()).min(margin) - self.drift;
        let (sd, prior_degrees) = self.sd().filter(|_| distance > 0.0)?;
        rounds_needed(self.design(), sd, distance, prior_degrees, alpha)
    }
}

/// The analyses of one metric of many tests, each moderated by those of its class.
pub(crate) fn analyses<'a>(
    samples: impl Iterator<Item = (&'a str, &'a Sample)>,
    is_paired: bool,
    drift: f64,
) -> Vec<Analysis> {
    let analysis =
        |(class, sample)| (class, Some(Analysis { drift, ..Analysis::new(sample, is_paired) }));
    moderated(samples.map(analysis).collect()).into_iter().flatten().collect()
}

/// The A/A controls of one metric of many tests as if they were contenders, moderated likewise.
/// None for a test without one.
pub(crate) fn controls<'a>(
    samples: impl Iterator<Item = (&'a str, &'a Sample)>,
    is_paired: bool,
) -> Vec<Option<Analysis>> {
    let control = |(class, sample)| (class, Analysis::of_control(sample, is_paired));
    moderated(samples.map(control).collect())
}

/// The contenders' own A/A controls, moderated likewise. None for a test without one.
pub(crate) fn own_controls<'a>(
    samples: impl Iterator<Item = (&'a str, Option<&'a Sample>)>,
    is_paired: bool,
) -> Vec<Option<Analysis>> {
    let own = |sample: &Sample| {
        Some(Analysis::new(sample, is_paired)).filter(|analysis| !analysis.ratios.is_empty())
    };
    moderated(samples.map(|(class, sample)| (class, sample.and_then(own))).collect())
}

fn moderated(mut all: Vec<(&str, Option<Analysis>)>) -> Vec<Option<Analysis>> {
    let mut classes = BTreeMap::<&str, Vec<Variance>>::new();
    for (class, analysis) in &all {
        let variance = analysis.as_ref().and_then(|one| Variance::of(&one.ratios));
        classes.entry(class).or_default().extend(variance);
    }
    let priors: BTreeMap<&str, Prior> = classes
        .into_iter()
        .filter(|(_, variances)| variances.len() >= MODERATE_FROM)
        .filter_map(|(class, variances)| Some((class, Prior::estimate(&variances)?)))
        .collect();
    for (class, analysis) in &mut all {
        if let Some(analysis) = analysis {
            analysis.prior = priors.get(class).copied();
        }
    }
    all.into_iter().map(|(_, analysis)| analysis).collect()
}
