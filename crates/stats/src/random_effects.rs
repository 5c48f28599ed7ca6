//! One mean from the results of several machines, which differ by more than their own noise:
//! a meta-analysis with random effects.
//!
//! The variance between machines is that of Paule and Mandel 1982, and the interval of the mean is
//! that of Hartung and Knapp 2001: with few machines a normal interval is far too narrow. It is
//! never narrower than that of a fixed effect, since machines that agree by chance would have
//! nearly none (Röver, Knapp and Friede 2015).

use statrs::distribution::{ChiSquared, ContinuousCDF};

use crate::distribution::t_quantile;
use crate::estimate::{Estimate, Interval};

/// The result of one machine: a log ratio with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MachineEffect {
    pub value: f64,
    pub error: f64,
}

impl MachineEffect {
    /// Whether it can have a weight.
    pub fn is_usable(&self) -> bool {
        self.value.is_finite() && self.error.is_finite() && self.error > 0.0
    }

    fn weight(&self, between: f64) -> f64 {
        1.0 / (self.error * self.error + between)
    }
}

/// By how much machines differ beyond their own noise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heterogeneity {
    /// Cochran's Q, and the probability of at least as much where machines do not differ.
    pub q: f64,
    pub p: f64,
    /// The standard deviation between machines, with its 95 % interval.
    pub tau: f64,
    pub tau_interval: Interval,
    /// The share of all variance that is between machines (I²), with its 95 % interval.
    pub share: f64,
    pub share_interval: Interval,
}

/// The mean over machines.
#[derive(Clone, Debug, PartialEq)]
pub struct RandomEffects {
    effects: Vec<MachineEffect>,
    /// The variance between machines.
    between: f64,
    pub heterogeneity: Heterogeneity,
    /// The weight of each machine; they add up to 1.
    pub weights: Vec<f64>,
    pub mean: f64,
}

/// Machines from which on a prediction for another one is made.
const LEAST_FOR_PREDICTION: usize = 4;

impl RandomEffects {
    /// None for fewer than two machines, or with one that cannot have a weight.
    pub fn new(effects: &[MachineEffect]) -> Option<Self> {
        if effects.len() < 2 || !effects.iter().all(MachineEffect::is_usable) {
            return None;
        }
        let degrees = (effects.len() - 1) as f64;
        let between = root(effects, |q| q > degrees);
        let weights: Vec<f64> = effects.iter().map(|one| one.weight(between)).collect();
        let sum: f64 = weights.iter().sum();
        Some(RandomEffects {
            between,
            heterogeneity: heterogeneity(effects, between),
            weights: weights.into_iter().map(|weight| weight / sum).collect(),
            mean: weighted_mean(effects, between),
            effects: effects.to_vec(),
        })
    }

    /// The mean with its interval at the level 1 − `alpha`.
    pub fn estimate(&self, alpha: f64) -> Estimate {
        let (own, fixed) = (self.hartung_knapp(alpha), self.fixed(alpha));
        // The interval of the fixed effect has another centre, so its width is used.
        let half_width = own.interval.half_width().max(fixed.interval.half_width());
        let interval = Interval::around(self.mean, half_width);
        Estimate { value: self.mean, interval, p: own.p.max(fixed.p) }
    }

    /// With the variance of the mean from the weighted squares of the machines, on t with k − 1
    /// degrees of freedom.
    fn hartung_knapp(&self, alpha: f64) -> Estimate {
        Estimate::from_t(self.mean, self.own_error(), self.degrees(), alpha)
    }

    fn own_error(&self) -> f64 {
        let sum: f64 = self.effects.iter().map(|one| one.weight(self.between)).sum();
        (cochran(&self.effects, self.between) / self.degrees() / sum).sqrt()
    }

    /// The interval as wide as if all machines had one effect.
    fn fixed(&self, alpha: f64) -> Estimate {
        Estimate::from_t(self.mean, self.fixed_error(), f64::INFINITY, alpha)
    }

