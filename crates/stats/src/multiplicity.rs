//! Many tests at once: adjusted p-values, and interval levels that agree with them.

/// The p-value of one test of a family, adjusted for all of them, and the `alpha` of its interval,
/// which leaves out 0 just when the adjusted p-value is at most the family's alpha.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adjusted {
    pub p: f64,
    pub alpha: f64,
}

/// Holm 1979: no false alarm in the whole family, with probability 1 − `alpha`. A test that is
/// rejected at its step has the alpha of that step; the others share that of the first step that
/// was not.
pub fn holm(p: &[f64], alpha: f64) -> Vec<Adjusted> {
    let order = ascending(p);
    let mut adjusted = vec![Adjusted { p: 1.0, alpha }; p.len()];
    let mut largest = 0.0_f64;
    let mut kept = None;
    for (step, &index) in order.iter().enumerate() {
        let left = (p.len() - step) as f64;
        largest = largest.max((p[index] * left).min(1.0));
        let own = match kept {
            Some(kept) => kept,
            None => alpha / left,
        };
        if largest > alpha {
            kept = Some(own);
        }
        adjusted[index] = Adjusted { p: largest, alpha: own };
    }
    adjusted
}

/// Benjamini and Hochberg 1995: of the tests called significant at most a share of `alpha` is
/// false, in expectation. The intervals are those of Benjamini and Yekutieli 2005 (false coverage
/// rate): all at `alpha` · rejected / tests.
pub fn benjamini_hochberg(p: &[f64], alpha: f64) -> Vec<Adjusted> {
    let count = p.len() as f64;
    let mut adjusted = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (step, &index) in ascending(p).iter().enumerate().rev() {
        least = least.min(p[index] * count / (step + 1) as f64);
        adjusted[index] = least;
    }
    let rejected = adjusted.iter().filter(|p| **p <= alpha).count().max(1) as f64;
    adjusted.into_iter().map(|p| Adjusted { p, alpha: alpha * rejected / count }).collect()
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|left, right| p[*left].total_cmp(&p[*right]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn p_values(adjusted: &[Adjusted]) -> Vec<f64> {
        adjusted.iter().map(|adjusted| (adjusted.p * 1e6).round() / 1e6).collect()
    }

    /// Benjamini and Hochberg 1995, §3.2: fifteen hypotheses on myocardial infarction. At .05 their
    /// procedure rejects the four smallest and Bonferroni's (and Holm's) the three smallest.
    const INFARCTION: [f64; 15] = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
        0.5719, 0.6528, 0.7590, 1.0000,
    ];

    #[test]
    fn the_infarction_example_comes_out() {
        let false_discoveries = benjamini_hochberg(&INFARCTION, 0.05);
        assert_eq!(false_discoveries.iter().filter(|one| one.p <= 0.05).count(), 4);
        assert!(false_discoveries.iter().all(|one| (one.alpha - 0.05 * 4.0 / 15.0).abs() < 1e-12));
        let family_wise = holm(&INFARCTION, 0.05);
        assert_eq!(family_wise.iter().filter(|one| one.p <= 0.05).count(), 3);
        assert!((family_wise[2].alpha - 0.05 / 13.0).abs() < 1e-12);
        assert!(family_wise[3..].iter().all(|one| (one.alpha - 0.05 / 12.0).abs() < 1e-12));
    }

    #[test]
    fn adjusted_values_are_those_by_hand() {
        let p = [0.01, 0.04, 0.03, 0.005];
        assert_eq!(p_values(&holm(&p, 0.05)), [0.03, 0.06, 0.06, 0.02]);
        assert_eq!(p_values(&benjamini_hochberg(&p, 0.05)), [0.02, 0.04, 0.04, 0.02]);
        assert_eq!(holm(&[], 0.05), []);
    }

    #[test]
    fn an_interval_and_its_adjusted_p_value_agree() {
        for scale in [0.2, 0.5, 1.0, 1.5, 3.0, 50.0] {
            let p = INFARCTION.map(|p| (p * scale).min(1.0));
            for adjust in [holm, benjamini_hochberg] {
                for (adjusted, p) in adjust(&p, 0.05).iter().zip(p) {
                    assert_eq!(adjusted.p <= 0.05, p <= adjusted.alpha, "{scale} {p}");
                }
            }
        }
    }
}
