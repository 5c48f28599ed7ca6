//! The source of an estimate's noise, and so what would reduce it: more restarts, or longer
//! measurements in each.

use crate::estimate::{mean, variance};

/// The variance of the values of restarts, split.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// The variance from restart to restart, however long each is measured.
    pub between: f64,
    /// The mean of the squared standard errors of the restarts, which longer ones would reduce.
    pub within: f64,
}

impl Noise {
    /// From the value of each restart and its standard error: Var(values) = between + mean(error²).
    /// None for fewer than three restarts, or without any noise.
    pub fn of(restarts: &[(f64, f64)]) -> Option<Noise> {
        if restarts.len() < 3 {
            return None;
        }
        let (values, squares): (Vec<f64>, Vec<f64>) =
            restarts.iter().map(|(value, error)| (*value, error * error)).unzip();
        let within = mean(&squares);
        let between = (variance(&values) - within).max(0.0);
        (between + within > 0.0).then_some(Noise { between, within })
    }

    /// The share of the noise that only more restarts reduce. Above a half more restarts help most,
    /// below it longer ones.
    pub fn share_between(&self) -> f64 {
        self.between / (self.between + self.within)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;
    use crate::simulation::normals;

    #[test]
    fn noise_between_restarts_is_told_from_noise_within() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let (levels, errors) = (normals(&mut random, 400), normals(&mut random, 400));
        let restarts: Vec<(f64, f64)> =
            levels.iter().zip(errors).map(|(level, error)| (2.0 * level + error, 1.0)).collect();
        let noise = Noise::of(&restarts).unwrap();
        assert!((3.2..4.8).contains(&noise.between), "{noise:?}");
        assert_eq!(noise.within, 1.0);
        assert!((0.7..0.9).contains(&noise.share_between()));
    }

    #[test]
    fn values_closer_than_their_errors_explain_have_no_noise_between() {
        assert_eq!(Noise::of(&[(0.1, 0.5), (0.11, 0.5), (0.1, 0.5)]).unwrap().share_between(), 0.0);
        assert_eq!(Noise::of(&[(0.1, 0.5); 2]), None);
        assert_eq!(Noise::of(&[(0.1, 0.0); 5]), None);
    }
}