    fn fixed_error(&self) -> f64 {
        self.effects.iter().map(|one| one.weight(0.0)).sum::<f64>().powf(-0.5)
    }

    fn degrees(&self) -> f64 {
        (self.effects.len() - 1) as f64
    }

    /// The standard error of the mean.
    pub fn error(&self) -> f64 {
        self.own_error().max(self.fixed_error())
    }

    /// Where the true effect of another machine lies with 95 % probability (Higgins, Thompson and
    /// Spiegelhalter 2009); none for fewer than four machines.
    pub fn prediction(&self) -> Option<Interval> {
        if self.effects.len() < LEAST_FOR_PREDICTION {
            return None;
        }
        let sd = (self.between + self.error().powi(2)).sqrt();
        let half_width = t_quantile(0.975, (self.effects.len() - 2) as f64) * sd;
        Some(Interval::around(self.mean, half_width))
    }

    /// Whether what machines have of their own rules over what their rounds are uncertain by: then
    /// more machines help, and otherwise more rounds.
    pub fn is_between(&self) -> bool {
        self.between > typical(&self.effects)
    }
}

/// The probability that groups of machines differ as much as these by chance, each with its mean
/// and its standard error. 1 for fewer than two groups.
pub fn between_groups(groups: &[MachineEffect]) -> f64 {
    match groups.len() >= 2 && groups.iter().all(MachineEffect::is_usable) {
        true => above(cochran(groups, 0.0), (groups.len() - 1) as f64),
        false => 1.0,
    }
}

fn weighted_mean(effects: &[MachineEffect], between: f64) -> f64 {
    let weights = effects.iter().map(|one| one.weight(between));
    let sum: f64 = weights.clone().sum();
    weights.zip(effects).map(|(weight, one)| weight * one.value).sum::<f64>() / sum
}

/// The weighted squares around the weighted mean; they fall as the variance between machines rises.
fn cochran(effects: &[MachineEffect], between: f64) -> f64 {
    let mean = weighted_mean(effects, between);
    effects.iter().map(|one| one.weight(between) * (one.value - mean).powi(2)).sum()
}

/// The variance between machines at which Q stops to be `above`; 0 where it never is.
fn root(effects: &[MachineEffect], above: impl Fn(f64) -> bool) -> f64 {
    let is_above = |between: f64| above(cochran(effects, between));
    if !is_above(0.0) {
        return 0.0;
    }
    let (mut low, mut high) = (0.0, typical(effects));
    while is_above(high) && high.is_finite() {
        (low, high) = (high, 4.0 * high);
    }
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        match is_above(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    (low + high) / 2.0
}

/// A variance that is typical of the machines' own (Higgins and Thompson 2002, formula 9).
fn typical(effects: &[MachineEffect]) -> f64 {
    let weights = effects.iter().map(|one| one.weight(0.0));
    let (sum, squares) = (weights.clone().sum::<f64>(), weights.map(|w| w * w).sum::<f64>());
    (effects.len() - 1) as f64 * sum / (sum * sum - squares)
}

/// The intervals are those of the Q profile (Viechtbauer 2007).
fn heterogeneity(effects: &[MachineEffect], between: f64) -> Heterogeneity {
    let degrees = (effects.len() - 1) as f64;
    let q = cochran(effects, 0.0);
    let bound = |tail: f64| root(effects, |q| above(q, degrees) < tail);
    let bounds = Interval { low: bound(0.025), high: bound(0.975) };
    let own = typical(effects);
    let share = |between: f64| between / (between + own);
    Heterogeneity {
        q,
        p: above(q, degrees),
        tau: between.sqrt(),
        tau_interval: Interval { low: bounds.low.sqrt(), high: bounds.high.sqrt() },
        share: share(between),
        share_interval: Interval { low: share(bounds.low), high: share(bounds.high) },
    }
}

/// The upper tail of χ².
fn above(q: f64, degrees: f64) -> f64 {
    ChiSquared::new(degrees).map_or(f64::NAN, |chi| chi.sf(q.max(0.0)))
}

#[cfg(test)]
mod tests;
