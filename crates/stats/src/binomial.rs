//! A share with its exact interval.

use statrs::distribution::{Beta, ContinuousCDF};

use crate::estimate::Interval;

/// `hits` of `of`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    pub hits: u64,
    pub of: u64,
}

impl Share {
    /// From the outcomes, counting those that are true.
    pub fn count(all: impl IntoIterator<Item = bool>) -> Share {
        all.into_iter().fold(Share::default(), |share, hit| Share {
            hits: share.hits + u64::from(hit),
            of: share.of + 1,
        })
    }

    /// None without outcomes.
    pub fn value(self) -> Option<f64> {
        (self.of > 0).then(|| self.hits as f64 / self.of as f64)
    }

    /// The interval of Clopper and Pearson (1934) at the level 1 − `alpha`, which holds the true
    /// share at least so often, however few there are.
    pub fn interval(self, alpha: f64) -> Interval {
        let (hits, misses) = (self.hits as f64, (self.of - self.hits) as f64);
        let quantile =
            |a: f64, b: f64, p: f64| Beta::new(a, b).map_or(f64::NAN, |beta| beta.inverse_cdf(p));
        Interval {
            low: match self.hits {
                0 => 0.0,
                _ => quantile(hits, misses + 1.0, alpha / 2.0),
            },
            high: match misses {
                0.0 => 1.0,
                _ => quantile(hits + 1.0, misses, 1.0 - alpha / 2.0),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{Binomial, DiscreteCDF};

    use super::*;

    /// The examples of Newcombe 1998, "Two-sided confidence intervals for the single proportion",
    /// table I, to four digits.
    #[test]
    fn intervals_are_those_of_the_published_examples() {
        for (hits, of, low, high) in [
            (81, 263, 0.2527, 0.3676),
            (15, 148, 0.0578, 0.1617),
            (0, 20, 0.0000, 0.1684),
            (1, 29, 0.0009, 0.1776),
        ] {
            let Interval { low: from, high: to } = Share { hits, of }.interval(0.05);
            assert!((from - low).abs() < 5e-5 && (to - high).abs() < 5e-5, "{hits}: {from} {to}");
            // By definition: as many or more, and as many or fewer, have a chance of 2.5 %.
            let binomial = |share: f64| Binomial::new(share, of).unwrap();
            let more = if hits == 0 { 0.025 } else { binomial(from).sf(hits - 1) };
            let fewer = binomial(to).cdf(hits);
            assert!((more - 0.025).abs() < 1e-6 && (fewer - 0.025).abs() < 1e-6, "{more} {fewer}");
        }
        let all = Share { hits: 29, of: 29 }.interval(0.05);
        assert!(all.high == 1.0 && (all.low - 0.025_f64.powf(1.0 / 29.0)).abs() < 1e-6, "{all:?}");
        assert_eq!(Share::default().interval(0.05), Interval { low: 0.0, high: 1.0 });
        assert_eq!(Share::default().value(), None);
    }
}
